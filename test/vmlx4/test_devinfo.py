# SPDX-License-Identifier: BSD-3-Clause
"""The distribution's ibv_devinfo on the virtual adapter. The numbers are those
of public dumps of real cards, written down here once more on purpose."""

import re

import pytest

LIMITS = {
    "transport": "InfiniBand (0)",
    "fw_ver": "2.42.5000",
    "vendor_id": "0x02c9",
    "max_qp_wr": "16351",
    "max_sge": "32",
    "max_sge_rd": "30",
    "max_cq": "65408",
    "max_cqe": "4194303",
    "max_mr": "524032",
    "max_pd": "32764",
    "max_srq": "65472",
    "max_srq_wr": "16383",
    "max_srq_sge": "31",
    "max_pkeys": "128",
}


def fields(text):
    """{"fw_ver": "2.42.5000", …}; of several ports the first counts."""
    found = {}
    for name, value in re.findall(r"^\s*([\w.]+):\s+(\S.*?)\s*$", text, re.M):
        found.setdefault(name, value)
    return found


def devinfo(vmlx4, *options):
    return vmlx4("ibv_devinfo", "-v", options=options).ok().stdout


@pytest.mark.parametrize("profile, part_id", [("cx3", "4099"), ("cx3pro", "4103")])
def test_profile(vmlx4, profile, part_id):
    shown = fields(devinfo(vmlx4, "--profile=" + profile))
    assert shown["vendor_part_id"] == part_id
    assert {name: shown.get(name) for name in LIMITS} == LIMITS


def test_two_ethernet_ports(vmlx4):
    text = devinfo(vmlx4)
    assert fields(text)["phys_port_cnt"] == "2"
    ports = re.split(r"^\s*port:\s+", text, flags=re.M)[1:]
    assert [port[0] for port in ports] == ["1", "2"]
    for port in ports:
        shown = fields(port)
        assert shown["state"] == "PORT_ACTIVE (4)"
        assert shown["link_layer"] == "Ethernet"
        assert shown["max_mtu"] == "4096 (5)"
        assert shown["active_mtu"] == "1024 (3)"  # of an Ethernet MTU of 1500


def test_one_port(vmlx4):
    text = devinfo(vmlx4, "--ports=1")
    assert fields(text)["phys_port_cnt"] == "1"
    assert len(re.findall(r"^\s*port:", text, re.M)) == 1


def test_gids_name_the_interfaces(vmlx4):
    """GID 0 is the link-local address made of the port's MAC, as RoCE has it."""
    gids = re.findall(r"GID\[\s*0\]:\s*(\S+)", devinfo(vmlx4))
    assert len(gids) == 2 and gids[0] != gids[1]
    for gid in gids:
        assert re.fullmatch(r"fe80:.*ff:?fe.*", gid), gid


def test_infiniband_port(vmlx4):
    ports = re.split(r"^\s*port:\s+", devinfo(vmlx4, "--ib=2"), flags=re.M)[1:]
    assert [fields(port)["link_layer"] for port in ports] == ["Ethernet", "InfiniBand"]


def test_strict_is_quiet(vmlx4):
    """A program that keeps the contract prints nothing of the adapter's."""
    assert "vmlx4" not in vmlx4("ibv_devinfo").ok().stderr


def test_unused_gids_cannot_be_read(vmlx4):
    """As in sysfs: libibverbs goes by the errno, and ibv_query_gid_table() fails
    where there is no file at all."""
    folder = "cat $SYSFS_PATH/class/infiniband/mlx4_0/ports/2/gid_attrs/"
    assert vmlx4("sh", "-c", folder + "types/1").ok().stdout == "RoCE v2\n"
    for name in ("types/2", "types/127", "ndevs/2"):
        done = vmlx4("sh", "-c", folder + name)
        assert done.status == 1 and "Invalid argument" in done.stderr, str(done)
    for name in ("types/128", "types/x", "types"):
        assert "Invalid argument" not in vmlx4("sh", "-c", folder + name).stderr
