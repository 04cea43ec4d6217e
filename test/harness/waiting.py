# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for something to be so."""

import time

from mlx4dvlib.console import PATIENCE


def wait_until(condition, complaint="", timeout=PATIENCE):
    """Ask until the answer is true; the complaint, or what it returns, is the test's."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, complaint() if callable(complaint) else complaint
        time.sleep(0.02)
