# SPDX-License-Identifier: BSD-3-Clause
"""The instructions per packet of each burst variant, recorded in the repository, and
whether they have risen."""

import json

from . import build, machine
from .perf import OURS, PerfError, measure, runs_here
from .perf_verbs import CASES as LIBRARY_CASES, DVQ

RECORD = build.TOP / "test" / "perf" / "instructions.json"
TOLERANCE = 0.03
CASES = ("rx", "rx_offload", "rx_vlan", "rx_stamps", "rx_scatter", "rx_empty", "tx",
         "tx_fast_free", "tx_checksum", "tx_vlan", "tx_2seg", "tx_16seg", "tx_64pools",
         "tx_inline", "tx_empty",
         *("%s/%s" % (DVQ, case) for case in LIBRARY_CASES))
OPTIONS = ["--no-cycles", "--counted", "1"]


def load(path=RECORD):
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        figures = {str(case): float(value) for case, value in record["instructions"].items()}
        return {"compiler": record["compiler"], "instructions": figures}
    except OSError as error:
        raise PerfError("%s: %s; 'mlx4dv-perf record' makes it" % (path, error.strerror)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PerfError("%s is not a record (%s); 'mlx4dv-perf record' makes it anew" % (
            path, error)) from None


def why_not():
    """Why figures of this build cannot be held against a record, or None."""
    if not build.driver().exists():
        return "no build of this project with the driver"
    if build.sanitized():
        return "the build has sanitizers, whose instructions would be counted"
    options = (build.build_dir() / "meson-info" / "intro-buildoptions.json").read_text()
    if '"name": "buildtype", "value": "release"' not in options:
        return "not a release build"
    return None


def other_compiler(record):
    """Figures of two compilers differ by more than is tolerated."""
    mine = machine.compiler()
    if mine is None or mine.rsplit(".", 1)[0] == record["compiler"].rsplit(".", 1)[0]:
        return None
    return "recorded with %s, this build is of %s" % (record["compiler"], mine)


def of_library(case):
    """The case of libdvq that is meant by its name in the record, or None."""
    library, slash, name = case.partition("/")
    return name if slash and library == DVQ and name in LIBRARY_CASES else None


def count(cases):
    """{case: instructions per packet, of libdvq per operation} of this build."""
    of_driver = [case for case in cases if not of_library(case)]
    of_dvq = [of_library(case) for case in cases if of_library(case)]
    found = {}
    for driver, wanted, prefix in ((OURS, of_driver, ""), (DVQ, of_dvq, DVQ + "/")):
        for row in measure(driver, wanted, OPTIONS) if wanted else ():
            if "skipped" in row:
                raise PerfError("%s: %s" % (row["case"], row["skipped"]))
            found[prefix + row["case"]] = row["instructions_per_packet"]
    return {case: found[case] for case in cases}


def record(cases=(), path=RECORD):
    """Count, and write the file; the cases are those that it has, and the given."""
    reason = why_not()
    if reason:
        raise PerfError("%s: %s" % (build.build_dir(), reason))
    kept = list(load(path)["instructions"]) if path.exists() else list(CASES)
    wanted = list(dict.fromkeys([*kept, *cases]))
    missing = [case for case in wanted if not runs_here(case)]
    if missing:
        raise PerfError("this processor cannot run %s: record on one that can" % ", ".join(missing))
    figures = count(wanted)
    path.write_text(json.dumps(
        {"compiler": machine.compiler(), "instructions": figures}, indent=1) + "\n",
        encoding="utf-8")
    return figures


def judge(recorded, counted, tolerance=TOLERANCE):
    """Returns what has risen by too much, and what has fallen by as much, in words."""
    risen, fallen = [], []
    for case, before in recorded.items():
        if case not in counted:
            continue
        now = counted[case]
        words = "%s: %.2f instructions per packet, recorded %.2f (%+.1f %%)" % (
            case, now, before, 100 * (now / before - 1))
        if now > before * (1 + tolerance):
            risen.append(words)
        elif now < before * (1 - tolerance):
            fallen.append(words)
    return risen, fallen


def check(path=RECORD):
    """(risen, fallen, left out)."""
    kept = load(path)
    reason = why_not() or other_compiler(kept)
    if reason:
        raise PerfError("%s: %s" % (build.build_dir(), reason))
    cases = [case for case in kept["instructions"] if runs_here(case)]
    left_out = [case for case in kept["instructions"] if case not in cases]
    return (*judge(kept["instructions"], count(cases)), left_out)
