#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The house rules that a program can check, over every file under git."""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
CORPUS = TOP / "test" / "fuzz" / "corpus"  # inputs of fuzz targets: any bytes
COLUMNS = 100
FILE_LINES = 600
FUNCTION_LINES = 60
BURST_LINES = 80
NO_LICENCE_NAMES = {"LICENSE", "VERSION", "MAINTAINERS", ".gitignore"}
NO_LICENCE_KIND = {".md", ".ini", ".json", ".pcap", ".hex", ".map"}


def columns(line):
    return len(line.expandtabs(8))


def check_file(path, lines):
    """Yield (line, complaint)."""
    if path.name not in NO_LICENCE_NAMES and path.suffix not in NO_LICENCE_KIND:
        if not any("SPDX-License-Identifier: BSD-3-Clause" in line for line in lines[:3]):
            yield 1, "no SPDX-License-Identifier: BSD-3-Clause in the first lines"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "trailing blanks"
        if path.suffix in {".c", ".h", ".py", ".sh"} and columns(line) > COLUMNS:
            yield number, "%d columns, more than %d" % (columns(line), COLUMNS)


def check_c(path, lines):
    if len(lines) > FILE_LINES:
        yield 1, "%d lines, more than %d" % (len(lines), FILE_LINES)
    for number, name, length in functions(lines):
        limit = BURST_LINES if "burst" in name else FUNCTION_LINES
        if length > limit:
            yield number, "%s() has %d lines, more than %d" % (name, length, limit)
    if path.suffix == ".h" and not any(
            re.match(r"#(ifndef|pragma once)", line) for line in lines):
        yield 1, "no include guard"


def functions(lines):
    """(line, name, length) of each function: a body between braces in column
    one, below a line that starts with its name."""
    name, start, opened = None, 0, 0
    for number, line in enumerate(lines, 1):
        match = re.match(r"(\w+)\(", line)
        if match:
            name, start = match.group(1), number
        elif line == "{" and name:
            opened = number
        elif line == "}" and opened:
            yield start, name, number - opened - 1
            name, opened = None, 0


def main():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True, capture_output=True)
    complaints = 0
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = TOP / name
        if not path.exists() or path.suffix in {".pcap"} or CORPUS in path.parents:
            continue
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        found = list(check_file(path, lines))
        if path.suffix in {".c", ".h"}:
            found += check_c(path, lines)
        for line, complaint in found:
            print("%s:%d: %s" % (name, line, complaint))
            complaints += 1
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
