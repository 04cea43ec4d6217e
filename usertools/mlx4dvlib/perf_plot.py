# SPDX-License-Identifier: BSD-3-Clause
"""Drawings, as SVG, by matplotlib."""

import io
import pathlib

from .perf import PerfError
from .perf_compare import DRIVERS, figure, find

PANELS = ("instructions", "instructions per packet"), ("cycles", "cycles (TSC) per packet")
COLOURS = {"net_mlx4dv": "#1f77b4", "net_mlx4": "#d62728", "verbs": "#7f7f7f",
           "floor": "#2ca02c"}
LICENCE = "<!-- SPDX-License-Identifier: BSD-3-Clause -->"


def pyplot():
    try:
        import matplotlib
    except ImportError:
        raise PerfError("a plot needs matplotlib: apt-get install python3-matplotlib, and "
                        "/usr/bin/python3 to run this") from None
    matplotlib.use("svg")
    # Text stays text, and the same figures make the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "mlx4dv"})
    from matplotlib import pyplot as plot
    return plot


def save(plot, drawing, path):
    """With the licence, and without the blanks that matplotlib leaves at ends of lines."""
    buffer = io.StringIO()
    drawing.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    plot.close(drawing)
    head, *lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    try:
        pathlib.Path(path).write_text("\n".join([head, LICENCE, *lines]) + "\n",
                                      encoding="utf-8")
    except OSError as error:
        raise PerfError("%s: %s" % (path, error.strerror)) from None


def panels(results):
    """Those that there are figures for."""
    return [panel for panel in PANELS
            if any(figure(one, panel[0]) is not None for one in results)]


def bars(results, path):
    """A group of bars for each case, one for each driver that has it."""
    plot, shown = pyplot(), panels(results)
    cases = list(dict.fromkeys(one["case"] for one in results))
    drivers = [name for name in DRIVERS if any(one["driver"] == name for one in results)]
    drivers += sorted({one["driver"] for one in results} - set(drivers))
    drawing, axes = plot.subplots(len(shown), 1, squeeze=False, figsize=(10, 4 * len(shown)))
    for axis, (what, label) in zip(axes[:, 0], shown):
        for at, driver in enumerate(drivers):
            values = [figure(find(results, driver, case), what) for case in cases]
            places = [i + 0.8 * (at - (len(drivers) - 1) / 2) / len(drivers)
                      for i, value in enumerate(values) if value is not None]
            axis.bar(places, [value for value in values if value is not None],
                     0.8 / len(drivers), label=driver, color=COLOURS.get(driver))
        axis.set_xticks(range(len(cases)), cases, rotation=30, ha="right")
        axis.set_ylabel(label)
        axis.grid(axis="y", alpha=0.3)
        axis.legend()
    save(plot, drawing, path)


def lines(points, label, path):
    """points: rows of results, each with "at", its place on the axis."""
    plot, shown = pyplot(), panels(points)
    drawing, axes = plot.subplots(1, len(shown), squeeze=False, figsize=(5.5 * len(shown), 4))
    kinds = list(dict.fromkeys((one["driver"], one["case"]) for one in points))
    cases = list(dict.fromkeys(case for _, case in kinds))
    for axis, (what, unit) in zip(axes[0], shown):
        for driver, case in kinds:
            line = [(one["at"], figure(one, what)) for one in points
                    if (one["driver"], one["case"]) == (driver, case)
                    and figure(one, what) is not None]
            if line:
                axis.plot(*zip(*line), marker="o", markersize=3, label="%s, %s" % (driver, case),
                          color=COLOURS.get(driver), linestyle="-:"[cases.index(case) % 2])
        axis.set_xscale("symlog", base=2, linthresh=1)
        places = sorted({one["at"] for one in points})
        axis.set_xticks(places, [str(place) for place in places], rotation=45)
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.set_xlabel(label)
        axis.set_ylabel(unit)
        axis.grid(alpha=0.3)
        axis.legend()
    save(plot, drawing, path)
