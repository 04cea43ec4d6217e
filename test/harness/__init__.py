# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share; the fixtures over it are in conftest.py."""
