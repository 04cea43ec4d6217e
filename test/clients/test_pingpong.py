# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's pingpongs and perftest's programs for RC, UC, UD and XRC, between two
processes, each with an adapter of its own. They exchange their addresses over TCP
and everything else over the wire."""

import json
import os
import pathlib
import re

import pytest

from harness import netns
from harness.waiting import wait_until
from mlx4dvlib import build
from mlx4dvlib.console import Console

PCI = {"server": "0000:05:00.0", "client": "0000:06:00.0"}
# On a busy machine an answer may come too late: then a packet is sent again, perhaps to
# a QP that is done and gone.
NONE = ("tx_errors", "rx_roce_bad", "rx_roce_refused")


def listens(pid, port):
    """Has somebody in the network namespace of the process such a socket?"""
    wanted = "%04X" % port
    for family in ("tcp", "tcp6"):
        for line in pathlib.Path("/proc/%d/net/%s" % (pid, family)).read_text().splitlines():
            words = line.split()
            if words[3] == "0A" and words[1].endswith(":" + wanted):
                return True
    return False


class Pair:
    """A server, then a client when the server listens."""

    def __init__(self, folder, wires, prefix=()):
        self.folder, self.wires, self.prefix = folder, wires, list(prefix)
        self.port = 20000 + os.getpid() % 20000

    def start(self, side, program, *peer):
        return Console([*self.prefix, *build.exec_command(
            [*program, "-p", self.port, *peer], "--strict", "--ports=1",
            "--pci=" + PCI[side], "--wire=" + self.wires[side],
            "--stats=%s" % self.counters_of(side))],
            env=dict(os.environ, TMPDIR=str(self.folder)))

    def counters_of(self, side):
        return self.folder / (side + ".json")

    def run(self, *program):
        """[(output, counters of the port)] of server and client."""
        with self.start("server", program) as server:
            wait_until(lambda: server.process.poll() is not None
                       or listens(server.process.pid, self.port), server.output)
            with self.start("client", program, "localhost") as client:
                consoles = [client, server]
                status = [console.wait() for console in consoles]
        assert status == [0, 0], client.output + server.output
        return [(console.output, json.loads(self.counters_of(side).read_text())["ports"][0])
                for console, side in ((server, "server"), (client, "client"))]


def check(results):
    """What the client sent was received, and nothing was refused."""
    (output, server), (_, client) = results
    assert client["tx_roce"] > 0 and server["rx_frames"] > 0, output
    for output, counters in results:
        assert {name: counters[name] for name in NONE} == dict.fromkeys(NONE, 0), output


@pytest.mark.parametrize("kind", ["rc", "uc", "ud", "srq", "xsrq"])
def test_pingpong(tmp_path, kind, finding):
    """With events, so that nobody spins. With several QPs one end of srq_pingpong
    may leave while the other still waits for an answer of one of them."""
    wire = "unix:%s/wire" % tmp_path
    pair = Pair(tmp_path, {"server": wire, "client": wire})
    more = {"ud": ["-s", 1000], "srq": ["-q", 1]}.get(kind, [])
    results = pair.run("ibv_%s_pingpong" % kind, "-g", 0, "-n", 50, "-e", *more)
    check(results)
    for output, _ in results:
        assert re.search("^success" if kind == "xsrq" else "^50 iters in ", output, re.M), output
    finding("ibv_%s_pingpong" % kind, "50 round trips between two processes")


@pytest.fixture
def cable(tmp_path, network):
    """The link is there before the programs are, which look once."""
    space = network.namespace("p")
    space.ip("link", "set", "lo", "up")
    space.ip("link", "add", "server", "type", "veth", "peer", "name", "client")
    for end in ("server", "client"):
        space.ip("link", "set", end, "up")
    return Pair(tmp_path, {end: "packet:" + end for end in ("server", "client")},
                netns.inside(space.name))


# Latency: few, as nobody sleeps, and each message waits for its turn four times.
PERFTEST = [
    ("ib_send_bw", "-c", "RC", "-s", 5000, "-n", 100),
    ("ib_send_bw", "-c", "UC", "-s", 1024, "-n", 100),
    ("ib_send_bw", "-c", "UD", "-s", 1024, "-n", 100),
    ("ib_write_bw", "-s", 20000, "-n", 100), ("ib_read_bw", "-s", 20000, "-n", 100),
    ("ib_atomic_bw", "-n", 100), ("ib_send_lat", "-n", 5), ("ib_write_lat", "-n", 5),
    ("ib_read_lat", "-n", 5), ("ib_atomic_lat", "-n", 5),
]


@pytest.mark.parametrize("program", PERFTEST, ids=lambda p: "-".join(map(str, p[:3])))
def test_perftest(cable, program, finding):
    results = cable.run(*program, "-x", 0, "-F")
    check(results)
    lines = [re.findall(r"^ ?\d+[ \t]+%d[ \t]" % program[-1], output, re.M)
             for output, _ in results]
    # Of a pair that reads or adds, perftest's server prints nothing of its own.
    assert len(lines[1]) == 1, results
    finding(" ".join(map(str, program[:3])), "between two processes")
