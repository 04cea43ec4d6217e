# SPDX-License-Identifier: BSD-3-Clause
"""One io-forward run of testpmd between the two ports of the virtual adapter,
with every packet accounted for."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from . import build, testpmd
from .console import PATIENCE

# Adapter counters that mean a frame did not get through.
ADAPTER_LOSSES = ("tx_oversize", "tx_link_down", "tx_wire_drops", "tx_errors", "rx_no_rule",
                  "rx_no_wqe", "rx_oversize", "rx_dropped_by_rule", "rx_cq_overrun",
                  "rx_errors", "rx_link_down", "rx_runt", "rx_wire_drops", "rx_wire_bad")
DRIVER_LOSSES = ("RX-missed", "RX-errors", "RX-nombuf", "TX-errors")


class Direction:
    """Port "source" to port "sink": what the driver sent, the adapter carried
    and the driver received."""

    def __init__(self, source, sink, seconds, moved, stats, adapter):
        self.source, self.sink = source, sink
        self.mpps = moved / seconds / 1e6
        self.sent = stats[source]["TX-packets"]
        self.received = stats[sink]["RX-packets"]
        self.carried_out = adapter[source]["tx_frames"]
        self.carried_in = adapter[sink]["rx_frames"]
        self.drops = {"adapter port %d %s" % (port + 1, name): adapter[port][name]
                      for port, names in ((source, "tx_"), (sink, "rx_"))
                      for name in ADAPTER_LOSSES
                      if name.startswith(names) and adapter[port].get(name)}
        self.drops.update({"port %d %s" % (port, name): stats[port][name]
                           for port, names in ((source, "TX-"), (sink, "RX-"))
                           for name in DRIVER_LOSSES
                           if name.startswith(names) and stats[port].get(name)})

    @property
    def lost(self):
        return self.sent - self.received

    def faults(self):
        """Every reason to distrust this direction, in words."""
        name = "port %d to port %d" % (self.source, self.sink)
        found = ["%s: %s = %d" % (name, what, count) for what, count in self.drops.items()]
        if self.received == 0:
            found.append("%s: nothing arrived" % name)
        numbers = {"sent by the driver": self.sent, "left the adapter": self.carried_out,
                   "reached the adapter": self.carried_in, "received by the driver": self.received}
        if len(set(numbers.values())) != 1:
            found.append("%s: %s" % (name, ", ".join("%s %d" % n for n in numbers.items())))
        return found


class Result:
    """The two directions, and who moved the packets."""

    def __init__(self, info, directions, queues, status):
        self.driver = info["Driver name"]
        self.info = info
        self.directions = directions
        self.queues = queues  # {"rx_q0_packets": …} of both ports added up
        self.status = status

    @property
    def mpps(self):
        return sum(direction.mpps for direction in self.directions)

    def faults(self):
        found = [fault for direction in self.directions for fault in direction.faults()]
        if self.status != 0:
            found.append("testpmd left with status %d" % self.status)
        return found


def ordinary_user(*needed):
    """A prefix that gives up root for the run, when "nobody" can reach the
    files; the reason to keep the user otherwise is returned second."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        return [], None
    prefix = [setpriv, "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]
    for path in needed:
        if subprocess.run([*prefix, "test", "-r", path], check=False).returncode != 0:
            return [], "nobody cannot read %s" % path
    return prefix, None


def read_adapter(path):
    """The ports' counters from the file of "vmlx4 exec --stats"."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)["ports"]


def run(driver=testpmd.OURS, seconds=5, queues=1, in_flight=512, prefix=(), options=(),
        tick=None, packets=0, **arguments):
    """Send in_flight packets from each port and let testpmd forward them back and
    forth, for so many seconds, and longer where a port would have received less than
    so many packets then; tick(seconds so far) is called about each second."""
    bursts = max(1, in_flight // 32 // queues)
    with tempfile.TemporaryDirectory(prefix="mlx4dv-") as folder:
        os.chmod(folder, 0o777)
        counters = os.path.join(folder, "adapter.json")
        with testpmd.Testpmd(driver=driver, rxq=queues, txq=queues, prefix=prefix,
                             options=["--stats=" + counters, *options],
                             arguments=["--txonly-multi-flow"] if queues > 1 else [],
                             popen={"cwd": folder, "env": dict(os.environ, TMPDIR=folder)},
                             **arguments) as pmd:
            infos = [pmd.info(port) for port in (0, 1)]
            if queues > 1 and driver != testpmd.STOCK:
                # The flows differ in their addresses, from DPDK 26.03 on in their ports.
                pmd.do("port config all rss all")
            pmd.do("start tx_first %d" % bursts)
            begin = time.monotonic()
            while time.monotonic() - begin < seconds:
                time.sleep(min(1, max(0, begin + seconds - time.monotonic())))
                if tick:
                    tick(time.monotonic() - begin)
            while (min(pmd.stats(port)["RX-packets"] for port in (0, 1)) < packets
                   and time.monotonic() - begin < seconds + PATIENCE):
                time.sleep(0.1)
            report = pmd.do("stop")
            spent = time.monotonic() - begin
            moved = [testpmd.parse_counters(part)["RX-packets"] for part in
                     re.findall(r"statistics for port \d.*?---\n(.*?)---", report, re.S)]
            pmd.drain()
            stats = [pmd.stats(port) for port in (0, 1)]
            xstats = [pmd.xstats(port) for port in (0, 1)]
            status = pmd.quit()
        adapter = read_adapter(counters)
    per_queue = {name: xstats[0][name] + xstats[1].get(name, 0) for name in xstats[0]
                 if re.fullmatch(r"[rt]x_q\d+_packets", name)}
    return Result(infos[0], [Direction(0, 1, spent, moved[1], stats, adapter),
                             Direction(1, 0, spent, moved[0], stats, adapter)],
                  per_queue, status)


def how_loaded(driver):
    """For a table: how the driver came into testpmd."""
    if driver == testpmd.STOCK:
        return "Debian's own"
    parent = build.eal_refuses(build.driver())
    return "preloaded: EAL refuses -d, %s is world-writable" % parent if parent else "-d"
