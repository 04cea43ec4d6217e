# SPDX-License-Identifier: BSD-3-Clause
"""Packets per second end to end: testpmd on one lcore, the adapter's engine on another
CPU. Also the engine alone."""

import os
import re
import statistics
import subprocess
import tempfile
import time

from . import build, forward, scale, testpmd

IO, TXONLY, RXONLY = "io", "txonly", "rxonly"
MODES = IO, TXONLY, RXONLY
FRAMES = 1 << 22  # of a replay: some 320 MB, half a second
SAMPLE_EVERY = 0.02  # s; the main thread, which answers, has a CPU with the engine
ENGINE_ROWS = (r"^engine cycles \(TSC\) +\S+ +(\S+)", r"^engine cycles \(core\) +\S+ +(\S+)",
               r"^whole loop, Mpps +\S+ +(\S+)", r"^engine instructions +(\S+)")


class Contender:
    """Something whose packets per second are measured."""

    def __init__(self, label, measure):
        self.label, self.measure, self.values = label, measure, []


def on_build(folder, function):
    """With the adapter and driver of another build."""
    before = os.environ.get("BUILD_DIR")
    os.environ["BUILD_DIR"] = str(folder)
    try:
        return function()
    finally:
        os.environ.pop("BUILD_DIR")
        if before is not None:
            os.environ["BUILD_DIR"] = before


def io(driver, seconds, queues, faults):
    result = forward.run(driver, seconds, queues)
    faults += ["%s: %s" % (driver, fault) for fault in result.faults()]
    return result.mpps


def session(driver, folder, options=(), **arguments):
    """A testpmd with one port for one mode."""
    return testpmd.Testpmd(driver=driver, ports=1, options=options,
                           popen={"cwd": folder, "env": dict(os.environ, TMPDIR=folder)},
                           **arguments)


def txonly(driver, seconds, queues, faults):
    """Port 1 sends all it can to a port that has no queues: its frames are dropped there."""
    with tempfile.TemporaryDirectory(prefix="mlx4dv-") as folder, \
            session(driver, folder, rxq=queues, txq=queues,
                    arguments=["--nb-ports=1", "--portmask=1"]) as pmd:
        pmd.do("set fwd txonly")
        pmd.do("start")
        time.sleep(0.2)
        begin, before = time.monotonic(), pmd.stats(0)["TX-packets"]
        time.sleep(seconds)
        spent, sent = time.monotonic() - begin, pmd.stats(0)["TX-packets"] - before
        pmd.do("stop")
        errors = pmd.stats(0)["TX-errors"]
        pmd.quit()
    if errors or not sent:
        faults.append("%s: txonly: %d sent, %d errors" % (driver, sent, errors))
    return sent / spent / 1e6


def write_capture(path, destination, frames=FRAMES):
    """One UDP frame of 60 B with a good header checksum, many times."""
    frame = bytes(destination) + bytes.fromhex(
        "020000000009" "0800" "4500002e000000004011ee97c6120001c6120002" "04000009001a0000"
        .replace(" ", "")) + bytes(18)
    frame = frame[:60].ljust(60, b"\0")
    record = bytes(8) + len(frame).to_bytes(4, "little") * 2 + frame
    with open(path, "wb") as file:
        file.write(bytes.fromhex("d4c3b2a1" "02000400" "00000000" "00000000" "ffff0000" "01000000"))
        for _ in range(frames // 4096):
            file.write(record * 4096)


def slope(samples, total):
    """Frames per second between the first sample and the last before the end of it all."""
    inside = [sample for sample in samples if sample[1] < total]
    (begin, first), (end, last) = inside[0], inside[-1]
    return (last - first) / (end - begin) if end > begin else 0.0


def rxonly(driver, seconds, queues, faults):
    """Port 1 takes a capture in, which waits while its ring is full. A short run: until the
    capture ends."""
    del seconds, queues
    with tempfile.TemporaryDirectory(prefix="mlx4dv-") as folder:
        capture = os.path.join(folder, "in.pcap")
        write_capture(capture, b"\xff" * 6)
        with session(driver, folder, options=["--wire1=pcap:in=" + capture],
                     arguments=["--nb-ports=1", "--portmask=1"]) as pmd:
            pmd.do("set fwd rxonly")
            pmd.do("start")
            samples, deadline = [], time.monotonic() + 30
            while time.monotonic() < deadline:
                samples.append((time.monotonic(), pmd.stats(0)["RX-packets"]))
                if samples[-1][1] >= FRAMES:
                    break
                time.sleep(SAMPLE_EVERY)
            pmd.do("stop")
            pmd.quit()
    if samples[-1][1] != FRAMES:
        faults.append("%s: rxonly: %d of %d frames arrived" % (driver, samples[-1][1], FRAMES))
    return slope(samples, FRAMES) / 1e6


MEASURES = {IO: io, TXONLY: txonly, RXONLY: rxonly}


def contenders(mode, seconds, queues, against=None, with_scale=False):
    def ask(driver, folder):
        return lambda faults: on_build(
            folder, lambda: MEASURES[mode](driver, seconds, queues, faults))

    here = build.build_dir()
    yield Contender(testpmd.OURS, ask(testpmd.OURS, here))
    yield Contender(testpmd.STOCK, ask(testpmd.STOCK, here))
    if against:
        yield Contender("net_mlx4 before", ask(testpmd.STOCK, against))
    if with_scale and mode == IO:
        for driver in scale.VDEVS:
            yield Contender(driver, lambda _, driver=driver: scale.run(driver, seconds))


def measure(mode, runs, taking_part, progress=None):
    """Turn about. Returns a row for each: label, least, median, most; and complaints."""
    faults = []
    for turn in range(runs):
        for one in taking_part:
            if progress:
                progress.step("testpmd %s, run %d, %s" % (mode, turn + 1, one.label))
            one.values.append(one.measure(faults))
    return [{"driver": one.label, "case": mode, "mpps": {
        "min": round(min(one.values), 2), "median": round(statistics.median(one.values), 2),
        "max": round(max(one.values), 2)}} for one in taking_part], faults


def text(rows):
    lines = ["testpmd, 64 B frames, Mpps (io: received, both directions together)", "",
             "  %-8s %-16s %8s   %s" % ("mode", "driver", "median", "range")]
    for row in rows:
        lines.append("  %-8s %-16s %8.2f   %.2f to %.2f" % (
            row["case"], row["driver"], row["mpps"]["median"], row["mpps"]["min"],
            row["mpps"]["max"]))
    return "\n".join(lines)


def engine(runs, against=None):
    """vmlx4-bench under the launchers of both builds; {label: medians of ENGINE_ROWS}."""
    bench = build.build_dir() / "app" / "vmlx4-bench" / "vmlx4-bench"
    folders = [("now", build.build_dir()), *([("before", against)] if against else [])]
    measured = {}
    for _ in range(runs):
        for options in ([], ["--strict"]):
            for program in ([], ["--rss"]):
                for label, folder in folders:
                    output = subprocess.run(
                        [str(folder / "app" / "vmlx4" / "vmlx4"), "exec", "--step", *options, "--",
                         str(bench), "--instructions", *program], check=True, timeout=120,
                        stdout=subprocess.PIPE, text=True).stdout
                    measured.setdefault(" ".join([label, *options, *program]), []).append(
                        [float(re.search(row, output, re.M).group(1)) for row in ENGINE_ROWS])
    return {name: [statistics.median(column) for column in zip(*rows)]
            for name, rows in measured.items()}


def engine_text(medians, runs):
    lines = ["engine, stepped, 64 B frames, per packet: medians of %d runs" % runs,
             "  %-26s %10s %11s %8s %13s" % ("", "cycles TSC", "cycles core", "Mpps",
                                             "instructions")]
    return "\n".join(lines + ["  %-26s %10.1f %11.1f %8.1f %13.0f" % (name, *values)
                              for name, values in medians.items()])
