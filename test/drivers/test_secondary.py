# SPDX-License-Identifier: BSD-3-Clause
"""Ports shared by processes: the primary has the adapter, secondaries poll queues
of their own in the same memory."""

import os
import re

import pytest

from harness.adapter import run_bounded
from harness.hugepages import skip_if_sanitized
from harness.waiting import wait_until
from mlx4dvlib import testpmd as tp

# Packets of many flows, so that each process receives some.
FLOWS = "--txonly-multi-flow"
ARGUMENTS = ["--num-procs=2", "--rxq=2", "--txq=2", "--total-num-mbufs=8192", FLOWS]


def sysfs(hugepages):
    return hugepages.folder.parent / "sysfs"


@pytest.fixture
def primary(hugepages, testpmd):
    skip_if_sanitized()

    def start(fault=None, **arguments):
        return testpmd(shared=hugepages.eal(), memory=256, rxq=2, txq=2, mbufs=8192,
                       options=["--sysfs=%s" % sysfs(hugepages),
                                *(["--faults=" + fault] if fault else [])],
                       arguments=["--num-procs=2", "--proc-id=0", FLOWS], **arguments)
    return start


@pytest.fixture
def secondary(hugepages):
    started = []

    def start(pci=False):
        line = tp.secondary_command("dpdk-testpmd", hugepages.eal(),
                                    ["-i", *ARGUMENTS, "--proc-id=1"], pci=pci)
        # Where the EAL looks for the adapter of the primary, by its PCI address.
        line = ["env", "SYSFS_PCI_DEVICES=%s/bus/pci/devices" % sysfs(hugepages), *line]
        started.append(tp.Testpmd(line=line))
        return started[-1]

    yield start
    for pmd in started:
        pmd.kill()


def counted(pmd):
    return [pmd.stats(port) for port in range(2)]


def received(pmd):
    """Packets of each queue of each port, the primary's queues first."""
    return [pmd.xstats(port)["rx_q%d_packets" % queue] for queue in range(2) for port in range(2)]


def forward(one, other, packets=500, bursts=1):
    """Both processes forward, until each queue has received so many packets: each
    is polled by one of them, and filled by both."""
    goal = [count + packets for count in received(one)]
    one.do("start")
    other.do("start tx_first %d" % bursts)
    wait_until(lambda: all(count >= least for count, least in zip(received(one), goal)),
               lambda: "%s of %s" % (received(one), goal))
    other.do("stop")
    one.do("stop")


@pytest.mark.parametrize("pci", [False, True], ids=["vdev", "pci"])
def test_two_processes_forward(primary, secondary, pci):
    one = primary(pci=pci)
    other = secondary(pci)
    forward(one, other)
    # Counters are the port's, whoever reads them.
    assert counted(one) == counted(other)
    assert all(stats["RX-errors"] == stats["TX-errors"] == 0 for stats in counted(one))
    assert other.quit() == 0
    assert one.quit() == 0


def test_two_processes_send_inline(primary, secondary):
    """Frames of 64 bytes are copied into WQEs by either process."""
    one = primary(devargs="tx_inline=64")
    other = secondary()
    assert "Burst mode: Scalar Inline" in one.do("show txq info 0 1")
    forward(one, other)
    assert counted(one) == counted(other)
    assert all(stats["RX-errors"] == stats["TX-errors"] == 0 for stats in counted(one))
    assert other.quit() == 0
    assert one.quit() == 0


def test_two_processes_one_by_blueflame(primary, secondary):
    """Packets one by one: the primary copies them to the BlueFlame page, the secondary
    rings."""
    one = primary(devargs="tx_inline=64,tx_blueflame=1")
    other = secondary()
    for pmd, mode in (one, "Scalar Inline BlueFlame"), (other, "Scalar Inline"):
        pmd.do("set burst 1")
        assert re.search("Burst mode: %s *$" % mode, pmd.do("show txq info 0 1"), re.M)
    forward(one, other, bursts=64)
    assert counted(one) == counted(other)
    assert all(stats["RX-errors"] == stats["TX-errors"] == 0 for stats in counted(one))
    assert other.quit() == 0
    assert one.quit() == 0


def test_restart_of_the_port_under_a_secondary(primary, secondary):
    one = primary()
    other = secondary()
    for _ in range(2):
        forward(one, other)
        one.do("port stop all")
        one.do("port start all")
    forward(one, other)
    assert other.quit() == 0
    assert one.quit() == 0


def test_secondary_that_dies_is_survived(primary, secondary):
    one = primary()
    other = secondary()
    other.do("start tx_first")
    other.process.kill()
    other.process.wait()
    again = secondary()
    forward(one, again)
    assert again.quit() == 0
    one.do("port stop all")
    one.do("port start all")
    one.do("start tx_first")
    one.do("stop")
    assert one.quit() == 0


def test_proc_info(primary, hugepages):
    one = primary()
    one.do("start tx_first")
    one.do("stop")
    for what in ("--stats", "--xstats", "--show-port"):
        line = tp.secondary_command("dpdk-proc-info", hugepages.eal(), ["-p", "3", what])
        status, stdout, stderr = run_bounded(line)
        assert status == 0, stdout + stderr
        assert {"--stats": "RX-packets", "--xstats": "rx_good_packets",
                "--show-port": "net_mlx4dv"}[what] in stdout, stdout
    assert one.quit() == 0


def descriptors(pmd):
    """How many the processes of a testpmd have: a launcher, and itself."""
    counts = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(pid)) == pmd.process.pid:
                counts.append(len(os.listdir("/proc/%s/fd" % pid)))
        except OSError:
            pass  # gone meanwhile
    assert counts
    return sorted(counts)


def test_port_detached_and_attached_under_a_secondary(primary, secondary):
    """The primary plugs; the EAL has the secondary follow, and nothing is left of it."""
    one = primary()
    other = secondary()
    before = []
    for _ in range(3):
        one.do("port stop 0")
        assert "Device is detached" in one.do("port detach 0")
        other.go_on()
        assert "Invalid port 0" in other.do("show port info 0")
        assert "Port 0 is attached" in one.do(
            "port attach net_mlx4dv0,device=mlx4_0,port=1")
        one.do("port start 0")
        other.go_on()
        summary = other.do("show port summary all")
        assert re.search(r"^0 .* net_mlx4dv0 +net_mlx4dv +up ", summary, re.M), summary
        before.append((descriptors(one), descriptors(other)))
    assert before[0] == before[-1]
    # This testpmd starts no port that it did not find at its own start.
    assert other.quit() == 0
    again = secondary()
    one.do("set portlist 0,1")
    forward(one, again)
    assert again.quit() == 0
    assert one.quit() == 0


def test_device_that_is_removed_under_a_secondary(primary, secondary):
    """What the primary is told of, the secondary finds out by the port."""
    one = primary(fault="device remove frame=2000")
    other = secondary()
    one.do("start tx_first 32")
    for port in range(2):
        one.expect(r"Port %d: device removal event" % port, timeout=60)
    one.expect(r"Now total ports is 0", timeout=60)
    other.go_on()
    assert "Invalid port 0" in other.do("show port info 0")
    assert other.quit() == 0
    one.go_on()
    assert one.quit() == 0


# What testpmd says of -ENOTSUP, and of rte_flow's ENOSYS.
CONTROL = {
    "set promisc 0 off": "Operation not supported",
    "set allmulti 0 on": "Operation not supported",
    "port config mtu 0 1400": "diag=-95",
    "mac_addr add 0 02:00:00:00:00:09": "Operation not supported",
    "mac_addr set 0 02:00:00:00:00:09": "Operation not supported",
    "set link-down port 0": "Set link down fail",
    "port 0 rxq 0 stop": "not supported",
    "port 0 txq 0 stop": "not supported",
    "vlan set strip on 0": "diag=-95",
    "set flow_ctrl rx on 0": "return code = -95",
    "flow create 0 ingress pattern eth / end actions drop / end": "Function not implemented",
    "flow isolate 0 1": "Function not implemented",
}


def test_control_is_not_for_secondaries(primary, secondary):
    one = primary()
    other = secondary()
    before = one.do("show port info 0")
    for command, answer in CONTROL.items():
        assert answer in other.do(command), command
    assert one.do("show port info 0") == before
    forward(one, other)
    assert other.quit() == 0
    assert one.quit() == 0


def test_reset_of_the_port_under_a_secondary(primary, secondary):
    """The reset takes a new context, whose doorbells the secondary has to find: all
    packets begin there."""
    one = primary()
    other = secondary()
    for _ in range(2):
        one.do("port stop all")
        one.do("port reset all")
        one.do("port start all")
        forward(one, other)
    assert other.quit() == 0
    assert one.quit() == 0
