# SPDX-License-Identifier: BSD-3-Clause
"""Kernel sockets between two namespaces, and what the kernel thinks of it."""

import json
import re
import subprocess

from . import endpoint
from .waiting import PATIENCE, wait_until

PORT = 5300


def ping(source, address, size=56, count=5):
    """Count replies must come, unfragmented when the size says so. With -w ping
    waits for a late one on a busy machine, and sends on while it does, so there
    may be more; who asks for no loss compares the counters of the ports."""
    family = ["-6"] if ":" in address else ["-M", "do"]
    _, output, _ = source.run("ping", *family, "-n", "-c", count, "-i", "0.1", "-w", "20",
                              "-s", size, address, check=False)
    replies = re.search(r"\b(\d+) received", output)
    assert replies and int(replies.group(1)) >= count, output


def send_bytes(source, sink, address, size, kind="tcp", seed=1):
    """Move size bytes and compare what arrived with what was sent."""
    receiver = sink.start("/usr/bin/python3", endpoint.__file__, "receive", kind, address, PORT,
                          size, stdout=subprocess.PIPE, text=True)
    assert receiver.stdout.readline() == "ready\n"
    source.run("/usr/bin/python3", endpoint.__file__, "send", kind, address, PORT, size, seed)
    arrived, _ = receiver.communicate(timeout=PATIENCE)
    assert arrived.strip() == endpoint.digest(seed, size)


def iperf3(source, sink, address, size):
    """A bulk TCP transfer of size bytes; the bits per second that arrived. iperf3
    ends the test when the last byte was handed to the sender's kernel and checks
    no content: see send_bytes()."""
    server = sink.start("iperf3", "-s", "-1", "-B", address, stdout=subprocess.DEVNULL)
    wait_for_listener(sink, 5201)
    _, output, _ = source.run("iperf3", "-J", "-c", address, "-n", size)
    server.wait(PATIENCE)
    end = json.loads(output)["end"]
    assert end["sum_sent"]["bytes"] >= size, output
    assert end["sum_received"]["bytes"] > size // 2, output
    return end["sum_received"]["bits_per_second"]


def wait_for_listener(space, port):
    wait_until(lambda: space.run("ss", "-Htln", "sport = :%d" % port)[1].strip(),
               "nobody listens on port %d" % port)


def kernel_counters(space):
    """{"Tcp.InCsumErrors": 0, …} of /proc/net/snmp."""
    _, output, _ = space.run("cat", "/proc/net/snmp")
    rows = [line.split() for line in output.splitlines()]
    return {"%s.%s" % (names[0].rstrip(":"), name): int(value)
            for names, values in zip(rows[::2], rows[1::2])
            for name, value in zip(names[1:], values[1:])}


def assert_intact(space):
    """No frame reached the kernel broken."""
    counters = kernel_counters(space)
    wrong = {name: counters[name] for name in ("Ip.InHdrErrors", "Icmp.InCsumErrors",
                                               "Tcp.InCsumErrors", "Udp.InCsumErrors")
             if counters[name] != 0}
    assert not wrong, wrong
