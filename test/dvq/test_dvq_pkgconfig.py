# SPDX-License-Identifier: BSD-3-Clause
"""A program of somebody else's: what pkg-config says is all that it needs, with any
compiler, as strict as it may be."""

import os
import subprocess

import pytest

from mlx4dvlib import build

PROGRAM = """
#include <dvq.h>
#include <infiniband/mlx4dv.h>

int main(void)
{
    /* Used like this the function has an address of the program's, where that has no PIE. */
    int (*volatile init)(struct mlx4dv_obj *, uint64_t) = mlx4dv_init_obj;
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct ibv_context *ctx = devices[0] != NULL ? ibv_open_device(devices[0]) : NULL;
    struct dvq_spinlock lock = { 0 };
    struct dvq_open_request req;
    struct dvq_device device;
    struct dvq_sendq sq;

    memset(&req, 0, sizeof(req));
    memset(&sq, 0, sizeof(sq));
    if (dvq_locked(&lock, dvq_post_nop(&sq, DVQ_CTRL_CQE)) != -ENOMEM)
        return 1;
    if (dvq_open(&req) != -EINVAL)
        return 2;
    ibv_free_device_list(devices);
    if (init == NULL || ctx == NULL || dvq_query_device(ctx, &device) != 0)
        return 3;
    return ibv_close_device(ctx);
}
"""
COMPILERS = {
    "gcc": ["gcc", "-std=c11", "-x", "c"], "clang": ["clang", "-std=c11", "-x", "c"],
    "no PIE": ["gcc", "-fno-pie", "-no-pie", "-x", "c"],
    "g++": ["g++", "-x", "c++"], "clang++": ["clang++", "-x", "c++"],
}


def pkg_config(*arguments):
    environment = dict(os.environ,
                       PKG_CONFIG_PATH=str(build.build_dir() / "meson-uninstalled"))
    return subprocess.run(["pkg-config", *arguments], env=environment, capture_output=True,
                          text=True, check=True).stdout.split()


@pytest.mark.parametrize("choice", ["", "-DDVQ_DEBUG", "-DDVQ_DEBUG -DDVQ_UNCHECKED"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_program(tmp_path, vmlx4, compiler, choice):
    if build.sanitized():
        pytest.skip("the library wants the sanitizers' runtime")
    source, program = tmp_path / "program", tmp_path / "a.out"
    source.write_text(PROGRAM)
    try:
        done = subprocess.run(
            [*COMPILERS[compiler], "-O1", "-Wall", "-Wextra", "-Werror",
             *choice.split(), *pkg_config("--cflags", "libdvq"), source, "-x", "none",
             "-o", program, *pkg_config("--libs", "libdvq")],
            capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no " + compiler)
    assert done.returncode == 0, done.stderr
    if "UNCHECKED" not in choice:
        vmlx4(program).ok()


def test_version():
    """Of the interface, in the header and for pkg-config."""
    header = (build.TOP / "lib" / "dvq" / "dvq.h").read_text()
    assert "#define DVQ_VERSION_MAJOR 1\n#define DVQ_VERSION_MINOR 0\n" in header
    assert pkg_config("--modversion", "libdvq") == ["1.0"]
