# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch with DPDK, Debian's package, on net_mlx4dv: two ports of one bridge
between two network namespaces, whose kernels check every byte."""

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from harness import endpoint, netns, transfer
from harness.ovs import Ovs
from mlx4dvlib import build

LEFT, RIGHT = "10.98.0.1", "10.98.0.2"
MACS = ["00:02:c9:05:00:01", "00:02:c9:05:00:02"]
BY_PCI = ["-a", build.PCI_ADDRESS]
VDEV = "net_mlx4dv%d,device=mlx4_0,port=%d"


class Sides:
    def __init__(self, network, mtu=9000):
        self.left, self.right = spaces = [network.namespace(name) for name in "lr"]
        self.switch = network.namespace("s")
        self.wires = []
        for number, space in enumerate(spaces, 1):
            name = network.veth(space, mtu=mtu)
            netns.move(name, self.switch, "wire%d" % number)
            self.switch.ip("link", "set", "wire%d" % number, "mtu", mtu, "up")
            self.wires.append("--wire%d=packet:wire%d" % (number, number))

    def up(self, mtu=1500):
        self.left.address("eth0", LEFT + "/24", mtu=mtu)
        self.right.address("eth0", RIGHT + "/24", mtu=mtu)


@pytest.fixture
def sides(network):
    return Sides(network)


@pytest.fixture
def ovs(sides, tmp_path):
    started = []

    def start(eal):
        started.append(Ovs(tmp_path, sides.switch, sides.wires, eal))
        return started[-1]

    yield start
    for switch in started:
        switch.kill()


def test_two_ports_on_a_bridge(ovs, sides):
    """By the PCI address, which has two ports: OVS tells them by their addresses."""
    switch = ovs(BY_PCI)
    for name, mac in zip(("p0", "p1"), MACS):
        switch.add_port(name, "class=eth,mac=" + mac, n_rxq=2, n_rxq_desc=512)
    sides.up()
    transfer.ping(sides.left, RIGHT)
    transfer.ping(sides.right, LEFT, 1472)
    left, right = switch.statistics("p0"), switch.statistics("p1")
    assert left["rx_packets"] == right["tx_packets"] > 10, (left, right)
    assert right["rx_packets"] == left["tx_packets"] > 10, (left, right)

    transfer.iperf3(sides.left, sides.right, RIGHT, 20 << 20)
    transfer.send_bytes(sides.left, sides.right, RIGHT, 4 << 20, seed=5)
    transfer.send_bytes(sides.right, sides.left, LEFT, 4 << 20, seed=6)

    # Many flows use both queues, of which OVS knows.
    flows = [Ether(dst="02:00:00:00:00:99", src="02:00:00:00:00:98") / IP(
        src=LEFT, dst="10.98.0.%d" % (number + 3)) / UDP(sport=number, dport=9)
        for number in range(64)]
    sides.left.run("/usr/bin/python3", endpoint.__file__, "frames", "eth0",
                   stdin="".join(bytes(frame).hex() + "\n" for frame in flows))
    transfer.ping(sides.left, RIGHT)
    shown = switch.appctl("dpif-netdev/pmd-rxq-show")
    for port in ("p0", "p1"):
        for queue in (0, 1):
            assert "port: %-16s  queue-id:  %d (enabled)" % (port, queue) in shown, shown
    for port in ("p0", "p1"):
        stats = switch.statistics(port)
        assert stats["rx_errors"] == stats["tx_errors"] == 0, stats
    found = switch.stop()
    assert found["objects"]["wqs"] == found["objects"]["qps"] == 0
    for space in (sides.left, sides.right):
        transfer.assert_intact(space)


def test_ports_come_and_go(ovs, sides):
    """OVS attaches and detaches the devices itself; and frames get longer."""
    switch = ovs(["--no-pci"])
    for number in range(2):
        switch.add_port("p%d" % number, VDEV % (number, number + 1))
    sides.up()
    transfer.ping(sides.left, RIGHT)
    for _ in range(3):
        switch.vsctl("del-port", "p1")
        assert "p1" not in switch.appctl("dpctl/show", "netdev@ovs-netdev")
        switch.add_port("p1", VDEV % (1, 2))
        transfer.ping(sides.left, RIGHT)
    for port in ("p0", "p1"):
        switch.vsctl("set", "Interface", port, "mtu_request=9000")
        assert switch.get(port, "mtu") == "9000"
    for space in (sides.left, sides.right):
        space.ip("link", "set", "eth0", "mtu", 9000)
    transfer.ping(sides.left, RIGHT, 9000 - 28)
    transfer.send_bytes(sides.right, sides.left, LEFT, 4 << 20, seed=7)
    for number in range(2):
        switch.vsctl("del-port", "p%d" % number)
    found = switch.stop()
    # They were attached by OVS: nothing is left of them.
    assert not any(found["objects"][kind] for kind in (
        "contexts", "pds", "mrs", "cqs", "qps", "wqs", "flows")), found["objects"]
    for space in (sides.left, sides.right):
        transfer.assert_intact(space)
