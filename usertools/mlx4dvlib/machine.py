# SPDX-License-Identifier: BSD-3-Clause
"""Which machine, and which versions, a figure is of."""

import datetime
import os
import pathlib
import re
import subprocess

from . import build


def _first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False, cwd=build.TOP)
    except OSError:
        return None
    return next(iter(done.stdout.splitlines()), None) if done.returncode == 0 else None


def _cpuinfo(name):
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    match = re.search(r"^%s\s*: (.*)$" % name, text, re.M)
    return match[1] if match else None


def compiler():
    """That built our driver, which says so itself: "gcc 12.2.0"; None without a build."""
    if not build.driver().exists():
        return None
    text = build.driver().read_bytes()
    # A library made by clang also has the start-up code of gcc in it.
    for name, mark in (("clang", rb"clang version ([\d.]+)"), ("gcc", rb"GCC: \([^)]*\) ([\d.]+)")):
        found = re.search(mark, text)
        if found:
            return "%s %s" % (name, found[1].decode())
    return None


def describe():
    """A flat dictionary, for people and for "machine" in JSON."""
    system = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    return {
        "processor": _cpuinfo("model name") or os.uname().machine,
        "mhz": float(_cpuinfo("cpu MHz") or 0),
        "cpus": len(os.sched_getaffinity(0)),
        "system": re.search(r'^PRETTY_NAME="?([^"\n]*)', system, re.M)[1],
        "kernel": os.uname().release,
        "compiler": compiler(),
        "dpdk": _first_line("pkg-config", "--modversion", "libdpdk"),
        "rdma_core": _first_line("dpkg-query", "-W", "-f", "${Version}", "ibverbs-providers"),
        "commit": _first_line("git", "describe", "--always", "--dirty"),
        "date": datetime.date.today().isoformat(),
        "load": round(os.getloadavg()[0], 1),
    }
