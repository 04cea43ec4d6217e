# SPDX-License-Identifier: BSD-3-Clause
"""What the threads of a program are at, for the report of one that hangs."""

import os
import shutil
import subprocess

FIELDS = ("comm", "wchan", "syscall")


def _read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "?"


def family(pid):
    """A process and all that came of it."""
    found = [pid]
    try:
        for thread in os.listdir("/proc/%d/task" % pid):
            for child in _read("/proc/%d/task/%s/children" % (pid, thread)).split():
                if child.isdigit():
                    found += family(int(child))
    except OSError:
        pass
    return found


def _stacks(pid):
    """As gdb shows them, where it is installed and may look."""
    if shutil.which("gdb") is None:
        return ""
    try:
        done = subprocess.run(
            ["gdb", "-q", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-p", str(pid),
             "-ex", "thread apply all backtrace 16"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30, check=False)
    except subprocess.TimeoutExpired:
        return "gdb: no answer\n"
    return done.stdout.decode(errors="replace")[-12000:]


def describe(pid):
    """Each thread of a process and its children: name, state, CPU, time used, where it
    waits, its system call; and its stack if gdb is there."""
    lines = []
    for process in family(pid):
        try:
            threads = sorted(os.listdir("/proc/%d/task" % process), key=int)
        except OSError:
            continue
        lines.append("process %d: %s" % (
            process, _read("/proc/%d/cmdline" % process).replace("\0", " ")[:200]))
        for thread in threads:
            folder = "/proc/%d/task/%s/" % (process, thread)
            # Behind the name, which may hold anything: field 3 is the state.
            stat = _read(folder + "stat").rpartition(")")[2].split()
            if len(stat) < 37:
                continue
            lines.append("  thread %s state %s cpu %s user %s system %s (ticks) %s" % (
                thread, stat[0], stat[36], stat[11], stat[12],
                " ".join("%s=%s" % (name, _read(folder + name)) for name in FIELDS)))
        lines.append(_stacks(process))
    return "\n".join(lines)
