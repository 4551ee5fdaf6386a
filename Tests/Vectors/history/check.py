#!/usr/bin/env python3
"""Reads history.json as Spec/history.md has it, and holds every value against a reader written apart from generate.py.

check.py [history.json]       prints what differs; exit 0 if nothing does, 77 if the `cryptography` package is missing
"""

import ctypes, hashlib, json, pathlib, sys

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    print('skipped: the Python package cryptography is missing')
    sys.exit(77)

MALFORMED, UNSUPPORTED = 'storage.entry.malformed', 'storage.entry.unsupported-format'


class Refused(Exception):
    pass


def need(ok, code=MALFORMED):
    if not ok:
        raise Refused(code)


# -- deterministic CBOR, read --------------------------------------------------------------------------------------------------------
def item(data, at, depth=0):
    need(at < len(data) and depth <= 16)
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        need(info == 22)
        return None, at
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(info, 0)
    need(info < 28)
    n = int.from_bytes(data[at : at + size], 'big') if size else info
    need(at + size <= len(data))
    at += size
    need(not size or n >= {1: 24, 2: 1 << 8, 4: 1 << 16, 8: 1 << 32}[size])
    if major == 0:
        return n, at
    if major == 1:
        return -1 - n, at
    if major in (2, 3):
        need(at + n <= len(data))
        raw = data[at : at + n]
        try:
            return (raw if major == 2 else raw.decode()), at + n
        except UnicodeDecodeError:
            raise Refused(MALFORMED)
    if major == 4:
        out = []
        for _ in range(n):
            value, at = item(data, at, depth + 1)
            out.append(value)
        return out, at
    need(major == 5)
    out, before = {}, b''
    for _ in range(n):
        start = at
        key, at = item(data, at, depth + 1)
        need(data[start:at] > before)
        before = data[start:at]
        out[key], at = item(data, at, depth + 1)
    return out, at


def span(data, keys):
    """The encoded pairs of a map, by key: so parts of a body are hashed without encoding anything again."""
    n, at = data[0] & 31, 1
    if data[0] & 31 == 24:
        n, at = data[1], 2
    out = {}
    for _ in range(n):
        start = at
        key, at = item(data, at)
        _, at = item(data, at)
        out[key] = data[start:at]
    assert at == len(data)
    pairs = [v for k, v in out.items() if k in keys]
    assert len(pairs) < 24
    return bytes([0xA0 | len(pairs)]) + b''.join(pairs)


def b2(data, size=32, key=b''):
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


def lp(x):
    return len(x).to_bytes(4, 'big') + x


def kdf(key, label, context):
    return b2(b'coffret/1/' + label + b'\0' + lp(context), key=key)


def name(kind, content):
    n = 6 + len(content)
    if n > 448:
        e = n.bit_length() - 1
        step = 1 << e - e.bit_length()
        size = -(-n // step) * step
    else:
        size = next(s for s in (192, 320, 448) if n <= s)
    return b2(bytes([kind, 1]) + lp(content) + bytes(size - n))


def verify(public, context, scope, message, signature):
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, b'coffret/sig/1' + lp(context) + lp(scope) + lp(message))
    except InvalidSignature:
        raise Refused(MALFORMED)


# -- entries (section 3) --------------------------------------------------------------------------------------------------------------
def is_bytes(v, *sizes):
    return isinstance(v, bytes) and (not sizes or len(v) in sizes)


def is_number(v):
    return isinstance(v, int) and 1 <= v < 1 << 53


def stored(v):
    if v is None:
        return
    if is_bytes(v):
        need(1 <= len(v) <= 512 and v[0] <= 2)
        return
    need(isinstance(v, list) and len(v) == 2)
    if isinstance(v[0], int):
        need(513 <= v[0] <= 1 << 24 and is_bytes(v[1], 32))
    else:
        need(is_bytes(v[0], 16) and is_bytes(v[1]) and 513 <= len(v[1]) <= 4096 and v[1][0] <= 2)


def changes(list_, number, others):
    need(isinstance(list_, list) and 0 < len(list_))
    used, before, total = set(), b'', 0
    for group in list_:
        need(isinstance(group, list) and len(group) >= 2 and is_bytes(group[0], 17))
        for change in group[1:]:
            need(isinstance(change, list) and 2 <= len(change) <= 4)
            total += 1
            attribute, element = change[0], change[2] if len(change) > 2 else b''
            need(isinstance(attribute, str) and 1 <= len(attribute) <= 64 and all(' ' <= c <= '~' for c in attribute))
            need(is_bytes(element, 0, 16) and (len(change) != 3 or element))
            key = group[0] + attribute.encode() + b'\0' + element
            need(key > before)
            before = key
            stored(change[1])
            need(change[1] is not None or len(change) == 4)
            if len(change) < 4:
                continue
            refs = change[3]
            need(isinstance(refs, list) and 0 < len(refs) <= 4096)
            order = []
            for ref in refs:
                if isinstance(ref, int):
                    need(is_number(ref) and ref < number)
                    order.append((-1, ref))
                else:
                    need(
                        isinstance(ref, list)
                        and len(ref) == 2
                        and isinstance(ref[0], int)
                        and 0 <= ref[0] < len(others)
                        and is_number(ref[1])
                    )
                    order.append(tuple(ref))
                    used.add(ref[0])
            need(order == sorted(set(order)))
    need(len({g[0] for g in list_}) == len(list_) and total <= 512 and used == set(range(len(others))))


def entry(content, public, vault, own):
    """The body of an entry or of a bare form; Refused with a code else."""
    need(len(content) > 64)
    raw, signature = content[:-64], content[-64:]
    need(raw[0] >> 5 == 5)
    body, end = item(raw, 0)
    need(end == len(raw))
    need(set(body) <= set(range(1, 15)), UNSUPPORTED)
    need(is_bytes(body.get(1), 32) and is_number(body.get(2)) and is_number(body.get(4)) and isinstance(body.get(5), int))
    need((3 in body) == (body[2] > 1) and is_bytes(body.get(3, bytes(32)), 32))
    if 6 in body:
        need(isinstance(body[6], dict) and 0 < len(body[6]) <= 4096 and own not in body[6])
        for k, v in body[6].items():
            need(is_bytes(k, 16) and isinstance(v, list) and len(v) == 2 and is_number(v[0]) and is_bytes(v[1], 32))
    others = body.get(10, [])
    need(10 not in body or isinstance(others, list) and others and all(is_bytes(i, 16) and i != own for i in others) and others == sorted(set(others)))
    need(not (7 in body and 8 in body) and (13 in body) == (7 in body or 8 in body) and is_bytes(body.get(13, bytes(16)), 16))
    need(14 not in body or 13 not in body and is_bytes(body[14], 32))
    if 7 in body:
        need(len(span(raw, (7,))) - 2 <= 256 << 10)
        changes(body[7], body[2], others)
    else:
        need(10 not in body or 14 in body)
    need(is_bytes(body.get(8, bytes(32)), 32) and is_bytes(body.get(9, b'-')) and 1 <= len(body.get(9, b'-')) <= 2048)
    need(is_bytes(body.get(12, b'-')) and 1 <= len(body.get(12, b'-')) <= 512)
    if 11 in body:
        need(isinstance(body[11], list) and len(body[11]) == 2 and is_bytes(body[11][0], 16) and is_number(body[11][1]))
    verify(public, b'entry', vault, message(raw, body), signature)
    return body


def message(raw, body):
    digest = body.get(14) or b2(b'coffret/changes/1' + span(raw, (7, 8, 13)))
    return b2(b'coffret/entry/1' + digest + span(raw, (1, 2, 3, 4, 5, 6, 9, 10, 11, 12)))


# -- stored values (section 14) ---------------------------------------------------------------------------------------------------------
def varint(data, at):
    n = shift = 0
    while True:
        need(at < len(data) and shift < 63, 'storage.value.malformed')
        byte = data[at]
        at += 1
        n |= (byte & 127) << shift
        if byte < 128:
            need(byte or not shift, 'storage.value.malformed')
            return n, at
        shift += 7


def one_frame(frame, code):
    """No size, segment, checksum or dictionary; a window of at most 2^24; blocks to the end."""
    need(len(frame) > 1 and frame[0] == 0 and frame[1] <= 0x70, code)
    at, last = 2, False
    while not last:
        need(at + 3 <= len(frame), code)
        head = int.from_bytes(frame[at : at + 3], 'little')
        last, kind = head & 1, head >> 1 & 3
        need(kind < 3, code)
        at += 3 + (1 if kind == 1 else head >> 3)
    need(at == len(frame), code)


def decoded(value, bases):
    code = 'storage.value.malformed'
    need(value[:1] in (b'\0', b'\1', b'\2'), code)
    if value[0] == 0:
        return value[1:]
    size, at = varint(value, 1)
    prefix, room = b'', len(value)
    need(size <= (1 << 24 if value[0] == 1 else 1 << 20), code)
    if value[0] == 2:
        base = bases.get(value[at : at + 32])
        at += 32
        need(base is not None and base[16] < 2 and len(base) - 16 >= 513, code)
        prefix, room = decoded(base[16:], {}), room + len(base) - 16
        need(len(prefix) <= 1 << 20, code)
    need(size <= 64 * room + 4096, code)
    frame = value[at:]
    one_frame(frame, code)
    z = ctypes.CDLL('libzstd.so.1')
    z.ZSTD_createDCtx.restype = ctypes.c_void_p
    z.ZSTD_decompressDCtx.restype = ctypes.c_size_t
    context = ctypes.c_void_p(z.ZSTD_createDCtx())
    z.ZSTD_DCtx_setParameter(context, ctypes.c_int(1000), ctypes.c_int(1))
    z.ZSTD_DCtx_setParameter(context, ctypes.c_int(100), ctypes.c_int(24))
    if prefix:
        z.ZSTD_DCtx_refPrefix(context, prefix, ctypes.c_size_t(len(prefix)))
    out = ctypes.create_string_buffer(size + 1)
    n = z.ZSTD_decompressDCtx(context, out, ctypes.c_size_t(size), frame, ctypes.c_size_t(len(frame)))
    need(not z.ZSTD_isError(ctypes.c_size_t(n)) and n == size, code)
    return out.raw[:size]


# -- texts (T8, T9): by the table of longest common runs, another way than the walk of the model -------------------------------------------
def difference(a, b):
    n, m = len(a), len(b)
    table = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            table[i][j] = table[i + 1][j + 1] + 1 if a[i] == b[j] else max(table[i + 1][j], table[i][j + 1])
    left = lambda i, j: n - i + m - j - 2 * table[i][j]
    if left(0, 0) > 1000:
        i = 0
        while i < min(n, m) and a[i] == b[i]:
            i += 1
        k = 0
        while k < min(n, m) - i and a[n - 1 - k] == b[m - 1 - k]:
            k += 1
        return [[i, n - k, i, m - k]]
    i = j = 0
    runs = []
    while left(i, j):
        if i < n and j < m and a[i] == b[j]:
            i, j = i + 1, j + 1
            continue
        start = (i, j)
        while left(i, j) and not (i < n and j < m and a[i] == b[j]):
            if j < m and left(i, j + 1) == left(i, j) - 1:
                j += 1
            else:
                i += 1
        runs.append([start[0], i, start[1], j])
    return runs


def merge(base, one, two):
    edits = sorted(
        [(r[0], r[1], 0, one[r[2] : r[3]]) for r in difference(base, one)]
        + [(r[0], r[1], 1, two[r[2] : r[3]]) for r in difference(base, two)],
        key=lambda e: e[:2],
    )
    out, at = [], 0
    while edits:
        place = [edits.pop(0)]
        end = place[0][1]
        while edits and edits[0][0] <= end:
            place.append(edits.pop(0))
            end = max(end, place[-1][1])
        start = place[0][0]
        sides = []
        for side in (0, 1):
            lines, p = [], start
            for s, e, which, new in sorted((e for e in place if e[2] == side), key=lambda e: e[:2]):
                lines += base[p:s] + new
                p = e
            sides.append(lines + base[p:end])
        present = {e[2] for e in place}
        if present == {0, 1} and sides[0] != sides[1]:
            return None
        out += base[at:start] + sides[min(present)]
        at = end
    return out + base[at:]


def merged(base, versions):
    lines = lambda t: t.splitlines(keepends=True)
    text = lines(versions[0])
    for v in versions[1:]:
        text = merge(lines(base), text, lines(v))
        if text is None:
            return None
    return ''.join(text)


# -- all of it ----------------------------------------------------------------------------------------------------------------------------
def run(v):
    wrong, h = [], bytes.fromhex
    vault, public = h(v['vault_hex']), h(v['device_public_key_hex'])

    def same(what, found, stated):
        if found != stated:
            wrong.append(f'{what}: {found!r} is not {stated!r}')

    own = None
    for c in v['contexts']:
        raw = h(c['cbor_hex'])
        m, _ = item(raw, 0)
        same('context name', name(9, raw).hex(), c['name_hex'])
        i = b2(b'coffret/instance/1' + m[2] + m[3] + m[4] + m[6].to_bytes(4, 'big') + m[5], 16)
        own = own or i
        same('instance', i.hex(), c['instance_hex'])
    for e in v['entries']:
        raw = h(e['content_hex'])
        body = entry(raw, public, vault, own)
        same(e['what'], name(8, raw).hex(), e['name_hex'])
        same(e['what'] + ', message', message(raw[:-64], body).hex(), e['message_hex'])
        stripped = h(e['bare_hex'])
        other = entry(stripped, public, vault, own)
        same(e['what'] + ', bare form', name(8, stripped).hex(), e['bare_name_hex'])
        same(e['what'] + ', message of the bare form', message(stripped[:-64], other).hex(), e['message_hex'])
        same(
            e['what'] + ', what stays', {k: x for k, x in other.items() if k != 14}, {k: x for k, x in body.items() if k not in (7, 8, 13)}
        )
    for e in v['refused']:
        try:
            entry(h(e['content_hex']), public, vault, own)
            wrong.append(f"taken: {e['why']}")
        except Refused as r:
            same(e['why'], str(r), e['code'])
    s, total = v['state'], 0
    for f in s['facts']:
        term = b2(
            lp(h(f['key_hex']))
            + h(f['instance_hex'])
            + f['number'].to_bytes(8, 'big')
            + f['height'].to_bytes(8, 'big')
            + lp(h(f['content_hex'])),
            key=kdf(h(s['split_key_hex']), b'state/digest', vault),
        )
        same('term', term.hex(), f['term_hex'])
        total += int.from_bytes(term, 'big')
    same('digest', (total % (1 << 256)).to_bytes(32, 'big').hex(), s['digest_hex'])
    same('leaf', name(1, h(s['leaf_hex'])).hex(), s['leaf_name_hex'])
    leaf = h(s['leaf_hex'])
    count, at = varint(leaf, 0)
    k, at = varint(leaf, at)
    ids = [leaf[at + 16 * i : at + 16 * i + 16] for i in range(k)]
    at += 16 * k
    key, read = b'', []
    for _ in range(count):
        key = key[: leaf[at]] + leaf[at + 2 : at + 2 + leaf[at + 1]]
        at += 2 + leaf[at + 1]
        i, at = varint(leaf, at)
        n, at = varint(leaf, at)
        height, at = varint(leaf, at)
        size, at = varint(leaf, at)
        size = size - 1 if size - 1 <= 512 else 32
        read.append((key.hex(), ids[i].hex(), n, height, leaf[at : at + size].hex()))
        at += size
    same(
        'facts of the leaf', read, sorted((f['key_hex'], f['instance_hex'], f['number'], f['height'], f['content_hex']) for f in s['facts'])
    )
    same('leaf, end', at, len(leaf))
    for f in v['frontiers']:
        raw = h(f['content_hex'])
        m, end = item(raw, 0)
        same(f['what'], end, len(raw) - 64)
        need(set(m) <= {1, 2, 3, 4, 6, 7, 8} and {1, 2, 4, 7, 8} <= set(m))
        verify(public, b'frontier', vault, b2(b'coffret/frontier/1' + raw[:-64]), raw[-64:])
        same(f['what'], name(10, raw).hex(), f['name_hex'])
    for c in v['head_codes']:
        full = b''.join(h(i) + n.to_bytes(8, 'big') + h(x) for i, (n, x) in sorted(c['frontier'].items()))
        raw = b2(b'coffret/head-code/2' + vault + h(c['base_hash_hex']) + b2(full) + h(c['digest_hex']) + h(c['device_chain_head_hex']))
        same('head code', raw.hex(), c['hash_hex'])
        bits = ''.join(f'{x:08b}' for x in raw[:10])
        code = ''.join('0123456789ABCDEFGHJKMNPQRSTVWXYZ'[int(bits[i : i + 5], 2)] for i in range(0, 80, 5))
        same('head code', '-'.join(code[i : i + 4] for i in (0, 4, 8, 12)), c['code'])
    p = v['push']
    same(
        'push',
        (
            h(p['expected_hex']) + h(p['new_hex']) + p['epoch'].to_bytes(4, 'big') + b2(b''.join(h(a) + b2(h(c)) for a, c in p['objects']))
        ).hex(),
        p['message_hex'],
    )
    links(v['links'], vault, same)
    bases = {h(b['name_hex']): h(b['content_hex']) for b in v['values']['bases']}
    for b, content in bases.items():
        same('base', name(4, content), b)
    for c in v['values']['cases']:
        same(c['what'], decoded(h(c['stored_hex']), bases).hex(), c['bytes_hex'])
    for c in v['values']['refused']:
        try:
            decoded(h(c['stored_hex']), bases)
            wrong.append(f"taken: {c['why']}")
        except Refused as r:
            same(c['why'], str(r), 'storage.value.malformed')
    for c in v['texts']['differences']:
        same(
            f"difference of {c['old'][:40]!r}",
            difference(c['old'].splitlines(keepends=True), c['new'].splitlines(keepends=True)),
            c['runs'],
        )
    for c in v['texts']['merges']:
        same(f"merge over {c['base'][:40]!r}", merged(c['base'], c['versions']), c['merged'])
    return wrong


def links(l, vault, same):
    h = bytes.fromhex
    for e, key in l['vault_keys_hex'].items():
        same('commitment', kdf(h(key), b'vault-key/commit', vault + int(e).to_bytes(4, 'big')).hex(), l['commitments_hex'][e])
    for c in l['checkpoints']:
        m, end = item(h(c['cbor_hex']), 0)
        same(c['what'], end, len(h(c['cbor_hex'])))
        need(set(m) <= set(range(1, 10)) and {1, 2, 4, 5} <= set(m))
        need((8 in m) <= (7 in m) <= (3 in m))
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'envelope'))
    import generate as envelope

    def opened(epoch, label, number, sealed):
        key = kdf(h(l['vault_keys_hex'][str(epoch)]), b'member-details/key', vault + epoch.to_bytes(4, 'big'))
        nonce, com, rest = sealed[1:25], sealed[25:57], sealed[57:]
        ek, expected = envelope.env_keys(key, label, vault + number.to_bytes(8, 'big'), nonce)
        need(sealed[0] == 1 and com == expected)
        plain = bytes(a ^ b for a, b in zip(rest[:-16], envelope.xchacha_seal(ek, nonce, b'\1' + com, bytes(len(rest) - 16))))
        need(envelope.xchacha_seal(ek, nonce, b'\1' + com, plain) == rest)
        n = int.from_bytes(plain[:4], 'big')
        need(not any(plain[4 + n :]))
        return plain[4 : 4 + n]

    same(
        'details',
        opened(l['plain']['epoch'], b'member-details/seal', l['plain']['number'], h(l['plain']['sealed_hex'])).hex(),
        l['plain']['details_hex'],
    )
    o = l['opening']
    (details, checkpoint), _ = item(h(o['sealed_hex']), 0)
    same('details of an epoch link', opened(o['epoch'], b'member-details/seal', o['number'], details).hex(), o['details_hex'])
    same('its checkpoint', opened(o['checkpoint_epoch'], b'member-checkpoint/seal', o['number'], checkpoint).hex(), o['checkpoint_hex'])
    public, end = item(h(o['public_hex']), 0)
    same(
        'public part',
        (end, public[0], public[10], public[11].hex(), public[14]),
        (len(h(o['public_hex'])), 7, o['epoch'], l['commitments_hex'][str(o['epoch'])], o['checkpoint_epoch']),
    )


if __name__ == '__main__':
    place = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent / 'history.json'
    found = run(json.loads(place.read_text()))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)
