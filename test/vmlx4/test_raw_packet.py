# SPDX-License-Identifier: BSD-3-Clause
"""A raw-packet program over plain verbs, between the two ports of the adapter:
every part of it stepped, where nothing depends on timing, and with the engine's
thread."""

import json
import subprocess

import pytest

from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "vmlx4" / "raw_packet" / "raw_packet"


def trials():
    """{name: does the contract checker end it?}"""
    listing = subprocess.run([PROGRAM, "--list"], stdout=subprocess.PIPE, text=True, timeout=60,
                             check=True).stdout
    return {line.split()[0]: "violates" in line for line in listing.splitlines()}


TRIALS = trials()
CLEAN = [name for name, violates in TRIALS.items() if not violates]
VIOLATING = [name for name, violates in TRIALS.items() if violates]


def run(vmlx4, name, stepped, options=(), **arguments):
    step = ["--step"] if stepped else []
    return vmlx4(PROGRAM, *step, name, options=[*step, *options], timeout=120, **arguments)


@pytest.mark.parametrize("stepped", [True, False], ids=["stepped", "threaded"])
@pytest.mark.parametrize("name", CLEAN)
def test_clean(vmlx4, name, stepped):
    done = run(vmlx4, name, stepped).ok()
    assert done.stdout == "ok %s\n" % name


@pytest.mark.parametrize("options", [["--cqe=32"], ["--profile=cx3"]], ids=lambda o: o[0][2:])
@pytest.mark.parametrize("name", ["send_inline", "stream", "extended_cq", "completion_events"])
def test_other_cards(vmlx4, name, options):
    assert run(vmlx4, name, True, options).ok().stdout == "ok %s\n" % name


@pytest.mark.parametrize("stepped", [True, False], ids=["stepped", "threaded"])
@pytest.mark.parametrize("name", VIOLATING)
def test_fault_completes_as_on_the_card(vmlx4, name, stepped):
    """What the card makes of a key that is none: the completion with the error,
    the flushed ones behind it, and a queue that works again after RESET."""
    done = run(vmlx4, name, stepped, strict=False).ok()
    assert done.stdout == "ok %s\n" % name


@pytest.mark.parametrize("name", VIOLATING)
def test_fault_ends_a_strict_run(vmlx4, name):
    done = run(vmlx4, name, True)
    assert done.status == 86, str(done)
    assert "contract violation: lkey" in done.stderr, str(done)


def test_counters_of_a_run_that_a_violation_ended(vmlx4, tmp_path):
    """They are what one looks at then."""
    counters = tmp_path / "counters.json"
    done = vmlx4(PROGRAM, "--step", "stream", VIOLATING[0], timeout=120,
                 options=["--step", "--stats=%s" % counters])
    assert done.status == 86, str(done)
    kept = json.loads(counters.read_text())
    assert kept["violations"] == 1
    assert kept["ports"][0]["tx_frames"] > 0


def test_violations_are_counted_by_rule(vmlx4, tmp_path):
    """The program asks too: vmlx4_violations_of()."""
    counters = tmp_path / "counters.json"
    done = run(vmlx4, "bad_lkey", True, ["--stats=%s" % counters], strict="report").ok()
    kept = json.loads(counters.read_text())
    assert kept["violations_by_rule"] == {"lkey": 4}
    assert kept["violations"] == 4
    assert done.stderr.count("contract violation: lkey") == 4


def test_all_in_one_process(vmlx4):
    """Contexts opened and closed again and again in one program."""
    done = vmlx4(PROGRAM, "--step", options=["--step"], timeout=240).ok()
    assert done.stdout.split("\n")[:-1] == ["ok %s" % name for name in CLEAN]
