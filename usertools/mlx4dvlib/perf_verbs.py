# SPDX-License-Identifier: BSD-3-Clause
"""A reliable connection by way of libdvq and of libibverbs, turn about."""

from . import perf_compare
from .perf import Table, measure

DVQ, IBVERBS = "libdvq", "libibverbs"
CASES = ("send", "send_chain16", "send_chain32", "recv_post", "recv_post16", "srq_post",
         "srq_post16", "poll16", "poll16_srq")


def compare(cases, rounds, options, progress=None, run=measure):
    """A Table. Instructions are counted in the first round only: they do not change."""
    table = Table()
    for turn in range(rounds):
        for library in (DVQ, IBVERBS):
            if progress:
                progress.step("round %d, %s" % (turn + 1, library))
            more = ["--no-instructions"] if turn else []
            for row in run(library, cases, [*options, *more]):
                table.add(row)
    return table


def ratio(results, case, what):
    ours, theirs = (perf_compare.figure(perf_compare.find(results, library, case), what)
                    for library in (DVQ, IBVERBS))
    return ours / theirs if ours is not None and theirs else None


def rows(results, what):
    """The table's lines, each a list of words: first the head."""
    yield ["case", DVQ, IBVERBS, "ratio"]
    for case in dict.fromkeys(one["case"] for one in results):
        yield [case, *(perf_compare.cell(results, library, case, what)
                       for library in (DVQ, IBVERBS)),
               perf_compare.number(ratio(results, case, what), 2)]


HEADS = (("instructions", "instructions per operation"),
         ("cycles", "cycles (TSC) per operation, medians"))


def text(results):
    """All of it, for a terminal."""
    lines = []
    for what, head in HEADS:
        if any(perf_compare.figure(one, what) is not None for one in results):
            lines += ["", head, "", *perf_compare.laid_out(list(rows(results, what)))]
    return "\n".join(lines)
