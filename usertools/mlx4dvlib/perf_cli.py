# SPDX-License-Identifier: BSD-3-Clause
"""The commands of mlx4dv-perf."""

import argparse
import os
import pathlib
import sys

from . import (build, machine, perf, perf_compare, perf_gate, perf_guide, perf_plot, perf_sweep,
               perf_testpmd, perf_verbs)
from .console import ConsoleError
from .perf import PerfError

QUICK = ["--counted", "1", "--samples", "100", "--repeats", "3"]
USUAL = ["--samples", "1000", "--repeats", "3"]
WORKER = {
    # Options handed on: name, least, most, default, what.
    "burst": (1, 256, 32, "packets of a burst"),
    "size": (60, 9000, 60, "bytes of a frame without FCS"),
    "ring": (64, 16384, 1024, "descriptors of a ring"),
    "segs": (1, 16, 1, "segments of a frame sent"),
    "pools": (1, 64, 1, "mempools that frames to send come from"),
    "regions": (0, 4096, 0, "memory regions of external buffers that they lie in; 0: pools"),
    "queues": (1, 16, 1, "RX queues"),
    "flows": (0, 10000, 0, "flow rules in place"),
}


def within(least, most):
    def number(text):
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError("%s: give a number from %d to %d" % (
                text, least, most))
        return value
    return number


def add_worker_options(parser, *names):
    for name in names:
        least, most, usual, what = WORKER[name]
        parser.add_argument("--" + name, type=within(least, most), metavar="N",
                            help="%s (%d)" % (what, usual))


def worker_options(arguments):
    return [word for name in WORKER if getattr(arguments, name, None) is not None
            for word in ("--" + name, str(getattr(arguments, name)))]


def how_long(arguments):
    """Of the worker: what the user set, over what --quick or its absence says."""
    chosen = QUICK if arguments.quick else USUAL
    return [*chosen, *(["--no-cycles"] if arguments.no_cycles else [])]


def command_line():
    return " ".join(["mlx4dv-perf", *sys.argv[1:]])


def known_cases(cases, known):
    for case in cases:
        name, _ = perf.split_case(case)
        if name not in known:
            raise PerfError("%s: no such case; one of %s" % (case, " ".join(known)))
        if not perf.runs_here(case):
            raise PerfError("%s: this processor has no such instructions" % case)


def writable(path):
    """Refused before minutes of measuring, not after."""
    if path and not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise PerfError("%s: no such folder" % os.path.dirname(path))
    if path and os.path.isdir(path):
        raise PerfError("%s: is a folder; give a file" % path)


def finish(table, arguments):
    """Print, write and draw what was measured."""
    results = table.results()
    print(perf_compare.text(results))
    if arguments.json:
        perf_compare.write_json(arguments.json, perf_compare.document(table, command_line()))
    if arguments.plot:
        perf_plot.bars(results, arguments.plot)


def prepare(arguments):
    writable(arguments.json)
    writable(arguments.plot)
    if arguments.plot:
        perf_plot.pyplot()


# ---- commands ----

def run(arguments):
    prepare(arguments)
    cases = arguments.case
    ports = arguments.eal or None
    ethdev = arguments.driver not in perf.SUBJECTS
    known_cases(cases, perf_compare.CASES if ethdev else perf_compare.KNOWN[arguments.driver])
    if ports and not ethdev:
        raise PerfError("--driver %s: takes no EAL arguments" % arguments.driver)
    options = [*worker_options(arguments), *how_long(arguments)]
    table = perf.Table()
    progress = perf.Progress(1)
    progress.step(arguments.driver)
    for row in perf.measure(arguments.driver, cases, options, ports, arguments.real):
        table.add(row)
    progress.end()
    finish(table, arguments)
    return 0


def compare(arguments):
    prepare(arguments)
    cases = arguments.case or list(perf_compare.CASES)
    known_cases(cases, perf_compare.CASES)
    rounds = arguments.rounds or (1 if arguments.quick else 3)
    progress = perf.Progress(rounds * len(perf_compare.DRIVERS))
    table = perf_compare.compare(perf_compare.DRIVERS, cases, rounds,
                                 [*worker_options(arguments), *how_long(arguments)], progress)
    progress.end()
    finish(table, arguments)
    return 0


def verbs(arguments):
    writable(arguments.json)
    cases = arguments.case or list(perf_verbs.CASES)
    known_cases(cases, perf_verbs.CASES)
    rounds = arguments.rounds or (1 if arguments.quick else 3)
    progress = perf.Progress(2 * rounds)
    table = perf_verbs.compare(cases, rounds, how_long(arguments), progress)
    progress.end()
    print(perf_verbs.text(table.results()))
    if arguments.json:
        perf_compare.write_json(arguments.json, perf_compare.document(table, command_line()))
    return 0


def sweep(arguments):
    writable(arguments.json)
    names = arguments.name or list(perf_sweep.SWEEPS)
    for name in names:
        perf_sweep.find(name)
    if arguments.plot:
        perf_plot.pyplot()
        if not os.path.isdir(arguments.plot):
            raise PerfError("--plot %s: no such folder" % arguments.plot)
    drivers = [arguments.driver] if arguments.driver else [perf.OURS, perf.STOCK]
    progress = perf.Progress(perf_sweep.steps(names, drivers))
    points = []
    for name in names:
        points += perf_sweep.sweep(name, drivers, how_long(arguments), progress)
    progress.end()
    print(perf_sweep.text(points))
    if arguments.json:
        perf_compare.write_json(arguments.json, {
            "machine": dict(machine.describe(), command=command_line()), "results": points})
    if arguments.plot:
        for name in names:
            perf_plot.lines([point for point in points if point["sweep"] == name],
                            perf_sweep.find(name).label,
                            os.path.join(arguments.plot, "sweep-%s.svg" % name))
    return 0


def testpmd(arguments):
    in_the_source()
    writable(arguments.json)
    rows, faults = [], []
    modes = arguments.mode or perf_testpmd.MODES
    for mode in modes:
        if mode not in perf_testpmd.MODES:
            raise PerfError("%s: no such mode; one of %s" % (mode, " ".join(perf_testpmd.MODES)))
    taking_part = {mode: list(perf_testpmd.contenders(
        mode, arguments.seconds, arguments.queues, another_build(arguments), arguments.scale))
        for mode in modes}
    progress = perf.Progress(arguments.runs * sum(map(len, taking_part.values())))
    for mode in modes:
        found, complaints = perf_testpmd.measure(mode, arguments.runs, taking_part[mode], progress)
        rows += found
        faults += complaints
    progress.end()
    print(perf_testpmd.text(rows))
    for fault in faults:
        print("mlx4dv-perf: %s" % fault, file=sys.stderr)
    if arguments.json:
        perf_compare.write_json(arguments.json, {
            "machine": dict(machine.describe(), command=command_line()), "results": rows})
    return 1 if faults else 0


def engine(arguments):
    in_the_source()
    against = another_build(arguments)
    print(perf_testpmd.engine_text(perf_testpmd.engine(arguments.runs, against), arguments.runs))
    return 0


def guide(arguments):
    """Renew it from files of --json: of compare, verbs and testpmd."""
    perf_guide.renew(arguments.file, arguments.json)
    return 0


def in_the_source():
    """What needs other programs of the build, which are not installed."""
    if perf.installed():
        raise PerfError("testpmd and engine run from a source tree only")


def another_build(arguments):
    if arguments.against is None:
        return None
    folder = arguments.against.resolve()
    if not (folder / "app" / "vmlx4" / "vmlx4").exists():
        raise PerfError("--against %s: no build of this project" % arguments.against)
    return folder


def record(arguments):
    for case in arguments.case:
        perf.split_case(case)
    known_cases([case for case in arguments.case if not perf_gate.of_library(case)],
                perf_compare.CASES)
    before = perf_gate.load()["instructions"] if perf_gate.RECORD.exists() else {}
    for case, value in perf_gate.record(arguments.case).items():
        change = " (%+.1f %%)" % (100 * (value / before[case] - 1)) if case in before else ""
        print("%-16s %8.2f%s" % (case, value, change))
    return 0


def check(_):
    risen, fallen, left_out = perf_gate.check()
    for words in risen:
        print("risen: " + words)
    for words in fallen:
        print("fallen: %s; 'mlx4dv-perf record' keeps it" % words)
    for case in left_out:
        print("left out: %s, which this processor cannot run" % case)
    if not risen:
        print("no burst takes more than %.0f %% more instructions than recorded" % (
            100 * perf_gate.TOLERANCE))
    return 1 if risen else 0


# ---- arguments ----

def add_output(parser, plot="FILE"):
    parser.add_argument("--json", metavar="FILE", help="write the results, and of what machine")
    if plot:
        parser.add_argument("--plot", metavar=plot, help="draw them, as SVG")
    parser.add_argument("--quick", action="store_true", help="few samples: under 30 s")
    parser.add_argument("--no-cycles", action="store_true",
                        help="count instructions only, which a busy machine does not change")


def parser_of():
    parser = argparse.ArgumentParser(
        prog="mlx4dv-perf", description="What a burst of a driver costs the processor.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    one = commands.add_parser("run", help="one driver",
                              usage="%(prog)s [options] [CASE[@BITS]...] [-- EAL ARGUMENT...]")
    one.add_argument("case", nargs="*", metavar="CASE[@BITS]",
                     help="what to measure (all); @128: with SIMD of so many bits at most")
    one.add_argument("--driver", default=perf.OURS, metavar="NAME",
                     help="net_mlx4dv, net_mlx4, verbs, floor, or any with two ports that the "
                          "EAL arguments make (%s)" % perf.OURS)
    one.add_argument("--real", action="store_true",
                     help="without the virtual adapter; never tried on a card")
    add_worker_options(one, *WORKER)
    add_output(one)
    one.set_defaults(function=run)

    many = commands.add_parser("compare", help="net_mlx4dv, net_mlx4, verbs and the floor")
    many.add_argument("case", nargs="*", metavar="CASE[@BITS]", help="what to measure (all)")
    many.add_argument("--rounds", type=within(1, 100), metavar="N",
                      help="times that each is started (3, with --quick 1)")
    add_worker_options(many, "burst", "size", "ring")
    add_output(many)
    many.set_defaults(function=compare)

    direct = commands.add_parser("verbs", help="libdvq and libibverbs, a reliable connection")
    direct.add_argument("case", nargs="*", metavar="CASE", help="what to measure (all)")
    direct.add_argument("--rounds", type=within(1, 100), metavar="N",
                        help="times that each is started (3, with --quick 1)")
    add_output(direct, None)
    direct.set_defaults(function=verbs)

    grow = commands.add_parser("sweep", help="how the cost grows with one thing")
    grow.add_argument("name", nargs="*", metavar="NAME",
                      help="of %s (all)" % ", ".join(perf_sweep.SWEEPS))
    grow.add_argument("--driver", choices=[perf.OURS, perf.STOCK], help="this one only")
    add_output(grow, "DIR")
    grow.set_defaults(function=sweep)

    both = commands.add_parser("testpmd", help="packets per second, end to end")
    both.add_argument("mode", nargs="*", metavar="MODE", help="of io, txonly, rxonly (all)")
    both.add_argument("--seconds", type=within(1, 3600), default=3, metavar="S",
                      help="length of a run of io or txonly (3)")
    both.add_argument("--queues", type=within(1, 16), default=1, metavar="N",
                      help="queues of each port (1)")
    both.add_argument("--scale", action="store_true",
                      help="also DPDK's net_memif and, over a veth, net_af_packet (needs root)")
    both.add_argument("--json", metavar="FILE", help="write the results, and of what machine")
    both.set_defaults(function=testpmd)
    alone = commands.add_parser("engine", help="what a packet costs the virtual adapter")
    alone.set_defaults(function=engine)
    for one in (both, alone):
        one.add_argument("--runs", type=within(1, 100), default=3, metavar="N",
                         help="runs of each (3)")
        one.add_argument("--against", type=pathlib.Path, metavar="BUILD",
                         help="also another build's adapter, e.g. of an earlier state")

    text = commands.add_parser("guide", help="renew the figures of a guide")
    text.add_argument("file", metavar="RST", help="whose generated part is replaced")
    text.add_argument("json", nargs="+", metavar="JSON", help="of compare, verbs or testpmd")
    text.set_defaults(function=guide)

    keep = commands.add_parser("record", help="set the instructions that 'check' allows")
    keep.add_argument("case", nargs="*", metavar="CASE[@BITS]",
                      help="to be recorded from now on, beside those that are")
    keep.set_defaults(function=record)
    commands.add_parser("check", help="has a burst more instructions than recorded?") \
        .set_defaults(function=check)
    return parser


def main():
    words, eal = sys.argv[1:], []
    if "--" in words:
        words, eal = words[:words.index("--")], words[words.index("--") + 1:]
    parser = parser_of()
    arguments = parser.parse_args(words)
    if eal and arguments.command != "run":
        parser.error("EAL arguments are for 'run' only")
    arguments.eal = eal
    try:
        if arguments.function is not guide and build.missing():
            raise PerfError(build.missing())
        return arguments.function(arguments)
    except (PerfError, ConsoleError) as error:
        print("mlx4dv-perf: %s" % error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mlx4dv-perf: interrupted", file=sys.stderr)
        return 130
