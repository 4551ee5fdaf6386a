#!/usr/bin/env python3
"""Writes circles.json: shares of seeds, and circles good and bad, as Spec/recovery.md defines them.

Shares no code with Coffret: multiplication is written out bit by bit, chains and signatures are those of generate.py beside it.
"""
import json
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from generate import Chain, Device, revoke
from generate_people import blake, cbor, kdf, public

WEEK = 7 * 86_400_000


# MARK: Shares

def times(a, b):
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        if a & 0x100:
            a ^= 0x11D
        b >>= 1
    return product


def share(seed, coefficients, x):
    """`coefficients` begins with that of x."""
    result, power = bytes(seed), 1
    for block in coefficients:
        power = times(power, x)
        result = bytes(r ^ times(c, power) for r, c in zip(result, block))
    return result


def split(seed, coefficients, count):
    return [share(seed, coefficients, x) for x in range(1, count + 1)]


def drawn(name, number):
    return [blake(name.encode(), bytes([i])) for i in range(number)]


seed = bytes(range(32))
sharings = []
for threshold, count in ((2, 2), (2, 3), (3, 5), (4, 7), (2, 16), (16, 16)):
    blocks = [bytes([0x5A]) * 32] if threshold == 2 else drawn(f"{threshold} of {count}", threshold - 1)
    sharings.append({
        "threshold": threshold, "count": count, "seed": seed.hex(), "coefficients": [block.hex() for block in blocks],
        "shares": [part.hex() for part in split(seed, blocks, count)],
    })
assert sharings[0]["shares"][1] == "b4b5b6b7b0b1b2b3bcbdbebfb8b9babba4a5a6a7a0a1a2a3acadaeafa8a9aaab"


# MARK: Accounts

class Paper(Device):
    """A paper device from its seed (Spec/keys.md section 5)."""

    def __init__(self, seed):
        self.kind = 2
        self.key = Ed25519PrivateKey.from_private_bytes(kdf(seed, b"paper/sign"))
        self.signing = self.key.public_key().public_bytes_raw()
        box, noise = (X25519PrivateKey.from_private_bytes(kdf(seed, b"paper/" + name)) for name in (b"box", b"noise"))
        self.keys = self.signing + public(box) + public(noise)
        self.id = blake(b"coffret/paper-device/1", self.signing)[:16]


laptop, phone, paper = Device(1), Device(2), Paper(seed)
first = Chain().add(laptop, laptop).add(phone, laptop)
alice = first.fork(2).add(paper, laptop)
people = []
for number in (20, 30, 40, 50):
    own = Device(number)
    people.append((Chain().add(own, own).add(Device(number + 1), own), own))
people.sort(key=lambda row: row[0].id)
stranger = people.pop()
(bob, bobs), (carol, carols), (dave, daves) = people
by = {id(chain): device for chain, device in [(alice, laptop), stranger, *people]}


class Circle(Chain):
    def __init__(self, terms=(2, 3, 168), signer=laptop, founding=None):
        super().__init__(3)
        self.append(founding or {0: 1, 1: bytes([7]) * 32, 2: alice.id, 3: first.hashes[-1], 5: 2, 6: list(terms)}, signer)

    def copy(self):
        other = object.__new__(Circle)
        other.kind, other.id, other.links, other.hashes = 3, self.id, list(self.links), list(self.hashes)
        return other

    def link(self, code, account, rest=None, head=None, signer=None, sealed=b""):
        head = account.hashes[-1] if head is None else head
        return self.append({0: code, 1: account.id, 2: head, **(rest or {})}, signer or by[id(account)], sealed)

    def adds(self, person, role=4, **rest):
        return self.link(2, alice, {3: person.id, 4: role, 5: person.hashes[-1], 6: b""}, **{"head": first.hashes[-1], **rest})

    def accepts(self, person, adding, **rest):
        return self.link(3, person, {3: self.hashes[adding]}, **rest)

    def row(self, person, x):
        part = share(seed, [bytes([0x5A]) * 32], x)
        return [person.id, x, blake(b"coffret/circle-share/1", self.id, bytes([x]), part)]

    def arms(self, rows=None, device=paper, **rest):
        rows = [self.row(person, x + 1) for x, (person, _) in enumerate(people)] if rows is None else rows
        return self.link(23, alice, {3: device.id, 4: rows}, **rest)

    def request(self, key=bytes([1]) * 32, nonce=bytes([2]) * 32):
        return blake(b"coffret/circle-request/1", self.id, key, nonce)

    def asks(self, person, request=None, time=WEEK, **rest):
        return self.link(20, person, {3: request or self.request(), 4: time}, **rest)

    def forbids(self, request=None, **rest):
        return self.link(21, alice, {3: request or self.request()}, **rest)

    def releases(self, person, request=None, time=2 * WEEK, **rest):
        return self.link(22, person, {3: request or self.request(), 4: time}, **rest)


def added():
    circle = Circle()
    for person, _ in people:
        circle.adds(person)
    return circle


def accepted():
    circle = added()
    for number, (person, _) in enumerate(people):
        circle.accepts(person, number + 1)
    return circle


def armed():
    return accepted().arms()


circles = []
pool = {}


def placed(links):
    """Numbers of links in the pool, which has each once."""
    return [pool.setdefault(link.hex(), len(pool)) for link in links]


DENIED, CONSENT, MALFORMED = "trust.member.not-permitted", "recovery.consent-required", "trust.link.malformed"


def case(comment, circle, error=None, at=None, accounts=None, **view):
    """`view`: what counts, beside what is always so."""
    accounts = accounts or [alice, bob, carol, dave, stranger[0]]
    entry = {"comment": comment, "accounts": [placed(account.links) for account in accounts],
             "links": placed(circle.links)}
    if error:
        entry.update({"error": error, "at": len(circle.links) - 1 if at is None else at})
    else:
        contacts = view.get("contacts", {bob: True, carol: True, dave: True})
        entry["view"] = {
            "contacts": {person.id.hex(): accepts for person, accepts in contacts.items()},
            "isArmed": view.get("armed", True), "isPaperTrusted": view.get("trusted", view.get("armed", True)),
            "requests": [{"request": request.hex(), "by": person.id.hex(), "isForbidden": forbidden,
                          "releases": sorted(other.id.hex() for other in releases)}
                         for request, person, forbidden, releases in view.get("requests", [])],
        }
    circles.append(entry)


other = {"key": bytes([3]) * 32}
case("founded", Circle(), contacts={}, armed=False)
case("added", added(), contacts={bob: False, carol: False, dave: False}, armed=False)
case("accepted", accepted(), armed=False)
case("armed", armed())
one = armed().request()
case("requested", armed().asks(bob), requests=[(one, bob, False, [])])
case("forbidden", armed().asks(bob).forbids(), requests=[(one, bob, True, [])])
case("released by two", armed().asks(bob).releases(bob).releases(carol), requests=[(one, bob, False, [bob, carol])])
case("a stated time before all others", armed().asks(bob, time=0).releases(bob, time=0), requests=[(one, bob, False, [bob])])
case("asked anew behind a prohibition", armed().asks(bob).forbids().asks(carol, armed().request(**other)),
     requests=[(one, bob, True, []), (armed().request(**other), carol, False, [])])
case("a contact leaves", armed().link(6, carol), contacts={bob: True, dave: True})
case("16 requests of one contact", [circle := armed()] and [circle.asks(bob, bytes([n]) * 32) for n in range(16)][-1],
     requests=[(bytes([n]) * 32, bob, False, []) for n in range(16)])

case("armed before the last has accepted", added().accepts(bob, 1).accepts(carol, 2).arms(), CONSENT)
case("armed with fewer contacts than the terms say", Circle().adds(bob).adds(carol).accepts(bob, 1).accepts(carol, 2).arms(), CONSENT)
case("armed after one left", accepted().link(6, dave).arms(), CONSENT)
case("armed twice", armed().arms(), DENIED)
case("armed by a contact", accepted().link(23, bob, {3: paper.id, 4: [accepted().row(p, n + 1) for n, (p, _) in enumerate(people)]}), DENIED)
case("armed with a device that is not paper", accepted().arms(device=phone), DENIED)
case("armed at a head without the paper device", accepted().arms(head=first.hashes[-1]), DENIED)
case("a share for a stranger", accepted().arms([accepted().row(p, n + 1) for n, p in enumerate(sorted(
    [bob, carol, stranger[0]], key=lambda chain: chain.id))]), DENIED)
case("a contact without a share", accepted().arms([accepted().row(bob, 1), accepted().row(carol, 2)]), DENIED)
case("one x twice", accepted().arms([accepted().row(bob, 1), accepted().row(carol, 1), accepted().row(dave, 2)]), DENIED)
case("x above the count", accepted().arms([accepted().row(bob, 1), accepted().row(carol, 2), accepted().row(dave, 4)]), DENIED)
case("shares that do not ascend", accepted().arms([accepted().row(carol, 2), accepted().row(bob, 1), accepted().row(dave, 3)]), MALFORMED)
case("a contact adds", added().accepts(bob, 1).link(2, bob, {3: stranger[0].id, 4: 4, 5: stranger[0].hashes[-1], 6: b""}), DENIED)
case("a viewer is added", Circle().adds(bob, role=3), DENIED)
case("an owner is added", Circle().adds(bob, role=1), DENIED)
case("a fourth contact", added().adds(stranger[0]), DENIED)
case("added behind arming", Circle((2, 2, 24)).adds(bob).adds(carol).accepts(bob, 1).accepts(carol, 2).link(
    23, alice, {3: paper.id, 4: [[bob.id, 1, bytes(32)], [carol.id, 2, bytes(32)]]}).adds(dave, head=alice.hashes[-1]), DENIED)
case("a contact accepts for another", added().accepts(bob, 2), DENIED)
case("somebody accepts unasked", Circle().adds(bob).link(3, carol, {3: bytes(32)}), DENIED)
case("a contact is removed by its role", accepted().link(4, alice, {3: [[bob.id, 0]], 10: 2, 11: bytes(32), 12: bytes(32), 13: bytes(32), 14: 1}), DENIED)
case("an epoch", accepted().link(7, alice, {10: 2, 11: bytes(32), 12: bytes(32), 13: bytes(32), 14: 1}), DENIED)
case("the founder leaves", accepted().link(6, alice), DENIED)
case("a stranger asks", armed().asks(stranger[0]), DENIED)
case("the founder asks", armed().asks(alice), DENIED)
case("asked before arming", accepted().asks(bob), DENIED)
case("asked without having accepted", added().accepts(bob, 1).asks(carol), DENIED)
case("one request twice", armed().asks(bob).asks(carol), DENIED)
case("a seventeenth request", [circle := armed()] and [circle.asks(bob, bytes([n]) * 32) for n in range(17)][-1], DENIED)
case("a contact forbids", armed().asks(bob).link(21, carol, {3: one}), DENIED)
case("forbidden twice", armed().asks(bob).forbids().forbids(), DENIED)
case("forbidden without a request", armed().forbids(), DENIED)
case("released without a request", armed().releases(bob), DENIED)
case("released behind a prohibition", armed().asks(bob).forbids().releases(bob), DENIED)
case("released for another request", armed().asks(bob).releases(bob, armed().request(**other)), DENIED)
case("released twice", armed().asks(bob).releases(bob).releases(bob), DENIED)
case("released by who left", armed().asks(bob).link(6, carol).releases(carol), DENIED)
case("released by the founder", armed().asks(bob).releases(alice), DENIED)
case("a request of 31 bytes", armed().link(20, bob, {3: bytes(31), 4: 0}), MALFORMED)
case("a request without a time", armed().link(20, bob, {3: one}), MALFORMED)
case("a prohibition with a time", armed().asks(bob).link(21, alice, {3: one, 4: 0}), MALFORMED)
case("a sealed part", armed().asks(bob, sealed=b"\0"), MALFORMED)
case("no shares", accepted().arms([]), MALFORMED)
for terms in ((1, 3, 168), (4, 3, 168), (2, 17, 168), (2, 3, 23), (2, 3, 8761), (2, 1, 168)):
    case(f"terms {terms}", Circle(terms), MALFORMED)
founding = {0: 1, 1: bytes([7]) * 32, 2: alice.id, 3: first.hashes[-1]}
case("a circle with a key", Circle(founding={**founding, 4: bytes(32), 5: 2, 6: [2, 3, 168]}), MALFORMED)
case("a circle without terms", Circle(founding={**founding, 5: 2}), MALFORMED)
case("terms of a vault", Circle(founding={**founding, 4: bytes(32), 6: [2, 3, 168]}), MALFORMED)
case("an unknown purpose", Circle(founding={**founding, 4: bytes(32), 5: 4}), "trust.link.unsupported")

# Devices that are trusted no more.
lost = Device(people[1][1].id[0] + 1)
revoked = carol.fork(2).append(revoke(lost), carols)
without = [alice, bob, revoked, dave, stranger[0]]
gone = alice.fork(3).append(revoke(phone), laptop)
paperless = alice.fork(3).append(revoke(paper), paper)
case("a request by a device that was revoked", armed().asks(carol, signer=lost), accounts=without)
case("the same, confirmed by its account",
     [circle := armed().asks(carol, signer=lost)] and circle.link(7, carol, {8: [carol.id]}, head=revoked.hashes[-1]),
     accounts=without, requests=[(one, carol, False, [])])
case("the same, confirmed by the founder",
     armed().asks(carol, signer=lost).link(7, alice, {8: [carol.id]}), accounts=without, requests=[(one, carol, False, [])])
case("the same, confirmed by the revoked device", armed().asks(carol, signer=lost).link(7, carol, {8: [carol.id]}, signer=lost),
     accounts=without)
case("another contact confirms it", armed().asks(carol, signer=lost).link(7, bob, {8: [carol.id]}), DENIED, accounts=without)
case("a release for a request that does not count", armed().asks(carol, signer=lost).releases(bob), accounts=without)
case("armed on an acceptance by a device that was revoked",
     added().accepts(bob, 1).accepts(carol, 2, signer=lost).accepts(dave, 3).arms(), accounts=without, armed=False,
     contacts={bob: True, carol: False, dave: True})
case("armed by a device that was revoked", accepted().arms(signer=phone), accounts=[gone, *without[1:2], carol, dave, stranger[0]],
     armed=False)
case("forbidden by a device that was revoked", armed().asks(bob).forbids(signer=phone),
     accounts=[gone, bob, carol, dave, stranger[0]], requests=[(one, bob, True, [])])
case("the paper device was revoked", armed().asks(bob), accounts=[paperless, bob, carol, dave, stranger[0]], trusted=False,
     requests=[(one, bob, False, [])])
case("signed by a device that was revoked at the stated head",
     armed().asks(carol, signer=lost, head=revoked.hashes[-1]), "trust.link.signer-revoked", accounts=without)
case("a contact whose chain is not known", armed(), "trust.member.chain-missing", 1, accounts=[alice, carol, dave])

# MARK: Records and messages (section 6)

records = []


def record(kind, content, good=True, tail=b""):
    """`tail` stands behind the one item that there may be."""
    records.append({"kind": kind, "bytes": (cbor(content) + tail).hex(), "isGood": good})


def holding(x=2, threshold=2, count=3, hours=168, part=bytes(range(32)), version=1):
    return [version, bytes([7]) * 32, alice.id, paper.id, threshold, count, hours, x, part]


record("share", holding())
record("share", holding(16, 16, 16, 8_760))
for bad in (holding(0), holding(4), holding(256), holding(threshold=1), holding(threshold=4), holding(count=17), holding(hours=23),
            holding(hours=8_761), holding(part=bytes(31)), holding(version=2), holding()[:8]):
    record("share", bad, good=False)
record("share", holding(), good=False, tail=b"\0")
for good in ([1, one], [2, 0, 24], [2, 168 * 3_600_000, 168], [3, holding()], [4, "recovery.request.too-early"], [4, "é" * 32], [5]):
    record("word", good)
for bad in ([1, bytes(31)], [2, 24 * 3_600_000 + 1, 24], [2, 0, 23], [2, 0], [3, holding(0)], [4, "x" * 65], [4, b"x"], [5, 0], [6], []):
    record("word", bad, good=False)
record("word", [5], good=False, tail=b"\0")
record("wish", [1, seed, one, []])
record("wish", [1, seed, one, [holding(x) for x in (1, 3)]])
for bad in ([2, seed, one, []], [1, seed[:31], one, []], [1, seed, one[:31], []], [1, seed, one, [holding()] * 17],
            [1, seed, one, [holding(0)]], [1, seed, one]):
    record("wish", bad, good=False)

if __name__ == "__main__":
    json.dump({"sharings": sharings, "pool": list(pool), "circles": circles, "records": records}, sys.stdout, separators=(",", ":"))
    print()
