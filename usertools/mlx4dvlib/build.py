# SPDX-License-Identifier: BSD-3-Clause
"""Where the things of a build lie, and the command lines that use them."""

import os
import pathlib
import stat

TOP = pathlib.Path(__file__).resolve().parents[2]
PCI_ADDRESS = "0000:05:00.0"


def build_dir():
    """The build folder: BUILD_DIR, relative to the project or absolute."""
    return TOP / os.environ.get("BUILD_DIR", "build")


def launcher():
    return build_dir() / "app" / "vmlx4" / "vmlx4"


def driver():
    return build_dir() / "drivers" / "net" / "mlx4dv" / "librte_net_mlx4dv.so"


def missing():
    """What to tell who has not built yet; None for who has."""
    if launcher().exists():
        return None
    return ("%s is not built; run 'make build', or name another build with BUILD_DIR" %
            launcher())


def sanitized():
    """Was this build made with -Db_sanitize?"""
    options = build_dir() / "meson-info" / "intro-buildoptions.json"
    return '"b_sanitize", "value": "none"' not in options.read_text()


def eal_refuses(path):
    """The world-writable parent for which EAL refuses -d PATH, or None."""
    for parent in pathlib.Path(path).resolve().parents:
        if parent.stat().st_mode & stat.S_IWOTH:
            return parent
    return None


def exec_command(program, *options):
    """The command line that runs a program on the virtual adapter.

    Options are those of "vmlx4 exec" with their dashes."""
    return [str(launcher()), "exec", *options, "--", *map(str, program)]
