# SPDX-License-Identifier: BSD-3-Clause
"""How the cost of a packet grows with one thing at a time, all else as by default."""

from .perf import OURS, STOCK, PerfError, Table, measure


class Sweep:
    """Values of one option of mlx4dv-perf-run, with the cases that it matters to."""

    def __init__(self, label, option, values, cases, more=(), offset=0):
        self.label, self.option, self.values, self.cases = label, option, values, cases
        self.more, self.offset = list(more), offset

    def options(self, value):
        return ["--" + self.option, str(value + self.offset), *self.more]


SWEEPS = {
    "burst": Sweep("packets of a burst", "burst", [1, 2, 4, 8, 16, 32, 64], ["rx", "tx"]),
    # Without the FCS, which the adapter makes.
    "frame": Sweep("bytes of a frame", "size", [64, 128, 256, 512, 1024, 1518, 3000, 6000, 9000],
                   ["rx", "tx"], offset=-4),
    "segments": Sweep("segments of a 960 B frame", "segs", [1, 2, 3, 4, 6, 8, 12, 16], ["tx"],
                      ["--size", "960"]),
    "ring": Sweep("descriptors of a ring", "ring", [64 << i for i in range(9)], ["rx", "tx"]),
    "queues": Sweep("RX queues", "queues", [1, 2, 4, 8, 16], ["rx"]),
    "pools": Sweep("mempools", "pools", [1, 2, 4, 8, 16, 32, 64], ["tx"]),
    "regions": Sweep("memory regions of external buffers", "regions",
                     [1, 4, 8, 16, 64, 256, 1024, 4096], ["tx"]),
    "flows": Sweep("flow rules in place", "flows", [0, 1, 10, 100, 1000, 10000], ["rx"]),
}


def find(name):
    if name not in SWEEPS:
        raise PerfError("%s: no such sweep; one of %s" % (name, " ".join(SWEEPS)))
    return SWEEPS[name]


def steps(names, drivers):
    return sum(len(SWEEPS[name].values) for name in names) * len(drivers)


def sweep(name, drivers=(OURS, STOCK), options=(), progress=None, run=measure):
    """Results as of compare, each with "sweep", and "at", the value."""
    one, points = find(name), []
    for value in one.values:
        for driver in drivers:
            if progress:
                progress.step("%s %d, %s" % (name, value, driver))
            table = Table()
            for row in run(driver, one.cases, [*options, *one.options(value)]):
                table.add(row)
            points += [dict(result, sweep=name, at=value) for result in table.results()]
    return points


def text(points):
    """A table for each sweep: a line for a value."""
    lines = []
    for name in dict.fromkeys(point["sweep"] for point in points):
        mine = [point for point in points if point["sweep"] == name]
        kinds = list(dict.fromkeys((point["driver"], point["case"]) for point in mine))
        lines += ["", "%s: instructions / cycles (TSC) per packet" % find(name).label, "",
                  "  " + " ".join(["%8s" % ""] + ["%20s" % " ".join(kind) for kind in kinds])]
        for at in dict.fromkeys(point["at"] for point in mine):
            cells = []
            for kind in kinds:
                point = next(p for p in mine
                             if (p["driver"], p["case"], p["at"]) == (*kind, at))
                cycles = point.get("cycles_per_packet", {}).get("median")
                cells.append("cannot" if "skipped" in point else "%s / %s" % (
                    point.get("instructions_per_packet", "-"),
                    "-" if cycles is None else "%.1f" % cycles))
            lines.append("  " + " ".join(["%8d" % at] + ["%20s" % cell for cell in cells]))
        for reason in dict.fromkeys("%s: %s" % (p["driver"], p["skipped"])
                                    for p in mine if "skipped" in p):
            lines.append("  " + reason)
    return "\n".join(lines)
