# SPDX-License-Identifier: BSD-3-Clause
"""A stepped run gives the same trace twice, byte for byte: whatever the host's
clock, its address space layout and its heap do."""

import pytest

from harness import adapter
from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "vmlx4" / "raw_packet" / "raw_packet"
DRIVER_PROGRAM = build.build_dir() / "test" / "pmd" / "mdv-test"
TRIALS = ["send_of_many_pieces", "send_inline", "receive_into_pieces", "steering_by_address",
          "checksums_are_filled_in", "completion_events", "extended_cq", "qp_cycles", "bad_lkey",
          "bad_receive_lkey"]


def trace(vmlx4, tmp_path, name, *options, trials=TRIALS, **arguments):
    path = tmp_path / name
    vmlx4(PROGRAM, "--step", *trials, options=["--step", "--trace=%s" % path, *options],
          timeout=120, **arguments).ok()
    return path.read_bytes()


@pytest.mark.parametrize("options, strict, trials", [
    ([], False, TRIALS),
    (["--trace-snaplen=20"], "report", TRIALS),
    (["--profile=cx3", "--cqe=32"], False, TRIALS),
    # Frames still under way do not suit a program that resets its queues.
    (["--wire=back-to-back,rate=10G,delay=2us,jitter=1us"], False, TRIALS[:-3]),
], ids=["plain", "report", "cx3", "shaped"])
def test_same_trace_twice(vmlx4, tmp_path, options, strict, trials, monkeypatch):
    first = trace(vmlx4, tmp_path, "first", *options, strict=strict, trials=trials)
    assert len(first) > 100_000
    # The address space is laid out anew, and what is in fresh memory is something else.
    monkeypatch.setenv("MALLOC_PERTURB_", "77")
    assert trace(vmlx4, tmp_path, "second", *options, strict=strict, trials=trials) == first


@pytest.mark.parametrize("name", [
    "mac_modes_set_while_stopped_and_kept_over_restart",
    "rss_power_of_two_queues", "rx_scatter_9000_in_2k_buffers", "tx_chains_of_1_to_31_segments",
])
def test_a_driver_of_dpdk(vmlx4, tmp_path, name):
    """EAL with all that it finds and measures, and a driver with direct verbs."""
    if not DRIVER_PROGRAM.exists():
        pytest.skip("the driver is not part of this build")
    paths = [tmp_path / number for number in ("first", "second")]
    for path in paths:
        vmlx4(DRIVER_PROGRAM, name, options=["--step", "--trace=%s" % path], timeout=120).ok()
    first, second = (path.read_bytes() for path in paths)
    assert len(first) > 10_000
    assert first == second


@pytest.mark.parametrize("program", [
    "dvq/live/test_dvq_live_masked", "dvq/live/test_dvq_live_rc", "dvq/live/test_dvq_live_ud",
    "dvq/live/test_dvq_live_shared", "vmlx4/uverbs/test_vmlx4_uverbs_windows",
])
def test_transports(vmlx4, tmp_path, program, monkeypatch):
    """Addresses at the peer are in WQEs, in packets and in what checks them, the ICRC."""
    paths = [tmp_path / number for number in ("first", "second")]
    for path in paths:
        vmlx4(build.build_dir() / "test" / program, timeout=120, strict=True,
              options=["--step", "--trace=%s" % path]).ok()
        monkeypatch.setenv("MALLOC_PERTURB_", "77")
    first, second = (path.read_bytes() for path in paths)
    assert len(first) > 10_000
    assert first == second


def test_raw_addresses_differ(vmlx4, tmp_path):
    """So the address space was another one in the test above, too."""
    first, second = (trace(vmlx4, tmp_path, name, "--trace-raw", trials=["send_inline"])
                     for name in ("first", "second"))
    assert len(first) == len(second) and first != second


def shown(path):
    status, stdout, stderr = adapter.run_bounded([build.launcher(), "show", path])
    assert (status, stderr) == (0, "")
    return [line for line in stdout.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("options", [
    ["--wire=back-to-back,delay=2us,jitter=30us"],
    ["--faults=frame tx p=0.1 duplicate; frame rx p=0.1 reorder; cqe p=0.1 late=20us"],
], ids=["jitter", "faults"])
def test_what_is_drawn_by_lot_follows_from_the_seed(vmlx4, tmp_path, options):
    """The same seed, the same run; another one, another run, of the same program."""
    runs = {}
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        path = tmp_path / name
        # Frames get lost to this program, which it does not take well; it stops.
        vmlx4(PROGRAM, "--step", "send_inline", timeout=120, strict=False,
              options=["--step", "--trace=%s" % path, "--seed=%d" % seed, *options])
        runs[name] = path
    assert runs["first"].read_bytes() == runs["again"].read_bytes()
    first, other = shown(runs["first"]), shown(runs["other"])
    assert first != other
    if "faults" in options[0]:
        assert any(line.split()[1] == "fault" for line in first)
