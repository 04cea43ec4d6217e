# SPDX-License-Identifier: BSD-3-Clause
"""How the examples take their command lines."""

import re

from .adapter import run_bounded


def refused(program, arguments, complaint):
    """In one line, and with a second one at most about the help; no device is looked for."""
    status, stdout, stderr = run_bounded([program, *arguments.split()])
    assert (status, stdout) == (2, ""), stderr
    first, *rest = stderr.splitlines()
    assert first == "%s: %s" % (program.name, complaint)
    assert rest == [] or (len(rest) == 1 and rest[0].startswith("Try `%s --help'" % program.name))


def help_of(program, letters):
    """It has these options, and no others but help and usage."""
    status, stdout, stderr = run_bounded([program, "--help"])
    assert (status, stderr) == (0, ""), stderr
    assert re.findall(r"^  -(\w) ", stdout, re.M) == list(letters), stdout
    return " ".join(stdout.split())
