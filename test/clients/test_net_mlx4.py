# SPDX-License-Identifier: BSD-3-Clause
"""The stock net_mlx4 in the distribution's testpmd, feature by feature, with the
contract checker on. What it violates is not hidden: VIOLATIONS has all of it, and
the guide says why (doc/guides/vmlx4/fidelity.rst)."""

import json
import re
import socket

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw

from harness import endpoint, pcap
from harness.waiting import wait_until
from mlx4dvlib import testpmd as tp

HEAD = Ether(dst="02:00:00:00:96:02", src="02:00:00:00:96:01")
V4 = IP(src="10.96.0.1", dst="10.96.0.2")
V6 = IPv6(src="fd96::1", dst="fd96::2")
OPTIONS = IP(src="10.96.0.1", dst="10.96.0.2", options=[IPOption_NOP()] * 4)

# {rule: why} of every violation that any test here may see.
VIOLATIONS = {}


def adapter_of(pmd):
    """What the adapter wrote when the program had ended."""
    return json.loads(pmd.counters.read_text())


@pytest.fixture
def stock(testpmd, finding, request):
    """A testpmd on the stock driver. leave(pmd) ends it, compares the violations
    with the known ones and gives the counters of the ports."""
    def start(options=(), arguments=(), **more):
        # A replay begins when the port is started, and "start" would throw it away.
        return testpmd(strict=False, driver=tp.STOCK, options=["--strict=report", *options],
                       arguments=["--no-flush-rx", *arguments], **more)

    def leave(pmd):
        assert pmd.quit() == 0
        seen = adapter_of(pmd)
        rules = seen["violations_by_rule"]
        finding("net_mlx4", "%s: %s" % (request.node.name, ", ".join(
            "%s violated %d times" % item for item in rules.items()) or "no violation"))
        assert set(rules) <= set(VIOLATIONS), rules
        return seen["ports"]

    start.leave = leave
    return start


def forwarded(stock, tmp_path, frames, *commands, options=(), count=None, **arguments):
    """Frames into port 0, testpmd between, what left port 1."""
    pcap.write(tmp_path / "in.pcap", [bytes(frame) for frame in frames])
    pmd = stock(options=["--wire1=pcap:in=%s" % (tmp_path / "in.pcap"),
                         "--wire2=pcap:out=%s" % (tmp_path / "out.pcap"), *options], **arguments)
    for command in commands:
        pmd.do(command)
    pmd.do("start")
    wanted = count or len(frames)
    wait_until(lambda: pmd.stats(1)["TX-packets"] >= len(frames),
               lambda: pmd.do("show port stats all"))
    pmd.do("stop")
    ports = stock.leave(pmd)
    assert ports[0]["rx_frames"] == len(frames)
    left = pcap.read(tmp_path / "out.pcap")
    assert len(left) == wanted == ports[1]["tx_frames"]
    return left


def payload(size):
    return Raw(bytes(n * 7 & 0xff for n in range(size)))


def corrected(frame):
    """The frame with the checksums that scapy computes."""
    packet = Ether(bytes(frame))
    for layer in (IP, TCP, UDP):
        for at in range(1, 4):
            found = packet.getlayer(layer, at)
            if found is not None:
                del found.chksum
    return bytes(Ether(bytes(packet)))


MIXED = [
    HEAD / V4 / UDP(sport=7, dport=9) / payload(100),
    HEAD / V4 / TCP(sport=7, dport=9, flags="A") / payload(101),
    HEAD / V6 / UDP(sport=7, dport=9) / payload(102),
    HEAD / V6 / TCP(sport=7, dport=9, flags="A") / payload(103),
    HEAD / Dot1Q(vlan=5) / V4 / UDP(sport=7, dport=9) / payload(40),
    HEAD / Dot1Q(vlan=5) / V6 / TCP(sport=7, dport=9) / payload(1400),
    HEAD / OPTIONS / TCP(sport=7, dport=9) / payload(33),
]


@pytest.mark.parametrize("mode", ["io", "mac", "macswap"])
def test_forward(stock, tmp_path, mode):
    frames = MIXED * 20
    left = forwarded(stock, tmp_path, frames, "set fwd " + mode)
    expected = [bytes(frame) for frame in frames]
    if mode == "io":
        assert left == expected
    else:
        assert [frame[12:] for frame in left] == [frame[12:] for frame in expected]
    if mode == "macswap":
        assert {frame[:12] for frame in left} == {expected[0][6:12] + expected[0][:6]}


@pytest.mark.parametrize("profile", ["cx3", "cx3pro"])
def test_checksums(stock, tmp_path, profile):
    """The engine writes the pseudo header's sum, or zero, and the adapter the rest:
    whatever stood there before."""
    frames = [Ether(corrected(frame)) for frame in MIXED]
    broken = [bytes(wrong(frame)) for frame in frames]
    left = forwarded(stock, tmp_path, broken * 20, "set fwd csum", "port stop all",
                     *("csum set %s hw 1" % kind for kind in ("ip", "udp", "tcp")),
                     "port start all", options=["--profile=" + profile])
    assert [frame[12:] for frame in left] == [bytes(frame)[12:] for frame in frames] * 20


def wrong(frame, layers=(IP, TCP, UDP)):
    packet = Ether(bytes(frame))
    for layer in layers:
        if layer in packet:
            packet[layer].chksum ^= 0x5aa5
    return packet


PACKET = re.compile(r"type=0x(\w+) - length=(\d+) - nb_segs=(\d+) (?:- RSS hash=0x(\w+) - RSS "
                    r"queue=0x\w+ )?- (?:hw ptype: (.*?)  - )?sw ptype: (.*?)  - .*"
                    r"Receive queue=0x(\w+)\n +ol_flags: (.*?) *$", re.M)


class Seen:
    """One packet as testpmd prints it with "set verbose 1"."""

    def __init__(self, match):
        self.length, self.segments = int(match[2]), int(match[3])
        self.hash = None if match[4] is None else int(match[4], 16)
        self.types = (match[5] or "").removeprefix("L2_ETHER ")
        self.queue = int(match[7], 16)
        self.flags = {flag.removeprefix("RTE_MBUF_F_RX_") for flag in match[8].split()}


def seen(stock, tmp_path, frames, *commands, options=(), **arguments):
    """Frames into the only port; what testpmd says of each."""
    frames = list(frames)
    pcap.write(tmp_path / "in.pcap", [bytes(frame) for frame in frames])
    pmd = stock(options=["--ports=1", "--wire=pcap:in=%s" % (tmp_path / "in.pcap"), *options],
                **arguments)
    for command in ("set fwd rxonly", "set verbose 1", *commands):
        pmd.do(command)
    pmd.send("start")
    printed(pmd, len(frames))
    settle(pmd)
    packets = [Seen(match) for match in PACKET.finditer(pmd.output)]
    stock.leave(pmd)
    assert len(packets) == len(frames), "\n".join(re.findall(r".*ptype.*", pmd.output))
    return packets


def printed(pmd, count, start=0):
    """Wait until so many packets are printed. No command meanwhile: its prompt would
    be printed by another thread, in the middle of a packet's line."""
    for _ in range(count):
        start = pmd.expect(r"ol_flags: .*\n", start=start).end()


def settle(pmd):
    """Stop, and go on behind the prompt after that: those before are not whole."""
    at = len(pmd.output)
    pmd.send("stop")
    pmd.expect(r"^Done\.$", start=at)
    pmd.go_on()


def by_length(packets):
    return sorted(packets, key=lambda packet: packet.length)


def test_received_checksums(stock, tmp_path):
    """The driver only tells good ones. Frames of one length each, as the packets
    of several queues come in any order."""
    good = [Ether(corrected(HEAD / V4 / kind / payload(100 + 4 * n))) for n, kind in
            enumerate([UDP(sport=7, dport=9), TCP(sport=7, dport=9)] * 3)]
    good += [Ether(corrected(HEAD / V6 / TCP(sport=7, dport=9) / payload(101)))]
    unsummed = HEAD / V4 / UDP(sport=7, dport=9, chksum=0) / payload(200)
    neither = HEAD / V4 / ICMP() / payload(201)
    frames = [*good, wrong(HEAD / V4 / UDP() / payload(202), [IP]),
              wrong(HEAD / V4 / TCP() / payload(203), [TCP]),
              wrong(HEAD / V6 / UDP() / payload(190), [UDP]), unsummed, neither]
    packets = seen(stock, tmp_path, frames, arguments=["--enable-rx-cksum"])
    lengths = {len(frame): frame for frame in frames}
    told = {packet.length: ("IP_CKSUM_GOOD" in packet.flags, "L4_CKSUM_GOOD" in packet.flags)
            for packet in packets}
    assert len(told) == len(lengths)
    expected = {len(frame): (True, True) for frame in good}
    expected.update(zip(map(len, frames[len(good):]),
                        [(False, True), (True, False), (True, False), (True, False),
                         (True, False)]))
    assert told == expected


TYPES = {
    "L3_IPV4_EXT_UNKNOWN L4_UDP": HEAD / V4 / UDP(),
    "L3_IPV4_EXT_UNKNOWN L4_TCP": HEAD / V4 / TCP(),
    "L3_IPV4_EXT L4_TCP": HEAD / IP(options=[IPOption_NOP()] * 4) / TCP(),
    "L3_IPV6_EXT_UNKNOWN L4_UDP": HEAD / V6 / UDP(),
    "L3_IPV6_EXT_UNKNOWN L4_TCP": HEAD / V6 / TCP(),
    "L3_IPV4_EXT_UNKNOWN L4_NONFRAG": HEAD / V4 / ICMP(),
    "L3_IPV4_EXT_UNKNOWN L4_FRAG": HEAD / IP(frag=100),
    # The card tells UDP of a first fragment; the driver has no type for both.
    "": HEAD / IP(flags="MF") / UDP(),
    "L3_IPV6_EXT_UNKNOWN L4_FRAG": HEAD / IPv6() / IPv6ExtHdrFragment(m=1, nh=17),
}


def test_packet_types(stock, tmp_path):
    """One frame of each, told apart by their lengths."""
    frames = {kind: frame / Raw(bytes(100 + 32 * n - len(frame)))
              for n, (kind, frame) in enumerate(TYPES.items())}
    packets = seen(stock, tmp_path, frames.values())
    assert {packet.length: packet.types for packet in packets} == {
        len(frame): kind for kind, frame in frames.items()}


# The driver's default.
KEY = bytes.fromhex("2cc681d15bdbf4f7fca28319db1a3e946b9e38d92c9c03d1"
                    "ad9944a7d9563d59063c25f3fc1fdc2a")


def toeplitz(data, key=KEY):
    """Of each bit of the input that is set, the 32 bits of the key from there on."""
    bits = int.from_bytes(key, "big")
    result = 0
    for at in range(8 * len(data)):
        if data[at // 8] >> (7 - at % 8) & 1:
            result ^= bits >> (8 * len(key) - 32 - at) & 0xffffffff
    return result


def hash_input(frame):
    """Addresses, and ports where the packet has them, as the network has them."""
    if IP in frame:
        data = socket.inet_aton(frame[IP].src) + socket.inet_aton(frame[IP].dst)
    else:
        data = b"".join(socket.inet_pton(socket.AF_INET6, address)
                        for address in (frame[IPv6].src, frame[IPv6].dst))
    for layer in (TCP, UDP):
        if layer in frame:
            data += frame[layer].sport.to_bytes(2, "big") + frame[layer].dport.to_bytes(2, "big")
    return data


def swapped(value):
    return int.from_bytes(value.to_bytes(4, "little"), "big")


@pytest.mark.parametrize("queues", [1, 2, 4, 8])
def test_rss(stock, tmp_path, queues, finding):
    """The queue and the hash of each packet are those that Toeplitz gives. The card
    writes the hash as big-endian; the driver copies it as it is, and lets a program
    see it only when checksums are not asked for."""
    frames = []
    for n in range(64):
        base = IP(src="10.0.%d.1" % n, dst="10.1.2.3") if n % 2 else IPv6(src="fd00::%x" % n,
                                                                          dst="fd01::1")
        kind = [UDP(sport=100 + n, dport=9), TCP(sport=n, dport=80), ICMP()][n % 3]
        frames.append(Ether(bytes(HEAD / base / kind / payload(100 + n))))
    if queues > 1:
        frames = [frame for frame in frames if ICMP not in frame or IP in frame]
    packets = seen(stock, tmp_path, frames, rxq=queues, txq=queues, mbufs=65536)
    used = set()
    for frame, packet in zip(sorted(frames, key=len), by_length(packets)):
        value = toeplitz(hash_input(frame))
        assert packet.length == len(frame)
        assert packet.queue == value % queues
        assert packet.hash is not None and swapped(packet.hash) == value
        used.add(packet.queue)
    assert used == set(range(queues))
    finding("net_mlx4", "rss: %d packets, %d queues" % (len(frames), queues))


@pytest.mark.parametrize("base", [HEAD / V4, HEAD / Dot1Q(vlan=9) / V4, HEAD / V6],
                         ids=["ipv4", "vlan", "ipv6"])
def test_tso(stock, tmp_path, base):
    """Segments of 500 bytes: lengths, sequence numbers, identifications, flags and
    sums of each are those that the standard has."""
    sizes = [1, 499, 500, 501, 1000, 1400]
    frames = [base / TCP(sport=7, dport=9, seq=1000 * n, flags="PA") / payload(size)
              for n, size in enumerate(sizes)]
    count = sum(-(-size // 500) for size in sizes)
    left = forwarded(stock, tmp_path, frames, "set fwd csum", "port stop all",
                     *("csum set %s hw 1" % kind for kind in ("ip", "tcp")), "tso set 500 1",
                     "port start all", count=count)
    segments = iter(Ether(frame) for frame in left)
    for frame, size in zip(frames, sizes):
        whole, first, sums = bytes(frame[TCP].payload), None, set()
        for at in range(0, size, 500):
            segment = next(segments)
            part = whole[at:at + 500]
            if IP in segment:
                assert bytes(segment) == corrected(segment).ljust(60, b"\0")
            else:
                # Without the flag of an IPv4 checksum, which testpmd gives only with
                # IPv4, this driver asks for no checksum of a segment at all.
                sums.add(segment[TCP].chksum)
            assert segment[TCP].seq == frame[TCP].seq + at
            assert segment[TCP].flags == ("PA" if at + 500 >= size else "A")
            assert bytes(segment[TCP].payload)[:len(part)] == part
            assert segment.vlan == 9 if Dot1Q in segment else Dot1Q not in frame
            if IP in segment:
                assert segment[IP].len == 40 + len(part)
                first = segment[IP].id if first is None else first
                assert segment[IP].id == first + at // 500
            else:
                assert segment[IPv6].plen == 20 + len(part)
        assert len(sums) == (IPv6 in frame)


def tunnel_sums(frame):
    """Of the outer IP, the inner IP and what is in that; the outer UDP has none."""
    packet = Ether(bytes(frame))
    inside = packet.getlayer(IP, 2)
    return packet[IP].chksum, inside.chksum, inside.payload.chksum


TUNNEL = HEAD / V4 / UDP(sport=5000, dport=4789, chksum=0) / VXLAN(vni=77) / HEAD
TUNNEL_ASKS = [*("csum set %s hw 1" % kind for kind in ("ip", "udp", "tcp", "outer-ip")),
               "csum parse-tunnel on 1"]


def test_vxlan_checksums(stock, tmp_path):
    """Outer and inner sums, on a ConnectX-3 Pro."""
    frames = [Ether(bytes(TUNNEL / IP(src="10.1.0.1", dst="10.1.0.2") / inner / payload(1000)))
              for inner in (UDP(sport=1, dport=2), TCP(sport=1, dport=2, flags="A"))]
    broken = []
    for frame in frames:
        packet = Ether(bytes(frame))
        for layer in (packet[IP], packet.getlayer(IP, 2), packet.getlayer(IP, 2).payload):
            layer.chksum ^= 0x5aa5
        broken.append(packet)
    left = forwarded(stock, tmp_path, broken * 10, "set fwd csum", "port stop all", *TUNNEL_ASKS,
                     "port start all", options=["--profile=cx3pro"])
    assert [frame[12:] for frame in left] == [bytes(frame)[12:] for frame in frames] * 10


def test_vxlan_tso(stock, tmp_path):
    """Segments of the inner TCP, each in a tunnel header of its own."""
    inner = IP(src="10.1.0.1", dst="10.1.0.2") / TCP(sport=1, dport=2, flags="A")
    frame = TUNNEL / inner / payload(1000)
    left = forwarded(stock, tmp_path, [frame] * 10, "set fwd csum", "port stop all", *TUNNEL_ASKS,
                     "tunnel_tso set 400 1", "port start all", options=["--profile=cx3pro"],
                     count=30)
    for number, (segment, size) in enumerate(zip(left, [400, 400, 200] * 10)):
        packet = Ether(segment)
        outside, inside = packet[IP], packet.getlayer(IP, 2)
        assert tunnel_sums(segment) == tunnel_sums(corrected(segment)), number
        assert outside.len == len(segment) - 14
        assert packet[UDP].len == outside.len - 20
        assert inside.len == 40 + size
        assert inside[TCP].seq == number % 3 * 400


# ---- sizes ----

@pytest.mark.parametrize("buffers", [2176, 9216], ids=["scattered", "whole"])
def test_jumbo_frames(stock, tmp_path, buffers):
    """Frames up to 9018 bytes, in buffers of 2 KiB or in one."""
    frames = [HEAD / V4 / UDP(sport=7, dport=9) / payload(size)
              for size in (18, 1000, 2006, 2007, 4054, 4055, 6000, 8972)] * 10
    scatter = ["--enable-scatter", "--tx-offloads=0x8000"] if buffers < 9000 else []
    left = forwarded(stock, tmp_path, frames, options=["--mtu=9000"], memory=1024, mbufs=8192,
                     arguments=["--max-pkt-len=9018", "--mbuf-size=%d" % buffers, *scatter])
    assert left == [bytes(frame) for frame in frames]


def test_scattered_segments(stock, tmp_path):
    packets = seen(stock, tmp_path, [HEAD / V4 / UDP() / payload(size)
                                     for size in (100, 2005, 2007, 4100, 8900)],
                   options=["--mtu=9000"], memory=1024, mbufs=8192,
                   arguments=["--max-pkt-len=9018", "--enable-scatter"])
    # 2048 bytes in the first mbuf, behind its headroom, and 2176 in each other.
    assert [packet.segments for packet in packets] == [1, 1, 2, 2, 5]


def test_mtu_change(network, stock, tmp_path):
    """While the port runs: what is longer than the interface allows is dropped by
    the card, and counted."""
    space = network.namespace("a")
    out = tmp_path / "out.pcap"
    frames = [bytes(HEAD / V4 / UDP() / payload(size - 42)) for size in (60, 1514, 1522, 1523,
                                                                         4022, 4023)]
    pmd = stock(options=["--wire1=packet:" + network.veth(space, mtu=9000),
                         "--wire2=pcap:out=%s" % out], memory=1024, mbufs=8192,
                arguments=["--max-pkt-len=9018", "--enable-scatter", "--tx-offloads=0x8000"])
    pmd.do("start")
    pmd.do("port config mtu 1 4000")  # stays: what was sent may not be on the wire yet
    arrived = 0
    for mtu, fit in ((1500, 3), (4000, 5), (1500, 3)):
        pmd.do("port config mtu 0 %d" % mtu)
        assert pmd.info(0)["MTU"] == str(mtu)
        space.run("/usr/bin/python3", endpoint.__file__, "frames", "eth0",
                  stdin="".join(frame.hex() + "\n" for frame in reversed(frames)))
        arrived += fit
        wait_until(lambda: pmd.stats(1)["TX-packets"] >= arrived,
                   lambda: pmd.do("show port stats all"))
    pmd.do("stop")
    ports = stock.leave(pmd)
    assert ports[0]["rx_oversize"] == 3 + 1 + 3
    assert pcap.read(out) == frames[2::-1] + frames[4::-1] + frames[2::-1]


def test_many_segments(stock, tmp_path):
    """testpmd makes packets of several mbufs by itself: txonly."""
    pmd = stock(options=["--wire1=pcap:out=%s" % (tmp_path / "out.pcap"),
                         "--wire2=pcap:in=/dev/null"][:1], arguments=["--tx-offloads=0x8000"],
                devargs="port=0")
    pmd.do("set fwd txonly")
    pmd.do("set txpkts 64,1,100,35,300")
    pmd.do("start")
    wait_until(lambda: pmd.stats(0)["TX-packets"] >= 1000)
    pmd.do("stop")
    ports = stock.leave(pmd)
    left = pcap.read(tmp_path / "out.pcap")
    assert len(left) == ports[0]["tx_frames"] >= 1000
    assert {len(frame) for frame in left} == {500}


# ---- the link, and who may receive ----

def test_link_state_change(network, testpmd, finding, monkeypatch):
    """The other end of the cable goes down and up; testpmd prints the event. One
    port: with two, the driver makes the EAL panic now and then when it leaves."""
    space = network.namespace("a")
    monkeypatch.setattr(tp, "STOCK_ARGUMENTS", [])
    pmd = testpmd(strict=False, driver=tp.STOCK,
                  options=["--strict=report", "--ports=1",
                           "--wire=packet:" + network.veth(space)])
    for state in ("down", "up", "down", "up"):
        at = len(pmd.output)
        space.ip("link", "set", "eth0", state)
        pmd.expect("Port 0: link state change event", start=at)
        wait_until(lambda: "Link status: %s" % state in pmd.do("show port info 0"))
    finding("net_mlx4", "lsc: 4 events")


def test_who_receives(network, stock):
    """Promiscuous or not, all multicast or not, an address more: the rules that the
    driver makes of it let in what they should. Own frames come last, and tell that
    the others have been here."""
    kinds = {"broadcast": "ff:ff:ff:ff:ff:ff", "multicast": "01:00:5e:00:00:01",
             "added": "02:00:00:00:00:07", "other": "02:00:00:00:00:08",
             "own": "00:02:c9:05:00:01"}
    frames = {name: bytes(Ether(dst=to, src=HEAD.src) / V4 / UDP() / payload(60 + 32 * n))
              for n, (name, to) in enumerate(kinds.items())}
    names = {len(frame): name for name, frame in frames.items()}
    space = network.namespace("a")
    pmd = stock(options=["--ports=1", "--wire=packet:" + network.veth(space)])
    for command in ("set fwd rxonly", "set verbose 1", "start"):
        pmd.do(command)
    cases = {"set promisc 0 off": {"own", "broadcast"},
             "set allmulti 0 on": {"own", "broadcast", "multicast"},
             "set allmulti 0 off": {"own", "broadcast"},
             "mac_addr add 0 02:00:00:00:00:07": {"own", "added", "broadcast"},
             "mac_addr remove 0 02:00:00:00:00:07": {"own", "broadcast"},
             "set promisc 0 on": set(kinds)}
    for command, wanted in cases.items():
        pmd.do(command)
        at = len(pmd.output)
        space.run("/usr/bin/python3", endpoint.__file__, "frames", "eth0",
                  stdin="".join(frame.hex() + "\n" for frame in frames.values()))
        printed(pmd, len(wanted), at)
        got = {names[Seen(match).length] for match in PACKET.finditer(pmd.output, at)}
        assert got == wanted, command
    pmd.do("stop")
    port, = stock.leave(pmd)
    assert port["rx_no_rule"] == sum(len(kinds) - len(wanted) for wanted in cases.values())


def test_flow_rules(network, stock):
    """Rules of testpmd, from the most particular to the least: the queue that each
    frame reaches, and what reaches none; then the rules go, and with them what they
    did."""
    rules = ["eth dst is 02:00:00:00:00:01 / ipv4 src is 10.96.0.1 dst is 10.96.0.2 / "
             "udp dst is 9 / end actions queue index 1",
             "eth dst is 02:00:00:00:00:01 / ipv4 dst is 10.96.0.9 / end actions queue index 2",
             "eth dst is 02:00:00:00:00:01 / vlan vid is 5 / end actions queue index 3",
             "eth dst is 02:00:00:00:00:02 / end actions drop"]
    first, second = "02:00:00:00:00:01", "02:00:00:00:00:02"
    cases = [  # destination, the rest, queue with the rules
        (first, V4 / UDP(sport=7, dport=9), 1),
        (first, IP(dst="10.96.0.9", src="10.96.0.7") / TCP(), 2),
        (first, Dot1Q(vlan=5) / V4 / TCP(), 3),
        (second, V4 / UDP(sport=7, dport=9), None),
        (first, V4 / UDP(sport=7, dport=10), "default"),
        ("02:00:00:00:00:03", V4 / UDP(), "default"),
    ]
    frames = [bytes(Ether(dst=to, src=HEAD.src) / rest / Raw(bytes(100 + 32 * n)))
              for n, (to, rest, _) in enumerate(cases)]
    space = network.namespace("a")
    pmd = stock(options=["--ports=1", "--wire=packet:" + network.veth(space)], rxq=4, txq=4)
    for command in ("set fwd rxonly", "set verbose 1", "start"):
        pmd.do(command)

    def queues():
        at = len(pmd.output)
        space.run("/usr/bin/python3", endpoint.__file__, "frames", "eth0",
                  stdin="".join(frame.hex() + "\n" for frame in frames))
        printed(pmd, len(frames) - (1 if given else 0), at)
        found = {}
        for match in PACKET.finditer(pmd.output, at):
            packet = Seen(match)
            found[packet.length] = packet.queue
        return [found.get(len(frame)) for frame in frames]

    given = False
    before = queues()
    assert None not in before
    for rule in rules:
        assert "Flow rule #" in pmd.do("flow create 0 ingress pattern %s / end" % rule)
    given = True
    wanted = [usual if queue == "default" else queue
              for (_, _, queue), usual in zip(cases, before)]
    assert queues() == wanted
    assert "Flow rule #0 destroyed" in pmd.do("flow destroy 0 rule 0")
    wanted[0] = before[0]
    assert queues() == wanted
    pmd.do("flow flush 0")
    given = False
    assert queues() == before
    pmd.do("stop")
    stock.leave(pmd)
