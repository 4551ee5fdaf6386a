#!/usr/bin/env python3
"""Writes heads.json: statements of heads in commits as Spec/commit.md section 10 defines them, and what is none.

Shares no code with Coffret: the envelope is that of ../envelope/generate.py, the CBOR is written out here.
"""
import hashlib
import importlib.util
import json
import pathlib
import random
import struct
import sys

place = pathlib.Path(__file__).resolve().parent.parent / "envelope" / "generate.py"
spec = importlib.util.spec_from_file_location("envelope", place)
envelope = importlib.util.module_from_spec(spec)
spec.loader.exec_module(envelope)


def head(major, argument):
    if argument < 24:
        return bytes([major << 5 | argument])
    for size, code, form in ((1 << 8, 24, ">B"), (1 << 16, 25, ">H"), (1 << 32, 26, ">I"), (1 << 64, 27, ">Q")):
        if argument < size:
            return bytes([major << 5 | code]) + struct.pack(form, argument)
    raise ValueError(argument)


def cbor(value):
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    if isinstance(value, dict):
        return head(5, len(value)) + b"".join(cbor(key) + cbor(value[key]) for key in value)
    raise TypeError(value)


def kdf(key, label, *context):
    data = b"coffret/1/" + label + b"\0" + b"".join(map(envelope.lp, context))
    return hashlib.blake2b(data, key=key, digest_size=32).digest()


def filled(content, length=None, tail=b"\0", step=512):
    message = struct.pack(">I", len(content) if length is None else length) + content
    return message + tail * (-len(message) % step)


def main():
    rng = random.Random(11)
    details, account, vault, instance = (rng.randbytes(count) for count in (32, 32, 32, 16))
    key = kdf(details, b"heads/key", account)

    def heads(count):
        rows = [[rng.randbytes(32), rng.randbytes(32), [rng.randbytes(16), rng.choice([1, 23, 24, 70_000, 1 << 40])],
                 rng.choice([0, 5, 300])] for _ in range(count)]
        return sorted(rows)

    def seal(message, ad=vault + instance, context=b"heads/seal", key=key):
        return envelope.seal(key, context, ad, rng.randbytes(24), message, "none")

    cases = []
    for count in (1, 2, 4, 5, 8):
        rows = heads(count)
        cases.append({
            "heads": [{"vault_hex": row[0].hex(), "head_hex": row[1].hex(), "instance_hex": row[2][0].hex(),
                       "sequence": row[2][1], "position": row[3]} for row in rows],
            "sealed_hex": seal(filled(cbor([1, rows]))).hex()})
    rows = heads(3)
    good = cbor([1, rows])
    twice = [rows[0], rows[0]]
    zero = [[rows[0][0], rows[0][1], [rows[0][2][0], 0], 1]]
    bad = {
        "another vault": seal(filled(good), ad=bytes(32) + instance),
        "another instance": seal(filled(good), ad=vault + bytes(16)),
        "another key": seal(filled(good), key=kdf(details, b"heads/key", vault)),
        "another context": seal(filled(good), context=b"heads/record"),
        "no heads": seal(filled(cbor([1, []]))),
        "nine heads": seal(filled(cbor([1, heads(9)]))),
        "not ascending": seal(filled(cbor([1, rows[::-1]]))),
        "one vault twice": seal(filled(cbor([1, twice]))),
        "number 0": seal(filled(cbor([1, zero]))),
        "version 2": seal(filled(cbor([2, rows]))),
        "not filled": seal(filled(good, step=1)),
        "filled with ones": seal(filled(good, tail=b"\1")),
        "filled too far": seal(filled(good) + bytes(512)),
        "a length beyond the end": seal(filled(good, length=600)),
        "something behind the content": seal(filled(good + b"\0", length=len(good) + 1)),
        "empty": seal(b""),
        "a digest of 32 bytes": rng.randbytes(32),
    }
    body = cbor({1: rng.randbytes(32), 2: rng.randbytes(32), 3: [rng.randbytes(32)], 4: 7, 5: 1_700_000_000_000,
                 11: bytes.fromhex(cases[0]["sealed_hex"])})
    json.dump({
        "format": "heads/1", "details_key_hex": details.hex(), "account_hex": account.hex(), "vault_hex": vault.hex(),
        "instance_hex": instance.hex(), "cases": cases,
        "refused": [{"why": why, "sealed_hex": sealed.hex()} for why, sealed in bad.items()],
        "commit_body_hex": body.hex()}, sys.stdout, indent=1)
    print()


main()
