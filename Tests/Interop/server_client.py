"""A client of coffret-server in Python, for tests and measurements: accounts, devices, logins, zones, WebSockets.

Shares no code with Coffret: chains are those of Tests/Vectors/trust/generate.py, and all messages are written out here.
"""
import base64
import hashlib
import http.client
import os
import pathlib
import socket
import struct

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

    def __init__(self, port, device=None, chain=None, host="127.0.0.1", certificate=None, context=None):
        self.port, self.host, self.context = port, host, context
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
            self.connection = make(self.host, self.port, timeout=60, **more)
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

    def zone(self):
        """Makes a vault and its zone; returns its id."""
        member = chains.Chain(3).append(
            {0: 1, 1: os.urandom(32), 2: self.chain.id, 3: self.chain.hashes[0], 4: bytes(32)}, self.device)
        self.request("POST", "/v1/zones", cbor([member.id, member.links[0]]))
        return member.id.hex()

    def push(self, zone, before, after, objects):
        return self.request("POST", f"/v1/zones/{zone}/push", cbor([before, after, 1, [list(o) for o in objects]]))

    def upgrade(self, path):
        """The bytes that ask for a WebSocket."""
        key = base64.b64encode(os.urandom(16)).decode()
        bearer = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        return (f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{bearer}"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode()
