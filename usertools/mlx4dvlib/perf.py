# SPDX-License-Identifier: BSD-3-Clause
"""What a burst costs: runs of mlx4dv-perf-run, a process for each driver and round,
and what they found."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

from . import build, testpmd

OURS, STOCK, VERBS, FLOOR = "net_mlx4dv", "net_mlx4", "verbs", "floor"
# All others: a driver of DPDK, "ethdev".
SUBJECTS = {VERBS: "verbs", FLOOR: "floor", "libdvq": "libdvq", "libibverbs": "libibverbs"}
BITWIDTHS = {64: (), 128: (), 256: ("avx2",), 512: ("avx512f", "avx512bw")}
# Cases that are about a device argument of ours.
DEVARGS = {"tx_inline": "tx_inline=64"}
LONGEST = 1800


class PerfError(Exception):
    """What is wrong, for the user to read."""


def installed():
    """The folder of the worker, when this module lies beside it and not in the source."""
    folder = pathlib.Path(__file__).resolve().parents[1]
    return folder if (folder / "mlx4dv-perf-run").exists() else None


def worker():
    folder = installed() or build.build_dir() / "app" / "mlx4dv-perf"
    path = folder / "mlx4dv-perf-run"
    if not path.exists():
        raise PerfError("%s is not there; run 'make build', or name another build with "
                        "BUILD_DIR" % path)
    return path


def launcher():
    found = shutil.which("vmlx4") if installed() else str(build.launcher())
    if found is None:
        raise PerfError("vmlx4 is not in PATH; it brings the virtual adapter")
    return found


def main_cpu():
    """The last of those we may use: the first has the interrupts."""
    return max(os.sched_getaffinity(0))


def driver_arguments(driver, devargs=""):
    """The launcher's options and the EAL's arguments that make two ports of a driver."""
    if driver not in (OURS, STOCK):
        raise PerfError("--driver %s: give EAL arguments for its two ports behind --" % driver)
    if driver == OURS and installed():
        extra = "," + devargs if devargs else ""
        return [], ["--no-pci", *("--vdev=net_mlx4dv%d,device=mlx4_0,port=%d%s" % (
            port, port + 1, extra) for port in (0, 1))]
    return testpmd.driver_arguments(driver, devargs=devargs if driver == OURS else "")


def eal_arguments():
    """Memory and a core, for any user and beside any other program."""
    return ["--no-huge", "-m", "1024", "--no-shconf", "--no-telemetry", "--iova-mode=va",
            "--lcores", "0@%d" % main_cpu(), "--log-level=error"]


def split_case(case):
    """("rx", 128) of "rx@128", ("rx", None) of "rx": the SIMD bit width."""
    name, at, bits = case.partition("@")
    if not at:
        return name, None
    if not bits.isdigit() or int(bits) not in BITWIDTHS:
        raise PerfError("%s: behind the @, one of %s bits" % (
            case, ", ".join(map(str, BITWIDTHS))))
    return name, int(bits)


def runs_here(case):
    """Has this processor the instructions that a case asks for?"""
    needed = BITWIDTHS[split_case(case)[1] or 256]
    if os.uname().machine != "x86_64":
        return True
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    return set(needed) <= set(flags)


def command(driver, cases=(), options=(), bits=None, eal=None, real=False, devargs=""):
    """The command line of one worker. eal: arguments that say what the ports are."""
    subject = SUBJECTS.get(driver, "ethdev")
    launch = []
    arguments = []
    if subject == "ethdev":
        if eal is None:
            if real:
                raise PerfError("--real: give the EAL arguments of the two ports behind --")
            launch, eal = driver_arguments(driver, devargs)
        arguments = ["--", *([] if real else eal_arguments()), *eal]
        if bits is not None:
            arguments.append("--force-max-simd-bitwidth=%d" % bits)
    line = [str(worker()), subject, *map(str, options), *cases, *arguments]
    return line if real else [launcher(), "exec", "--step", *launch, "--", *line]


def parse(output):
    """The lines of JSON among what a driver may have printed."""
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def run_worker(line, driver, log=None):
    """Its lines; PerfError with what it said when it did not end well."""
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace",
                          process_group=0) as process:
        try:
            stdout, stderr = process.communicate(timeout=LONGEST)
        except BaseException as error:
            os.killpg(process.pid, 15)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise PerfError("%s: no end after %d s" % (driver, LONGEST)) from None
            raise
    if process.returncode != 0:
        raise PerfError("%s: mlx4dv-perf-run ended with status %d\n  $ %s\n  %s" % (
            driver, process.returncode, " ".join(line),
            "\n  ".join(stderr.strip().splitlines()[-8:])))
    if log is not None:
        log.extend(stderr.splitlines())
    return parse(stdout)


def measure(driver, cases=(), options=(), eal=None, real=False):
    """A process for each SIMD bit width and device argument that the cases name; rows in
    the cases' order. No case at all: every one that the worker knows."""
    groups = {}
    for case in cases or [""]:
        name, bits = split_case(case)
        groups.setdefault((bits, DEVARGS.get(name, "")), []).extend([name] if name else [])
    rows = {}
    for (bits, devargs), names in groups.items():
        line = command(driver, names, options, bits, eal, real, devargs)
        for row in run_worker(line, driver):
            if bits is not None:
                row["case"] += "@%d" % bits
            rows[row["case"]] = row
    return [rows[case] for case in cases] if cases else list(rows.values())


class Table:
    """What several rounds found: {(driver, case): row}."""

    def __init__(self):
        self.rows, self.cycles, self.ratios = {}, {}, []

    def add(self, row):
        key = row["driver"], row["case"]
        kept = self.rows.setdefault(key, dict(row))
        if "instructions_per_packet" in row:
            kept["instructions_per_packet"] = row["instructions_per_packet"]
        self.cycles.setdefault(key, []).extend(row.get("cycles", ()))
        if "core_per_tsc" in row:
            self.ratios.append(row["core_per_tsc"])

    def results(self):
        """In the form of --json."""
        found = []
        for (driver, case), row in self.rows.items():
            result = {"driver": driver, "case": case}
            if "skipped" in row:
                result["skipped"] = row["skipped"]
            if "instructions_per_packet" in row:
                result["instructions_per_packet"] = row["instructions_per_packet"]
            cycles = self.cycles[driver, case]
            if cycles:
                result["cycles_per_packet"] = {
                    "min": min(cycles), "median": round(statistics.median(cycles), 2),
                    "max": max(cycles)}
            found.append(result)
        return found


class Progress:
    """One line on stderr: counted up on a terminal, now and then in a log."""

    def __init__(self, steps, every=10):
        self.steps, self.done, self.every = steps, 0, every
        self.terminal = sys.stderr.isatty()
        self.begin = self.told = time.monotonic()

    def step(self, what):
        now = time.monotonic()
        text = "%d of %d, %.0f s: %s" % (self.done + 1, self.steps, now - self.begin, what)
        if self.terminal:
            print("\r\033[K  " + text, end="", file=sys.stderr, flush=True)
        elif self.done == 0 or now - self.told >= self.every:
            print("  " + text, file=sys.stderr, flush=True)
            self.told = now
        self.done += 1

    def end(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
