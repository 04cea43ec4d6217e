# SPDX-License-Identifier: BSD-3-Clause
"""mlx4dv-perf verbs: libdvq against libibverbs, on one virtual adapter and turn about."""

import json

import pytest

from harness.adapter import run_bounded
from mlx4dvlib import build, perf_gate, perf_verbs

SCRIPT = build.TOP / "app" / "mlx4dv-perf" / "mlx4dv-perf"
TARGET = 0.35
# Posted in chains, an SRQ's WQE costs libibverbs so little that half of it is the floor.
MISSED = {"srq_post16": 0.55}


def test_a_third_of_the_instructions(tmp_path):
    reason = perf_gate.why_not()
    if reason:
        pytest.skip(reason)
    path = tmp_path / "verbs.json"
    status, stdout, stderr = run_bounded([SCRIPT, "verbs", "--quick", "--no-cycles", "--json",
                                          path], timeout=120)
    assert status == 0, stderr
    document = json.loads(path.read_text())
    assert document["machine"]["command"].startswith("mlx4dv-perf verbs ")
    for case in perf_verbs.CASES:
        ratio = perf_verbs.ratio(document["results"], case, "instructions")
        assert ratio <= MISSED.get(case, TARGET), case
        assert "%s  " % case in stdout and "%.2f" % ratio in stdout


def test_turn_about():
    """Instructions in the first round, cycles of all of them."""
    asked = []

    def run(library, cases, options):
        assert cases == ["send"]
        asked.append((library, "--no-instructions" in options))
        row = {"driver": library, "case": "send", "cycles": [4.0 * len(asked)]}
        return [row if "--no-instructions" in options else
                dict(row, instructions_per_packet=10.0 * len(asked))]

    results = perf_verbs.compare(["send"], 2, [], run=run).results()
    assert asked == [("libdvq", False), ("libibverbs", False),
                     ("libdvq", True), ("libibverbs", True)]
    assert list(perf_verbs.rows(results, "instructions")) == [
        ["case", "libdvq", "libibverbs", "ratio"], ["send", "10.0", "20.0", "0.50"]]
    assert list(perf_verbs.rows(results, "cycles"))[1] == ["send", "8.0", "12.0", "0.67"]


@pytest.mark.parametrize("arguments, complaint", [
    (["receive"], "receive: no such case; one of send "),
    (["--rounds", "0"], "0: give a number from 1 to 100"),
    (["--json", "/nowhere/x"], "/nowhere: no such folder"),
    (["--plot", "x"], "unrecognized arguments: --plot"),
    (["--", "--no-pci"], "EAL arguments are for 'run' only"),
])
def test_bad_input(arguments, complaint):
    status, stdout, stderr = run_bounded([SCRIPT, "verbs", *arguments])
    assert (status, stdout) == (2, ""), stderr
    assert complaint in stderr
