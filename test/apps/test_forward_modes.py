# SPDX-License-Identifier: BSD-3-Clause
"""testpmd in each of its forward modes on net_mlx4dv: frames of every kind in, and
each byte of what comes out, as far as the mode says it."""

import functools
import re

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from harness.examples import Captures
from harness.waiting import wait_until
from mlx4dvlib import testpmd as tp

MACS = ["00:02:c9:05:00:01", "00:02:c9:05:00:02"]
PEERS = ["02:00:00:00:00:00", "02:00:00:00:00:01"]
COUNT = 105
CSUM_OFFLOADS = "--tx-offloads=0xe"  # IPv4, UDP, TCP


def kinds(port, number):
    """The layers above Ethernet of frame number for a port, by turns."""
    a, b, ports = "10.0.%d.1" % port, "10.0.%d.%d" % (port, 2 + number), (number, 1000 + number)
    data = Raw(bytes((number + at) % 256 for at in range(number * 14 % 1400)))
    udp, tcp = UDP(sport=ports[0], dport=ports[1]), TCP(sport=ports[0], dport=ports[1], seq=number)
    return [
        lambda: IP(src=a, dst=b, id=number) / udp / data,
        lambda: IP(src=a, dst=b, id=number, ttl=3) / tcp / data,
        lambda: IPv6(src="fd00::%x" % number, dst="fd00::1:%x" % port) / udp / data,
        lambda: IPv6(src="fd00::%x" % number, dst="fd00::1:%x" % port) / tcp / data,
        lambda: Dot1Q(vlan=number + 1) / IP(src=a, dst=b) / udp / data,
        lambda: ARP(psrc=a, pdst=b, op=1 + number % 4 // 2),
        lambda: IP(src=a, dst=b) / ICMP(type=[8, 0][number % 4 // 2], id=7, seq=number) / data,
    ][number % 7]()


def frames(port):
    made = (Ether(dst=MACS[port], src="02:00:00:00:95:%02x" % number) / kinds(port, number)
            for number in range(COUNT))
    return [Ether(bytes(frame).ljust(60, b"\0")) for frame in made]


# ---- what a mode makes of a frame that came in at a port: (frame, port it leaves by) ----

def swapped(layer, *pairs):
    for one, other in pairs:
        left, right = layer.getfieldval(one), layer.getfieldval(other)
        layer.setfieldval(one, right)
        layer.setfieldval(other, left)


def io(frame, port):
    return frame, 1 - port


def mac(frame, port):
    frame.dst, frame.src = PEERS[1 - port], MACS[1 - port]
    return frame, 1 - port


def macswap(frame, port):
    swapped(frame, ("dst", "src"))
    return frame, 1 - port


def five_tuple_swap(frame, port):
    swapped(frame, ("dst", "src"))
    for layer in (IP, IPv6):
        if layer in frame:
            swapped(frame[layer], ("src", "dst"))
    for layer in (UDP, TCP):
        if layer in frame:
            swapped(frame[layer], ("sport", "dport"))
    return frame, 1 - port


def csum(frame, port):
    """Checksums are made anew, also those that were wrong."""
    frame, port = mac(frame, port)
    for layer, field in ((IP, "chksum"), (UDP, "chksum"), (TCP, "chksum")):
        if layer in frame:
            frame[layer].delfieldval(field)
    return frame, port


def broken(frame):
    for layer in (IP, UDP, TCP):
        if layer in frame:
            frame[layer].chksum ^= 0x0ff0
    return frame


def icmpecho(frame, port):
    """Requests are answered, the rest is dropped."""
    if ARP in frame and frame[ARP].op == 1:
        frame.dst, frame.src = frame.src, MACS[port]
        arp = frame[ARP]
        swapped(arp, ("psrc", "pdst"))
        arp.op, arp.hwdst, arp.hwsrc = 2, arp.hwsrc, MACS[port]
        return frame, port
    if ICMP in frame and frame[ICMP].type == 8:
        swapped(frame, ("dst", "src"))
        swapped(frame[IP], ("src", "dst"))
        frame[ICMP].type = 0
        frame[ICMP].delfieldval("chksum")
        return frame, port
    return None


def nothing(_frame, _port):
    return None


# By the name of the mode: what it makes of a frame, and the arguments of testpmd.
ANSWERS = {
    "io": (io, []),
    "mac": (mac, []),
    "macswap": (macswap, []),
    "5tswap": (five_tuple_swap, []),
    "csum": (csum, [CSUM_OFFLOADS]),
    "icmpecho": (icmpecho, []),
    "noisy": (io, ["--noisy-tx-sw-buffer-size=64", "--noisy-tx-sw-buffer-flushtime=5",
                   "--noisy-lkup-memory=1", "--noisy-lkup-num-reads=2",
                   "--noisy-lkup-num-writes=2"]),
    "rxonly": (nothing, []),
    "shared_rxq": (nothing, ["--rxq-share"]),  # without it this mode of testpmd crashes
}
GENERATORS = ("flowgen", "txonly")
# Not in Debian's build: it needs a kind of timestamp that the card does not have.
NOT_BUILT = ("ieee1588",)


def test_every_mode_is_listed(testpmd):
    """A mode that testpmd has and this file has not is to be added here."""
    pmd = testpmd()
    listed = re.search(r"set fwd \(([\w|]+)\)$", pmd.do("help config"), re.M)
    assert listed, pmd.output
    known = {*ANSWERS, *GENERATORS}
    assert set(listed.group(1).split("|")) - set(NOT_BUILT) == known
    assert pmd.quit() == 0


def received(pmd, *counts):
    """Wait for so many packets; the counters of the ports then."""
    def stats():
        return [pmd.stats(port) for port in (0, 1)]

    wait_until(lambda: all(port["RX-packets"] >= count for port, count in zip(stats(), counts)),
               lambda: str(stats()))
    return stats()


@pytest.mark.parametrize("mode", ANSWERS)
def test_answers(testpmd, tmp_path, mode):
    answer, arguments = ANSWERS[mode]
    given = [frames(port) for port in (0, 1)]
    if mode == "csum":
        given = [list(map(broken, port)) for port in given]
    wanted = [[], []]
    for port in (0, 1):
        for frame in given[port]:
            answered = answer(Ether(bytes(frame)), port)
            if answered:
                wanted[answered[1]].append(bytes(answered[0]))
    captures = Captures(tmp_path, *given)
    pmd = testpmd(options=captures.wires, arguments=["--no-flush-rx", *arguments])
    pmd.do("set fwd " + mode)
    pmd.do("start")
    stats = received(pmd, COUNT, COUNT)
    sent = captures.wait(pmd, *map(len, wanted))
    pmd.do("stop")
    for port in (0, 1):
        assert stats[port]["RX-packets"] == COUNT
        assert stats[port]["RX-bytes"] == sum(map(len, given[port]))
        assert sent[port] == wanted[port]
    assert pmd.quit() == 0


@functools.cache
def flow(number):
    """Flowgen's, by the address that it goes to."""
    return bytes(Ether(dst="00:01:02:03:04:01", src="00:01:02:03:04:00") / IP(
        id=0, src="10.254.0.0", dst="10.253.%d.%d" % divmod(number, 256)) / UDP(
        sport=1000, dport=1001, len=26, chksum=0) / Raw(bytes(18)))


@functools.cache
def only(port):
    """Txonly's, all the same."""
    return bytes(Ether(dst=PEERS[port], src=MACS[port]) / IP(
        id=0, src="198.18.0.1", dst="198.18.0.2") / UDP(
        sport=9, dport=9, len=30, chksum=0) / Raw(bytes(22)))


@pytest.mark.parametrize("mode", GENERATORS)
def test_generates(testpmd, tmp_path, mode):
    """What a generator receives is dropped, if it looks. What it puts behind the headers
    is not said."""
    captures = Captures(tmp_path, frames(0), frames(1))
    pmd = testpmd(options=[wire + ",rate=20M" for wire in captures.wires],
                  arguments=["--no-flush-rx"])
    pmd.do("set fwd " + mode)
    pmd.do("start")
    if mode == "flowgen":
        received(pmd, COUNT, COUNT)
    sent = captures.wait(pmd, 1500, 1500)
    pmd.do("stop")
    flows = set()
    for port in (0, 1):
        stats = pmd.stats(port)
        assert stats["RX-packets"] == (COUNT if mode == "flowgen" else 0)
        assert stats["TX-errors"] == 0
        for frame in sent[port]:
            number = int.from_bytes(frame[32:34], "big") if mode == "flowgen" else 0
            wanted = flow(number) if mode == "flowgen" else only(port)
            assert frame[:42] == wanted[:42] and len(frame) == len(wanted)
            flows.add(number)
    assert flows == set(range(1024 if mode == "flowgen" else 1))
    assert pmd.quit() == 0
