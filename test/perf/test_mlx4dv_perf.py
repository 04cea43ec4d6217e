# SPDX-License-Identifier: BSD-3-Clause
"""mlx4dv-perf: what it writes, what it divides by what, and what it refuses."""

import json
import pathlib
import re
import subprocess

import pytest

from harness.adapter import run_bounded
from mlx4dvlib import build, perf, perf_compare, perf_guide, perf_plot, perf_sweep, perf_testpmd

SCRIPT = build.TOP / "app" / "mlx4dv-perf" / "mlx4dv-perf"
WORKER = build.build_dir() / "app" / "mlx4dv-perf" / "mlx4dv-perf-run"
MAN = build.TOP / "doc" / "man" / "mlx4dv-perf.1"
FEW = ["--samples", "2", "--repeats", "2", "--counted", "1"]


def result(driver, case, instructions=None, median=None, **more):
    found = {"driver": driver, "case": case, **more}
    if instructions is not None:
        found["instructions_per_packet"] = instructions
    if median is not None:
        found["cycles_per_packet"] = {"min": median - 1, "median": median, "max": median + 1}
    return found


# ---- what is written ----

def test_compare_as_json_and_svg(tmp_path):
    """All four, with the case that the stock driver cannot do."""
    chart = tmp_path / "chart.svg"
    status, stdout, stderr = run_bounded([
        SCRIPT, "compare", "--quick", "tx_fast_free", "--json", tmp_path / "out.json",
        "--plot", chart])
    assert status == 0, stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert set(found) == {"machine", "results"}
    assert {"processor", "dpdk", "kernel", "compiler", "date", "commit", "command"} <= \
        set(found["machine"])
    assert [(one["driver"], one["case"]) for one in found["results"]] == [
        ("net_mlx4dv", "tx_fast_free"), ("net_mlx4", "tx_fast_free"), ("net_mlx4", "tx"),
        ("verbs", "tx"), ("verbs", "tx_single"), ("floor", "tx_fast_free")]
    assert found["results"][1]["skipped"] == "no TX offload MBUF_FAST_FREE"
    for one in found["results"][:1] + found["results"][2:]:
        assert set(one) == {"driver", "case", "instructions_per_packet", "cycles_per_packet"}
        assert one["instructions_per_packet"] > 5
        cycles = one["cycles_per_packet"]
        assert set(cycles) == {"min", "median", "max"}
        assert 0 < cycles["min"] <= cycles["median"] <= cycles["max"]
    assert re.search(r"^  tx_fast_free +\d+\.\d +cannot ", stdout, re.M), stdout
    assert "net_mlx4, tx_fast_free: no TX offload MBUF_FAST_FREE" in stdout
    assert stderr.count("round 1, ") >= 1
    text = chart.read_text()
    assert perf_plot.LICENCE in text and all(name in text for name in perf_compare.DRIVERS)


def test_instructions_are_exact():
    """Of two processes."""
    first, second = (perf.measure(perf.OURS, ["rx", "tx@128"], ["--no-cycles", *FEW])
                     for _ in range(2))
    assert first == second
    assert [row["case"] for row in first] == ["rx", "tx@128"]


def test_one_sweep(tmp_path, monkeypatch):
    monkeypatch.setitem(perf_sweep.SWEEPS, "ring", perf_sweep.Sweep(
        "descriptors of a ring", "ring", [64, 16384], ["tx"]))
    points = perf_sweep.sweep("ring", options=FEW)
    assert [(p["driver"], p["sweep"], p["at"], "skipped" in p) for p in points] == [
        ("net_mlx4dv", "ring", 64, False), ("net_mlx4", "ring", 64, False),
        ("net_mlx4dv", "ring", 16384, True), ("net_mlx4", "ring", 16384, True)]
    assert "cannot" in perf_sweep.text(points)
    perf_plot.lines(points, "descriptors", tmp_path / "ring.svg")
    assert "net_mlx4dv, tx" in (tmp_path / "ring.svg").read_text()


def test_sweeps_span_what_they_should():
    spans = {name: (one.values[0], one.values[-1]) for name, one in perf_sweep.SWEEPS.items()}
    assert spans == {
        "burst": (1, 64), "frame": (64, 9000), "segments": (1, 16), "ring": (64, 16384),
        "queues": (1, 16), "pools": (1, 64), "regions": (1, 4096), "flows": (0, 10000)}


@pytest.mark.parametrize("case", ["rx_empty", "tx_empty"])
def test_many_empty_calls_are_timed_together(case):
    """So many that one step of the TSC is less than a cycle of a call; of either driver."""
    for driver in (perf.OURS, perf.STOCK):
        row, = perf.measure(driver, [case], [*FEW, "--burst", "256"])
        assert row["calls"] >= 200 and len(row["cycles"]) == 2, row
    assert ("%d calls are timed together" % row["calls"]) in MAN.read_text().replace("\n", " ")


@pytest.mark.parametrize("options, case", [
    (["--segs", "16", "--burst", "4"], "tx"),
    (["--regions", "64", "--burst", "8"], "tx"),
    (["--pools", "64", "--burst", "8"], "tx"),
    (["--queues", "16"], "rx"),
    (["--flows", "100"], "rx"),
    (["--size", "9000", "--burst", "2"], "forward"),
    (["--burst", "256", "--ring", "512"], "rx"),
])
def test_extremes(options, case):
    """That they can be measured at all."""
    row, = perf.measure(perf.OURS, [case], ["--no-cycles", *FEW, *options])
    assert row["instructions_per_packet"] > 10


def test_another_driver(tmp_path):
    """Whose ports the EAL's arguments make, and which cannot do everything."""
    wire = ",socket=%s,socket-abstract=no" % (tmp_path / "memif")
    rows = perf.measure("net_memif", ["tx", "tx_fast_free"], ["--no-cycles", *FEW], [
        "--no-pci", "--vdev=net_memif0,role=server" + wire,
        "--vdev=net_memif1,role=client" + wire])
    assert rows[0]["driver"] == "net_memif" and rows[0]["instructions_per_packet"] > 10
    assert rows[1]["skipped"] == "no TX offload MBUF_FAST_FREE"
    assert perf_compare.text(rows).splitlines()[3].split() == ["case", "net_memif"]


# ---- what is divided by what ----

def test_ratios():
    results = [
        result("net_mlx4dv", "tx", 50.0, 8), result("net_mlx4dv", "tx_fast_free", 40.0, 6),
        result("net_mlx4", "tx", 200.0, 32), result("net_mlx4", "tx_fast_free", skipped="no"),
        result("verbs", "tx", 100.0, 16), result("floor", "tx_fast_free", 20.0, 4)]
    assert perf_compare.ratio(results, "tx", "net_mlx4", "instructions") == 0.25
    assert perf_compare.ratio(results, "tx", "net_mlx4", "cycles") == 0.25
    assert perf_compare.ratio(results, "tx_fast_free", "net_mlx4", "instructions") == 0.2
    assert perf_compare.ratio(results, "tx_fast_free", "verbs", "cycles") == 0.375
    assert perf_compare.ratio(results, "tx_fast_free", "floor", "cycles") == 1.5
    assert perf_compare.ratio(results, "rx", "net_mlx4", "cycles") is None
    head, first, second = perf_compare.rows(results, "instructions")
    assert head == ["case", "net_mlx4dv", "net_mlx4", "verbs", "floor",
                    "/ net_mlx4", "/ verbs", "/ floor"]
    assert first == ["tx", "50.0", "200.0", "100.0", "-", "0.25", "0.50", "2.50"]
    assert second == ["tx_fast_free", "40.0", "cannot", "-", "20.0", "0.20", "0.40", "2.00"]
    assert "tx_fast_free / net_mlx4: against its tx" in list(perf_compare.notes(results))


def test_rounds_alternate():
    """Instructions in the first round, cycles of all of them."""
    asked = []

    def run(driver, cases, options):
        asked.append((driver, "--no-instructions" in options))
        row = {"driver": driver, "case": "tx", "cycles": [10.0 * len(asked), 1.0 + len(asked)]}
        return [row if "--no-instructions" in options else dict(row, instructions_per_packet=9.0)]

    table = perf_compare.compare(["net_mlx4dv", "net_mlx4"], ["tx@128"], 2, [], run=run)
    assert asked == [("net_mlx4dv", False), ("net_mlx4", False),
                     ("net_mlx4dv", True), ("net_mlx4", True)]
    assert table.results()[0] == {
        "driver": "net_mlx4dv", "case": "tx", "instructions_per_packet": 9.0,
        "cycles_per_packet": {"min": 2.0, "median": 7.0, "max": 30.0}}


# ---- the guide ----

def test_a_guide_is_renewed(tmp_path):
    """Between the marks, whatever stood there; nothing else."""
    guide, measured, mpps = (tmp_path / name for name in ("a.rst", "c.json", "t.json"))
    guide.write_text("Before\n\n%s\nold\n%s\n\nAfter\n" % (perf_guide.BEGIN, perf_guide.END))
    machine = dict.fromkeys(("processor", "cpus", "load", "system", "kernel", "dpdk",
                             "rdma_core", "compiler", "commit", "date"), "X1")
    machine.update(mhz=2600.0, command="mlx4dv-perf compare")
    measured.write_text(json.dumps({"machine": machine, "results": [
        result("net_mlx4dv", "tx", 50.0, 8), result("net_mlx4", "tx", 200.0, 32)]}))
    mpps.write_text(json.dumps({"machine": machine, "results": [
        {"driver": "net_mlx4", "case": "io", "mpps": {"min": 1.0, "median": 2.5, "max": 3}}]}))
    for _ in range(2):
        perf_guide.renew(guide, [measured, mpps])
        text = guide.read_text()
        assert text.startswith("Before\n\n%s\n\nX1 at 2.6 GHz" % perf_guide.BEGIN)
        assert text.endswith("%s\n\nAfter\n" % perf_guide.END)
        assert "old" not in text and text.count("``mlx4dv-perf compare``") == 2
        assert re.search(r"^tx    50\.0        200\.0     0\.25$", text, re.M), text
        assert re.search(r"^io    net_mlx4  2\.50    1\.00 to 3\.00$", text, re.M), text
    guide.write_text("no marks\n")
    with pytest.raises(perf.PerfError, match="has no part between"):
        perf_guide.renew(guide, [measured])


def test_the_guide_has_its_marks():
    text = (build.TOP / "doc" / "guides" / "performance.rst").read_text()
    assert text.count("\n%s\n" % perf_guide.BEGIN) == 1
    assert text.count("\n%s\n" % perf_guide.END) == 1


def test_the_slope_of_a_replay():
    """What lies before the first sample and after the end does not count."""
    assert perf_testpmd.slope([(1.0, 100), (2.0, 300), (3.0, 500), (9.0, 600)], 600) == 200
    assert perf_testpmd.slope([(1.0, 100), (2.0, 600)], 600) == 0


# ---- progress ----

def test_progress_in_a_log(capsys, monkeypatch):
    """The first step, then one each ten seconds."""
    now = [0.0]
    monkeypatch.setattr(perf.time, "monotonic", lambda: now[0])
    progress = perf.Progress(4)
    for at, what in ((0, "a"), (4, "b"), (12, "c"), (15, "d")):
        now[0] = at
        progress.step(what)
    progress.end()
    assert capsys.readouterr().err == "  1 of 4, 0 s: a\n  3 of 4, 12 s: c\n"


# ---- bad input ----

@pytest.mark.parametrize("arguments, complaint", [
    ([], "required: COMMAND"),
    (["fly"], "invalid choice: 'fly'"),
    (["run", "rx_fast"], "rx_fast: no such case; one of rx "),
    (["run", "rx@100"], "rx@100: behind the @, one of 64, 128"),
    (["run", "--driver", "floor", "tx"], "tx: no such case; one of rx tx_fast_free"),
    (["run", "--driver", "net_tap"], "net_tap: give EAL arguments"),
    (["run", "--driver", "verbs", "--", "--no-pci"], "verbs: takes no EAL arguments"),
    (["run", "--real"], "--real: give the EAL arguments"),
    (["run", "--size", "59"], "59: give a number from 60 to 9000"),
    (["run", "--flows", "x"], "x: give a number from 0 to 10000"),
    (["run", "--burst", "256", "--ring", "256", "rx"], "give a --ring of at least twice that"),
    (["run", "--regions", "2", "--pools", "2"], "leave out --pools and --segs"),
    (["run", "--driver", "floor", "--segs", "2"], "floor knows no --segs"),
    (["run", "--driver", "net_x", "rx", "--", "--no-pci", "--vdev=net_null0"],
     "1 ports: two are needed, back to back"),
    (["compare", "--json", "/nowhere/x"], "/nowhere: no such folder"),
    (["compare", "--plot", "/"], "/: is a folder; give a file"),
    (["compare", "--", "--no-pci"], "EAL arguments are for 'run' only"),
    (["compare", "--rounds", "0"], "0: give a number from 1 to 100"),
    (["sweep", "height"], "height: no such sweep; one of burst"),
    (["sweep", "--plot", "/nowhere"], "--plot /nowhere: no such folder"),
    (["record", "rx_fast"], "rx_fast: no such case"),
    (["testpmd", "csum"], "csum: no such mode; one of io txonly rxonly"),
    (["engine", "--against", "/nowhere"], "--against /nowhere: no build of this project"),
    (["guide", "/nowhere.rst", "/nowhere.json"], "/nowhere.json: No such file"),
])
def test_bad_input(arguments, complaint):
    status, stdout, stderr = run_bounded([SCRIPT, *arguments])
    assert (status, stdout) == (2, ""), stderr
    assert complaint in stderr


@pytest.mark.parametrize("arguments, complaint", [
    (["--burst", "0"], "--burst 0: give a number from 1 to 256"),
    (["--burst", "-1"], "--burst -1: give a number from 1 to 256"),
    (["--ring", "16385"], "--ring 16385: give a number from 64 to 16384"),
    (["--segs", "17"], "--segs 17: give a number from 1 to 16"),
    (["--queues", "2x"], "--queues 2x: give a number from 1 to 16"),
    (["--regions", "4097"], "--regions 4097: give a number from 0 to 4096"),
    (["rx", "no_case"], "no_case: ethdev has no such case"),
])
def test_the_worker_refuses(arguments, complaint):
    status, stdout, stderr = run_bounded([WORKER, "ethdev", *arguments])
    assert (status, stdout, stderr) == (1, "", "mlx4dv-perf: %s\n" % complaint)


def test_a_worker_that_fails(monkeypatch):
    """Its last words, and how it was started."""
    with pytest.raises(perf.PerfError, match=r"status 3\n  \$ sh -c.*\n  no luck"):
        perf.run_worker(["sh", "-c", "echo no luck >&2; exit 3"], "net_x")


# ---- pages and places ----

def test_man_page():
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", MAN], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    page = MAN.read_text()
    commands = re.findall(r"^    (\w+) +\S", run_bounded([SCRIPT, "--help"])[1], re.M)
    assert len(commands) >= 5
    options = {"help"}
    for command in commands:
        assert "\n.It Cm %s\n" % command in page
        options |= set(re.findall(r"--([a-z][\w-]*)", run_bounded(
            [SCRIPT, command, "--help"])[1]))
    assert set(re.findall(r"^\.It Fl Fl ([\w-]+)", page, re.M)) == options


def test_is_installed():
    done = subprocess.run(["meson", "introspect", "--installed", build.build_dir()], text=True,
                          stdout=subprocess.PIPE, check=True)
    installed = {pathlib.Path(path).name: where for path, where in
                 json.loads(done.stdout).items()}
    assert installed["mlx4dv-perf"].endswith("/bin/mlx4dv-perf")
    assert installed["mlx4dv-perf-run"].endswith("/libexec/mlx4dv/mlx4dv-perf-run")
    assert installed["mlx4dvlib"].endswith("/libexec/mlx4dv/mlx4dvlib")
    assert installed["mlx4dv-perf.1"].endswith("/man1/mlx4dv-perf.1")
