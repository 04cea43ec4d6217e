# SPDX-License-Identifier: BSD-3-Clause
"""The man pages of libdvq have every function of its headers, and are well-formed."""

import re
import subprocess

import pytest

from mlx4dvlib import build

PAGES = sorted((build.TOP / "doc" / "man").glob("*.3"))
HEADERS = (build.TOP / "lib" / "dvq").glob("dvq*.h")
# What a header has between /** and */ is part of the interface; then its declaration.
DECLARED = re.compile(r"/\*\*((?:[^*]|\*(?!/))*)\*/\n(?:#define (\w+)\(|((?:[^;{}#/]|\n)*?)"
                      r"\b(dvq_\w+)\((?:[^;{}]|\n)*?\)\s*[;{])")


def interface():
    for path in HEADERS:
        text = re.sub(r"/\*(?!\*)(?:[^*]|\*(?!/))*\*/", "", path.read_text())
        for found in DECLARED.finditer(text):
            name = found[2] or found[4]
            if name.startswith("dvq_") and not name.startswith("dvq_barrier_"):
                yield name


FUNCTIONS = set(interface())


def described(page):
    return re.findall(r"^\.Fo (\w+)$", page.read_text(), re.M)


def test_the_headers_are_understood():
    assert {"dvq_open", "dvq_post_send", "dvq_locked", "dvq_cq_poll_batch", "dvq_rq_publish",
            "dvq_syndrome_str"} <= FUNCTIONS
    assert len(FUNCTIONS) > 100


def test_every_function_has_a_page():
    assert FUNCTIONS - {name for page in PAGES for name in described(page)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page):
    """Well-formed; of functions that there are, each in the list of names as well."""
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    text = page.read_text()
    assert set(described(page)) <= FUNCTIONS
    names = re.search(r"^\.Sh NAME$(.*?)^\.Nd", text, re.M | re.S)[1]
    assert set(described(page)) <= set(re.findall(r"^\.Nm (\w+)", names, re.M))
    for other in re.findall(r"^\.Xr (lib\w+|dvq\w+) 3", text, re.M):
        assert page.with_name(other + ".3").exists(), other


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "libdvq"],
                         ids=lambda page: page.stem)
def test_page_says_what_fails(page):
    text = page.read_text()
    assert ".Sh RETURN VALUES" in text
    assert page.stem in ("dvq_lock", "dvq_cq") or ".Sh ERRORS" in text


def without_comments(text):
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


def structures(text):
    return {found[1]: without_comments(found[0])
            for found in re.finditer(r"^struct (dvq_\w+) \{\n.*?^\};$", text, re.M | re.S)}


HEADER_TEXT = "".join(path.read_text() for path in (build.TOP / "lib" / "dvq").glob("dvq*.h"))


def test_structures_are_shown():
    """What a program fills in and reads itself, as the headers have it."""
    declared, shown = structures(HEADER_TEXT), {}
    for page in PAGES:
        shown.update(structures(page.read_text()))
    assert {"dvq_open_request", "dvq_sge", "dvq_atomic", "dvq_bind", "dvq_wc",
            "dvq_device"} <= set(shown)
    assert shown == {name: declared[name] for name in shown}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_constants_exist(page):
    known = set(re.findall(r"\bDVQ_[A-Z0-9_]+", HEADER_TEXT))
    named = set(re.findall(r"\bDVQ_[A-Z0-9_]*[A-Z0-9]", page.read_text()))
    assert named - {page.stem.upper()} <= known


def test_constants_of_a_wqe_and_a_cqe_are_named():
    text = "".join(page.read_text() for page in PAGES)
    wanted = re.findall(r"#define (DVQ_(?:OP|CQE_ST|WC|BIND|CTRL_INS)_\w+) ", HEADER_TEXT)
    assert len(wanted) > 30
    assert [name for name in wanted if name not in text] == []


def test_pages_are_installed():
    done = subprocess.run(["meson", "introspect", "--installed", build.build_dir()], text=True,
                          stdout=subprocess.PIPE, check=True)
    for page in PAGES:
        assert "man3/" + page.name in done.stdout
