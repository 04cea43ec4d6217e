# SPDX-License-Identifier: BSD-3-Clause
"""All that ibv_devinfo -v prints of each card model. The numbers are written down
here once more: those of public dumps, and what follows from them."""

import re

import pytest

DEVICE = """\
hca_id: mlx4_0
transport: InfiniBand (0)
fw_ver: {fw_ver}
node_guid: 0002:c903:0005:0000
sys_image_guid: 0002:c903:0005:0003
vendor_id: 0x02c9
vendor_part_id: {part_id}
hw_ver: 0x0
board_id: {board_id}
phys_port_cnt: {ports}
max_mr_size: 0xffffffffffffffff
page_size_cap: 0xfffffe00
max_qp: {max_qp}
max_qp_wr: 16351
device_cap_flags: {flags:#010x}
BAD_PKEY_CNTR
BAD_QKEY_CNTR
{ib_flags}CHANGE_PHY_PORT
UD_AV_PORT_ENFORCE
PORT_ACTIVE_EVENT
SYS_IMAGE_GUID
RC_RNR_NAK_GEN
MEM_WINDOW
UD_IP_CSUM
XRC
MEM_MGT_EXTENSIONS
MEM_WINDOW_TYPE_2B
RAW_IP_CSUM
{steering_flags}Unknown flags: 0x488000
max_sge: 32
max_sge_rd: 30
max_cq: 65408
max_cqe: 4194303
max_mr: 524032
max_pd: 32764
max_qp_rd_atom: 16
max_ee_rd_atom: 0
max_res_rd_atom: {max_res_rd_atom}
max_qp_init_rd_atom: 128
max_ee_init_rd_atom: 0
atomic_cap: ATOMIC_HCA (1)
max_ee: 0
max_rdd: 0
max_mw: 0
max_raw_ipv6_qp: 0
max_raw_ethy_qp: 0
max_mcast_grp: {max_mcast_grp}
max_mcast_qp_attach: {max_mcast_qp_attach}
max_total_mcast_qp_attach: {max_total_mcast_qp_attach}
max_ah: 2147483647
max_fmr: 0
max_srq: 65472
max_srq_wr: 16383
max_srq_sge: 31
max_pkeys: 128
local_ca_ack_delay: 15
general_odp_caps:
rc_odp_caps:
NO SUPPORT
uc_odp_caps:
NO SUPPORT
ud_odp_caps:
NO SUPPORT
xrc_odp_caps:
NO SUPPORT
{clock}raw packet caps:
Scatter FCS offload
device_cap_flags_ex: 0x{flags:X}
tso_caps:
max_tso: 262144
supported_qp:
SUPPORT_RAW_PACKET
rss_caps:
{rss}max_wq_type_rq: {max_wq}
packet_pacing_caps:
qp_rate_limit_min: 0kbps
qp_rate_limit_max: 0kbps
tag matching not supported
cq moderation caps:
max_cq_count: 65535
max_cq_period: 65535 us
num_comp_vectors: 4
"""

ETHERNET = """\
port: {port}
state: PORT_ACTIVE (4)
max_mtu: 4096 (5)
active_mtu: 1024 (3)
sm_lid: 0
port_lid: 0
port_lmc: 0x00
link_layer: Ethernet
max_msg_sz: 0x40000000
port_cap_flags: 0x04010000
port_cap_flags2: 0x0000
max_vl_num: 2 (2)
bad_pkey_cntr: 0x0
qkey_viol_cntr: 0x0
sm_sl: 0
pkey_tbl_len: 1
gid_tbl_len: 128
subnet_timeout: 0
init_type_reply: 0
active_width: {width}
active_speed: {speed}
phys_state: LINK_UP (5)
GID[ 0]: fe80:0000:0000:0000:0202:c9ff:fe05:000{port}, RoCE v1
{roce_v2}"""
# The firmware of a Pro speaks both kinds.
ROCE_V2 = "GID[ 1]: fe80::202:c9ff:fe05:{port}, RoCE v2\n"

INFINIBAND = """\
port: {port}
state: PORT_ACTIVE (4)
max_mtu: 4096 (5)
active_mtu: 4096 (5)
sm_lid: 1
port_lid: {port}
port_lmc: 0x00
link_layer: InfiniBand
max_msg_sz: 0x40000000
port_cap_flags: 0x02514868
port_cap_flags2: 0x0000
max_vl_num: 8 (4)
bad_pkey_cntr: 0x0
qkey_viol_cntr: 0x0
sm_sl: 0
pkey_tbl_len: 128
gid_tbl_len: 128
subnet_timeout: 18
init_type_reply: 0
active_width: {width}
active_speed: {speed}
phys_state: LINK_UP (5)
GID[ 0]: fe80:0000:0000:0000:0002:c903:0005:000{port}
"""

CLOCK = "completion timestamp_mask: 0x0000ffffffffffff\nhca_core_clock: 427000kHZ\n"
NO_CLOCK = "completion_timestamp_mask not supported\ncore clock not supported\n"

RSS = """\
max_rwq_indirection_tables: {max_qp}
max_rwq_indirection_table_size: 128
rx_hash_function: 0x1
rx_hash_fields_mask: 0x{hash_fields:X}
supported_qp:
SUPPORT_RAW_PACKET
"""
NO_RSS = """\
max_rwq_indirection_tables: 0
max_rwq_indirection_table_size: 0
rx_hash_function: 0x0
rx_hash_fields_mask: 0x0
"""

# Two ports; with one, mlx4_core has 2 * 128 * 128 QPs more.
CX3 = {
    "fw_ver": "2.42.5000", "part_id": 4099, "board_id": "MT_1090120019", "flags": 0x257e9c66,
    "max_qp": 393144, "max_mcast_grp": 131072, "max_mcast_qp_attach": 244,
    "clock": CLOCK, "rss": RSS, "hash_fields": 0xff, "width": "4X (2)", "speed": "10.0 Gbps (4)",
}
MODELS = {
    "cx3": {},
    "cx3-10g": {"board_id": "MT_1080110023", "width": "1X (1)"},
    "cx3-56g": {"speed": "14.0 Gbps (16)"},
    "cx3-vf": {"part_id": 4100, "clock": NO_CLOCK},
    "cx3-old-fw": {"fw_ver": "2.33.5100", "board_id": "MT_1080120023", "flags": 0x057e9c66,
                   "max_qp": 131000, "max_mcast_grp": 8192, "max_mcast_qp_attach": 248,
                   "rss": NO_RSS},
    # With the VXLAN mode of its flow tables the Pro hashes inner headers too.
    "cx3pro": {"part_id": 4103, "board_id": "MT_1090111019", "hash_fields": 0x800000ff},
    "cx3pro-10g": {"part_id": 4103, "board_id": "MT_1200111023", "width": "1X (1)",
                   "hash_fields": 0x800000ff},
}


def expected(model, layers):
    values = dict(CX3, **MODELS[model])
    if values["flags"] & 1 << 29 and len(layers) == 1:
        values["max_qp"] += 32768
    if "InfiniBand" in layers:
        values["flags"] |= 0x10
    values.update(
        ports=len(layers), max_res_rd_atom=16 * values["max_qp"],
        max_total_mcast_qp_attach=values["max_mcast_grp"] * values["max_mcast_qp_attach"],
        ib_flags="AUTO_PATH_MIG\n" if "InfiniBand" in layers else "",
        steering_flags="MANAGED_FLOW_STEERING\n" if values["flags"] & 1 << 29 else "",
        max_wq=values["max_qp"] if values["rss"] == RSS else 0,
        rss=values["rss"].format(**values))
    text = DEVICE.format(**values)
    for port, layer in enumerate(layers, 1):
        values["roce_v2"] = ROCE_V2.format(port=port) if values["part_id"] == 4103 else ""
        text += {"Ethernet": ETHERNET, "InfiniBand": INFINIBAND}[layer].format(
            port=port, **values)
    return text.splitlines()


def shown(vmlx4, *options):
    text = vmlx4("ibv_devinfo", "-v", options=options).ok().stdout
    return [re.sub(r"\s+", " ", line.strip()) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("model", MODELS)
def test_two_ports(vmlx4, model):
    assert shown(vmlx4, "--profile=" + model) == expected(model, ["Ethernet", "Ethernet"])


@pytest.mark.parametrize("model", MODELS)
def test_one_port(vmlx4, model):
    assert shown(vmlx4, "--profile=" + model, "--ports=1") == expected(model, ["Ethernet"])


@pytest.mark.parametrize("model", ["cx3", "cx3pro"])
def test_infiniband_port(vmlx4, model):
    assert shown(vmlx4, "--profile=" + model, "--ib=2") == expected(
        model, ["Ethernet", "InfiniBand"])
