# SPDX-License-Identifier: BSD-3-Clause
"""Two testpmds, each with an adapter of its own, on one unix: or shm: wire."""

import json
import os

import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from harness import pcap
from harness.waiting import wait_until
from mlx4dvlib import testpmd as tp

PCI = "--pci=0000:06:00.0"
REQUESTS = 200
# It would wait 9 s for a link that comes with the other process.
SMALL = {"memory": 128, "mbufs": 4096,
         "arguments": ["--disable-link-check", "--no-lsc-interrupt"]}
EVENT = "Port 0: link state change event"


@pytest.fixture(params=["shm", "unix"])
def wire(request, tmp_path):
    if request.param == "shm":
        return "shm:test-%d" % os.getpid()
    return "unix:%s/socket" % tmp_path


def is_up(pmd, port=0):
    return "Link status: up" in pmd.do("show port info %d" % port)


def counters(pmd, port=1):
    return json.loads(pmd.counters.read_text())["ports"][port - 1]


def request(number):
    return (Ether(dst="02:00:00:00:97:02", src="02:00:00:00:97:01")
            / IP(src="10.97.0.1", dst="10.97.0.2", id=number)
            / ICMP(type="echo-request", id=7, seq=number)
            / Raw(number.to_bytes(2, "big") * (4 + number % 700)))


def check_replies(frames):
    """One reply to each request, whole, with good checksums, in order."""
    assert len(frames) == REQUESTS
    for number, frame in enumerate(frames):
        reply = Ether(frame)
        assert (reply[IP].src, reply[IP].dst) == ("10.97.0.2", "10.97.0.1")
        assert reply[ICMP].type == 0 and (reply[ICMP].id, reply[ICMP].seq) == (7, number)
        assert reply[Raw].load == request(number)[Raw].load
        sums = reply[IP].chksum, reply[ICMP].chksum
        del reply[IP].chksum, reply[ICMP].chksum
        again = Ether(bytes(reply))
        assert sums == (again[IP].chksum, again[ICMP].chksum)


@pytest.mark.parametrize("answering", [tp.STOCK, tp.OURS])
def test_ping(testpmd, tmp_path, wire, answering):
    """Requests from a capture cross one adapter, the wire, and another adapter,
    whose testpmd answers; the replies come back the same way."""
    wrpcap(str(tmp_path / "in.pcap"), [request(number) for number in range(REQUESTS)])
    out = tmp_path / "out.pcap"
    echo = testpmd(driver=answering, ports=1, **SMALL,
                   options=["--ports=1", "--wire=" + wire])
    assert not is_up(echo)
    echo.do("set fwd icmpecho")
    echo.do("start")
    # Replayed frames wait in the receive queue until "start", which would drop them.
    pmd = testpmd(second=True, **dict(SMALL, arguments=[*SMALL["arguments"], "--no-flush-rx"]),
                  options=[PCI, "--wire1=" + wire,
                           "--wire2=pcap:in=%s,out=%s,rate=100M" % (tmp_path / "in.pcap", out)])
    wait_until(lambda: is_up(echo) and is_up(pmd))
    pmd.do("start")
    wait_until(lambda: pmd.stats(1)["TX-packets"] >= REQUESTS)
    pmd.do("stop")
    assert pmd.quit() == 0
    wait_until(lambda: not is_up(echo))
    echo.do("stop")
    assert echo.quit() == 0
    check_replies(pcap.read(out))
    assert counters(echo)["rx_frames"] == counters(echo)["tx_frames"] == REQUESTS


def start(testpmd, wire, second=False, events=False, **more):
    arguments = ["--disable-link-check"] if events else SMALL["arguments"]
    pmd = testpmd(ports=1, second=second, **dict(SMALL, arguments=arguments),
                  options=[*([PCI] if second else []), "--ports=1", "--wire=" + wire], **more)
    pmd.events = 0
    return pmd


def next_event(pmd):
    """Wait for one more event of the link; then no prompt is torn by it."""
    pmd.events += 1
    pmd.expect(EVENT, times=pmd.events)


def test_the_one_that_stays_meets_the_next(testpmd, wire):
    """A killed process leaves nothing in the way; links follow it, and its port."""
    first = start(testpmd, wire, events=True)
    second = start(testpmd, wire, second=True)
    next_event(first)
    assert is_up(first) and is_up(second)
    second.do("set link-down port 0")
    next_event(first)
    assert not is_up(first)
    second.do("set link-up port 0")
    next_event(first)
    assert is_up(first)
    # The guest goes: the host waits for the next one.
    second.kill()
    next_event(first)
    assert not is_up(first)
    third = start(testpmd, wire, second=True)
    next_event(first)
    assert is_up(first) and is_up(third)
    # The host goes: the guest takes its place.
    first.kill()
    wait_until(lambda: not is_up(third))
    fourth = start(testpmd, wire)
    wait_until(lambda: is_up(third) and is_up(fourth))
    assert [pmd.quit() for pmd in (third, fourth)] == [0, 0]


def test_a_third_is_refused(testpmd, vmlx4, wire):
    pmds = [start(testpmd, wire, second) for second in (False, True)]
    wait_until(lambda: all(map(is_up, pmds)))
    third = vmlx4("true", options=["--ports=1", "--wire=" + wire])
    assert third.status == 2
    assert wire in third.stderr and "two adapters are on it already" in third.stderr
    assert len(third.stderr.splitlines()) == 1
    assert all(map(is_up, pmds))
    assert [pmd.quit() for pmd in pmds] == [0, 0]


def test_under_load_each_frame_is_accounted_for(testpmd, wire):
    """More than the receiver can take: what it misses is counted there, and the
    wire loses nothing."""
    receiver = start(testpmd, wire)
    sender = start(testpmd, wire, second=True)
    wait_until(lambda: is_up(receiver) and is_up(sender))
    receiver.do("set fwd rxonly")
    receiver.do("start")
    sender.do("set fwd txonly")
    sender.do("start")
    wait_until(lambda: sender.stats(0)["TX-packets"] > 200000)
    sender.do("stop")
    sent = sender.stats(0)["TX-packets"]
    wait_until(lambda: sum(receiver.xstats(0).get(name, 0) for name in
                           ("rx_good_packets", "rx_missed_errors")) >= sent)
    receiver.do("stop")
    assert sender.quit() == 0
    assert receiver.quit() == 0
    here, there = counters(sender), counters(receiver)
    assert here["tx_frames"] == sent and here["tx_wire_drops"] == 0
    assert there["rx_frames"] + there["rx_no_wqe"] == sent
    assert there["rx_wire_bad"] == there["rx_wire_drops"] == 0
