"""A client of coffret-server in Python, for tests and measurements: accounts, devices, logins, zones, WebSockets.

Shares no code with Coffret: chains are those of Tests/Vectors/trust/generate.py, and all messages are written out here.
"""
import base64
import hashlib
import http.client
import os
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

root = pathlib.Path(__file__).resolve().parents[2]
# The part of the generator that makes chains, without the cases that it prints.
source = (root / "Tests/Vectors/trust/generate.py").read_text().split("\nlaptop, phone")[0]
chains = type(os)("chains")
exec(source, chains.__dict__)
cbor = chains.cbor


class Refused(Exception):
    """An answer that is not 2xx."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body!r}")
        self.status = status


class Device(chains.Device):
    """A device with random keys."""

    def __init__(self):
        self.id, self.kind, self.key = os.urandom(16), 1, Ed25519PrivateKey.generate()
        self.signing = self.key.public_key().public_bytes_raw()
        self.keys = self.signing + b"".join(X25519PrivateKey.generate().public_key().public_bytes_raw() for _ in "bn")


class Client:
    """One device of one account, on one connection."""

    def __init__(self, port, device=None, chain=None, host="127.0.0.1", certificate=None, context=None,
                 source=None):
        self.port, self.host, self.context = port, host, context
        # The address to come from; loopback has many.
        self.source = source
        self.device = device or Device()
        self.chain = chain or chains.Chain().add(self.device, self.device)
        # SHA-256 of the certificate's public key, zeros without TLS.
        self.fingerprint = certificate or bytes(32)
        self.token, self.connection = None, None

    def request(self, method, path, body=b"", fields=()):
        """One request; returns the answer's body."""
        if self.connection is None:
            make = http.client.HTTPSConnection if self.context else http.client.HTTPConnection
            more = {"context": self.context} if self.context else {}
            self.connection = make(
                self.host, self.port, timeout=60, source_address=self.source and (self.source, 0), **more)
        headers = {"Content-Type": "application/cbor", **dict(fields)}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        self.connection.request(method, path, body=body or None, headers=headers)
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status >= 300:
            raise Refused(answer.status, data)
        return data

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def register(self, invitation=b""):
        self.request("POST", "/v1/accounts", cbor([self.chain.links[0], invitation]))
        return self

    def add(self, device):
        """Adds a device to the account; returns its client."""
        self.chain.add(device, self.device)
        self.request("POST", f"/v1/chains/device/{self.chain.id.hex()}", cbor([self.chain.links[-1]]))
        return Client(self.port, device, self.chain, self.host, self.fingerprint, self.context)

    def login(self):
        self.token = None
        nonce = os.urandom(32)
        answer = self.request("POST", "/v1/login/challenge", cbor([self.chain.id, self.device.id, nonce]))
        # [name, nonce(32), expiry(8)]: the sizes are known, so the answer is cut from behind.
        server_nonce, expiry = answer[-41:-9], int.from_bytes(answer[-8:], "big")
        name = answer[2:-43] if answer[1] < 0x78 else answer[3:-43]
        signature = chains.sign(
            self.device.key, b"login", name + self.fingerprint,
            self.chain.id + self.device.id + server_nonce + nonce + expiry.to_bytes(8, "big"))
        session = self.request(
            "POST", "/v1/login", cbor([self.chain.id, self.device.id, nonce, server_nonce, expiry, signature]))
        self.token = session[3:35].hex()
        return self

    def another(self, source):
        """The same session on a connection of its own, from another address."""
        client = Client(self.port, self.device, self.chain, self.host, self.fingerprint, self.context, source)
        client.token = self.token
        return client

    def founding(self):
        """A new vault: its id, and the request that makes its zone."""
        member = chains.Chain(3).append(
            {0: 1, 1: os.urandom(32), 2: self.chain.id, 3: self.chain.hashes[0], 4: bytes(32)}, self.device)
        return member.id.hex(), cbor([[3, member.id, member.links[0], None]])

    def zone(self):
        """Makes a vault and its zone; returns its id."""
        zone, request = self.founding()
        self.request("POST", "/v1/links", request)
        return zone

    def push(self, zone, before, after, objects):
        digest = lambda data: hashlib.blake2b(data, digest_size=32).digest()
        hashed = digest(b"".join(address + digest(data) for address, data in objects))
        said = (before or bytes(32)) + (after or bytes(32)) + (1).to_bytes(4, "big") + hashed
        signature = chains.sign(self.device.key, b"push", bytes.fromhex(zone), said)
        return self.request(
            "POST", f"/v1/zones/{zone}/push", cbor([before, after, 1, [list(o) for o in objects], signature]))

    def socket(self, path):
        """A WebSocket, once the server has agreed to it."""
        stream = socket.create_connection((self.host, self.port), 60, self.source and (self.source, 0))
        if self.context:
            stream = self.context.wrap_socket(stream, server_hostname=self.host)
        stream.sendall(self.upgrade(path))
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = stream.recv(1)
            if not byte:
                raise Refused(0, head)
            head += byte
        if not head.startswith(b"HTTP/1.1 101 "):
            raise Refused(int(head.split()[1]), head)
        return WebSocket(stream)

    def upgrade(self, path):
        """The bytes that ask for a WebSocket."""
        key = base64.b64encode(os.urandom(16)).decode()
        bearer = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        return (f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{bearer}"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode()


class WebSocket:
    """Short messages on a socket that left HTTP."""

    def __init__(self, stream):
        self.stream = stream

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.stream.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def receive(self):
        """The next message; for a close its code."""
        first, length = self.exactly(2)
        if length == 126:
            length = struct.unpack(">H", self.exactly(2))[0]
        data = self.exactly(length)
        return struct.unpack(">H", data[:2])[0] if first == 0x88 else data

    def send(self, data):
        mask = os.urandom(4)
        self.stream.sendall(bytes([0x82, 0x80 | len(data)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def close(self):
        self.stream.close()


class Certificate:
    """A certificate for 127.0.0.1 that nobody vouches for, and what clients need to trust it."""

    def __init__(self, folder):
        self.path, self.key = f"{folder}/certificate.pem", f"{folder}/key.pem"

        def made(*command, **more):
            return subprocess.run(command, check=True, capture_output=True, **more).stdout
        made("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out", self.path)
        public = made("openssl", "x509", "-in", self.path, "-noout", "-pubkey")
        # Of the key, as devices have it on record.
        self.fingerprint = hashlib.sha256(made("openssl", "pkey", "-pubin", "-outform", "der", input=public)).digest()
        self.context = ssl.create_default_context(cafile=self.path)
        self.options = ["--tls-certificate", self.path, "--tls-key", self.key]


class Server:
    """A coffret-server of its own, with its data in a folder."""

    def __init__(self, program, folder, *options, environment=None):
        self.program, self.data = program, ["--data", f"{folder}/data"]
        # One on PostgreSQL finds its database ready.
        if "--postgres" not in options:
            subprocess.run([program, "init", *self.data], check=True)
        self.log = pathlib.Path(folder, "log")
        with open(self.log, "w") as output:
            self.process = subprocess.Popen(
                [program, "serve", *self.data, "--listen", "127.0.0.1:0", "--registration", "open", *options],
                stderr=output, env={**os.environ, **(environment or {})})
        while not (found := re.search(r'"port":"(\d+)"', self.log.read_text())):
            if self.process.poll() is not None:
                raise SystemExit("the server did not start: " + self.log.read_text())
            time.sleep(0.02)
        self.port = int(found[1])

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def stop(self):
        """Ends it as an operator does; returns its exit code."""
        self.process.terminate()
        return self.process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def cpu_seconds(pid):
    """Processor time of a process, its own and the kernel's for it."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
