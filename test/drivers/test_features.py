# SPDX-License-Identifier: BSD-3-Clause
"""The table of features is what the driver does: what it implements of ethdev's
operations, and the offloads that it tells testpmd."""

import configparser
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INI = ROOT / "doc" / "guides" / "nics" / "features" / "mlx4dv.ini"

# A feature is there exactly when all of these are: operations of ethdev…
OPERATIONS = {
    "Link status": ["link_update"],
    "Removal event": ["is_removed"],
    "Rx interrupt": ["rx_queue_intr_enable", "rx_queue_intr_disable"],
    "Free Tx mbuf on demand": ["tx_done_cleanup"],
    "Queue start/stop": ["rx_queue_start", "rx_queue_stop", "tx_queue_start", "tx_queue_stop"],
    "Burst mode info": ["rx_burst_mode_get", "tx_burst_mode_get"],
    "Power mgmt address monitor": ["get_monitor_addr"],
    "MTU update": ["mtu_set"],
    "Promiscuous mode": ["promiscuous_enable", "promiscuous_disable"],
    "Allmulticast mode": ["allmulticast_enable", "allmulticast_disable"],
    "Unicast MAC filter": ["mac_addr_add", "mac_addr_remove"],
    "Multicast MAC filter": ["set_mc_addr_list"],
    "RSS key update": ["rss_hash_update", "rss_hash_conf_get"],
    "RSS reta update": ["reta_update"],
    "VLAN filter": ["vlan_filter_set"],
    "Flow control": ["flow_ctrl_get", "flow_ctrl_set"],
    "Timesync": ["timesync_enable"],
    "Rx descriptor status": ["rx_descriptor_status"],
    "Tx descriptor status": ["tx_descriptor_status"],
    "Packet type parsing": ["dev_supported_ptypes_get"],
    "Basic stats": ["stats_get", "stats_reset"],
    "Extended stats": ["xstats_get", "xstats_get_names", "xstats_reset"],
    "FW version": ["fw_version_get"],
    "Module EEPROM dump": ["get_module_info", "get_module_eeprom"],
    "LED": ["dev_led_on", "dev_led_off"],
}
# …or offloads, as testpmd prints them.
OFFLOADS = {
    "Fast mbuf free": ["MBUF_FAST_FREE"],
    "Scattered Rx": ["SCATTER"],
    "TSO": ["TCP_TSO"],
    "LRO": ["TCP_LRO"],
    "RSS hash": ["RSS_HASH"],
    "CRC offload": ["KEEP_CRC"],
    "VLAN offload": ["VLAN_STRIP", "VLAN_INSERT"],
    "QinQ offload": ["QINQ_STRIP"],
    "L3 checksum offload": ["IPV4_CKSUM"],
    "L4 checksum offload": ["TCP_CKSUM", "UDP_CKSUM"],
    "Timestamp offload": ["TIMESTAMP"],
    "Buffer split on Rx": ["BUFFER_SPLIT"],
    "MACsec offload": ["MACSEC_STRIP"],
}
# Said otherwise, each tested elsewhere.
OTHER = {
    "Speed capabilities", "Link status event", "Runtime Tx queue setup", "Stats per queue",
    "SR-IOV", "Inner L3 checksum", "Inner L4 checksum", "Multiprocess aware", "Linux", "x86-64",
    "Usage doc",
}


@pytest.fixture(scope="module")
def listed():
    parser = configparser.ConfigParser(comment_prefixes=(";",), delimiters=("=",))
    parser.optionxform = str
    parser.read_string(INI.read_text(encoding="ascii"))
    return dict(parser["Features"])


def test_operations(listed):
    folder = ROOT / "drivers" / "net" / "mlx4dv"
    source = "".join((folder / name).read_text()
                     for name in ("mlx4dv_ethdev.c", "mlx4dv_port.c"))
    operations = set(re.findall(r"^\t(?:dev->|\.)(\w+) = mdv_", source, re.M))
    assert "dev_configure" in operations
    for feature, wanted in OPERATIONS.items():
        assert (feature in listed) == all(one in operations for one in wanted), feature


def test_offloads(listed, testpmd):
    pmd = testpmd()
    told = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b",
                          pmd.do("show port 0 rx_offload capabilities")
                          + pmd.do("show port 0 tx_offload capabilities")))
    assert pmd.quit() == 0
    for feature, wanted in OFFLOADS.items():
        assert (feature in listed) == all(one in told for one in wanted), feature


def test_nothing_is_claimed_that_nobody_looks_at(listed):
    assert set(listed) <= set(OPERATIONS) | set(OFFLOADS) | OTHER
