# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-test-flow-perf on the stock net_mlx4: rules by the thousand, in and out."""

import re

import pytest

from mlx4dvlib import build, testpmd

COUNT = 2000


def flow_perf(vmlx4, *arguments, count=COUNT):
    return vmlx4("dpdk-test-flow-perf", *testpmd.lcores(), "--no-huge", "-m", 512, "--no-shconf",
                 "--no-telemetry", "-a", build.PCI_ADDRESS, "--", "--rules-count=%d" % count,
                 "--rules-batch=500", "--deletion-rate", *arguments, options=["--ports=1"],
                 strict="report", timeout=120)


@pytest.mark.parametrize("action", ["queue", "drop", "rss"])
def test_rules_in_and_out(vmlx4, action, finding):
    """Every rule is one of the card's, until it is deleted."""
    done = flow_perf(vmlx4, "--ingress", "--ether", "--" + action).ok()
    assert re.search(r"time for creating %d rules is [\d.]+ seconds" % COUNT, done.stdout), done
    assert re.search(r"time for deleting %d rules is [\d.]+ seconds" % COUNT, done.stdout), done
    assert done.counters["violations_by_rule"] == {}
    finding("dpdk-test-flow-perf", "%s: %d rules created and deleted" % (action, COUNT))


REFUSED = {
    ("--ether", "--ipv4", "--queue"): "does not support additional matching criteria combined "
                                      "with indiscriminate matching on Ethernet headers",
    ("--ether", "--vlan", "--queue"): 'unsupported field found in "mask"',
    ("--ether", "--ipv4", "--tcp", "--drop"): "does not support additional matching criteria",
    ("--group=1", "--ether", "--queue"): "action not supported",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_what_the_driver_refuses(vmlx4, arguments, finding):
    """The driver's own limits, before the adapter is asked. The program then takes
    away its memory, rings and all, while the port is up: a card lives on in what
    the kernel pinned, and the adapter has to do without."""
    for _ in range(3):
        done = flow_perf(vmlx4, "--ingress", *arguments, count=500)
        assert done.status == 1 and REFUSED[arguments] in done.stdout + done.stderr, str(done)
    finding("dpdk-test-flow-perf", "%s: refused by the driver" % " ".join(arguments))
