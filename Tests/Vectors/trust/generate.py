#!/usr/bin/env python3
"""Writes device-chains.json: device chains as Spec/trust.md defines them, good and bad.

Shares no code with Coffret: CBOR is written out here, BLAKE2b is hashlib's, Ed25519 the `cryptography` package's.
"""
import hashlib
import json
import struct

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

DAY = 86_400_000


def head(major, value):
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        limit = 24 if size == 1 else 1 << 4 * size
        if value < limit:
            return bytes([major << 5 | value]) if size == 1 else \
                bytes([major << 5 | info - 1]) + value.to_bytes(size // 2, "big")
    return bytes([major << 5 | 27]) + value.to_bytes(8, "big")


def cbor(value):
    if value is None:
        return b"\xf6"
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(cbor(item) for item in value)
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in sorted(value.items()))


def lp(data):
    return struct.pack(">I", len(data)) + data


def sign(key, context, scope, message):
    return key.sign(b"coffret/sig/1" + lp(context) + lp(scope) + lp(message))


class Device:
    def __init__(self, number, kind=1):
        self.id = bytes([number]) * 16
        self.kind = kind
        self.key = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
        self.signing = self.key.public_key().public_bytes_raw()
        box, noise = (X25519PrivateKey.from_private_bytes(bytes([number + n]) * 32) for n in (64, 128))
        self.keys = self.signing + box.public_key().public_bytes_raw() + noise.public_key().public_bytes_raw()


class Chain:
    def __init__(self, kind=1):
        self.kind, self.id, self.links, self.hashes = kind, b"", [], []

    def fork(self, count):
        other = Chain(self.kind)
        other.id, other.links, other.hashes = self.id, self.links[:count], self.hashes[:count]
        return other

    def append(self, operation, signer, sealed=b"", number=None, previous=None, key=None, scope_kind=None):
        number = len(self.links) if number is None else number
        previous = (self.hashes[-1] if self.hashes else b"") if previous is None else previous
        body = [self.kind, self.id if number else b"", number, cbor(operation), sealed, previous, signer.signing]
        link_hash = hashlib.blake2b(b"coffret/link/1" + cbor(body), digest_size=32).digest()
        if not self.links:
            self.id = link_hash
        scope = bytes([scope_kind or self.kind]) + self.id
        signature = sign(key or signer.key, b"link/signature", scope, link_hash)
        self.links.append(cbor([1, self.kind, number, cbor(operation), sealed, previous, signer.signing, signature]))
        self.hashes.append(link_hash)
        return self

    def adds(self, device, countersigner=None, number=None):
        number = len(self.links) if number is None else number
        message = device.id + device.keys + struct.pack(">Q", number)
        counter = b"" if not self.links else sign(
            (countersigner or device).key, b"link/countersignature", bytes([self.kind]) + self.id, message)
        return {0: 1, 1: device.id, 2: device.kind, 3: device.keys[:32], 4: device.keys[32:64],
                5: device.keys[64:], 6: counter}

    def add(self, device, signer, **rest):
        return self.append(self.adds(device, **rest), signer)


def revoke(device):
    return {0: 2, 1: device.id}


def recover(*kept):
    return {0: 3, 1: sorted(device.id for device in kept)}


def announce(device, time):
    return {0: 4, 1: device.id, 2: time}


def revoke_announced(device, time):
    return {0: 5, 1: device.id, 2: time}


def describe(device):
    return {0: 6, 1: device.id}


laptop, phone, tablet = Device(1), Device(2), Device(3)
paper, other_paper, thief = Device(4, 2), Device(5, 2), Device(6)


def three():
    return Chain().add(laptop, laptop).add(paper, laptop).add(phone, laptop)


cases = []


def case(name, chain, trusted=None, error=None, at=None):
    entry = {"comment": name, "links": [link.hex() for link in chain.links]}
    if error:
        entry["error"], entry["at"] = error, at
    else:
        entry["accountID"], entry["head"] = chain.id.hex(), chain.hashes[-1].hex()
        entry["trusted"] = [device.id.hex() for device in trusted]
    cases.append(entry)


case("founded", Chain().add(laptop, laptop), [laptop])
case("three devices, one of paper", three(), [laptop, paper, phone])
case("phone revokes laptop", three().append(revoke(laptop), phone), [paper, phone])
case("sealed part is covered", Chain().append(Chain().adds(laptop), laptop, sealed=b"sealed"), [laptop])
case("paper adds a device", three().add(tablet, paper), [laptop, paper, phone, tablet])
case("paper recovers", three().append(recover(paper, laptop), paper), [laptop, paper])
case("paper recovers alone", three().append(recover(paper), paper).add(tablet, paper), [paper, tablet])
case("paper revokes itself", three().append(revoke(paper), paper), [laptop, phone])
case("paper revoked after seven days", three().append(announce(paper, DAY), phone)
     .append(revoke_announced(paper, 8 * DAY), phone), [laptop, phone])
case("paper revoked too early", three().append(announce(paper, DAY), phone)
     .append(revoke_announced(paper, 8 * DAY - 1), phone), error="trust.device.revocation-too-early", at=4)
case("announced by one, carried out by another", three().append(announce(paper, DAY), phone)
     .append(revoke_announced(paper, 8 * DAY), laptop), error="trust.device.paper-outranks", at=4)
case("paper revoked at once", three().append(revoke(paper), laptop), error="trust.device.paper-outranks", at=3)
case("later paper revokes earlier paper", three().add(other_paper, laptop).append(revoke(paper), other_paper),
     error="trust.device.paper-outranks", at=4)
case("paper brought by paper revokes it", three().add(other_paper, paper).append(revoke(paper), other_paper),
     [laptop, phone, other_paper])
case("recovery without the earlier paper", three().add(other_paper, laptop)
     .append(recover(other_paper), other_paper), error="trust.device.paper-outranks", at=4)
case("recovery by an ordinary device", three().append(recover(laptop), laptop),
     error="trust.device.paper-outranks", at=3)
case("recovery that does not keep its signer", three().append(recover(laptop), paper),
     error="trust.link.malformed", at=3)
case("recovery with ids out of order", three().append({0: 3, 1: [paper.id, laptop.id]}, paper),
     error="trust.link.malformed", at=3)
case("recovery keeps a stranger", three().append(recover(paper, thief), paper),
     error="trust.device.unknown", at=3)
case("stranger adds itself", three().add(thief, thief), error="trust.link.signer-unknown", at=3)
case("revoked device signs", three().append(revoke(laptop), phone).add(tablet, laptop),
     error="trust.link.signer-revoked", at=4)
case("device twice", three().add(phone, laptop), error="trust.device.exists", at=3)
case("proof by another key", three().append(three().adds(tablet, countersigner=thief), laptop),
     error="trust.device.countersignature-invalid", at=3)
case("proof for another place", three().append(three().adds(tablet, number=4), laptop),
     error="trust.device.countersignature-invalid", at=3)
case("signed by another key", three().append(revoke(phone), laptop, key=thief.key),
     error="trust.link.signature-invalid", at=3)
case("signed for another kind of chain", three().append(revoke(phone), laptop, scope_kind=3),
     error="trust.link.signature-invalid", at=3)
case("gap", three().append(revoke(phone), laptop, number=4), error="trust.chain.gap", at=4)
case("wrong previous hash", three().append(revoke(phone), laptop, previous=bytes(32)),
     error="trust.chain.broken", at=3)
case("phone describes laptop, paper itself", three().append(describe(laptop), phone, sealed=b"sealed")
     .append(describe(paper), paper), [laptop, paper, phone])
case("describing does not bring back", three().append(revoke(laptop), phone).append(describe(laptop), phone),
     error="trust.device.unknown", at=4)
case("a stranger describes", three().append(describe(laptop), thief), error="trust.link.signer-unknown", at=3)
case("a revoked device describes itself", three().append(revoke(laptop), phone).append(describe(laptop), laptop),
     error="trust.link.signer-revoked", at=4)
case("description with a key too many", three().append({0: 6, 1: phone.id, 2: 0}, laptop),
     error="trust.link.malformed", at=3)
case("operation of a later version", three().append({0: 9, 1: b""}, laptop),
     error="trust.link.unsupported", at=3)
case("operation with a key too many", three().append({0: 2, 1: phone.id, 2: 0}, laptop),
     error="trust.link.malformed", at=3)

followed = []


def follow(name, seen, served, replaced=None, error=None):
    entry = {"comment": name, "seen": [link.hex() for link in seen.links],
             "served": [link.hex() for link in served.links]}
    entry.update({"error": error} if error else {"replaced": replaced})
    followed.append(entry)


stolen = three().append(revoke(laptop), phone)
rescue = three().append(recover(laptop, paper), paper)
follow("goes on", three(), stolen, 0)
follow("nothing new", three(), three(), 0)
follow("recovery after a theft", stolen, rescue, 1)
follow("recovery before the thief's device", three().add(thief, phone), three().fork(2)
       .append(recover(laptop, paper), paper), 2)
follow("second, different recovery", rescue, three().append(recover(paper), paper), error="trust.chain.forked")
follow("thief's own paper recovered first", three().add(other_paper, phone)
       .append(recover(paper, other_paper), other_paper), rescue, 2)
follow("rolled back", stolen, three(), error="trust.chain.rolled-back")
follow("fork without recovery", stolen, three().append(revoke(phone), laptop), error="trust.chain.forked")
follow("the replaced branch once more", rescue, stolen, error="trust.chain.forked")
follow("paper that was revoked recovers", three().append(announce(paper, DAY), phone)
       .append(revoke_announced(paper, 8 * DAY), phone), rescue, error="trust.link.signer-revoked")

if __name__ == "__main__":
    print(json.dumps({"chains": cases, "followed": followed}, indent=1))
