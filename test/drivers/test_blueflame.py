# SPDX-License-Identifier: BSD-3-Clause
"""By what frames were announced on ports with tx_blueflame=1: the traces of two of the tests
in test/pmd/tx_blueflame.c, which look at the frames."""

import re

import pytest

from harness import adapter
from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "pmd" / "mdv-test"

if not PROGRAM.exists():
    pytest.skip("the driver is not part of this build", allow_module_level=True)


def trace(vmlx4, folder, name, *options):
    """The lines of what doorbells there were, and of the WQEs sent."""
    path = folder / "trace"
    vmlx4(PROGRAM, name, options=["--step", "--trace=%s" % path, *options]).ok()
    status, stdout, stderr = adapter.run_bounded([build.launcher(), "show", path])
    assert (status, stderr) == (0, "")
    lines = stdout.splitlines()
    return ([line for line in lines if re.search(r"  doorbell  (send|blueflame) ", line)],
            [line for line in lines if re.search(r"  wqe .* SEND ", line)])


def length(wqe):
    return sum(map(int, re.findall(r"inline (\d+) B", wqe)))


def test_frames_alone_go_by_blueflame(vmlx4, tmp_path):
    bells, wqes = trace(vmlx4, tmp_path, "tx_blueflame_frames_of_each_length")
    copied = [wqe for wqe in wqes if " blueflame " in wqe]
    assert sorted(set(map(length, copied))) == list(range(17, 225))
    # Each is announced once, one way or the other.
    assert sum("blueflame" in bell for bell in bells) == len(copied)
    assert len(bells) == len(wqes)
    # What was not copied is too short or too long, or its WQE would not end in the ring.
    others = [length(wqe) for wqe in wqes if wqe not in copied]
    assert len([size for size in others if size == 0]) == 5 * (3 + 10)
    assert 0 < len([size for size in others if size != 0]) < len(copied) / 20


def test_a_virtual_function_has_none(vmlx4, tmp_path):
    bells, wqes = trace(vmlx4, tmp_path, "tx_blueflame_on_a_virtual_function",
                        "--profile=cx3-vf")
    assert wqes and len(bells) == len(wqes)
    assert not any("blueflame" in line for line in bells + wqes)
