#!/usr/bin/env python3
"""Prints bridge.json: one pairing and one session, by an implementation that shares no code with Coffret.

Primitives come from Python's `cryptography`; the rest is written out from Spec/bridge.md and the Noise specification.
"""
import hashlib, hmac, json, struct

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def value(name):
    return hashlib.sha256(b"coffret bridge vector " + name.encode()).digest()


def hkdf(salt, material, count):
    key, outputs, last = hmac.new(salt, material, hashlib.sha256).digest(), [], b""
    for number in range(count):
        last = hmac.new(key, last + bytes([number + 1]), hashlib.sha256).digest()
        outputs.append(last)
    return outputs


def nonce(count):
    return bytes(4) + struct.pack(">Q", count)


def public(private):
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def handshake(psk, prologue, initiator, responder):
    e, f = X25519PrivateKey.from_private_bytes(initiator), X25519PrivateKey.from_private_bytes(responder)
    name = b"Noise_NNpsk0_25519_AESGCM_SHA256"
    h = chain = name
    h = hashlib.sha256(h + prologue).digest()
    chain, mixed, key = hkdf(chain, psk, 3)
    h = hashlib.sha256(h + mixed).digest()
    h = hashlib.sha256(h + public(e)).digest()
    chain, key = hkdf(chain, public(e), 2)
    tag = AESGCM(key).encrypt(nonce(0), b"", h)
    h = hashlib.sha256(h + tag).digest()
    first = public(e) + tag
    h = hashlib.sha256(h + public(f)).digest()
    chain, key = hkdf(chain, public(f), 2)
    chain, key = hkdf(chain, e.exchange(X25519PublicKey.from_public_bytes(public(f))), 2)
    tag = AESGCM(key).encrypt(nonce(0), b"", h)
    h = hashlib.sha256(h + tag).digest()
    out, back = hkdf(chain, b"", 2)
    return first, public(f) + tag, h, out, back


def lp(data):
    return struct.pack(">I", len(data)) + data


def digits(h, name, reveal, challenge):
    promise = hashlib.sha256(b"coffret/bridge/commit/1" + lp(h) + lp(name.encode()) + reveal).digest()
    output = hashlib.sha512(b"coffret/bridge/digits/1" + lp(h) + promise + lp(name.encode()) + challenge + reveal).digest()
    return promise, "%06d" % (int.from_bytes(output[:8], "big") % 1_000_000)


cases = []
for number, name in enumerate(["Firefox", "Chromium", "", "Fire\u00e9fox \u2713"]):
    tag = f" {number}"
    pairing, psk = value("id" + tag)[:8], value("psk" + tag)
    e, f = value("initiator" + tag), value("responder" + tag)
    first, second, h, out, back = handshake(psk, b"coffret/bridge/1" + pairing, e, f)
    request, answer = b'{"do":"state"}', b'{"ok":{"store":"x"}}'
    pair_first, pair_second, pair_hash, _, _ = handshake(bytes(32), b"coffret/bridge/pair/1", e, f)
    reveal, challenge = value("reveal" + tag), value("challenge" + tag)
    promise, shown = digits(pair_hash, name, reveal, challenge)
    cases.append({
        "name": name, "id": pairing.hex(), "key": psk.hex(), "initiator": e.hex(), "initiatorPublic": public(X25519PrivateKey.from_private_bytes(e)).hex(),
        "opening": (b"\x01" + pairing + first).hex(), "answer": second.hex(), "hash": h.hex(),
        "request": request.decode(), "sealedRequest": AESGCM(out).encrypt(nonce(0), request, b"").hex(),
        "reply": answer.decode(), "sealedReply": AESGCM(back).encrypt(nonce(0), answer, b"").hex(),
        "pairingOpening": (b"\x02" + pair_first).hex(), "pairingAnswer": pair_second.hex(), "pairingHash": pair_hash.hex(),
        "reveal": reveal.hex(), "commitment": promise.hex(), "challenge": challenge.hex(), "digits": shown,
    })
print(json.dumps({"cases": cases}, indent=1, ensure_ascii=False))
