# SPDX-License-Identifier: BSD-3-Clause
"""Wires on real interfaces, with the distribution's driver behind the port: what
a kernel stack hands over has to reach the port whole, or be counted."""

import json
import subprocess
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

from harness import endpoint, netns, pcap, transfer
from harness.waiting import PATIENCE, wait_until
from mlx4dvlib import testpmd as tp

HEAD = Ether(dst="02:00:00:00:97:02", src="02:00:00:00:97:01")
INNER = IP(src="10.97.0.1", dst="10.97.0.2") / UDP(sport=7, dport=9)


def send_frames(space, frames):
    lines = "".join("%s\n" % bytes(frame).hex() for frame in frames)
    space.run("/usr/bin/python3", endpoint.__file__, "frames", "eth0", stdin=lines)


def received(pmd, port=0):
    return pmd.stats(port)["RX-packets"]


def test_tags_survive_a_veth(network, testpmd, tmp_path):
    """From a namespace through the port to a file, and back out on the veth."""
    space = network.namespace("a")
    outside = network.veth(space)
    out = tmp_path / "out.pcap"
    frames = [HEAD / Dot1Q(vlan=5, prio=3) / INNER / Raw(b"\x3c" * 100),
              HEAD / Dot1Q(vlan=0, prio=7) / INNER / Raw(b"\xa5" * 200),
              HEAD / Dot1AD(vlan=100) / INNER / Raw(b"\x77" * 300),
              HEAD / Dot1AD(vlan=100, prio=1) / Dot1Q(vlan=4094) / INNER / Raw(b"\x5a" * 400),
              HEAD / INNER / Raw(b"untagged" * 20)]
    pmd = testpmd(driver=tp.STOCK,
                  options=["--wire1=packet:" + outside, "--wire2=pcap:out=%s" % out])
    pmd.do("start")
    send_frames(space, frames)
    wait_until(lambda: received(pmd) >= len(frames))
    pmd.do("stop")
    assert pmd.quit() == 0
    assert pcap.read(out) == [bytes(frame) for frame in frames]


def test_replay_reaches_a_namespace(network, testpmd, tmp_path):
    space = network.namespace("a")
    outside = network.veth(space)
    frames = [bytes(HEAD / Dot1Q(vlan=1 + number) / INNER / Raw(number.to_bytes(2, "big") * 50))
              for number in range(200)]
    seen = tmp_path / "seen.pcap"
    (tmp_path / "in.pcap").write_bytes(capture_of(frames))
    tcpdump = space.start("tcpdump", "-i", "eth0", "-s", "0", "-w", seen, "-U", "-Z", "root",
                          stderr=subprocess.DEVNULL)
    wait_until(lambda: seen.exists() and seen.stat().st_size >= 24)
    pmd = testpmd(driver=tp.STOCK, options=["--wire1=pcap:in=%s" % (tmp_path / "in.pcap"),
                                            "--wire2=packet:" + outside])
    pmd.do("start")
    wait_until(lambda: seen.stat().st_size >= 24 + sum(16 + len(frame) for frame in frames))
    tcpdump.terminate()
    tcpdump.wait(PATIENCE)
    pmd.do("stop")
    assert pmd.quit() == 0
    assert pcap.read(seen) == frames


def capture_of(frames):
    """A capture file, microseconds, little endian."""
    parts = [bytes.fromhex("d4c3b2a1 02000400 00000000 00000000 ffff0000 01000000")]
    for number, frame in enumerate(frames):
        size = len(frame).to_bytes(4, "little")
        parts += [(1000 + number).to_bytes(4, "little"), bytes(4), size, size, frame]
    return b"".join(parts)


def test_replay_waits_for_the_receiver(testpmd, tmp_path):
    """More frames than the receive queue holds, and nobody polls for a while."""
    frames = [bytes(HEAD / INNER / Raw(number.to_bytes(4, "big") * 20)) for number in range(5000)]
    (tmp_path / "in.pcap").write_bytes(capture_of(frames))
    pmd = testpmd(driver=tp.STOCK, options=["--ports=1", "--wire1=pcap:in=%s"
                                            % (tmp_path / "in.pcap")])
    time.sleep(1)
    pmd.do("set fwd rxonly")
    pmd.do("start")
    wait_until(lambda: received(pmd) >= len(frames))
    pmd.do("stop")
    assert received(pmd) == len(frames)
    assert pmd.quit() == 0


@pytest.mark.parametrize("make", ["veth", "tap"])
def test_longer_than_the_port_takes(network, testpmd, make):
    """A peer with a larger MTU: frames beyond the port's are dropped and counted."""
    space = network.namespace("a")
    if make == "veth":
        wire = "packet:" + network.veth(space, mtu=9000)
    else:
        tap = network.tap(mtu=9000)
        wire = "tap:" + tap
    pmd = testpmd(driver=tp.STOCK, options=["--ports=1", "--wire1=" + wire])
    if make == "tap":
        netns.move(tap, space)
        space.ip("link", "set", "eth0", "up")
    pmd.do("set fwd rxonly")
    pmd.do("start")
    fits = HEAD / Dot1AD(vlan=1) / Dot1Q(vlan=2) / INNER / Raw(bytes(1500 - 28))
    too_long = HEAD / INNER / Raw(bytes(1500 - 28 + 9))
    assert (len(bytes(fits)), len(bytes(too_long))) == (1522, 1523)
    send_frames(space, [too_long, too_long, fits])
    wait_until(lambda: received(pmd) >= 1)
    pmd.do("stop")
    assert received(pmd) == 1
    assert pmd.quit() == 0
    port = counters(pmd)[0]
    assert (port["rx_oversize"], port["rx_frames"]) == (2, 1)


def counters(pmd):
    """Of each port; the adapter wrote them when the program ended."""
    return json.loads(pmd.counters.read_text())["ports"]


def test_link_follows_the_veth(network, testpmd):
    space = network.namespace("a")
    pmd = testpmd(driver=tp.STOCK,
                  options=["--ports=1", "--wire1=packet:" + network.veth(space)])
    assert "Link status: up" in pmd.do("show port info 0")
    space.ip("link", "set", "eth0", "down")
    wait_until(lambda: "Link status: down" in pmd.do("show port info 0"))
    space.ip("link", "set", "eth0", "up")
    wait_until(lambda: "Link status: up" in pmd.do("show port info 0"))
    assert pmd.quit() == 0


def test_offloading_peers(network, testpmd):
    """TSO, GSO and partial checksums at both ends, as a veth has them by default."""
    left, right = network.namespace("a"), network.namespace("b")
    wires = [network.veth(space) for space in (left, right)]
    features = left.run("ethtool", "-k", "eth0")[1]
    assert "tcp-segmentation-offload: on" in features and "tx-checksumming: on" in features
    pmd = testpmd(driver=tp.STOCK, options=["--wire1=packet:" + wires[0],
                                            "--wire2=packet:" + wires[1]])
    pmd.do("start")
    left.address("eth0", "10.97.0.1/24")
    right.address("eth0", "10.97.0.2/24")
    transfer.send_bytes(left, right, "10.97.0.2", 8 << 20, seed=11)
    transfer.send_bytes(right, left, "10.97.0.1", 200000, kind="udp", seed=12)
    pmd.do("stop")
    assert pmd.quit() == 0
    transfer.assert_intact(left)
    transfer.assert_intact(right)
    for port in counters(pmd):
        assert port["rx_oversize"] == 0


def test_tap_is_made_and_goes(network, testpmd):
    name = network.name("own")
    network.links.append(name)
    pmd = testpmd(driver=tp.STOCK, options=["--ports=1", "--wire1=tap:" + name])
    shown = netns.ip("link", "show", name)
    assert "UP" in shown and "LOWER_UP" in shown
    assert pmd.quit() == 0
    assert subprocess.run(["ip", "link", "show", name], capture_output=True,
                          check=False).returncode != 0
