# SPDX-License-Identifier: BSD-3-Clause
"""C unit tests as pytest items: test_x.c is collected like test_x.py.

Each cmocka test of the file is one item; the program runs once, when the first
of them is wanted. One more item, "program", holds the exit status and every
test whose name cannot be read from the source, so that none is missed."""

import json
import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree

import pytest

from mlx4dvlib import build

TIMEOUT = 300
DECLARER = r"cmocka_unit_test\w*"
MACRO = re.compile(r"^#\s*define\s+(\w+)\(.*?\)[\s\\]*" + DECLARER, re.M)


def declared(text):
    """The names of the tests in a source, in order; also those declared through
    a macro that the source defines for that."""
    declarers = "|".join([DECLARER, *MACRO.findall(text)])
    text = re.sub(r"^#\s*define(.*\\\n)*.*", "", text, flags=re.M)
    return list(dict.fromkeys(re.findall(r"\b(?:%s)\s*\(\s*(\w+)" % declarers, text)))


def introspect(what):
    path = build.build_dir() / "meson-info" / ("intro-%s.json" % what)
    return json.loads(path.read_text()) if path.exists() else []


def programs():
    """{source path: (command, environment)} of every program of the build. One
    that meson knows as a test runs as registered there, e.g. on an adapter."""
    registered = {}
    for test in introspect("tests"):
        for word in test["cmd"]:
            registered[str(build.build_dir() / word)] = test["cmd"], test["env"]
    found = {}
    for target in introspect("targets"):
        if target["type"] == "executable":
            program = target["filename"][0]
            for part in target["target_sources"]:
                for source in part.get("sources", []):
                    found[os.path.realpath(source)] = registered.get(program, ([program], {}))
    return found


class CmockaFailure(Exception):
    """What cmocka printed of a failed test."""


class CmockaFile(pytest.File):
    """One test_*.c and the program made of it."""

    _report = None

    def collect(self):
        for name in declared(self.path.read_text()):
            yield CmockaItem.from_parent(self, name=name)
        yield CmockaProgram.from_parent(self, name="program")

    def program(self):
        found = self.config.stash[PROGRAMS].get(os.path.realpath(self.path))
        if found is None:
            raise CmockaFailure("no program of the build has %s among its sources; "
                                "is it in a meson.build?" % self.path)
        return found

    def report(self):
        """Run the program once: (status, output, {test: failure text or None})."""
        if self._report is None:
            command, environment = self.program()
            with tempfile.TemporaryDirectory() as folder:
                environment = dict(os.environ, **environment, CMOCKA_MESSAGE_OUTPUT="XML",
                                   CMOCKA_XML_FILE=os.path.join(folder, "%g.xml"))
                run = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                     errors="replace", timeout=TIMEOUT, cwd=build.build_dir(),
                                     check=False)
                self._report = run.returncode, run.stdout, read_results(folder)
        return self._report


def read_results(folder):
    results = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".xml"):
            continue
        for case in xml.etree.ElementTree.parse(os.path.join(folder, name)).iter("testcase"):
            skipped = case.find("skipped")
            failure = case.find("failure")
            if skipped is not None:
                results[case.get("name")] = pytest.skip.Exception
            else:
                results[case.get("name")] = None if failure is None else failure.text or "failed"
    return results


class CmockaBase(pytest.Item):
    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, (CmockaFailure, subprocess.TimeoutExpired)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, self.name


class CmockaItem(CmockaBase):
    def runtest(self):
        status, output, results = self.parent.report()
        if self.name not in results:
            raise CmockaFailure("%s did not run; the program left with status %d:\n%s"
                                % (self.name, status, output))
        result = results[self.name]
        if result is pytest.skip.Exception:
            pytest.skip("skipped by the program")
        if result is not None:
            raise CmockaFailure("%s\n%s" % (result, output))


class CmockaProgram(CmockaBase):
    def runtest(self):
        status, output, results = self.parent.report()
        failed = [name for name, result in results.items() if isinstance(result, str)]
        if status != 0 or failed:
            raise CmockaFailure("status %d, failed: %s\n%s"
                                % (status, ", ".join(failed) or "none", output))
        if not results:
            raise CmockaFailure("ran no test:\n" + output)


PROGRAMS = pytest.StashKey()
