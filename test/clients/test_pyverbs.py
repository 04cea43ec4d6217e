# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's own test-suite, as the distribution ships it, on the adapter. Nobody
of this project wrote it. How each of its tests ends is in pyverbs.txt; one that
ends otherwise fails here, and so does one that ends better than it says. So is
which rules of the contract it breaks: some do so on purpose."""

import collections
import json
import os
import pathlib
import re

import pytest

import pyverbs_suite
from harness import adapter
from mlx4dvlib import build

pytestmark = pytest.mark.skipif(os.geteuid() != 0,
                                reason="the suite leaves its raw tests out without root")

HERE = pathlib.Path(__file__).resolve().parent
# What is not about verbs in general but about one vendor's extensions or a GPU.
OF_OTHERS = re.compile(r"test_(mlx5|efa|cuda)")
RAW = ["test_flow.*", "test_rss_traffic.*", "test_qp.*raw*"]
# Reasons that depend on the machine.
HOST = ("There are no huge pages", "Allocating dmabuf")
LIMIT = 60 if build.sanitized() else 30  # seconds, for a machine with other work


def expected():
    """{name: (outcome, reason)}"""
    return pyverbs_suite.known("passed", "skipped")


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """suite(*patterns, options=…): [{"name": …, "outcome": …, "why": …}]"""
    folder = tmp_path_factory.mktemp("suite")
    pyverbs_suite.unpack(folder)

    def run(*patterns, options=()):
        place = tmp_path_factory.mktemp("run")
        # In a sanitized build: the interpreter's leaks are not ours.
        environment = dict(os.environ, TMPDIR=str(place), PYTHONDONTWRITEBYTECODE="1",
                           ASAN_OPTIONS="detect_leaks=0")
        done = adapter.Adapter(place)("/usr/bin/python3", pyverbs_suite.__file__, folder, LIMIT,
                                      *patterns, options=options, strict="report", timeout=400,
                                      env=environment).ok()
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return run


@pytest.fixture(scope="module")
def whole(suite):
    """The whole suite, run once."""
    return suite()


def told(results):
    counts = collections.Counter(result["outcome"] for result in results)
    return ", ".join("%d %s" % (counts[outcome], outcome) for outcome in
                     ("passed", "skipped", "failed", "violation", "hung", "died")
                     if counts[outcome] or outcome in ("passed", "skipped", "failed"))


def unexpected(results):
    """Those that ended, or broke rules, otherwise than pyverbs.txt says."""
    found, table, breaks = [], expected(), pyverbs_suite.known("breaks")
    for result in results:
        outcome, why = table.get(result["name"], ("known", ""))
        broken = breaks.get(result["name"], ("", ""))[1].split()
        if result["outcome"] != outcome or result["broken"] != broken or \
                not (result["why"] == why or why.startswith(HOST)):
            found.append("%(name)s: %(outcome)s %(why)s %(broken)s (after %(seconds)s s)" % result)
    return found


def test_raw_packet_flow_and_rss(suite, finding):
    """The parts that this adapter is for."""
    results = suite(*RAW)
    finding("rdma-core's tests, raw packet, flow and RSS", told(results))
    assert unexpected(results) == []
    assert sum(result["outcome"] == "passed" for result in results) == 10
    assert len(results) == 15


def test_every_generic_test_ends_as_known(whole, finding):
    results = [result for result in whole if not OF_OTHERS.match(result["name"])]
    finding("rdma-core's tests, the whole generic suite", told(results))
    assert unexpected(results) == []
    assert sorted(result["name"] for result in results) == sorted(expected())
    assert sum(result["outcome"] == "passed" for result in results) >= 83


def test_tests_for_other_cards_are_skipped(whole, finding):
    results = [result for result in whole if OF_OTHERS.match(result["name"])]
    finding("rdma-core's tests, for mlx5, efa and cuda", told(results))
    assert len(results) > 90
    assert {result["outcome"] for result in results} == {"skipped"}


def test_flows_that_the_suite_skips(suite, finding):
    """It knows a ConnectX-3 by its part number and leaves out what that card
    cannot do. A virtual function has another number: what the suite sees then is
    what it was told to avoid, with the errno of mlx4_ib."""
    results = suite("test_flow.*", "test_rss_traffic.*",
                    options=["--profile=cx3-vf"])
    finding("the same, on a virtual function", told(results))
    seen = {result["name"].rsplit(".", 1)[1]: (result["outcome"], result["why"])
            for result in results}
    no_ipv6 = "failed", "PyverbsRDMAError: Flow creation failed. Errno: 22, Invalid argument"
    partial = "failed", "PyverbsRDMAError: Flow creation failed. Errno: 524, Unknown error 524"
    assert seen == {
        "test_eth_spec_flow_traffic": ("passed", ""),
        "test_ipv4_spec_flow_traffic": partial,  # a mask on the protocol
        "test_udp_spec_flow_traffic": partial,
        "test_ipv6_spec_flow_traffic": no_ipv6,
        "test_tcp_spec_flow_traffic": no_ipv6,
        "test_rss_traffic": ("failed", "PyverbsRDMAError: Failed to create RwqIndTable. "
                                       "Errno: 22, Invalid argument"),  # WQNs not aligned
    }


@pytest.mark.parametrize("option", ["profile=cx3", "profile=cx3-10g", "cqe=32", "ports=1",
                                    "wire=loop"])
def test_other_cards(suite, option):
    results = suite(*RAW, options=["--" + option])
    assert unexpected(results) == [] and len(results) == 15


@pytest.mark.parametrize("segments, violations", [(31, {}), (32, {"sq-stamp": 2})])
def test_strides_that_libmlx4_does_not_stamp(tmp_path, segments, violations, finding):
    """The size of a WQE, of which it stamps every block but the first, has six bits:
    a stride of 1 KiB is 64 units, which read 0, and no block of it is stamped."""
    done = adapter.Adapter(tmp_path)("/usr/bin/python3", HERE / "wide_queue.py", segments,
                                     options=["--step"], strict="report",
                                     env=dict(os.environ, TMPDIR=str(tmp_path),
                                              ASAN_OPTIONS="detect_leaks=0")).ok()
    assert done.counters["violations_by_rule"] == violations
    for rule, count in violations.items():
        finding("libmlx4, a WQE of %d segments" % segments, "%s: %d violations" % (rule, count))
