# SPDX-License-Identifier: BSD-3-Clause
"""Ports shared by processes: the primary has the adapter, secondaries poll queues
of their own in the same memory."""

import pytest

from harness.adapter import run_bounded
from mlx4dvlib import testpmd as tp

ARGUMENTS = ["--num-procs=2", "--rxq=2", "--txq=2", "--total-num-mbufs=8192"]


def sysfs(hugepages):
    return hugepages.folder.parent / "sysfs"


@pytest.fixture
def primary(hugepages, testpmd):
    def start(**arguments):
        return testpmd(shared=hugepages.eal(), memory=256, rxq=2, txq=2, mbufs=8192,
                       options=["--sysfs=%s" % sysfs(hugepages)],
                       arguments=["--num-procs=2", "--proc-id=0"], **arguments)
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


def forward(one, other):
    """Both processes forward for a while; how much each port received."""
    before = counted(one)
    one.do("start")
    other.do("start tx_first")
    tp.time.sleep(0.5)
    other.do("stop")
    one.do("stop")
    return [after["RX-packets"] - base["RX-packets"]
            for base, after in zip(before, counted(one))]


@pytest.mark.parametrize("pci", [False, True], ids=["vdev", "pci"])
def test_two_processes_forward(primary, secondary, pci):
    one = primary(pci=pci)
    other = secondary(pci)
    assert min(forward(one, other)) > 1000
    # Counters are the port's, whoever reads them.
    assert counted(one) == counted(other)
    assert all(stats["RX-errors"] == stats["TX-errors"] == 0 for stats in counted(one))
    assert other.quit() == 0
    assert one.quit() == 0


def test_restart_of_the_port_under_a_secondary(primary, secondary):
    one = primary()
    other = secondary()
    for _ in range(2):
        assert min(forward(one, other)) > 1000
        one.do("port stop all")
        one.do("port start all")
    assert min(forward(one, other)) > 1000
    assert other.quit() == 0
    assert one.quit() == 0


def test_secondary_that_dies_is_survived(primary, secondary):
    one = primary()
    other = secondary()
    other.do("start tx_first")
    other.process.kill()
    other.process.wait()
    again = secondary()
    assert min(forward(one, again)) > 1000
    assert again.quit() == 0
    one.do("port stop all", timeout=40)
    one.do("port start all", timeout=40)
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
