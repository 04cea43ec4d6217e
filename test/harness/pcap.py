# SPDX-License-Identifier: BSD-3-Clause
"""Capture files, as lists of frames."""

import struct

MAGICS = {0xa1b2c3d4, 0xa1b23c4d}  # microseconds, nanoseconds


def read(path):
    """The frames of a capture, each whole."""
    with open(path, "rb") as file:
        data = file.read()
    order = next(order for order in "<>" if struct.unpack_from(order + "I", data)[0] in MAGICS)
    frames, at = [], 24
    while at < len(data):
        captured, length = struct.unpack_from(order + "8xII", data, at)
        assert captured == length, "%s: frame %d was cut" % (path, len(frames))
        frames.append(data[at + 16:at + 16 + captured])
        assert len(frames[-1]) == captured, "%s ends within frame %d" % (path, len(frames))
        at += 16 + captured
    return frames


def read_growing(path):
    """The whole frames so far of a capture that is being written."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    frames, at = [], 24
    while at + 16 <= len(data):
        captured, = struct.unpack_from("=8xI", data, at)
        if at + 16 + captured > len(data):
            break
        frames.append(data[at + 16:at + 16 + captured])
        at += 16 + captured
    return frames


def write(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(frames):
            file.write(struct.pack("<IIII", number // 10**6, number % 10**6,
                                   len(frame), len(frame)) + frame)
