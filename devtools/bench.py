#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""testpmd io-forward, 64 B frames, two ports back to back: net_mlx4dv against
the stock net_mlx4 on the same virtual adapter, turn about, so that what else
the machine does hits both."""

import argparse
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "usertools"))

from mlx4dvlib import forward, testpmd  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each driver (3)")
    parser.add_argument("--seconds", type=float, default=5, help="length of each run (5)")
    parser.add_argument("--queues", type=int, default=1, help="queues of each port (1)")
    arguments = parser.parse_args()

    measured = {testpmd.OURS: [], testpmd.STOCK: []}
    faults = []
    print("Mpps received, both directions together")
    for turn in range(arguments.runs):
        for driver, values in measured.items():
            result = forward.run(driver, arguments.seconds, arguments.queues)
            values.append(result.mpps)
            faults += ["%s, run %d: %s" % (driver, turn + 1, fault) for fault in result.faults()]
            print("  %-12s run %d  %6.2f" % (driver, turn + 1, result.mpps), flush=True)
    medians = {driver: statistics.median(values) for driver, values in measured.items()}
    for driver, median in medians.items():
        print("  %-12s median %6.2f" % (driver, median))
    print("  ratio        %.3f (%s : %s)"
          % (medians[testpmd.OURS] / medians[testpmd.STOCK], testpmd.OURS, testpmd.STOCK))
    for fault in faults:
        print("bench: %s" % fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
