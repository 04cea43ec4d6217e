# SPDX-License-Identifier: BSD-3-Clause
"""Programs of test/vmlx4/uverbs in another setting than the one meson runs them in."""

import shutil

import pytest

from mlx4dvlib import build


def program(name):
    return build.build_dir() / "test" / "vmlx4" / "uverbs" / ("test_vmlx4_uverbs_" + name)


@pytest.mark.parametrize("name", ["descriptors", "guard"])
def test_with_the_engine_thread(vmlx4, name):
    vmlx4(program(name), strict="report").ok()
