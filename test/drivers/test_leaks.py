# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of a port's life leave nothing behind: mbufs, descriptors, memory regions
and other objects of the adapter, memory (test/pmd/leaks.c). CONTRIBUTING.md has the
long run."""

import re

import pytest

from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "pmd" / "mdv-leaks"
KINDS = ["start-stop", "attach", "reset", "unplug"]

if not PROGRAM.exists():
    pytest.skip("the driver is not part of this build", allow_module_level=True)
if build.sanitized():
    pytest.skip("a sanitizer keeps freed memory; it looks for leaks itself",
                allow_module_level=True)


def test_rounds(vmlx4):
    done = vmlx4(PROGRAM, *[word for kind in KINDS for word in ("--" + kind, "40")],
                 options=["--step"], timeout=120).ok()
    lines = re.findall(r"^([\w-]+) +x 40 .*: 0 mbufs, 0 descriptors, 0 MRs, 0 other objects, ",
                       done.stdout, re.M)
    assert lines == KINDS, str(done)
