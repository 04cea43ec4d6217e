#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""seeds.py FOLDER: the inputs that the fuzz targets start from.

They are kept in corpus/TARGET/ beside what the fuzzers found; this tells how
they were made. An input of "commands" is a program of steps, see fuzz_commands.c.
"""

import pathlib
import struct
import sys

EX, NO_REPLY, DRV_REPLY = 1, 2, 4
RAW, INIT, RTR, RTS, SQD, ERR = 8, 1, 2, 3, 4, 6


def arena(offset):
    """A word that the target replaces by an address in its arena."""
    return 0xa5a5a5a5 << 32 | offset


# Where things lie in the arena of "commands".
CQ_BUF, CQ_DB, QP_BUF, QP_DB, WQ_BUF, WQ_DB, DATA = (
    0x0, 0x3000, 0x4000, 0x3010, 0x8000, 0x3020, 0x10000)


def command(number, core, driver=b"", mode=0):
    return struct.pack("<BBBBB", 0, number, mode, len(core), len(driver)) + core + driver


def poke(offset, data):
    return struct.pack("<BHB", 4, offset // 8, len(data)) + data


def doorbell(which, value):
    return struct.pack("<BBH", 5, which, value)


RUN = bytes([6])
SEND, ARM, BLUEFLAME = 0, 1, 3


def frame(port, data):
    return struct.pack("<BBB", 7, port, len(data)) + data


def page(which):
    return bytes([8, which])


def file(which):
    return bytes([9, which])


def alloc_pd():
    return command(3, struct.pack("<Q", 0))


def create_cq(cqe=15, channel=-1, buf=CQ_BUF, db=CQ_DB):
    return command(18, struct.pack("<QQIIiI", 0, 0x11, cqe, 0, channel, 0),
                   struct.pack("<QQ", arena(buf), arena(db)), DRV_REPLY)


def reg_mr(pd=0, access=1):
    return command(9, struct.pack("<QQQQII", 0, arena(DATA), 0x8000, arena(DATA), pd, access))


def create_qp(pd=0, cq=1, kind=RAW):
    return command(24, struct.pack("<QQ9I4B", 0, 0x22, pd, cq, cq, 0, 8, 8, 1, 1, 0, 0, kind, 0, 0),
                   struct.pack("<QQBBBBI", arena(QP_BUF), arena(QP_DB), 6, 6, 0, 0, 0))


def modify_qp(qp, state, port=0):
    mask = 1 | (0x20 if port else 0)
    return command(26, struct.pack("<64xII20xHHBBBBBBBBB7x", qp, mask, 0, 0, state, 0, 0, 0, 0, 0,
                                   0, 0, port), mode=NO_REPLY)


def to_rts(qp):
    return modify_qp(qp, INIT, 1) + modify_qp(qp, RTR) + modify_qp(qp, RTS)


GID = bytes.fromhex("fe80000000000000" "0202c9fffe112230")
RC, UD, XRC_SEND, XRC_RECV = 2, 4, 9, 10


def connect(qp, peer, kind=RC):
    """From RESET to RTS, as the peer of a QP number of the same port."""
    def step(mask, state):
        return command(26, struct.pack(
            "<16sIHHBBBBBBBB32x7IHH14B2x", GID, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, qp, mask,
            0x11111111, 5, 5, peer, 0xf, 0, 0, state, 0, 3, 0, 0, 4, 4, 12, 1, 14, 7, 7, 0, 0),
            mode=NO_REPLY)

    if kind == UD:
        return step(0x71, INIT) + step(1, RTR) + step(0x10001, RTS)
    return step(0x39, INIT) + step(0x129181, RTR) + step(0x12e01, RTS)


def create_qp_of(kind, srq=None, xrcd=0, ring=QP_BUF, record=QP_DB):
    send = 0 if kind == XRC_RECV else 8
    recv = 8 if kind in (RC, UD) and srq is None else 0
    return command(24, struct.pack("<QQ9I4B", 0, 0x22, xrcd, 1, 1, srq or 0, send, recv,
                                   send and 1, recv and 1, 0, 0, kind, srq is not None, 0),
                   struct.pack("<QQBBBBI", arena(ring), arena(record), 6, 7 if kind == UD else 6,
                               0, 0, 0))


def end_of_ring(index, ring=QP_BUF, shift=6):
    return poke(ring + (index << shift), bytes([0xff] * 4))


def create_srq(xrcd=None):
    driver = struct.pack("<QQ", arena(WQ_BUF), arena(WQ_DB))
    if xrcd is None:
        return command(32, struct.pack("<QQIIII", 0, 0x55, 0, 7, 1, 0), driver, DRV_REPLY)
    return command(39, struct.pack("<QQ8I", 0, 0x55, 1, 0, 7, 1, 0, 0, xrcd, 1), driver, DRV_REPLY)


def post_srq(posted):
    chain = b"".join(struct.pack(">HH12x", 0, i + 1) + pointer(512, offset=DATA + 0x4000 + 512 * i)
                     for i in range(posted))
    return poke(WQ_BUF, chain) + poke(WQ_DB, struct.pack(">I", posted))


def create_wq(pd=0, cq=1, log_range=0, buf=WQ_BUF, db=WQ_DB):
    return command(52, struct.pack("<IIQ6I", 0, 0, 0x33, pd, cq, 4, 1, 0, 0),
                   struct.pack("<QQB3xI", arena(buf), arena(db), log_range, 0), EX)


def modify_wq(wq, state):
    return command(53, struct.pack("<6I", 1, wq, state, 0, 0, 0), struct.pack("<II", 0, 0),
                   EX | NO_REPLY)


def create_table(*wqs):
    core = struct.pack("<II", 0, len(wqs).bit_length() - 1) + b"".join(
        struct.pack("<I", wq) for wq in wqs)
    return command(55, core + bytes(-len(core) % 8), mode=EX)


def create_rss_qp(table, pd=0):
    return command(24, struct.pack("<Q9I4B4I", 0x44, pd, 0, 0, 0, 0, 0, 0, 0, 0, 0, RAW, 0, 0,
                                   1, 0, table, 0),
                   struct.pack("<QB7x", 0xff, 1) + bytes(range(40)) + bytes(8), EX)


ETH = struct.pack("<IHH", 0x20, 40, 0) + bytes.fromhex("0002c9112230") + bytes(10) + \
    bytes([255] * 6) + bytes(10)
IPV4 = struct.pack("<IHH", 0x30, 24, 0) + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + bytes(4) + \
    bytes([255] * 4)
TCP = struct.pack("<IHH", 0x40, 16, 0) + struct.pack(">HHHH", 0, 80, 0, 0xffff)


def create_flow(qp, kind=0, specs=(), priority=0, flags=0, port=1):
    body = b"".join(specs)
    return command(50, struct.pack("<IIIHHBBBBI", 0, qp, kind, len(body), priority, len(specs),
                                   0, 0, port, flags) + body, mode=EX)


def destroy(number, handle, extended=False):
    if extended:
        return command(number, struct.pack("<II", 0, handle), mode=EX)
    return command(number, struct.pack("<QII", 0, handle, 0))


def send_wqe(index, segments, opcode=0x0a, flags=0xe, count=64):
    """A WQE of a QP's ring, whose owner bit is that of the first pass."""
    ds = 1 + len(segments) // 16
    return poke(QP_BUF + 64 * (index % count),
                struct.pack(">IIII", opcode, ds, flags, 0) + segments)


def pointer(size, key=0x10001, offset=DATA):
    # The address is a word of the host's order here and of big endian there: let
    # the fuzzer find others.
    return struct.pack(">IIQ", size, key, 0x10000000 + offset)


UDP = bytes.fromhex("0002c9112230021122334455080045000020123400004011000000000a0000010a000002"
                    "03e807d0000c0000deadbeef")
TCP4 = bytes.fromhex("0002c9112230021122334455810000050800450000283456000040060000"
                     "0a0000010a000002138800500000000100000002501020000000000000")

COMMANDS = {
    "send": alloc_pd() + create_cq() + create_qp() + reg_mr() + to_rts(2)
    + poke(DATA, UDP) + send_wqe(0, pointer(60)) + send_wqe(1, pointer(0))
    + send_wqe(2, struct.pack(">I", 0x80000014) + bytes(20) + bytes(8))
    + doorbell(SEND, 0x200) + RUN + modify_qp(2, SQD) + modify_qp(2, RTS) + modify_qp(2, ERR)
    + RUN + modify_qp(2, 0) + destroy(27, 2) + destroy(20, 1),
    "receive": alloc_pd() + create_cq() + create_wq() + create_wq(buf=0x9000, db=0x3028)
    + reg_mr() + create_table(2) + create_rss_qp(5) + create_flow(6, 1)
    + create_flow(6, 0, (ETH, IPV4, TCP), 5) + modify_wq(2, 1) + modify_qp(6, INIT, 1)
    + modify_qp(6, RTR) + poke(WQ_BUF + 64, pointer(2048)) + poke(WQ_DB, struct.pack(">I", 1))
    + frame(0, UDP) + frame(0, TCP4) + RUN + modify_wq(2, 2) + destroy(51, 7, True)
    + destroy(56, 5, True),
    "queries": command(1, bytes(8)) + command(1, bytes(8), mode=EX | DRV_REPLY)
    + command(2, struct.pack("<QB7x", 0, 1)) + command(2, struct.pack("<QB7x", 0, 2))
    + alloc_pd() + create_cq() + create_qp() + command(25, struct.pack("<QII", 0, 2, 1))
    + command(0, bytes(8)) + command(30, bytes(32)) + command(5, bytes(56))
    + command(32, bytes(32)),
    "resize": alloc_pd() + command(17, bytes(8)) + create_cq()
    + command(19, struct.pack("<QII", 0, 2, 63), struct.pack("<Q", arena(0x1000)))
    + command(57, struct.pack("<IIHHI", 2, 1, 8, 16, 0), mode=EX | NO_REPLY)
    + command(18, struct.pack("<QIIiIII", 5, 31, 1, -1, 0, 1, 0),
              struct.pack("<QQ", arena(0x2000), arena(0x3008)), EX | DRV_REPLY)
    + doorbell(ARM, 0x100) + RUN + destroy(20, 2),
    "memory": alloc_pd() + alloc_pd() + reg_mr(access=3)
    + command(11, struct.pack("<QIIQQQII", 0, 2, 7, arena(DATA), 4096, arena(DATA), 1, 1))
    + page(0x90) + reg_mr() + page(0x10) + page(0x51) + reg_mr()
    + command(13, struct.pack("<II", 2, 0), mode=NO_REPLY)
    + command(4, struct.pack("<II", 0, 0), mode=NO_REPLY),
    "gone": alloc_pd() + create_cq() + create_qp() + reg_mr() + to_rts(2)
    + send_wqe(0, pointer(60)) + page(0x90) + page(0x80) + doorbell(SEND, 0x200) + RUN
    + page(0x84) + RUN + modify_qp(2, ERR) + page(0x83) + RUN + destroy(27, 2),
    "rc": alloc_pd() + create_cq() + create_qp_of(RC) + reg_mr(access=15) + connect(2, 0x200)
    + poke(QP_BUF + 0x1000, pointer(512)) + poke(QP_DB, struct.pack(">I", 1))
    + send_wqe(0, pointer(100)) + end_of_ring(1) + doorbell(SEND, 0x200) + RUN
    + command(25, struct.pack("<QII", 0, 2, -1 & 0x1fffff)) + modify_qp(2, ERR) + RUN,
    "srq": alloc_pd() + create_cq() + create_srq() + create_qp_of(RC, srq=2)
    + reg_mr(access=15) + connect(3, 0x200) + post_srq(4)
    + command(33, struct.pack("<4I", 2, 2, 0, 4), mode=NO_REPLY)
    + command(34, struct.pack("<QII", 0, 2, 0)) + send_wqe(0, pointer(100))
    + send_wqe(1, pointer(1000)) + end_of_ring(2) + doorbell(SEND, 0x200) + RUN + modify_qp(3, ERR)
    + destroy(27, 3) + destroy(35, 2),
    "xrc": alloc_pd() + create_cq() + command(37, struct.pack("<QIi", 0, 0xffffffff, 0))
    + create_srq(xrcd=2) + create_qp_of(XRC_RECV, xrcd=2) + reg_mr(access=15)
    + connect(4, 0x201) + create_qp_of(XRC_SEND, ring=0x6000, record=0x3040)
    + connect(6, 0x200) + post_srq(4)
    + poke(0x6000, struct.pack(">IIII", 0x0a, 2, 0x4c, 0) + pointer(100))
    + end_of_ring(1, 0x6000) + doorbell(SEND, 0x201) + RUN + destroy(35, 3)
    + command(40, struct.pack("<QQIIB7x", 0, 0x77, 2, 0x800200, XRC_RECV)) + destroy(27, 4)
    + destroy(27, 3) + command(38, struct.pack("<II", 2, 0), mode=NO_REPLY),
    "windows": alloc_pd() + create_cq() + create_qp_of(RC) + reg_mr(access=31)
    + connect(2, 0x200) + command(14, struct.pack("<QIBxxx", 0, 0, 1))
    + command(14, struct.pack("<QIBxxx", 0, 0, 2))
    + send_wqe(0, struct.pack(">IIIIQQ", 0xe0000000, 0, 0x10101, 0x10001, 0x10000000 + DATA, 64),
               0x18)
    + send_wqe(1, struct.pack(">IIIIQQ", 0xe0000000, 0x80000000, 0x10202, 0x10001,
                              0x10000000 + DATA, 64), 0x18)
    + send_wqe(2, struct.pack(">8xI20x", 0x10202), 0x1b) + end_of_ring(3)
    + doorbell(SEND, 0x200) + RUN + command(13, struct.pack("<II", 3, 0), mode=NO_REPLY)
    + command(16, struct.pack("<II", 4, 0), mode=NO_REPLY) + destroy(27, 2),
    "groups": alloc_pd() + create_cq() + create_qp_of(UD) + reg_mr(access=15)
    + connect(2, 0, UD)
    + command(30, bytes.fromhex("ff0e") + bytes(14) + struct.pack("<IHH", 2, 0xc001, 0),
              mode=NO_REPLY)
    + poke(QP_BUF + 0x2000, pointer(512)) + poke(QP_DB, struct.pack(">I", 1))
    + send_wqe(0, bytes(8) + bytes([0, 0, 0, 1]) + bytes(4) + bytes.fromhex("ff0e") + bytes(14)
               + struct.pack(">II", 0xffffff, 0x11111111) + bytes.fromhex("0000333300000001")
               + pointer(100))
    + end_of_ring(1, shift=7) + doorbell(SEND, 0x200) + RUN + destroy(27, 2)
    + command(31, bytes.fromhex("ff0e") + bytes(14) + struct.pack("<IHH", 2, 0xc001, 0),
              mode=NO_REPLY) + destroy(27, 2),
    "two-files": alloc_pd() + file(1) + alloc_pd() + create_cq() + file(0) + destroy(20, 1)
    + file(2) + alloc_pd() + file(3) + RUN,
}


def wqe(config, shift, *entries):
    return bytes([config, shift - 6]) + b"".join(entries)


def entry(dw0, ds, flags, *words):
    data = struct.pack(">IIII", dw0, ds, flags, 0) + b"".join(words)
    return data + bytes(-len(data) % 64)


def segment(size, offset, key=0x10000):
    return struct.pack(">IIQ", size, key, arena(offset))


WQES = {
    "sends": wqe(0, 6, entry(0x0a, 2, 0xe, segment(60, 0)), entry(0x0a, 3, 0x3e, segment(14, 0),
                 segment(100, 50)), entry(0x0a, 2, 2, segment(1514, 4096)), entry(0, 1, 0xe)),
    "inline": wqe(0, 6, entry(0x0a, 3, 0xe, struct.pack(">I", 0x8000001c), bytes(28)),
                  entry(0x0a, 2, 0xe, struct.pack(">I", 0x80000000) + bytes(12))),
    "lso": wqe(0, 6, entry(0x4e, 6, 0x3e, struct.pack(">I", 1000 << 16 | 54)
               + UDP[:12] + bytes.fromhex("080045000028000040004006") + bytes(26) + bytes(10),
               segment(4000, 0))),
    "vlan": wqe(0x10, 6, entry(0x0a, 0x00054002, 0xe, segment(60, 0)),
                entry(0x0a, 0x00058002, 0xe, segment(60, 0)),
                entry(0x0a, 0x0005c002, 0x3e, segment(60, 0))),
    "wrong": wqe(0, 6, entry(0x08, 2, 0xe, segment(60, 0)), entry(0x0a, 63, 0xe,
                 segment(60, 200000), segment(0, 0, 0x100))),
    "wide": wqe(0x21, 8, entry(0x0a, 5, 0x3e, *[segment(20, 64 * i) for i in range(4)])),
}


def frames(fields, *all_frames):
    return bytes([fields]) + b"".join(
        struct.pack("<H", len(data)) + data + bytes([14, 0, 16, 0, 100, 0, 31, 5, 0])
        for data in all_frames)


IPV6 = (bytes.fromhex("0002c911223002112233445586dd6000000000142c40")
        + bytes(15) + b"\x01" + bytes(15) + b"\x02"
        + bytes.fromhex("0600000100000001") + bytes(20))
VXLAN = UDP[:36] + bytes.fromhex("12b512b5002e00000800000000000a00") + UDP
FRAMES = {
    "udp": frames(0x3f, UDP),
    "tcp-vlan": frames(0x3f, TCP4),
    "ipv6-fragment": frames(0x4c, IPV6),
    "vxlan": frames(0x3f, VXLAN),
    "llc": frames(0, UDP[:12] + bytes.fromhex("0030aaaa030000000800") + UDP[14:]),
    "short": frames(0, UDP[:14], UDP[:33], b""),
    "qinq": frames(0xbf, UDP[:12] + bytes.fromhex("88a8000581000006") + UDP[12:]),
}


def recv(end, offset, size):
    return struct.pack("<BBHH", 8, end, offset, size)


def post(end, opcode, *segments, flags=0xc):
    data = struct.pack(">IIII", opcode, 0, flags, 0x12345678) + b"".join(segments)
    return struct.pack("<BBB", 4, end, len(data)) + data


def remote(offset, *operands):
    return struct.pack(">QII", arena(offset), 0x10000, 0) + b"".join(
        struct.pack(">Q", operand) for operand in operands)


def packet(bits, opcode, psn=0, va=0, length=0, syndrome=0, own=b"", size=0):
    return struct.pack("<BBBbHHB", 0, bits, opcode, psn, va, length, syndrome) + own + \
        struct.pack("<B", size)


def av(gid, mac, qpn):
    return bytes([0] * 11 + [1] + [0] * 4) + gid + struct.pack(">IIxx", qpn, 0x11111111) + mac


STEP, POLL = bytes([9]), bytes([12])


def later(shift):
    return bytes([10, shift])


def change(end, what, rest=0):
    return bytes([11, end | what << 1 | rest << 3])


def rights(bits):
    return bytes([13, bits])


MAC_1 = bytes([2, 0, 0, 0, 0, 1])
GID_1 = bytes.fromhex("fe80000000000000" "0000fffffe000001")
ROCE_RC, ROCE_UC, ROCE_UD, ROCE_XRC = 0, 1, 2, 3
LONG = segment(3000, 256)


def roce(kind, *steps):
    return bytes([kind, 0]) + b"".join(steps)


ROCE = {
    "send": roce(ROCE_RC, recv(0, 0x8000, 4096), recv(0, 0x9000, 64), post(0, 0x0a, LONG), STEP,
                 POLL, post(0, 0x0b, segment(64, 0)), post(0, 0x0a, segment(100, 0)), STEP),
    "write": roce(ROCE_RC, recv(0, 0x8000, 4096), post(0, 0x08, remote(0x8000), LONG),
                  post(0, 0x09, remote(0x8000), segment(10, 0)), STEP, rights(1),
                  post(0, 0x08, remote(0x8000), LONG), STEP),
    "read": roce(ROCE_RC, post(0, 0x10, remote(0x8000), LONG),
                 post(0, 0x12, remote(0x8000, 7, 0), segment(8, 0)),
                 post(0, 0x11, remote(0x8000, 7, 9), segment(8, 8)), STEP, POLL,
                 post(0, 0x10, remote(0x20000), LONG), STEP),
    "retry": roce(ROCE_RC, change(0, 2), post(0, 0x0a, LONG), STEP, later(27), later(28),
                  later(28), later(29)),
    "not-ready": roce(ROCE_RC, post(0, 0x0a, LONG), STEP, later(20), recv(0, 0x8000, 4096),
                      later(21), change(1, 0, 1), later(30)),
    "requests": roce(ROCE_RC, recv(0, 0x8000, 512), packet(0, 4, size=60, syndrome=2),
                     packet(0, 6, va=0x8000, length=61, size=61), packet(0, 12, length=2000),
                     packet(0, 12, psn=-1, length=1), packet(0, 20, va=64), STEP,
                     packet(0, 20, psn=-1, va=64), packet(0, 4, psn=3), STEP),
    "answers": roce(ROCE_RC, change(0, 2), post(0, 0x10, remote(0), LONG), post(0, 0x0a, LONG),
                    STEP, packet(0x80, 17), packet(0x80, 13, size=200),
                    packet(0x80, 17, psn=2, syndrome=0x60), STEP,
                    packet(0x80, 17, psn=4, syndrome=0x21), STEP, later(25), STEP),
    "uc": roce(ROCE_UC, recv(0, 0x8000, 4096), post(0, 0x0a, LONG),
               post(0, 0x08, remote(0x8000), LONG), STEP, packet(0, 0x21), packet(0, 0x24, size=9),
               STEP),
    "ud": roce(ROCE_UD, recv(0, 0x8000, 4096), recv(0, 0x9000, 20),
               post(0, 0x0a, av(GID_1, MAC_1, 0x1c2), segment(100, 0)),
               post(0, 0x0b, av(GID_1, MAC_1, 0x1c2), segment(100, 0)), STEP,
               packet(0, 0x64, size=30), packet(0x20, 0x64, size=30), STEP),
    "xrc": roce(ROCE_XRC, post(0, 0x0a, LONG, flags=0x330c), post(0, 0x0a, segment(100, 0),
                flags=0x330c), STEP, POLL, post(0, 0x10, remote(0), LONG, flags=0x330c), STEP,
                packet(0, 0xa4, size=8), packet(0x80, 0xaa, size=4, length=4), STEP),
}

OPTIONS = {
    "plain": b"step ports=2 strict=report profile=cx3 mtu=9000 cqe-size=32 ib=2",
    "wires": b"wire1=pcap:in=a,out=b wire2=tap:x0 pci=0000:03:00.0",
    "far": b"wire=unix:/a,rate=40G,delay=1us wire2=shm:name seed=7",
    "faults": b"faults=cmd=create_qp:nth=2:errno=ENOMEM trace=/x trace-snaplen=64",
    "unknown": b"unknown=tx_min_frame=64 unknown=rx_hash_when_none=4294967295",
    "quoted": b"stats=/a\\ b sysfs=/tmp/x deny-open",
}


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: seeds.py FOLDER: write the seeds of each target there")
    folder = pathlib.Path(sys.argv[1])
    for target, inputs in (("commands", COMMANDS), ("wqe", WQES), ("frame", FRAMES),
                           ("options", OPTIONS), ("roce", ROCE)):
        (folder / target).mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (folder / target / name).write_bytes(data)


if __name__ == "__main__":
    main()
