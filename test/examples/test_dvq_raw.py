# SPDX-License-Identifier: BSD-3-Clause
"""The example of libdvq, with the engine's thread and under the contract checker:
from one port to the other, and from and to captures, which can be spoilt."""

import re

import pytest

from harness import command_line, pcap
from mlx4dvlib import build

PROGRAM = build.build_dir() / "examples" / "dvq_raw" / "dvq_raw"
ADDRESSES = bytes.fromhex("020000000002 020000000001 88b5")


def frame(number, size):
    """As the README of the example says."""
    head = ADDRESSES + number.to_bytes(8, "big")
    return head + bytes((number * 7 + at) & 0xff for at in range(len(head), size))


def report(port, what, count, size, missing):
    return r"port %u: %s %u packets of %u bytes, %u missing, \d+\.\d{3} Mpps\n" % (
        port, what, count, size, missing)


def both(vmlx4, count, size, *options):
    done = vmlx4(PROGRAM, "both", "-n", count, "-s", size, options=options, timeout=120).ok()
    assert re.fullmatch(report(1, "sent", count, size, 0) + report(2, "received", count, size, 0),
                        done.stdout), str(done)
    assert done.counters["violations"] == 0
    assert done.counters["ports"][0]["tx_frames"] == count
    assert done.counters["ports"][1]["rx_frames"] == count
    return done


def sink(vmlx4, tmp_path, frames, count, size, *options):
    pcap.write(tmp_path / "in.pcap", frames)
    return vmlx4(PROGRAM, "sink", "-n", count, "-s", size, timeout=120,
                 options=["--wire1=pcap:in=%s" % (tmp_path / "in.pcap"), *options])


@pytest.mark.parametrize("count", [1, 31, 33, 511, 513, 70000])
@pytest.mark.parametrize("size", [60, 64, 1514])
def test_both(vmlx4, count, size):
    both(vmlx4, count, size)


def test_a_million(vmlx4):
    both(vmlx4, 1000000, 64)


def test_the_other_way(vmlx4):
    done = vmlx4(PROGRAM, "both", "-p", 2, "-n", 700).ok()
    assert re.fullmatch(report(2, "sent", 700, 64, 0) + report(1, "received", 700, 64, 0),
                        done.stdout), str(done)


@pytest.mark.parametrize("option", ["--cqe=32", "--profile=cx3"])
def test_other_cards(vmlx4, option):
    both(vmlx4, 5000, 64, option)


def test_send(vmlx4, tmp_path):
    out = tmp_path / "out.pcap"
    done = vmlx4(PROGRAM, "send", "-d", "mlx4_0", "-p", 2, "-n", 3000, "-s", 333,
                 options=["--wire2=pcap:out=%s" % out]).ok()
    assert re.fullmatch(report(2, "sent", 3000, 333, 0), done.stdout), str(done)
    assert pcap.read(out) == [frame(number, 333) for number in range(3000)]


def test_sink(vmlx4, tmp_path):
    """Frames for other addresses are not the sink's."""
    other = b"\x02" * 12 + b"\x88\xb5" + bytes(60)
    frames = [frame(number, 333) for number in range(400)]
    done = sink(vmlx4, tmp_path, [other, *frames[:200], other, *frames[200:]], 400, 333).ok()
    assert re.fullmatch(report(1, "received", 400, 333, 0), done.stdout), str(done)


@pytest.mark.parametrize("gone", [0, 7, 99], ids=["first", "middle", "last"])
def test_a_lost_frame_fails(vmlx4, tmp_path, gone):
    frames = [frame(number, 64) for number in range(100) if number != gone]
    done = sink(vmlx4, tmp_path, frames, 100, 64)
    assert done.status == 1, str(done)
    assert re.fullmatch(report(1, "received", 99, 64, 1), done.stdout), str(done)


def test_all_frames_lost_fails(vmlx4):
    """Each port is its own peer here, so that port 2 receives nothing."""
    done = vmlx4(PROGRAM, "both", "-n", 100, options=["--wire1=loop", "--wire2=loop"])
    assert done.status == 1, str(done)
    assert re.fullmatch(report(1, "sent", 100, 64, 0) + report(2, "received", 0, 64, 100),
                        done.stdout), str(done)


def changed(at):
    wrong = bytearray(frame(5, 64))
    wrong[at] ^= 0x10
    return bytes(wrong)


@pytest.mark.parametrize("wrong, complaint", [
    (changed(63), "frame 5: byte 63 is 0x72, not 0x62"),  # (5 * 7 + 63) ^ 0x10
    (changed(12), "frame 5: byte 12 is 0x98, not 0x88"),
    (changed(21), "frame 21: byte 22 is 0x39, not 0xa9"),  # the number itself
    (frame(4, 64), "frame 4 came, 5 or later was due, below 10"),
    (frame(10, 64), "frame 10 came, 5 or later was due, below 10"),
    (frame(5, 65), "a frame of 65 bytes came, -s is 64"),
    (frame(5, 3000), "port 1: error CQE of WQE 5: "),  # longer than the buffer
], ids=["content", "type", "number", "repeated", "beyond", "longer", "too_long"])
def test_a_wrong_frame_fails(vmlx4, tmp_path, wrong, complaint):
    frames = [frame(number, 64) for number in range(10)]
    frames[5] = wrong
    done = sink(vmlx4, tmp_path, frames, 10, 64, "--mtu=9000")
    assert done.status == 1, str(done)
    assert done.stderr.startswith("dvq_raw: " + complaint), str(done)
    assert done.stdout == "", str(done)


@pytest.mark.parametrize("arguments, complaint", [
    ("", "want one of: send, sink, both"),
    ("receive", "'receive': want one of: send, sink, both"),
    ("both 5", "'5' is one argument too many"),
    ("both -n", "option requires an argument -- 'n'"),
    ("both -x", "invalid option -- 'x'"),
    ("both -n 0", "-n '0': want a number, 1 to 9223372036854775807"),
    ("both -n 1e6", "-n '1e6': want a number, 1 to 9223372036854775807"),
    ("both -n -1", "-n '-1': want a number, 1 to 9223372036854775807"),
    ("both -n 99999999999999999999",
     "-n '99999999999999999999': want a number, 1 to 9223372036854775807"),
    ("both -s 59", "-s '59': want a number, 60 to 1514"),
    ("both -s 1515", "-s '1515': want a number, 60 to 1514"),
    ("send -p 0", "-p '0': want a number, 1 to 2"),
    ("sink -p 3", "-p '3': want a number, 1 to 2"),
])
def test_wrong_options(arguments, complaint):
    command_line.refused(PROGRAM, arguments, complaint)


def test_help():
    said = command_line.help_of(PROGRAM, "dnps")
    assert "dvq_raw [OPTION...] sink" in said
    assert "60 to 1514, 64 if not told" in said


def test_no_such_device(vmlx4):
    refused(vmlx4(PROGRAM, "both", "-d", "mlx4_9"), 2,
            "-d mlx4_9: no such device; ibv_devices lists them")


def test_one_port(vmlx4):
    refused(vmlx4(PROGRAM, "both", options=["--ports=1"]), 2, "port 2: mlx4_0 has one port")


def test_not_ethernet(vmlx4):
    refused(vmlx4(PROGRAM, "both", options=["--ib=2"]), 1, "port 2 is ")


def refused(done, status, complaint):
    """In one line, with nothing sent."""
    assert done.status == status, str(done)
    assert done.stderr.startswith("dvq_raw: " + complaint), str(done)
    assert done.stderr.count("\n") == 1 and done.stdout == "", str(done)
