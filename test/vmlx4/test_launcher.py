# SPDX-License-Identifier: BSD-3-Clause
"""vmlx4 exec: faults are found before the program runs, and told in one line;
afterwards it is as if the program had been started directly."""

import json
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import time

import pytest

from harness import adapter, pcap
from mlx4dvlib import build


def run(*arguments, prefix=(), env=None, **popen):
    """Status, stdout and stderr of the launcher with these arguments."""
    return adapter.run_bounded([*prefix, build.launcher(), *arguments],
                               env=dict(os.environ, **(env or {})), **popen)


@pytest.fixture
def tmpdir_env(tmp_path):
    """A TMPDIR of the test's own, so that what is left there is ours."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    yield {"TMPDIR": str(folder)}
    assert list(folder.iterdir()) == []


def refused(*arguments, env, **popen):
    """The one line; nothing was run."""
    status, stdout, stderr = run("exec", *arguments, env=env, **popen)
    assert (status, stdout) == (2, ""), (status, stdout, stderr)
    assert re.fullmatch(r"vmlx4: .+\n", stderr), stderr
    return stderr


BAD = [
    (["--colour=red", "--", "echo"], ["colour", "--help"]),
    (["--ports=3", "--", "echo"], ["ports", '"3"', "1 to 2"]),
    (["--ports", "--", "echo"], ["ports", "missing"]),
    (["--profile", "cx5", "--", "echo"], ["profile", '"cx5"', "cx3pro"]),
    (["--wire=cable", "--", "echo"], ["wire", '"cable"', "back-to-back"]),
    (["--wire1=packet:absent0", "--", "echo"], ["packet:absent0", "no such interface"]),
    (["--wire1=pcap:in=/nonexistent.pcap", "--", "echo"],
     ["pcap:in=/nonexistent.pcap", "No such file"]),
    (["--wire1=pcap:out=/nonexistent/out.pcap", "--", "echo"],
     ["/nonexistent/out.pcap", "folder"]),
    (["--wire1=pcap:in=/proc", "--", "echo"], ["pcap:in=/proc", "no capture file", "directory"]),
    (["--engine-cpu=1023", "--", "echo"], ["engine-cpu", '"1023"', "CPU that this machine has"]),
    (["--stats=/nonexistent/stats", "--", "echo"], ["stats", "/nonexistent/stats", "folder"]),
    (["--sysfs=/proc/vmlx4", "--", "echo"], ["sysfs", "/proc/vmlx4"]),
    (["--preload=/nonexistent.so", "--", "echo"], ["preload", "/nonexistent.so"]),
    (["--strict=maybe", "--", "echo"], ["strict", "maybe", "strict=report"]),
    (["--mtu=10", "--", "echo"], ["mtu", '"10"', "46 to 9900"]),
    (["--unknown", "tx_min_frame=x", "--", "echo"], ["unknown", "tx_min_frame=x", "0 to 256"]),
    (["--unknown=colour=1", "--", "echo"], ["unknown", "colour=1", "vmlx4 unknowns"]),
    (["-s", "--", "echo"], ["-s", "two dashes"]),
    (["--strict"], ["program is missing"]),
    (["--", "nonexistent-program"], ["nonexistent-program", "PATH"]),
    (["--", "/nonexistent/program"], ["/nonexistent/program", "No such file"]),
    (["--", "/etc/passwd"], ["/etc/passwd", "not executable"]),
]


@pytest.mark.parametrize("arguments, words", BAD, ids=lambda value: "_".join(value)[:40])
def test_refuses(arguments, words, tmpdir_env):
    line = refused(*arguments, env=tmpdir_env)
    for word in words:
        assert word in line, line


def test_refuses_a_truncated_capture(tmp_path, tmpdir_env):
    name = tmp_path / "short.pcap"
    pcap_header = bytes.fromhex("d4c3b2a1 02000400 00000000 00000000 ffff0000 01000000")
    record = (0).to_bytes(8, "little") + (60).to_bytes(4, "little") + (100).to_bytes(4, "little")
    name.write_bytes(pcap_header + record + bytes(60))
    line = refused("--wire1=pcap:in=%s" % name, "--", "echo", env=tmpdir_env)
    assert str(name) in line and "frame 1: 60 of 100 bytes" in line


def test_refuses_a_file_that_is_no_program(tmp_path, tmpdir_env):
    name = tmp_path / "program"
    name.write_bytes(b"\x7fELF and nothing behind it")
    name.chmod(0o755)
    assert "Exec format" in refused("--", name, env=tmpdir_env)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives up root to lack privileges")
@pytest.mark.parametrize("wire, words", [("tap:vmlx4none", "CAP_NET_ADMIN"),
                                         ("packet:lo", "CAP_NET_RAW")])
def test_refuses_without_privilege(wire, words):
    prefix = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]
    if run("--version", prefix=prefix)[0] != 0:
        pytest.skip("nobody cannot reach the build")
    status, _, stderr = run("exec", "--wire1=" + wire, "--", "true", prefix=prefix)
    assert status == 2
    assert words in stderr and wire in stderr and stderr.count("\n") == 1


def test_passes_arguments_streams_and_status(tmpdir_env):
    script = 'read x; echo "$x:$1"; echo e >&2; exit 7'
    status, stdout, stderr = run("exec", "--", "sh", "-c", script, "sh", "a b", env=tmpdir_env,
                                 stdin="hello\n")
    assert (status, stdout, stderr) == (7, "hello:a b\n", "e\n")


def test_counters_go_to_a_device_or_pipe_and_do_not_replace_it(tmp_path, tmpdir_env):
    link = tmp_path / "stdout"
    link.symlink_to("/dev/stdout")
    status, stdout, stderr = run("exec", "--stats", link, "--", "ibv_devinfo", env=tmpdir_env)
    assert status == 0, stderr
    assert link.is_symlink()
    assert stdout.count('"profile"') == 1
    counters, _ = json.JSONDecoder().raw_decode(stdout, stdout.index('{\n  "profile"'))
    assert counters["profile"] == "cx3pro"
    assert list(tmp_path.glob("*.part")) == []


def test_counters_that_cannot_be_written_are_told(tmp_path, tmpdir_env):
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    status, _, stderr = run("exec", "--stats", full, "--", "ibv_devinfo", env=tmpdir_env)
    assert status == 0
    assert stderr == "vmlx4: cannot write the counters to %s: No space left on device\n" % full
    assert full.is_symlink()


def test_program_that_nothing_can_be_preloaded_into(tmpdir_env, tmp_path):
    """The shortest one: it ends with status 7.."""
    code = b"\xb8\x3c\0\0\0\xbf\x07\0\0\0\x0f\x05"
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, 0x400078, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    part = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 132, 132, 4096)
    program = tmp_path / "static"
    program.write_bytes(head + part + code)
    program.chmod(0o755)
    status, stdout, stderr = run("exec", "--", program, env=tmpdir_env)
    assert (status, stdout) == (7, "")
    assert re.fullmatch(r"vmlx4: \S+/static is linked statically and does not see .+\n", stderr)
    assert run("exec", "--", "true", env=tmpdir_env) == (0, "", "")


def test_status_of_a_killed_program(tmpdir_env):
    assert run("exec", "--", "sh", "-c", "kill -9 $$", env=tmpdir_env)[0] == 128 + 9


def test_environment(tmp_path, tmpdir_env):
    status, stdout, stderr = run("exec", "--ports=1", "--strict", "--mtu", "2000", "--stats",
                                 "a b.json", "--", "env", env=tmpdir_env, cwd=tmp_path)
    assert status == 0, stderr
    shown = dict(line.split("=", 1) for line in stdout.splitlines() if "=" in line)
    root = shown["SYSFS_PATH"]
    assert os.path.dirname(root) == tmpdir_env["TMPDIR"]
    assert shown["SYSFS_PCI_DEVICES"] == root + "/bus/pci/devices"
    # A name relative to here, though the program may go elsewhere; quoted.
    assert shown["VMLX4_OPTIONS"] == "ports=1 strict mtu=2000 stats=%s/a\\ b.json sysfs=%s" % (
        tmp_path, root)
    libraries = shown["LD_PRELOAD"].split(":")
    assert [os.path.basename(name).split(".")[0] for name in libraries
            if not re.match("lib[at]san", name)] == ["libvmlx4"]
    assert "libvmlx4" not in libraries[0] or len(libraries) == 1


def test_preload_stands_behind_the_adapter(tmpdir_env):
    libc = next(line.split()[-1] for line in open("/proc/self/maps", encoding="ascii")
                if "/libc.so" in line)
    _, stdout, stderr = run("exec", "--preload", libc, "--", "sh", "-c", "echo $LD_PRELOAD",
                            env=tmpdir_env)
    libraries = stdout.strip().split(":")
    assert libraries[-1] == os.path.realpath(libc), stderr
    assert "libvmlx4" in libraries[-2]


def test_preload_with_a_space_in_its_path(tmp_path, tmpdir_env):
    source = next(line.split()[-1] for line in open("/proc/self/maps", encoding="ascii")
                  if "/libc.so" in line)
    odd = tmp_path / "a b" / "libodd.so"
    odd.parent.mkdir()
    odd.symlink_to(source)
    odd_copy = tmp_path / "a b" / "libcopy.so"
    odd_copy.write_bytes(open(source, "rb").read())
    _, stdout, stderr = run("exec", "--preload", odd_copy, "--", "sh", "-c",
                            'readlink "${LD_PRELOAD##*:}"', env=tmpdir_env)
    assert stdout == "%s\n" % odd_copy, stderr


def test_tree_is_private(tmpdir_env):
    _, stdout, _ = run("exec", "--", "sh", "-c", 'stat -c "%a %u" $SYSFS_PATH', env=tmpdir_env)
    assert stdout == "700 %d\n" % os.geteuid()


def test_tree_at_a_place_of_the_users(tmp_path, tmpdir_env):
    place = tmp_path / "tree"
    status, stdout, _ = run("exec", "--sysfs", place, "--", "sh", "-c", "echo $SYSFS_PATH",
                            env=tmpdir_env)
    assert (status, stdout) == (0, "%s\n" % place)
    assert (place / "class/infiniband_verbs/uverbs0/ibdev").read_text() == "mlx4_0\n"
    assert "sysfs" in refused("--sysfs", place, "--", "echo", env=tmpdir_env)


def test_adapter_inside_an_adapter(tmpdir_env):
    inner = [build.launcher(), "exec", "--ports=1", "--", "sh", "-c",
             "echo $SYSFS_PATH $VMLX4_OPTIONS $LD_PRELOAD"]
    status, stdout, _ = run("exec", "--", "sh", "-c", 'echo $SYSFS_PATH; exec "$@"', "sh", *inner,
                            env=tmpdir_env)
    assert status == 0
    outer, inside = stdout.splitlines()
    assert not inside.startswith(outer + " ")
    assert " ports=1 sysfs=" in inside
    assert inside.count("libvmlx4") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT],
                         ids=lambda number: number.name)
def test_forwards_signals(number, tmpdir_env):
    program = ["sh", "-c", "trap 'echo got; exit 5' %d; echo ready; while :; do sleep 0.05; done"
               % number]
    with subprocess.Popen([build.launcher(), "exec", "--", *program], stdout=subprocess.PIPE,
                          text=True, env=dict(os.environ, **tmpdir_env)) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == "got\n"
        assert process.wait(60) == 5


def test_unhandled_signal_ends_the_run(tmpdir_env):
    with subprocess.Popen([build.launcher(), "exec", "--", "sh", "-c",
                           "echo ready; exec sleep 600"],
                          stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, **tmpdir_env)) as process:
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM


def test_program_does_not_outlive_a_killed_launcher(tmp_path):
    with subprocess.Popen([build.launcher(), "exec", "--", "sh", "-c",
                           "echo $$; exec sleep 600"],
                          stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, TMPDIR=str(tmp_path))) as process:
        pid = int(process.stdout.readline())
        process.kill()
        process.wait(60)
        deadline = time.monotonic() + 60
        while os.path.exists("/proc/%d" % pid):
            with open("/proc/%d/stat" % pid, encoding="ascii") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    break
            assert time.monotonic() < deadline
            time.sleep(0.02)


TERMINAL_PROGRAM = """
import signal, sys, time
count = 0
def handler(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, handler)
print("ready", sys.stdin.isatty(), flush=True)
line = sys.stdin.readline()
time.sleep(0.5)
print("line %r interrupts %d" % (line, count), flush=True)
"""


def test_terminal_stays_with_the_program(tmpdir_env):
    """It reads what is typed, and an interrupt key reaches it once."""
    pid, terminal = pty.fork()
    if pid == 0:
        # In a sanitized build: the interpreter's leaks are not ours.
        os.environ.update(tmpdir_env, ASAN_OPTIONS="detect_leaks=0")
        os.execv(build.launcher(), [str(build.launcher()), "exec", "--", "/usr/bin/python3", "-c",
                                    TERMINAL_PROGRAM])
    shown = b""
    try:
        while b"ready True" not in shown:
            shown += os.read(terminal, 1000)
        os.write(terminal, b"\x03")
        time.sleep(0.2)
        os.write(terminal, b"typed\n")
        while b"interrupts" not in shown or not shown.endswith(b"\n"):
            shown += os.read(terminal, 1000)
        assert b"line 'typed\\n' interrupts 1" in shown, shown
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        os.close(terminal)


def test_help_version_profiles():
    status, stdout, stderr = run("--help")
    assert (status, stderr) == (0, "") and "vmlx4 exec" in stdout
    status, stdout, stderr = run("exec", "--help")
    assert (status, stderr) == (0, "")
    for option in ("profile", "ports", "wire", "wire1", "wire2", "ib", "pci", "step", "engine-cpu",
                   "strict", "completion-lag", "stats", "sysfs", "cqe", "deny-open", "mtu",
                   "unknown", "preload"):
        assert "\n  --%s" % option in stdout
    assert run("--version")[1] == "vmlx4 %s\n" % (build.TOP / "VERSION").read_text().strip()
    assert [line.split()[0] for line in run("profiles")[1].splitlines()] == [
        "cx3", "cx3pro", "cx3-vf", "cx3-10g", "cx3pro-10g", "cx3-56g", "cx3-old-fw"]
    assert run() == (2, "", run("--help")[1])
    assert run("execute")[0] == 2


def test_check_of_a_capture_writes_nothing(tmp_path, tmpdir_env):
    out = tmp_path / "out.pcap"
    status, _, stderr = run("exec", "--wire1=pcap:out=%s" % out, "--", "true", env=tmpdir_env)
    assert status == 0, stderr
    # Nobody opened the device, so nobody wrote; and the launcher left no trace.
    assert not out.exists()


def test_capture_of_a_run_that_sends_nothing(vmlx4, tmp_path):
    out = tmp_path / "out.pcap"
    vmlx4("ibv_devinfo", options=["--wire1=pcap:out=%s" % out]).ok()
    assert pcap.read(out) == []
    assert stat.S_ISREG(out.stat().st_mode)
