# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's tools beside a testpmd on net_mlx4dv: dpdk-pdump and dpdk-proc-info as
secondary processes, and dpdk-telemetry.py on its socket."""

import json
import re
import shutil
import signal
import subprocess

import pytest

from harness import pcap
from harness.adapter import run_bounded
from harness.examples import Captures, Lines, counters
from harness.hugepages import skip_if_sanitized
from harness.waiting import wait_until
from mlx4dvlib import testpmd as tp
from mlx4dvlib.console import Console

COUNT = 300


def frames():
    return [b"\x00\x02\xc9\x05\x00\x01\x02\x00\x00\x00\x95\x01\x88\xb5" + bytes(
        (number * 3 + at) % 256 for at in range(46 + number * 1454 // (COUNT - 1)))
        for number in range(COUNT)]


@pytest.fixture
def lines(network):
    return Lines(network)


@pytest.fixture
def primary(hugepages, testpmd, lines, tmp_path):
    """A testpmd that forwards between the lines, and shares its memory."""
    skip_if_sanitized()
    pmd = testpmd(shared=hugepages.eal(), memory=256, mbufs=8192, strict=False,
                  options=["--strict=report", "--sysfs=%s" % (tmp_path / "sysfs"), *lines.wires],
                  prefix=lines.prefix)
    pmd.do("start")
    yield pmd
    pmd.do("stop")
    assert pmd.quit() == 0
    assert counters(pmd.counters)["violations_by_rule"] == {}


def handlers_of_testpmd():
    """Handlers of mempools that Debian's testpmd is linked with. A process numbers the
    handlers as it loads them, and pools are shared by number: a tool that makes a pool for
    testpmd has to load the same ones first, or the pool is another kind's there."""
    _, output, _ = run_bounded(["ldd", shutil.which("dpdk-testpmd")])
    return sorted(re.findall(r"=> (\S+/librte_mempool_\S+)", output))


def tool(hugepages, program, *arguments):
    line = tp.secondary_command(program, hugepages.eal(), arguments)
    at = line.index("--proc-type=secondary")
    line[at:at] = [word for path in handlers_of_testpmd() for word in ("-d", path)]
    return line


def test_pdump(primary, lines, hugepages, tmp_path):
    """Its files hold what port 0 received and port 1 sent, each byte."""
    files = [tmp_path / "rx.pcap", tmp_path / "tx.pcap"]
    rx, tx = (path.name for path in files)  # of a longer path it takes what it has room for
    small = "total-num-mbufs=2047,ring-size=512"
    with Console(tool(hugepages, "dpdk-pdump",
                      "--pdump", "port=0,queue=*,rx-dev=%s,%s" % (rx, small),
                      "--pdump", "port=1,queue=*,tx-dev=%s,%s" % (tx, small)),
                 cwd=str(tmp_path)) as console:
        console.expect(r"capture for \(2\) tuples(.*\n.*){2}port 1", timeout=60)
        arrived = lines.pass_through(frames())
        assert arrived == frames()
        wait_until(lambda: all(len(pcap.read_growing(path)) >= COUNT for path in files),
                   lambda: console.output)
        console.process.send_signal(signal.SIGINT)
        assert console.wait() == 0
        assert re.findall(r"packets dequeued:\s+(\d+)", console.output) == [str(COUNT)] * 2
    for path in files:
        assert pcap.read(path) == frames()
    primary.go_on()  # it tells of the ports that the tool had


def test_proc_info(primary, lines, hugepages):
    """Exactly what passed, by every option that looks at ports."""
    assert lines.pass_through(frames()) == frames()

    def ask(*options):
        status, output, errors = run_bounded(tool(hugepages, "dpdk-proc-info", "-p", "3",
                                                  *options))
        assert status == 0, output + errors
        return output

    size = sum(map(len, frames()))
    stats = ask("--stats")
    assert re.search(r"RX-packets:\s+%d\s+RX-errors:\s+0\s+RX-bytes:\s+%d\b" % (COUNT, size), stats)
    assert re.search(r"TX-packets:\s+%d\s+TX-errors:\s+0\s+TX-bytes:\s+%d\b" % (COUNT, size), stats)
    xstats = ask("--xstats")
    # Not the counters of the interface, which is there for the adapter's process alone.
    for name in ("rx_good_packets", "tx_good_packets", "rx_q0_packets", "tx_q0_packets"):
        assert re.search(r"^%s: %d$" % (name, COUNT), xstats, re.M), name + xstats
    shown = ask("--show-port")
    for text in ("net_mlx4dv", "00:02:C9:05:00:01", "00:02:C9:05:00:02", "mtu (1500)",
                 "promiscuous mode enabled"):
        assert text.lower() in shown.lower(), text + "\n" + shown
    ask("--stats-reset")
    assert primary.stats(0)["RX-packets"] == 0


def test_telemetry(testpmd, tmp_path):
    """What ethdev itself has for every driver; see test_telemetry.py for ours."""
    prefix = "mdv" + tmp_path.name
    captures = Captures(tmp_path, frames(), [])
    pmd = testpmd(telemetry=prefix, options=captures.wires, arguments=["--no-flush-rx"])
    pmd.do("start")
    captures.wait(pmd, 0, COUNT)
    pmd.do("stop")
    questions = ["/ethdev/list", "/ethdev/stats,0", "/ethdev/xstats,1", "/ethdev/info,0",
                 "/ethdev/link_status,1"]
    done = subprocess.run(["dpdk-telemetry.py", "-f", prefix], text=True, timeout=60, check=True,
                          input="\n".join([*questions, "quit\n"]), stdout=subprocess.PIPE)
    answers = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            answers.update(json.loads(line))
    assert answers["/ethdev/list"] == [0, 1]
    stats, info = answers["/ethdev/stats"], answers["/ethdev/info"]
    assert (stats["ipackets"], stats["ibytes"]) == (COUNT, sum(map(len, frames())))
    assert answers["/ethdev/xstats"]["tx_good_packets"] == COUNT
    assert info["mac_addr"] == "00:02:C9:05:00:01" and info["mtu"] == 1500
    assert info["dev_started"] == 1 and info["nb_rx_queues"] == 1
    assert answers["/ethdev/link_status"]["status"] == "UP"
    assert pmd.quit() == 0
