# SPDX-License-Identifier: BSD-3-Clause
"""The regression gate: no burst takes more instructions than recorded. They are counted
one by one, and the adapter is stepped, so that the numbers do not depend on the machine's
load."""

import json

import pytest

from mlx4dvlib import perf_gate
from mlx4dvlib.perf import PerfError


def test_no_burst_takes_more_instructions(capsys):
    reason = perf_gate.why_not() or perf_gate.other_compiler(perf_gate.load())
    if reason:
        pytest.skip(reason)
    risen, fallen, left_out = perf_gate.check()
    with capsys.disabled():
        for words in fallen:
            print("\nhint: fewer than recorded, 'mlx4dv-perf record' keeps it: " + words)
    assert not risen, "\n".join(risen)
    assert len(left_out) < len(perf_gate.load()["instructions"]), "nothing was measured"


def test_every_variant_is_recorded():
    assert set(perf_gate.CASES) <= set(perf_gate.load()["instructions"])


def test_three_percent():
    recorded = {"rx": 100.0, "tx": 100.0, "rx_empty": 10.0, "elsewhere": 1.0}
    assert perf_gate.judge(recorded, {"rx": 103.0, "tx": 97.0, "rx_empty": 10}) == ([], [])
    risen, fallen = perf_gate.judge(recorded, {"rx": 103.1, "tx": 96.9, "rx_empty": 10.31})
    assert risen == ["rx: 103.10 instructions per packet, recorded 100.00 (+3.1 %)",
                     "rx_empty: 10.31 instructions per packet, recorded 10.00 (+3.1 %)"]
    assert fallen == ["tx: 96.90 instructions per packet, recorded 100.00 (-3.1 %)"]


def test_another_compiler():
    mine = perf_gate.machine.compiler()
    assert perf_gate.other_compiler({"compiler": mine}) is None
    assert perf_gate.other_compiler({"compiler": mine.rsplit(".", 1)[0] + ".99"}) is None
    assert mine in perf_gate.other_compiler({"compiler": "tcc 0.9.27"})


@pytest.mark.parametrize("content", [
    None, "", "[]", "{}", '{"compiler": "gcc 12.2.0", "instructions": {"rx": "few"}}',
    '{"compiler": "gcc 12.2.0", "instructions": [1]}'])
def test_a_bad_record(tmp_path, content):
    path = tmp_path / "instructions.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(PerfError, match="mlx4dv-perf record"):
        perf_gate.load(path)


def test_recording(tmp_path, monkeypatch):
    """What is there is counted again, what is asked for is added."""
    path = tmp_path / "instructions.json"
    path.write_text(json.dumps({"compiler": "gcc 1.0", "instructions": {"tx": 1}}))
    monkeypatch.setattr(perf_gate, "why_not", lambda: None)
    monkeypatch.setattr(perf_gate, "count", lambda cases: {case: 7.5 for case in cases})
    perf_gate.record(["rx@128", "tx"], path)
    assert perf_gate.load(path) == {"compiler": perf_gate.machine.compiler(),
                                    "instructions": {"tx": 7.5, "rx@128": 7.5}}
