# SPDX-License-Identifier: BSD-3-Clause
"""The generated part of doc/guides/performance.rst."""

import json
import pathlib
import re

from . import perf_compare, perf_verbs
from .perf import PerfError

BEGIN, END = ".. GENERATED: mlx4dv-perf guide", ".. END OF GENERATED"


def load(path):
    try:
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        return content["machine"], content["results"]
    except OSError as error:
        raise PerfError("%s: %s" % (path, error.strerror)) from None
    except (ValueError, KeyError, TypeError):
        raise PerfError("%s: not what --json of compare, verbs or testpmd writes" % path) from None


def table(rows):
    """A simple table of rst; the first row is its head."""
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(rows[0]))]
    rule = "  ".join("=" * width for width in widths)
    lines = [rule]
    for number, row in enumerate(rows):
        lines.append("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())
        if number == 0:
            lines.append(rule)
    return [*lines, rule, ""]


def of_machine(machine):
    """One paragraph, and the command."""
    words = "%s at %.1f GHz, %s CPUs, load %s; %s, Linux %s, DPDK %s, rdma-core %s, %s; " \
        "commit %s, %s." % (
            machine["processor"], machine["mhz"] / 1000, machine["cpus"], machine["load"],
            machine["system"], machine["kernel"], machine["dpdk"], machine["rdma_core"],
            machine["compiler"], machine["commit"], machine["date"])
    return [words, "", "``%s``" % machine["command"], ""]


def of_compare(machine, results):
    lines = of_machine(machine)
    for what, head in (("instructions", "Instructions per packet"),
                       ("cycles", "Cycles (TSC) per packet, medians")):
        if any(perf_compare.figure(one, what) is not None for one in results):
            lines += [head + ", and ours divided by theirs (``rx_empty``, ``tx_empty``: per call):",
                      "", *table(list(perf_compare.rows(results, what)))]
    notes = list(perf_compare.notes(results))
    return lines + ["* " + note for note in notes] + ([""] if notes else [])


def of_testpmd(machine, results):
    rows = [["mode", "driver", "median", "range"]]
    for one in results:
        mpps = one["mpps"]
        rows.append([one["case"], one["driver"], "%.2f" % mpps["median"],
                     "%.2f to %.2f" % (mpps["min"], mpps["max"])])
    return [*of_machine(machine), "testpmd, 64 B frames, Mpps (``io``: received, both directions "
            "together):", "", *table(rows)]


def of_verbs(machine, results):
    lines = of_machine(machine)
    for what, head in perf_verbs.HEADS:
        if any(perf_compare.figure(one, what) is not None for one in results):
            lines += [head.capitalize().replace("(tsc)", "(TSC)") + ":", "",
                      *table(list(perf_verbs.rows(results, what)))]
    return lines


def kind_of(results):
    """What makes text of them."""
    if any("mpps" in one for one in results):
        return of_testpmd
    return of_verbs if any(one["driver"] == perf_verbs.DVQ for one in results) else of_compare


def generated(paths):
    lines = []
    for path in paths:
        machine, results = load(path)
        lines += kind_of(results)(machine, results)
    return lines


def renew(guide, paths):
    """What is outside of the marks stays."""
    lines = generated(paths)
    try:
        text = pathlib.Path(guide).read_text(encoding="utf-8")
    except OSError as error:
        raise PerfError("%s: %s" % (guide, error.strerror)) from None
    marked = re.compile("^%s\n.*?^%s$" % (re.escape(BEGIN), re.escape(END)), re.M | re.S)
    if len(marked.findall(text)) != 1:
        raise PerfError("%s: has no part between '%s' and '%s'" % (guide, BEGIN, END))
    new = "\n".join([BEGIN, "", *lines, END])
    pathlib.Path(guide).write_text(marked.sub(lambda _: new, text), encoding="utf-8")
