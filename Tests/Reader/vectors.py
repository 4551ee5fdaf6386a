"""The reader against Tests/Vectors: each function reads one folder and gives the lines that differ."""

import itertools
import json
import pathlib

from reader import cbor, checkpoints, circles, devices, suite, texts, values
from reader.accounts import Account
from reader.blobs import VALUE, name_of
from reader.entries import Context, Entry, Frontier, context_name
from reader.failure import Failure
from reader.state import term
from reader.suite import hashed, kdf, u32, u64
from reader.tree import COMMITS, LOGS, Fact

FOLDER = pathlib.Path(__file__).resolve().parent.parent / 'Vectors'
h = bytes.fromhex


def load(name):
    return json.loads((FOLDER / name).read_text())


def refusal(work):
    """The code with which a piece of work is refused, or None."""
    try:
        work()
        return None
    except Failure as failure:
        return failure.code


def encoding():
    """Spec/encoding.md. The cases with floats, `undefined` and other simple values are ones that the page refuses."""
    wrong = []
    for case in load('cbor/deterministic.json')['cases']:
        raw = h(case['cbor_hex'])
        try:
            same = cbor.encode(cbor.decode(raw)) == raw
        except Failure as failure:
            same = 'simple value or float' in failure.found
        if not same:
            wrong.append(case['id'])
    return wrong + [c['id'] for c in load('cbor/reject.json')['cases'] if refusal(lambda: cbor.decode(h(c['cbor_hex']))) is None]


def envelopes():
    """Spec/suite.md."""
    wrong, data = [], load('envelope/envelope.json')
    for number, case in enumerate(data['cases']):
        key, context, ad = h(case['key_hex']), case['context'].encode(), h(case['associated_data_hex'])
        sealed, filled = h(case['sealed_hex']), case['fill'] != 'none'
        if suite.envelope_open(key, context, ad, sealed, filled).hex() != case['message_hex']:
            wrong.append(f'case {number}')
        for at in range(0, len(sealed), 7):
            altered = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
            if refusal(lambda: suite.envelope_open(key, context, ad, altered, filled)) is None:
                wrong.append(f'case {number}, byte {at}')
    return wrong


def device_chains():
    """Spec/trust.md sections 1 to 4."""
    wrong, data = [], load('trust/device-chains.json')
    for case in data['chains']:
        links = [h(link) for link in case['links']]
        try:
            chain = devices.DeviceChain(links)
            trusted = sorted(id.hex() for id in chain.trusted_at(len(links) - 1))
            good = (chain.id.hex(), chain.head.hex(), trusted) == (case.get('accountID'), case.get('head'), sorted(case.get('trusted', [])))
        except Failure as failure:
            place = f'device chain link {case.get("at")}'
            good = failure.code == case.get('error') and (failure.place == place or failure.code == 'trust.chain.gap')
        if not good:
            wrong.append(case['comment'])
    for case in data['followed']:
        seen = devices.DeviceChain([h(link) for link in case['seen']])
        try:
            good = devices.follow(seen, [h(link) for link in case['served']])[1] == case.get('replaced')
        except Failure as failure:
            good = failure.code == case.get('error')
        if not good:
            wrong.append(case['comment'])
    return wrong


def trees():
    """Spec/tree.md, in its older form without heights; the leaf with heights is among the histories."""
    wrong = []

    def fact(n):
        uuid = (n // 4 * 0x9E3779B97F4A7C15 % (1 << 64)).to_bytes(8, 'big') + (n // 4).to_bytes(8, 'big')
        key = b'N' + uuid + [b'body', b'modified', b'tag', b'title'][n % 4] + b'\0' + (bytes([n % 251]) * 16 if n % 4 == 2 else b'')
        value = (513 + n, bytes([n % 256]) * 32) if n % 16 == 0 else bytes([n % 256]) * (7 * n % 200)
        return Fact(key, bytes([1 + n % 3]) * 16, n + 1, 0, value)

    for case in load('tree/nodes.json')['cases']:
        facts, sizes = sorted(map(fact, range(case['factCount'])), key=lambda f: f[:3]), []

        def emit(kind, content):
            if kind == 1:
                sizes.append(len(content))
                COMMITS.leaf(content)
            else:
                COMMITS.inner(content)

        root = COMMITS.build(facts, h(case['splitHashKey']), emit)
        if (root.hex(), sizes) != (case['root'], case['leafByteCounts']):
            wrong.append(f"tree of {case['factCount']} facts")
    return wrong


def _entries(v):
    wrong, own = [], None
    vault, public = h(v['vault_hex']), h(v['device_public_key_hex'])
    for case in v['contexts']:
        raw = h(case['cbor_hex'])
        context = Context(raw, context_name(raw))
        own = own or context.instance
        if (context.name.hex(), context.instance.hex()) != (case['name_hex'], case['instance_hex']):
            wrong.append('context')
    for case in v['entries']:
        entry = Entry(h(case['content_hex']))
        entry.check_instance(own)
        bare = Entry(entry.bare())
        found = (entry.name.hex(), entry.message.hex(), entry.bare().hex(), bare.name.hex(), bare.message.hex())
        stated = tuple(case[key] for key in ('name_hex', 'message_hex', 'bare_hex', 'bare_name_hex', 'message_hex'))
        if found != stated or not entry.verifies(public, vault) or not bare.verifies(public, vault):
            wrong.append(case['what'])
    for case in v['refused']:

        def read():
            entry = Entry(h(case['content_hex']))
            entry.check_instance(own)
            if not entry.verifies(public, vault):
                raise Failure('storage.entry.malformed')

        if refusal(read) != case['code']:
            wrong.append(case['why'])
    for case in v['frontiers']:
        frontier = Frontier(h(case['content_hex']))
        if frontier.name.hex() != case['name_hex'] or not frontier.verifies(public, vault):
            wrong.append(case['what'])
    return wrong


def _states(v):
    wrong, s, vault = [], v['state'], h(v['vault_hex'])
    key, total, facts = kdf(h(s['split_key_hex']), b'state/digest', vault), 0, []
    leaf = {(f.key, f.instance, f.number): f for f in LOGS.leaf(h(s['leaf_hex']))}
    for case in s['facts']:
        content = h(case['content_hex'])
        fact = leaf.get((h(case['key_hex']), h(case['instance_hex']), case['number']))
        value = fact and (fact.value if isinstance(fact.value, bytes) else fact.value[1])
        if fact is None or (fact.height, value) != (case['height'], content) or term(key, fact).hex() != case['term_hex']:
            wrong.append('term')
            continue
        total += int.from_bytes(term(key, fact), 'big')
        facts.append(fact)
    if (total % (1 << 256)).to_bytes(32, 'big').hex() != s['digest_hex']:
        wrong.append('digest')
    if LOGS.encode_leaf(sorted(facts, key=lambda f: f[:3])).hex() != s['leaf_hex']:
        wrong.append('leaf')
    for case in v['head_codes']:
        full = b''.join(h(i) + u64(n) + h(x) for i, (n, x) in sorted(case['frontier'].items()))
        parts = [h(case['base_hash_hex']), hashed(full), h(case['digest_hex']), h(case['device_chain_head_hex'])]
        if hashed(b'coffret/head-code/2' + vault + b''.join(parts)).hex() != case['hash_hex']:
            wrong.append('head code')
    return wrong


def _links(v):
    wrong, l, vault = [], v['links'], h(v['vault_hex'])
    keys = {int(e): h(key) for e, key in l['vault_keys_hex'].items()}
    for epoch, key in keys.items():
        if kdf(key, b'vault-key/commit', vault + u32(epoch)).hex() != l['commitments_hex'][str(epoch)]:
            wrong.append('commitment')

    def opened(epoch, context, number, sealed):
        key = kdf(keys[epoch], b'member-details/key', vault + u32(epoch))
        return suite.envelope_open(key, context, vault + u64(number), sealed).hex()

    for case in l['checkpoints']:
        checkpoints.Checkpoint(cbor.decode(h(case['cbor_hex'])), case['what'])
    p, o = l['plain'], l['opening']
    if opened(p['epoch'], b'member-details/seal', p['number'], h(p['sealed_hex'])) != p['details_hex']:
        wrong.append('details')
    details, apart = cbor.decode(h(o['sealed_hex']))
    if opened(o['epoch'], b'member-details/seal', o['number'], details) != o['details_hex']:
        wrong.append('details of an epoch link')
    if opened(o['checkpoint_epoch'], b'member-checkpoint/seal', o['number'], apart) != o['checkpoint_hex']:
        wrong.append('checkpoint of an epoch link')
    return wrong


def _values(v):
    wrong, bases = [], {}
    for base in v['values']['bases']:
        content = h(base['content_hex'])
        bases[name_of(VALUE, content)] = content[16:]
    for case in v['values']['cases']:
        if values.value_of(h(case['stored_hex']), bases.get).hex() != case['bytes_hex']:
            wrong.append(case['what'])
    for case in v['values']['refused']:
        if refusal(lambda: values.value_of(h(case['stored_hex']), bases.get)) != 'storage.value.malformed':
            wrong.append(case['why'])
    return wrong


def _texts(v):
    wrong = []
    for case in v['texts']['differences']:
        runs = texts.difference(*(texts.lines(case[side].encode()) for side in ('old', 'new')))
        if [list(run) for run in runs] != case['runs']:
            wrong.append(f"difference of {case['old'][:40]!r}")
    for case in v['texts']['merges']:
        found = texts.merged(case['base'].encode(), [version.encode() for version in case['versions']])
        if (found if found is None else found.decode()) != case['merged']:
            wrong.append(f"merge over {case['base'][:40]!r}")
    return wrong


def histories():
    """Spec/history.md sections 3, 4, 5, 8, 9 and 14."""
    v = load('history/history.json')
    return [line for part in (_entries, _states, _links, _values, _texts) for line in part(v)]


def shares_and_circles():
    """Spec/recovery.md."""
    wrong, data = [], load('trust/circles.json')
    for case in data['sharings']:
        shares = {x + 1: h(share) for x, share in enumerate(case['shares'])}
        for chosen in itertools.combinations(shares, case['threshold']):
            if circles.joined({x: shares[x] for x in chosen}).hex() != case['seed']:
                wrong.append(f"shares {chosen} of {case['count']}")
    chains = {}

    def account(numbers):
        key = tuple(numbers)
        if key not in chains:
            chains[key] = Account([h(data['pool'][n]) for n in numbers])
        return chains[key]

    for case in data['circles']:
        accounts = {known.id: known for known in map(account, case['accounts'])}
        links = [h(data['pool'][number]) for number in case['links']]
        try:
            circle = circles.Circle(links, accounts)
            state, view = circle.state, case.get('view')
            rows = [
                {'request': r.hex(), 'by': row['by'].hex(), 'isForbidden': row['forbidden'], 'releases': sorted(a.hex() for a in row['releases'])}
                for r, row in state.requests.items()
            ]
            found = {
                'contacts': {a.hex(): accepted for a, accepted in state.contacts.items()}, 'isArmed': state.arming is not None,
                'isPaperTrusted': circle.paper_is_trusted, 'requests': rows,
            }  # fmt: skip
            good = found == view
            if good and case['comment'] == 'armed':
                shares = {x + 1: h(share) for x, share in enumerate(data['sharings'][1]['shares'])}
                good = all(circles.share_hash(circle.id, x, shares[x]) == row for _, x, row in state.arming[4])
        except Failure as failure:
            good = failure.code == case.get('error') and failure.place == f"circle link {case['at']}"
        if not good:
            wrong.append(case['comment'])
    return wrong


ALL = [encoding, envelopes, device_chains, trees, histories, shares_and_circles]
