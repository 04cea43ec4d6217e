# SPDX-License-Identifier: BSD-3-Clause
"""/mlx4dv/… on the telemetry socket, as the distribution's client reads it."""

import json
import re
import subprocess
import time

import pytest

from mlx4dvlib import testpmd as tp

CLIENT = "dpdk-telemetry.py"


def question(prefix, path):
    done = subprocess.run([CLIENT, "-f", prefix], input=path + "\nquit\n", text=True,
                          stdout=subprocess.PIPE, timeout=60, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()
               if line.startswith("{") and path.split(",")[0] in line]
    return answers[-1][path.split(",")[0]] if answers else done.stdout


@pytest.fixture
def ask(testpmd, tmp_path):
    prefix = "mdv" + tmp_path.name
    pmd = testpmd(telemetry=prefix, rxq=2, txq=2)
    pmd.do("start tx_first")
    pmd.do("stop")
    pmd.drain()

    yield lambda path: question(prefix, path)
    assert pmd.quit() == 0


def test_all(ask):
    assert ask("/mlx4dv/list") == [0, 1]
    device = ask("/mlx4dv/device,1")
    assert (device["device"], device["device_port"], device["started"]) == ("mlx4_0", 2, 1)
    queues = [ask("/mlx4dv/rxq,0,%d" % queue) for queue in range(2)]
    assert all(queue["state"] == "running" for queue in queues)
    assert sum(queue["packets"] for queue in queues) > 0
    sent = ask("/mlx4dv/txq,0,0")
    assert sent["packets"] > 0 and sent["last_syndrome"] == 0
    assert ask("/mlx4dv/memory,0")["regions"] > 0
    assert ask("/mlx4dv/flows,0")["application_rules"] == 0
    errors = ask("/mlx4dv/errors,0")
    assert "device_fatal" in errors and not any(errors.values())
    for wrong in ("/mlx4dv/device", "/mlx4dv/device,7", "/mlx4dv/rxq,0", "/mlx4dv/rxq,0,9",
                  "/mlx4dv/txq,x,0", "/mlx4dv/errors,9"):
        assert ask(wrong) is None, wrong


def test_errors(testpmd, tmp_path):
    """A queue that failed, then the device for good; the port answers."""
    prefix = "mdv" + tmp_path.name
    pmd = testpmd(telemetry=prefix, arguments=["--no-rmv-interrupt"],
                  options=["--faults=wqe tx port=1 nth=50 syndrome=0x04 vendor=0x51; "
                           "device fatal frame=50000"])
    # Its lcore looks at the failed queue again and again, which forwarding would not.
    pmd.do("set fwd txonly")
    pmd.do("start")
    deadline = time.monotonic() + 30
    errors = {}
    while errors.get("device_fatal") != 1:
        assert time.monotonic() < deadline, errors
        errors = question(prefix, "/mlx4dv/errors,0")
    pmd.go_on()
    assert errors["local_protection"] == 1
    last = [value for name, value in errors.items() if name.startswith("last_")]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ TX queue 0: local protection "
                        r"error \(syndrome 0x04, vendor 0x51\)", last[0]), last
    assert last[1].endswith("Z device removed or failed for good"), last
    assert question(prefix, "/mlx4dv/device,0")["removed"] == 1
    assert question(prefix, "/mlx4dv/txq,0,0")["state"] == "gone"
    assert pmd.xstats(0)["error_device_fatal"] == 1
    pmd.do("stop")
    assert pmd.quit() == 0
