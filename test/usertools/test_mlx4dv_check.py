# SPDX-License-Identifier: BSD-3-Clause
"""mlx4dv-check on virtual adapters with a fault each, where it opens and tries what a
real host would have, and on copies of a host's files for what no adapter can fake."""

import errno
import importlib.machinery
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

import pytest

from harness.adapter import run_bounded
from mlx4dvlib import build

SCRIPT = build.TOP / "usertools" / "mlx4dv-check"
MAN = build.TOP / "doc" / "man" / "mlx4dv-check.1"
PCI = "sys/bus/pci/devices/0000:05:00.0"


class Report:
    def __init__(self, status, stdout, stderr=""):
        assert stderr == "", stderr
        found = json.loads(stdout)
        self.status, self.worst = status, found["status"]
        self.checks = {check["name"]: check for check in found["checks"]}
        assert len(self.checks) == len(found["checks"]), "a name twice: " + stdout
        assert status == (1 if self.worst == "fail" else 0), stdout
        # What is wrong says how to mend it; what is right does not.
        for check in found["checks"]:
            assert bool(check["cure"]) == (check["status"] != "ok"), check
            assert check["seen"], check

    def failed(self):
        return {name for name, check in self.checks.items() if check["status"] == "fail"}

    def is_wrong(self, name, seen, cure, status="fail"):
        check = self.checks[name]
        assert check["status"] == status, check
        assert re.search(seen, check["seen"]), check
        assert re.search(cure, check["cure"]), check


def driver():
    return ["--driver", build.driver()]


@pytest.fixture(autouse=True)
def no_leaks_of_python(monkeypatch):
    """Under a sanitized adapter; Python frees little at its end."""
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")


@pytest.fixture
def check(vmlx4):
    """check("--ib=2", …): what the script says on such an adapter."""
    def run(*options, arguments=(), **popen):
        done = vmlx4(SCRIPT, "--json", *driver(), *arguments, options=options, **popen)
        return Report(done.status, done.stdout, done.stderr)
    return run


def test_a_good_adapter(check):
    report = check()
    assert report.failed() == set()
    good = {name for name, one in report.checks.items() if one["status"] == "ok"}
    assert good >= {
        "module mlx4_core", "module mlx4_en", "module mlx4_ib", "module ib_uverbs",
        "card 0000:05:00.0", "mlx4 provider", "device node uverbs0", "firmware mlx4_0",
        "flow steering mlx4_0", "port 1 of mlx4_0", "port 2 of mlx4_0", "lockable memory",
        "CAP_NET_RAW", "DPDK"}
    assert report.checks["firmware mlx4_0"]["seen"] == "2.42.5000"
    assert "MTU 1500, up" in report.checks["port 2 of mlx4_0"]["seen"]
    assert "64 MB can be registered" in report.checks["lockable memory"]["seen"]
    assert re.search(r"for DPDK \d\d\.\d\d", report.checks["driver"]["seen"]) or \
        report.checks["driver"]["status"] == "warn"


@pytest.mark.parametrize("option, failed, seen, cure", [
    ("--no-cap=CAP_NET_RAW", "CAP_NET_RAW", "ibv_create_qp: Operation not permitted",
     "setcap cap_net_raw|--cap-add=NET_RAW"),
    ("--memlock=33554432", "lockable memory", "64 MB cannot be registered: ibv_reg_mr: ",
     r"ulimit -l unlimited|--ulimit memlock=-1"),
    ("--deny-open", "device node uverbs0", "/dev/infiniband/uverbs0: Permission denied",
     "sudo chmod 0666 /dev/infiniband/uverbs0"),
])
def test_a_fault_of_the_host(check, option, failed, seen, cure):
    report = check(option)
    assert report.failed() == {failed}
    report.is_wrong(failed, seen, cure)


def test_a_smaller_trial(check):
    """The limit stands in the way of what is asked for, and of no less."""
    report = check("--memlock=33554432", arguments=["--memory", 16])
    assert report.failed() == set()
    assert "16 MB can be registered" in report.checks["lockable memory"]["seen"]


def test_old_firmware(check):
    report = check("--profile=cx3-old-fw")
    assert report.failed() == {"firmware mlx4_0", "flow steering mlx4_0"}
    report.is_wrong("firmware mlx4_0", r"2\.33\.5100 of board MT_1080120023; 2\.42\.5000 or later",
                    "mstflint -d 0000:05:00.0 -i FILE burn")
    report.is_wrong("flow steering mlx4_0", r"not managed .*\(log_num_mgm_entry_size=10\)",
                    "options mlx4_core log_num_mgm_entry_size=-1")


def test_infiniband_ports(check):
    report = check("--ib=2")
    assert report.failed() == set()
    report.is_wrong("port 2 of mlx4_0", "link layer InfiniBand",
                    "echo eth .*/0000:05:00.0/mlx4_port2", "warn")
    report = check("--ib=1", "--ports=1")
    assert report.failed() == {"port 1 of mlx4_0"}


def test_no_carrier(check, tmp_path):
    report = check("--wire1=unix:%s" % (tmp_path / "nobody"))
    report.is_wrong("port 1 of mlx4_0", "vmlx4p1, MTU 1500, up, no carrier", "cable", "warn")
    assert report.checks["port 2 of mlx4_0"]["status"] == "ok"


def test_missing_files(vmlx4):
    """A module away, and the interfaces in another namespace."""
    program = "rm -r $SYSFS_PATH/module/mlx4_en $SYSFS_PATH/bus/pci/devices/*/net; exec %s --json" \
        % SCRIPT
    done = vmlx4("sh", "-c", program)
    report = Report(done.status, done.stdout)
    assert report.failed() >= {"module mlx4_en", "port 1 of mlx4_0", "port 2 of mlx4_0"}
    report.is_wrong("module mlx4_en", "not loaded", "^sudo modprobe mlx4_en$")
    report.is_wrong("port 1 of mlx4_0", "namespace", "modprobe mlx4_en|--network=host")


def test_no_device_node(vmlx4, tmp_path):
    """The tree of an adapter that is not there: sysfs tells of a device without a node."""
    vmlx4("true", options=["--sysfs=%s" % (tmp_path / "sysfs")]).ok()
    done = run_bounded([SCRIPT, "--json"], env=dict(os.environ, SYSFS_PATH=str(tmp_path / "sysfs")))
    report = Report(*done)
    report.is_wrong("device node uverbs0", "No such file",
                    "modprobe ib_uverbs|docker run --device=/dev/infiniband/uverbs0")


@pytest.fixture
def host(vmlx4, tmp_path):
    """A copy of the files of a good host, to spoil, and what the script says of it."""
    root = tmp_path / "root"
    root.mkdir()
    vmlx4("true", options=["--sysfs=%s" % (root / "sys")]).ok()
    put(root, "proc/meminfo", "HugePages_Total:     512\nHugePages_Free:      400\n"
                              "Hugepagesize:       2048 kB\n")
    put(root, "proc/mounts", "none /mnt/huge hugetlbfs rw 0 0\n")
    put(root, "proc/self/status", "Name:\tpython3\nCapEff:\t000001ffffffffff\n")
    put(root, "dev/infiniband/uverbs0", "")
    put(root, "etc/libibverbs.d/mlx4.driver", "driver mlx4\n")
    return root


def put(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def look(root):
    return Report(*run_bounded([SCRIPT, "--json", "--root", root]))


def rebind(root):
    (root / PCI / "driver").unlink()
    (root / PCI / "driver").symlink_to("../../drivers/vfio-pci")


def unbind(root):
    (root / PCI / "driver").unlink()


def no_verbs(root):
    shutil.rmtree(root / PCI / "infiniband")


def no_card(root):
    shutil.rmtree(root / PCI)


def another_card(root):
    (root / PCI / "device").write_text("0x1013\n")


def no_provider(root):
    (root / "etc/libibverbs.d/mlx4.driver").unlink()


def no_node(root):
    (root / "dev/infiniband/uverbs0").unlink()


def no_node_in_docker(root):
    no_node(root)
    put(root, ".dockerenv", "")


def no_module(name):
    """Loaded or not, it is at work as long as what it makes is there."""
    def spoil(root):
        shutil.rmtree(root / "sys/module" / name)
        shutil.rmtree(root / PCI / {"mlx4_en": "net", "mlx4_ib": "infiniband",
                                    "ib_uverbs": "infiniband_verbs"}[name])
    return spoil


def parameter(value):
    return lambda root: put(root, "sys/module/mlx4_core/parameters/log_num_mgm_entry_size", value)


def no_capability(root):
    put(root, "proc/self/status", "CapEff:\t0000000000004000\n")


def no_capability_in_podman(root):
    no_capability(root)
    put(root, "run/.containerenv", "")


def down(root):
    (root / PCI / "net/vmlx4p2/operstate").write_text("down\n")


def no_pages(root):
    put(root, "proc/meminfo", "HugePages_Total:       0\nHugePages_Free:        0\n")


def pages_taken(root):
    put(root, "proc/meminfo",
        "HugePages_Total:  8\nHugePages_Free:  0\nHugepagesize:  2048 kB\n")


def not_mounted(root):
    put(root, "proc/mounts", "proc /proc proc rw 0 0\n")


def test_a_good_copy(host):
    report = look(host)
    assert report.worst == "ok", report.checks
    assert report.checks["huge pages"]["seen"] == "400 of 512 free, of 2 MB, mounted at /mnt/huge"
    assert report.checks["container"]["seen"] == "none"


@pytest.mark.parametrize("spoil, name, status, seen, cure", [
    (rebind, "card 0000:05:00.0", "fail", "held by vfio-pci", "--bind=mlx4_core 0000:05:00.0"),
    (unbind, "card 0000:05:00.0", "fail", "no kernel driver", "modprobe mlx4_core"),
    (no_verbs, "card 0000:05:00.0", "fail", "without a verbs device", "modprobe mlx4_ib"),
    (no_card, "card", "fail", "no ConnectX-3", "lspci -d 15b3:"),
    (another_card, "card", "fail", "no ConnectX-3", "lspci -d 15b3:"),
    (no_provider, "mlx4 provider", "fail", "no mlx4.driver", "install ibverbs-providers"),
    (no_node, "device node uverbs0", "fail", "No such file", "modprobe ib_uverbs"),
    (no_node_in_docker, "device node uverbs0", "fail", "in this container .docker.",
     "docker run --device=/dev/infiniband/uverbs0"),
    (no_module("mlx4_en"), "module mlx4_en", "fail", "not loaded", "modprobe mlx4_en"),
    (no_module("mlx4_ib"), "module mlx4_ib", "fail", "not loaded", "modprobe mlx4_ib"),
    (no_module("ib_uverbs"), "module ib_uverbs", "fail", "not loaded", "modprobe ib_uverbs"),
    (parameter("10"), "flow steering mlx4_0", "fail", "log_num_mgm_entry_size=10",
     "log_num_mgm_entry_size=-1"),
    (parameter("-7"), "flow steering mlx4_0", "warn", "optimised", "log_num_mgm_entry_size=-1"),
    (no_capability, "CAP_NET_RAW", "fail", "not held", "setcap cap_net_raw"),
    (no_capability_in_podman, "CAP_NET_RAW", "fail", "not held", "--cap-add=NET_RAW"),
    (no_capability, "CAP_NET_ADMIN", "warn", "not held", "setcap cap_net_admin"),
    (down, "port 2 of mlx4_0", "warn", "vmlx4p2, MTU 1500, down", "ip link set vmlx4p2 up"),
    (no_pages, "huge pages", "warn", "none", "dpdk-hugepages.py --setup"),
    (pages_taken, "huge pages", "warn", "all are taken", "dpdk-hugepages.py --setup"),
    (not_mounted, "huge pages", "warn", "not mounted", "dpdk-hugepages.py --mount"),
])
def test_a_spoilt_copy(host, spoil, name, status, seen, cure):
    spoil(host)
    look(host).is_wrong(name, seen, cure, status)


def test_a_limit_on_memory(host):
    put(host, "proc/self/status", "CapEff:\t0000000000000000\n")
    status, stdout, _ = run_bounded(["sh", "-c", "ulimit -l 64; exec %s --json --root %s" % (
        SCRIPT, host)])
    Report(status, stdout).is_wrong("lockable memory", "limit 64 kB; mempools take 64 MB",
                                    "ulimit -l unlimited")


@pytest.mark.parametrize("text, status, seen", [
    (b"net_mlx4dv was built for DPDK 21.11\0", "fail", "was built for DPDK 21.11, and refuses"),
    (b"\x7fELF", "fail", "is not this driver"),
    (None, "fail", "is not there"),
])
def test_a_wrong_driver(vmlx4, tmp_path, text, status, seen):
    path = tmp_path / "librte_net_mlx4dv.so"
    if text is not None:
        path.write_bytes(text)
    done = vmlx4(SCRIPT, "--json", "--driver", path)
    Report(done.status, done.stdout).is_wrong("driver", seen, "mlx4dv-check --driver|meson",
                                              status)


# ---- what neither an adapter nor a copy of files can show ----

@pytest.fixture
def script():
    loader = importlib.machinery.SourceFileLoader("mlx4dv_check", str(SCRIPT))
    module = types.ModuleType(loader.name)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


@pytest.fixture
def card():
    return types.SimpleNamespace(node="uverbs0", ibdev="mlx4_0", name="mlx4_0",
                                 address="0000:05:00.0")


def one(found, name, status, seen, cure=""):
    checks = {check.name: check for check in found}
    assert checks[name].status == status, checks
    assert re.search(seen, checks[name].seen), checks
    assert re.search(cure, checks[name].cure), checks


@pytest.mark.parametrize("number, seen, cure", [
    (errno.EPERM, "the cgroup of this container lets no process open it", "docker run --device="),
    (errno.ENXIO, "No such device or address", "dmesg"),
])
def test_a_node_that_does_not_open(script, card, monkeypatch, number, seen, cure):
    def refuse(*_):
        raise OSError(number, os.strerror(number))
    monkeypatch.setattr(script.os, "open", refuse)
    monkeypatch.setattr(script.Host, "container", lambda host: None)
    one(script.check_node(script.Host(), card), "device node uverbs0", "fail", seen, cure)


def test_libraries(script, card):
    live = script.Host()
    one(script.check_provider(live, None, [card]), "libibverbs", "fail", "cannot be loaded",
        "install libibverbs1 ibverbs-providers")
    knows = types.SimpleNamespace(devices=lambda: {"mlx4_0": None})
    one(script.check_provider(live, knows, [card]), "mlx4 provider", "ok", "knows the card")
    other = types.SimpleNamespace(devices=lambda: {"mlx5_0": None})
    one(script.check_provider(live, other, [card]), "mlx4 provider", "fail",
        "no driver for mlx4_0", "install ibverbs-providers")


@pytest.mark.parametrize("managed, value, status, seen", [
    (True, "-1", "ok", "managed by the device"),
    (True, "", "ok", "not readable"),
    (True, "-7", "warn", "optimised"),
    (False, "-1", "fail", "the firmware cannot"),
    (False, "10", "fail", "no packet can be steered here"),
    (False, "", "fail", "no packet can be steered here"),
    (None, "-1", "ok", "managed by the device"),
    (None, "10", "fail", "no packet can be steered here"),
    (None, "", "warn", "not readable"),
])
def test_steering(script, card, tmp_path, managed, value, status, seen):
    put(tmp_path, "sys/module/mlx4_core/parameters/log_num_mgm_entry_size", value)
    attr = None if managed is None else types.SimpleNamespace(
        device_cap_flags=managed << 29)
    one(script.check_steering(script.Host(tmp_path), card, attr), "flow steering mlx4_0", status,
        seen)


@pytest.mark.parametrize("folder, mode, status, seen", [
    ("mlx4dv", 0o755, "ok", "for DPDK 22.11"),
    ("dpdk/pmds-23.0", 0o755, "warn", "beside net_mlx4, which may be asked first"),
    ("mlx4dv", 0o777, "warn", "EAL loads nothing .-d. from below"),
])
def test_where_the_driver_lies(script, tmp_path, monkeypatch, folder, mode, status, seen):
    put(tmp_path, folder + "/librte_net_mlx4dv.so", "net_mlx4dv was built for DPDK 22.11")
    tmp_path.chmod(mode)
    monkeypatch.setattr(script, "world_writable", lambda path: next(
        (parent for parent in path.parents if parent.stat().st_mode & 2
         and tmp_path in (parent, *parent.parents)), None))
    given = str(tmp_path / folder / "librte_net_mlx4dv.so")
    one(script.check_dpdk(given, "DPDK 22.11.11"), "driver", status, seen)
    one(script.check_dpdk(given, None), "DPDK", "fail", "cannot be found", "install dpdk")
    one(script.check_dpdk(given, "DPDK 23.03.0"), "driver", "fail", "refuses to run on DPDK 23.03")


def test_the_nearest_folder_of_everybody(script, tmp_path):
    put(tmp_path, "one/two/file", "")
    (tmp_path / "one").chmod(0o777)
    assert script.world_writable(tmp_path / "one/two/file") == tmp_path / "one"


@pytest.mark.parametrize("version, status", [
    ("2.42.5000", "ok"), ("2.42.5044", "ok"), ("2.43.0", "ok"), ("2.42.4999", "fail"),
    ("2.9.9999", "fail"), ("1.99.9999", "fail"), ("", "warn"),
])
def test_firmware(script, card, version, status):
    card.attribute = lambda name: version if name == "fw_ver" else "MT_1"
    one(script.check_firmware(card, None), "firmware mlx4_0", status, "")


def test_for_a_reader(host):
    """A line for a check, a line that mends it below, and the sum."""
    no_provider(host)
    status, stdout, stderr = run_bounded([SCRIPT, "--root", host])
    assert (status, stderr) == (1, "")
    lines = stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("fail  mlx4 provider "))
    assert lines[at + 1].strip().startswith("mend: sudo apt-get install ibverbs-providers")
    assert re.fullmatch(r"not ready: \d+ checks, 1 failed, 0 warnings", lines[-1])


@pytest.mark.parametrize("arguments, complaint", [
    (["--memory", "0"], "--memory 0: give 1 to"),
    (["--memory", "x"], "--memory: invalid int value: 'x'"),
    (["--root", "/nowhere"], "--root /nowhere: give a folder"),
    (["more"], "unrecognized arguments: more"),
])
def test_wrong_options(arguments, complaint):
    status, stdout, stderr = run_bounded([SCRIPT, *arguments])
    assert (status, stdout) == (2, "")
    assert complaint in stderr


def test_man_page():
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", MAN], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    helped = set(re.findall(r"^  (?:-h, )?--(\w+)", run_bounded([SCRIPT, "--help"])[1], re.M))
    assert set(re.findall(r"^\.It Fl Fl (\w+)", MAN.read_text(), re.M)) == helped


def test_is_installed():
    done = subprocess.run(["meson", "introspect", "--installed", build.build_dir()], text=True,
                          stdout=subprocess.PIPE, check=True)
    installed = {pathlib.Path(path).name: where for path, where in
                 json.loads(done.stdout).items()}
    assert installed["mlx4dv-check"].endswith("/bin/mlx4dv-check")
    assert installed["mlx4dv-check.1"].endswith("/man1/mlx4dv-check.1")
