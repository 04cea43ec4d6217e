# SPDX-License-Identifier: BSD-3-Clause
"""Frames into one interface, and what arrives at another:

    relay.py IN OUT COUNT     (hex lines on stdin and stdout)

It ends when COUNT frames have arrived, or fails when none does for a while."""

import socket
import sys

PATIENCE = 30
EVERY_PROTOCOL = 3
SO_RCVBUFFORCE = 33


def main(entry, leaving, count):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender, \
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                          socket.htons(EVERY_PROTOCOL)) as receiver:
        sender.bind((entry, 0))
        receiver.bind((leaving, 0))
        receiver.settimeout(PATIENCE)
        # All frames of a test wait there while they are sent; root may have as much.
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        for line in sys.stdin:
            sender.send(bytes.fromhex(line))
        for _ in range(int(count)):
            print(receiver.recv(65536).hex())


if __name__ == "__main__":
    main(*sys.argv[1:])
