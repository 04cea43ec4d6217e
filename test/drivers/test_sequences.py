# SPDX-License-Identifier: BSD-3-Clause
"""Random sequences of ethdev's calls beside a model of the port (test/pmd/sequence.h),
with faults, on a stepped adapter. SEED=n is one sequence alone, with each of its steps
shown; SEED=n-m are many."""

import os

import pytest

from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "pmd" / "mdv-sequence"

if not PROGRAM.exists():
    pytest.skip("the driver is not part of this build", allow_module_level=True)

# Of the suite: by the tens, as each process has EAL to start.
RANGES = ["1-10", "11-20", "21-30"]


def run(vmlx4, seeds, *options):
    first, _, last = seeds.partition("-")
    done = vmlx4(PROGRAM, *options, first, last or first, options=["--step"], timeout=3600).ok()
    count = int(last or first) - int(first) + 1
    assert done.stdout.count("ok ") >= count, str(done)
    return done


@pytest.mark.parametrize("seeds", [os.environ["SEED"]] if "SEED" in os.environ else RANGES)
def test_sequences(vmlx4, seeds):
    print(run(vmlx4, seeds, *[] if "SEED" in os.environ else ["--quiet"]).stdout)


def test_a_sequence_is_the_same_each_time(vmlx4):
    """A seed says all that is done, so that what it finds can be found again."""
    assert run(vmlx4, "7").stdout == run(vmlx4, "7").stdout


def test_a_step_can_be_left_out(vmlx4):
    whole, part = run(vmlx4, "5", "--steps=40"), run(vmlx4, "5", "--steps=40", "--drop=3,4,39")
    numbers = [{line[:4] for line in done.stdout.splitlines() if line[:4].strip().isdigit()}
               for done in (whole, part)]
    assert numbers[0] - numbers[1] <= {"   3", "   4", "  39"}
