# SPDX-License-Identifier: BSD-3-Clause
"""The card models' files: a fault in one is told with file, line and cure, and
what is in them is what a program sees."""

import subprocess

import pytest

from harness import adapter
from mlx4dvlib import build

FOLDER = build.TOP / "lib" / "vmlx4" / "profiles"
CX3 = (FOLDER / "cx3.conf").read_text()


def generate(tmp_path, *files):
    out = tmp_path / "out.c"
    run = subprocess.run(["/usr/bin/python3", FOLDER / "generate.py", out, *files],
                         capture_output=True, text=True, timeout=60)
    assert (run.returncode == 0) == out.exists()
    return run.returncode, run.stderr, out.read_text() if out.exists() else ""


def test_two_files(tmp_path):
    child = tmp_path / "child.conf"
    child.write_text("# comment\n\nlike = cx3   # of the same chip\nmax_tso=0\n")
    status, stderr, code = generate(tmp_path, FOLDER / "cx3.conf", child)
    assert (status, stderr) == (0, "")
    parent, child = code.split('.name = "child"')
    assert ".max_tso = 262144u," in parent and ".max_tso = 0u," in child
    assert ".max_cqe = 4194303u," in parent and ".max_cqe = 4194303u," in child


BAD = [
    ("speed = 1\n", 1, ['"speed"', "no such field", "speed_mbps"]),
    ("like = cx9\n", 1, ['"cx9"', "(cx3)"]),
    ("like = cx3\nmax_cq = many\n", 2, ['max_cq: "many"', "a number from 1 to 4294967295"]),
    ("like = cx3\nmax_cq = -1\n", 2, ['max_cq: "-1"', "a number"]),
    ("like = cx3\npart_id = 65536\n", 2, ["part_id", "1 to 65535"]),
    ("like = cx3\nfw_ver = 2.42\n", 2, ["fw_ver", "2.42.5000"]),
    ("like = cx3\nscatter_fcs = 1\n", 2, ["scatter_fcs", "yes or no"]),
    ("like = cx3\nboard_id = a\"b\n", 2, ["board_id", "without quotes"]),
    ("like = cx3\n\nmax_tso\n", 3, ['"max_tso"', "NAME = VALUE"]),
    ("like = cx3\nmax_tso = 1\nmax_tso = 2\n", 3, ["max_tso", "twice"]),
    ("max_tso = 1\nlike = cx3\n", 2, ["like", "first"]),
    (CX3.replace("max_srq_sge", "# max_srq_sge"), CX3.count("\n"), ["max_srq_sge", "missing"]),
]


@pytest.mark.parametrize("content, line, words", BAD, ids=lambda value: str(value)[:20])
def test_bad_file(tmp_path, content, line, words):
    name = tmp_path / "bad.conf"
    name.write_text(content)
    status, stderr, _ = generate(tmp_path, FOLDER / "cx3.conf", name)
    assert status == 1
    assert stderr.startswith("%s:%d: " % (name, line)) and stderr.count("\n") == 1, stderr
    for word in words:
        assert word in stderr, stderr


def test_bad_name(tmp_path):
    name = tmp_path / "CX 3.conf"
    name.write_text(CX3)
    status, stderr, _ = generate(tmp_path, name)
    assert status == 1 and str(name) in stderr and "another name" in stderr


def listed():
    status, stdout, _ = adapter.run_bounded([build.launcher(), "profiles"])
    assert status == 0
    return stdout.splitlines()


def test_every_file_is_in_the_list():
    assert sorted(line.split()[0] for line in listed()) == sorted(
        path.stem for path in FOLDER.glob("*.conf"))


@pytest.mark.parametrize("name", [path.stem for path in sorted(FOLDER.glob("*.conf"))])
def test_devinfo_has_it(vmlx4, name):
    line = next(line for line in listed() if line.split()[0] == name)
    shown = vmlx4("ibv_devinfo", options=["--profile=" + name]).ok().stdout
    part_id = int(line.split("15b3:")[1][:4], 16)
    assert "vendor_part_id:\t\t\t%d\n" % part_id in shown
    assert "fw_ver:\t\t\t\t%s\n" % line.split("firmware ")[1] in shown
