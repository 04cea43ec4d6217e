# SPDX-License-Identifier: BSD-3-Clause
"""vmlx4 show --pcapng: read by tools that know nothing of this project."""

import json
import re
import struct
import subprocess

import pytest

from harness import adapter
from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "vmlx4" / "raw_packet" / "raw_packet"


def recorded(folder, *options):
    """A trace, and the counters of its run."""
    path, counters = folder / "trace", folder / "counters.json"
    status, _, stderr = adapter.run_bounded(build.exec_command(
        [PROGRAM, "--step", "steering_by_address", "checksums_are_filled_in"], "--step",
        "--trace=%s" % path, "--stats=%s" % counters, *options))
    assert status == 0, stderr
    return path, json.loads(counters.read_text())


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    """(capture file, counters, lines of "vmlx4 show")."""
    folder = tmp_path_factory.mktemp("pcapng")
    path, counters = recorded(folder)
    out = folder / "out.pcapng"
    status, stdout, stderr = adapter.run_bounded([build.launcher(), "show", "--pcapng", out, path])
    assert (status, stdout, stderr) == (0, "", "")
    lines = adapter.run_bounded([build.launcher(), "show", "--kind=frame", path])[1].splitlines()
    return out, counters, [line for line in lines if not line.startswith("#")]


def blocks(data):
    """(type, body) of each block; the format's own consistency is checked."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0 and struct.unpack_from("<I", data, at + length - 4)[0] == length
        yield kind, data[at + 8:at + length - 4]
        at += length
    assert at == len(data)


def options(data):
    found, at = {}, 0
    while at < len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found


def frames(path):
    """The interfaces' names and (interface, ns, bytes, length, direction) per frame."""
    interfaces, found = [], []
    for kind, body in blocks(path.read_bytes()):
        if kind == 1:
            assert struct.unpack_from("<H", body)[0] == 1
            named = options(body[8:])
            assert named[9] == b"\x09"
            interfaces.append(named[2].decode())
        elif kind == 6:
            interface, high, low, kept, length = struct.unpack_from("<IIIII", body)
            flags = struct.unpack("<I", options(body[20 + (kept + 3) // 4 * 4:])[2])[0]
            found.append((interface, high << 32 | low, body[20:20 + kept], length,
                          {1: "in", 2: "out"}[flags]))
    return interfaces, found


def test_interfaces_directions_and_times(capture):
    out, counters, lines = capture
    interfaces, found = frames(out)
    assert interfaces == ["vmlx4p1", "vmlx4p2"]
    for port in counters["ports"]:
        sent = [frame for frame in found if frame[0] == port["port"] - 1 and frame[4] == "out"]
        assert len(sent) == port["tx_frames"]
        assert sum(len(frame[2]) for frame in sent) == port["tx_bytes"]
    # The same frames in the same order as the lines.
    told = [(int(match[2]) - 1, round(float(match[1]) * 1e9) + 10**9, int(match[4]), match[3])
            for match in (re.match(r" *(\S+)  frame +port (\d) (in|out) +(\d+) B", line)
                          for line in lines)]
    assert [(frame[0], frame[1], frame[3], frame[4]) for frame in found] == told


def test_scapy_reads_it(capture):
    out, _, lines = capture
    script = "from scapy.all import *\n" \
        "packets = rdpcap(%r)\n" \
        "count = sum(UDP in packet or TCP in packet for packet in packets)\n" \
        "print(len(packets), count, packets[0].time)" % str(out)
    done = subprocess.run(["/usr/bin/python3", "-c", script], stdout=subprocess.PIPE, text=True,
                          check=True, timeout=60)
    count, transport, time = done.stdout.split()
    assert int(count) == len(lines)
    assert int(transport) == sum(" UDP " in line or " TCP " in line for line in lines) > 0
    assert abs(float(time) - 1 - float(lines[0].split()[0])) < 1e-6


def test_tcpdump_reads_it(capture):
    out, _, lines = capture
    done = subprocess.run(["tcpdump", "-n", "-e", "-r", out], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=True, timeout=60)
    told = [line for line in done.stdout.splitlines() if re.match(r"\d\d:\d\d:", line)]
    assert len(told) == len(lines)
    assert all(re.search(r", length (\d+):", line)[1] == re.search(r"(\d+) B", shown)[1]
               for line, shown in zip(told, lines))


def test_filters_and_snap_length(tmp_path):
    path, _ = recorded(tmp_path, "--trace-snaplen=33")
    out = tmp_path / "out.pcapng"
    command = [build.launcher(), "show", "--port=2", "--to=5us", "--pcapng=%s" % out, path]
    assert adapter.run_bounded(command) == (0, "", "")
    _, found = frames(out)
    assert {frame[0] for frame in found} == {1}
    assert all(frame[1] <= 10**9 + 5000 and len(frame[2]) == 33 < frame[3] for frame in found)
    command[-2] = "--pcapng=-"
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.read() == out.read_bytes()
        assert process.wait() == 0


def test_wall_clock_of_a_threaded_run(tmp_path):
    path, out = tmp_path / "trace", tmp_path / "out.pcapng"
    status, _, stderr = adapter.run_bounded(build.exec_command(
        [PROGRAM, "steering_by_address"], "--trace=%s" % path))
    assert status == 0, stderr
    assert adapter.run_bounded([build.launcher(), "show", "--pcapng", out, path])[0] == 0
    _, found = frames(out)
    seconds = [frame[1] / 1e9 for frame in found]
    assert seconds and path.stat().st_mtime - 60 < min(seconds) <= max(seconds) < \
        path.stat().st_mtime + 1


def test_refuses_a_place_that_is_not_there(capture, tmp_path):
    path, _ = recorded(tmp_path)
    status, stdout, stderr = adapter.run_bounded(
        [build.launcher(), "show", "--pcapng=/nonexistent/out", path])
    assert (status, stdout) == (2, "") and "/nonexistent/out" in stderr and "folder" in stderr
