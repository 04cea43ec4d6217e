# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own examples, built from the source of the installed DPDK: frames in, and
each byte of what comes out. What sleeps until a packet comes, and what runs in two
processes, is also tried with the stock driver: it tests the adapter."""

import os
import re
import tempfile

import pytest
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from harness import adapter
from harness.examples import Captures, Lines, command, leave, violations
from harness.hugepages import skip_if_sanitized
from mlx4dvlib import testpmd as tp
from mlx4dvlib.console import Console

MACS = ["00:02:c9:05:00:01", "00:02:c9:05:00:02"]
NEXT_HOPS = ["02:00:00:00:00:00", "02:00:00:00:00:01"]
PEER = "02:00:00:00:95:01"
CPUS = sorted(os.sched_getaffinity(0))
BOTH_DRIVERS = pytest.mark.parametrize("driver", [tp.OURS, tp.STOCK])
ONE_CORE = ["--lcores", "0@%d" % CPUS[-1]]
COUNT = 200
RING_OF_FLOW_FILTERING = 512


def frames(port, count=COUNT, **ip):
    """Frames to a port, no two the same, of all lengths up to the longest."""
    head = Ether(dst=MACS[port], src=PEER)
    return [head / IP(**ip, id=number) / UDP(sport=number, dport=port) / Raw(
        bytes((number + at) % 256 for at in range(18 + number * 1454 // (count - 1))))
        for number in range(count)]


def with_macs(frame, destination, source):
    return bytes(Ether(dst=destination, src=source))[:12] + bytes(frame)[12:]


def routed(frame, port):
    """What l3fwd makes of it that sends it out of a port: one hop less, but for IPv6."""
    frame = Ether(with_macs(frame, NEXT_HOPS[port], MACS[port]))
    if IP in frame:
        frame[IP].ttl -= 1
        del frame[IP].chksum
    return bytes(frame)


def same(left, right):
    """As sets with multiplicity, as an application may have queues."""
    assert sorted(left) == sorted(right)


def test_skeleton(example, tmp_path):
    """Forwards as it is, between a pair of ports."""
    given = [frames(port) for port in (0, 1)]
    sent = Captures(tmp_path, *given).run(
        example("skeleton"), [], COUNT, COUNT, ends=False)
    for port in (0, 1):
        assert sent[1 - port] == [bytes(frame) for frame in given[port]]


@pytest.mark.parametrize("updating", [True, False], ids=["mac", "no-mac"])
def test_l2fwd(example, tmp_path, updating):
    given = [frames(port) for port in (0, 1)]
    captures = Captures(tmp_path, *given)
    sent = captures.run(example("l2fwd"), ["-p", "3", "-P", "-T", "0", *(
        [] if updating else ["--no-mac-updating"])], COUNT, COUNT)
    for port in (0, 1):
        other = 1 - port
        assert sent[other] == [with_macs(frame, NEXT_HOPS[other], MACS[other]) if updating
                               else bytes(frame) for frame in given[port]]
    assert "Bye..." in captures.output


@pytest.mark.parametrize("lookup", ["lpm", "em", "fib"])
def test_l3fwd(example, tmp_path, lookup):
    """Two queues a port; IPv4 and IPv6 by the rules of the files beside the source. Those
    of em for IPv6 are not found by l3fwd itself, with net_mlx4 neither."""
    kind = "em" if lookup == "em" else "lpm"
    rules = ["--rule_ipv%d=%s" % (version, example.source / "l3fwd" / ("%s_default_v%d.cfg" % (
        kind, version))) for version in (4, 6)]

    def to(port, number):
        """A frame that comes in at a port and leaves through the other one. The files
        of em name the destination first."""
        other, ports = 1 - port, UDP(sport=9, dport=9) / Raw(bytes(range(number)))
        head = Ether(dst=MACS[port], src=PEER)
        if number % 2 or lookup == "em":
            return head / IP(src="198.18.%d.1" % other, dst="198.18.%d.0" % other,
                             id=number) / ports
        return head / IPv6(src="2001:200:0:%x::" % other, dst="2001:200:0:%x::1" % other,
                           fl=number) / ports

    given = [[to(port, number) for number in range(18, 118)] for port in (0, 1)]
    captures = Captures(tmp_path, *given)
    sent = captures.run(
        example("l3fwd"),
        ["-p", "3", "-P", "--lookup=" + lookup, *rules,
         "--config=(0,0,0),(0,1,0),(1,0,0),(1,1,0)"], 100, 100, cores=ONE_CORE)
    for port in (0, 1):
        same(sent[1 - port], [routed(frame, 1 - port) for frame in given[port]])
    assert "Bye..." in captures.output


def datagram(number, size):
    """One that both routers send out of port 1."""
    data = UDP(sport=number, dport=9) / Raw(bytes((number * 7 + at) % 251 for at in range(size)))
    head = Ether(dst=MACS[0], src=PEER)
    if number % 2:
        return head / IP(dst="100.20.0.1", src="10.0.0.1", id=number) / data
    return head / IPv6(dst="201:101:101:101:101:101:101:101", src="fd00::1", fl=number) / data


def from_port_1(frame):
    return with_macs(frame, NEXT_HOPS[1], MACS[1])


class Reassembly:
    """What the datagrams were that fragments came from, in the order of the last ones."""

    def __init__(self, sent, longest):
        self.parts, self.whole, self.cut = {}, [], 0
        for frame in map(Ether, sent):
            assert (frame.dst, frame.src) == (NEXT_HOPS[1], MACS[1])
            assert len(frame) - 14 <= longest
            if IP in frame:
                check = frame.copy()
                del check[IP].chksum
                assert bytes(check) == bytes(frame), "a header checksum"
            if IP in frame and (frame[IP].flags.MF or frame[IP].frag):
                self.add(frame, ("IP", frame[IP].id), frame[IP].frag, frame[IP].flags.MF,
                         bytes(frame[IP].payload)[:frame[IP].len - 20])
            elif IPv6ExtHdrFragment in frame:
                head = frame[IPv6ExtHdrFragment]
                self.add(frame, ("IPv6", frame[IPv6].fl, head.id), head.offset, head.m,
                         bytes(head.payload)[:frame[IPv6].plen - 8])
            else:
                self.whole.append(bytes(frame))
        assert not self.parts, "no end of %s" % list(self.parts)

    def add(self, frame, name, offset, more, payload):
        self.cut += 1
        got = self.parts.setdefault(name, bytearray())
        assert len(got) == offset * 8, name
        got += payload  # without what a short frame is padded with
        if more:
            return
        if IP in frame:
            frame[IP].frag = 0
            del frame[IP].len, frame[IP].chksum
            frame[IP].payload = Raw(bytes(got))
        else:
            del frame[IPv6].plen
            frame[IPv6].nh = 17
            frame[IPv6].payload = Raw(bytes(got))
        del self.parts[name]
        self.whole.append(bytes(frame))


def test_ip_fragmentation(example, tmp_path):
    """Fragments are chains of mbufs, all but the first lent by the packet that is cut,
    which itself came as a chain; the adapter makes the checksums of the headers."""
    given = [datagram(number, 1000 + number * 160) for number in range(50)]
    count = sum(1 if len(frame) <= 1514 else -(-(len(frame) - 34) // 1480) if IP in frame else
                -(-(len(frame) - 54) // 1448) for frame in given)
    _, sent = Captures(tmp_path, given, []).run(
        example("ip_fragmentation"), ["-p", "3", "-q", "2"], 0, count, ends=False,
        cores=ONE_CORE)
    got = Reassembly(sent, 1500)
    assert got.whole == [from_port_1(frame) for frame in given]
    assert got.cut > 100


def test_ip_reassembly(example, tmp_path):
    """Datagrams leave as the chains of mbufs that their fragments came in. The MTU is
    for more than a buffer holds, and scattering not asked for."""
    given = [datagram(number, 1000 + number * 50) for number in range(80)]
    parts = []
    for frame in given:
        parts += fragment(frame, 1400) if IP in frame else fragment6(
            frame[IPv6].copy(), 1300) if len(frame) > 1300 else [frame]
    parts = [Ether(dst=MACS[0], src=PEER) / part if Ether not in part else part
             for part in parts]
    assert len(parts) > 200
    _, sent = Captures(tmp_path, parts, []).run(
        example("ip_reassembly"), ["-p", "3", "-q", "2", "--maxflows=200"], 0, len(given),
        cores=ONE_CORE)
    assert sent == [from_port_1(frame) for frame in given]


def test_flow_filtering(example, tmp_path):
    """Five queues without RSS, and a rule that sends one address to the second. The rule is
    made when the port has started: frames that fill the first queue go ahead of what is
    looked at, so that this arrives when the program polls."""
    head = Ether(dst=MACS[0], src=PEER)
    given = [head / IP(src="10.0.0.1", dst="192.168.1.%d" % last) / UDP(
        sport=number, dport=9) / Raw(bytes(20)) for number, last in
        enumerate([2] * RING_OF_FLOW_FILTERING + [1, 2] * 30)]
    captures = Captures(tmp_path, given, [])
    line = "src=%s - dst=%s - queue=0x" % (PEER.upper(), MACS[0].upper())
    with Console(command(example("flow_filtering"), [], captures.options),
                 cwd=str(tmp_path)) as console:
        console.expect(line + r"\d", times=len(given))
        leave(console)
    queues = re.findall(line + r"(\d)", console.output)
    assert sorted(queues) == ["0"] * (RING_OF_FLOW_FILTERING + 30) + ["1"] * 30
    assert violations(captures.stats) == {}


def cores_of_two():
    """EAL arguments, and the core that works: not the main one where there are two."""
    if len(CPUS) > 1:
        return ["-l", "%d,%d" % (CPUS[0], CPUS[1])], CPUS[1]
    return ["--lcores", "0@%d,1@%d" % (CPUS[0], CPUS[0])], 1


@pytest.fixture
def lines(network):
    return Lines(network)


@BOTH_DRIVERS
def test_rx_interrupts(lines, example, tmp_path, finding, driver):
    """l3fwd-power sleeps on its queues, and each frame wakes it once."""
    stats = tmp_path / "stats.json"
    cores, core = cores_of_two()
    with Console(command(
            example("l3fwd-power"), ["-p", "0x3", "-P", "--interrupt-only",
                                     "--config=(0,0,%d),(1,0,%d)" % (core, core)],
            ["--stats=%s" % stats, *lines.wires], driver, cores, prefix=lines.prefix),
            cwd=str(tmp_path)) as console:
        console.expect(r"portid=1 rxqueueid=0", timeout=60)
        console.expect(r"Port 1 Link up")
        for number in range(5):
            frame = Ether(dst=MACS[0], src=PEER) / IP(src="10.0.0.1", dst="2.1.1.1") / UDP(
                sport=number) / Raw(bytes(40))
            at = len(console.output)
            arrived, = lines.pass_through([frame])
            # Next hop's address, one hop less.
            assert arrived[14:22] == bytes(frame)[14:22] and arrived[22] == 63
            assert arrived[26:] == bytes(frame)[26:]
            console.expect("waked up from rx interrupt on port 0 queue 0", start=at)
            console.expect("sleeps until interrupt triggers", start=at)
        leave(console)
        woken = console.output.count("waked up from rx interrupt")
    assert violations(stats) == {}
    finding("l3fwd-power", "%s, rx interrupts: woken %s for 5 frames" % (
        driver, "5 times" if woken == 5 else "more often"))


@BOTH_DRIVERS
def test_secondary_process(lines, example, hugepages, tmp_path, finding, monkeypatch, driver):
    """Two processes share the ports, each with a queue of its own. The adapter lives
    in the first one; the second writes to doorbells that it got from there. A third
    reads the counters."""
    skip_if_sanitized()
    program = example("multi_process/symmetric_mp")
    stats = tmp_path / "stats.json"
    # Where the processes meet; a socket there may not have a long name.
    meeting = tempfile.TemporaryDirectory(prefix="vmlx4-")
    monkeypatch.setenv("RUNTIME_DIRECTORY", meeting.name)
    preload, driver_eal = tp.driver_arguments(driver, pci=True)
    eal = [*hugepages.eal(), "--no-telemetry", *driver_eal]

    def start(number, kind, *options):
        cpu = CPUS[number % len(CPUS)]
        return Console(lines.command(
            [program, "--lcores", "%d@%d" % (number, cpu), *eal, "-m", 320, "--proc-type=" + kind,
             "--", "-p", "3", "--num-procs=2", "--proc-id=%d" % number], *preload, *options),
            cwd=str(tmp_path))

    # It asks for a hash of addresses, which net_mlx4 does not look at.
    given = frames(0)
    for number, frame in enumerate(given):
        frame[IP].src = "10.0.0.%d" % (number + 1)
    with meeting, start(0, "primary", "--stats=%s" % stats, *lines.wires) as first:
        first.expect("using queue 0 of each port", timeout=60)
        with start(1, "secondary") as second:
            second.expect("using queue 1 of each port", timeout=60)
            arrived = lines.pass_through(given)
            assert sorted(arrived) == sorted(bytes(frame) for frame in given)
            info = adapter.run_bounded(lines.command(
                ["dpdk-proc-info", *eal, "--", "--stats", "-p", "0x1"], *preload), timeout=60)
            assert re.search(r"RX-packets:\s+%d\b" % COUNT, info[1]), info
            leave(second)
        leave(first)
    shares = [tuple(map(int, re.search(r"Port 0: RX - (\d+), TX - 0, Drop - 0\s+"
                                       r"Port 1: RX - 0, TX - (\d+), Drop - 0",
                                       console.output).groups())) for console in (first, second)]
    assert all(received == sent > 0 for received, sent in shares), shares
    assert sum(received for received, _ in shares) == COUNT
    assert violations(stats) == {}
    finding("symmetric_mp", "%s, primary and secondary: %s packets" % (
        driver, " + ".join(str(received) for received, _ in shares)))
    finding("dpdk-proc-info", "reads the counters of the primary")
