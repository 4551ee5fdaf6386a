#!/usr/bin/env python3
"""Writes history.json: the formats of Spec/history.md to the byte, what is none of them, and texts that are merged.

Shares no code with Coffret. Ed25519 is the `cryptography` package's, zstd is libzstd by ctypes, the envelope is that of ../envelope/generate.py, CBOR and the
rest are written out here. The walk that defines a difference (T8) is taken from Tests/Model/history/texts.py. check.py reads all of it again.
"""

import ctypes, hashlib, importlib.util, json, pathlib, random, struct, sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

HERE = pathlib.Path(__file__).resolve().parent


def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


envelope = module('envelope', HERE.parent / 'envelope' / 'generate.py')
texts = module('texts', HERE.parents[1] / 'Model' / 'history' / 'texts.py')


def head(major, n):
    if n < 24:
        return bytes([major << 5 | n])
    for size, code in ((1, 24), (2, 25), (4, 26), (8, 27)):
        if n < 1 << 8 * size:
            return bytes([major << 5 | code]) + n.to_bytes(size, 'big')


def cbor(v):
    if v is None:
        return b'\xf6'
    if isinstance(v, int):
        return head(0, v) if v >= 0 else head(1, -1 - v)
    if isinstance(v, bytes):
        return head(2, len(v)) + v
    if isinstance(v, str):
        return head(3, len(v.encode())) + v.encode()
    if isinstance(v, list):
        return head(4, len(v)) + b''.join(map(cbor, v))
    if isinstance(v, dict):
        return head(5, len(v)) + b''.join(k + x for k, x in sorted((cbor(k), cbor(x)) for k, x in v.items()))
    raise TypeError(v)


def lp(x):
    return struct.pack('>I', len(x)) + x


def b2(data, size=32, key=b''):
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


def kdf(key, label, *context):
    return b2(b'coffret/1/' + label + b'\0' + b''.join(map(lp, context)), key=key)


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def padded(n):
    for size in (192, 320, 448):
        if n <= size:
            return size
    e = n.bit_length() - 1
    mask = (1 << (e - e.bit_length())) - 1
    return (n + mask) & ~mask


def name(kind, content):
    plain = bytes([kind, 1]) + struct.pack('>I', len(content)) + content
    return b2(plain.ljust(padded(len(plain)), b'\0'))


def run(first, count):
    return bytes(range(first, first + count))


def sign(key, context, scope, message):
    return key.sign(b'coffret/sig/1' + lp(context) + lp(scope) + lp(message))


VAULT, ACCOUNT, DEVICE = run(0x60, 32), run(0x00, 32), run(0x00, 16)
KEY = Ed25519PrivateKey.from_private_bytes(b'\x07' * 32)
OTHER, SALT, SPLIT = b'\x33' * 16, b'\x5a' * 16, b'\x55' * 32
CONTEXT = {1: 2, 2: VAULT, 3: ACCOUNT, 4: DEVICE, 5: b'\xaa' * 16, 6: 1, 7: [2, b'\x71' * 32], 8: [1, b'\x81' * 32], 9: 1, 10: 2}
TIME = 1_800_000_000_000


def instance(c):
    return b2(b'coffret/instance/1' + c[2] + c[3] + c[4] + struct.pack('>I', c[6]) + c[5], 16)


def digest(body):
    return b2(b'coffret/changes/1' + cbor({k: v for k, v in body.items() if k in (7, 8, 13)}))


def message(body):
    return b2(b'coffret/entry/1' + (body.get(14) or digest(body)) + cbor({k: v for k, v in body.items() if k not in (7, 8, 13, 14)}))


def entry(body, vault=VAULT):
    return cbor(body) + sign(KEY, b'entry', vault, message(body))


def bare(body):
    return {k: v for k, v in body.items() if k not in (7, 8, 13)} | {14: digest(body)}


def entity(n):
    return b'\x01' + bytes(14) + n.to_bytes(2, 'big')


def in_place(data):
    return b'\0' + data


def bodies():
    """(what, body) of entries of all kinds."""
    context = name(9, cbor(CONTEXT))
    note = entity(1)
    base = lambda n, h: {1: context, 2: n, 4: h, 5: TIME} | ({3: b'\x22' * 32} if n > 1 else {})
    one = lambda change: {7: [[note, change]], 13: SALT}
    yield 'first, a fact in place', base(1, 1) | one(['title', in_place(b'hello')])
    yield 'replaces an own fact and one of another instance', base(2, 5) | {6: {OTHER: [4, b'\x44' * 32]}, 10: [OTHER]} | one(
        ['text', in_place(b'hello'), b'', [1, [0, 4]]]
    )
    yield 'retracts', base(3, 6) | one(['text', None, b'', [2]])
    yield 'member of a set', base(4, 7) | one(['tag', in_place(b'garden'), b2(b'garden', 16)])
    yield 'value with a salt', base(5, 8) | one(['text', [b'\x99' * 16, in_place(b'x' * 600)]])
    yield 'value in blobs', base(6, 9) | one(['text', [20_001, b'\x77' * 32]])
    yield 'two changes of one entity, and another entity', base(7, 10) | {
        7: [[note, ['text', in_place(b'a')], ['title', in_place(b'b')]], [entity(2), ['title', in_place(b'')]]],
        13: SALT,
    }
    yield 'tree of changes', base(8, 11) | {8: b'\x88' * 32, 13: SALT}
    yield 'statement alone', base(9, 12) | {9: b'\x09' * 512}
    yield 'nothing at all', base(10, 13)
    yield 'written again', base(11, 2**40) | {11: [OTHER, 70_000]} | one(['title', in_place(b'again'), b'', [8, 9]])
    yield 'key-log note', base(12, 2**53 - 1) | {12: b'n'} | one(['title', in_place(b'n')])


def refused():
    """(why, code, blob content): what is no entry."""
    good = dict(list(bodies())[1][1])
    body = lambda **kw: {**good, **{int(k[1:]): v for k, v in kw.items()}}
    without = lambda b, *keys: {k: v for k, v in b.items() if k not in keys}
    change = lambda *c: entry(body(_7=[[entity(1), list(c)]]))
    bad = 'storage.entry.malformed'
    yield 'an unknown key', 'storage.entry.unsupported-format', entry(body(_15=1))
    yield 'an unknown key that is a text', 'storage.entry.unsupported-format', entry(body(_15=1)).replace(b'\x0f\x01', b'\x61x\x01')
    yield 'an unknown key, and changes of another form', 'storage.entry.unsupported-format', entry(body(_7=[[1, 2, 3]], _15=1))
    yield 'number 0', bad, entry(body(_2=0))
    yield 'number above 2^53 - 1', bad, entry(body(_2=2**53))
    yield 'entry 1 with an entry before', bad, entry(body(_2=1))
    yield 'entry 2 without the entry before', bad, entry(without(good, 3))
    yield 'height 0', bad, entry(body(_4=0))
    yield 'no time', bad, entry(without(good, 5))
    yield 'seen is empty', bad, entry(body(_6={}))
    yield 'seen with number 0', bad, entry(body(_6={OTHER: [0, b'\x44' * 32]}))
    yield 'seen has the own instance', bad, entry(body(_6={instance(CONTEXT): [1, b'\x44' * 32]}))
    yield 'changes are empty', bad, entry(body(_7=[]))
    yield 'changes and a tree', bad, entry(body(_8=b'\x88' * 32))
    yield 'changes without salt', bad, entry(without(good, 13))
    yield 'salt without changes', bad, entry(without(good, 7, 10))
    yield 'salt of 15 bytes', bad, entry(body(_13=SALT[1:]))
    yield 'one entity twice', bad, entry(body(_7=[[entity(1), ['text', in_place(b'a')]], [entity(1), ['title', in_place(b'b')]]]))
    yield 'entities descend', bad, entry(body(_7=[[entity(2), ['text', in_place(b'a')]], [entity(1), ['title', in_place(b'b')]]]))
    yield 'attributes descend', bad, entry(body(_7=[[entity(1), ['title', in_place(b'a')], ['text', in_place(b'b')]]]))
    yield 'an entity without a change', bad, entry(body(_7=[[entity(1)]]))
    yield 'an attribute that is empty', bad, change('', in_place(b'a'))
    yield 'an empty element and nothing replaced', bad, change('text', in_place(b'a'), b'')
    yield 'an element of 15 bytes', bad, change('tag', in_place(b'a'), b'\1' * 15)
    yield 'replaces is empty', bad, change('text', in_place(b'a'), b'', [])
    yield 'replaces descends', bad, change('text', in_place(b'a'), b'', [2, 1])
    yield 'replaces an own entry that comes later', bad, change('text', in_place(b'a'), b'', [2])
    yield 'replaces another before an own', bad, change('text', in_place(b'a'), b'', [[0, 4], 1])
    yield 'replaces by an index that is not there', bad, change('text', in_place(b'a'), b'', [[1, 4]])
    yield 'instances that no change uses', bad, change('text', in_place(b'a'), b'', [1])
    yield 'the own instance among the others', bad, entry(body(_10=[instance(CONTEXT)], _7=[[entity(1), ['text', in_place(b'a'), b'', [[0, 1]]]]]))
    yield '513 changes', bad, entry(body(_7=[[entity(1)] + [[f'{n:03}', b'\0'] for n in range(513)]]))
    yield 'retracts nothing', bad, change('text', None)
    yield 'a value without a form', bad, change('text', b'')
    yield 'form 3', bad, change('text', b'\3abc')
    yield '513 bytes in place without salt', bad, change('text', in_place(b'x' * 512))
    yield '512 bytes with salt', bad, change('text', [b'\x99' * 16, in_place(b'x' * 511)])
    yield '4,097 bytes with salt', bad, change('text', [b'\x99' * 16, in_place(b'x' * 4096)])
    yield 'a value in blobs of 512 bytes', bad, change('text', [512, b'\x77' * 32])
    yield 'a statement that is empty', bad, entry(body(_9=b''))
    yield 'a statement of 2,049 bytes', bad, entry(body(_9=b'\0' * 2049))
    yield 'a bare form with its changes', bad, entry(body(_14=digest(good)))
    yield 'another vault signed', bad, entry(good, vault=bytes(32))
    yield 'a bit of the signature', bad, entry(good)[:-1] + bytes([entry(good)[-1] ^ 1])
    yield 'a byte behind the body', bad, cbor(good) + b'\0' + entry(good)[-64:]
    yield 'keys of the body descend', bad, bytes([entry(good)[0]]) + cbor(5) + cbor(TIME) + entry(good)[1:]
    yield 'a number that is not shortest', bad, cbor(good).replace(b'\x02\x02', b'\x02\x18\x02', 1) + entry(good)[-64:]
    yield 'a signature alone', bad, entry(good)[-64:]


# -- zstd ------------------------------------------------------------------------------------------------------------------------
class Zstd:
    """Magicless frames without checksum and size (Z4)."""

    LEVEL, WINDOW, SIZE_FLAG, CHECKSUM, FORMAT_C, FORMAT_D, MAX_WINDOW = 100, 101, 200, 201, 10, 1000, 100

    def __init__(s):
        s.z = ctypes.CDLL('libzstd.so.1')
        for f in ('ZSTD_createCCtx', 'ZSTD_createDCtx'):
            getattr(s.z, f).restype = ctypes.c_void_p
        for f in ('ZSTD_compress2', 'ZSTD_decompressDCtx', 'ZSTD_compressBound'):
            getattr(s.z, f).restype = ctypes.c_size_t

    def compress(s, data, prefix=b'', **change):
        z, c = s.z, ctypes.c_void_p(s.z.ZSTD_createCCtx())
        flags = {s.LEVEL: 3, s.SIZE_FLAG: 0, s.CHECKSUM: change.get('checksum', 0), s.FORMAT_C: change.get('format', 1)}
        for k, v in flags.items():
            z.ZSTD_CCtx_setParameter(c, ctypes.c_int(k), ctypes.c_int(v))
        if prefix:
            z.ZSTD_CCtx_refPrefix(c, prefix, ctypes.c_size_t(len(prefix)))
        out = ctypes.create_string_buffer(z.ZSTD_compressBound(ctypes.c_size_t(len(data))) + 64)
        n = z.ZSTD_compress2(c, out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)))
        assert not z.ZSTD_isError(ctypes.c_size_t(n))
        return out.raw[:n]


def values():
    z, rng = Zstd(), random.Random(9)
    text = ''.join(f'Line {n} of a note: {rng.randbytes(20).hex()}\n' for n in range(40)).encode()
    edited = text.replace(b'Line 17 of', b'Line 17, changed, of')
    base = b'\x10' * 16 + in_place(text)  # blob of type 4: salt and stored value
    whole = b'\1' + varint(len(text)) + z.compress(text)
    delta = b'\2' + varint(len(edited)) + name(4, base) + z.compress(edited, prefix=text)
    on_whole = b'\2' + varint(len(edited)) + name(4, b'\x11' * 16 + whole) + z.compress(edited, prefix=text)
    bases = [base, b'\x11' * 16 + whole, b'\x12' * 16 + delta.ljust(520, b'\0')]
    bases.append(b'\x13' * 16 + in_place(bytes(511)))
    good = [
        ('the bytes', in_place(text), text),
        ('nothing', in_place(b''), b''),
        ('compressed', whole, text),
        ('delta on plain bytes', delta, edited),
        ('delta on a compressed value', on_whole, edited),
    ]
    bomb = bytes(900_000)
    bad = [
        ('no form', b''),
        ('form 3', b'\3' + text),
        ('a size too small', b'\1' + varint(len(text) - 1) + whole[3:]),
        ('a size too great', b'\1' + varint(len(text) + 1) + whole[3:]),
        ('a bomb: more than 64 times the bytes and 4,096', b'\1' + varint(len(bomb)) + z.compress(bomb)),
        ('a size above 16 MiB', b'\1' + varint(2**24 + 1) + whole[3:]),
        ('a size that is not shortest', b'\1' + whole[1:2] + bytes([whole[2] | 0x80]) + b'\0' + whole[3:]),
        ('a frame with a checksum', b'\1' + varint(len(text)) + z.compress(text, checksum=1)),
        ('a frame with its magic', b'\1' + varint(len(text)) + z.compress(text, format=0)),
        ('half a frame', whole[: len(whole) // 2]),
        ('a byte behind the frame', whole + b'\0'),
        ('two frames', b'\1' + varint(2 * len(text)) + 2 * whole[3:]),
        ('a frame with a window above 2^24', whole[:4] + b'\x71' + whole[5:]),
        ('a frame with a bit that says nothing', whole[:3] + b'\x10' + whole[4:]),
        ('a delta above 1 MiB', b'\2' + varint(2**20 + 1) + name(4, b'\x11' * 16 + whole) + z.compress(bytes(2**20 + 1), prefix=text)),
        ('a base that is not there', b'\2' + varint(len(edited)) + b'\x66' * 32 + delta[-20:]),
        ('a base that is a delta', b'\2' + varint(len(edited)) + name(4, bases[2]) + z.compress(edited, prefix=text)),
        ('a base of 512 bytes', b'\2' + varint(600) + name(4, bases[3]) + z.compress(bytes(600), prefix=bytes(511))),
    ]
    # The border of Z5 with a base, whose salt is not counted: a byte less would be allowed.
    frame = lambda size: b'\2' + varint(size) + name(4, bases[1]) + z.compress(bytes(size), prefix=text)
    size = 64 * (len(frame(100_000)) + len(bases[1]) - 16) + 4096
    assert len(frame(size)) == len(frame(size + 1)) == len(frame(100_000))
    bad.append(('more than 64 times the bytes of value and base, and 4,096', frame(size + 1)))
    return {
        'bases': [{'content_hex': b.hex(), 'name_hex': name(4, b).hex()} for b in bases],
        'cases': [{'what': w, 'stored_hex': s.hex(), 'bytes_hex': v.hex()} for w, s, v in good],
        'refused': [{'why': w, 'stored_hex': s.hex()} for w, s in bad],
    }


def term(key, inst, number, height, content):
    return b2(lp(key) + inst + struct.pack('>QQ', number, height) + lp(content), key=kdf(SPLIT, b'state/digest', VAULT))


def fact_key(n, attribute, element=b''):
    return entity(n) + attribute.encode() + b'\0' + element


def states():
    own = instance(CONTEXT)
    facts = [
        (fact_key(1, 'text'), own, 2, 5, in_place(b'hello')),
        (fact_key(1, 'tag', b2(b'garden', 16)), own, 4, 7, in_place(b'garden')),
        (fact_key(2, 'text'), OTHER, 300, 2**33, b'\x77' * 32),
    ]
    terms = [term(*f) for f in facts]
    total = sum(int.from_bytes(t, 'big') for t in terms) % 2**256
    order = sorted(facts, key=lambda f: (f[0], f[1], f[2]))
    instances = sorted({f[1] for f in facts})
    leaf = varint(len(order)) + varint(len(instances)) + b''.join(instances)
    before = b''
    for key, inst, number, height, content in order:
        n = 0
        while n < min(len(key), len(before)) and key[n] == before[n]:
            n += 1
        size = 20_000 if inst == OTHER else len(content)
        leaf += (
            bytes([n, len(key) - n])
            + key[n:]
            + varint(instances.index(inst))
            + varint(number)
            + varint(height)
            + varint(size + 1)
            + content
        )
        before = key
    return {
        'split_key_hex': SPLIT.hex(),
        'facts': [
            {'key_hex': k.hex(), 'instance_hex': i.hex(), 'number': n, 'height': h, 'content_hex': c.hex(), 'term_hex': t.hex()}
            for (k, i, n, h, c), t in zip(facts, terms)
        ],
        'digest_hex': total.to_bytes(32, 'big').hex(),
        'leaf_hex': leaf.hex(),
        'leaf_name_hex': name(1, leaf).hex(),
    }, total.to_bytes(32, 'big')


def frontier(body):
    return cbor(body) + sign(KEY, b'frontier', VAULT, b2(b'coffret/frontier/1' + cbor(body)))


CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'


def head_code(base_hash, full, total, chain):
    listed = b''.join(i + struct.pack('>Q', n) + x for i, (n, x) in sorted(full.items()))
    raw = b2(b'coffret/head-code/2' + VAULT + base_hash + b2(listed) + total + chain)
    bits = int.from_bytes(raw[:10], 'big')
    code = ''.join(CROCKFORD[bits >> 75 - 5 * i & 31] for i in range(16))
    return raw, '-'.join(code[i : i + 4] for i in range(0, 16, 4))


def links(total):
    own = instance(CONTEXT)
    rng = random.Random(5)
    vault_keys = {1: b'\xe1' * 32, 2: b'\xe2' * 32}
    accept = {own: [4, b'\x04' * 32], OTHER: [4, b'\x44' * 32]}
    check = [
        ('full', {1: None, 2: accept, 3: b'\xc3' * 32, 4: total, 5: 3}),
        ('cut', {1: 1, 2: {own: [5, b'\x05' * 32]}, 4: total, 5: 3}),
        (
            'ends a log, refutes a root',
            {1: 1, 2: {}, 3: b'\xc3' * 32, 4: total, 5: 3, 6: {OTHER: [3, b'\x41' * 32, b'\x44' * 32]}, 9: [2, 3]},
        ),
        ('deletes for good', {1: 1, 2: {}, 3: b'\xc3' * 32, 4: total, 5: 2, 7: [entity(1)], 8: {OTHER: b'\x4b' * 32}}),
    ]
    seal = lambda epoch, label, number, content: envelope.seal(
        kdf(vault_keys[epoch], b'member-details/key', VAULT + struct.pack('>I', epoch)),
        label,
        VAULT + struct.pack('>Q', number),
        rng.randbytes(24),
        content,
        'size-classes',
    )
    details, opening = {0: TIME, 2: check[0][1], 3: b'\x00\x01'}, {0: TIME}
    commit = lambda e: kdf(vault_keys[e], b'vault-key/commit', VAULT + struct.pack('>I', e))
    public = {
        0: 7,
        1: ACCOUNT,
        2: b'\x72' * 32,
        8: [ACCOUNT],
        10: 2,
        11: commit(2),
        12: kdf(SPLIT, b'split-key/commit', VAULT),
        13: b'\x0d' * 32,
        14: 1,
    }
    return {
        'vault_keys_hex': {str(k): v.hex() for k, v in vault_keys.items()},
        'commitments_hex': {str(e): commit(e).hex() for e in vault_keys},
        'checkpoints': [{'what': w, 'cbor_hex': cbor(c).hex()} for w, c in check],
        'plain': {
            'number': 1,
            'epoch': 1,
            'public_hex': cbor({0: 7, 1: ACCOUNT, 2: b'\x71' * 32}).hex(),
            'sealed_hex': seal(1, b'member-details/seal', 1, cbor(details)).hex(),
            'details_hex': cbor(details).hex(),
        },
        'opening': {
            'number': 2,
            'epoch': 2,
            'checkpoint_epoch': 1,
            'public_hex': cbor(public).hex(),
            'details_hex': cbor(opening).hex(),
            'checkpoint_hex': cbor(check[1][1]).hex(),
            'sealed_hex': cbor(
                [seal(2, b'member-details/seal', 2, cbor(opening)), seal(1, b'member-checkpoint/seal', 2, cbor(check[1][1]))]
            ).hex(),
        },
    }


def text_cases():
    split = lambda t: tuple(t.splitlines(keepends=True))
    pairs = [
        ('', ''),
        ('', 'a\n'),
        ('a\n', ''),
        ('a\nb\nc\n', 'a\nx\nc\n'),
        ('a\nb\n', 'b\na\n'),
        ('a', 'a\n'),
        ('a\r\n', 'a\n'),
        ('a\nb\na\nb\n', 'b\na\nb\na\n'),
        ('x\na\nb\nc\n', 'a\nb\nc\ny\n'),
        ('a\na\n', 'a\n'),
    ]
    rng = random.Random(3)
    for _ in range(12):
        pairs.append(tuple(''.join(rng.choice('abc') + '\n' for _ in range(rng.randint(0, 9))) for _ in range(2)))
    pairs.append((''.join(f'{n}\n' for n in range(600)), ''.join(f'{n + 600}\n' for n in range(600))))  # above the bound of T8
    merges = [
        ('x\n', ['a\nx\n', 'x\nb\n']),
        ('a\nb\nc\n', ['A\nb\nc\n', 'a\nb\nC\n']),
        ('a\nb\n', ['A\nb\n', 'a\nB\n']),
        ('a\nb\nc\n', ['a\nc\n', 'a\nc\n']),
        ('a\nb\nc\n', ['a\nb\n', 'b\nc\n']),
        ('a\n', ['a\nb\n', 'a\nc\n']),
        ('a\n', ['a\nb\n', 'a\nb\n']),
        ('a\nb\nc\nd\n', ['A\nb\nc\nd\n', 'a\nb\nC\nd\n', 'a\nb\nc\nd\ne\n']),
        ('', ['a\n', 'b\n']),
        ('a\nb\nc\n', ['', 'a\nb\nc\n']),
    ]
    for _ in range(12):
        base = [f'{n}\n' for n in range(rng.randint(0, 6))]
        sides = []
        for _ in range(rng.randint(2, 3)):
            side = [x for x in base if rng.random() > 0.2]
            side.insert(rng.randint(0, len(side)), rng.choice('pqr') + '\n')
            sides.append(''.join(side))
        merges.append((''.join(base), sides))
    return {
        'differences': [{'old': a, 'new': b, 'runs': [list(r) for r in texts.difference(split(a), split(b))]} for a, b in pairs],
        'merges': [
            {'base': b, 'versions': v, 'merged': None if (m := texts.merge_all(split(b), [split(x) for x in v])) is None else ''.join(m)}
            for b, v in merges
        ],
    }


def main():
    state, total = states()
    own = instance(CONTEXT)
    context = name(9, cbor(CONTEXT))
    entries = []
    for what, body in bodies():
        whole, stripped = entry(body), cbor(bare(body)) + entry(body)[-64:]
        entries.append(
            {
                'what': what,
                'content_hex': whole.hex(),
                'name_hex': name(8, whole).hex(),
                'message_hex': message(body).hex(),
                'bare_hex': stripped.hex(),
                'bare_name_hex': name(8, stripped).hex(),
            }
        )
    contexts = [
        CONTEXT,
        {**CONTEXT, 5: b'\xab' * 16},
        {**CONTEXT, 6: 2**31},
        {**CONTEXT, 4: b'\x0f' * 16},
        {**CONTEXT, 11: [0, b'\xb1' * 32]},
    ]
    fronts = [
        ('nothing below', {1: context, 2: None, 4: {own: [4, b'\x04' * 32]}, 7: total, 8: TIME}),
        ('over a base', {1: context, 2: 1, 4: {own: [4, b'\x04' * 32], OTHER: [9, b'\x49' * 32]}, 7: total, 8: TIME}),
        ('over a full frontier', {1: context, 2: 1, 3: b'\xf0' * 32, 4: {}, 7: total, 8: TIME}),
        ('with what is missing', {1: context, 2: 1, 4: {own: [5, b'\x05' * 32]}, 6: {OTHER: 12}, 7: total, 8: TIME}),
    ]
    full = {own: (4, b'\x04' * 32), OTHER: (9, b'\x49' * 32)}
    codes = [(b'\x1a' * 32, full), (b'', {})]
    objects = [(b'\xa1' * 32, b'ciphertext one'), (b'\xa2' * 32, b'ciphertext two')]
    pushed = b'\xe0' * 32 + b'\xe1' * 32 + struct.pack('>I', 2) + b2(b''.join(a + b2(c) for a, c in objects))
    json.dump(
        {
            'format': 'history/1',
            'vault_hex': VAULT.hex(),
            'device_public_key_hex': KEY.public_key().public_bytes_raw().hex(),
            'contexts': [
                {'cbor_hex': cbor(c).hex(), 'name_hex': name(9, cbor(c)).hex(), 'instance_hex': instance(c).hex()} for c in contexts
            ],
            'entries': entries,
            'refused': [{'why': w, 'code': c, 'content_hex': e.hex()} for w, c, e in refused()],
            'state': state,
            'frontiers': [{'what': w, 'content_hex': frontier(b).hex(), 'name_hex': name(10, frontier(b)).hex()} for w, b in fronts],
            'head_codes': [
                {
                    'base_hash_hex': b.hex(),
                    'frontier': {i.hex(): [n, x.hex()] for i, (n, x) in f.items()},
                    'digest_hex': total.hex(),
                    'device_chain_head_hex': (b'\x72' * 32).hex(),
                    'hash_hex': (r := head_code(b, f, total, b'\x72' * 32))[0].hex(),
                    'code': r[1],
                }
                for b, f in codes
            ],
            'push': {
                'expected_hex': 'e0' * 32,
                'new_hex': 'e1' * 32,
                'epoch': 2,
                'objects': [[a.hex(), c.hex()] for a, c in objects],
                'message_hex': pushed.hex(),
            },
            'links': links(total),
            'values': values(),
            'texts': text_cases(),
        },
        sys.stdout,
        indent=1,
    )
    print()


if __name__ == '__main__':
    main()
