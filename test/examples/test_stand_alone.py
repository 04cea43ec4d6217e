# SPDX-License-Identifier: BSD-3-Clause
"""The examples of libdvq as their READMEs have them: compiled by themselves against what
was installed, walked through, short."""

import os
import re
import shutil
import subprocess

import pytest

from mlx4dvlib import build

EXAMPLES = build.TOP / "examples"
NAMES = {"dvq_ping": ["both", "-n", 10], "dvq_raw": ["both", "-n", 100], "dvq_srq": ["-n", 100]}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where libdvq.pc is."""
    if build.sanitized():
        pytest.skip("the library wants the sanitizers' runtime")
    root = tmp_path_factory.mktemp("root")
    subprocess.run(["meson", "install", "-C", build.build_dir(), "--no-rebuild", "--quiet",
                    "--destdir", root], check=True, timeout=120, stdout=subprocess.DEVNULL)
    found, = root.rglob("libdvq.pc")
    prefix, = re.findall("^prefix=(.*)", found.read_text(), re.M)
    found.write_text(found.read_text().replace("prefix=" + prefix, "prefix=%s%s" % (root, prefix)))
    return found.parent


@pytest.mark.parametrize("name", NAMES)
def test_compiled_by_its_readme(vmlx4, installed, tmp_path, name):
    command, = re.findall(r"^    (cc .*)", (EXAMPLES / name / "README.md").read_text(), re.M)
    for folder in (name, "common"):
        shutil.copytree(EXAMPLES / folder, tmp_path / folder)
    done = subprocess.run(command, shell=True, cwd=tmp_path / name, timeout=120, text=True,
                          env=dict(os.environ, PKG_CONFIG_PATH=str(installed)),
                          capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    vmlx4(tmp_path / name / name, *NAMES[name]).ok()


@pytest.mark.parametrize("name", NAMES)
def test_walk_through_the_code(name):
    """It names all functions of the program, and none that are not in its code."""
    code = (EXAMPLES / name / (name + ".c")).read_text()
    readme = (EXAMPLES / name / "README.md").read_text()
    walk = readme[readme.index("## The code"):readme.index("## What to change")]
    named = set(re.findall(r"`(\w+)\(\)`", walk))
    defined = set(re.findall(r"^(\w+)\(", code, re.M))
    assert defined - named <= {"main"}
    assert {call for call in named if call + "(" not in code} == set()
    for link in re.findall(r"\]\((\S+?)\)", readme):
        assert (EXAMPLES / name / link).exists(), link


@pytest.mark.parametrize("name", NAMES)
def test_about_150_lines(name):
    lines = (EXAMPLES / name / (name + ".c")).read_text().count("\n")
    assert 130 <= lines <= 165
