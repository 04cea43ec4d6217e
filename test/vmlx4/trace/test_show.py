# SPDX-License-Identifier: BSD-3-Clause
"""vmlx4 show: what it makes of a trace, its filters, and of files that are none."""

import json
import random
import re
import shutil
import struct

import pytest

from harness import adapter
from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "vmlx4" / "raw_packet" / "raw_packet"
MASKED = build.build_dir() / "test" / "dvq" / "live" / "test_dvq_live_masked"
TRIALS = ["send_inline", "send_of_many_pieces", "completion_events", "extended_cq",
          "steering_by_address", "checksums_are_filled_in", "bad_lkey", "bad_receive_lkey"]


def show(*arguments):
    """The lines without the comments; the trace is in order."""
    status, stdout, stderr = adapter.run_bounded([build.launcher(), "show", *arguments])
    assert (status, stderr) == (0, ""), (status, stderr)
    return [line for line in stdout.splitlines() if not line.startswith("#")]


def kind(line):
    return line.split()[1]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """(file, counters) of one stepped run."""
    folder = tmp_path_factory.mktemp("trace")
    path, counters = folder / "trace", folder / "counters.json"
    status, _, stderr = adapter.run_bounded(build.exec_command(
        [PROGRAM, "--step", *TRIALS], "--step", "--strict=report", "--trace=%s" % path,
        "--stats=%s" % counters), timeout=120)
    assert status == 0, stderr
    return path, json.loads(counters.read_text())


@pytest.fixture(scope="module")
def lines(trace):
    return show(trace[0])


def test_everything_that_was_counted_is_there(trace, lines):
    _, counters = trace
    ports = counters["ports"]
    frames = [line for line in lines if kind(line) == "frame"]
    for port in ports:
        assert sum(" port %d out" % port["port"] in line for line in frames) == port["tx_frames"]
        assert sum("takes" in line and "at port %d" % port["port"] in line for line in lines) == \
            port["rx_frames"] + port["rx_errors"]
    drops = {}
    for line in lines:
        if kind(line) == "drop":
            _, _, _, port, name, more = line.split()
            drops[int(port), name] = drops.get((int(port), name), 0) + int(more)
    assert drops == {(port["port"], name): value for port in ports for name, value in port.items()
                     if value and name not in ("port", "tx_frames", "tx_bytes", "rx_frames",
                                               "rx_bytes", "rx_multicast")}
    assert sum(kind(line) == "violation" for line in lines) == counters["violations"] > 0


def test_order_of_a_send(lines):
    """Doorbell, WQE, frame out, frame in, receive WQE, the two CQEs."""
    first = next(i for i, line in enumerate(lines) if kind(line) == "doorbell")
    assert [re.sub(r"^\s*\S+\s+", "", line) for line in lines[first:first + 7]] == [
        "doorbell  blueflame qp 0x200",
        "wqe       qp 0x200 #0 SEND owner 0 ds 3 blueflame signaled | inline 17 B "
        "02000000001202020202020288b5e7d4…",
        "frame     port 1 out 60 B 02:02:02:02:02:02 > 02:00:00:00:00:12 type 0x88b5",
        "frame     port 2 in  60 B 02:02:02:02:02:02 > 02:00:00:00:00:12 type 0x88b5",
        "rqe       rq 0x201 #0 takes 60 B at port 2 | lkey 0x10101+0x200000 2048 B",
        "cqe       cq 0x83 #0 RECV owner 0 qp 0x201 #0 60 B hash 0x00000000 status 0x0 sum 0x0000",
        "cqe       cq 0x80 #0 SEND owner 0 qp 0x200 #0",
    ]


@pytest.mark.parametrize("wanted", [
    r"cmd       ctx 1 reg_mr pd=0 start=page\+0x0 length=4194304 iova=page\+0x0 access=0x1 = ok "
    r"mr=0x10001",
    r"cmd       ctx 1 create_qp type=RAW_PACKET pd=0 send_cq=0x80 recv_cq=0x81 .* = ok qp=0x200 ",
    r"cmd       ctx 2 modify_qp mask=0x21 qp=0x201 state=INIT port=2 = ok$",
    r"cmd       ctx 1 create_flow qp=0x200 type=NORMAL port=1 priority=0 flags=0x0 "
    r"\| eth dst 020000000011 = ok flow=6$",
    r"cmd       ctx \d+ create_cq_ex .* flags=0x1 .* = ok cq=0x\w+ cqe=\d+$",
    r"close     ctx 1$",
    r"doorbell  arm cq 0x\w+ sn 1 next ci 0x0$",
    r"event     completion cq 0x\w+$",
    r"link      port 1 up$",
    r"wqe       .* csum-ip csum-l4 signaled",
    r"cqe       .* RECV .* status IPV4\|IPOK\|UDP\|L4OK sum 0xffff$",
    r"cqe       .* RECV .* timestamp 0x\w{12}$",
    r"cqe       .* ERROR owner . qp 0x\w+ #1 of a send: syndrome 0x04 LOCAL_PROT vendor 0x57$",
    r"cqe       .* ERROR owner . qp 0x\w+ #2 of a send: syndrome 0x05 WR_FLUSH vendor 0x00$",
    r"cqe       .* ERROR .* of a receive: syndrome 0x04 LOCAL_PROT",
    r"frame     port 1 out \d+ B \S+ > \S+ UDP [\d.]+:\d+ > [\d.]+:\d+$",
    r"violation lkey: SQ 0x\w+ #1: lkey 0x\w+ for 100 bytes at mr 0x\w+\+0x200: no such memory",
    r"wqe       .* \| lkey 0x\w+ at mr 0x\w+xx\+0x200 100 B$",
])
def test_has_a_line(lines, wanted):
    assert any(re.search(r"^ +\d+\.\d{9}  " + wanted, line) for line in lines)


def test_names_of_errors(tmp_path):
    """The errno of a command that is not offered, by its name."""
    path = tmp_path / "trace"
    adapter.run_bounded(build.exec_command(
        [build.build_dir() / "test/vmlx4/uverbs/test_vmlx4_uverbs_profile", "cx3-old-fw"],
        "--step", "--profile=cx3-old-fw", "--trace=%s" % path))
    found = show("--kind=cmd", path)
    assert any(re.search(r" create_flow (.* )?= EOPNOTSUPP$", line)
               for line in found), found[-20:]


def test_cq_that_is_resized(tmp_path):
    path = tmp_path / "trace"
    adapter.run_bounded(build.exec_command(
        [build.build_dir() / "test/vmlx4/uverbs/test_vmlx4_uverbs_cq"], "--step",
        "--trace=%s" % path))
    found = show("--kind=cmd,cqe", path)
    at = next(i for i, line in enumerate(found) if re.search(r"resize_cq cq=0x\w+ .* = ok", line))
    number = re.search(r"cq=(0x\w+)", found[at])[1]
    assert re.search(r"cqe       cq %s #\d+ RESIZE owner 0$" % number, found[at + 1])


def test_every_command_of_the_adapter_has_its_fields():
    answered = (build.TOP / "lib/vmlx4/uverbs/uverbs.c").read_text()
    known = (build.TOP / "lib/vmlx4/trace/commands.c").read_text()
    for prefix, macro in (("IB_USER_VERBS_CMD_", "PLAIN"), ("IB_USER_VERBS_EX_CMD_", "EX")):
        commands = re.findall(r"^\t\[%s(\w+)\] = " % prefix, answered, re.M)
        assert len(commands) > 10
        for command in commands:
            assert "%s(%s)" % (macro, command) in known


# ---- filters ----

def test_kinds(trace, lines):
    for wanted in ("cmd", "wqe", "cqe", "frame", "doorbell", "event", "rqe", "drop", "violation"):
        assert show("--kind", wanted, trace[0]) == [line for line in lines if kind(line) == wanted]
    assert show("--kind=wqe,cqe", trace[0]) == [line for line in lines
                                                if kind(line) in ("wqe", "cqe")]


def test_queues(trace, lines):
    found = show("--qp", "0x200", trace[0])
    assert found == [line for line in lines if re.search(r"(qp|rq)(=| )0x200\b", line)]
    assert {kind(line) for line in found} == {"cmd", "doorbell", "wqe", "cqe"}
    assert {kind(line) for line in show("--wq", "0x201", trace[0])} == {"cmd", "rqe", "cqe"}
    found = show("--cq=0x81", "--cq=%d" % 0x80, trace[0])
    assert found == [line for line in lines if re.search(r"cq(=| )0x8[01]\b", line)]
    assert show("--cq=0x81", "--kind=wqe", trace[0]) == []


def test_port_and_time(trace, lines):
    assert show("--port=2", trace[0]) == [line for line in lines if
                                          kind(line) in ("frame", "wqe", "rqe", "link", "drop")
                                          and int(re.search(r"port (\d)", line)[1]
                                                  if "port" in line else
                                                  port_of_wqe(lines, line)) == 2]
    times = [float(line.split()[0]) for line in lines]
    assert times == sorted(times)
    middle = times[len(times) // 2]
    assert show("--from=%.9f" % middle, trace[0]) == lines[times.index(middle):]
    assert show("--to=%dns" % round(middle * 1e9), trace[0]) == \
        [line for line, time in zip(lines, times) if time <= middle]
    assert show("--from=1us", "--to=0.001ms", trace[0]) == \
        [line for line, time in zip(lines, times) if time == 1e-6]


def port_of_wqe(lines, line):
    """From the command that brought its QP up."""
    qpn = re.search(r"qp (0x\w+)", line)[1]
    return next(re.search(r"port=(\d)", up)[1] for up in lines
                if "qp=%s state=INIT" % qpn in up)


def test_bytes(trace):
    found = show("--kind=wqe", "--to=1us", "--hex", trace[0])
    assert found[1:] == [" " * 27 + "0000  0000000a 00020003 0200000e 00000012",
                         " " * 27 + "0010  80000011 02000000 00120202 02020202",
                         " " * 27 + "0020  88b5e7d4 69000000 00000000 00000000"]


@pytest.mark.parametrize("arguments, words", [
    ([], ["file is missing"]),
    (["a", "b"], ["b", "one file"]),
    (["--colour", "a"], ["colour", "no such option", "--help"]),
    (["--kind=wqe,cqx", "a"], ["kind", "cqx", "--help"]),
    (["--kind"], ["kind", "missing"]),
    (["--qp=x", "a"], ["qp", '"x"', "number"]),
    (["--qp=0x1000000", "a"], ["qp", "0x1000000", "number"]),
    (["--port=3", "a"], ["port", '"3"', "1 and 2"]),
    (["--from=1h", "a"], ["from", "1h", "1.5ms"]),
    (["--from=-1", "a"], ["from", "-1", "1.5ms"]),
    (["--to=nan", "a"], ["to", "nan", "1.5ms"]),
    (["--pcapng=", "a"], ["pcapng", "name of a file"]),
    (["/nonexistent/trace"], ["/nonexistent/trace", "No such file"]),
    (["/proc"], ["/proc", "no regular file"]),
    (["/etc/passwd"], ["/etc/passwd", "no trace"]),
])
def test_refuses(arguments, words):
    status, stdout, stderr = adapter.run_bounded([build.launcher(), "show", *arguments])
    assert (status, stdout) == (2, "") and stderr.count("\n") == 1
    for word in words:
        assert word in stderr


def test_help():
    status, stdout, stderr = adapter.run_bounded([build.launcher(), "show", "--help"])
    assert (status, stderr) == (0, "")
    for word in ("--kind", "--qp", "--wq", "--cq", "--port", "--from", "--to", "--hex", "--pcapng"):
        assert "\n  %s" % word in stdout


# ---- traces that are not whole ----

def test_of_a_killed_program(tmp_path):
    """What was recorded before the end is there, and that there is no more is told."""
    path = tmp_path / "trace"
    script = "import ctypes; lib = ctypes.CDLL('libibverbs.so.1'); " \
        "lib.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p); " \
        "lib.ibv_open_device.restype = ctypes.c_void_p; " \
        "lib.ibv_open_device(ctypes.c_void_p(lib.ibv_get_device_list(None)[0])); " \
        "import os; os.kill(os.getpid(), 9)"
    status, _, _ = adapter.run_bounded(build.exec_command(
        ["/usr/bin/python3", "-c", script], "--trace=%s" % path))
    assert status == 128 + 9
    status, stdout, _ = adapter.run_bounded([build.launcher(), "show", path])
    assert status == 0
    assert "get_context = ok" in stdout
    assert stdout.endswith("# it stops here: the run did not come to its end, or still goes on\n")


def test_of_a_run_that_a_violation_ended(tmp_path):
    path = tmp_path / "trace"
    status, _, _ = adapter.run_bounded(build.exec_command(
        [PROGRAM, "--step", "bad_lkey"], "--step", "--strict", "--trace=%s" % path))
    assert status == 86
    status, stdout, _ = adapter.run_bounded([build.launcher(), "show", path])
    assert status == 0 and "it stops here" not in stdout
    assert kind(stdout.splitlines()[-1]) == "violation"


def test_cut_off(trace, tmp_path):
    whole = trace[0].read_bytes()
    path = tmp_path / "cut"
    header = struct.unpack_from("<I", whole, 12)[0]
    for size in (1, 7, 8, 55, 56, header - 1, header + 1, header + 15, header + 17, 3001):
        path.write_bytes(whole[:size])
        status, _, stderr = adapter.run_bounded([build.launcher(), "show", path])
        assert status == 2 and re.match("vmlx4: .*cut: (corrupt|no trace)", stderr), (size, stderr)
    path.write_bytes(whole[:header])
    assert show(path) == []


def test_other_version_and_other_tables(trace, tmp_path):
    whole = bytearray(trace[0].read_bytes())
    path = tmp_path / "other"
    for at, words in ((8, ["version", "use the vmlx4 that"]), (16, ["other tables", "0.1.0"])):
        changed = bytearray(whole)
        changed[at] ^= 0x10
        path.write_bytes(changed)
        status, stdout, stderr = adapter.run_bounded([build.launcher(), "show", path])
        assert (status, stdout) == (2, "")
        for word in words:
            assert word in stderr


def test_noise_does_no_harm(trace, tmp_path):
    """Any byte may be another one: an error or a line that is wrong, never a crash."""
    whole = trace[0].read_bytes()[:20000]
    path = tmp_path / "noise"
    noise = random.Random(7)
    for _ in range(60):
        changed = bytearray(whole)
        for _ in range(noise.choice([1, 3, 30])):
            changed[noise.randrange(56, len(changed))] = noise.choice([0, 1, 0x7f, 0x80, 0xff])
        path.write_bytes(changed)
        for option in ("--hex", "--pcapng=%s" % (tmp_path / "out"), "--qp=0x200"):
            status, _, stderr = adapter.run_bounded([build.launcher(), "show", option, path])
            assert status in (0, 2), stderr
            assert stderr.count("\n") <= 1, stderr


# ---- the file ----

def test_one_file_for_each_process(tmp_path):
    path = tmp_path / "trace"
    script = "ibv_devinfo; ibv_devinfo; ibv_devinfo"
    command = build.exec_command(["sh", "-c", script], "--trace=%s" % path)
    for _ in range(2):  # what an earlier run left makes no difference
        assert adapter.run_bounded(command)[0] == 0
        assert sorted(file.name for file in tmp_path.iterdir()) == ["trace", "trace.2", "trace.3"]
    for file in tmp_path.iterdir():
        assert any("get_context" in line for line in show(file))
    assert adapter.run_bounded(build.exec_command(["true"], "--trace=%s" % path))[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_does_not_replace_what_is_no_trace(tmp_path):
    path = tmp_path / "thesis"
    path.write_text("years of work\n")
    status, _, stderr = adapter.run_bounded(build.exec_command(["true"], "--trace=%s" % path))
    assert status == 2 and "no trace" in stderr
    assert path.read_text() == "years of work\n"


@pytest.mark.skipif(shutil.which("mount") is None, reason="no mount")
def test_full_disk_is_told(network, tmp_path):
    """The program goes on; what was recorded so far can be read."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = "mount -t tmpfs -o size=5m none %s && exec \"$@\"" % folder
    copy = "cp %s/trace %s" % (folder, tmp_path)
    command = build.exec_command([PROGRAM, "--step", "stream"], "--step",
                                 "--trace=%s/trace" % folder)
    status, _, stderr = adapter.run_bounded(
        ["unshare", "-m", "sh", "-c", mount, "sh", "sh", "-c", '"$@"; echo $? >&2; ' + copy, "sh",
         *command], timeout=120)
    assert status == 0 and "No space left on device" in stderr and "records were lost" in stderr
    assert stderr.splitlines()[-1] == "0"
    assert len(show(tmp_path / "trace")) > 1000


def test_operands_of_masked_atomics(tmp_path):
    """WQEs of a transport keep their operands; the peer's address goes by its rkey."""
    path = tmp_path / "trace"
    status, _, stderr = adapter.run_bounded(build.exec_command(
        [MASKED], "--step", "--strict", "--trace=%s" % path), timeout=120)
    assert status == 0, stderr
    pattern = r"^.*#\d+ (\S+) .*signaled \| rkey 0x\w+\+0x\w+(.*?) \| lkey .*$"
    wqes = [re.sub(pattern, r"\1\2", line)
            for line in show(path) if kind(line) == "wqe"]
    one_word = ["MASKED_FA add 0x102 boundaries 0x8080",
                "MASKED_CS swap 0x5678/0xff0 if 0x1301/0xff00",
                "MASKED_CS swap 0x5678/0xff0 if 0x12ee/0xff00"]
    assert wqes == one_word * 2 + ["MASKED_FA add 0x1 boundaries 0x0"]
