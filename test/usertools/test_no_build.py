# SPDX-License-Identifier: BSD-3-Clause
"""Tools that are started before anything is built."""

import os

import pytest

from harness.adapter import run_bounded
from mlx4dvlib import build


@pytest.mark.parametrize("command", [
    ["usertools/mlx4dv-demo"], ["app/mlx4dv-perf/mlx4dv-perf", "compare"],
    ["app/mlx4dv-perf/mlx4dv-perf", "testpmd"], ["app/mlx4dv-perf/mlx4dv-perf", "check"]],
    ids=lambda command: " ".join(command).rsplit("/", 1)[1])
def test_one_line_says_what_to_do(tmp_path, command):
    status, stdout, stderr = run_bounded(
        ["/usr/bin/python3", build.TOP / command[0], *command[1:]],
        env=dict(os.environ, BUILD_DIR=str(tmp_path)))
    assert status != 0 and stdout == "", stdout + stderr
    assert stderr == "%s: %s/app/vmlx4/vmlx4 is not built; run 'make build', or name another " \
        "build with BUILD_DIR\n" % (command[0].rsplit("/", 1)[1], tmp_path)
