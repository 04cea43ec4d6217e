# SPDX-License-Identifier: BSD-3-Clause
"""For all clients."""

import pytest


@pytest.fixture(autouse=True)
def leaks_of_others(monkeypatch):
    """In a sanitized build: what programs of others leave behind at their end is not ours."""
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
