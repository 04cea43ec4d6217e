# SPDX-License-Identifier: BSD-3-Clause
"""What other software ports of DPDK forward on the same machine: for scale."""

import re
import subprocess
import tempfile
import time

from . import testpmd

VETH = ("vmlx4-scale-a", "vmlx4-scale-b")
VDEVS = {
    "net_memif": ["net_memif0,role=server,id=0,socket=%s/memif,socket-abstract=no",
                  "net_memif1,role=client,id=0,socket=%s/memif,socket-abstract=no"],
    "net_af_packet": ["net_af_packet0,iface=" + VETH[0], "net_af_packet1,iface=" + VETH[1]],
}


def _veth(add):
    commands = [["ip", "link", "add", VETH[0], "type", "veth", "peer", "name", VETH[1]],
                *(["ip", "link", "set", end, "up"] for end in VETH)]
    for command in commands if add else [["ip", "link", "del", VETH[0]]]:
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def run(driver, seconds, in_flight=512, prefix=()):
    """testpmd io between two connected ports of the driver; Mpps received, both
    directions together. net_af_packet needs root."""
    with tempfile.TemporaryDirectory(prefix="mlx4dv-") as folder:
        vdevs = [vdev % folder if "%s" in vdev else vdev for vdev in VDEVS[driver]]
        line = [*prefix, "dpdk-testpmd", *testpmd.lcores(), "--no-huge", "-m", "512",
                "--no-shconf", "--no-telemetry", "--no-pci",
                *("--vdev=" + vdev for vdev in vdevs), "--", "-i", "--total-num-mbufs=16384"]
        if driver == "net_af_packet":
            _veth(True)
        try:
            with testpmd.Testpmd(line=line) as pmd:
                pmd.do("start tx_first %d" % (in_flight // 32))
                begin = time.monotonic()
                time.sleep(seconds)
                report = pmd.do("stop")
                spent = time.monotonic() - begin
                pmd.quit()
        finally:
            if driver == "net_af_packet":
                _veth(False)
    moved = [testpmd.parse_counters(part)["RX-packets"] for part in
             re.findall(r"statistics for port \d.*?---\n(.*?)---", report, re.S)]
    return sum(moved) / spent / 1e6
