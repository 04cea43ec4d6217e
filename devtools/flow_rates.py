#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Flow rules made and destroyed per second with dpdk-test-flow-perf on the virtual
adapter, net_mlx4dv and the stock net_mlx4 turn about, so that what else the machine
does hits both alike. The rules are the one kind that the stock driver takes from this
program: any frame, to a queue. Then net_mlx4dv alone with a source address in each."""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "usertools"))

from mlx4dvlib import build, testpmd  # noqa: E402

BATCH = 1000  # the program's times are those of batches
ANY, ADDRESSES = ["--ether"], ["--ether", "--ipv4"]
CONTENDERS = [
    # Label, driver, items of the rules.
    ("net_mlx4dv, any frame", testpmd.OURS, ANY),
    ("net_mlx4, any frame", testpmd.STOCK, ANY),
    ("net_mlx4dv, source addresses", testpmd.OURS, ADDRESSES),
]


class Failed(Exception):
    """The program did not do what it was asked for."""


def command(driver, items, count):
    preload, eal = testpmd.driver_arguments(driver, ports=1)
    program = ["dpdk-test-flow-perf", *testpmd.lcores(), "--no-huge", "-m", 512, "--no-shconf",
               "--no-telemetry", *eal, "--", "--rules-count=%d" % count,
               "--rules-batch=%d" % min(count, BATCH), "--deletion-rate", "--ingress", *items,
               "--queue"]
    return build.exec_command(program, "--ports=1", *preload)


def measure(driver, items, count):
    """Rules per second made, and destroyed."""
    with tempfile.TemporaryDirectory(prefix="mlx4dv-") as folder:
        line = command(driver, items, count)
        done = subprocess.run(line, cwd=folder, env=dict(os.environ, TMPDIR=folder), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, timeout=300)
    found = [re.search(r"Rules %s rate -> ([\d.]+) K" % what, done.stdout)
             for what in ("insertion", "deletion")]
    if done.returncode != 0 or None in found:
        raise Failed("status %d of\n%s\n%s" % (done.returncode, " ".join(line),
                                               done.stdout[-2000:]))
    return [1000 * float(match.group(1)) for match in found]


def table(counts, runs):
    print("%-30s %6s   %-34s %-34s" % ("rules per second, median (range)", "rules", "made",
                                       "destroyed"))
    for count in counts:
        values = {label: [] for label, _, _ in CONTENDERS}
        for _ in range(runs):
            for label, driver, items in CONTENDERS:
                values[label].append(measure(driver, items, count))
        for label, rates in values.items():
            columns = ["%9.0f (%.0f to %.0f)" % (statistics.median(one), min(one), max(one))
                       for one in zip(*rates)]
            print("%-30s   %6d   %-34s %-34s" % (label, count, *columns), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs of each (5)")
    parser.add_argument("--rules", type=int, nargs="+", default=[10, 1000, 10000],
                        help="numbers of rules (10 1000 10000), whole thousands above 1000")
    arguments = parser.parse_args()
    for count in arguments.rules:
        if count < 1 or count > BATCH and count % BATCH != 0:
            parser.error("%d rules: want up to %d, or a multiple of it" % (count, BATCH))
    if arguments.runs < 1:
        parser.error("--runs=%d: want at least one" % arguments.runs)
    try:
        table(arguments.rules, arguments.runs)
    except Failed as why:
        print("flow_rates: %s" % why, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
