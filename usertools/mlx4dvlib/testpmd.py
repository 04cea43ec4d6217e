# SPDX-License-Identifier: BSD-3-Clause
"""The distribution's testpmd on the virtual adapter, with either driver."""

import os
import re
import time

from . import build
from .console import PATIENCE, Console

PROMPT = "testpmd> "

# The stock driver closes a port's event descriptor before it tells the EAL not to
# wait for it any more, which makes the EAL panic now and then when a second port
# is closed. Without these interrupts there is nothing to wait for.
STOCK_ARGUMENTS = ["--no-lsc-interrupt", "--no-rmv-interrupt"]
OURS = "net_mlx4dv"
OURS_PCI = "net_mlx4dv_pci"  # by PCI address; a vdev and a PCI driver cannot share a name
STOCK = "net_mlx4"


def lcores(second=False, first=0):
    """EAL arguments for a main and a forwarding lcore on the CPUs we may use; for a
    second testpmd beside another, which would starve on the CPU of the first. Two
    processes with the same memory need lcores of other numbers: each number has a
    cache of mbufs, which nothing guards."""
    cpus = sorted(os.sched_getaffinity(0))
    main, forwarding = cpus[0], cpus[1 if len(cpus) > 1 else 0]
    if second:
        main, forwarding = forwarding, main
    return ["--lcores", "%d@%d,%d@%d" % (first, main, first + 1, forwarding)]


def driver_arguments(driver=OURS, pci=False, ports=2, devargs=""):
    """How to have testpmd probe the ports with a driver.

    Returns the launcher's options and the EAL's arguments. The stock driver is
    always there; ours is loaded with -d, or preloaded where EAL refuses -d."""
    preload, eal = [], []
    if driver == OURS:
        if build.eal_refuses(build.driver()):
            preload = ["--preload", str(build.driver())]
        else:
            eal = ["-d", str(build.driver())]
    extra = "," + devargs if devargs else ""
    if driver == STOCK or pci:
        eal += ["-a", build.PCI_ADDRESS + extra]
    else:
        eal += ["--no-pci"]
        for port in range(1, ports + 1):
            eal += ["--vdev", "%s%d,device=mlx4_0,port=%d%s" % (driver, port - 1, port, extra)]
    return preload, eal


def command(driver=OURS, pci=False, ports=2, devargs="", rxq=1, txq=1, mbufs=16384,
            memory=512, shared=(), telemetry=None, options=(), eal=(), arguments=(), prefix=(),
            second=False):
    """The whole command line. No hugepages and no files shared with others, so
    that it runs for any user and beside any other DPDK program; with shared, the
    EAL arguments of memory that other processes have too, it is their primary."""
    preload, driver_eal = driver_arguments(driver, pci, ports, devargs)
    memory_eal = [*shared, "--proc-type=primary"] if shared else ["--no-huge", "--no-shconf"]
    # The socket lies in the folder of files shared with others.
    if telemetry:
        memory_eal = ["--no-huge", "--file-prefix", telemetry]
    program = ["dpdk-testpmd", *lcores(second), *memory_eal, "-m", str(memory),
               *([] if telemetry else ["--no-telemetry"]), *driver_eal, *eal, "--", "-i",
               "--total-num-mbufs=%d" % mbufs, "--rxq=%d" % rxq, "--txq=%d" % txq,
               *(STOCK_ARGUMENTS if driver == STOCK else []), *arguments]
    return [*prefix, *build.exec_command(program, *options, *preload)]


def secondary_command(program, shared, arguments=(), driver=OURS, pci=False):
    """A program that shares the ports of a testpmd started with shared. It has no
    adapter of its own, and so no launcher."""
    preload, driver_eal = driver_arguments(driver, pci, ports=0)
    prefix = ["env", "LD_PRELOAD=%s" % preload[1]] if preload else []
    # dpdk-proc-info chooses a core itself.
    cores = [] if program == "dpdk-proc-info" else lcores(first=2)
    return [*prefix, program, *cores, "--proc-type=secondary", *shared, "--no-telemetry",
            *driver_eal, "--", *arguments]


def parse_counters(text):
    """{"RX-packets": 5, …} of a "show port stats" or a forward statistics part."""
    return {name: int(value) for name, value in re.findall(r"([RT]X-[a-z]+):\s*(\d+)", text)}


def on_their_way(stats):
    """Have more packets left the ports than arrived at them, or were missed there?"""
    sent, *arrived = (sum(port[name] for port in stats)
                      for name in ("TX-packets", "RX-packets", "RX-missed"))
    return sent > sum(arrived)


class Testpmd(Console):
    """An interactive testpmd. Use as a context manager; see command() for the
    arguments, or give the whole line."""

    __test__ = False  # not a test class, whatever its name

    def __init__(self, start_timeout=PATIENCE, popen=None, line=None, **arguments):
        super().__init__(line or command(**arguments), **(popen or {}))
        self._seen = 0
        try:
            greeting = self._prompt(start_timeout)
            self.ports = len(re.findall(r"^Configuring Port \d+", greeting, re.M))
        except BaseException:
            self.kill()
            raise

    def _prompt(self, timeout):
        match = self.expect("^" + PROMPT, timeout, self._seen)
        answer = self.output[self._seen:match.start()]
        self._seen = match.end()
        return answer

    def do(self, line, timeout=PATIENCE):
        """Send one command; what it printed."""
        self.send(line)
        answer = self._prompt(timeout)
        return answer.split("\n", 1)[-1]

    def go_on(self, timeout=PATIENCE):
        """After output with broken prompts in it: ask until an answer is whole."""
        self._seen = len(self.output)
        self.send("")
        self._prompt(timeout)

    def stats(self, port):
        return parse_counters(self.do("show port stats %d" % port))

    def xstats(self, port):
        text = self.do("show port xstats %d" % port)
        return {name: int(value) for name, value in re.findall(r"^(\w+): (\d+)$", text, re.M)}

    def info(self, port):
        """{"Driver name": "net_mlx4dv", …} of "show port info"."""
        text = self.do("show port info %d" % port)
        return dict(re.findall(r"^([A-Z][^:\n]*): (.*)$", text, re.M))

    def drain(self):
        """After "stop": take in what is still on its way, so that the counters
        of the two ends must agree. What has left and not arrived gets longer: on a
        busy machine the adapter may wait for a CPU."""
        self.do("set fwd rxonly")
        self.do("start")
        before, same = None, 0
        while same < 5 or same < 60 and on_their_way(before):
            now = [self.stats(port) for port in range(self.ports)]
            same = same + 1 if now == before else 0
            before = now
            time.sleep(0.05)
        self.do("stop")

    def quit(self, timeout=PATIENCE):
        """Leave in order; the exit status of the whole run."""
        self.send("quit")
        return self.wait(timeout)
