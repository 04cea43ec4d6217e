# SPDX-License-Identifier: BSD-3-Clause
"""/mlx4dv/… on the telemetry socket, as the distribution's client reads it."""

import json
import subprocess

import pytest

from mlx4dvlib import testpmd as tp

CLIENT = "dpdk-telemetry.py"


@pytest.fixture
def ask(testpmd, tmp_path):
    prefix = "mdv" + tmp_path.name
    pmd = testpmd(telemetry=prefix, rxq=2, txq=2)
    pmd.do("start tx_first")
    pmd.do("stop")
    pmd.drain()

    def question(path):
        done = subprocess.run([CLIENT, "-f", prefix], input=path + "\nquit\n", text=True,
                              stdout=subprocess.PIPE, timeout=30, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()
                   if line.startswith("{") and path.split(",")[0] in line]
        return answers[-1][path.split(",")[0]] if answers else done.stdout

    yield question
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
    for wrong in ("/mlx4dv/device", "/mlx4dv/device,7", "/mlx4dv/rxq,0", "/mlx4dv/rxq,0,9",
                  "/mlx4dv/txq,x,0"):
        assert ask(wrong) is None, wrong
