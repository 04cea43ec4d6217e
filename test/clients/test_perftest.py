# SPDX-License-Identifier: BSD-3-Clause
"""perftest's raw Ethernet programs, from the distribution. Every run has to print
its line of results; how many frames there were, and what was in them, is asked of
the adapter and of the wire. The rates are of no interest here."""

import functools
import json
import os
import re

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from harness import netns, pcap
from mlx4dvlib import build
from mlx4dvlib.console import Console

NEAR, FAR = "00:02:c9:00:00:01", "00:02:c9:00:00:02"
FCS = 4  # perftest's sizes count it, its buffers do not
COUNT = 1000
FLOW = ["-j", "10.0.0.2", "-J", "10.0.0.1", "-k", "1000", "-K", "2000"]


def result(text):
    """The numbers of the one line of results."""
    lines = re.findall(r"^ ?(\d+[ \t]+\d(?:[\d. \t]|-nan)+)$", text, re.M)
    assert len(lines) == 1, text
    return [float(word) for word in lines[0].split()]


def macs(near=NEAR, far=FAR):
    return ["-B", near, "-E", far]


def bw(*arguments, size=256, count=COUNT):
    return ["raw_ethernet_bw", *arguments, "-s", size, "-n", count]


def frames_sent(vmlx4, tmp_path, *arguments, options=(), **numbers):
    """Run a client and return what it put on the wire."""
    out = tmp_path / "out.pcap"
    done = vmlx4(*bw("--client", *macs(), *arguments, **numbers),
                 options=["--ports=1", "--wire=pcap:out=%s" % out, *options]).ok()
    size, iterations = result(done.stdout)[:2]
    frames = pcap.read(out)
    assert (size, iterations) == (numbers.get("size", 256), len(frames))
    port = done.counters["ports"][0]
    assert port["tx_frames"] == len(frames) and port["tx_errors"] == 0
    assert {len(frame) for frame in frames} == {int(size) - FCS}
    heads = {frame[:12].hex(":") for frame in frames}
    assert heads == {FAR + ":" + NEAR}
    return [Ether(frame) for frame in frames]


@pytest.mark.parametrize("size, inline", [(64, 0), (64, 60), (65, 188), (188, 188), (1518, 188)])
def test_client(vmlx4, tmp_path, size, inline):
    """From memory and out of the WQE, up to what a WQE can hold."""
    frames_sent(vmlx4, tmp_path, "-I", inline, size=size)


@pytest.mark.parametrize("arguments", [
    ["-l", 100, "-Q", 100], ["-t", 4, "-Q", 1], ["-t", 4096], ["--use_old_post_send"],
    ["-l", 10, "-I", 128]],
    ids=lambda words: " ".join(map(str, words)))
def test_ways_to_post(vmlx4, tmp_path, arguments):
    assert len(frames_sent(vmlx4, tmp_path, *arguments, size=128)) == COUNT


def test_several_qps(vmlx4, tmp_path):
    assert len(frames_sent(vmlx4, tmp_path, "-q", 4)) == 4 * COUNT


def test_duration(vmlx4, finding):
    done = vmlx4("raw_ethernet_bw", "--client", *macs(), "-s", 64, "-D", 1, "-f", 0,
                 options=["--ports=1"]).ok()
    iterations = int(result(done.stdout)[1])
    sent = done.counters["ports"][0]["tx_frames"]
    assert 0 < iterations <= sent
    finding("raw_ethernet_bw", "client for a second: %d frames" % sent)


@pytest.mark.parametrize("protocol, layer", [([], UDP), (["--tcp"], TCP)], ids=["udp", "tcp"])
def test_flows(vmlx4, tmp_path, protocol, layer):
    """Four flows with ports one apart, two frames of each in turn."""
    frames = frames_sent(vmlx4, tmp_path, *FLOW, *protocol, "--flows", 4, "--flows_burst", 2)
    ports = [(frame[layer].sport, frame[layer].dport) for frame in frames]
    assert ports == [(1000 + n // 2 % 4, 2000 + n // 2 % 4) for n in range(COUNT)]
    assert {(frame[IP].src, frame[IP].dst) for frame in frames} == {("10.0.0.2", "10.0.0.1")}


def test_ipv6(vmlx4, tmp_path):
    frames = frames_sent(vmlx4, tmp_path, "-j", "fe80::2", "-J", "fe80::1", "-k", "1000",
                         "-K", "2000", "--raw_ipv6")
    assert {(frame[IPv6].src, frame[IPv6].dst) for frame in frames} == {("fe80::2", "fe80::1")}


def test_vlan(vmlx4, tmp_path):
    frames = frames_sent(vmlx4, tmp_path, *FLOW, "--vlan_en", "--vlan_pcp", 3)
    assert {(frame[Dot1Q].vlan, frame[Dot1Q].prio, frame[UDP].dport) for frame in frames} == {
        (1, 3, 2000)}


def test_longer_than_the_port(vmlx4):
    """As the card: nothing on the wire, a counter, and completions all the same."""
    done = vmlx4(*bw("--client", *macs(), "-m", 9000, size=9000),
                 options=["--ports=1"]).ok()
    result(done.stdout)
    port = done.counters["ports"][0]
    assert (port["tx_oversize"], port["tx_frames"]) == (COUNT, 0)


# ---- a server, and the frames from a file ----

def incoming(tmp_path, destination=NEAR, ports=lambda n: (1000, 2000)):
    @functools.cache
    def frame(source, dest):
        packet = IP(src="10.0.0.2", dst="10.0.0.1") / UDP(sport=source, dport=dest)
        return bytes(Ether(dst=destination, src=FAR) / packet / Raw(bytes(18)))
    pcap.write(tmp_path / "in.pcap", [frame(*ports(n)) for n in range(COUNT)])
    return "--wire=pcap:in=%s" % (tmp_path / "in.pcap")


def serve(vmlx4, wire, *arguments):
    done = vmlx4(*bw("--server", *macs(), *arguments, size=64), options=["--ports=1", wire]).ok()
    assert result(done.stdout)[:2] == [64, COUNT]
    port = done.counters["ports"][0]
    assert port["rx_frames"] == COUNT and port["rx_no_wqe"] == port["rx_errors"] == 0
    return port


@pytest.mark.parametrize("arguments", [
    [], ["-r", 16], ["-r", 4096], ["--recv_post_list=10", "-r", 500], FLOW],
    ids=lambda words: " ".join(map(str, words)) or "plain")
def test_server(vmlx4, tmp_path, arguments):
    assert serve(vmlx4, incoming(tmp_path), *arguments)["rx_no_rule"] == 0


def test_server_with_flows(vmlx4, tmp_path):
    """Rules one port apart; a frame that is beside them all is not wanted."""
    wire = incoming(tmp_path, ports=lambda n: (1000 + n % 4, 2000 + n % 4))
    assert serve(vmlx4, wire, *FLOW, "--flows", 4)["rx_no_rule"] == 0


@pytest.mark.parametrize("how", ["--promiscuous", "--sniffer"])
def test_server_takes_all(vmlx4, tmp_path, how, finding):
    """A sniffer's copy does not keep a frame from having no rule of its own."""
    port = serve(vmlx4, incoming(tmp_path, destination=FAR), how)
    assert port["rx_no_rule"] == (COUNT if how == "--sniffer" else 0)
    finding("raw_ethernet_bw", "server %s: %d frames of %d" % (how, port["rx_frames"], COUNT))


def test_server_rss(vmlx4, finding):
    """Debian's perftest has it for an experimental verbs library only and says so."""
    done = vmlx4(*bw("--server", *macs(), "--use_rss", "-q", 4), options=["--ports=1"])
    assert done.status == 1 and "RSS feature is not available in libibverbs" in done.stderr
    finding("raw_ethernet_bw", "--use_rss: not built into the distribution's program")


# ---- latency; alone: what is sent to oneself comes back ----

# Inside the card, by its switch; without that by a wire.
BACK = [([], "tx_loopback"), (["--wire=loop", "--unknown=loopback_unicast=0"], "tx_frames")]


@pytest.mark.parametrize("options, way", BACK, ids=["inside", "wire"])
def test_latency_alone(vmlx4, finding, options, way):
    done = vmlx4("raw_ethernet_lat", "--client", *macs(NEAR, NEAR), "-s", 64, "-n", COUNT,
                 options=["--ports=1", *options]).ok()
    numbers = result(done.stdout)
    assert numbers[:2] == [64, COUNT] and numbers[4] > 0
    port = done.counters["ports"][0]
    assert port[way] == port["tx_frames"] + port["tx_loopback"] == port["rx_frames"] == COUNT
    finding("raw_ethernet_lat", "%d round trips alone" % COUNT)


# The program forces a rate limiter in software and then refuses it, unless one in
# hardware is asked for, which it gives up when the QP does not take it. And it
# marks no WQE for completion unless each is.
BURST = ["--rate_limit=10", "-Q", 1]


@pytest.mark.parametrize("options, way", BACK, ids=["inside", "wire"])
def test_burst_latency(vmlx4, finding, options, way):
    done = vmlx4("raw_ethernet_burst_lat", "--client", *macs(NEAR, NEAR), "-s", 64, "-n", COUNT,
                 "--burst_size=16", *BURST, options=["--ports=1", *options]).ok()
    numbers = result(done.stdout)
    assert numbers[:2] == [64, COUNT] and numbers[4] > 0
    port = done.counters["ports"][0]
    assert port[way] == port["tx_frames"] + port["tx_loopback"] == port["rx_frames"] == COUNT
    finding("raw_ethernet_burst_lat", "%d round trips alone" % COUNT)


def test_burst_latency_refuses_its_own_default(vmlx4):
    done = vmlx4("raw_ethernet_burst_lat", "--client", *macs(), "-s", 64)
    assert done.status == 1
    assert "be executed on non-BW, ATOMIC or bidirectional SEND tests" in done.stderr


@pytest.mark.parametrize("flow", [[], FLOW], ids=["mac", "udp"])
@pytest.mark.parametrize("side", ["--client", "--server"])
def test_flow_rate(vmlx4, side, flow, finding):
    done = vmlx4("raw_ethernet_fs_rate", side, *macs(), *flow, "-n", 500,
                 options=["--ports=1"]).ok()
    numbers = result(done.stdout)
    assert numbers[0] == 500 and numbers[-1] > 0
    assert done.counters["objects"]["flows"] == 0
    finding("raw_ethernet_fs_rate", "%s, %s: 500 rules" % (side[2:], "UDP" if flow else "MAC"))


# ---- two processes, each with an adapter, and a wire between them ----

class Pair:
    """A server, then a client when the server is ready."""

    def __init__(self, wires, prefix, folder):
        self.wires, self.prefix, self.folder = wires, prefix, folder

    def start(self, side, end, program, *arguments):
        macs_of = macs() if side == "--server" else macs(FAR, NEAR)
        environment = dict(os.environ, TMPDIR=str(self.folder))
        return Console([*self.prefix, *build.exec_command(
            [program, side, *macs_of, *arguments], "--strict", "--ports=1",
            "--wire=" + self.wires[end], "--wait-link=20000",
            "--stats=%s" % self.counters_of(end))], env=environment)

    def counters_of(self, end):
        return self.folder / ("%s.json" % end)

    def run(self, *program):
        """[(numbers of the result, counters of the port)] of server and client."""
        with self.start("--server", "left", *program) as server:
            if self.prefix:
                server.expect(r"^ #bytes")
            with self.start("--client", "right", *program) as client:
                consoles = [server, client]
                status = [console.wait() for console in consoles]
        assert status == [0, 0], server.output + client.output
        return [(result(console.output),
                 json.loads(self.counters_of(end).read_text())["ports"][0])
                for console, end in zip(consoles, ("left", "right"))]


@pytest.fixture(params=["veth", "shm", "unix"])
def pair(request, tmp_path):
    if request.param != "veth":
        wire = {"shm": "shm:perftest-%d" % os.getpid(),
                "unix": "unix:@perftest-%d" % os.getpid()}[request.param]
        return Pair({"left": wire, "right": wire}, [], tmp_path)
    space = request.getfixturevalue("network").namespace("p")
    space.ip("link", "add", "left", "type", "veth", "peer", "name", "right")
    for end in ("left", "right"):
        space.ip("link", "set", end, "up")
    return Pair({end: "packet:" + end for end in ("left", "right")}, netns.inside(space.name),
                tmp_path)


@pytest.mark.parametrize("arguments", [[], [*FLOW, "-I", 60, "-l", 4]],
                         ids=lambda words: " ".join(map(str, words)) or "plain")
def test_bandwidth_between_processes(pair, arguments, finding):
    """The server counts what it saw in the time; nothing holds the sender back."""
    (seen, server), (done, client) = pair.run("raw_ethernet_bw", *arguments, "-s", 64, "-D", 1,
                                              "-f", 0)
    assert seen[0] == done[0] == 64
    assert 0 < seen[1] <= server["rx_frames"] <= client["tx_frames"]
    assert 0 < done[1] <= client["tx_frames"]
    finding("raw_ethernet_bw", "between two processes: %d of %d frames in a second" %
            (seen[1], client["tx_frames"]))


def test_latency_between_processes(pair, finding):
    """Few: four threads that do not sleep, the two programs and the two engines,
    share the CPUs, and each frame of a round trip waits for the turn of the next one
    (20 ms on two idle CPUs, and the thousand of the default take that much)."""
    count = 10
    (seen, server), (done, client) = pair.run("raw_ethernet_lat", "-s", 64, "-n", count)
    assert seen[:2] == done[:2] == [64, count]
    assert server["tx_frames"] == client["rx_frames"] == count
    assert client["tx_frames"] == server["rx_frames"] == count
    finding("raw_ethernet_lat", "%d round trips between two processes" % count)
