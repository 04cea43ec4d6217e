# SPDX-License-Identifier: BSD-3-Clause
"""The fuzz targets: what is in their corpus runs through in every build, and a
fixed number of inputs from a fixed seed finds nothing."""

import os
import pathlib
import subprocess

import pytest

from harness import adapter
from mlx4dvlib import build

FOLDER = pathlib.Path(__file__).resolve().parent
TARGETS = sorted(path.stem[len("fuzz_"):] for path in FOLDER.glob("fuzz_*.c"))

# Ten seconds or so each on two idle cores.
RUNS = {"commands": 25000, "frame": 100000, "options": 300000, "roce": 25000,
        "wqe": 120000}


def test_every_target_is_run():
    assert TARGETS == sorted(RUNS) == sorted(path.name for path in (FOLDER / "corpus").iterdir())


@pytest.mark.parametrize("target", TARGETS)
def test_corpus(target):
    inputs = sorted((FOLDER / "corpus" / target).iterdir())
    program = build.build_dir() / "test" / "fuzz" / ("replay_" + target)
    status, stdout, stderr = adapter.run_bounded([program, *inputs], timeout=120)
    assert (status, stdout) == (0, "%d inputs\n" % len(inputs)), stderr[-3000:]


@pytest.mark.parametrize("target", TARGETS)
def test_fuzz(target):
    if build.sanitized():
        pytest.skip("the fuzz targets are sanitized in their own build")
    run = subprocess.run([build.TOP / "devtools" / "fuzz.sh", "run", target],
                         env=dict(os.environ, FUZZ_RUNS=str(RUNS[target])),
                         capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr


def test_seeds_are_those_of_the_script(tmp_path):
    """What seeds.py makes lies in the corpus as it makes it."""
    subprocess.run(["/usr/bin/python3", FOLDER / "seeds.py", tmp_path], check=True, timeout=60)
    for made in tmp_path.glob("*/*"):
        kept = FOLDER / "corpus" / made.relative_to(tmp_path)
        assert kept.exists() and kept.read_bytes() == made.read_bytes(), kept
