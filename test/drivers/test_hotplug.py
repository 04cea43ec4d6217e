# SPDX-License-Identifier: BSD-3-Clause
"""Ports that come and go in testpmd: by its console, and with the device."""

import re

import pytest

from harness.waiting import wait_until
from mlx4dvlib import build, testpmd as tp

VDEVS = ["net_mlx4dv%d,device=mlx4_0,port=%d" % (port, port + 1) for port in range(2)]
# Each port hears itself, so that one can be tested while the other is away.
LOOP = ["--wire=loop"]


def forwards(pmd, *ports):
    """These ports forward, and lose nothing."""
    pmd.do("set portlist " + ",".join(map(str, ports)))
    pmd.drain()
    pmd.do("clear port stats all")
    pmd.do("set fwd io")
    pmd.do("start tx_first")
    pmd.do("stop")
    pmd.drain()
    stats = [pmd.stats(port) for port in ports]
    assert all(one["RX-packets"] == one["TX-packets"] > 0 for one in stats), stats
    assert not any(one[name] for one in stats
                   for name in ("RX-errors", "RX-missed", "RX-nombuf", "TX-errors")), stats


def test_vdev_detach_and_attach_beside_a_port_that_forwards(testpmd):
    pmd = testpmd(options=LOOP)
    pmd.do("set portlist 1")
    pmd.do("start tx_first")
    pmd.do("port stop 0")
    assert "Port 0 is closed" in pmd.do("port detach 0")
    before = pmd.stats(1)
    assert "Port 0 is attached" in pmd.do("port attach " + VDEVS[0])
    wait_until(lambda: pmd.stats(1)["RX-packets"] > before["RX-packets"])
    pmd.do("stop")
    pmd.do("port start 0")
    forwards(pmd, 0, 1)
    assert pmd.quit() == 0


def test_pci_device_detach_and_attach(testpmd):
    pmd = testpmd(pci=True, options=LOOP)
    for _ in range(2):
        pmd.do("port stop all")
        assert "Now total ports is 0" in pmd.do("device detach " + build.PCI_ADDRESS)
        assert "Now total ports is 2" in pmd.do("port attach " + build.PCI_ADDRESS)
        pmd.do("port start all")
    forwards(pmd, 0, 1)
    assert pmd.quit() == 0


def test_pci_port_closed_and_attached_anew(testpmd):
    """The other port of the adapter stays, and one that is there is not made twice."""
    pmd = testpmd(pci=True, options=LOOP)
    for gone in (0, 1):
        pmd.do("port stop %d" % gone)
        pmd.do("port close %d" % gone)
        again = "port attach %s,port=%d" % (build.PCI_ADDRESS, gone + 1)
        assert "Port %d is attached" % gone in pmd.do(again)
        assert "is attached" not in pmd.do(again)
        pmd.do("port start %d" % gone)
    forwards(pmd, 0, 1)
    assert pmd.quit() == 0


@pytest.mark.parametrize("pci, profile", [(False, "cx3-vf"), (True, "cx3pro")],
                         ids=["vdev-vf", "pci"])
def test_device_is_unplugged_and_plugged_under_traffic(testpmd, pci, profile):
    """testpmd closes and detaches what is gone when it is told; then the device is
    back, and so are its ports."""
    pmd = testpmd(pci=pci, options=["--wire=back-to-back", "--profile=" + profile,
                                    "--faults=device remove frame=20000 for=300ms"])
    names = [build.PCI_ADDRESS] if pci else VDEVS
    pmd.do("start tx_first")
    for port in range(2):
        pmd.expect(r"Port %d: device removal event" % port, timeout=60)
        pmd.expect(r"Port %d is closed" % port, timeout=60)
    # It goes on forwarding with what is left: nothing.
    done = pmd.expect(r"Now total ports is 0", timeout=60)
    pmd.expect(r"nb forwarding ports=0", 60, done.end())
    pmd.go_on()
    pmd.do("stop")
    for name in names:
        wait_until(lambda: "is attached" in pmd.do("port attach " + name))
    pmd.do("port start all")
    pmd.do("set portlist 0,1")
    pmd.do("set fwd io")
    pmd.do("start tx_first")
    wait_until(lambda: all(pmd.stats(port)["RX-packets"] > 0 for port in range(2)),
               lambda: pmd.do("show port stats all"))
    pmd.do("stop")
    assert all(pmd.stats(port)["TX-errors"] == 0 for port in range(2)), pmd.output
    assert pmd.quit() == 0
    assert len(re.findall(r"device removal event", pmd.output)) == 2
