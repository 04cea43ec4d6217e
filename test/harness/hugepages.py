# SPDX-License-Identifier: BSD-3-Clause
"""Huge pages for DPDK programs that share memory. Nothing else here needs any."""

import fcntl
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from mlx4dvlib import build

COUNT = pathlib.Path("/proc/sys/vm/nr_hugepages")
FREE = "HugePages_Free:"
SIZE = "Hugepagesize:"
LOCK = pathlib.Path(tempfile.gettempdir()) / "mlx4dv-hugepages.lock"


class Unavailable(Exception):
    """Why there are none."""


def skip_if_sanitized():
    """A sanitizer has its own memory where a secondary process needs that of the primary."""
    if build.sanitized():
        pytest.skip("a sanitizer's memory lies where processes would share theirs")


def meminfo(name):
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


class Hugepages:
    """A mounted folder with at least so many megabytes of them, while it is open.
    One at a time on a machine: how many pages there are is set for all of it."""

    def __init__(self, folder, megabytes):
        self.folder = folder
        self.prefix = folder.parent.name
        self._before = None
        self._lock = LOCK.open("w", encoding="ascii")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        size = meminfo(SIZE) / 1024
        if size != 2:
            self._lock.close()
            raise Unavailable("the huge pages of this kernel are not of 2 MB")
        missing = megabytes // 2 - meminfo(FREE)
        try:
            if missing > 0:
                before = int(COUNT.read_text())
                COUNT.write_text(str(before + missing))
                self._before = before
            if meminfo(FREE) < megabytes // 2:
                raise Unavailable("the kernel has no %d MB of huge pages" % megabytes)
            folder.mkdir()
            subprocess.run(["mount", "-t", "hugetlbfs", "none", folder], check=True,
                           stderr=subprocess.PIPE)
        except (OSError, subprocess.CalledProcessError) as error:
            self.close()
            raise Unavailable("huge pages cannot be reserved here: %s" % error) from error
        except Unavailable:
            self.close()
            raise

    def eal(self):
        """EAL arguments of programs that share this memory."""
        return ["--huge-dir", str(self.folder), "--file-prefix", self.prefix]

    def close(self):
        subprocess.run(["umount", "-l", self.folder], stderr=subprocess.DEVNULL, check=False)
        if self._before is not None:
            COUNT.write_text(str(self._before))
        shutil.rmtree("/var/run/dpdk/" + self.prefix, ignore_errors=True)
        self._lock.close()
