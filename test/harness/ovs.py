# SPDX-License-Identifier: BSD-3-Clause
"""Debian's Open vSwitch with DPDK on the virtual adapter: a database and a switch of
this test alone, in a folder and a network namespace of their own. Nothing of the
system's own Open vSwitch is used, or needs to run."""

import os
import re

from mlx4dvlib import build, testpmd as tp
from mlx4dvlib.console import Console

from .adapter import run_bounded
from .examples import counters
from .waiting import PATIENCE, wait_until

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
SWITCH = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"


class Ovs:
    """A bridge "br0" of the userspace datapath. Ports are added by the test."""

    def __init__(self, folder, space, wires, eal, memory=1024):
        self.folder, self.space = folder, space
        self.stats = folder / "stats.json"
        self.environment = dict(os.environ, **{
            name: str(folder) for name in ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR",
                                           "OVS_SYSCONFDIR", "TMPDIR")})
        # What vswitchd has not freed when it leaves is not ours.
        self.environment["ASAN_OPTIONS"] = "detect_leaks=0"
        self.processes = []
        try:
            self._start_database()
            self._start_switch(wires, eal, memory)
        except BaseException:
            self.kill()
            raise

    def _console(self, command):
        console = Console(command, cwd=str(self.folder), env=self.environment)
        self.processes.append(console)
        return console

    def run(self, *command):
        status, output, errors = run_bounded(command, 60, env=self.environment)
        assert status == 0, "$ %s\n%s%s\n%s" % (
            " ".join(map(str, command)), output, errors, self.log()[-4000:])
        return output

    def log(self):
        path = self.folder / "vswitchd.log"
        return path.read_text() if path.exists() else ""

    def _start_database(self):
        self.run("ovsdb-tool", "create", self.folder / "conf.db", SCHEMA)
        self.database = self._console([
            "ovsdb-server", self.folder / "conf.db", "--remote=punix:db.sock",
            "--unixctl=%s" % (self.folder / "ovsdb.ctl"), "--no-chdir", "-vconsole:off"])
        wait_until((self.folder / "db.sock").exists, "ovsdb-server does not answer")
        self.vsctl("--no-wait", "init")

    def _start_switch(self, wires, eal, memory):
        """EAL has no huge pages, and the main thread and the poller a CPU each, where
        there are two. OVS would add --in-memory, which --legacy-mem keeps it from."""
        cpus = sorted(os.sched_getaffinity(0))
        preload, driver = tp.driver_arguments(tp.OURS, pci=True)
        extra = [*driver[:driver.index("-a")], *eal, "--no-huge", "--legacy-mem", "-m", memory,
                 "--no-telemetry"]
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", *(
            "other_config:%s=%s" % (name, value) for name, value in {
                "dpdk-init": "true", "dpdk-lcore-mask": hex(1 << cpus[0]),
                "pmd-cpu-mask": hex(1 << cpus[-1]), "per-port-memory": "true",
                "dpdk-extra": '"%s"' % " ".join(map(str, extra))}.items()))
        command = build.exec_command(
            [SWITCH, "unix:db.sock", "--unixctl=%s" % (self.folder / "vswitchd.ctl"),
             "--log-file=%s" % (self.folder / "vswitchd.log"), "--pidfile=vswitchd.pid",
             "--no-chdir", "-vconsole:off"],
            "--strict=report", "--stats=%s" % self.stats, *wires, *preload)
        self.switch = self._console(self.space.command(*command))
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")

    def vsctl(self, *arguments):
        return self.run("ovs-vsctl", "--timeout=50", "--db=unix:%s" % (self.folder / "db.sock"),
                        *arguments).strip()

    def appctl(self, *arguments):
        return self.run("ovs-appctl", "-t", self.folder / "vswitchd.ctl", *arguments)

    def add_port(self, name, devargs, **options):
        self.vsctl("add-port", "br0", name, "--", "set", "Interface", name, "type=dpdk",
                   'options:dpdk-devargs="%s"' % devargs,
                   *("options:%s=%s" % option for option in options.items()))
        assert self.get(name, "error") == "[]", self.get(name, "error")

    def get(self, name, column):
        return self.vsctl("get", "Interface", name, column)

    def statistics(self, name):
        """As of now, and not of the last five seconds."""
        text = self.appctl("dpctl/show", "-s", "netdev@ovs-netdev")
        part = re.search(r"port \d+: %s \(.*?\)\n(.*?)(?=\n  port |\Z)" % name, text, re.S)
        assert part, text
        return {"%s_%s" % (side.lower(), what): int(value)
                for side, line in re.findall(r"([RT]X) (packets.*)", part.group(1))
                for what, value in re.findall(r"(\w+):(\d+)", line)}

    def stop(self):
        """In order; then what the adapter has to say."""
        self.appctl("exit", "--cleanup")
        assert self.switch.wait(PATIENCE) == 0, self.log()[-4000:]
        self.run("ovs-appctl", "-t", self.folder / "ovsdb.ctl", "exit")
        assert self.database.wait(PATIENCE) == 0
        bad = [line for line in self.log().splitlines() if re.search(r"\|(EMER|ERR)\|", line)]
        assert not bad, "\n".join(bad)
        found = counters(self.stats)
        assert found["violations_by_rule"] == {}
        return found

    def kill(self):
        for console in reversed(self.processes):
            console.kill()
