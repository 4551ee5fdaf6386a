"""Strangers and devices that open WebSockets over TLS and drop them all at once, again and again.

Usage: dropped_peers.py PROGRAM ROUNDS SOCKETS

A round opens SOCKETS at /v1/relay, without a login, drops them, and does the same at /v1/events with sessions. Half of
them end what they send first, half close with data unread, which resets the connection. After each, a relay that was open
from the beginning still passes a message on, and the server has as many descriptors as before. Ends with 1 if not.
"""
import os
import resource
import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from server_client import Certificate, Client, Device, Server

DEVICE_SOCKETS, SECONDS = 50, 10
program, rounds, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def until(what, check):
    end = time.monotonic() + SECONDS
    while not check():
        if time.monotonic() > end:
            sys.exit(f"not within {SECONDS} s: {what}")
        time.sleep(0.05)


def drop(sockets):
    for number, peer in enumerate(sockets):
        if number % 2:
            peer.stream.shutdown(socket.SHUT_RDWR)
        peer.stream.close()


with tempfile.TemporaryDirectory() as folder:
    certificate = Certificate(folder)
    context = certificate.context
    with Server(program, folder, *certificate.options, "--requests-per-second-per-address", "1000000", "--connections-per-address", "100000") as server:

        def descriptors():
            if server.process.poll() is not None:
                sys.exit(f"the server ended with {server.process.returncode}: {server.log.read_text()[-2000:]}")
            return len(os.listdir(f"/proc/{server.process.pid}/fd"))

        stranger = Client(server.port, context=context)
        first = Client(server.port, certificate=certificate.fingerprint, context=context).register().login()
        devices = [first] + [first.add(Device()).login() for _ in range((count - 1) // DEVICE_SOCKETS)]
        for device in devices:
            device.close()
        creator = stranger.socket("/v1/relay")
        joiner = stranger.socket("/v1/relay/" + creator.receive().decode())
        # Connections of the logins are still being closed, and readers of the database open later.
        before = None
        while before != (before := descriptors()):
            time.sleep(0.5)

        def check(kind, number):
            until(f"descriptors of {kind} round {number} come back", lambda: descriptors() < before + count // 10)
            for one, other in ((joiner, creator), (creator, joiner)):
                one.send(b"%d" % number)
                assert other.receive() == b"%d" % number

        with ThreadPoolExecutor(32) as pool:
            for number in range(rounds):
                drop(list(pool.map(lambda _: stranger.socket("/v1/relay"), range(count))))
                check("relay", number)
                drop(list(pool.map(lambda place: devices[place // DEVICE_SOCKETS].socket("/v1/events"), range(count))))
                check("events", number)
        # What a peer sends right before it goes still arrives.
        joiner.send(b"last")
        joiner.close()
        assert creator.receive() == b"last"
        assert creator.receive() == 1001
        print(f"{rounds} rounds of {count} relays and {count} listeners dropped; resident {server.resident_mib():.0f} MiB")
        creator.close()
        if code := server.stop():
            sys.exit(f"the server ended with {code}")
print("dropped: good")
