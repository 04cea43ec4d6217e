# SPDX-License-Identifier: BSD-3-Clause
"""A million generated frames from one port to the other, byte-exact, in order,
none lost (test/pmd/integrity.c): sizes, segments, pools and queues at random."""

import pytest

from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "pmd" / "mdv-integrity"
FRAMES = 20000 if build.sanitized() else 1000000

if not PROGRAM.exists():
    pytest.skip("the driver is not part of this build", allow_module_level=True)


def run(vmlx4, stepped, frames, seed, *options):
    mode = [["--threaded"], []] if not stepped else [[], ["--step"]]
    done = vmlx4(PROGRAM, *mode[0], "--frames", frames, "--seed", seed,
                 options=[*mode[1], *options], timeout=600).ok()
    assert done.stdout.startswith("%d frames, none lost" % frames), str(done)
    return done


@pytest.mark.parametrize("stepped", [True, False], ids=["stepped", "threaded"])
def test_generated_frames(vmlx4, stepped):
    run(vmlx4, stepped, FRAMES, 1)


@pytest.mark.parametrize("seed", range(2, 6))
def test_other_seeds(vmlx4, seed):
    run(vmlx4, True, FRAMES // 20, seed)


@pytest.mark.parametrize("options", [["--cqe=32"], ["--profile=cx3"]], ids=lambda o: o[0][2:])
def test_other_cards(vmlx4, options):
    run(vmlx4, True, FRAMES // 20, 7, *options)
