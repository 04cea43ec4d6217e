# SPDX-License-Identifier: BSD-3-Clause
"""devtools/check-dpdk.sh before it builds anything: what it says of a tree that is
none, and what it leaves behind. A whole run takes minutes: make check-dpdk."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "devtools" / "check-dpdk.sh"
BUILT = ROOT / "build" / "check-dpdk"
FILES = ("VERSION", "meson_options.txt", "lib/ethdev/ethdev_driver.h")


def check(source, cwd=None):
    return subprocess.run([SCRIPT, *source], cwd=cwd, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def tree(folder, version):
    """What passes for a source tree at a first glance."""
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(version + "\n" if name == "VERSION" else "")
    return folder


def everything(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def refused(done, *words):
    assert done.returncode == 1, done
    assert done.stdout == "", done
    assert done.stderr.startswith("check-dpdk.sh: "), done
    for word in words:
        assert word in done.stderr, done


def test_nothing_is_named():
    refused(check([]), "no source tree is named", "make check-dpdk DPDK_SRC=DIR")
    refused(check([""]), "no source tree is named")


def test_no_such_folder(tmp_path):
    refused(check([tmp_path / "gone"]), "DPDK_SRC=%s is no folder" % (tmp_path / "gone"))
    # Relative to where it is called.
    refused(check(["gone"], cwd=tmp_path), "DPDK_SRC=%s is no folder" % (tmp_path / "gone"))


@pytest.mark.parametrize("lacking", FILES)
def test_not_a_source_tree(tmp_path, lacking):
    (tree(tmp_path, "24.11.0") / lacking).unlink()
    refused(check([tmp_path]), "DPDK_SRC=%s is no DPDK source tree" % tmp_path,
            "it has no %s" % lacking)


@pytest.mark.parametrize("version", ["22.07.0", "21.11.9", "20.11.10"])
def test_too_old(tmp_path, version):
    refused(check([tree(tmp_path, version)]), "is DPDK %s" % version, "is 22.11")


@pytest.mark.parametrize("version", ["", "main", "24", "24.11", "v24.11.0"])
def test_no_release(tmp_path, version):
    refused(check([tree(tmp_path, version)]), "VERSION says '%s'" % version, "24.11.1")


def test_a_tree_that_does_not_configure(tmp_path):
    """The step is named, with the end of its log; the tree is as it was, and a second
    try starts anew."""
    version = "22.11.%d" % (900000 + os.getpid())
    source = tree(tmp_path, version)
    (source / "meson.build").write_text("project('no', 'c')\nerror('says no to',\n"
                                        "  get_option('enable_drivers'))\n")
    before = everything(source)
    try:
        for _ in range(2):
            done = check([source])
            assert done.returncode == 1, done
            assert "failed: configuring DPDK %s" % version in done.stderr, done
            # Its options file is empty: meson knows none of what it is asked for.
            assert 'Unknown options: "disable_libs' in done.stderr, done
        assert everything(source) == before
    finally:
        shutil.rmtree(BUILT / version, ignore_errors=True)
