# SPDX-License-Identifier: BSD-3-Clause
"""Two network namespaces joined only by testpmd: the kernel's own stacks talk
through the driver, and check every byte and every checksum."""

import pytest

from harness import netns, transfer

LEFT, RIGHT = "10.99.0.1", "10.99.0.2"
LEFT6, RIGHT6 = "fd99::1", "fd99::2"
IP_ICMP = 28  # headers of a ping
IP6_ICMP = 48


class Bridge:
    def __init__(self, left, right, pmd, mtu):
        self.left, self.right, self.pmd, self.mtu = left, right, pmd, mtu


def wires_of_veth(network, spaces, mtu):
    return ["packet:" + network.veth(space, mtu=mtu) for space in spaces], None


def wires_of_tap(network, spaces, mtu):
    taps = [network.tap(mtu) for _ in spaces]

    def attach():
        # A TAP can move once the adapter holds it, which the open port shows.
        for tap, space in zip(taps, spaces):
            netns.move(tap, space)

    return ["tap:" + tap for tap in taps], attach


@pytest.fixture(params=[(wires_of_veth, 1500), (wires_of_veth, 9000),
                        (wires_of_tap, 1500), (wires_of_tap, 9000)],
                ids=["veth-1500", "veth-9000", "tap-1500", "tap-9000"])
def bridge(request, network, testpmd):
    make_wires, mtu = request.param
    spaces = [network.namespace("a"), network.namespace("b")]
    for space in spaces:
        space.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
    wires, attach = make_wires(network, spaces, mtu)
    # 9018 bytes do not fit a buffer: scattered RX, multi-segment TX.
    jumbo = ["--max-pkt-len=%d" % (mtu + 18), "--enable-scatter", "--tx-offloads=0x8000"]
    # The kernels talk as soon as the links are up; "start" must not throw that away,
    # as the counters of the ports are compared.
    pmd = testpmd(options=["--wire1=" + wires[0], "--wire2=" + wires[1], "--mtu=%d" % mtu],
                  arguments=["--no-flush-rx", *(jumbo if mtu > 1500 else [])])
    if attach:
        attach()
    pmd.do("start")
    for space, address, address6 in zip(spaces, (LEFT, RIGHT), (LEFT6, RIGHT6)):
        space.address("eth0", address + "/24", address6 + "/64", mtu=mtu)
    yield Bridge(*spaces, pmd, mtu)
    pmd.do("stop")
    assert pmd.quit() == 0
    for space in spaces:
        transfer.assert_intact(space)


def test_ping(bridge):
    for size in (0, 1, 56, bridge.mtu - IP_ICMP):
        transfer.ping(bridge.left, RIGHT, size)
        transfer.ping(bridge.right, LEFT, size)
    transfer.ping(bridge.left, RIGHT6, bridge.mtu - IP6_ICMP)
    # Longer than the MTU: fragments.
    bridge.left.run("ping", "-n", "-c", 3, "-i", "0.1", "-w", 20, "-s", 3 * bridge.mtu, RIGHT)
    # At this pace nothing may be lost: what came in at one port left the other.
    bridge.pmd.do("stop")
    left, right = bridge.pmd.stats(0), bridge.pmd.stats(1)
    assert left["RX-packets"] == right["TX-packets"] > 0
    assert right["RX-packets"] == left["TX-packets"] > 0
    bridge.pmd.do("start")


def test_bulk_tcp(bridge):
    """iperf3 both ways, then bytes whose digest is known, over IPv4 and IPv6."""
    transfer.iperf3(bridge.left, bridge.right, RIGHT, 20 << 20)
    transfer.iperf3(bridge.right, bridge.left, LEFT, 20 << 20)
    transfer.send_bytes(bridge.left, bridge.right, RIGHT, 16 << 20, seed=2)
    transfer.send_bytes(bridge.right, bridge.left, LEFT6, 16 << 20, seed=3)
    for port in (0, 1):
        stats = bridge.pmd.stats(port)
        assert stats["RX-packets"] > 1000
        assert stats["RX-errors"] == stats["TX-errors"] == stats["RX-nombuf"] == 0, stats


def test_udp(bridge):
    transfer.send_bytes(bridge.left, bridge.right, RIGHT, 1 << 20, kind="udp", seed=4)
