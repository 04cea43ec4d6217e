# SPDX-License-Identifier: BSD-3-Clause
"""examples/dvq_srq: every message of every connection, in its order, from one SRQ."""

import re

import pytest

from harness import command_line
from mlx4dvlib import build

WAVES = build.build_dir() / "test" / "examples" / "waves.so"
PROGRAM = build.build_dir() / "examples" / "dvq_srq" / "dvq_srq"


@pytest.mark.parametrize("messages, connections", [(1, 1), (999, 1), (5000, 7), (20000, 64)])
def test_all_messages(vmlx4, messages, connections):
    done = vmlx4(PROGRAM, "-n", messages, "-q", connections).ok()
    assert re.fullmatch(r"%d messages over %d connections, 255 buffers, \d+ a second\n" % (
        messages, connections), done.stdout), str(done)
    assert done.counters["violations"] == 0


@pytest.mark.skipif(build.sanitized(),
                    reason="who looks at the clock cannot be told through the sanitizer")
def test_completions_that_come_at_once(vmlx4):
    """The CQ has room for each send in flight, however long none was seen to complete."""
    done = vmlx4(PROGRAM, "-n", 5000, "-q", 64, options=[
        "--step", "--completion-lag=64", "--preload=%s" % WAVES]).ok()
    assert done.counters["violations"] == 0


@pytest.mark.parametrize("arguments, complaint", [
    ("-q 0", "-q '0': want a number, 1 to 64"),
    ("-q 65", "-q '65': want a number, 1 to 64"),
    ("-n 0", "-n '0': want a number, 1 to 4294967295"),
    ("-q", "option requires an argument -- 'q'"),
    ("-p 1", "invalid option -- 'p'"),
    ("5", "'5' is one argument too many"),
])
def test_wrong_options(arguments, complaint):
    command_line.refused(PROGRAM, arguments, complaint)


def test_help():
    assert "1 to 64, 16 if not told" in command_line.help_of(PROGRAM, "dnq")


def test_no_such_device(vmlx4):
    done = vmlx4(PROGRAM, "-d", "mlx4_9")
    assert done.status == 2, str(done)
    assert done.stderr == "dvq_srq: -d mlx4_9: no such device; ibv_devices lists them\n", str(done)
