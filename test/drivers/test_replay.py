# SPDX-License-Identifier: BSD-3-Clause
"""A capture of traffic that the kernel's own stacks made, replayed into one port
and compared frame by frame with what leaves the other. The capture is made here
and anew: two namespaces on one veth pair, tcpdump between them."""

import subprocess

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

from harness import endpoint, netns, pcap, transfer
from harness.waiting import PATIENCE, wait_until
from mlx4dvlib import testpmd as tp

LEFT, RIGHT = "10.98.0.1", "10.98.0.2"
LEFT6, RIGHT6 = "fd98::1", "fd98::2"


def tagged_frames():
    """What the kernel here cannot make itself: one tag, a priority tag, two."""
    head = Ether(dst="02:00:00:00:98:02", src="02:00:00:00:98:01")
    inner = IP(src=LEFT, dst=RIGHT) / UDP(sport=7, dport=9)
    for length in (0, 10, 100, 1400):
        yield head / Dot1Q(vlan=5, prio=3) / inner / Raw(b"\x3c" * length)
        yield head / Dot1Q(vlan=0, prio=7) / inner / Raw(b"\xa5" * length)
        yield head / Dot1AD(vlan=100) / Dot1Q(vlan=4094) / inner / Raw(b"\x5a" * length)
    yield head / Dot1Q(vlan=9) / IPv6(src=LEFT6, dst=RIGHT6) / UDP() / Raw(b"six" * 50)
    yield head / Dot1Q(vlan=9) / IP(src=LEFT, dst=RIGHT) / ICMP() / Raw(b"echo")


def two_stacks(network):
    """Two namespaces on one veth pair, which leaves nothing to the hardware."""
    left, right = network.namespace("a"), network.namespace("b")
    netns.ip("link", "add", "eth0", "netns", left.name, "type", "veth",
             "peer", "name", "eth0", "netns", right.name)
    for space, address, address6 in ((left, LEFT, LEFT6), (right, RIGHT, RIGHT6)):
        space.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6")
        space.run("ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off", "gro", "off")
        space.address("eth0", address + "/24", address6 + "/64")
    return left, right


def make_capture(network, path):
    left, right = two_stacks(network)
    tcpdump = right.start("tcpdump", "-i", "eth0", "-s", "0", "-B", 65536, "-w", path, "-U",
                          "-Z", "root", stderr=subprocess.DEVNULL)
    wait_until(lambda: path.exists() and path.stat().st_size >= 24, "tcpdump does not start")
    transfer.ping(left, RIGHT)
    transfer.ping(right, LEFT6, 1400)
    left.run("ping", "-n", "-c", 3, "-i", "0.1", "-s", 8000, RIGHT)  # fragments
    left.run("ping", "-6", "-n", "-c", 3, "-i", "0.1", "-s", 5000, RIGHT6)
    transfer.send_bytes(left, right, RIGHT, 2 << 20, seed=5)
    transfer.send_bytes(right, left, LEFT6, 1 << 20, seed=6)
    transfer.send_bytes(left, right, RIGHT, 200000, kind="udp", seed=7)
    transfer.send_bytes(left, right, RIGHT6, 100000, kind="udp", seed=8)
    tagged = [bytes(frame) for frame in tagged_frames()]
    left.run("/usr/bin/python3", endpoint.__file__, "frames", "eth0",
             stdin="".join(frame.hex() + "\n" for frame in tagged))
    wait_until(lambda: tagged[-1] in path.read_bytes(), "the last frame is not captured")
    tcpdump.terminate()
    tcpdump.wait(PATIENCE)
    return pcap.read(path)


def kinds(frames):
    """What the capture has, so that the test cannot pass on half of it."""
    found = set()
    for frame in frames:
        ethertype = int.from_bytes(frame[12:14], "big")
        found.add(hex(ethertype))
        if ethertype == 0x800:
            found.add("ipv4 protocol %d" % frame[23])
            if int.from_bytes(frame[20:22], "big") & 0x3fff:
                found.add("ipv4 fragment")
        elif ethertype == 0x86dd:
            found.add("ipv6 next %d" % frame[20])
    return found


@pytest.fixture
def capture(network, tmp_path):
    frames = make_capture(network, tmp_path / "in.pcap")
    expected = {"0x800", "0x806", "0x86dd", "0x8100", "0x88a8", "ipv4 protocol 1",
                "ipv4 protocol 6", "ipv4 protocol 17", "ipv4 fragment", "ipv6 next 6",
                "ipv6 next 17", "ipv6 next 44", "ipv6 next 58"}
    assert expected <= kinds(frames), expected - kinds(frames)
    assert max(map(len, frames)) <= 1518 + 4
    return frames


@pytest.mark.parametrize("driver", [tp.OURS, tp.STOCK])
def test_replay(testpmd, capture, tmp_path, driver):
    # The replay begins when the port has started, maybe before the engine.
    pmd = testpmd(driver=driver, arguments=["--no-flush-rx"],
                  options=["--wire1=pcap:in=%s" % (tmp_path / "in.pcap"),
                           "--wire2=pcap:out=%s" % (tmp_path / "out.pcap")])
    # What finds no room in the send queue waits, for up to ten seconds.
    pmd.do("set fwd io retry")
    pmd.do("set burst tx delay 100 retry 100000")
    pmd.do("start")
    wait_until(lambda: pmd.stats(1)["TX-packets"] >= len(capture),
               lambda: pmd.do("show port stats all"))
    pmd.do("stop")
    assert pmd.quit() == 0
    left = pcap.read(tmp_path / "out.pcap")
    assert len(left) == len(capture)
    for number, (sent, arrived) in enumerate(zip(capture, left)):
        # The adapter pads to the shortest frame of Ethernet, less the FCS.
        assert arrived == sent.ljust(60, b"\0"), "frame %d" % number
