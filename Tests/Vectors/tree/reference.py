#!/usr/bin/env python3
"""A second implementation of Spec/tree.md, written from that page, to check nodes.json against.

Usage: reference.py [nodes.json]; prints nothing and exits 0 if all vectors are right.
"""
import hashlib
import json
import pathlib
import sys

MASK = (1 << 64) - 1


def siphash24(key, data):
    k0, k1 = (int.from_bytes(key[i:i + 8], "little") for i in (0, 8))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rotate(x, n):
        return (x << n | x >> (64 - n)) & MASK

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & MASK
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & MASK
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & MASK
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & MASK
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start:start + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def padded_size(n):
    for size in (192, 320, 448):
        if n <= size:
            return size
    exponent = n.bit_length() - 1
    mask = (1 << (exponent - exponent.bit_length())) - 1
    return (n + mask) & ~mask


def name(kind, content):
    plain = bytes([kind, 1]) + len(content).to_bytes(4, "big") + content
    return hashlib.blake2b(plain.ljust(padded_size(len(plain)), b"\0"), digest_size=32).digest()


def shared(key, previous):
    count = 0
    while previous and count < min(len(key), len(previous)) and key[count] == previous[count]:
        count += 1
    return count


def coded(key, previous):
    n = shared(key, previous)
    return bytes([n, len(key) - n]) + key[n:]


def fact(n):
    """(key, value or blob name, value's size, instance, sequence) of fact n; see SOURCE.md."""
    mixed = (n // 4 * 0x9E3779B97F4A7C15) & MASK
    uuid = mixed.to_bytes(8, "big") + (n // 4).to_bytes(8, "big")
    attribute = [b"body", b"modified", b"tag", b"title"][n % 4]
    element = bytes([n % 251]) * 16 if n % 4 == 2 else b""
    key = b"N" + uuid + attribute + b"\0" + element
    stored = n % 16 == 0
    value = bytes([n % 256]) * (32 if stored else n * 7 % 200)
    return key, value, 513 + n if stored else len(value), bytes([1 + n % 3]) * 16, n + 1


def encode_leaf(facts):
    instances = sorted({f[3] for f in facts})
    out = varint(len(facts)) + varint(len(instances)) + b"".join(instances)
    previous = None
    for key, value, size, instance, sequence in facts:
        out += coded(key, previous) + varint(instances.index(instance)) + varint(sequence) + varint(size + 1) + value
        previous = key
    return out


def encode_inner(level, children):
    out = bytes([level]) + varint(len(children))
    previous = None
    for key, count, child in children:
        out += coded(key, previous) + varint(count) + child
        previous = key
    return out


def cut(entries, level, split_key, weigh):
    """Entries of one level in nodes, as section 5 has it."""
    target = 1024 if level else 2048
    scale = (target * 11 // 10) ** 4 >> 32
    nodes, node, weight = [], [], 0
    for entry in entries:
        start, weight = weight, weight + weigh(entry, node)
        node.append(entry)
        if level and len(node) < 2:
            continue
        h = siphash24(split_key, bytes([level]) + entry[0])
        if weight > 4 * target - 704 or (h >> 32) * scale < weight ** 4 - start ** 4:
            nodes.append(node)
            node, weight = [], 0
    return nodes + [node] if node else nodes


def weigh_leaf(entry, node):
    key, value, size, instance, sequence = entry
    weight = 3 + len(key) - shared(key, node[-1][0] if node else None)
    weight += len(varint(sequence)) + len(varint(size + 1)) + len(value)
    return weight + (16 if instance not in [f[3] for f in node] else 0)


def weigh_child(entry, node):
    key, count, _ = entry
    return 2 + len(key) - shared(key, node[-1][0] if node else None) + len(varint(count)) + 32


def build(facts, split_key):
    leaves = cut(facts, 0, split_key, weigh_leaf)
    contents = [encode_leaf(leaf) for leaf in leaves]
    children = [(leaf[-1][0], len(leaf), name(1, c)) for leaf, c in zip(leaves, contents)]
    level = 1
    while True:
        nodes = cut(children, level, split_key, weigh_child) or [[]]
        names = [name(2, encode_inner(level, node)) for node in nodes]
        if len(nodes) == 1:
            return names[0], level + 1, [len(c) for c in contents]
        children = [(n[-1][0], sum(c[1] for c in n), x) for n, x in zip(nodes, names)]
        level += 1


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("nodes.json")
    vectors = json.loads(pathlib.Path(path).read_text())
    for case in vectors["cases"]:
        facts = sorted(fact(n) for n in range(case["factCount"]))
        root, levels, sizes = build(facts, bytes.fromhex(case["splitHashKey"]))
        assert (root.hex(), levels, sizes) == (case["root"], case["levelCount"], case["leafByteCounts"]), case
    key = bytes.fromhex(vectors["cases"][0]["splitHashKey"])
    for entry in vectors["hashes"]:
        assert siphash24(key, bytes([entry["level"]]) + bytes.fromhex(entry["key"])) == int(entry["hash"], 16), entry
    assert encode_leaf(sorted(fact(n) for n in range(6))).hex() == vectors["leaf"]["content"]
    for field, kind in (("leaf", 1), ("inner", 2), ("empty", 2)):
        assert name(kind, bytes.fromhex(vectors[field]["content"])).hex() == vectors[field]["name"], field


if __name__ == "__main__":
    main()
