#!/usr/bin/env python3
"""Writes pairing.json: what two devices hash, sign and show, as Spec/pairing.md defines it.

Shares no code with Coffret: CBOR is written out here, BLAKE2b is hashlib's, Ed25519 the `cryptography` package's.
"""
import hashlib
import json
import struct

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey


def head(major, value):
    if value < 24:
        return bytes([major << 5 | value])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if value < 1 << 8 * size:
            return bytes([major << 5 | info]) + value.to_bytes(size, "big")


def cbor(value):
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    return head(4, len(value)) + b"".join(cbor(item) for item in value)


def lp(data):
    return struct.pack(">I", len(data)) + data


def blake2b(*parts, size=32, key=b""):
    return hashlib.blake2b(b"".join(parts), digest_size=size, key=key).digest()


def code(data):
    return "%06d" % (int.from_bytes(data, "big") % 1_000_000)


def case(number):
    def fill(salt, size=32):
        return blake2b(b"pairing vector", bytes([number, salt]), size=64)[:size]

    key = Ed25519PrivateKey.from_private_bytes(fill(1))
    box, noise = (X25519PrivateKey.from_private_bytes(fill(n)).public_key().public_bytes_raw() for n in (2, 3))
    name = ["Laptop", "Téléphone", "", "x" * 300][number]
    requester = cbor([1, fill(4, 16), key.public_key().public_bytes_raw(), box, noise, fill(5, 16), name, "Model",
                      ""])
    account = fill(6)
    approver = cbor([1, account, [0, 23, 24, 70_000][number], fill(7), fill(8)])
    h, r_n, r_t, secret = fill(9), fill(10), fill(11), fill(12)
    commitment = blake2b(b"coffret/pair/commit/1", lp(h), lp(requester), r_n)
    message = b"coffret/pair/pop/1" + lp(h) + lp(requester) + lp(approver) + r_t + r_n
    signed = b"coffret/sig/1" + lp(b"pair/possession") + lp(account) + lp(message)
    sas = blake2b(b"coffret/pair/sas/1", lp(h), commitment, lp(requester), lp(approver), r_t, r_n, size=64)
    proof_t, proof_n = (blake2b(label, h, key=secret) for label in (b"coffret/pair/qr/T", b"coffret/pair/qr/N"))
    values = {
        "seed": fill(1), "requester": requester, "approver": approver, "handshakeHash": h, "requesterNonce": r_n,
        "approverNonce": r_t, "secret": secret, "commitment": commitment, "signature": key.sign(signed),
        "scannedApprover": proof_t, "scannedRequester": proof_n, "commitMessage": cbor([1, commitment, requester]),
        "challengeMessage": cbor([2, r_t, approver, b""]),
        "revealMessage": cbor([3, r_n, key.sign(signed), proof_n]),
    }
    return {"comment": "case %d" % number, "name": name, "firstCode": code(sas[0:8]), "secondCode": code(sas[8:16]),
            **{name: value.hex() for name, value in values.items()}}


print(json.dumps([case(number) for number in range(4)], indent=1))
