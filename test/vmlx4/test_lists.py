# SPDX-License-Identifier: BSD-3-Clause
"""What the launcher lists is what the guide says, and what the options take."""

import re
import textwrap

import pytest

from harness import adapter
from mlx4dvlib import build

GUIDE = build.TOP / "doc" / "guides" / "vmlx4"


def listed(name):
    status, stdout, stderr = adapter.run_bounded([build.launcher(), name])
    assert (status, stderr) == (0, "")
    return stdout


@pytest.mark.parametrize("name", ["profiles", "unknowns", "rules", "faults"])
def test_guide_has_the_list(name):
    page = GUIDE / (name + ".rst")
    text = textwrap.indent(listed(name), "   ")
    block = ".. code-block:: none\n   :caption: vmlx4 %s\n\n%s" % (name, text)
    assert (block + "\n") in (page.read_text(encoding="utf-8") + "\n"), \
        "copy this into %s:\n%s" % (page, text)


@pytest.mark.parametrize("name", ["profiles", "unknowns", "rules", "faults"])
def test_one_word_only(name):
    status, stdout, stderr = adapter.run_bounded([build.launcher(), name, "more"])
    assert (status, stdout) == (2, "") and name in stderr


def test_every_default_is_accepted_as_an_option(vmlx4):
    defaults = [re.match(r"(\w+)\s+(\d+)  \S", line).groups()
                for line in listed("unknowns").splitlines()]
    header = (build.TOP / "lib" / "vmlx4" / "hca" / "unknowns.h").read_text()
    assert [name for name, _ in defaults] == re.findall(r"^\tX\((\w+),", header, re.M)
    vmlx4("ibv_devinfo", options=["--unknown=%s=%s" % item for item in defaults]).ok()


def test_table_of_the_contract_names_every_rule():
    page = (GUIDE / "rules.rst").read_text(encoding="utf-8")
    table = page[page.index("\nWhich line of the contract"):]
    named = set(re.findall(r"``([a-z0-9-]+)``", table))
    assert named == set(re.findall(r"^\S+$", listed("rules"), re.M))


def rules_of_the_header():
    header = (build.TOP / "lib" / "vmlx4" / "check" / "check.h").read_text()
    return re.findall(r"^\t(VMLX4_RULE_\w+),", header, re.M)


def test_every_rule_of_the_header_is_in_the_list():
    names = re.findall(r"^\S+$", listed("rules"), re.M)
    assert len(names) == len(set(names)) == len(rules_of_the_header())


@pytest.mark.parametrize("rule", rules_of_the_header())
def test_a_test_breaks_the_rule(rule):
    """"reported" is what sees that rule, and no other, after it was broken."""
    sources = (build.TOP / "test" / "vmlx4" / "check").glob("test_*.c")
    assert any(re.search(r"\breported\(\w+, %s\)" % rule, source.read_text())
               for source in sources)


def test_all_in_one_place():
    whole = adapter.run_bounded([build.launcher(), "list"])
    assert (whole[0], whole[2]) == (0, "")
    for name in ("profiles", "options", "rules", "unknowns", "faults"):
        status, stdout, stderr = adapter.run_bounded([build.launcher(), "list", name])
        assert (status, stderr) == (0, "") and len(stdout.splitlines()) >= 7
        assert stdout in whole[1]
        if name != "options":
            assert listed(name) == stdout
    options = adapter.run_bounded([build.launcher(), "list", "options"])[1]
    assert options in adapter.run_bounded([build.launcher(), "exec", "--help"])[1]


def test_refuses_what_is_no_list():
    for arguments, words in ((["colours"], ["colours", "--help"]),
                             (["rules", "faults"], ["faults", "one list"])):
        status, stdout, stderr = adapter.run_bounded([build.launcher(), "list", *arguments])
        assert (status, stdout, stderr.count("\n")) == (2, "", 1)
        assert all(word in stderr for word in words)
