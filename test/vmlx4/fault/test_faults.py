# SPDX-License-Identifier: BSD-3-Clause
"""Faults by option: the same ones each time, their log, and the log as faults."""

import re

import pytest

from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "vmlx4" / "fault" / "lossy"
FRAMES = 400

KINDS = """\
# Everything at once, but nothing that the program could not survive.
seed=%d
frame tx port=1 p=0.04 drop
frame rx port=2 p=0.03 corrupt
frame rx port=2 p=0.03 corrupt fcs=good
frame tx match=12:88b5 p=0.02 truncate=40 fcs=good; frame tx p=0.02 duplicate
frame rx p=0.02 reorder=2
wqe tx p=0.01 syndrome=0x02 vendor=0x6f
wqe rx p=0.01 syndrome=0x01
cqe tx p=0.02 late=3us
cqe rx p=0.01 coalesce=4 within=20us
link port=2 down at=100us for=10us every=150us count=2
command query_qp every=3 errno=EIO count=2
"""


def run(vmlx4, folder, name, faults, *options):
    """The finished program and the lines of its log."""
    log = folder / (name + ".log")
    done = vmlx4(PROGRAM, "--step", str(FRAMES), timeout=60, options=[
        "--step", "--faults", str(faults), "--faults-log", str(log), *options]).ok()
    return done, log.read_text()


def happened(log):
    """What happened, without number, time and object."""
    lines = (line.split(" # ")[0] for line in log.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def faults_file(folder, seed):
    file = folder / ("seed%d.txt" % seed)
    file.write_text(KINDS % seed)
    return file


def test_same_seed_same_faults(vmlx4, tmp_path):
    one, log_one = run(vmlx4, tmp_path, "one", faults_file(tmp_path, 1))
    two, log_two = run(vmlx4, tmp_path, "two", faults_file(tmp_path, 1))
    other, log_other = run(vmlx4, tmp_path, "other", faults_file(tmp_path, 2))
    assert log_one == log_two
    assert one.stdout == two.stdout
    assert one.counters == two.counters
    assert log_other != log_one
    assert other.stdout != one.stdout
    # Each kind had its chance.
    counters = one.counters["faults"]
    kinds = {kind for kind, count in counters.items() if count != 0}
    assert kinds == {
        "injected", "commands_failed", "wqes_failed", "cqes_late", "cqe_batches",
        "frames_dropped", "frames_bad_fcs", "frames_corrupted", "frames_truncated",
        "frames_reordered", "frames_duplicated", "links_down"}
    assert counters["injected"] == len(happened(log_one)) == \
        sum(counters.values()) - counters["injected"]


def test_log_is_a_list_of_faults_that_repeats_the_run(vmlx4, tmp_path):
    first, log = run(vmlx4, tmp_path, "first", faults_file(tmp_path, 3))
    again, log_again = run(vmlx4, tmp_path, "again", tmp_path / "first.log", "--seed=99")
    assert log_again == log
    assert len(happened(log)) > 50
    assert again.stdout == first.stdout
    assert again.counters == first.counters


def test_seed_of_the_adapter_is_the_default(vmlx4, tmp_path):
    faults = "frame tx p=0.1 drop"
    logs = [run(vmlx4, tmp_path, str(i), text, *options)[1] for i, (text, options) in enumerate([
        (faults, ["--seed=5"]), ("seed=5; " + faults, []), (faults, [])])]
    assert logs[0] == logs[1] != logs[2]


def test_log_line(vmlx4, tmp_path):
    log = run(vmlx4, tmp_path, "log", "wqe tx port=1 nth=3 syndrome=0x04")[1]
    assert re.fullmatch(r"wqe tx port=1 syndrome=0x04 nth=3 # 1 at \d+ ns, send of port 1, "
                        r"QPN 0x\w+\n", log), log


def test_log_on_stderr(vmlx4):
    done = vmlx4(PROGRAM, "--step", 10, options=[
        "--step", "--faults=frame tx nth=1 drop", "--faults-log=-"]).ok()
    assert re.fullmatch(r"frame tx drop nth=1 # 1 at \d+ ns, tx, port 1, 64 bytes\n",
                        done.stderr), done.stderr
    assert "received 9," in done.stdout


def test_without_faults_nothing_is_lost(vmlx4, tmp_path):
    done, log = run(vmlx4, tmp_path, "none", "frame tx port=2 drop")
    assert log == ""
    assert "sent %d, failed 0, received %d, damaged 0, resets 0, refused 0," % (FRAMES, FRAMES) \
        in done.stdout


@pytest.mark.parametrize("faults,words", [
    ("command reg_mr nth=x errno=EIO", ["faults: fault 1: \"nth=x\":", "a number from 1"]),
    ("no_such_file", ["faults: \"no_such_file\": No such file", "give a file, or faults"]),
    ("/", ["faults: \"/\":", "text"]),
    ("x" * 8200 + " y", ["longer than 8191", "into a file"]),
], ids=["word", "no file", "folder", "too long"])
def test_mistakes_are_told_before_the_program_starts(vmlx4, faults, words):
    done = vmlx4("sh", "-c", "echo started", options=["--faults", faults])
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith("vmlx4: ") and done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_mistake_in_a_file_names_the_line(vmlx4, tmp_path):
    file = tmp_path / "my faults.txt"
    file.write_text("# all fine\n\nlink down; link up\n")
    done = vmlx4("true", options=["--faults", str(file)])
    assert done.status == 2
    assert "faults: line 3: \"up\": link takes" in done.stderr


def test_given_twice(vmlx4):
    done = vmlx4("true", options=["--faults=link down", "--faults=link down"])
    assert done.status == 2 and "give it once" in done.stderr


def test_log_that_cannot_be_written(vmlx4, tmp_path):
    done = vmlx4("true", options=["--faults=link down", "--faults-log=%s/no/log" % tmp_path])
    assert done.status == 2 and "option faults-log:" in done.stderr


def test_command_of_a_program_that_knows_nothing(vmlx4):
    done = vmlx4("ibv_devinfo", options=["--faults=command get_context errno=ENODEV"])
    assert done.status != 0 and "Failed to open device" in done.stderr
    done = vmlx4("ibv_devinfo", options=["--faults=link port=1 down"]).ok()
    assert re.findall(r"state:\s+PORT_(\w+)", done.stdout) == ["DOWN", "ACTIVE"]


def test_with_the_engines_thread(vmlx4):
    """Late completions and a link that goes, in the host's time."""
    done = vmlx4("ibv_asyncwatch", options=["--faults=device fatal at=300ms"],
                 prefix=["timeout", "3"])
    assert "local catastrophic error" in done.stdout or "fatal" in done.stdout.lower(), str(done)
