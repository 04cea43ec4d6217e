# SPDX-License-Identifier: BSD-3-Clause
"""Runs tests of rdma-core's own suite, each in a process of its own:

    pyverbs_suite.py FOLDER SECONDS PATTERN…

FOLDER holds the package "tests" (see unpack()). For each test whose name matches
one of the patterns, or all, one line of JSON goes to stdout: the name, how it ended
(passed, skipped, failed, violation, hung, died) and why, and which rules of the
contract it broke. One that pyverbs.txt says to race the card has the card win. The
process of a test is forked before any device is open, so each has an adapter of its
own."""

import ctypes
import fnmatch
import gzip
import json
import os
import pathlib
import random
import re
import signal
import sys
import time
import unittest

SHIPPED = pathlib.Path("/usr/share/doc/rdma-core/tests")  # Debian: python3-pyverbs
EXIT_VIOLATION = 86
TEXT = 300
# Rules that tests break on purpose, where the checker only reports.
RULES = ("lkey",)


def known(*wanted):
    """{name: (word, text)} of pyverbs.txt, of the headings with these words."""
    table, heading = {}, None
    for line in pathlib.Path(__file__).with_name("pyverbs.txt").read_text().splitlines():
        if line.startswith("["):
            heading = re.fullmatch(r"\[(\w+)\] ?(.*)", line).groups()
        elif line and not line.startswith("#") and heading[0] in wanted:
            table[line] = heading
    return table


def unpack(folder):
    """A copy of the distribution's suite that Python can import."""
    target = pathlib.Path(folder) / "tests"
    target.mkdir(parents=True)
    for source in SHIPPED.iterdir():
        data = source.read_bytes()
        if source.suffix == ".gz":
            data = gzip.decompress(data)
        (target / source.name.removesuffix(".gz")).write_bytes(data)
    return folder


def tests_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        else:
            yield item


class Recorder(unittest.TestResult):
    """The end of a single test, in two words."""

    outcome = None

    def record(self, outcome, why=""):
        if self.outcome is None or outcome == "failed":
            self.outcome = outcome, why

    def addSuccess(self, test):
        self.record("passed")

    def addSkip(self, test, reason):
        self.record("skipped", reason)

    def addFailure(self, test, err):
        self.record("failed", "%s: %s" % (err[0].__name__, err[1]))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(test, err)


def broken_rules():
    """Names; "others" if there are more violations than of these rules."""
    library = ctypes.CDLL(None)  # the adapter is preloaded, and may never have been woken
    counts = {rule: max(library.vmlx4_violations_of(rule.encode()), 0) for rule in RULES}
    counts["others"] = max(library.vmlx4_violations(), 0) - sum(counts.values())
    return sorted(rule for rule, count in counts.items() if count > 0)


def let_card_win():
    """A card has done a send before Python is back from posting it. The engine's thread
    may not even have a processor by then, so that the poster does its work here."""
    from tests import utils  # of the suite
    step, send = ctypes.CDLL(None).vmlx4_step, utils.send

    def send_and_step(*args, **named):
        send(*args, **named)
        step(0)
    utils.send = send_and_step


def child(test, pipe, races):
    """Run it and tell; without the interpreter's own end, which the parent has."""
    result = Recorder()
    random.seed(test.id())  # the suite likes random numbers of queues and segments
    if races:
        let_card_win()
    test.run(result)
    outcome, why = result.outcome or ("passed", "")
    os.write(pipe, json.dumps([outcome, why, broken_rules()]).encode())
    os._exit(0)


def run_one(test, limit, races):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.close(reader)
        try:
            child(test, writer, races)
        finally:
            os._exit(1)
    os.close(writer)
    status = wait(pid, limit)
    told = os.read(reader, 65536)
    os.close(reader)
    if status is None:
        return "hung", "killed after %g s" % limit, []
    if os.waitstatus_to_exitcode(status) == EXIT_VIOLATION:
        return "violation", "the contract checker ended it", []
    if told:
        return json.loads(told)
    return "died", "status %d" % os.waitstatus_to_exitcode(status), []


def wait(pid, limit):
    """The wait status; None for one that had to be killed, with what it started."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.005)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def main(folder, limit, *patterns):
    sys.path[:0] = [str(folder), str(pathlib.Path(folder) / "tests")]
    sys.argv[1:] = ["--dev", "mlx4_0", "--port", "1"]
    from args_parser import parser  # of the suite
    parser.parse_args()
    import tests
    races = known("races")
    for module in tests.__test_modules__:
        for test in tests_of(unittest.defaultTestLoader.loadTestsFromModule(module)):
            name = test.id().removeprefix("tests.")
            if patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                continue
            begin = time.monotonic()
            outcome, why, broken = run_one(test, float(limit), name in races)
            print(json.dumps({"name": name, "outcome": outcome, "why": " ".join(why.split())[:TEXT],
                              "broken": broken,
                              "seconds": round(time.monotonic() - begin, 3)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
