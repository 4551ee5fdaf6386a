#!/usr/bin/env python3
"""Writes people.json: identity chains, letters, cards, addresses and codes as Spec/trust.md and Spec/people.md define them.

Shares no code with Coffret: chains and signatures are those of generate.py beside it, HChaCha20 is written out here, and
the ciphers and curves are the `cryptography` package's.
"""
import base64
import hashlib
import json
import struct

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from generate import Chain, DAY, Device, head, lp, recover, revoke, sign
from generate import cbor as plain_cbor

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def cbor(value):
    """As in generate.py, with texts."""
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(cbor(item) for item in value)
    return plain_cbor(value)


def blake(*parts, key=b"", size=32):
    return hashlib.blake2b(b"".join(parts), key=key, digest_size=size).digest()


def kdf(key, label, *context):
    return blake(b"coffret/1/" + label + b"\0", *[lp(part) for part in context], key=key)


# MARK: The envelope

def rotated(value, count):
    return (value << count | value >> 32 - count) & 0xFFFFFFFF


def quarter(x, a, b, c, d):
    for first, second, third, count in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[first] = (x[first] + x[second]) & 0xFFFFFFFF
        x[third] = rotated(x[third] ^ x[first], count)


def hchacha(key, nonce):
    x = list(struct.unpack("<16I", b"expand 32-byte k" + key + nonce))
    for _ in range(10):
        for row in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
            quarter(x, *row)
        for row in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(x, *row)
    return struct.pack("<8I", *x[:4], *x[12:])


def padded(count):
    for size in (192, 320, 448):
        if count <= size:
            return size
    exponent = count.bit_length() - 1
    mask = (1 << exponent - exponent.bit_length()) - 1
    return count + mask & ~mask


def envelope(key, context, ad, message, nonce, is_filled=True):
    derived = blake(b"coffret/env/1", lp(context), lp(ad), nonce, key=key, size=64)
    body = struct.pack(">I", len(message)) + message
    if is_filled:
        body += bytes(padded(len(body)) - len(body))
    sealed = ChaCha20Poly1305(hchacha(derived[:32], nonce[:16])).encrypt(
        bytes(4) + nonce[16:], body, b"\x01" + derived[32:])
    return b"\x01" + nonce + derived[32:] + sealed


# MARK: Identities

class Keys:
    """Long-term keys, and transient ones by number, all from one byte."""

    def __init__(self, seed):
        self.seed = seed
        self.signing = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        self.box = X25519PrivateKey.from_private_bytes(bytes([seed + 1]) * 32)

    def transient(self, number):
        return X25519PrivateKey.from_private_bytes(bytes([self.seed + 2 + number]) * 32)


def public(key):
    return key.public_key().public_bytes_raw()


class Identity(Chain):
    """An identity chain: its id is that of the device chain, and link 0 is hashed with it."""

    def __init__(self, devices):
        super().__init__(2)
        self.id = devices.id

    def fork(self, count):
        other = Identity(self)
        other.links, other.hashes = self.links[:count], self.hashes[:count]
        return other

    def append(self, operation, signer, sealed=b"", number=None, previous=None, key=None, scope_kind=None):
        number = len(self.links) if number is None else number
        previous = (self.hashes[-1] if self.hashes else b"") if previous is None else previous
        body = [2, self.id, number, cbor(operation), sealed, previous, signer.signing]
        link_hash = blake(b"coffret/link/1", cbor(body))
        signature = sign(key or signer.key, b"link/signature", bytes([scope_kind or 2]) + self.id, link_hash)
        self.links.append(cbor([1, 2, number, cbor(operation), sealed, previous, signer.signing, signature]))
        self.hashes.append(link_hash)
        return self

    def sets(self, stated, keys, number=None, made=0, expires=45 * DAY, account=None, countersigner=None):
        number = len(self.links) if number is None else number
        box, transient = public(keys.box), public(keys.transient(number))
        counter = sign(countersigner or keys.signing, b"identity/countersignature", b"\x02" + (account or self.id),
                       box + transient + struct.pack(">Q", number))
        return {0: 1, 1: stated, 2: public(keys.signing), 3: box, 4: counter, 5: transient, 6: made, 7: expires}

    def refreshes(self, stated, keys, number=None, made=30 * DAY, expires=75 * DAY):
        number = len(self.links) if number is None else number
        return {0: 2, 1: stated, 2: public(keys.transient(number)), 3: made, 4: expires}

    def set(self, stated, keys, signer, **rest):
        return self.append(self.sets(stated, keys, **rest), signer)

    def refresh(self, stated, keys, signer, **rest):
        return self.append(self.refreshes(stated, keys, **rest), signer)


def at(chain, number=-1):
    number = number % len(chain.hashes)
    return [number, chain.hashes[number]]


laptop, phone, tablet, paper, thief = Device(1), Device(2), Device(3), Device(4, 2), Device(6)
account = Chain().add(laptop, laptop).add(paper, laptop).add(phone, laptop)
revoked = account.fork(3).append(revoke(phone), laptop)
# Another line, which a recovery replaced, and the chain of today.
replaced = account.fork(3).add(tablet, phone)
recovered = account.fork(3).append(recover(laptop, paper), paper)
first, second = Keys(100), Keys(140)

identities = []


def case(comment, chain, devices=account, branches=(), error=None, place=None, current=None):
    identities.append({
        "comment": comment,
        "devices": [link.hex() for link in devices.links],
        "branches": [[link.hex() for link in branch.links] for branch in branches],
        "links": [link.hex() for link in chain.links],
        **({"error": error} if error else {"head": chain.hashes[-1].hex(), "current": current}),
        **({"at": place} if place is not None else {}),
    })


def founded():
    return Identity(account).set(at(account), first, laptop)


def mixed(operation, signer=laptop, chain=None, **rest):
    return (chain or Identity(account)).append(operation, signer, **rest)


case("founded", founded(), current=True)
case("refreshed by another device", founded().refresh(at(account), first, phone), current=True)
case("set anew", founded().set(at(account), second, phone, made=DAY, expires=2 * DAY), current=True)
case("founded by a device that was revoked later", founded(), devices=revoked, current=False)
case("newest link by a revoked device", founded().refresh(at(account), first, phone), devices=revoked, current=False)
case("set behind the revocation", founded().set(at(revoked), second, laptop), devices=revoked, current=True)
case("refreshed behind the revocation, and not set", founded().refresh(at(revoked), first, laptop), devices=revoked,
     current=False)
case("head on a line that a recovery replaced",
     Identity(account).set(at(replaced), first, tablet).set(at(recovered), second, laptop), devices=recovered,
     branches=[replaced], current=True)
case("a replaced line is older than its recovery",
     Identity(account).set(at(recovered), first, laptop).set(at(replaced), second, tablet), devices=recovered,
     branches=[replaced], error="trust.identity.heads-behind", place=1)
case("head on a line that is not known", Identity(account).set(at(replaced), first, tablet),
     error="trust.identity.head-missing", place=0)
case("head with another number", Identity(account).set([1, account.hashes[2]], first, laptop),
     error="trust.identity.head-missing", place=0)
case("older head", founded().refresh(at(account, 1), first, laptop), error="trust.identity.heads-behind", place=1)
case("signer that the stated head does not have", Identity(account).set(at(account, 0), first, phone),
     error="trust.link.signer-unknown", place=0)
case("signer of no account", Identity(account).set(at(account), first, thief), error="trust.link.signer-unknown", place=0)
case("signer revoked at the stated head", founded().refresh(at(revoked), first, phone), devices=revoked,
     error="trust.link.signer-revoked", place=1)
case("link 0 refreshes", mixed(Identity(account).refreshes(at(account), first)), error="trust.link.malformed", place=0)
case("transient key of 45 days and a millisecond", mixed(Identity(account).sets(at(account), first, expires=45 * DAY + 1)),
     error="trust.link.malformed", place=0)
case("transient key of no time", mixed(Identity(account).sets(at(account), first, made=DAY, expires=DAY)),
     error="trust.link.malformed", place=0)
case("transient key again", founded().append({**founded().refreshes(at(account), first), 2: public(first.transient(0))},
                                             laptop), error="trust.identity.key-reused", place=1)
case("box key again",
     founded().append({**founded().sets(at(account), second), 3: public(first.box),
                       4: sign(second.signing, b"identity/countersignature", b"\x02" + account.id,
                               public(first.box) + public(second.transient(1)) + struct.pack(">Q", 1))}, laptop),
     error="trust.identity.key-reused", place=1)
case("transient key of a device",
     founded().append({**founded().refreshes(at(account), first), 2: phone.keys[32:64]}, laptop),
     error="trust.identity.key-reused", place=1)
case("countersignature by another key", mixed(Identity(account).sets(at(account), first, countersigner=second.signing)),
     error="trust.identity.countersignature-invalid", place=0)
case("countersignature for another account", mixed(Identity(account).sets(at(account), first, account=bytes(32))),
     error="trust.identity.countersignature-invalid", place=0)
case("countersignature for another number", mixed(Identity(account).sets(at(account), first, number=1)),
     error="trust.identity.countersignature-invalid", place=0)
case("unknown operation", mixed({0: 3, 1: at(account)}), error="trust.link.unsupported", place=0)
case("key behind the last", mixed({**Identity(account).sets(at(account), first), 8: 0}), error="trust.link.malformed", place=0)
case("sealed part", mixed(Identity(account).sets(at(account), first), sealed=b"\0"), error="trust.link.malformed")
case("signature in another kind of chain", mixed(Identity(account).sets(at(account), first), scope_kind=1),
     error="trust.link.signature-invalid", place=0)
case("signature by another key", mixed(Identity(account).sets(at(account), first), key=phone.key),
     error="trust.link.signature-invalid", place=0)
case("gap", mixed(founded().refreshes(at(account), first, number=2), chain=founded(), number=2), error="trust.chain.gap",
     place=2)
case("not behind the link before", mixed(founded().refreshes(at(account), first), chain=founded(), previous=bytes(32)),
     error="trust.chain.broken", place=1)
hashed_as_founding = Chain(2).append(Identity(account).sets(at(account), first), laptop)
case("link 0 hashed without the account", hashed_as_founding, error="trust.link.signature-invalid", place=0)

# MARK: Letters

sender = Chain().add(Device(11), Device(11)).add(Device(12), Device(11))
sending = Device(11)
identity = founded().refresh(at(account), first, phone)
ephemeral = X25519PrivateKey.from_private_bytes(bytes([90]) * 32)
nonce = bytes(range(24))


def agreed(transient):
    E = public(ephemeral)
    LT, TK = public(first.box), public(transient)
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(LT)) + \
        ephemeral.exchange(X25519PublicKey.from_public_bytes(TK))
    return shared, E, LT, TK


def letter(purpose, scope, subject, content, number=1):
    shared, E, LT, TK = agreed(first.transient(number))
    header_bytes = cbor([1, purpose, scope, cbor(subject), sender.id, sending.id, at(sender), account.id,
                         [number, identity.hashes[number]], E])
    key = kdf(shared, b"letter/agreement", E, LT, TK, header_bytes)
    sealed = envelope(key, b"letter/content", header_bytes, cbor(content), nonce, purpose in (2, 3))
    signature = sign(sending.key, b"letter/signature", scope, header_bytes + lp(sealed))
    return cbor([header_bytes, sealed, signature])


def card(owner, signing, code=b"", invitation=b"", name="Alice", time=1_700_000_000_000):
    fields = [1, owner, "https://vault.example", bytes(range(32)), name, code, invitation, time]
    return fields + [sign(signing, b"card/signature", owner, cbor(fields))]


code = bytes(range(16))
sender_keys = Keys(200)
plain_card = card(sender.id, sender_keys.signing, name="Bob R.")
proof = kdf(code, b"contact/proof", account.id + sender.id)
answer = kdf(code, b"contact/proof", account.id + sender.id + b"answer")
vault = bytes([77]) * 32
letters = [
    {"comment": "key of a vault", "purpose": 1,
     "letter": letter(1, vault, [3, [5, bytes([9]) * 32]], [bytes([1]) * 32, bytes([2]) * 32, b""]).hex()},
    {"comment": "request with proof", "purpose": 2,
     "letter": letter(2, account.id, [], [plain_card, proof, "Hello"]).hex()},
    {"comment": "request to an older transient key, without proof", "purpose": 2,
     "letter": letter(2, account.id, [], [plain_card, b"", ""], number=0).hex()},
    {"comment": "answer", "purpose": 3, "letter": letter(3, account.id, [], [plain_card, answer]).hex()},
    {"comment": "share", "purpose": 4, "letter": letter(4, vault, [], [2, 2, 3, bytes([3]) * 32]).hex()},
    {"comment": "key wanted", "purpose": 5, "letter": letter(5, vault, [3], []).hex()},
]
fixed = kdf(bytes([1]) * 32 + bytes([2]) * 32, b"letter/agreement", bytes([3]) * 32, bytes([4]) * 32, bytes([5]) * 32, b"\x80")


# MARK: People

def grouped(text):
    return "-".join(text[start:start + 4] for start in range(0, len(text), 4))


def address(owner):
    prefix = int.from_bytes(owner[:17], "big") >> 6
    packed = (prefix << 6).to_bytes(17, "big")
    check = int.from_bytes(blake(b"coffret/address/1", packed)[:2], "big") >> 6
    value = prefix << 10 | check
    return grouped("".join(CROCKFORD[value >> 5 * (27 - index) & 31] for index in range(28)))


def code80(*parts):
    value = int.from_bytes(blake(*parts)[:10], "big")
    return grouped("".join(CROCKFORD[value >> 5 * (15 - index) & 31] for index in range(16)))


one, other = bytes(range(32)), bytes(range(32, 64))
people = {
    "account": one.hex(), "address": address(one), "person": code80(b"coffret/person-code/1", one),
    "other": other.hex(), "heads": [bytes([n]).hex() * 32 for n in (1, 2, 3, 4)],
    "state": code80(b"coffret/person-state/1", one, bytes([1]) * 32, bytes([2]) * 32, other, bytes([3]) * 32,
                    bytes([4]) * 32),
    "addresses": [{"account": blake(bytes([n])).hex(), "address": address(blake(bytes([n])))} for n in range(8)],
}
assert people["address"] == "000G-40R4-0M30-E209-185G-R38E-1WW0" and people["person"] == "3Q6D-MGCR-FP93-JFM5"
assert people["state"] == "WWK9-Z600-G0RJ-CDDC"
assert fixed.hex() == "b32b81e8bb1aff372bf9ab4b07737dd67cff33d07682cb873933fcf8620a1846"
full_card = card(account.id, first.signing, code=code, invitation=bytes(range(16)))
cards = [{
    "card": cbor(fields).hex(), "name": fields[4], "account": fields[1].hex(), "code": fields[5].hex(),
    "link": "coffret-contact:1:" + base64.b32encode(cbor(fields)).decode().rstrip("=").lower(),
} for fields in (full_card, card(account.id, first.signing))]
codes = {
    "code": code.hex(), "inviter": account.id.hex(), "claimant": sender.id.hex(),
    "token": kdf(code, b"contact/token", account.id).hex(), "hash": blake(kdf(code, b"contact/token", account.id)).hex(),
    "proof": proof.hex(), "answer": answer.hex(),
}



# MARK: The account vault

def founding(purpose):
    """Link 0 of a member chain, with a purpose or none."""
    fields = {0: 1, 1: bytes([9]) * 32, 2: account.id, 3: account.hashes[-1], 4: bytes([8]) * 32}
    if purpose is not None:
        fields[5] = purpose
    return Chain(3).append(fields, laptop).links[0].hex()


facts = {
    "founding": {"ordinary": founding(None), "account": founding(3), "unknown": founding(9)},
    "contact": blake(account.id)[:16].hex(),
    "code": cbor([code, 1, 2, 3, None]).hex(),
}

if __name__ == "__main__":
    print(json.dumps({
        "identities": identities,
        "letters": {
            "recipientDevices": [link.hex() for link in account.links],
            "identity": [link.hex() for link in identity.links],
            "senderDevices": [link.hex() for link in sender.links],
            "signingSeed": "64" * 32, "boxKey": "65" * 32, "transientKeys": ["66" * 32, "67" * 32],
            "ephemeral": "5a" * 32, "nonce": nonce.hex(), "vault": vault.hex(), "proof": proof.hex(),
            "answer": answer.hex(), "cases": letters, "fixedKey": fixed.hex(),
        },
        "people": people, "cards": cards, "codes": codes, "facts": facts,
    }, indent=1))
