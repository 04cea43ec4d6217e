# SPDX-License-Identifier: BSD-3-Clause
"""The driver through the public ethdev API: each test of mdv-test (test/pmd/)
is one item here, in a process of its own, on a stepped adapter under the
contract checker."""

import os
import subprocess

import pytest

from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "pmd" / "mdv-test"
SKIPPED = 77

if not PROGRAM.exists():
    pytest.skip("the driver is not part of this build", allow_module_level=True)

EVERY = subprocess.run([PROGRAM, "--list"], stdout=subprocess.PIPE, text=True, timeout=60,
                       check=True).stdout.split()
NAMES = [name for name in EVERY if not name.startswith("huge_")]
# EAL's memory comes and goes in these.
HUGE = [name for name in EVERY if name.startswith("huge_")] + [
    "mr_pool_freed_and_another_in_its_place",
    "rx_received_mbufs_can_be_sent",
    "split_in_some_of_three_queues",
]

# What a test needs of the adapter beside the default.
OPTIONS = {
    # The event that a port is active, and a quarter of a second later the carrier.
    "link_late_carrier_is_told_once_when_it_is_there": ["--carrier-delay=250"],
    "link_late_carrier_when_the_port_closes": ["--carrier-delay=250"],
    "flow_copy_without_a_sniffer": ["--unknown=steer_dont_trap=0"],
    "module_eeprom_of_an_sfp": ["--profile=cx3pro-10g"],
    "module_eeprom_of_none": ["--module=none"],
    # Pulling one cable must concern one port.
    "link_change_is_told_once_and_on_its_own_port": ["--wire=loop"],
    # A virtual function has no BlueFlame, and no clock.
    "tx_blueflame_on_a_virtual_function": ["--profile=cx3-vf"],
    "rx_timestamps_are_not_offered_without_a_clock": ["--profile=cx3-vf"],
    # Only a virtual function has neighbours on its card.
    "reports_virtual_function_reaches_its_neighbours": ["--profile=cx3-vf"],
}


def run(vmlx4, name, *options):
    done = vmlx4(PROGRAM, name, options=["--step", *OPTIONS.get(name, ()), *options],
                 timeout=600)
    if done.status == SKIPPED:
        pytest.skip(done.stdout.strip())
    done.ok()
    assert "ok %s\n" % name in done.stdout, str(done)
    return done


@pytest.mark.parametrize("name", NAMES)
def test_ethdev(vmlx4, name):
    run(vmlx4, name)


@pytest.mark.parametrize("name", HUGE)
def test_with_huge_pages(vmlx4, hugepages, monkeypatch, name):
    monkeypatch.setenv("MDV_TEST_HUGE_DIR", str(hugepages.folder))
    run(vmlx4, name)


def test_module_of_a_virtual_function(vmlx4):
    run(vmlx4, "module_eeprom_of_none", "--module=qsfp", "--profile=cx3-vf")


@pytest.mark.parametrize("mtu", [576, 1500, 4000, 9000])
def test_mtu_of_the_interface_is_read_at_probe(vmlx4, mtu):
    run(vmlx4, "mtu_is_read_at_probe", "--mtu=%d" % mtu)


@pytest.mark.parametrize("name", [
    "lifecycle_start_stop_100_times_with_traffic",
    "queues_rx_only",
    "queues_tx_only",
    "rss_power_of_two_queues",
])
def test_adapter_of_one_port(vmlx4, tmp_path, name):
    run(vmlx4, name, "--ports=1", "--wire=pcap:out=%s" % (tmp_path / "sent.pcap"))


@pytest.mark.parametrize("options", [["--cqe=32"], ["--profile=cx3"]], ids=lambda o: o[0][2:])
@pytest.mark.parametrize("name", [
    "errors_rx_completion_is_counted_and_the_queue_lives",
    "errors_tx_completion_is_counted_and_the_queue_lives",
    "offload_packet_types_and_checksums_of_each_kind",
    "rss_hash_flag_with_each_set_of_offloads",
    "rss_other_numbers_of_queues",
    "rx_runs_on_ring_of_ten_thousand_frames",
    "rx_scatter_9000_in_2k_buffers",
    "tx_ten_thousand_chains_with_a_slow_adapter",
])
def test_other_cards(vmlx4, name, options):
    run(vmlx4, name, *options)


@pytest.mark.parametrize("name", [
    "flow_by_addresses_and_ports",
    "rss_other_numbers_of_queues",
    "rx_runs_on_ring_of_ten_thousand_frames",
    "tx_ten_thousand_chains_with_a_slow_adapter",  # addresses in several segments
])
def test_virtual_function(vmlx4, name):
    run(vmlx4, name, "--profile=cx3-vf")


def test_many_in_one_process(vmlx4):
    """Nothing that a test leaves behind disturbs the next one: every fourth of them,
    as all would take minutes; ALL=1 takes them all."""
    names = [name for name in NAMES[::1 if os.environ.get("ALL") else 4]
             if name not in OPTIONS]
    done = vmlx4(PROGRAM, *names, options=["--step"], timeout=1200).ok()
    assert [line for line in done.stdout.splitlines() if line.startswith("ok ")] == \
        ["ok %s" % name for name in names]


def test_a_name_that_does_not_exist(vmlx4):
    done = vmlx4(PROGRAM, "no_such_test", options=["--step"])
    assert done.status == 2
    assert "no test is called 'no_such_test'" in done.stderr
