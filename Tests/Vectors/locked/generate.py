#!/usr/bin/env python3
"""Writes locked.json: password records, a ladder and sealed parts of scheme 2, as Spec/locked-notes.md defines them.

Shares no code with Coffret: the envelope is the one of ../envelope/generate.py, BLAKE2b is hashlib's, CBOR is written
out here. Argon2id is libsodium's, called directly.
"""
import contextlib
import ctypes
import ctypes.util
import hashlib
import importlib.util
import io
import json
import pathlib
import random
import struct
import sys
import unicodedata

here = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("envelope", here.parent / "envelope" / "generate.py")
envelope = importlib.util.module_from_spec(spec)
with contextlib.redirect_stdout(io.StringIO()):  # it prints its own vectors
    spec.loader.exec_module(envelope)

sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
assert sodium.sodium_init() >= 0
source = random.Random(20261121)


def head(major, value):
    if value < 24:
        return bytes([major << 5 | value])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if value < 1 << 8 * size:
            return bytes([major << 5 | code]) + value.to_bytes(size, "big")
    raise ValueError(value)


def cbor(value):
    if value is None:
        return b"\xf6"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    return head(4, len(value)) + b"".join(cbor(item) for item in value)


def argon2id(passphrase, salt, kibibytes, passes):
    password = unicodedata.normalize("NFC", passphrase).encode()
    out = ctypes.create_string_buffer(32)
    status = sodium.crypto_pwhash(
        out, ctypes.c_ulonglong(32), password, ctypes.c_ulonglong(len(password)), salt, ctypes.c_ulonglong(passes),
        ctypes.c_size_t(kibibytes << 10), 2)
    assert status == 0
    return out.raw


def kdf(key, label, context):
    return hashlib.blake2b(
        b"coffret/1/" + label.encode() + b"\0" + struct.pack(">I", len(context)) + context, key=key, digest_size=32
    ).digest()


def seal(key, context, ad, message, fill):
    return envelope.seal(key, context.encode(), ad, source.randbytes(24), message, fill)


def make_record(passphrase, home, created, previous):
    salt = source.randbytes(16)
    identity = cbor([2, created, home, salt, 65536, 3])
    record_id = hashlib.blake2b(b"coffret/locked/record/1" + identity, digest_size=16).digest()
    key = argon2id(passphrase, salt, 65536, 3)
    check = seal(key, "locked/check", record_id, source.randbytes(32), "none")
    ladder = [
        [old_id, seal(key, "locked/previous", record_id + old_id, old_key, "none")] for old_id, old_key in previous]
    return record_id, key, cbor([1, identity, check, ladder])


def make_value(record_id, key, home, entity, encryption_id, attribute, content, ancestors, reseals):
    note_key = kdf(key, "locked/note", home + record_id + encryption_id)
    ad = home + entity + record_id + encryption_id + b"\x02" + attribute.encode()
    body = seal(note_key, "locked/body", ad, content, "size-classes")
    tag = hashlib.blake2b(content, key=kdf(note_key, "locked/tag", attribute.encode()), digest_size=16).digest()
    return cbor([1, record_id, encryption_id, tag, ancestors, reseals, body]), tag


home = source.randbytes(32)
entity = b"N" + source.randbytes(16)
encryption_id = source.randbytes(16)
first_id, first_key, first = make_record("ho\u0308rnchen am bach", home, 1_760_000_000_000, [])
second_id, second_key, second = make_record("new", home, 1_770_000_000_000, [(first_id, first_key)])
parts = []
for attribute, text in (("locked/text", "# Diary\n\nÜber den Bach.\n"), ("locked/title", "Diary"), ("locked/text", "")):
    value, tag = make_value(first_id, first_key, home, entity, encryption_id, attribute, text.encode(), [], 0)
    resealed, _ = make_value(
        second_id, second_key, home, entity, encryption_id, attribute, text.encode(), [tag], 1)
    parts.append({
        "attribute": attribute, "text": text, "value_hex": value.hex(), "resealed_hex": resealed.hex()})
json.dump({
    "format": "locked/1", "entity_hex": entity.hex(),
    "records": [
        {"passphrase": "ho\u0308rnchen am bach", "id_hex": first_id.hex(), "value_hex": first.hex()},
        {"passphrase": "new", "id_hex": second_id.hex(), "value_hex": second.hex()},
    ],
    "parts": parts,
}, sys.stdout, indent=1, ensure_ascii=True)
print()
