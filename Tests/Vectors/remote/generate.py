#!/usr/bin/env python3
"""Prints remote.json: requests between two devices, to a page, and of a browser, by an implementation that shares no code with Coffret.

Primitives come from Python's `cryptography`; the rest is written out from Spec/remote.md and the Noise specification.
"""
import base64, hashlib, hmac, json, struct

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def value(name):
    return hashlib.sha256(b"coffret remote vector " + name.encode()).digest()


def hkdf(salt, material, count):
    key, outputs, last = hmac.new(salt, material, hashlib.sha256).digest(), [], b""
    for number in range(count):
        last = hmac.new(key, last + bytes([number + 1]), hashlib.sha256).digest()
        outputs.append(last)
    return outputs


def private(data):
    return X25519PrivateKey.from_private_bytes(data)


def public(data):
    return private(data).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def agree(own, other):
    return private(own).exchange(X25519PublicKey.from_public_bytes(public(other)))


class State:
    """Noise's symmetric state of either protocol."""

    def __init__(self, name, prologue, psk_mode):
        self.hash = self.chain = name
        self.is_gcm, self.psk_mode, self.key, self.count = b"AESGCM" in name, psk_mode, None, 0
        self.mix_hash(prologue)

    def mix_hash(self, data):
        self.hash = hashlib.sha256(self.hash + data).digest()

    def mix_key(self, data):
        self.chain, self.key = hkdf(self.chain, data, 2)
        self.count = 0

    def mix_psk(self, psk):
        self.chain, mixed, self.key = hkdf(self.chain, psk, 3)
        self.mix_hash(mixed)
        self.count = 0

    def ephemeral(self, own):
        self.mix_hash(public(own))
        if self.psk_mode:
            self.mix_key(public(own))
        return public(own)

    def seal(self, plain):
        sealed = seal(self.is_gcm, self.key, self.count, plain, self.hash)
        self.count += 1
        self.mix_hash(sealed)
        return sealed


def seal(is_gcm, key, count, plain, data):
    nonce = bytes(4) + struct.pack(">Q" if is_gcm else "<Q", count)
    return (AESGCM if is_gcm else ChaCha20Poly1305)(key).encrypt(nonce, plain, data)


def cbor(item):
    if item is None:
        return b"\xf6"
    if isinstance(item, int):
        return head(0, item)
    if isinstance(item, str):
        return head(3, len(item.encode())) + item.encode()
    return head(4, len(item)) + b"".join(cbor(part) for part in item)


def head(kind, number):
    for limit, mark, form in [(24, None, ""), (256, 24, ">B"), (65536, 25, ">H"), (1 << 32, 26, ">I")]:
        if number < limit:
            return bytes([kind << 5 | number]) if mark is None else bytes([kind << 5 | mark]) + struct.pack(form, number)


def filled(content):
    whole = struct.pack(">I", len(content)) + content
    return whole + bytes(-len(whole) % 512)


def between(tag, request, answer):
    asker, asked, e, f = (value(part + tag) for part in ["asker", "asked", "e", "f"])
    relay, challenge, device = value("relay" + tag)[:16], value("challenge" + tag), value("device" + tag)[:16]
    state = State(b"Noise_KK_25519_ChaChaPoly_SHA256", b"coffret/remote/1" + relay + challenge, False)
    state.mix_hash(public(asker))
    state.mix_hash(public(asked))
    first = state.ephemeral(e)
    state.mix_key(agree(e, asked))
    state.mix_key(agree(asker, asked))
    first += state.seal(filled(cbor(request)))
    second = state.ephemeral(f)
    state.mix_key(agree(f, e))
    state.mix_key(agree(f, asker))
    second += state.seal(filled(cbor(answer)))
    return {
        "asker": asker.hex(), "asked": asked.hex(), "askerEphemeral": e.hex(), "askedEphemeral": f.hex(),
        "relay": relay.hex(), "challenge": challenge.hex(), "device": device.hex(), "item": request[1], "field": request[2],
        "title": answer[1] if answer[0] == 1 else None, "label": answer[2] if answer[0] == 1 else None,
        "value": answer[3] if answer[0] == 1 else None, "seconds": answer[4] if answer[0] == 1 else None,
        "refusal": answer[1] if answer[0] == 2 else None,
        "frames": [(b"\x01" + challenge).hex(), (device + first).hex(), second.hex()],
    }


def compact(content):
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def browser(tag, request, answer):
    asker, asked, e, f = (value(part + tag) for part in ["browser", "browser asked", "browser e", "browser f"])
    relay, challenge, name = value("browser relay" + tag)[:16], value("browser challenge" + tag), value("browser id" + tag)[:16]
    state = State(b"Noise_KK_25519_AESGCM_SHA256".ljust(32, b"\0"), b"coffret/remote/1" + relay + challenge, False)
    state.mix_hash(public(asker))
    state.mix_hash(public(asked))
    first = state.ephemeral(e)
    state.mix_key(agree(e, asked))
    state.mix_key(agree(asker, asked))
    first += state.seal(filled(compact(request)))
    second = state.ephemeral(f)
    state.mix_key(agree(f, e))
    state.mix_key(agree(f, asker))
    second += state.seal(filled(compact(answer)))
    return {
        "browser": asker.hex(), "browserPublic": public(asker).hex(), "asked": asked.hex(), "askedPublic": public(asked).hex(),
        "browserEphemeral": e.hex(), "browserEphemeralPublic": public(e).hex(), "askedEphemeral": f.hex(), "relay": relay.hex(),
        "challenge": challenge.hex(), "id": name.hex(), "request": request, "answer": answer,
        "frames": [(b"\x01" + challenge).hex(), (name + first).hex(), second.hex()],
    }


def admission(tag, host, name, device_name):
    static, e, f, secret = (value(part + tag) for part in ["admitted", "admitting", "admitted ephemeral", "admission secret"])
    relay, key = value("admission relay" + tag)[:16], public(value("admission key" + tag))
    given = {
        "id": value("admission id" + tag)[:16].hex(), "account": value("admission account" + tag)[:8].hex(),
        "device": value("admission device" + tag)[:16].hex(), "name": device_name, "key": key.hex(),
    }
    state = State(b"Noise_NKpsk0_25519_AESGCM_SHA256", b"coffret/remote/browser/1" + relay, True)
    state.mix_hash(public(static))
    state.mix_psk(secret)
    first = state.ephemeral(e)
    state.mix_key(agree(e, static))
    first += state.seal(b"")
    second = state.ephemeral(f)
    state.mix_key(agree(f, e))
    second += state.seal(name.encode())
    key, _ = hkdf(state.chain, b"", 2)
    code = bytes([len(host)]) + host.encode() + relay + public(static) + secret
    return {
        "browser": static.hex(), "browserPublic": public(static).hex(), "browserEphemeral": f.hex(), "browserEphemeralPublic": public(f).hex(),
        "senderEphemeral": e.hex(), "secret": secret.hex(), "relay": relay.hex(), "host": host, "name": name, "given": given,
        "code": "COFFRET-BROWSER:1:" + base64.b32encode(code).decode().rstrip("="),
        "frames": [first.hex(), second.hex(), seal(True, key, 0, filled(compact(given)), b"").hex()],
    }


def page(tag, host, place, label, secret_value, seconds):
    static, e, f, secret = (value(part + tag) for part in ["page", "sender", "page ephemeral", "secret"])
    relay = value("page relay" + tag)[:16]
    content = {"label": label, "value": secret_value}
    if seconds is not None:
        content["seconds"] = seconds
    state = State(b"Noise_NKpsk0_25519_AESGCM_SHA256", b"coffret/ask/1" + relay, True)
    state.mix_hash(public(static))
    state.mix_psk(secret)
    first = state.ephemeral(e)
    state.mix_key(agree(e, static))
    first += state.seal(b"")
    second = state.ephemeral(f)
    state.mix_key(agree(f, e))
    second += state.seal(place.encode())
    key, _ = hkdf(state.chain, b"", 2)
    plain = filled(json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode())
    code = bytes([len(host)]) + host.encode() + relay + public(static) + secret
    return {
        "page": static.hex(), "pagePublic": public(static).hex(), "pageEphemeral": f.hex(), "pageEphemeralPublic": public(f).hex(),
        "senderEphemeral": e.hex(), "secret": secret.hex(), "relay": relay.hex(), "host": host, "place": place, "label": label,
        "value": secret_value, "seconds": seconds, "code": "COFFRET-ASK:1:" + base64.b32encode(code).decode().rstrip("="),
        "frames": [first.hex(), second.hex(), seal(True, key, 0, plain, b"").hex()],
    }


devices = [
    between("0", [1, "GitHub", None], [1, "GitHub", "Password", "pâss “wörd” ✓ 7", None]),
    between("1", [1, "x" * 1024, "code"], [1, "Mail", "One-time code", "123456", 17]),
    between("2", [1, "Bank", "PIN"], [2, "remote.refused"]),
    between("3", [1, "Key", None], [1, "Key", "Key", "k" * 2000, None]),
]
pages = [
    page("0", "vault.example", "https://vault.example", "Password", "pâss “wörd” ✓ 7", None),
    page("1", "127.0.0.1:7440", "", "One-time code", "123456", 29),
    page("2", "h" * 128, "https://" + "h" * 128, "Text", "t" * 500, None),
]
browsers = [
    browser("0", {"origin": "https://garden.example", "field": "password"}, {"title": "Garden", "label": "Password", "value": "pâss “wörd” ✓ 7"}),
    browser("1", {"origin": "https://garden.example:8443", "username": "mira", "field": "code"}, {"title": "Garden", "label": "One-time code", "value": "123456", "seconds": 17}),
    browser("2", {"origin": "http://localhost", "field": "password"}, {"refused": "remote.refused"}),
]
admissions = [admission("0", "vault.example", "Firefox", "tower"), admission("1", "127.0.0.1:7440", "Google Chrome", "Tür")]
print(json.dumps({"devices": devices, "pages": pages, "browsers": browsers, "admissions": admissions}, indent=1, ensure_ascii=False))
