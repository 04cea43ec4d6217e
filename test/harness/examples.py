# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own examples, made from the source of the installed DPDK, and what stands
at the ends of their two ports."""

import json
import pathlib
import re
import signal
import subprocess
import time

from mlx4dvlib import build, testpmd as tp
from mlx4dvlib.console import Console

from . import netns, pcap, relay
from .cmocka import introspect
from .waiting import PATIENCE, wait_until


class Absent(Exception):
    """Why there is no source."""


class Examples:
    """examples("l3fwd-power"): the program, compiled when it is first wanted."""

    def __init__(self, folder):
        options = {option["name"]: option["value"] for option in introspect("buildoptions")}
        if not options.get("dpdk_sdk"):
            raise Absent("the installed DPDK has the driver headers: "
                         "no source of its examples here")
        self.source = pathlib.Path(options["dpdk_sdk"], "examples")
        self.folder = folder

    def __call__(self, name):
        source, program = self.source / name, self.folder / pathlib.Path(name).name
        if not program.exists():
            listed = re.search(r"^sources = files\((.*?)\)", (source / "meson.build").read_text(),
                               re.S | re.M).group(1)
            names = re.findall(r"'(\S+?)'", listed)
            subprocess.run(["cc", "-O1", "-w", "-DALLOW_EXPERIMENTAL_API",
                            *flags("--cflags"), "-I", self.source / "common", "-o", program,
                            *(source / name for name in names), *flags("--libs")],
                           check=True, timeout=240)
        return program


def flags(what):
    return subprocess.run(["pkg-config", what, "libdpdk"], capture_output=True, text=True,
                          check=True).stdout.split()


def command(program, arguments, options, driver=tp.OURS, cores=None, memory=1024, prefix=()):
    """The command line of an example that has both ports of an adapter, by the PCI
    address, under the checker."""
    preload, eal = tp.driver_arguments(driver, pci=True)
    return [*prefix, *build.exec_command(
        [program, *(cores or tp.lcores()), "--no-huge", "-m", memory, "--no-shconf",
         "--no-telemetry", *eal, "--", *arguments], "--strict=report", *preload, *options)]


def leave(console):
    """As from the keyboard. The launcher hands the signal on: sent to both it would
    arrive twice, and a second thread may call exit() in the handler."""
    console.process.send_signal(signal.SIGINT)
    console.wait()


def violations(path):
    """The counters are there once the program has ended, which its launcher may do first."""
    return counters(path)["violations_by_rule"]


def counters(path):
    wait_until(path.exists, "%s is not there" % path)
    return json.loads(path.read_text())


class Lines:
    """Two veths of one namespace, whose far ends are the wires of the adapter."""

    def __init__(self, network):
        self.space = network.namespace("a")
        for name in ("left", "right"):
            self.space.ip("link", "add", name, "type", "veth", "peer", "name", name + "-far")
            for end in (name, name + "-far"):
                self.space.ip("link", "set", end, "up")
        self.wires = ["--wire1=packet:left-far", "--wire2=packet:right-far"]
        self.prefix = netns.inside(self.space.name)

    def command(self, program, *options):
        return self.prefix + build.exec_command(program, "--strict=report", *options)

    def pass_through(self, frames):
        """Send at the left; as many frames arriving at the right, or an error."""
        _, output, _ = self.space.run("/usr/bin/python3", relay.__file__, "left", "right",
                                      len(frames), stdin="".join(
                                          bytes(frame).hex() + "\n" for frame in frames))
        return [bytes.fromhex(line) for line in output.split()]


class Captures:
    """Both ports between captures: what is given to each arrives there once the
    program polls it, and what it sends is read afterwards."""

    def __init__(self, folder, *arriving):
        self.folder = folder
        self.stats = folder / "stats.json"
        self.wires, self.leaving = [], []
        for port, frames in enumerate(arriving, 1):
            entry, leaving = folder / ("in%d.pcap" % port), folder / ("out%d.pcap" % port)
            pcap.write(entry, [bytes(frame) for frame in frames])
            self.wires.append("--wire%d=pcap:in=%s,out=%s" % (port, entry, leaving))
            self.leaving.append(leaving)
        self.options = ["--stats=%s" % self.stats, *self.wires]

    def wait(self, console, *counts, timeout=PATIENCE):
        """Until so many frames have left each port; then what left, exactly as much."""
        deadline = time.monotonic() + timeout
        while True:
            sent = [pcap.read_growing(path) for path in self.leaving]
            if all(len(frames) >= count for frames, count in zip(sent, counts)):
                return sent
            if time.monotonic() > deadline:
                console.expect("^$", 1)  # what it printed meanwhile
                console.fail("%s frames left, not %s" % ([len(frames) for frames in sent], counts))
            time.sleep(0.02)

    def run(self, program, arguments, *counts, ends=True, **how):
        """Run an example until so many frames have left its ports, leave it, and
        return all that left. One that does not end by itself leaves no counters."""
        with Console(command(program, arguments, self.options, **how),
                     cwd=str(self.folder)) as console:
            self.wait(console, *counts)
            leave(console)
            self.output = console.output
        assert "contract violation" not in console.output, console.output
        if ends:
            found = counters(self.stats)
            assert found["violations_by_rule"] == {}
            assert [port["tx_frames"] for port in found["ports"]] == list(counts)
        sent = [pcap.read_growing(path) for path in self.leaving]
        assert [len(frames) for frames in sent] == list(counts), console.output
        return sent
