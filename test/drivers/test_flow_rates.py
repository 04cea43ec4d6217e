# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-test-flow-perf on the driver, under the contract checker, and the tool that
compares its rates with the stock driver's."""

import pathlib
import re
import subprocess
import sys

import pytest

from mlx4dvlib import build, testpmd

TOOL = pathlib.Path(__file__).resolve().parents[2] / "devtools" / "flow_rates.py"
COUNT = 2000

if not build.driver().exists():
    pytest.skip("the driver is not part of this build", allow_module_level=True)


@pytest.mark.parametrize("arguments", [
    ["--ether", "--queue"],
    ["--ether", "--ipv4", "--drop"],
    ["--ether", "--ipv4", "--udp", "--rss"],
], ids=" ".join)
def test_rules_in_and_out(vmlx4, arguments):
    preload, eal = testpmd.driver_arguments(ports=1)
    done = vmlx4("dpdk-test-flow-perf", *testpmd.lcores(), "--no-huge", "-m", 512, "--no-shconf",
                 "--no-telemetry", *eal, "--", "--rules-count=%d" % COUNT, "--rules-batch=500",
                 "--deletion-rate", "--ingress", *arguments, options=["--ports=1", *preload],
                 timeout=120).ok()
    for what in ("creating", "deleting"):
        assert re.search(r"time for %s %d rules is [\d.]+ seconds" % (what, COUNT),
                         done.stdout), done


def tool(*arguments):
    return subprocess.run([sys.executable, TOOL, *arguments], text=True, timeout=120,
                          check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def test_rates_of_both_drivers():
    done = tool("--runs=1", "--rules", "10")
    assert done.returncode == 0 and done.stderr == "", done
    rows = re.findall(r"^(net_\S+, [a-z ]+?) +10 +(\d+) \(.*?\) +(\d+) \(", done.stdout, re.M)
    assert [label for label, _, _ in rows] == ["net_mlx4dv, any frame", "net_mlx4, any frame",
                                               "net_mlx4dv, source addresses"], done
    assert all(int(made) > 0 and int(destroyed) > 0 for _, made, destroyed in rows), done


@pytest.mark.parametrize("arguments, words", [
    (["--rules", "1500"], "1500 rules: want up to 1000, or a multiple of it"),
    (["--rules", "0"], "0 rules: want up to 1000"),
    (["--runs", "0"], "--runs=0: want at least one"),
])
def test_bad_arguments_of_the_tool(arguments, words):
    done = tool(*arguments)
    assert done.returncode == 2 and words in done.stderr, done
