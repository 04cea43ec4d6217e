# SPDX-License-Identifier: BSD-3-Clause
"""net_mlx4dv in the distribution's testpmd, in both ways to name a port."""

import re

import pytest

from mlx4dvlib import build, forward, testpmd as tp

QUEUES = [1, 2, 4, 16]


@pytest.mark.parametrize("pci", [False, True], ids=["vdev", "pci"])
@pytest.mark.parametrize("queues", QUEUES)
def test_io_forward_loses_nothing(pci, queues):
    result = forward.run(tp.OURS, seconds=0.5, packets=1001, queues=queues, pci=pci,
                         options=["--strict"], mbufs=65536 if queues > 4 else 16384)
    assert result.driver == (tp.OURS_PCI if pci else tp.OURS)
    assert result.faults() == []
    assert all(direction.received > 1000 for direction in result.directions)
    if queues > 1:
        spread = [count for name, count in result.queues.items() if name.startswith("rx_")]
        assert len(spread) == queues and sum(count > 0 for count in spread) > 1, result.queues


def test_32_byte_completions():
    result = forward.run(tp.OURS, seconds=1, options=["--strict", "--cqe=32"])
    assert result.faults() == []


def test_one_port_of_the_adapter(testpmd):
    """port= picks; the other port stays free."""
    pmd = testpmd(pci=True, devargs="port=2", options=["--wire=loop"])
    assert pmd.ports == 1
    assert pmd.info(0)["Driver name"] == tp.OURS_PCI
    pmd.do("start tx_first")
    pmd.do("stop")
    pmd.drain()
    stats = pmd.stats(0)
    assert stats["RX-packets"] == stats["TX-packets"] > 0
    assert pmd.quit() == 0


def test_beside_the_stock_driver(testpmd):
    """One adapter: the stock driver has port 1 by PCI (it counts from 0), ours
    port 2 by vdev. The frames of one reach the other."""
    preload, eal = tp.driver_arguments(tp.OURS)
    pmd = testpmd(driver=tp.STOCK, devargs="port=0", options=preload,
                  eal=[*eal[:eal.index("--no-pci")], "--vdev", "net_mlx4dv0,device=mlx4_0,port=2"])
    drivers = [pmd.info(port)["Driver name"] for port in (0, 1)]
    assert sorted(drivers) == sorted([tp.STOCK, tp.OURS]), drivers
    pmd.do("start tx_first 4")
    pmd.do("stop")
    pmd.drain()
    first, second = pmd.stats(0), pmd.stats(1)
    assert first["RX-packets"] == second["TX-packets"] > 0
    assert second["RX-packets"] == first["TX-packets"] > 0
    assert pmd.quit() == 0


@pytest.mark.parametrize("devargs", ["", ",device=mlx4_0", ",port=2", ",port=2,device=mlx4_0"])
def test_a_port_is_not_taken_by_vdev_and_pci_both(testpmd, devargs):
    """A vdev names the adapter, be it as the only one there is: our PCI driver
    leaves it alone, and the stock driver, which counts from 0, gets the other port."""
    preload, eal = tp.driver_arguments(tp.OURS)
    pmd = testpmd(driver=tp.STOCK, devargs="port=%d" % ("port=2" not in devargs), options=preload,
                  eal=[*eal[:eal.index("--no-pci")], "--vdev", "net_mlx4dv0" + devargs])
    assert pmd.ports == 2
    drivers = [pmd.info(port)["Driver name"] for port in (0, 1)]
    assert sorted(drivers) == sorted([tp.STOCK, tp.OURS]), drivers
    assert pmd.quit() == 0


def test_restart_and_reconfigure(testpmd):
    """Stop, other queue counts, start: packets still flow and add up."""
    pmd = testpmd()
    for queues in (1, 3, 1, 8):
        pmd.do("port stop all")
        pmd.do("port config all rxq %d" % queues)
        pmd.do("port config all txq %d" % queues)
        pmd.do("port start all")
        pmd.do("set fwd io")
        pmd.do("clear port stats all")
        pmd.do("start tx_first")
        pmd.do("stop")
        pmd.drain()
        stats = [pmd.stats(port) for port in (0, 1)]
        assert stats[0]["RX-packets"] == stats[1]["TX-packets"] > 0, queues
        assert stats[1]["RX-packets"] == stats[0]["TX-packets"] > 0, queues
    assert pmd.quit() == 0


def test_driver_exports_nothing():
    """The prefixes belong to libmlx4 and to the stock driver."""
    from harness.adapter import run_bounded
    status, output, _ = run_bounded(["nm", "-D", "--defined-only", build.driver()])
    assert status == 0
    names = re.findall(r" [A-Z] (\w+)", output)
    assert [name for name in names if not name.startswith("_")] == []
