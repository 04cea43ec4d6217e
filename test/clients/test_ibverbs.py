# SPDX-License-Identifier: BSD-3-Clause
"""The small programs of libibverbs that look at the adapter. Those that send over it
are in test_pingpong.py."""

import re

import pytest

from harness import netns
from mlx4dvlib import build
from mlx4dvlib.console import Console

PROFILES = [path.stem for path in sorted((build.TOP / "lib" / "vmlx4" / "profiles").glob("*.conf"))]


def test_ibv_devices(vmlx4, finding):
    lines = vmlx4("ibv_devices").ok().stdout.splitlines()[2:]
    assert [line.split()[0] for line in lines] == ["mlx4_0"]
    assert re.fullmatch(r"0002c90300[0-9a-f]{6}", lines[0].split()[1])
    finding("ibv_devices", "1 device")


@pytest.mark.parametrize("ports", [1, 2])
@pytest.mark.parametrize("profile", PROFILES)
def test_ibv_devinfo(vmlx4, profile, ports, finding):
    """It leaves with an error when a query fails, so that its end says a lot."""
    shown = vmlx4("ibv_devinfo", "-v", options=["--profile=" + profile, "--ports=%d" % ports]).ok()
    assert shown.stderr == ""
    assert len(re.findall(r"^\s+port:\s+\d", shown.stdout, re.M)) == ports
    assert shown.stdout.count("PORT_ACTIVE (4)") == ports
    assert "Failed" not in shown.stdout
    finding("ibv_devinfo", "a card queried in full")


def test_ibv_asyncwatch(network, tmp_path, finding):
    """The other end of the cable goes down and up."""
    space = network.namespace("a")
    outside = network.veth(space)
    watch = build.exec_command(["ibv_asyncwatch"], "--strict", "--ports=1",
                               "--wire=packet:" + outside)
    with Console(watch, cwd=str(tmp_path)) as console:
        console.expect("async event FD")
        for _ in range(3):
            at = len(console.output)
            space.ip("link", "set", "eth0", "down")
            console.expect(r"IBV_EVENT_PORT_ERR \(10\), port 1", start=at)
            space.ip("link", "set", "eth0", "up")
            console.expect(r"IBV_EVENT_PORT_ACTIVE \(9\), port 1", start=at)
        events = re.findall(r"event_type (.*), port", console.output)
    assert events == ["IBV_EVENT_PORT_ERR (10)", "IBV_EVENT_PORT_ACTIVE (9)"] * 3
    finding("ibv_asyncwatch", "%d port events" % len(events))
