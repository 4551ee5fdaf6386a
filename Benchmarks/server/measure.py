#!/usr/bin/env python3
"""Measures a coffret-server: memory, idle WebSockets, connected devices, processor time beside nginx.

Usage: measure.py PATH-TO-coffret-server     (a release build; needs wrk, nginx, Python's cryptography and websockets)
Prints one line per figure. Everything runs on loopback in a temporary folder.
"""
import asyncio
import base64
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

root = pathlib.Path(__file__).resolve().parents[2]
source = (root / "Tests/Vectors/trust/generate.py").read_text().split("\nlaptop, phone")[0]
chains = type(sys)("chains")
exec(source, chains.__dict__)
cbor = chains.cbor


def text(value):
    return chains.head(3, len(value)) + value.encode()


class Server:
    def __init__(self, program, folder, *options):
        self.log = open(f"{folder}/log", "w+")
        self.process = subprocess.Popen(
            [program, "serve", "--data", f"{folder}/data", "--listen", "127.0.0.1:0", "--registration", "open",
             "--requests-per-second-per-address", "1000000", "--requests-per-second-per-account", "1000000",
             "--connections-per-address", "100000", *options], stderr=self.log)
        while not (found := re.search(r'"port":"(\d+)"', pathlib.Path(f"{folder}/log").read_text())):
            time.sleep(0.05)
        self.port = int(found[1])

    def rss_kib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{self.process.pid}/status").read())[1])

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def post(self, path, body, token=None, method="POST"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body, method=method)
        if token:
            request.add_header("Authorization", "Bearer " + token)
        return urllib.request.urlopen(request).read()


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def account(server, number):
    device = chains.Device(number)
    chain = chains.Chain().add(device, device)
    server.post("/v1/accounts", cbor([chain.links[0], b""]))
    return device, chain


def login(server, device, chain):
    nonce = os.urandom(32)
    answer = server.post("/v1/login/challenge", cbor([chain.id, device.id, nonce]))
    # [name, nonce(32), expiry(8)]: the sizes are known, so the answer is cut from behind.
    server_nonce, expiry = answer[-41:-9], int.from_bytes(answer[-8:], "big")
    name = answer[2:-43]
    signature = chains.sign(device.key, b"login", name + bytes(32),
                            chain.id + device.id + server_nonce + nonce + expiry.to_bytes(8, "big"))
    session = server.post("/v1/login", cbor([chain.id, device.id, nonce, server_nonce, expiry, signature]))
    return session[3:35].hex()


def zone(server, device, chain, token):
    member = chains.Chain(3).append({0: 1, 1: os.urandom(32), 2: chain.id, 3: chain.hashes[0], 4: bytes(32)}, device)
    server.post("/v1/zones", cbor([member.id, member.links[0]]), token)
    return member.id.hex()


def upgrade(path, token=None):
    key = base64.b64encode(os.urandom(16)).decode()
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    return (f"GET {path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{bearer}"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode()


async def open_sockets(port, count, path, token=None):
    async def one(index):
        # Loopback has many addresses; one has too few ports for all.
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(f"127.0.0.{2 + index % 200}", 0))
        writer.write(upgrade(path, token))
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 101 " in head, head
        return reader, writer
    sockets = []
    for start in range(0, count, 100):
        sockets += await asyncio.gather(*[one(index) for index in range(start, min(start + 100, count))])
    return sockets


async def sockets(server, device, chain, token, zone_id):
    before, started = server.rss_kib(), time.time()
    idle = await open_sockets(server.port, 10_000, "/v1/relay")
    after = server.rss_kib()
    print(f"10,000 idle WebSockets: {time.time() - started:.1f} s to open, {after / 1024:.0f} MiB in all, "
          f"{(after - before) * 1024 / 10_000:.0f} bytes each")
    for _, writer in idle:
        writer.close()
    await asyncio.sleep(2)
    listeners = await open_sockets(server.port, 1_000, "/v1/events", token)
    print(f"1,000 connected devices: {server.rss_kib() / 1024:.0f} MiB")
    head, delays = b"", []
    for _ in range(20):
        address = os.urandom(32)
        body = cbor([head, address, 1, [[address, os.urandom(1024)]]])
        started = time.time()
        await asyncio.to_thread(server.post, f"/v1/zones/{zone_id}/push", body, token)
        await asyncio.gather(*[reader.readexactly(1) for reader, _ in listeners])
        delays.append(time.time() - started)
        for reader, _ in listeners:
            reader._buffer.clear()
        head = address
    print(f"push of 1 KiB until the last of 1,000 devices has its event: median {sorted(delays)[10] * 1000:.0f} ms, "
          f"worst {max(delays) * 1000:.0f} ms (the reading side is Python)")


def wrk(port, path, token=None):
    header = ["-H", f"Authorization: Bearer {token}"] if token else []
    output = subprocess.run(["wrk", "-t1", "-c64", "-d4s", *header, f"http://127.0.0.1:{port}{path}"],
                            capture_output=True, text=True).stdout
    if "Non-2xx" in output:
        raise SystemExit("not all answers were good: " + output)
    return int(re.search(r"(\d+) requests in", output)[1])


def beside_nginx(server, folder, path, token, body):
    site = pathlib.Path(folder) / "site"
    site.mkdir()
    (site / "blob").write_bytes(body)
    (pathlib.Path(folder) / "nginx.conf").write_text(f"""
        daemon off; pid {folder}/nginx.pid; error_log /dev/null; worker_processes 1;
        events {{ worker_connections 1024; }}
        http {{ access_log off; keepalive_requests 1000000000; sendfile on;
                server {{ listen 127.0.0.1:17441; root {site}; }} }}""")
    os.chmod(folder, 0o755)
    nginx = subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf"])
    time.sleep(1)
    worker = int(subprocess.run(["pgrep", "-P", str(nginx.pid)], capture_output=True, text=True).stdout.split()[0])
    ratios = []
    for _ in range(3):
        figures = []
        for pid, port, target, bearer in ((worker, 17441, "/blob", None), (server.process.pid, server.port, path, token)):
            before = cpu_seconds(pid)
            count = wrk(port, target, bearer)
            figures.append((cpu_seconds(pid) - before) / count * 1e6)
        ratios.append((figures[1] / figures[0], *figures))
    nginx.terminate()
    ratio, theirs, ours = sorted(ratios)[1]
    print(f"reading 4 KiB: {ours:.1f} us of processor time a request, nginx {theirs:.1f} us; {ratio:.1f} times (median of 3)")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "init", "--data", f"{folder}/data"], check=True)
        server = Server(program, folder)
        try:
            time.sleep(1)
            print(f"idle: {server.rss_kib() / 1024:.0f} MiB")
            device, chain = account(server, 1)
            token = login(server, device, chain)
            zone_id = zone(server, device, chain, token)
            body = os.urandom(4096)
            path = f"/v1/zones/{zone_id}/chunks/{os.urandom(32).hex()}"
            server.post(path, body, token, "PUT")
            beside_nginx(server, folder, path, token, body)
            count, started = wrk(server.port, f"/v1/zones/{zone_id}/head", token), time.time()
            print(f"head of a zone: {count / 4:.0f} requests a second")
            objects = [[os.urandom(32), os.urandom(1280)] for _ in range(10_000)]
            started = time.time()
            for start in range(0, 10_000, 5_000):
                server.post(f"/v1/zones/{zone_id}/push", cbor([b"", b"", 1, objects[start:start + 5_000]]), token)
            up = time.time() - started
            started = time.time()
            request = urllib.request.Request(f"http://127.0.0.1:{server.port}/v1/zones/{zone_id}/changes")
            request.add_header("Authorization", "Bearer " + token)
            size = len(urllib.request.urlopen(request).read())
            print(f"10,000 objects of 1,280 bytes: {up:.2f} s up in two pushes, {time.time() - started:.2f} s down ({size >> 20} MiB)")
            second = zone(server, device, chain, token)
            asyncio.run(sockets(server, device, chain, token, second))
        finally:
            server.process.terminate()
            server.process.wait()


main()
