# SPDX-License-Identifier: BSD-3-Clause
"""Programs on the virtual adapter, always under the contract checker."""

import json
import os
import subprocess

from mlx4dvlib import build
from mlx4dvlib.console import PATIENCE, end_group

EXIT_VIOLATION = 86  # VMLX4_EXIT_VIOLATION


class Finished:
    """A program that has run: status, stdout, stderr, and the adapter's counters
    when it had an adapter."""

    def __init__(self, command, status, stdout, stderr, counters):
        self.command, self.status = command, status
        self.stdout, self.stderr, self.counters = stdout, stderr, counters

    def ok(self):
        """Self, when the program succeeded."""
        assert self.status == 0, str(self)
        return self

    def __str__(self):
        return "$ %s\nstatus %s\n%s\n%s" % (" ".join(self.command), self.status,
                                            self.stdout[-3000:], self.stderr[-3000:])


def run_bounded(command, timeout=PATIENCE, stdin=None, **popen):
    """subprocess.run() that also ends what the program started; a status of
    None stands for a program that had to be killed."""
    with subprocess.Popen(
            list(map(str, command)), text=True, errors="replace", process_group=0,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen) as process:
        try:
            stdout, stderr = process.communicate(stdin, timeout)
            status = process.returncode
        except subprocess.TimeoutExpired:
            end_group(process)
            stdout, stderr = process.communicate()
            status = None
            stderr += "\nkilled after %s s\n" % timeout
        return status, stdout, stderr


class Adapter:
    """Runs programs with "vmlx4 exec --strict"."""

    def __init__(self, folder):
        self.folder = folder
        self._runs = 0

    def __call__(self, *program, options=(), strict=True, timeout=PATIENCE, stdin=None, prefix=(),
                 **popen):
        """Run to the end. Strict unless a test of the checker itself says
        otherwise (strict="report" counts, strict=False does not check)."""
        self._runs += 1
        popen.setdefault("env", dict(os.environ, TMPDIR=str(self.folder)))
        counters = self.folder / ("adapter%d.json" % self._runs)
        checking = {True: ["--strict"], False: []}.get(strict, ["--strict=%s" % strict])
        command = [*prefix, *build.exec_command(program, "--stats=%s" % counters, *checking,
                                                *options)]
        status, stdout, stderr = run_bounded(command, timeout, stdin, **popen)
        found = json.loads(counters.read_text()) if counters.exists() else None
        return Finished(command, status, stdout, stderr, found)
