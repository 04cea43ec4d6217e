# SPDX-License-Identifier: BSD-3-Clause
"""Commands that guides print do what is said of them, word for word."""

import os
import re
import shlex

from harness.adapter import run_bounded
from harness.hugepages import skip_if_sanitized
from mlx4dvlib import build

GUIDES = build.TOP / "doc" / "guides"


def words(text):
    """Of a command in a document, with the programs of this build."""
    return shlex.split(text.replace("\\\n", " ").replace("build/", "%s/" % build.build_dir()))


def forwarded(output):
    return sum(map(int, re.findall(r"TX-packets: (\d+)", output)))


def test_testpmd_without_a_card(tmp_path):
    skip_if_sanitized()
    text = (GUIDES / "howto" / "without_a_card.rst").read_text()
    command = re.search(r"::\n\n((?:    .*\n)+)\n    testpmd> ", text)[1]
    typed = re.findall(r"testpmd> (.*)", text)
    assert typed
    # Other tests' primary processes are not in the way.
    status, output, errors = run_bounded(words(command), stdin="\n".join([*typed, "quit\n"]),
                                         env=dict(os.environ, RUNTIME_DIRECTORY=str(tmp_path)))
    assert status == 0, output + errors
    # 32 packets of each port to begin with.
    assert forwarded(output) >= 64
