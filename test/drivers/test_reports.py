# SPDX-License-Identifier: BSD-3-Clause
"""The page of user reports names tests that are there."""

import re

import pytest

from mlx4dvlib.build import TOP

PAGE = TOP / "doc" / "guides" / "nics" / "mlx4dv_reports.rst"
TEST = TOP / "test"
ROWS = dict(re.findall(r"^   \* - (B\d\d)\n     - .*\n     - ((?:.*\n)(?:       .*\n)*)",
                       PAGE.read_text(), re.M))
CASES = 64


def declared():
    """name of each ethdev test, file::name of the others, and file alone."""
    for path in TEST.rglob("*"):
        if path.suffix not in (".c", ".py"):
            continue
        text = path.read_text()
        kind = r"^TEST\((\w+)\)" if path.parent.name == "pmd" else \
            r"^def (test_\w+)\(" if path.suffix == ".py" else r"^(\w+)\(void \*\*"
        prefix = "" if path.parent.name == "pmd" else path.name + "::"
        yield path.name
        yield from (prefix + name for name in re.findall(kind, text, re.M))


NAMES = set(declared())


def test_every_case_has_a_row():
    assert len(ROWS) == CASES == PAGE.read_text().count("   * - B")


@pytest.mark.parametrize("case", ROWS)
def test_tests_of_a_case_exist(case):
    named = re.findall(r"``(\S+?)``", ROWS[case])
    assert named
    assert [name for name in named if name not in NAMES] == []
