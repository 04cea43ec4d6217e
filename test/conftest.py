# SPDX-License-Identifier: BSD-3-Clause
"""The fixtures. BUILD_DIR names the build under test; each test runs alone and
in any order, and leaves no process, namespace or interface behind."""

import collections
import os
import pathlib
import signal
import sys

import pytest

TEST = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(TEST), str(TEST.parent / "usertools")]

from harness import adapter, cmocka, examples, hugepages as hugepages_module  # noqa: E402
from harness import netns  # noqa: E402
from mlx4dvlib import build, testpmd as testpmd_module  # noqa: E402

FINDINGS = pytest.StashKey()


class FailuresAtOnce:
    """A line for each as it comes: a run that is cut off, or hangs later, has named them."""

    def __init__(self, config):
        self.config = config

    def pytest_runtest_logreport(self, report):
        if not report.failed:
            return
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        crash = getattr(report.longrepr, "reprcrash", None)
        why = crash.message.splitlines()[:1] if crash else []
        terminal.write_line("\n" + " ".join(["FAILED", report.nodeid, *why]))


def pytest_configure(config):
    if build.missing():
        raise pytest.UsageError(build.missing())
    # Ignored in a run behind "&", and so in all that it starts: which then does not end by them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailuresAtOnce(config))
    config.stash[cmocka.PROGRAMS] = cmocka.programs()
    config.stash[FINDINGS] = []


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".c" and file_path.name.startswith("test_"):
        return cmocka.CmockaFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from harness import parallel
    return parallel.Scheduling(config, log)


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        # The largest share first: the others fill the rest of the time.
        from harness import parallel
        items.sort(key=lambda item: parallel.share(item.nodeid) != parallel.WHOLE_MACHINE)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["findings"] = session.config.stash[FINDINGS]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    found = getattr(node, "workeroutput", {}).get("findings", [])
    node.config.stash[FINDINGS].extend(tuple(finding) for finding in found)


def pytest_report_header():
    return "build: %s%s" % (build.build_dir(), ", sanitized" if build.sanitized() else "")


@pytest.fixture
def vmlx4(tmp_path):
    """Run a program on a virtual adapter: vmlx4("ibv_devinfo", "-v").ok()."""
    return adapter.Adapter(tmp_path)


@pytest.fixture
def testpmd(tmp_path):
    """Start testpmds: testpmd(driver=…, options=["--wire1=…"], …), strict and
    killed at the end of the test. See mlx4dvlib.testpmd.command()."""
    started = []

    def start(strict=True, **arguments):
        options = list(arguments.pop("options", ()))
        options += ["--stats=%s" % (tmp_path / ("adapter%d.json" % len(started)))]
        options += ["--strict"] if strict else []
        popen = {"cwd": str(tmp_path), "env": dict(os.environ, TMPDIR=str(tmp_path))}
        pmd = testpmd_module.Testpmd(options=options, popen=popen, **arguments)
        pmd.counters = tmp_path / ("adapter%d.json" % len(started))
        started.append(pmd)
        return pmd

    yield start
    for pmd in started:
        pmd.kill()


@pytest.fixture
def hugepages(tmp_path):
    """Memory that DPDK processes share, where the machine has any."""
    if os.geteuid() != 0:
        pytest.skip("huge pages need root")
    try:
        made = hugepages_module.Hugepages(tmp_path / "huge", 400)
    except hugepages_module.Unavailable as why:
        pytest.skip(str(why))
    yield made
    made.close()


@pytest.fixture
def network():
    """Namespaces, veths and TAPs that go with the test."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    made = netns.Network()
    yield made
    made.close()


@pytest.fixture(scope="session")
def example(tmp_path_factory):
    """An example of DPDK's by its folder: example("l2fwd"), compiled."""
    try:
        return examples.Examples(tmp_path_factory.mktemp("examples"))
    except examples.Absent as why:
        return pytest.skip(str(why))


@pytest.fixture(scope="session")
def finding(request):
    """Add a line to the section "clients" at the end of the run, on other people's
    programs: finding("ibv_devices", "1 device"). The same line again is counted."""
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
