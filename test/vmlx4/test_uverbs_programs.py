# SPDX-License-Identifier: BSD-3-Clause
"""Programs of test/vmlx4/uverbs in another setting than the one meson runs them in."""

import os
import resource

import pytest

from mlx4dvlib import build


def program(name):
    return build.build_dir() / "test" / "vmlx4" / "uverbs" / ("test_vmlx4_uverbs_" + name)


@pytest.mark.parametrize("name", ["descriptors", "guard"])
def test_with_the_engine_thread(vmlx4, name):
    vmlx4(program(name), strict="report").ok()


def test_limit_of_this_user(vmlx4):
    """--memlock=host asks the process: as root with CAP_IPC_LOCK there is none."""
    def limit():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))

    run = vmlx4("ibv_devinfo", "-v", options=["--memlock=host"], preexec_fn=limit)
    run.ok()
    refused = vmlx4(program("cq"), options=["--step", "--memlock=host"], preexec_fn=limit)
    assert (refused.status == 0) == (os.geteuid() == 0), str(refused)


def test_nobody_needs_a_privilege(vmlx4):
    """A process without any capability, which may lock nothing, is asked for nothing."""
    def limit():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))

    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    vmlx4(program("flow"), options=["--step"], prefix=bare, preexec_fn=limit).ok()
