# SPDX-License-Identifier: BSD-3-Clause
"""The table of direct verbs names tests and functions that are there."""

import re

import pytest

from mlx4dvlib.build import TOP

PAGE = (TOP / "doc" / "guides" / "direct_verbs.rst").read_text()
ROWS = re.findall(r"^   \* - (.*)\n     - (.*)\n     - ((?:.*\n)(?:       .*\n)*)", PAGE, re.M)
ROWS = [row for row in ROWS if row[0] != "statement"]
HEADERS = "".join(path.read_text() for path in (TOP / "lib" / "dvq").glob("*.h"))


def declared(name):
    """Is there a test of this name, file::test or a whole file?"""
    file, _, test = name.partition("::")
    found = list((TOP / "test").rglob(file))
    kind = r"^def %s\(" if file.endswith(".py") else r"^%s\(void \*\*"
    return any(not test or re.search(kind % test, path.read_text(), re.M) for path in found)


def test_every_manual_page_has_its_part():
    assert len(ROWS) >= 20
    for page in ("mlx4dv(7)", "mlx4dv_init_obj(3)", "mlx4dv_query_device(3)",
                 "mlx4dv_set_context_attr(3)", "mlx4dv_create_qp()"):
        assert re.search(r"^%s.*\n-+$" % re.escape(page), PAGE, re.M), page


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_row(row):
    tests = re.findall(r"``(\S+?)``", row[2])
    assert tests
    assert [name for name in tests if not declared(name)] == []
    for name in re.findall(r"``(dvq_\w+)\(\)``", row[1]):
        assert re.search(r"\b%s\(" % name, HEADERS), name
