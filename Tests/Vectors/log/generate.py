"""Makes tree.json from the text of Spec/log.md and RFC 6962, section 2.1, by their recursion and not by Coffret's code.

Entry i of the log has kind [1, 3, 2][i mod 3], chain SHA-256("chain" and i mod 7 in a byte), number i / 3 and link hash
SHA-256("link" and i in four bytes).
"""

import hashlib
import json
import pathlib


def sha(data):
    return hashlib.sha256(data).digest()


def entry(index):
    kind = bytes([[1, 3, 2][index % 3]])
    chain = sha(b"chain" + bytes([index % 7]))
    link = sha(b"link" + index.to_bytes(4, "big"))
    return b"\x01" + kind + sha(b"coffret/log/1" + kind + chain) + (index // 3).to_bytes(8, "big") + link


def root(entries):
    if not entries:
        return sha(b"")
    if len(entries) == 1:
        return sha(b"\x00" + entries[0])
    half = 1
    while 2 * half < len(entries):
        half *= 2
    return sha(b"\x01" + root(entries[:half]) + root(entries[half:]))


entries = [entry(index) for index in range(300)]
leaves = [sha(b"\x00" + each) for each in entries]
framed = [b"\x00\x4a" + each for each in entries]
tiles = {
    "0/000": b"".join(leaves[:256]),
    "0/001.p/44": b"".join(leaves[256:]),
    "1/000.p/1": root(entries[:256]),
    "entries/000": b"".join(framed[:256]),
    "entries/001.p/44": b"".join(framed[256:]),
}
result = {
    "entries": [each.hex() for each in entries[:4]],
    "roots": [{"size": n, "root": root(entries[:n]).hex()} for n in [0, 1, 2, 3, 4, 5, 7, 8, 9, 255, 256, 257, 299, 300]],
    "tiles": [{"path": path, "sha256": sha(data).hex()} for path, data in tiles.items()],
}
pathlib.Path(__file__).with_name("tree.json").write_text(json.dumps(result, indent=1) + "\n")
