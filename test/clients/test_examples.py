# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own examples on the stock net_mlx4, built from the source of the installed
DPDK: what testpmd cannot do, sleep until a packet comes, and run in two processes."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import relay
from harness import adapter, netns
from harness.cmocka import introspect
from mlx4dvlib import build
from mlx4dvlib.console import Console

HEAD = Ether(dst="00:02:c9:05:00:01", src="02:00:00:00:95:01")
CPUS = sorted(os.sched_getaffinity(0))
PAGES = 512  # of 2 MiB


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """example("l3fwd-power", "main.c", …): the program made of these sources."""
    options = {option["name"]: option["value"] for option in introspect("buildoptions")}
    sources = pathlib.Path(options["dpdk_sdk"], "examples")
    if not options["dpdk_sdk"]:
        pytest.skip("the installed DPDK has the driver headers: no source of its examples here")
    folder = tmp_path_factory.mktemp("examples")

    def flags(what):
        return subprocess.run(["pkg-config", what, "libdpdk"], capture_output=True, text=True,
                              check=True).stdout.split()

    def make(path, *names):
        program = folder / pathlib.Path(path).name
        if not program.exists():
            subprocess.run(["cc", "-O1", "-w", "-DALLOW_EXPERIMENTAL_API", *flags("--cflags"),
                            "-o", program, *(sources / path / name for name in names),
                            *flags("--libs")], check=True, timeout=120)
        return program
    return make


class Lines:
    """Two veths of one namespace, whose far ends are the wires of the adapter."""

    def __init__(self, network):
        self.space = network.namespace("a")
        for name in ("left", "right"):
            self.space.ip("link", "add", name, "type", "veth", "peer", "name", name + "-far")
            for end in (name, name + "-far"):
                self.space.ip("link", "set", end, "up")
        self.wires = ["--wire1=packet:left-far", "--wire2=packet:right-far"]

    def command(self, program, *options):
        return netns.inside(self.space.name) + build.exec_command(
            program, "--strict=report", *options)

    def pass_through(self, frames):
        """Send at the left; as many frames arriving at the right, or an error."""
        _, output, _ = self.space.run("/usr/bin/python3", relay.__file__, "left", "right",
                                      len(frames), stdin="".join(
                                          bytes(frame).hex() + "\n" for frame in frames))
        return [bytes.fromhex(line) for line in output.split()]


@pytest.fixture
def lines(network):
    return Lines(network)


def leave(console):
    """These programs do not end by themselves. The launcher hands the signal on: sent to
    both it would arrive twice, and a second thread would call exit() in the handler."""
    console.process.send_signal(signal.SIGINT)
    console.wait(20)


def violations(path):
    """The counters are there once the program has ended, which its launcher may do first."""
    deadline = time.monotonic() + 20
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return json.loads(path.read_text())["violations_by_rule"]


def test_rx_interrupts(lines, example, tmp_path, finding):
    """l3fwd-power sleeps on its queues, and each frame wakes it once."""
    program = example("l3fwd-power", "main.c", "perf_core.c")
    stats = tmp_path / "stats.json"
    cpus = "%d,%d" % (CPUS[0], CPUS[1]) if len(CPUS) > 1 else None
    where = ["-l", cpus] if cpus else ["--lcores", "0@%d,1@%d" % (CPUS[0], CPUS[0])]
    core = CPUS[1] if cpus else 1
    with Console(lines.command(
            [program, *where, "--no-huge", "-m", 1024, "--no-shconf", "--no-telemetry",
             "-a", build.PCI_ADDRESS, "--", "-p", "0x3", "-P", "--interrupt-only",
             "--config=(0,0,%d),(1,0,%d)" % (core, core)],
            "--stats=%s" % stats, *lines.wires), cwd=str(tmp_path)) as console:
        console.expect(r"portid=1 rxqueueid=0", timeout=60)
        console.expect(r"Port 1 Link up", timeout=30)
        for number in range(5):
            frame = HEAD / IP(src="10.0.0.1", dst="2.1.1.1") / UDP(sport=number) / Raw(bytes(40))
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
    finding("l3fwd-power", "rx interrupts: woken %s for 5 frames" %
            ("5 times" if woken == 5 else "more often"))


@pytest.fixture
def hugepages(tmp_path):
    """A mount of hugetlbfs with pages reserved for this test: only here are they
    needed, as two processes share the memory."""
    setting = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
    free = setting.with_name("free_hugepages")
    if os.geteuid() != 0 or not setting.exists():
        pytest.skip("two processes share hugepages, and reserving them needs root")
    before = setting.read_text()
    place = tmp_path / "huge"
    place.mkdir()
    try:
        setting.write_text(str(int(before) + max(0, PAGES - int(free.read_text()))))
    except OSError as error:
        pytest.skip("cannot reserve hugepages: %s" % error)
    try:
        if int(free.read_text()) < PAGES:
            pytest.skip("two processes need %d free hugepages, and the kernel has %s" % (
                PAGES, free.read_text()))
        mounted = subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "none", place],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            pytest.skip("cannot mount hugetlbfs: %s" % mounted.stderr)
        yield place
        subprocess.run(["umount", place], check=True)
    finally:
        setting.write_text(before)


def test_secondary_process(lines, example, hugepages, tmp_path, finding, monkeypatch):
    """Two processes share the ports, each with a queue of its own. The adapter lives
    in the first one; the second writes to doorbells that it got from there. A third
    reads the counters."""
    program = example("multi_process/symmetric_mp", "main.c")
    stats = tmp_path / "stats.json"
    # Where the processes meet; a socket there may not have a long name.
    meeting = tempfile.TemporaryDirectory(prefix="vmlx4-")
    monkeypatch.setenv("RUNTIME_DIRECTORY", meeting.name)
    eal = ["--huge-dir=%s" % hugepages, "--file-prefix=mp", "-m", 512,
           "--no-telemetry", "-a", build.PCI_ADDRESS]
    count = 200

    def start(number, kind, *options):
        cpu = CPUS[number % len(CPUS)]
        return Console(lines.command(
            [program, "--lcores", "%d@%d" % (number, cpu), *eal, "--proc-type=" + kind, "--",
             "-p", "3", "--num-procs=2", "--proc-id=%d" % number], *options), cwd=str(tmp_path))

    frames = [HEAD / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=number) / Raw(bytes(40))
              for number in range(count)]
    with meeting, start(0, "primary", "--stats=%s" % stats, *lines.wires) as first:
        first.expect("using queue 0 of each port", timeout=60)
        with start(1, "secondary") as second:
            second.expect("using queue 1 of each port", timeout=60)
            arrived = lines.pass_through(frames)
            assert sorted(arrived) == sorted(bytes(frame) for frame in frames)
            info = adapter.run_bounded(lines.command(
                ["dpdk-proc-info", *eal[:2], *eal[4:], "--", "--stats", "-p", "0x1"]),
                timeout=60)
            assert re.search(r"RX-packets:\s+%d\b" % count, info[1]), info
            leave(second)
        leave(first)
    shares = [tuple(map(int, re.search(r"Port 0: RX - (\d+), TX - 0, Drop - 0\s+"
                                       r"Port 1: RX - 0, TX - (\d+), Drop - 0",
                                       console.output).groups())) for console in (first, second)]
    assert all(received == sent > 0 for received, sent in shares), shares
    assert sum(received for received, _ in shares) == count
    assert violations(stats) == {}
    finding("symmetric_mp", "primary and secondary: %s packets" % " + ".join(
        str(received) for received, _ in shares))
    finding("dpdk-proc-info", "reads the counters of the primary")
