# SPDX-License-Identifier: BSD-3-Clause
"""Other people's programs on the adapter. What each was seen to do is counted, and
told at the end of the run in a section of its own."""

import collections

import pytest

FINDINGS = pytest.StashKey()


def pytest_configure(config):
    config.stash[FINDINGS] = []


@pytest.fixture(scope="session")
def finding(request):
    """Add a line to the section "clients": finding("ibv_devices", "1 device"). The
    same line again is counted."""
    def add(client, text):
        request.config.stash[FINDINGS].append((client, text))
    return add


def pytest_terminal_summary(terminalreporter, config):
    found = config.stash.get(FINDINGS, [])
    if not found:
        return
    terminalreporter.section("clients")
    width = max(len(client) for client, _ in found)
    for (client, text), count in sorted(collections.Counter(found).items()):
        times = "" if count == 1 else " (%d times)" % count
        terminalreporter.write_line("%-*s  %s%s" % (width, client, text, times))
