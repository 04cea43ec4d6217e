# SPDX-License-Identifier: BSD-3-Clause
"""The program on a virtual ConnectX-3: what goes in at its wire, and what comes out."""

import pathlib

import pytest

HERE = pathlib.Path(__file__).parent
MAC = "02:00:00:00:00:01"
OURS, PEER = bytes.fromhex(MAC.replace(":", "")), bytes.fromhex("020000000099")


def frame(number, destination=OURS):
    return destination + PEER + b"\x88\xb5" + number.to_bytes(4, "big") + bytes(42)


def reflected(sent):
    return sent[6:12] + sent[:6] + sent[12:]


@pytest.mark.parametrize("port", [1, 2])
def test_frames_come_back(vmlx4, port):
    frames = [frame(number) for number in range(500)]
    run = vmlx4(HERE / "reflect", port, MAC, len(frames), frames={port: frames}).ok()
    assert run.stdout == "sent 500\n"
    assert run.sent[port] == [reflected(one) for one in frames]
    assert run.port(port)["rx_frames"] == run.port(port)["tx_frames"] == 500


def test_every_length(vmlx4):
    frames = [frame(number) + bytes(number) for number in range(1514 - 60 + 1)]
    run = vmlx4(HERE / "reflect", 1, MAC, len(frames), frames={1: frames}).ok()
    assert run.sent[1] == [reflected(one) for one in frames]


def test_jumbo_frames(vmlx4):
    """Longer than the buffers of the program: it must say so, not hang."""
    run = vmlx4(HERE / "reflect", 1, MAC, 1, frames={1: [frame(1) + bytes(4000)]},
                options=["--mtu=9000"])
    assert run.status == 1 and run.port(1)["rx_errors"] == 1


def test_a_port_that_is_none(vmlx4):
    run = vmlx4(HERE / "reflect", 3, MAC, 1)
    assert run.status == 1 and run.stderr == "reflect: Invalid argument\n"


def test_unit():
    """In one process with the adapter, step by step."""
    import subprocess
    done = subprocess.run([HERE / "unit"], stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "ok\n"
