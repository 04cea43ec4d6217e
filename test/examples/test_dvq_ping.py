# SPDX-License-Identifier: BSD-3-Clause
"""examples/dvq_ping: messages there and back, in one process and between two."""

import re
import socket
import subprocess

import pytest

from harness import command_line
from mlx4dvlib import build

PROGRAM = build.build_dir() / "examples" / "dvq_ping" / "dvq_ping"


def report(rounds, size):
    return r"%d messages of %d bytes there and back, \d+\.\d\d us each\n" % (rounds, size)


@pytest.mark.parametrize("rounds, size", [(1, 1), (300, 64), (100, 1024), (100, 4096)])
def test_both(vmlx4, rounds, size):
    done = vmlx4(PROGRAM, "both", "-n", rounds, "-s", size).ok()
    assert re.fullmatch(report(rounds, size), done.stdout), str(done)
    assert done.counters["violations"] == 0


def test_two_processes(tmp_path):
    """On one wire, each with an adapter and a checker of its own."""
    command = [build.exec_command([PROGRAM, side, "meet", "-n", 200, "-s", 1000], "--strict",
                                  "--wire1=unix:%s/wire" % tmp_path, "--pci=0000:%s:00.0" % bus)
               for side, bus in (("server", "05"), ("client", "06"))]
    with subprocess.Popen(list(map(str, command[0])), cwd=tmp_path, text=True, process_group=0,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        assert server.stdout.readline() == "waiting at meet\n"
        client = subprocess.run(list(map(str, command[1])), cwd=tmp_path, text=True, timeout=60,
                                capture_output=True, check=False)
        assert client.returncode == 0, client.stderr
        assert re.fullmatch(report(200, 1000), client.stdout), client.stdout
        assert server.communicate(timeout=60)[0] == ""
        assert server.returncode == 0


@pytest.mark.parametrize("arguments, complaint", [
    ("", "want one of: both, server SOCKET, client SOCKET"),
    ("serve /tmp/x", "'serve': want one of: both, server SOCKET, client SOCKET"),
    ("server", "'server SOCKET' lacks its second word"),
    ("both 5", "'5' is one argument too many"),
    ("client /tmp 5", "'5' is one argument too many"),
    ("client /tmp -x", "invalid option -- 'x'"),
    ("both -n", "option requires an argument -- 'n'"),
    ("both -n 0", "-n '0': want a number, 1 to 1000000000"),
    ("both -s 4097", "-s '4097': want a number, 1 to 4096"),
    ("both -p 3", "-p '3': want a number, 1 to 2"),
])
def test_wrong_options(arguments, complaint):
    command_line.refused(PROGRAM, arguments, complaint)


def test_help():
    said = command_line.help_of(PROGRAM, "dnps")
    assert "dvq_ping [OPTION...] client SOCKET" in said
    assert "1 to 1000000000, 10000 if not told" in said


def test_no_such_device(vmlx4):
    done = vmlx4(PROGRAM, "both", "-d", "mlx4_9")
    assert done.status == 2, str(done)
    assert done.stderr == "dvq_ping: -d mlx4_9: no such device; ibv_devices lists them\n", str(done)


def test_no_server(vmlx4, tmp_path):
    done = vmlx4(PROGRAM, "client", tmp_path / "nobody")
    assert done.status == 1, str(done)
    assert done.stderr.endswith("No such file or directory; start the server first\n"), str(done)


def test_what_is_left_of_a_server(vmlx4, tmp_path):
    (tmp_path / "meet").touch()
    done = vmlx4(PROGRAM, "server", tmp_path / "meet")
    assert done.status == 1, str(done)
    assert done.stderr.endswith("/meet: Address already in use; remove it, unless a server is "
                                "waiting there\n"), str(done)


def test_a_client_that_goes(tmp_path):
    command = build.exec_command([PROGRAM, "server", "meet"])
    with subprocess.Popen(list(map(str, command)), cwd=tmp_path, text=True, process_group=0,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdout.readline() == "waiting at meet\n"
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(tmp_path / "meet"))
        said = server.communicate(timeout=60)[1]
        assert (server.returncode, said) == (1, "dvq_ping: the other process has gone\n")
