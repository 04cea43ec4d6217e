# SPDX-License-Identifier: BSD-3-Clause
"""The two ends of a transfer, run inside namespaces as a program:

    endpoint.py receive tcp|udp ADDRESS PORT BYTES
    endpoint.py send    tcp|udp ADDRESS PORT BYTES SEED
    endpoint.py frames  INTERFACE                       (hex lines on stdin)

receive prints "ready", then the SHA-256 of what arrived; content() tells what
should have. Of datagrams no more are on their way than any queue between the two
takes, however seldom it is emptied: the receiver says when WINDOW have come."""

import hashlib
import itertools
import random
import socket
import sys

CHUNK = 1 << 16
DATAGRAM = 1200
WINDOW = 16  # a ring for jumbo frames takes 64, less what waits to be posted again
PATIENCE = 120


def content(seed, size):
    """Bytes that both ends can make and that no segment repeats."""
    source = random.Random(seed)
    while size > 0:
        part = source.randbytes(min(size, CHUNK))
        size -= len(part)
        yield part


def datagrams(seed, size):
    for part in content(seed, size):
        for at in range(0, len(part), DATAGRAM):
            yield part[at:at + DATAGRAM]


def digest(seed, size):
    summed = hashlib.sha256()
    for part in content(seed, size):
        summed.update(part)
    return summed.hexdigest()


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def receive(kind, address, port, size):
    summed = hashlib.sha256()
    if kind == "tcp":
        with socket.create_server((address, port), family=family(address)) as server:
            print("ready", flush=True)
            connection = server.accept()[0]
        while part := connection.recv(CHUNK):
            summed.update(part)
            size -= len(part)
        assert size == 0, "%d bytes are missing" % size
    else:
        with socket.socket(family(address), socket.SOCK_DGRAM) as connection:
            connection.bind((address, port))
            connection.settimeout(PATIENCE)
            print("ready", flush=True)
            for number in itertools.count(1):
                part, sender = connection.recvfrom(CHUNK)
                summed.update(part)
                size -= len(part)
                if number % WINDOW == 0:
                    connection.sendto(b"more", sender)
                if size <= 0:
                    break
    print(summed.hexdigest(), flush=True)


def send(kind, address, port, size, seed):
    if kind == "tcp":
        with socket.create_connection((address, port), PATIENCE) as connection:
            for part in content(seed, size):
                connection.sendall(part)
        return
    with socket.socket(family(address), socket.SOCK_DGRAM) as connection:
        connection.connect((address, port))
        connection.settimeout(PATIENCE)
        for number, part in enumerate(datagrams(seed, size), 1):
            connection.send(part)
            if number % WINDOW == 0:
                assert connection.recv(CHUNK) == b"more"


def send_frames(interface):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((interface, 0))
        for line in sys.stdin:
            raw.send(bytes.fromhex(line))


def main(what, *arguments):
    if what == "frames":
        send_frames(*arguments)
    else:
        kind, address, *numbers = arguments
        {"receive": receive, "send": send}[what](kind, address, *map(int, numbers))


if __name__ == "__main__":
    main(*sys.argv[1:])
