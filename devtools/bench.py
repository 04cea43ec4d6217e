#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the driver and the virtual adapter move, turn about, so that what else the
machine does hits all alike: testpmd io-forward of 64 B frames, two ports back to
back, with net_mlx4dv and with the stock net_mlx4; then the adapter's engine alone,
stepped, in cycles per packet."""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "usertools"))

from mlx4dvlib import build, forward, scale, testpmd  # noqa: E402

STEPPED = build.build_dir() / "app" / "vmlx4-bench" / "vmlx4-bench"
ROWS = r"^engine cycles \(TSC\) +\S+ +(\S+)", r"^engine cycles \(core\) +\S+ +(\S+)", \
    r"^whole loop, Mpps +\S+ +(\S+)", r"^engine instructions +(\S+)"


class Contender:
    """Something whose packets per second are measured."""

    def __init__(self, label, measure):
        self.label, self.measure, self.values = label, measure, []


def on_adapter(driver, folder, arguments):
    """testpmd on the adapter of a build; its faults make the whole bench fail."""
    def measure(faults):
        os.environ["BUILD_DIR"] = str(folder)
        result = forward.run(driver, arguments.seconds, arguments.queues)
        faults += ["%s: %s" % (driver, fault) for fault in result.faults()]
        return result.mpps
    return measure


def contenders(arguments):
    here = build.build_dir()
    yield Contender("net_mlx4dv", on_adapter(testpmd.OURS, here, arguments))
    yield Contender("net_mlx4", on_adapter(testpmd.STOCK, here, arguments))
    if arguments.against:
        yield Contender("net_mlx4 before", on_adapter(testpmd.STOCK, arguments.against, arguments))
    for driver in scale.VDEVS if arguments.scale else ():
        yield Contender(driver, lambda _, driver=driver: scale.run(driver, arguments.seconds))


def forwarding(arguments):
    """Returns what there is to complain of."""
    taking_part, faults = list(contenders(arguments)), []
    print("testpmd io, Mpps received, both directions together")
    for turn in range(arguments.runs):
        for one in taking_part:
            one.values.append(one.measure(faults))
            print("  %-16s run %d  %6.2f" % (one.label, turn + 1, one.values[-1]), flush=True)
    medians = {one.label: statistics.median(one.values) for one in taking_part}
    for one in taking_part:
        print("  %-16s median %6.2f   (%.2f to %.2f)" % (
            one.label, medians[one.label], min(one.values), max(one.values)))
    for label in medians:
        if label != "net_mlx4":
            print("  net_mlx4 : %-16s %6.3f" % (label, medians["net_mlx4"] / medians[label]))
    return faults


def stepped(arguments):
    """vmlx4-bench of this build under the launchers of both."""
    folders = [("now", build.build_dir())]
    if arguments.against:
        folders.append(("before", arguments.against))
    print("engine, stepped, 64 B frames, per packet: medians of %d runs" % arguments.runs)
    print("  %-26s %10s %11s %8s %13s" % ("", "cycles TSC", "cycles core", "Mpps", "instructions"))
    measured = {}
    for _ in range(arguments.runs):
        for options in ([], ["--strict"]):
            for program in ([], ["--rss"]):
                for label, folder in folders:
                    name = " ".join([label, *options, *program])
                    output = subprocess.run(
                        [str(folder / "app" / "vmlx4" / "vmlx4"), "exec", "--step", *options, "--",
                         str(STEPPED), "--instructions", *program], check=True, timeout=120,
                        stdout=subprocess.PIPE, text=True).stdout
                    measured.setdefault(name, []).append(
                        [float(re.search(row, output, re.M).group(1)) for row in ROWS])
    for name, runs in measured.items():
        print("  %-26s %10.1f %11.1f %8.1f %13.0f" % (
            name, *(statistics.median(column) for column in zip(*runs))))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--seconds", type=float, default=5, help="length of a testpmd run (5)")
    parser.add_argument("--queues", type=int, default=1, help="queues of each port (1)")
    parser.add_argument("--against", type=pathlib.Path, metavar="BUILD",
                        help="also another build's adapter, e.g. of an earlier state")
    parser.add_argument("--scale", action="store_true",
                        help="also DPDK's net_memif and, over a veth, net_af_packet (needs root)")
    parser.add_argument("--stepped", action="store_true", help="the engine alone, no testpmd")
    arguments = parser.parse_args()
    if arguments.against:
        arguments.against = arguments.against.resolve()

    faults = [] if arguments.stepped else forwarding(arguments)
    stepped(arguments)
    for fault in faults:
        print("bench: %s" % fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
