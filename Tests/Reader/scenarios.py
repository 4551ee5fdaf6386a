"""Worlds that the reader has to read as Spec/history.md says: the example of its section 18, and what else its rules decide."""

import tempfile

from reader import cbor
from reader.blobs import VALUE
from reader.store import Store
from reader.suite import u64
from reader.tree import Fact, varint
from reader.values import deflate
from writer import Account, Device, World, index_facts, save, secret

PASSPHRASE = b'a passphrase of tests'
NOTE = b'N' + secret('note', 16)
LOGIN = b'L' + secret('login', 16)


def plain(value):
    """A stored value of form 0."""
    return b'\0' + (value.encode() if isinstance(value, str) else cbor.encode(value))


def text(value, *replaces, entity=NOTE):
    """A change of a note's text."""
    return entity, 'text', plain(value), b'', list(replaces)


def field(attribute, value, *replaces, entity=LOGIN):
    """A change of another attribute; None retracts."""
    return entity, attribute, None if value is None else b'\0' + cbor.encode(value), b'', list(replaces)


WATCHERS = []  # called with the folder of each store that is read, and what the reader made of its vault


def read(world, **more):
    """The vault of a world, written to a disk and read from there."""
    with tempfile.TemporaryDirectory() as folder:
        save(folder, world, PASSPHRASE, **more)
        store = Store(folder, PASSPHRASE)
        if store.failures:
            raise store.failures[0]
        for watch in WATCHERS:
            watch(folder, store.vaults[0])
    return store.vaults[0]


class Ada:
    """Section 18, step by step; `step(n)` stops behind the n-th row of its table."""

    def __init__(self):
        self.laptop, self.phone = Device('laptop'), Device('phone')
        self.account = Account(self.laptop)
        self.account.add(self.laptop, self.phone)
        self.world = World(self.laptop, self.account)
        self.a = self.world.instance(self.laptop)
        self.a.write([field('created', 1_800_000_000_000, entity=NOTE)])
        self.a.write([text('x\n')])
        self.checkpoint(None)
        self.b = self.world.instance(self.phone)
        self.a.stand(1, 1)

    def checkpoint(self, base, opens=False, **more):
        """A link with a checkpoint of everything."""
        state = read(self.world).state
        accept = {instance: list(tip) for instance, tip in state.frontier.items()}
        found = self.world.checkpoint(accept, state, base, **more)
        return self.world.link(self.laptop, self.account, {0: 7}, found, opens)

    def apart(self):
        self.b.write([text('x\nb\n', (self.a.id, 2))], seen=[self.a], height=3)
        self.a.write([text('a\nx\n', (self.a.id, 2))])

    def revoked(self):
        self.a.write([text('a\nx\nb\n', (self.a.id, 3), (self.b.id, 1))], seen=[self.b], height=4)
        stale = len(self.account.chain.links) - 1
        self.account.revoke(self.laptop, self.phone)
        self.checkpoint(1, opens=True)
        return stale

    def stolen(self, stale):
        self.b.stand(1, 1, head=stale)
        self.world.epoch = 1
        name = self.b.write([text('', (self.b.id, 1))], seen=[self.a])
        self.world.epoch = 2
        return name

    def goes_on(self):
        self.a.stand(2, 2)
        self.a.write([text('a\nx\nb\nc\n', (self.a.id, 4))])

    def whole(self):
        self.apart()
        stolen = self.stolen(self.revoked())
        self.goes_on()
        return stolen


def kept(world, vault, own, base, belief=1, among=None, dropped=None):
    """The kept part of a state that has everything that `vault` read, on the base with this number."""
    entries = [entry for entry in vault.entries.values() if among is None or entry.name in among]
    rows = [(e.author.instance, e.number, e.height, e.name, len(e.content)) for e in entries]
    facts = vault.state.ordered()
    logs = []
    for instance, log in sorted(vault.judge.logs.items()):
        author = next(iter(log.entries.values()))[0].author
        link = vault.chain.closing(author)
        tip = vault.state.frontier.get(instance) or vault.accepted(vault.base).get(instance)
        limit = vault.checkpoints.accept[link].get(instance) if link else None
        logs.append([instance, [author.account, author.device, author.first], list(tip), link, limit, False, False])
    machine = [
        2, len(world.members.links), base, belief, None, logs, [], sorted(k for k, f in vault.state.facts.items() if len(f) > 1),
        vault.state.digest(world.split, world.vault), vault.state.count, dropped, [], [], [], [], [],
    ]  # fmt: skip
    items = sorted(
        {
            Fact(change.key[:17] + b'v\0' + u64(e.height) + u64(e.number), e.author.instance, e.number, e.height, b'')
            for e in entries
            for change in e.changes
        }
    )
    roots = [world.tree(facts), world.tree(index_facts(rows)), world.tree(items)]
    return cbor.encode([cbor.encode(machine), *roots, [own.id, own.nonce, own.first, {}], []])


def dropped(ada):
    """Ada's store behind the base at link 2, with nothing below it but the tips: the keyword arguments of `save`."""
    world = ada.world
    vault = read(world)
    tips = {tip[1] for tip in vault.checkpoints.accept[2].values()}
    below = {e.name for e in vault.entries.values() if e.name not in tips and e.number <= vault.checkpoints.accept[2].get(e.author.instance, [0])[0]}
    behind = [world.entries[-1]]
    before = Reduced(vault, behind[0])
    part = kept(world, before, ada.a, 2, among={n for n in vault.entries if n not in below and n not in behind}, dropped=2)
    world.blobs = [row for row in world.blobs if row[0] not in below]
    world.entries = [name for name in world.entries if name not in below]
    nodes = [row[0] for row in world.blobs if row[1] in (1, 2, VALUE)]
    return {'kept': part, 'behind': behind, 'packed': nodes}


class Reduced:
    """What a vault was before its last entry."""

    def __init__(self, vault, last):
        self.entries = {name: entry for name, entry in vault.entries.items() if name != last}
        self.judge, self.chain, self.checkpoints, self.base = vault.judge, vault.chain, vault.checkpoints, vault.base
        self.accepted = vault.accepted
        self.state = vault._state(None, set(self.entries))


def delta(old_name, old, new):
    """A stored value of form 2."""
    return b'\2' + varint(len(new)) + old_name + deflate(new, old)
