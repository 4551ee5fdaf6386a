"""Loads a coffret-server with connected devices and idle WebSockets, and holds it to its limits.

Usage: load_server.py PROGRAM DEVICES SOCKETS [--tls]

Every device has its own keys, session and event socket; four belong to one account. One device of each account pushes,
and each of the four must be told of exactly that zone. Then SOCKETS more WebSockets are opened that say nothing; they
must stay open while everybody is told of another push. Prints one line per figure; ends with 1 when a limit is passed.
"""
import asyncio
import os
import resource
import sys
import tempfile
import time

from server_client import Certificate, Client, Device, Server

IDLE_MIB, LOADED_MIB = 60, 300
program, device_count, socket_count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
# With TLS the server has the peer's socket and a pair for each WebSocket.
needed = (device_count + socket_count) * (3 if "--tls" in sys.argv else 1) + 200
if hard < needed:
    sys.exit(f"{hard} descriptors are too few: it takes {needed}")
faults = []


def limit(what, measured, most):
    print(f"{what}: {measured:.0f} MiB (limit {most})", flush=True)
    if measured > most:
        faults.append(what)


async def open_socket(client, path, index):
    # Loopback has many addresses; one has too few ports for all.
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", client.port, local_addr=(f"127.0.0.{2 + index % 200}", 0), limit=4096, ssl=client.context)
    writer.write(client.upgrade(path))
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 "), head
    return reader, writer


async def open_all(clients, path):
    sockets = []
    for start in range(0, len(clients), 100):
        sockets += await asyncio.gather(
            *[open_socket(client, path, start + number) for number, client in enumerate(clients[start:start + 100])])
    return sockets


async def frame(reader):
    head = await reader.readexactly(2)
    assert head[1] < 126, "a short message"
    return head[0], await reader.readexactly(head[1])


async def told(reader, zone):
    while True:
        kind, message = await frame(reader)
        # [1, zone, head, cursor]; other events are of the chain.
        if kind == 0x82 and message[1:2] == b"\x01":
            assert message[2:4] == b"\x58\x20" and message[4:36].hex() == zone, "an event of somebody else's zone"
            return


async def round_of_pushes(accounts, listeners, heads):
    """Every account's first device pushes; until all of its devices are told."""
    delays = []

    async def one(number, devices, zone):
        head = os.urandom(32)
        started = time.monotonic()
        await asyncio.to_thread(devices[0].push, zone, heads.get(zone, b""), head, [(head, os.urandom(1024))])
        await asyncio.gather(*[told(listeners[device][0], zone) for device in devices])
        delays.append(time.monotonic() - started)
        heads[zone] = head

    for start in range(0, len(accounts), 8):
        await asyncio.wait_for(
            asyncio.gather(*[one(start + n, *account) for n, account in enumerate(accounts[start:start + 8])]), 60)
    return sorted(delays)


async def load(server, tls):
    port = server.port
    started = time.monotonic()
    accounts = []
    while sum(len(devices) for devices, _ in accounts) < device_count:
        first = Client(port, **tls).register().login()
        devices = [first] + [first.add(Device()).login() for _ in range(3)]
        accounts.append((devices, first.zone()))
        for device in devices:
            device.close()
    everybody = [device for devices, _ in accounts for device in devices]
    assert len({device.token for device in everybody}) == len(everybody)
    print(f"{len(everybody)} devices of {len(accounts)} accounts logged in: {time.monotonic() - started:.1f} s", flush=True)
    listeners = dict(zip(everybody, await open_all(everybody, "/v1/events")))
    heads = {}
    delays = await round_of_pushes(accounts, listeners, heads)
    print(f"events until the last of an account's four devices has it: median {delays[len(delays) // 2] * 1000:.0f} ms, "
          f"worst {delays[-1] * 1000:.0f} ms (eight accounts at a time, client in Python)")
    limit(f"with {len(everybody)} connected devices", server.resident_mib(), LOADED_MIB)

    before, started = server.resident_mib(), time.monotonic()
    stranger = Client(port, **tls)
    idle = await open_all([stranger] * socket_count, "/v1/relay")
    for reader, _ in idle:
        kind, text = await frame(reader)
        assert kind == 0x81 and len(text) == 32
    took, after = time.monotonic() - started, server.resident_mib()
    print(f"{socket_count} idle WebSockets beside them: {took:.1f} s to open, "
          f"{(after - before) * 1024 * 1024 / socket_count:.0f} bytes each, {after:.0f} MiB in all", flush=True)
    delays = await round_of_pushes(accounts[:50], listeners, heads)
    print(f"events meanwhile: median {delays[len(delays) // 2] * 1000:.0f} ms, worst {delays[-1] * 1000:.0f} ms")
    for _, writer in idle:
        writer.write(b"\x89\x80\0\0\0\0")
    for reader, _ in idle:
        assert (await asyncio.wait_for(frame(reader), 60))[0] == 0x8A, "an idle WebSocket was closed"
    print(f"{socket_count} of {socket_count} still answer")
    for _, writer in idle + list(listeners.values()):
        writer.transport.abort()


with tempfile.TemporaryDirectory() as folder:
    options, tls = [], {}
    if "--tls" in sys.argv:
        certificate = Certificate(folder)
        options, tls = certificate.options, {"certificate": certificate.fingerprint, "context": certificate.context}
    with Server(program, folder, *options, "--requests-per-second-per-address", "1000000",
                "--connections-per-address", "100000") as server:
        limit("idle", server.resident_mib(), IDLE_MIB)
        asyncio.run(load(server, tls))
        if code := server.stop():
            faults.append(f"the server ended with {code}")
print("load: good" if not faults else f"load: {', '.join(faults)}")
sys.exit(1 if faults else 0)
