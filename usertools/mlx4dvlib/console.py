# SPDX-License-Identifier: BSD-3-Clause
"""A conversation with a program: send a line, wait for an answer, in bounded
time, and never leave the program behind."""

import itertools
import os
import pty
import re
import select
import signal
import subprocess
import time

from . import threads

# Seconds: a machine with much else to do is no fault of the program.
PATIENCE = 120


class ConsoleError(AssertionError):
    """The program ended, or did not answer in time; carries its output."""


def end_group(process, grace=2):
    """End a session leader and its group: politely, so that a launcher can tidy
    up, then for certain."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            pass
    process.wait()


class Console:
    """A program whose output goes to a pseudo terminal, so that stdio flushes
    each line, and whose input is a pipe."""

    def __init__(self, command, **popen):
        self.command = list(map(str, command))
        self.output = ""
        master, slave = pty.openpty()
        self._fd = master
        try:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=slave, stderr=slave,
                process_group=0, **popen)
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def _read(self, timeout):
        """Take in what there is. False at the end of the output."""
        if not select.select([self._fd], [], [], timeout)[0]:
            return True
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # EIO: no process holds the other end any more
            data = b""
        self.output += data.decode(errors="replace").replace("\r", "")
        return bool(data)

    def fail(self, why):
        raise ConsoleError("%s\n$ %s\n%s\n%s" % (
            why, " ".join(self.command), self.output[-6000:],
            threads.describe(self.process.pid) if self.process.poll() is None else ""))

    def expect(self, pattern, timeout=PATIENCE, start=0, times=1):
        """Wait for so many matches of pattern in the output from offset start on, and
        return the last. Not for one of "(pattern.*){times}": as long as some are missing,
        that takes exponential time to find out."""
        deadline = time.monotonic() + timeout
        alive = True
        while True:
            matches = re.compile(pattern, re.M).finditer(self.output, start)
            match = next(itertools.islice(matches, times - 1, None), None)
            if match:
                return match
            if not alive:
                self.fail("ended (status %s) without %r" % (self.wait(5), pattern))
            left = deadline - time.monotonic()
            if left <= 0:
                self.fail("no %r within %s s" % (pattern, timeout))
            alive = self._read(min(left, 1))

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.fail("ended before %r was sent" % line)

    def wait(self, timeout=PATIENCE):
        """Read on until the program ends; its exit status."""
        deadline = time.monotonic() + timeout
        while self._read(max(0, min(1, deadline - time.monotonic()))):
            if time.monotonic() > deadline:
                self.fail("still running after %s s" % timeout)
        try:
            return self.process.wait(max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return self.fail("still running after %s s" % timeout)

    def kill(self):
        """End the program and all that it started, in whatever state."""
        end_group(self.process)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self.process.stdin:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
