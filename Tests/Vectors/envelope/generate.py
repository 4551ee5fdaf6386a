#!/usr/bin/env python3
"""Writes envelope.json: envelopes as Spec/suite.md defines them, and a ciphertext for two keys.

Shares no code with Coffret: ChaCha20 and Poly1305 are written out here, BLAKE2b is hashlib's.
"""
import hashlib
import json
import random
import struct
import sys

P = (1 << 130) - 5


def lp(data):
    return struct.pack(">I", len(data)) + data


def rounds(state):
    def rotl(value, count):
        return (value << count | value >> 32 - count) & 0xFFFFFFFF

    def quarter(a, b, c, d):
        for x, y, z, count in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) & 0xFFFFFFFF
            state[z] = rotl(state[z] ^ state[x], count)

    for _ in range(10):
        for column in range(4):
            quarter(column, column + 4, column + 8, column + 12)
        for diagonal in range(4):
            quarter(diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)
    return state


CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")


def hchacha20(key, nonce16):
    state = rounds(list(CONSTANTS + struct.unpack("<8I", key) + struct.unpack("<4I", nonce16)))
    return struct.pack("<8I", *state[:4], *state[12:])


def chacha20_block(key, counter, nonce12):
    start = list(CONSTANTS + struct.unpack("<8I", key) + (counter,) + struct.unpack("<3I", nonce12))
    mixed = rounds(list(start))
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(start, mixed)))


def keystream(key, nonce12, count):
    return b"".join(chacha20_block(key, i + 1, nonce12) for i in range((count + 63) // 64))[:count]


def poly_key(key, nonce12):
    block = chacha20_block(key, 0, nonce12)
    r = int.from_bytes(block[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    return r, int.from_bytes(block[16:32], "little")


def padded(data):
    return data + bytes(-len(data) % 16)


def authenticated(ad, ciphertext):
    data = padded(ad) + padded(ciphertext) + struct.pack("<QQ", len(ad), len(ciphertext))
    return [int.from_bytes(data[i:i + 16], "little") + (1 << 128) for i in range(0, len(data), 16)]


def tag(r, s, blocks):
    total = 0
    for block in blocks:
        total = (total + block) * r % P
    return ((total + s) & ((1 << 128) - 1)).to_bytes(16, "little")


def inner(key, nonce24):
    return hchacha20(key, nonce24[:16]), bytes(4) + nonce24[16:]


def xchacha_seal(key, nonce24, ad, message):
    key, nonce = inner(key, nonce24)
    ciphertext = bytes(a ^ b for a, b in zip(message, keystream(key, nonce, len(message))))
    return ciphertext + tag(*poly_key(key, nonce), authenticated(ad, ciphertext))


def env_keys(key, context, ad, nonce):
    h = hashlib.blake2b(b"coffret/env/1" + lp(context) + lp(ad) + nonce, key=key, digest_size=64).digest()
    return h[:32], h[32:]


def padme(count):
    exponent = count.bit_length() - 1
    last = exponent - exponent.bit_length()
    mask = (1 << last) - 1
    return (count + mask) & ~mask


def size_class(count):
    for size in (192, 320, 448):
        if count <= size:
            return size
    return padme(count)


def seal(key, context, ad, nonce, message, fill):
    body = struct.pack(">I", len(message)) + message
    if fill == "size-classes":
        body += bytes(size_class(len(body)) - len(body))
    ek, com = env_keys(key, context, ad, nonce)
    return b"\x01" + nonce + com + xchacha_seal(ek, nonce, b"\x01" + com, body)


def forge(rng):
    """One envelope body that the encryption keys of two envelope keys both accept."""
    context, ad = b"keyring/body", b"\x01"
    keys = [rng.randbytes(32) for _ in range(2)]
    nonce = rng.randbytes(24)
    derived = [env_keys(key, context, ad, nonce) for key in keys]
    header = b"\x01" + derived[0][1]
    inners = [inner(ek, nonce) for ek, _ in derived]
    polys = [poly_key(*pair) for pair in inners]
    # Five blocks; the first makes the length right under the first key, the last two are solved for.
    stream = keystream(*inners[0], 4)
    length = struct.pack(">I", 76)
    while True:
        start = bytes(a ^ b for a, b in zip(length, stream)) + rng.randbytes(44)
        blocks = authenticated(header, start + bytes(32))
        count = len(blocks)
        wanted = rng.getrandbits(128)
        rows = []
        for r, s in polys:
            fixed = sum(block * pow(r, count - i, P) for i, block in enumerate(blocks)) % P
            rows.append((pow(r, 3, P), pow(r, 2, P), ((wanted - s) % (1 << 128) - fixed) % P))
        (a, b, e), (c, d, f) = rows
        determinant = pow(a * d - b * c, -1, P)
        x, y = (e * d - b * f) * determinant % P, (a * f - e * c) * determinant % P
        if x >> 128 or y >> 128:
            continue
        ciphertext = start + x.to_bytes(16, "little") + y.to_bytes(16, "little")
        tags = {tag(r, s, authenticated(header, ciphertext)) for r, s in polys}
        if len(tags) == 1:
            sealed = b"\x01" + nonce + derived[0][1] + ciphertext + tags.pop()
            return {
                "keys_hex": [key.hex() for key in keys], "encryption_keys_hex": [ek.hex() for ek, _ in derived],
                "context": context.decode(), "associated_data_hex": ad.hex(), "sealed_hex": sealed.hex()}


def main():
    rng = random.Random(15)
    cases = []
    for count, fill in ((0, "none"), (1, "size-classes"), (188, "size-classes"), (189, "size-classes"),
                        (32, "none"), (445, "size-classes"), (1000, "size-classes")):
        key, nonce, ad, message = rng.randbytes(32), rng.randbytes(24), rng.randbytes(9), rng.randbytes(count)
        context = rng.choice(["keyring/body", "backup/header", "link-details"])
        cases.append({
            "key_hex": key.hex(), "context": context, "associated_data_hex": ad.hex(), "fill": fill,
            "message_hex": message.hex(), "sealed_hex": seal(key, context.encode(), ad, nonce, message, fill).hex()})
    json.dump({"format": "envelope/1", "cases": cases, "forgery": forge(rng)}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
