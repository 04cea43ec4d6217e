# SPDX-License-Identifier: BSD-3-Clause
"""The man pages tell of every option and command, and are well-formed."""

import re
import subprocess

import pytest

from harness import adapter
from mlx4dvlib import build

MAN = build.TOP / "doc" / "man"


def helped(*arguments):
    """The options that --help knows, in its order."""
    status, stdout, stderr = adapter.run_bounded([build.launcher(), *arguments, "--help"])
    assert (status, stderr) == (0, "")
    return re.findall(r"^  --([\w-]+)", stdout, re.M)


@pytest.mark.parametrize("command", ["exec", "show"])
def test_every_option(command):
    page = (MAN / "vmlx4.1").read_text()
    part = re.search(r'^\.\\" %s-OPTIONS$(.*?)^\.\\" END$' % command.upper(), page, re.M | re.S)
    assert re.findall(r"^\.It Fl Fl ([\w-]+)", part[1], re.M) == helped(command)


def test_every_command():
    page = (MAN / "vmlx4.1").read_text()
    stdout = adapter.run_bounded([build.launcher(), "--help"])[1]
    commands = set(re.findall(r"^  vmlx4 (\w+)", stdout, re.M))
    assert {"exec", "show", "list"} <= commands
    for command in commands - {"profiles", "unknowns", "rules", "faults"}:
        assert "\n.It Cm %s\n" % command in page
    lists = re.search(r"^\.Cm list\n\.Op Cm (.*)$", page, re.M)[1].split(" | ")
    for name in lists:
        assert adapter.run_bounded([build.launcher(), "list", name])[0] == 0, name
    assert commands - {"exec", "show", "list"} <= set(lists)


@pytest.mark.parametrize("page", ["vmlx4.1", "vmlx4.7"])
def test_is_well_formed(page):
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", MAN / page], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout


MACROS = "Ar|Cm|Dl|Dq|Dv|Em|Er|Fa|Fl|Fn|Li|Ns|Pa|Pc|Po|Pq|Sq|Va|Vt|Xr"


@pytest.mark.parametrize("page", sorted(MAN.glob("*.[1-9]")), ids=lambda page: page.name)
def test_no_markup_is_printed(page):
    """A macro behind another one that takes none, or quotes that all end at once."""
    shown = subprocess.run(["mandoc", "-Tutf8", page], text=True, stdout=subprocess.PIPE,
                           check=True).stdout
    shown = re.sub("(.)\b(.)", r"\2", shown)
    assert not re.findall(r"[\s(‘“-](?:%s)\b(?!\()|[‘“-]No\b" % MACROS, shown)
    assert not re.search("[’”]{2}", shown)


def test_pages_are_installed(tmp_path):
    done = subprocess.run(["meson", "introspect", "--installed", build.build_dir()], text=True,
                          stdout=subprocess.PIPE, check=True)
    for page in ("man1/vmlx4.1", "man7/vmlx4.7"):
        assert page in done.stdout
