# SPDX-License-Identifier: BSD-3-Clause
"""Device arguments as dpdk-pmdinfo.py lists them: those that the code knows, each in the
guide. What they do and refuse is in test/pmd/devargs.c."""

import json
import pathlib
import re
import subprocess

import pytest

from mlx4dvlib import build, testpmd

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "drivers" / "net" / "mlx4dv"
GUIDES = ROOT / "doc" / "guides" / "nics"

if not build.driver().exists():
    pytest.skip("the driver is not part of this build", allow_module_level=True)


@pytest.fixture(scope="module")
def listed():
    done = subprocess.run(["dpdk-pmdinfo.py", build.driver()], check=True, text=True, timeout=60,
                          stdout=subprocess.PIPE)
    return {driver["name"]: driver for driver in json.loads(done.stdout)}


def parameters(driver):
    return re.findall(r"(\w+)=<.*?>", driver["params"])


def described(guide):
    """The arguments that the section of a guide has an entry for."""
    text = (GUIDES / guide).read_text()
    section = text[text.index("Device arguments\n---"):]
    section = section[:section.index("\n---", 40)]
    return re.findall(r"^``(\w+)(?:=\S+)?``", section, re.M)


def test_both_drivers_are_listed(listed):
    assert sorted(listed) == [testpmd.OURS, testpmd.OURS_PCI]
    ids = [(one["vendor"], one["device"]) for one in listed[testpmd.OURS_PCI]["pci_ids"]]
    assert ids == [("15b3", "1003"), ("15b3", "1004"), ("15b3", "1007")]
    assert "mlx4_ib" in listed[testpmd.OURS_PCI]["kmod"]
    assert "pci_ids" not in listed[testpmd.OURS]


def test_arguments_are_those_of_the_code_and_the_guide(listed):
    known = re.findall(r'^#define MDV_ARG_\w+ "(\w+)"',
                       (SOURCE / "mlx4dv_devargs.h").read_text(), re.M)
    assert sorted(parameters(listed[testpmd.OURS])) == sorted(known)
    assert sorted(parameters(listed[testpmd.OURS_PCI])) == sorted(set(known) - {"device"})
    assert described("mlx4dv.rst") == parameters(listed[testpmd.OURS])
    assert sorted(described("mlx4dv_migration.rst")) == sorted(known)


@pytest.mark.parametrize("devargs, said", [
    ("port=0", "port=0: want 1 or 2, the adapter's ports count from 1"),
    ("port=1,port=1", "port=1 is given twice"),
    ("device=mlx4_0", 'unknown argument "device": the arguments are port='),
    ("mr_ext_memseg_en=yes", "mr_ext_memseg_en=yes: want 1"),
    ("tx_inline=225", "tx_inline=225: want the bytes of the longest frame"),
    ("tx_inline=all", "tx_inline=all: want the bytes of the longest frame"),
    ("tx_blueflame=1", "tx_blueflame=1 is for frames inside their work requests"),
])
def test_bad_arguments_by_pci_address(vmlx4, devargs, said):
    preload, eal = testpmd.driver_arguments(pci=True, devargs=devargs)
    done = vmlx4("dpdk-testpmd", *testpmd.lcores(), "--no-huge", "-m", 128, "--no-shconf",
                 "--no-telemetry", *eal, "--", "--total-num-mbufs=2048", options=preload)
    assert "net_mlx4dv: %s: %s" % (build.PCI_ADDRESS, said) in done.stdout + done.stderr, done
