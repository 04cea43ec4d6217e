#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Find the few steps that a failing sequence of test/pmd/sequence.h takes: leave out
ever smaller pieces of it, as long as it fails in the same place."""

import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", TOP / "build")).resolve()
STEPS = 150


def run(arguments, drop):
    command = [BUILD / "app/vmlx4/vmlx4", "exec", "--strict", "--step", "--",
               BUILD / "test/pmd/mdv-sequence", *arguments]
    if drop:
        command.append("--drop=" + ",".join(map(str, sorted(drop))))
    done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                          timeout=600, check=False)
    return done.returncode, done.stdout + done.stderr


def place(outcome):
    """What two failures must share to be the same one."""
    status, text = outcome
    found = re.search(r"^(\w+\.c:\d+): sequence", text, re.M) or \
        re.search(r"(contract violation: [\w-]+|ERROR: \w+: [\w-]+|runtime error)", text)
    return status, found.group(1) if found else None


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: shrink_sequence.py [--no-faults] SEED")
    arguments = sys.argv[1:]
    wanted = place(run(arguments, ()))
    if wanted[0] == 0:
        sys.exit("this sequence does not fail")
    kept, piece = list(range(STEPS)), STEPS // 2
    while piece > 0:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + piece:]
            if place(run(arguments, set(range(STEPS)) - set(fewer))) == wanted:
                kept = fewer
            else:
                at += piece
        piece //= 2
    drop = set(range(STEPS)) - set(kept)
    print(run(arguments, drop)[1])
    print("--drop=" + ",".join(map(str, sorted(drop))))


main()
