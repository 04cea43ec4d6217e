# SPDX-License-Identifier: BSD-3-Clause
"""A stepped run gives the same trace twice, byte for byte: whatever the host's
clock, its address space layout and its heap do."""

import pytest

from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "vmlx4" / "raw_packet" / "raw_packet"
TRIALS = ["send_of_many_pieces", "send_inline", "receive_into_pieces", "steering_by_address",
          "checksums_are_filled_in", "completion_events", "extended_cq", "qp_cycles", "bad_lkey",
          "bad_receive_lkey"]


def trace(vmlx4, tmp_path, name, *options, trials=TRIALS, **arguments):
    path = tmp_path / name
    vmlx4(PROGRAM, "--step", *trials, options=["--step", "--trace=%s" % path, *options],
          timeout=120, **arguments).ok()
    return path.read_bytes()


@pytest.mark.parametrize("options, strict", [
    ([], False), (["--trace-snaplen=20"], "report"), (["--profile=cx3", "--cqe=32"], False),
], ids=["plain", "report", "cx3"])
def test_same_trace_twice(vmlx4, tmp_path, options, strict, monkeypatch):
    first = trace(vmlx4, tmp_path, "first", *options, strict=strict)
    assert len(first) > 100_000
    # The address space is laid out anew, and what is in fresh memory is something else.
    monkeypatch.setenv("MALLOC_PERTURB_", "77")
    assert trace(vmlx4, tmp_path, "second", *options, strict=strict) == first


def test_raw_addresses_differ(vmlx4, tmp_path):
    """So the address space was another one in the test above, too."""
    first, second = (trace(vmlx4, tmp_path, name, "--trace-raw", trials=["send_inline"])
                     for name in ("first", "second"))
    assert len(first) == len(second) and first != second


def test_seed_is_in_the_trace(vmlx4, tmp_path):
    first, second = (trace(vmlx4, tmp_path, seed, "--seed=" + seed, trials=["send_inline"])
                     for seed in ("1", "2"))
    assert [first[24:32], second[24:32]] == [(1).to_bytes(8, "little"), (2).to_bytes(8, "little")]
