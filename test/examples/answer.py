# SPDX-License-Identifier: BSD-3-Clause
"""Answer each IPv4 frame of an interface as the host that it was for:

    answer.py INTERFACE

Addresses and ports are swapped, an echo request becomes its reply, the data stay."""

import socket
import sys

IPV4 = 0x0800
SO_RCVBUFFORCE = 33
INCOMING = {socket.PACKET_HOST, socket.PACKET_OTHERHOST}


def answer(frame):
    data = bytearray(frame)
    data[0:6], data[6:12] = frame[6:12], frame[0:6]
    data[26:30], data[30:34] = frame[30:34], frame[26:30]
    if frame[23] == socket.IPPROTO_ICMP:
        data[34] = 0
        # The word of the type is 0x0800 less, and the sum of the complement so much more.
        total = int.from_bytes(frame[36:38], "big") + 0x0800
        data[36:38] = ((total & 0xffff) + (total >> 16)).to_bytes(2, "big")
    else:
        data[34:36], data[36:38] = frame[36:38], frame[34:36]
    return bytes(data)


def main(interface):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(IPV4)) as raw:
        # As much as may come while this program gets no time.
        raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        raw.bind((interface, IPV4))
        print("ready", flush=True)
        while True:
            frame, where = raw.recvfrom(65536)
            if where[2] in INCOMING:
                raw.send(answer(frame))


if __name__ == "__main__":
    main(*sys.argv[1:])
