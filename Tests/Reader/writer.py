"""Writes small stores of logs by the pages of Spec, with fixed keys: what the reader is tested on.

Nothing here is meant to be fast or complete. Every random value is the hash of its name, so that a store is the same each time.
"""

import os

from reader import cbor, suite
from reader.blobs import CONTEXT, ENTRY, STATE, VALUE, EpochKeys, name_of, plaintext
from reader.suite import hashed, kdf, u32, u64
from reader.tree import LOGS, Fact, hash_key

MINUTE = 60_000
START = 1_800_000_000_000


def secret(name, size=32):
    """The random value with this name."""
    return hashed(b'test ' + name.encode(), size)


class Device:
    """A device with its keys."""

    def __init__(self, name):
        self.name, self.id = name, secret(f'{name} id', 16)
        self.seed, self.box, self.noise = secret(f'{name} sign'), secret(f'{name} box'), secret(f'{name} noise')
        self.key = suite.signing_pair(self.seed)[0]


class Chain:
    """Links of a chain, signed."""

    def __init__(self, kind):
        self.kind, self.links, self.hashes, self.id = kind, [], [], b''

    def add(self, device, public, sealed=b''):
        """Adds a link and gives its number; `public` may be a function of the chain, for what names its id."""
        number = len(self.links)
        before = self.hashes[-1] if self.hashes else b''
        raw = cbor.encode(public)
        hash = hashed(b'coffret/link/1' + cbor.encode([self.kind, self.id, number, raw, sealed, before, device.key]))
        self.id = self.id or hash
        signature = suite.sign(device.seed, b'link/signature', bytes([self.kind]) + self.id, hash)
        self.links.append([1, self.kind, number, raw, sealed, before, device.key, signature])
        self.hashes.append(hash)
        return number


class Account:
    """An account with the chain of its devices."""

    def __init__(self, first):
        self.chain = Chain(1)
        self.chain.add(first, {0: 1, 1: first.id, 2: 1, 3: first.key, 4: suite.box_public(first.box), 5: suite.box_public(first.noise), 6: b''})
        self.id, self.replaced, self.former = self.chain.id, [], []

    def recover(self, paper, at, kept):
        """A recovery in the place of link `at`; what stood there becomes a replaced branch."""
        self.former.append(list(self.chain.links))
        self.replaced.append([at, self.chain.links[at:]])
        del self.chain.links[at:], self.chain.hashes[at:]
        self.chain.add(paper, {0: 3, 1: sorted(device.id for device in kept)})

    @property
    def head(self):
        return self.chain.hashes[-1]

    def add(self, signer, device, kind=1):
        keys = [device.key, suite.box_public(device.box), suite.box_public(device.noise)]
        message = device.id + b''.join(keys) + u64(len(self.chain.links))
        proof = suite.sign(device.seed, b'link/countersignature', b'\1' + self.id, message)
        self.chain.add(signer, {0: 1, 1: device.id, 2: kind, 3: keys[0], 4: keys[1], 5: keys[2], 6: proof})

    def revoke(self, signer, device, gone=(), kept=()):
        self.chain.add(signer, {0: 2, 1: device.id, 2: sorted(d.id for d in gone), 3: sorted(d.id for d in kept)})


class Instance:
    """A log that a device writes."""

    def __init__(self, world, device, account, first=0, epoch=1, link=None):
        self.device, self.world = device, world
        self.nonce = secret(f'{device.name} nonce {len(world.instances)}', 16)
        self.first, self.last, self.number, self.height = first, None, 0, 0
        self.id = hashed(b'coffret/instance/1' + world.vault + account.id + device.id + u32(first) + self.nonce, 16)
        self.account = account
        self.stand(epoch, len(world.members.links) - 1 if link is None else link)

    def stand(self, epoch, link, head=None):
        """The context of the entries from here on."""
        head = len(self.account.chain.links) - 1 if head is None else head
        positions = [head, self.account.chain.hashes[head]], [link, self.world.members.hashes[link]]
        self.context = cbor.encode({
            1: 2, 2: self.world.vault, 3: self.account.id, 4: self.device.id, 5: self.nonce, 6: self.first,
            7: positions[0], 8: positions[1], 9: epoch, 10: 2,
        })  # fmt: skip
        self.world.blob(CONTEXT, self.context)

    def write(self, changes, seen=(), height=None, dot=None, time=None, tree=None, keep=True):
        """Writes an entry. A change is (entity, attribute, stored value or None, element, [dots that it replaces])."""
        number = self.number + 1
        others = sorted({i for *_, refs in changes for i, _ in refs if i != self.id})
        groups = {}
        for entity, attribute, value, element, refs in sorted(changes, key=lambda c: (c[0], c[1].encode() + b'\0' + c[3])):
            own = sorted(n for i, n in refs if i == self.id)
            rest = sorted([others.index(i), n] for i, n in refs if i != self.id)
            content = value
            if value is not None and 512 < len(value) <= 4096:
                content = [secret(f'salt {len(self.world.blobs)} {attribute}', 16), value]
            elif value is not None and len(value) > 4096:
                content = [len(value), self.world.value(value)]
            row = [attribute, content] + ([element] if element or refs else []) + ([own + rest] if refs else [])
            groups.setdefault(entity, []).append(row)
        body = {1: name_of(CONTEXT, self.context), 2: number, 4: height or self.height + 1, 5: time or START + number * MINUTE}
        if self.last is not None:
            body[3] = self.last
        if seen:
            body[6] = {other.id: [other.number, other.last] for other in seen}
        if groups:
            body[7] = [[entity, *rows] for entity, rows in sorted(groups.items())]
        if tree is not None:
            body[8] = tree
        if groups or tree is not None:
            body[13] = secret(f'{self.id.hex()} {number} {len(self.world.blobs)}', 16)
        if others:
            body[10] = others
        if dot:
            body[11] = dot
        entry = signed(self.device, body, self.world.vault)
        name = self.world.blob(ENTRY, entry)
        if keep:
            self.last, self.number, self.height = name, number, body[4]
            self.world.entries.append(name)
        return name


def signed(device, body, vault):
    """An entry, from its body."""
    encoded = cbor.encode(body)
    pairs = cbor.pairs(encoded)
    digest = hashed(b'coffret/changes/1' + cbor.map_of(pairs, (7, 8, 13)))
    message = hashed(b'coffret/entry/1' + digest + cbor.map_of(pairs, [k for k in pairs if k not in (7, 8, 13, 14)]))
    return encoded + suite.sign(device.seed, b'entry', vault, message)


class World:
    """A vault with its keys, chains, blobs and entries."""

    def __init__(self, device, account, name='Personal'):
        self.name, self.account, self.device, self.accounts = name, account, device, [account]
        random = secret(f'{name} founding')
        self.keys = {1: secret(f'{name} key 1')}
        self.split, self.local = secret(f'{name} split'), secret(f'{name} local')
        self.members = Chain(3)
        commitment = kdf(self.keys[1], b'vault-key/commit', random + u32(1))
        details = suite.envelope_seal(
            kdf(self.split, b'link-metadata-key', random), b'link-details', b'\3' + random, cbor.encode({0: name, 1: '', 2: START}),
            secret(f'{name} details', 24),
        )  # fmt: skip
        self.members.add(device, {0: 1, 1: random, 2: account.id, 3: account.head, 4: commitment}, details)
        self.vault = self.members.id
        self.blobs, self.entries, self.instances, self.tips = [], [], [], set()
        self.epoch = 1
        self.link_times = 0

    def instance(self, device, account=None, **more):
        made = Instance(self, device, account or self.account, **more)
        self.instances.append(made)
        return made

    # -- blobs -------------------------------------------------------------------------------------------------------------------------

    def blob(self, kind, content):
        """Keeps a blob, once, and gives its name."""
        name = name_of(kind, content)
        if name not in {known for known, *_ in self.blobs}:
            self.blobs.append((name, kind, content, self.epoch))
        return name

    def value(self, stored):
        """Keeps a long value: a blob, or a list of pieces."""
        salt = secret(f'salt {len(self.blobs)}', 16)
        if len(stored) <= 16_384:
            return self.blob(VALUE, salt + stored)
        from reader.tree import varint

        content = salt
        for at in range(0, len(stored), 10_000):
            piece = stored[at : at + 10_000]
            content += varint(len(piece)) + self.blob(VALUE, salt + piece)
        return self.blob(5, content)

    def sealed(self, name, kind, content, epoch):
        """Address and stored form of a blob."""
        keys = EpochKeys(self.keys[epoch], self.vault, epoch)
        box = suite.secretbox_seal(keys.blob, hashed(name, 24, keys.nonce), plaintext(kind, content))
        return suite.address(keys.address, name), u32(epoch) + box

    def tree(self, facts):
        """Keeps the nodes of a tree, and gives its root."""
        return LOGS.build(facts, hash_key(self.split, self.vault), self.blob)

    # -- links -------------------------------------------------------------------------------------------------------------------------

    def link(self, device, account, public, checkpoint=None, opens=False):
        """Adds a member link; with an epoch of its own if it opens one."""
        number, before = len(self.members.links), self.epoch
        if opens:
            self.epoch += 1
            key = self.keys[self.epoch] = secret(f'{self.name} key {self.epoch}')
            public = {
                **public, 10: self.epoch, 11: kdf(key, b'vault-key/commit', self.vault + u32(self.epoch)),
                12: kdf(self.split, b'split-key/commit', self.vault), 13: secret('history object'), 14: before,
            }  # fmt: skip
        details = {0: START + number * MINUTE}
        if checkpoint is not None and not opens:
            details[2] = checkpoint
        sealed = self._sealed_details(self.epoch, b'member-details', b'member-details/seal', number, cbor.encode(details))
        if opens:
            apart = self._sealed_details(before, b'member-details', b'member-checkpoint/seal', number, cbor.encode(checkpoint))
            sealed = cbor.encode([sealed, apart])
        return self.members.add(device, {**public, 1: account.id, 2: account.head}, sealed)

    def _sealed_details(self, epoch, label, context, number, content):
        key = kdf(self.keys[epoch], label + b'/key', self.vault + u32(epoch))
        nonce = secret(f'{context} {number}', 24)
        return suite.envelope_seal(key, context, self.vault + u64(number), content, nonce)

    def checkpoint(self, accept, state, base=None, root=True, **more):
        """A checkpoint of a state that the reader's own rules made."""
        found = {1: base, 2: dict(accept), 4: state.digest(self.split, self.vault), 5: state.count}
        if root:
            found[3] = self.tree(state.ordered())
        return {**found, **{int(key[1:]): value for key, value in more.items()}}


class Segment:
    """A journal segment, or a sealed file of blobs."""

    def __init__(self, key, kind, number, first):
        self.key, self.salt = key, secret(f'file {kind} {number}', 16)
        head = b'Coffret\1' + u32(1) + bytes([kind]) + bytes(3) + u64(number) + u64(first) + self.salt
        self.data = bytearray(head + suite.code(key, b'coffret/segment', head, self.salt))
        self.kind, self.sequence, self.rows = kind, first, []
        if kind == 1:
            self.data += bytes(4096 - 64)

    def record(self, address, stored):
        at = len(self.data)
        self.rows.append(address[:8] + at.to_bytes(5, 'big') + len(stored).to_bytes(3, 'big'))
        self.data += u32(32 + len(stored)) + b'B' + address + stored
        return at

    def transaction(self, records, form):
        """Blob records, of which the last is the state's, and a trailer."""
        start = len(self.data)
        for address, stored in records:
            at = self.record(address, stored)
        size = len(self.data) - start
        self.data += b'\0\0\0\x21T' + u64(self.sequence) + u32(size) + bytes([form]) + u32(at - start)
        self.data += suite.code(self.key, b'coffret/txn/1', bytes(self.data[start:]), self.salt)
        self.sequence += 1

    def seal(self):
        """Index and footer."""
        end, rows, pages = len(self.data), sorted(self.rows), b''
        for number in range(-(-len(rows) // 254)):
            page = b''.join(rows[254 * number : 254 * number + 254]).ljust(4064, b'\0') + u64(number) + u64(len(rows))
            pages += page + suite.code(self.key, b'coffret/index/1', page, self.salt)
        self.data += u32(len(pages)) + b'I' + pages
        footer = b'cof-end\1' + u64(end) + u64(len(rows)) + u64(self.sequence - 1 if self.kind == 1 else 0)
        self.data += footer + suite.code(self.key, b'coffret/footer/1', footer, self.salt)
        return bytes(self.data)


def index_facts(entries):
    """The facts of the index of entries (L4), of (instance, number, height, name, byte count)."""
    facts = []
    for instance, number, height, name, size in entries:
        key = b'\x65' + instance + b'e\0' + u64(number) + name[:8]
        facts.append(Fact(key, instance, number, height, b'\1' + u32(size) + name))
    return sorted(facts, key=lambda fact: fact[:3])


def save(store, world, passphrase, kept=b'', behind=None, packed=()):
    """Writes the store with one vault: blobs named in `packed` in a pack, the others in the journal, and `behind` as transactions of form 2."""
    folder = f'{store}/vaults/{world.vault[:16].hex()}'
    os.makedirs(f'{folder}/journal')
    os.makedirs(f'{folder}/blobs')
    key = kdf(world.local, b'journal', world.vault)
    rows, behind = {row[0]: row for row in world.blobs}, list(world.entries if behind is None else behind)
    listed = b''
    if packed:
        pack = Segment(key, 3, 1 << 16, 0)
        for address, stored in sorted(world.sealed(*rows[name]) for name in packed):
            pack.record(address, stored)
        data = pack.seal()
        write(f'{folder}/blobs/all.{1:016x}', data)
        listed = bytes([3]) + u64(1) + bytes(2) + u64(len(data))
    segment = Segment(key, 1, 2, 1)
    first = [world.sealed(*row) for name, row in rows.items() if name not in packed and name not in behind]
    state = cbor.encode([2, 1, kept, [], b'\xa0'])
    first.append(world.sealed(name_of(STATE, state), STATE, state, world.epoch))
    segment.transaction(first, 1)
    for name in behind:
        segment.transaction([world.sealed(*rows[name])], 2)
    write(f'{folder}/journal/{2:016x}', bytes(segment.data).ljust(1 << 20, b'\0'))
    manifest = b'CofList\1' + u32(1) + u64(1) + u64(3) + u64(2) + u32(1 if listed else 0) + listed
    write(f'{folder}/manifest', manifest + suite.code(key, b'coffret/manifest', manifest))
    write(f'{store}/store.keyring', keyring(world, passphrase))
    write(f'{folder}/chains', chains(world))


def chains(world):
    """The sealed file of a vault's chains."""
    accounts = [[account.chain.links, account.replaced, START, []] for account in world.accounts]
    content = cbor.encode([1, world.vault, world.members.links, accounts, len(world.members.links)])
    key = kdf(world.local, b'heads/local', world.vault)
    return suite.envelope_seal(key, b'heads/record', world.vault + b'\3', content, secret('chains', 24))


def keyring(world, passphrase, version=3):
    """A keyring with one slot and one vault."""
    store, slot, generation = secret('store', 16), secret('slot', 16), 1
    device, private, storage = world.device, secret('slot key'), secret('storage key')
    salt = secret('stretching', 16)
    own = store + slot
    stretched = kdf(suite.argon2id(passphrase, 64 << 10, 3, salt), b'slot/passphrase', own, device.key)
    reference = suite.envelope_seal(stretched, b'slot-seal/private-key', own, private, secret('nonce 1', 24), filled=False)
    sealed = suite.box_seal(
        secret('ephemeral'), suite.box_public(private), b'slot-seal/storage-key', own + u64(generation), storage, secret('nonce 2', 24), filled=False
    )
    vault = [world.vault, world.name, 1, world.members.links[:1], dict(world.keys), [], world.split, world.local]
    body = [
        [device.id, device.seed, device.box, device.noise], secret('instance', 16), secret('marker'), secret('details'),
        world.account.chain.links, world.account.former + [account.chain.links for account in world.accounts[1:]], [[slot, 1, 'passphrase', START]], [vault],
    ]  # fmt: skip
    sealed_body = suite.envelope_seal(storage, b'keyring/body', store + u64(generation), cbor.encode(body), secret('nonce 3', 24))
    value = [
        'coffret keyring', version, store, generation,
        [[slot, 1, 1, suite.box_public(private), device.key, [64 << 10, 3, salt], reference, sealed]], sealed_body, device.key,
    ]  # fmt: skip
    value.append(suite.sign(device.seed, b'keyring/signature', store, hashed(cbor.encode(value))))
    value.append(hashed(cbor.encode(value), key=kdf(storage, b'slots/mac', store)))
    return cbor.encode(value)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.write(data)
