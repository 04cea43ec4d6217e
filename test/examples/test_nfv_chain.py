# SPDX-License-Identifier: BSD-3-Clause
"""examples/nfv_chain as a whole: every frame that goes in comes out or is counted under
its cause, on the virtual adapter with the engine's thread, on ports without offloads, and
over several processes. The stages alone: test_nfv_stages.c."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from harness import pcap
from harness.adapter import run_bounded
from mlx4dvlib import build, testpmd as tp
from mlx4dvlib.console import Console

EXAMPLE = build.TOP / "examples" / "nfv_chain"
PROGRAM = build.build_dir() / "examples" / "nfv_chain" / "nfv_chain"
STAGES = ["rx", "acl", "nat", "route", "tx"]
CPUS = sorted(os.sched_getaffinity(0))

MACS = ["00:02:c9:05:00:01", "00:02:c9:05:00:02"]
PCAP_MACS = ["02:70:63:61:70:00", "02:70:63:61:70:01"]  # of net_pcap's ports
HOST, GATE, GATE2 = "02:00:00:00:00:02", "02:00:00:00:00:fe", "02:00:00:00:00:fd"

CONFIG = """\
port 0 inside  10.0.0.1/24
port 1 outside 192.0.2.1/24
neighbour 10.0.0.2    02:00:00:00:00:02
neighbour 192.0.2.253 02:00:00:00:00:fd
neighbour 192.0.2.254 02:00:00:00:00:fe
route 203.0.0.0/8     via 192.0.2.254
route 203.0.113.0/24  via 192.0.2.253
deny   tcp any         any:23
permit any 10.0.0.0/24 any
permit any any         192.0.2.1
permit any 8.0.0.0/8   10.0.0.2
nat 192.0.2.1 20000-29999
"""


def spread(count, first=0):
    """EAL arguments: so many lcores on the CPUs we may use."""
    return ["--lcores", ",".join("%d@%d" % (first + i, CPUS[i % len(CPUS)])
                                 for i in range(count))]


class Report:
    """The last table of counters that a chain printed."""

    def __init__(self, output):
        table = output[output.rindex("stage "):]
        self.stages, self.drops = {}, {}
        for name, taken, passed, ring, drops in re.findall(
                r"^(rx|acl|nat|route|tx) +(\d+) +(\d+) +(\S+) +\S+  (.*)$", table, re.M):
            self.stages[name] = int(taken), int(passed)
            counts = {cause: int(count) for cause, count in re.findall(r"(\w+) (\d+)", drops)}
            self.drops.update(counts)
            # Nothing is lost inside a stage, and at the end nothing waits.
            assert int(taken) == int(passed) + sum(counts.values()), table
            assert ring in ("-", "0/1024"), table
        assert list(self.stages) == STAGES, table
        # Nor between two.
        for one, other in zip(STAGES, STAGES[1:]):
            assert self.stages[one][1] == self.stages[other][0], table
        self.ports = [dict(zip(("received", "missed", "errors", "nobuf", "sent"), map(int, port)))
                      for port in re.findall(r"^port \d: received (\d+), missed (\d+), errors "
                                             r"(\d+), no buffer (\d+); sent (\d+)", table, re.M)]
        nat = re.search(r"^nat: (\d+) translations, (\d+) expired", table, re.M)
        self.translations = int(nat[1]) if nat else None


class Chain(Console):
    """A chain on the virtual adapter, or on the ports that eal names without one."""

    def __init__(self, folder, config=CONFIG, options=(), arguments=(), lcores=2, ports=None,
                 eal=(), memory=("--no-huge", "--no-shconf"), strict=True):
        path = folder / "chain.conf"
        path.write_text(config)
        preload, devices = ([], ports) if ports else tp.driver_arguments()
        line = [PROGRAM, *spread(lcores), *memory, "-m", "256", "--no-telemetry", *devices, *eal,
                "--", "--config", path, "--period", "0.05", "--idle-us", "20", *arguments]
        self.stats = folder / "adapter.json"
        if not ports:
            line = build.exec_command(line, "--stats=%s" % self.stats,
                                      *(["--strict"] if strict else []), *options, *preload)
        super().__init__(line, cwd=str(folder), env=dict(os.environ, TMPDIR=str(folder)))

    def took(self, count):
        """Wait until rx has taken so many."""
        self.expect(r"^rx +%d " % count, timeout=60)

    def stop(self, number=signal.SIGINT, status=0, timeout=60):
        """One signal, to the launcher alone, which hands it on."""
        self.process.send_signal(number)
        found = self.wait(timeout)
        assert found == status, self.output[-3000:]
        if status == 0:
            assert self.output.endswith("\nmbufs: all back\n"), self.output[-2000:]
        return Report(self.output)

    def adapter(self):
        return json.loads(self.stats.read_text())


def inside(ip, rest, mac=MACS[0]):
    return Ether(src=HOST, dst=mac) / ip / rest


def outside(ip, rest, mac=MACS[1]):
    return Ether(src=GATE, dst=mac) / ip / rest


def udp(number, ttl=64, dst="203.1.0.9", mac=MACS[0]):
    data = Raw(b"packet number %6d" % number)
    return inside(IP(src="10.0.0.2", dst=dst, ttl=ttl), UDP(sport=1000 + number, dport=53) / data,
                  mac)


def wires(folder, first, second=()):
    pcap.write(folder / "in0.pcap", [bytes(frame) for frame in first])
    pcap.write(folder / "in1.pcap", [bytes(frame) for frame in second])
    return ["--wire%d=pcap:in=%s,out=%s" % (port + 1, folder / ("in%d.pcap" % port),
                                            folder / ("out%d.pcap" % port)) for port in (0, 1)]


def came_out(folder, port):
    return [Ether(frame) for frame in pcap.read(folder / ("out%d.pcap" % port))]


def whole(frame):
    """A frame whose checksums are right."""
    again = Ether(bytes(frame))
    del again[IP].chksum
    for layer in (TCP, UDP, ICMP):
        if layer in again:
            del again[layer].chksum
    return bytes(Ether(bytes(again))) == bytes(frame)


def broken(frame, at):
    data = bytearray(bytes(frame))
    data[at] ^= 0x55
    return bytes(data)


def mixture(macs):
    """Frames for both ports, and under which name how many of them end."""
    host = IP(src="10.0.0.2", dst="203.1.0.9")
    first = [udp(number, mac=macs[0]) for number in range(40)]
    first += [udp(number, dst="203.0.113.9", mac=macs[0]) for number in range(20)]
    first += [inside(host, TCP(sport=number, dport=80), macs[0]) for number in range(1, 11)]
    first += [inside(host, ICMP(type=8, id=number), macs[0]) for number in range(5)]
    first += [udp(0, ttl=2, mac=macs[0])]
    good = len(first)
    bad = [
        ("denied", 7, inside(host, TCP(sport=9, dport=23), macs[0])),
        ("no_rule", 3, inside(IP(src="10.0.1.2", dst="203.1.0.9"), UDP(), macs[0])),
        ("arp", 2, Ether(src=HOST, dst=macs[0]) / ARP(pdst="10.0.0.1")),
        ("not_ipv4", 4, inside(IPv6(), UDP(), macs[0])),
        ("fragment", 3, inside(IP(src="10.0.0.2", dst="203.1.0.9", flags="MF"), UDP(), macs[0])),
        ("fragment", 2, inside(IP(src="10.0.0.2", dst="203.1.0.9", frag=3), UDP(), macs[0])),
        ("bad_checksum", 3, broken(udp(1, mac=macs[0]), 24)),
        ("malformed", 2, broken(udp(1, mac=macs[0]), 14)),
        ("malformed", 1, inside(IP(src="10.0.0.2", dst="203.1.0.9", len=2000), UDP(), macs[0])),
        ("other_mac", 2, udp(1, mac="ff:ff:ff:ff:ff:ff")),
        ("nat_protocol", 2, inside(IP(src="10.0.0.2", dst="203.1.0.9", proto=47), Raw(bytes(8)),
                                   macs[0])),
        ("nat_icmp", 2, inside(host, ICMP(type=0), macs[0])),
        ("ttl_expired", 4, udp(0, ttl=1, mac=macs[0])),
        ("no_route", 6, udp(0, dst="9.9.9.9", mac=macs[0])),
        ("no_neighbour", 2, udp(0, dst="10.0.0.77", mac=macs[0])),
        ("to_router", 3, udp(0, dst="10.0.0.1", mac=macs[0])),
    ]
    second = [
        ("no_translation", 5, outside(IP(src="203.1.0.9", dst="192.0.2.1"),
                                      UDP(sport=53, dport=29999), macs[1])),
        ("not_translated", 4, outside(IP(src="8.8.8.8", dst="10.0.0.2"), UDP(), macs[1])),
    ]
    causes = {}
    for name, count, _ in bad + second:
        causes[name] = causes.get(name, 0) + count
    for _, count, frame in bad:
        first += [frame] * count
    return good, first, [frame for _, count, frame in second for _ in range(count)], causes


def check_mixture(folder, report, good, first, second, causes):
    assert report.drops == causes
    assert report.stages["rx"][0] == len(first) + len(second)
    assert report.stages["tx"][1] == good
    frames = came_out(folder, 1)
    assert len(frames) == good and came_out(folder, 0) == []
    assert all(whole(frame) for frame in frames)
    assert {frame[IP].src for frame in frames} == {"192.0.2.1"}
    by_dst = {}
    for frame in frames:
        by_dst.setdefault(frame[IP].dst, set()).add(frame.dst)
    # The longest prefix decides.
    assert by_dst == {"203.1.0.9": {GATE}, "203.0.113.9": {GATE2}}
    assert sorted({frame[IP].ttl for frame in frames}) == [1, 63]
    # A port for each of the host's, whoever it talks to; a range for each protocol.
    ports = [frame[UDP].sport for frame in frames if UDP in frame]
    assert sorted(set(ports)) == list(range(20000, 20040)) and len(ports) == 61
    assert sorted(frame[TCP].sport for frame in frames if TCP in frame) == \
        list(range(20000, 20010))
    assert sorted(frame[ICMP].id for frame in frames if ICMP in frame) == \
        list(range(20000, 20005))
    assert report.translations == 40 + 10 + 5


@pytest.mark.parametrize("lcores", [1, 5])
def test_every_frame_is_accounted_for(tmp_path, lcores):
    good, first, second, causes = mixture(MACS)
    # A broken checksum of the data: the adapter tells.
    first.append(broken(inside(IP(src="10.0.0.2", dst="203.1.0.9"),
                               TCP(sport=1, dport=80) / Raw(bytes(20))), 60))
    causes["bad_checksum"] += 1
    with Chain(tmp_path, options=wires(tmp_path, first, second), lcores=lcores) as chain:
        chain.took(len(first) + len(second))
        report = chain.stop()
    assert "checksums by the ports" in chain.output
    check_mixture(tmp_path, report, good, first, second, causes)
    counters = chain.adapter()
    assert counters["violations"] == 0
    assert counters["ports"][1]["tx_frames"] == good == report.ports[1]["sent"]
    assert [port["missed"] for port in report.ports] == [0, 0]


def test_what_the_readme_shows(tmp_path):
    """Its packets, its configuration, its counters."""
    readme = (EXAMPLE / "README.md").read_text()
    make, = re.findall(r"^    python3 (-c \"from scapy.all import \*; wrpcap\('hosts\.pcap'.*?\")$",
                       readme, re.M | re.S)
    subprocess.run("/usr/bin/python3 " + make, shell=True, cwd=tmp_path, check=True, timeout=60)
    counters = readme[readme.index("## Counters"):readme.index("`in` is what")]
    shown = Report("\n".join(line.strip() for line in counters.splitlines()))
    with Chain(tmp_path, config=(EXAMPLE / "example.conf").read_text(),
               options=["--wire1=pcap:in=hosts.pcap", "--wire2=pcap:out=world.pcap"]) as chain:
        chain.took(58)
        report = chain.stop()
    assert (report.stages, report.drops) == (shown.stages, shown.drops)
    assert (report.ports, report.translations) == (shown.ports, shown.translations)
    sources = {Ether(frame)[IP].src for frame in pcap.read(tmp_path / "world.pcap")}
    assert sources == {"192.0.2.1"}


def test_ports_without_offloads(tmp_path):
    """Any ethdev will do: here captures, and all checksums in software."""
    good, first, second, causes = mixture(PCAP_MACS)
    wires(tmp_path, first, second)
    devices = ["--no-pci"]
    for port in (0, 1):
        devices += ["--vdev", "net_pcap%d,rx_pcap=%s,tx_pcap=%s" % (
            port, tmp_path / ("in%d.pcap" % port), tmp_path / ("out%d.pcap" % port))]
    with Chain(tmp_path, ports=devices) as chain:
        chain.took(len(first) + len(second))
        report = chain.stop(signal.SIGTERM)
    assert "checksums in software" in chain.output
    check_mixture(tmp_path, report, good, first, second, causes)


def test_nat_in_both_directions(network, tmp_path):
    """Behind port 1 somebody answers: see answer.py."""
    space = network.namespace("out")
    wire = network.veth(space)
    peer = space.start("/usr/bin/python3", pathlib.Path(__file__).with_name("answer.py"), "eth0",
                       stdout=subprocess.PIPE, text=True)
    assert peer.stdout.readline() == "ready\n"
    host, count = IP(src="10.0.0.2", dst="203.1.0.9"), 50
    frames = [udp(number) for number in range(count)]
    frames += [inside(host, TCP(sport=number, dport=80) / Raw(b"x" * (20 + number)))
               for number in range(count)]
    frames += [inside(host, ICMP(type=8, id=number) / Raw(b"%32d" % number))
               for number in range(count)]
    options = [wires(tmp_path, frames)[0], "--wire2=packet:%s" % wire]
    with Chain(tmp_path, options=options) as chain:
        chain.took(2 * len(frames))
        report = chain.stop()
    assert report.drops == {}
    assert report.ports[1]["sent"] == report.ports[1]["received"] == len(frames)
    back = came_out(tmp_path, 0)
    assert len(back) == len(frames) and all(whole(frame) for frame in back)
    assert {(frame.dst, frame.src, frame[IP].src, frame[IP].dst, frame[IP].ttl)
            for frame in back} == {(HOST, MACS[0], "203.1.0.9", "10.0.0.2", 62)}
    # Each answer came to where its question was from, with the same data.
    answered = [(UDP in frame, frame[2].dport, bytes(frame[2].payload))
                for frame in back if ICMP not in frame]
    assert sorted(answered) == sorted((UDP in frame, frame[2].sport, bytes(frame[2].payload))
                                      for frame in frames if ICMP not in frame)
    echoed = [(frame[ICMP].type, frame[ICMP].id, bytes(frame[ICMP].payload))
              for frame in back if ICMP in frame]
    assert sorted(echoed) == [(0, number, b"%32d" % number) for number in range(count)]
    assert chain.adapter()["violations"] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle(tmp_path, number):
    """The wire behind is slow, and so all rings are full: what is in them leaves, what
    waits at the port in front does not come in."""
    count = 40000
    first, second = wires(tmp_path, [bytes(udp(one)) for one in range(100)] * (count // 100))
    with Chain(tmp_path, options=[first, second + ",rate=4M"]) as chain:
        chain.expect(r"^tx +\d+ +\d+ +10\d\d/1024", timeout=60)
        report = chain.stop(number)
    taken = report.stages["rx"][0]
    assert 4 * 1024 < taken < count and report.drops == {}
    assert report.stages["tx"][1] == taken == len(pcap.read(tmp_path / "out1.pcap"))
    assert chain.adapter()["ports"][1]["tx_frames"] == taken


def test_a_port_that_takes_nothing(tmp_path):
    """No completion comes, and so its queue is full: what waits for it is dropped and
    counted, and the chain ends as ever."""
    count = 2000
    wire = wires(tmp_path, [bytes(udp(one)) for one in range(100)] * (count // 100))
    with Chain(tmp_path, options=[*wire, "--faults=cqe tx late=1000s port=2"]) as chain:
        chain.expect(r"^tx .* port_full [1-9]", timeout=60)
        report = chain.stop()
    assert set(report.drops) == {"port_full"}
    assert 1024 <= report.stages["tx"][1] < count
    assert report.stages["tx"][1] == len(pcap.read(tmp_path / "out1.pcap"))


def test_a_signal_while_it_waits(tmp_path):
    with Chain(tmp_path, arguments=["--run", "rx,nat,tx"]) as chain:
        chain.expect("waiting for acl, route", timeout=60)
        report = chain.stop()
    assert set(report.stages.values()) == {(0, 0)}


# ---- processes ----

def secondary(hugepages, stages, number, folder, wait=True):
    preload, eal = tp.driver_arguments(ports=0)
    # The bus of DPDK does not free what it scanned.
    prefix = ["env", "ASAN_OPTIONS=detect_leaks=0",
              *(["LD_PRELOAD=%s" % preload[1]] if preload else [])]
    started = Console([*prefix, PROGRAM, *spread(1, first=number), "--proc-type=secondary",
                       *hugepages.eal(), "--no-telemetry", *eal, "--", "--run", stages],
                      cwd=str(folder))
    if wait:
        try:
            started.expect("stages taken", timeout=60)
        except BaseException:
            started.kill()
            raise
    return started


@pytest.fixture
def shared(hugepages, tmp_path):
    """A primary that has NAT alone, and waits for the others."""
    # Where a sanitizer leaves the memory free in all processes.
    where = ["--base-virtaddr=0x200000000000"] if build.sanitized() else []

    def start(frames):
        return Chain(tmp_path, eal=where, options=wires(tmp_path, frames), lcores=1,
                     memory=[*hugepages.eal(), "--proc-type=primary"],
                     arguments=["--run", "nat"])
    return start


def test_a_process_for_each(shared, hugepages, tmp_path):
    """Secondaries have the ends of the chain: they receive and send."""
    good, first, second, causes = mixture(MACS)
    wires(tmp_path, first, second)
    with shared(first) as chain:
        chain.expect("waiting for rx, acl, route, tx", timeout=60)
        with secondary(hugepages, "rx,acl", 8, tmp_path) as one, \
                secondary(hugepages, "route,tx", 9, tmp_path) as other:
            chain.took(len(first))
            # Refused, and nothing is disturbed.
            late = secondary(hugepages, "acl", 10, tmp_path, wait=False)
            assert late.wait() == 1
            assert re.search(r"nfv_chain: stage acl is one of process \d+: name others",
                             late.output), late.output
            late.kill()
            same = secondary(hugepages, "acl", 9, tmp_path, wait=False)
            assert same.wait() == 1
            assert "nfv_chain: lcore 9 is one of process" in same.output, same.output
            same.kill()
            report = chain.stop()
            assert (one.wait(), other.wait()) == (0, 0), one.output + other.output
            assert "stages done" in one.output and "stages done" in other.output
    del causes["no_translation"], causes["not_translated"]
    check_mixture(tmp_path, report, good, first, [], causes)
    assert chain.adapter()["violations"] == 0


def test_a_process_that_dies(shared, hugepages, tmp_path):
    """The chain ends, says who is missing, and does not hang on its ring."""
    with shared([udp(number) for number in range(300)]) as chain:
        chain.expect("waiting for", timeout=60)
        with secondary(hugepages, "rx,acl", 8, tmp_path) as one, \
                secondary(hugepages, "route,tx", 9, tmp_path) as other:
            chain.took(300)
            other.process.kill()
            other.process.wait()
            chain.expect(r"process %d is gone, and stage route with it" % other.process.pid)
            assert chain.wait() == 1
            assert one.wait() == 0
    assert "process %d is gone, and stage tx with it" % other.process.pid in chain.output


def test_a_primary_that_dies(shared, hugepages, tmp_path):
    """The others do not poll for ever what is no longer there."""
    with shared([]) as chain:
        chain.expect("waiting for", timeout=60)
        with secondary(hugepages, "rx,acl,route,tx", 8, tmp_path) as other:
            chain.expect("all stages are there", timeout=60)
            os.killpg(chain.process.pid, signal.SIGKILL)
            chain.process.wait()
            other.expect("nfv_chain: the primary process is gone", timeout=60)
            assert other.wait() == 1


# ---- what is told ----

def refused(folder, complaint, status=1, config=CONFIG, arguments=(), ports=None):
    with Chain(folder, config=config, arguments=arguments, ports=ports or ["--no-pci"]) as chain:
        assert chain.wait() == status, chain.output
    lines = [line for line in chain.output.splitlines() if line.startswith("nfv_chain: ")]
    assert len(lines) == 1 and complaint in lines[0], chain.output


@pytest.mark.parametrize("arguments, complaint", [
    (["--run", "rx,dpi"], "--run 'dpi': no such stage; there are rx, acl, nat, route and tx"),
    (["--run", ","], "--run: name stages"),
    (["--period", "x"], "--period 'x': give seconds, 0 to 86400"),
    (["--descriptors", "63"], "--descriptors '63': give a number, 64 to 32768"),
    (["--idle-us", "-1"], "--idle-us '-1': give a number, 0 to 100000"),
    (["more"], "'more': an argument too many; see -- --help"),
    (["--run"], "'--run' lacks its value; see -- --help"),
    (["--tx", "2"], "'--tx' is no option; see -- --help"),
])
def test_wrong_options(tmp_path, arguments, complaint):
    refused(tmp_path, complaint, status=2, arguments=arguments)


def test_a_wrong_line(tmp_path):
    refused(tmp_path, "chain.conf:13: timeout 'x': give seconds, 1 to 86400",
            config=CONFIG + "timeout udp x\n")


def test_a_port_that_is_not_there(tmp_path):
    refused(tmp_path, "chain.conf:1: port 0: there is none of this number, but 0 in all: name it")


def test_the_example_file(tmp_path):
    """It is right: only the ports are missing here."""
    refused(tmp_path, "port 0: there is none of this number",
            config=(EXAMPLE / "example.conf").read_text())


def test_it_stands_alone(tmp_path):
    """The folder copied elsewhere, with an installed DPDK and no more."""
    shutil.copytree(EXAMPLE, tmp_path / "copy")
    done = subprocess.run(["make", "-j2", "-C", tmp_path / "copy",
                           "CFLAGS=-O0 -Wall -Wextra -Werror"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=120)
    assert done.returncode == 0, done.stdout
    status, stdout, stderr = run_bounded([
        tmp_path / "copy" / "nfv_chain", *spread(1), "--no-huge", "--no-shconf", "--no-pci",
        "--no-telemetry", "-m", "64", "--", "--help"])
    assert status == 0 and "--config FILE" in stdout, stderr
