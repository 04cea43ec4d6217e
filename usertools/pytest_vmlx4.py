# SPDX-License-Identifier: BSD-3-Clause
"""pytest plugin: the fixture "vmlx4" runs programs on a virtual ConnectX-3.

    def test_it(vmlx4):
        run = vmlx4("./my-program", "-p", 1, frames={1: [frame, frame]}).ok()
        assert run.sent[1] == [...]
        assert run.port(1)["rx_frames"] == 2

Load it with "pytest -p pytest_vmlx4", or with pytest_plugins = ["pytest_vmlx4"] in a
conftest.py. The launcher is the one of --vmlx4=PATH or of the environment's VMLX4, the
"vmlx4" in PATH, or that of an installed libvmlx4.pc."""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess

import pytest

PORTS = (1, 2)
EXIT_VIOLATION = 86  # VMLX4_EXIT_VIOLATION of vmlx4.h


def pytest_addoption(parser):
    parser.addoption("--vmlx4", metavar="PATH", help="the launcher of the virtual adapter")


def find_launcher(config):
    """The launcher's path, or an error that says what to do."""
    named = config.getoption("--vmlx4") or os.environ.get("VMLX4")
    found = named or shutil.which("vmlx4")
    if found is None and shutil.which("pkg-config"):
        asked = subprocess.run(["pkg-config", "--variable=vmlx4", "libvmlx4"], check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        found = asked.stdout.strip() or None
    if found is None or not os.access(found, os.X_OK):
        raise pytest.UsageError("%s: no launcher of the virtual adapter; install vmlx4, or give "
                                "its path with --vmlx4=PATH" % (found or "vmlx4"))
    return os.path.abspath(found)


def write_pcap(path, frames):
    """A capture file of Ethernet frames, a microsecond apart."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(frames):
            file.write(struct.pack("<IIII", number // 1000000, number % 1000000,
                                   len(frame), len(frame)) + frame)


def read_pcap(path):
    """The frames of a capture file that the adapter wrote."""
    data = pathlib.Path(path).read_bytes()
    order = {0xa1b2c3d4: "<", 0xa1b23c4d: "<", 0xd4c3b2a1: ">", 0x4d3cb2a1: ">"}[
        struct.unpack_from("<I", data)[0]]
    frames, at = [], 24
    while at + 16 <= len(data):
        length = struct.unpack_from(order + "I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


class Run:
    """A program that has run.

    status    exit status; None: killed after the timeout; 86: a contract violation
    stdout, stderr
    counters  what the adapter counted ("vmlx4 exec --stats"), or None: it had no adapter
    sent      {port: frames that left it} of the ports that were given frames
    """

    def __init__(self, command, status, stdout, stderr):
        self.command, self.status = command, status
        self.stdout, self.stderr = stdout, stderr
        self.counters, self.sent = None, {}

    def ok(self):
        """Self, if the program succeeded; a test fails with all it said otherwise."""
        assert self.status == 0, str(self)
        return self

    def port(self, number):
        """Counters of a port, by the names of struct vmlx4_port_stats."""
        assert self.counters is not None, "no counters: %s" % self
        return self.counters["ports"][number - 1]

    def __str__(self):
        return "$ %s\nstatus %s\n%s\n%s" % (" ".join(self.command), self.status,
                                            self.stdout[-3000:], self.stderr[-3000:])


class Adapter:
    """Call it to run a program on a new adapter: see run()."""

    def __init__(self, launcher, folder):
        self.launcher, self.folder = launcher, folder
        self._runs = 0

    def __call__(self, *program, **arguments):
        return self.run(program, **arguments)

    def run(self, program, frames=None, options=(), strict=True, timeout=60, stdin=None,
            env=None, cwd=None):
        """Run a program to its end.

        frames   {port: frames that arrive there}. The port is then on a wire of captures;
                 what it sends is in Run.sent. Other ports are as the options say.
        options  more of "vmlx4 exec", with their dashes
        strict   True: the first contract violation ends the program with status 86;
                 "report": violations are counted; False: nobody looks
        env      additional environment"""
        self._runs += 1
        folder = self.folder / ("run%d" % self._runs)
        folder.mkdir()
        command = [self.launcher, "exec", "--stats=%s" % (folder / "counters.json"),
                   *{True: ["--strict"], False: []}.get(strict, ["--strict=%s" % strict]),
                   *self._wires(folder, frames or {}), *map(str, options), "--",
                   *map(str, program)]
        run = Run(command, *self._execute(command, timeout, stdin, env, cwd))
        if (folder / "counters.json").exists():
            run.counters = json.loads((folder / "counters.json").read_text())
        for port in frames or {}:
            out = folder / ("out%d.pcap" % port)
            run.sent[port] = read_pcap(out) if out.exists() else []
        return run

    @staticmethod
    def _wires(folder, frames):
        for port, arriving in frames.items():
            assert port in PORTS, "port %s: ports are %s" % (port, PORTS)
            write_pcap(folder / ("in%d.pcap" % port), arriving)
            yield "--wire%d=pcap:in=%s,out=%s" % (port, folder / ("in%d.pcap" % port),
                                                  folder / ("out%d.pcap" % port))
        if len(frames) == 1:
            # Two ports back to back come as a pair; the other one gets a plug.
            other, = set(PORTS) - set(frames)
            yield "--wire%d=loop" % other

    def _execute(self, command, timeout, stdin, env, cwd):
        environment = dict(os.environ, TMPDIR=str(self.folder), **(env or {}))
        with subprocess.Popen(
                command, text=True, errors="replace", process_group=0, env=environment,
                cwd=cwd, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                stdout, stderr = process.communicate(stdin, timeout)
                return process.returncode, stdout, stderr
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                stdout, stderr = process.communicate()
                return None, stdout, stderr + "\nkilled after %s s\n" % timeout


@pytest.fixture
def vmlx4(request, tmp_path):
    """Run a program on a virtual adapter: vmlx4("ibv_devinfo", "-v").ok()."""
    return Adapter(find_launcher(request.config), tmp_path)
