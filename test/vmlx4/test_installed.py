# SPDX-License-Identifier: BSD-3-Clause
"""What other projects use, as it is installed: the example project built by pkg-config
alone, linked and preloaded, under sanitizers and valgrind, as an ordinary user, eight
at once, and its own pytest."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

from harness import pcap
from harness.adapter import run_bounded
from mlx4dvlib import build, forward

EXAMPLE = build.TOP / "examples" / "ci"
MAC = "02:00:00:00:00:01"
COUNT = 1000
FRAMES = [bytes.fromhex("020000000001020000000099 88b5") + number.to_bytes(4, "big") + bytes(42)
          for number in range(COUNT)]
REFLECT = ("reflect", "1", MAC, str(COUNT))
# A sanitized library cannot be linked with other programs than its own kind.
OWN_SANITIZER = ("address,undefined",) if build.sanitized() else ()
SANITIZERS = OWN_SANITIZER or ("none", "address", "thread")


class Installed:
    """The project installed below a folder, and the example built against it."""

    def __init__(self, folder):
        self.folder = folder
        subprocess.run(["meson", "install", "-C", str(build.build_dir()), "--no-rebuild",
                        "--quiet", "--destdir", str(folder / "root")], check=True, timeout=120,
                       stdout=subprocess.DEVNULL)
        found, = (folder / "root").rglob("libvmlx4.pc")
        self.pc = found
        prefix = next(line.split("=")[1] for line in found.read_text().splitlines()
                      if line.startswith("prefix="))
        self.prefix = folder / "root" / prefix.lstrip("/")
        pcap.write(folder / "in.pcap", FRAMES)
        for sanitizer in SANITIZERS:
            self._build(sanitizer)

    def pkg_config(self, *arguments):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.pc.parent))
        return subprocess.run(
            ["pkg-config", "--define-variable=prefix=%s" % self.prefix, *arguments, "libvmlx4"],
            env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def _build(self, sanitizer):
        folder = self.folder / sanitizer
        folder.mkdir()
        flags = "-O1 -g -Wall -Wextra -Werror"
        if sanitizer != "none":
            flags += " -fsanitize=%s" % sanitizer
        libs = self.pkg_config("--libs")
        for program, sources in (("reflect", "main.c reflect.c"), ("unit", "unit.c reflect.c"),
                                 ("linked", "main.c reflect.c")):
            words = ["cc", *flags.split(), "-o", str(folder / program),
                     *(str(EXAMPLE / name) for name in sources.split())]
            if program != "reflect":
                words += [*self.pkg_config("--cflags").split(), *libs.split(),
                          "-Wl,-rpath,%s" % self.pkg_config("--variable=libdir")]
            subprocess.run([*words, "-libverbs"], check=True, timeout=120)

    def launcher(self):
        return self.pkg_config("--variable=vmlx4")

    def wires(self, out):
        return ["wire1=pcap:in=%s,out=%s" % (self.folder / "in.pcap", out), "wire2=loop"]


@pytest.fixture(scope="module")
def installed():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vmlx4-installed-"))
    folder.chmod(0o755)  # for "nobody", too
    yield Installed(folder)
    shutil.rmtree(folder)


def run(command, folder, **environment):
    """To its end; nothing may be left in its folder for temporary files."""
    temporary = pathlib.Path(tempfile.mkdtemp(dir=folder))
    temporary.chmod(0o777)
    status, stdout, stderr = run_bounded(
        command, 120, env=dict(os.environ, TMPDIR=str(temporary), **environment))
    text = "$ %s\nstatus %s\n%s\n%s" % (command, status, stdout, stderr)
    assert status == 0 and stderr == "", text
    assert not list(temporary.iterdir()), text
    return stdout


def came_back(out):
    assert pcap.read(out) == [frame[6:12] + frame[:6] + frame[12:] for frame in FRAMES]


def reflect(installed, how, sanitizer, out, prefix=()):
    wires = installed.wires(out)
    folder = installed.folder / sanitizer
    if how == "linked":
        stdout = run([*prefix, folder / "linked", *REFLECT[1:]], out.parent,
                     VMLX4_OPTIONS=" ".join(["strict", *wires]))
    else:
        stdout = run([installed.launcher(), "exec", "--strict", *("--" + wire for wire in wires),
                      "--", *prefix, folder / "reflect", *REFLECT[1:]], out.parent)
    assert stdout == "sent %d\n" % COUNT
    came_back(out)


@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("how", ["linked", "preloaded"])
def test_threaded(installed, tmp_path, how, sanitizer):
    reflect(installed, how, sanitizer, tmp_path / "out.pcap")


@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("how", ["linked", "preloaded"])
def test_stepped(installed, tmp_path, how, sanitizer):
    unit = installed.folder / sanitizer / "unit"
    command = [unit] if how == "linked" else [installed.launcher(), "exec", "--step", "--strict",
                                              "--wire=loop", "--", unit]
    assert run(command, tmp_path) == "ok\n"


@pytest.mark.skipif(build.sanitized(), reason="valgrind and sanitizers exclude each other")
@pytest.mark.parametrize("how", ["linked", "preloaded"])
def test_valgrind(installed, tmp_path, how):
    reflect(installed, how, "none", tmp_path / "out.pcap",
            ["valgrind", "-q", "--fair-sched=yes", "--error-exitcode=9", "--leak-check=full",
             "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"])
    if how == "linked":
        assert run(["valgrind", "-q", "--fair-sched=yes", "--error-exitcode=9",
                    installed.folder / "none" / "unit"],
                   tmp_path) == "ok\n"


@pytest.mark.parametrize("how", ["linked", "preloaded"])
def test_ordinary_user(installed, how):
    prefix, why = forward.ordinary_user(installed.folder)
    if not prefix:
        pytest.skip(why or "needs root, to become another user")
    with tempfile.TemporaryDirectory(prefix="vmlx4-user-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        out = folder / "out.pcap"
        command = [*prefix, "env", "VMLX4_OPTIONS=strict " + " ".join(installed.wires(out)),
                   installed.folder / SANITIZERS[0] / "linked", *REFLECT[1:]]
        if how == "preloaded":
            command = [*prefix, installed.launcher(), "exec", "--strict",
                       *("--" + wire for wire in installed.wires(out)), "--",
                       installed.folder / SANITIZERS[0] / "reflect", *REFLECT[1:]]
        assert run(command, folder) == "sent %d\n" % COUNT
        came_back(out)


def test_eight_at_once(installed, tmp_path):
    started = []
    for number in range(8):
        wires = installed.wires(tmp_path / ("out%d.pcap" % number))
        program = installed.folder / SANITIZERS[0]
        command = [program / "linked", *REFLECT[1:]]
        environment = dict(os.environ, VMLX4_OPTIONS=" ".join(["strict", *wires]))
        if number % 2:
            command = [installed.launcher(), "exec", "--strict", *("--" + w for w in wires), "--",
                       program / "reflect", *REFLECT[1:]]
            environment = dict(os.environ)
        started.append(subprocess.Popen(list(map(str, command)), env=environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    try:
        for number, process in enumerate(started):
            stdout, _ = process.communicate(timeout=120)
            assert (process.returncode, stdout) == (0, "sent %d\n" % COUNT)
            came_back(tmp_path / ("out%d.pcap" % number))
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_example_project(installed, tmp_path):
    """Its own Makefile and its own tests, in a copy."""
    folder = tmp_path / "ci"
    shutil.copytree(EXAMPLE, folder)
    flags = ["-fsanitize=" + OWN_SANITIZER[0]] if OWN_SANITIZER else []
    plugin, = (installed.folder / "root").rglob("pytest_vmlx4.py")
    status, stdout, stderr = run_bounded(
        ["make", "-C", folder, "test", "CFLAGS=%s" % " ".join(["-O2", "-g", *flags]),
         "VMLX4_CFLAGS=" + installed.pkg_config("--cflags"),
         "VMLX4_LIBS=" + installed.pkg_config("--libs"),
         "LDFLAGS=-Wl,-rpath," + installed.pkg_config("--variable=libdir"),
         "PYTEST=%s -m pytest -p no:cacheprovider" % sys.executable],
        300, env=dict(os.environ, PYTHONPATH=str(plugin.parent), VMLX4=installed.launcher()))
    assert status == 0 and "6 passed" in stdout, stdout + stderr


# ---- vmlx4_start() and the environment ----

@pytest.mark.parametrize("options, complaint", [
    ("wire1=cable", 'vmlx4: option wire1: "cable": use loop, '),
    ("ports=3", 'vmlx4: option ports: "3": give a number from 1 to 2'),
    ("wire1=pcap:in=/nowhere/in.pcap wire2=loop", "vmlx4: port 1: wire pcap:in=/nowhere/in.pcap: "),
])
def test_wrong_options(installed, tmp_path, options, complaint):
    """Said once, and the program goes on without an adapter."""
    status, stdout, stderr = run_bounded(
        [installed.folder / SANITIZERS[0] / "linked", *REFLECT[1:]], 60,
        env=dict(os.environ, TMPDIR=str(tmp_path), VMLX4_OPTIONS=options,
                 SYSFS_PATH=str(tmp_path)))
    assert status == 1 and stderr.startswith(complaint), stdout + stderr
    assert stderr.endswith("reflect: no verbs device\n")
    assert not list(tmp_path.iterdir())
