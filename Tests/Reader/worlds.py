"""What the reader says of worlds that Spec/history.md decides; each function gives the lines that are wrong."""

from reader import cbor, items, shown
from reader.blobs import ENTRY
from reader.entries import Entry
from reader.tree import Fact
from scenarios import LOGIN, NOTE, Ada, delta, dropped, field, plain, read, text
from writer import Account, Device, World, secret, signed

MERGED = 'a\nx\nb\nc\n'


def note(vault, entity=NOTE, attribute='text'):
    """What is shown of a key: (value, other values)."""
    key = entity + attribute.encode() + b'\0'
    found = shown.of_key(vault.state, vault.values, key, entity, attribute)
    people = [shown.value_for_people(value, entity, attribute) for value in [found.value, *found.others]]
    return people[0], people[1:]


def codes(failures):
    return sorted({failure.code for failure in failures})


class Wrong(list):
    """Lines of what differs."""

    def same(self, what, found, stated):
        if found != stated:
            self.append(f'{what}: {found!r} is not {stated!r}')


def example():
    """Section 18: two devices, a merge that writes nothing, a revocation, a thief, a link that closes."""
    wrong, ada = Wrong(), Ada()
    ada.apart()
    wrong.same('merged', note(read(ada.world)), ('a\nx\nb\n', []))
    ada = Ada()
    stolen = ada.whole()
    vault = read(ada.world)
    wrong.same('text', note(vault), (MERGED, []))
    wrong.same('failures', codes(vault.failures + vault.notes), [])
    wrong.same('excluded', [entry.name for entry in vault.state.excluded], [stolen])
    wrong.same('roots', vault.check_roots(), ([1, 2], []))
    versions = items.history(vault, NOTE)
    wrong.same('history', [version['number'] for version in versions if not version.get('excluded')], [1, 2, 1, 3, 4, 5])
    wrong.same('thief', [version['number'] for version in versions if version.get('excluded')], [2])
    full, root = vault.state.digest(ada.world.split, vault.id), vault.root(vault.state)
    vault = read(ada.world, **dropped(ada))
    wrong.same('text behind a base', note(vault), (MERGED, []))
    first = items.history(vault, NOTE)[0]
    wrong.same('history behind a base', (first['base'], first['changes']['text']), (2, 'a\nx\nb\n'))
    wrong.same('failures behind a base', codes(vault.failures + vault.notes), [])
    wrong.same('digest behind a base', vault.state.digest(ada.world.split, vault.id), full)
    wrong.same('root behind a base', vault.root(vault.state), root)
    wrong.same('roots behind a base', vault.check_roots(), ([], [1, 2]))
    return wrong


def two():
    """A world of one account with two devices that have seen link 0."""
    ada = Ada()
    return ada, ada.world, ada.a, ada.b


def conflicts():
    """S8 and T4: values of two devices, texts that contradict, a text without a base, flags and times."""
    wrong = Wrong()
    ada, world, a, b = two()
    b.write([field('title', 'phone', entity=NOTE), text('y\n', (a.id, 2))], seen=[a], height=3)
    a.write([field('title', 'laptop', entity=NOTE), text('z\n', (a.id, 2))], height=4)
    vault = read(world)
    wrong.same('title', note(vault, attribute='title'), ('laptop', ['phone']))
    wrong.same('text', note(vault), ('z\n', ['y\n']))
    wrong.same('conflicts', [sorted(item['conflicts']) for item in items.conflicts_of(vault)], [['text', 'title']])
    b.write([field('title', 'laptop', entity=NOTE), field('pinned', 5, entity=NOTE)], height=5)
    a.write([field('pinned', 9, entity=NOTE), field('modified', 3, entity=NOTE)], height=5)
    b.write([field('modified', 7, entity=NOTE)], height=6)
    vault = read(world)
    wrong.same('flag', note(vault, attribute='pinned')[1], [])
    wrong.same('modified', note(vault, attribute='modified'), (7, []))
    # A greater height wins, and the instance decides where heights are equal.
    a.write([field('title', 'later', (a.id, 3), (b.id, 1), (b.id, 2), entity=NOTE)], seen=[b])
    wrong.same('settled', note(read(world), attribute='title'), ('later', []))
    # A new note on both devices under one key: no version is an ancestor of both.
    b.write([text('one\n', entity=LOGIN)], height=20)
    a.write([text('two\n', entity=LOGIN)], height=21)
    wrong.same('without a base', note(read(world), LOGIN), ('two\n', ['one\n']))
    return wrong


def waiting():
    """S7 and S1: an entry waits for what it has seen; what is replaced before it comes never stands."""
    wrong = Wrong()
    ada, world, a, b = two()
    a.write([field('title', 'first', entity=NOTE)])
    b.write([field('title', 'second', (a.id, 3), entity=NOTE)], seen=[a], height=5)
    hidden = world.entries[2]
    kept_out = [name for name in world.entries if name != hidden]
    blobs = world.blobs
    world.blobs = [row for row in blobs if row[0] != hidden]
    vault = read(world, behind=kept_out)
    wrong.same('waits', ([entry.number for entry in vault.state.pending], sorted(k[17:] for k in vault.state.facts)), ([1], [b'created\0', b'text\0']))
    world.blobs = blobs
    b.write([field('title', 'gone', entity=LOGIN)], seen=[])
    a.write([field('title', 'kept', (b.id, 2), entity=LOGIN)], seen=[])
    vault = read(world, behind=list(reversed(world.entries)))
    wrong.same('replaced early', note(vault, LOGIN, 'title'), ('kept', []))
    return wrong


def values():
    """Section 14 in facts: values in place, in blobs and in pieces; deltas; a delta whose base is not here."""
    wrong = Wrong()
    ada, world, a, b = two()
    old = ''.join(f'line {n} {secret(str(n)).hex()}\n' for n in range(60)).encode()
    longer = ''.join(f'line {n} {secret(str(n)).hex()}\n' for n in range(600)).encode()
    base = world.value(b'\0' + old)
    a.write([(NOTE, 'text', b'\0' + old, b'', [(a.id, 2)])])
    wrong.same('blob', note(read(world))[0], old.decode())
    new = old.replace(b'line 7 ', b'row 7 ')
    a.write([(NOTE, 'text', delta(base, old, new), b'', [(a.id, 3)])])
    wrong.same('delta', note(read(world))[0], new.decode())
    a.write([(NOTE, 'text', b'\0' + longer, b'', [(a.id, 4)])])
    wrong.same('pieces', note(read(world))[0], longer.decode())
    a.write([(NOTE, 'text', delta(secret('nothing'), old, new), b'', [(a.id, 5)])])
    vault = read(world)
    vault.check_values()
    wrong.same('no base', codes(vault.failures), ['storage.value.malformed'])
    wrong.same('of one value', note(vault, attribute='created')[0], 1_800_000_000_000)
    bomb = b'\1' + b'\x80\x80\x80\x08' + b'\0\x58' + (3 | 1 << 3 | (1 << 20) << 3).to_bytes(3, 'little') + b'a'
    a.write([(NOTE, 'text', bomb, b'', [(a.id, 6)])])
    vault = read(world)
    vault.check_values()
    wrong.same('bomb', codes(vault.failures), ['storage.value.malformed'])
    return wrong


def bulk():
    """E6: an entry whose changes are a tree, retractions among them."""
    wrong = Wrong()
    ada, world, a, b = two()
    facts = [Fact(b'L' + secret(f'login {n}', 16) + b'title\0', a.id, 3, 9, plain(f'login {n}')) for n in range(700)]
    facts.append(Fact(NOTE + b'text\0', a.id, 2, 9, None))
    facts = [fact._replace(height=9) for fact in sorted(facts, key=lambda fact: fact[:3])]
    a.write([], tree=world.tree(facts), height=9)
    vault = read(world)
    wrong.same('failures', codes(vault.failures), [])
    wrong.same('facts', vault.state.count, 701)
    wrong.same('retracted', NOTE + b'text\0' in vault.state.facts, False)
    return wrong


def refused():
    """Section 6: an entry that fails in a step ends its log, and nobody else's."""
    wrong = Wrong()

    def case(code, change):
        ada, world, a, b = two()
        b.write([field('title', 'good', entity=LOGIN)])
        change(ada, world, a, b)
        a.write([field('title', 'laptop', entity=NOTE)], height=50)
        vault = read(world)
        wrong.same(code, codes(vault.failures + vault.notes), [code])
        wrong.same(f'{code}: the other log', note(vault, attribute='title'), ('laptop', []))
        wrong.same(f'{code}: before it', note(vault, LOGIN, 'title'), ('good', []))

    def altered(parts):
        def change(ada, world, a, b):
            raw = cbor.decode(b.context)
            b.context = cbor.encode({**raw, **parts(ada, world, raw)})
            world.blob(9, b.context)
            b.write([field('title', 'bad', (b.id, 1), entity=LOGIN)])

        return change

    case('storage.entry.epoch-differs', altered(lambda ada, world, raw: {9: 2}))
    case('storage.entry.malformed', lambda ada, world, a, b: b.write([field('title', 'bad', entity=LOGIN)], height=1))
    case('sync.members.withheld', altered(lambda ada, world, raw: {8: [1, secret('another link')]}))
    case('sync.members.withheld', altered(lambda ada, world, raw: {7: [9, secret('another link')]}))
    case('storage.entry.not-a-writer', altered(lambda ada, world, raw: {7: [0, ada.account.chain.hashes[0]]}))

    def behind_its_end(ada, world, a, b):
        ada.account.revoke(ada.laptop, ada.phone)
        b.stand(1, 1)
        b.write([field('title', 'bad', (b.id, 1), entity=LOGIN)])

    case('storage.entry.not-a-writer', behind_its_end)

    def forged(ada, world, a, b):
        name = b.write([field('title', 'bad', (b.id, 1), entity=LOGIN)])
        body = Entry(next(row[2] for row in world.blobs if row[0] == name)).body
        world.entries[-1] = world.blob(ENTRY, signed(Device('thief'), body, world.vault))

    case('storage.entry.malformed', forged)

    def sinks(ada, world, a, b):
        b.stand(1, 0)
        b.write([field('title', 'bad', (b.id, 1), entity=LOGIN)])

    case('storage.entry.malformed', sinks)
    return wrong


def rights():
    """S2: who was added writes from his acceptance on, a viewer never."""
    wrong = Wrong()
    for role, counts in ((2, True), (3, False)):
        ada = Ada()
        other = Device('other')
        theirs = Account(other)
        ada.world.accounts.append(theirs)
        adding = ada.world.link(ada.laptop, ada.account, {0: 2, 3: theirs.id, 4: role, 5: theirs.head, 6: b''})
        early = ada.world.instance(other, theirs, first=adding)
        early.write([field('title', 'early', entity=LOGIN)])
        vault = read(ada.world)
        wrong.same('added', codes(vault.failures), ['storage.entry.not-a-writer'])
        wrong.same('before acceptance', LOGIN + b'title\0' in vault.state.facts, False)
        accepting = ada.world.link(other, theirs, {0: 3, 3: ada.world.members.hashes[adding]})
        late = ada.world.instance(other, theirs, first=accepting)
        late.write([field('title', 'late', entity=LOGIN)])
        wrong.same(f'role {role}', LOGIN + b'title\0' in read(ada.world).state.facts, counts)
    return wrong


def forked():
    """K6: two entries with one number. Without an end nothing new of the log is applied; an end says up to where it counts."""
    wrong = Wrong()
    ada, world, a, b = two()
    b.write([field('title', 'common', entity=LOGIN)])
    first = b.write([field('title', 'one', (b.id, 1), entity=LOGIN)], keep=False)
    second = b.write([field('title', 'two', (b.id, 1), entity=LOGIN)])
    world.entries.append(first)
    vault = read(world)
    wrong.same('named', codes(vault.notes), ['storage.log.forked'])
    state = vault.state
    accept = {a.id: [a.number, a.last], b.id: [2, second]}
    found = world.checkpoint(accept, state, 1, root=False, _6={b.id: [1, first, second]})
    world.link(ada.laptop, ada.account, {0: 7}, found)
    vault = read(world)
    wrong.same('ended', note(vault, LOGIN, 'title'), ('two', []))
    wrong.same('excluded', [entry.name for entry in vault.state.excluded], [first])
    # Nobody can tell which of the two entries was meant by who did not know of the end; who stated it did.
    ada, world, a, b = two()
    b.write([field('title', 'common', entity=LOGIN)])
    first = b.write([field('title', 'one', (b.id, 1), entity=LOGIN)], keep=False)
    second = b.write([field('title', 'two', (b.id, 1), entity=LOGIN)])
    world.entries.append(first)
    a.write([field('title', 'instead', (b.id, 2), entity=LOGIN)], seen=[b], height=9)
    accept = {a.id: [a.number, a.last], b.id: [2, second]}
    ends = {b.id: [1, first, second]}
    world.link(ada.laptop, ada.account, {0: 7}, world.checkpoint(accept, read(world).state, 1, root=False, _6=ends))
    wrong.same('without effect', note(read(world), LOGIN, 'title'), ('instead', ['two']))
    a.stand(1, 2)
    a.write([field('title', 'knowing', (a.id, 3), (b.id, 2), entity=LOGIN)])
    wrong.same('with effect', note(read(world), LOGIN, 'title'), ('knowing', []))
    return wrong


def revoked():
    """K4, K1 and K3: from the revocation on nothing new; the closing link decides; its epoch is needed."""
    wrong = Wrong()
    ada, world, a, b = two()
    b.write([field('title', 'before', entity=LOGIN)])
    ada.account.revoke(ada.laptop, ada.phone)
    vault = read(world)
    wrong.same('what was applied stays', note(vault, LOGIN, 'title'), ('before', []))
    found = world.checkpoint({a.id: [a.number, a.last]}, read(ada.world).state, 1, root=False)
    world.link(ada.laptop, ada.account, {0: 7}, found)
    vault = read(world)
    wrong.same('not accepted', [entry.number for entry in vault.state.excluded], [1])
    a.stand(1, 2)
    a.write([field('title', 'stale', entity=NOTE)])
    wrong.same('no epoch serves', codes(read(world).failures), ['storage.entry.epoch-differs'])
    return wrong


def recovered():
    """S3 and K1 over a branch that a recovery replaced: a device of that branch alone is closed by the link that states the recovery."""
    wrong = Wrong()
    laptop, paper, phone = Device('laptop'), Device('paper'), Device('phone')
    account = Account(laptop)
    account.add(laptop, paper, kind=2)
    account.add(laptop, phone)
    world = World(laptop, account)
    a, b = world.instance(laptop), world.instance(phone)
    a.write([field('title', 'old', entity=NOTE)])
    b.write([field('title', 'counts', entity=LOGIN)])
    account.recover(paper, 2, [laptop, paper])
    state = read(world).state
    wrong.same('applied before', sorted(state.frontier), sorted([a.id, b.id]))
    world.link(laptop, account, {0: 7}, world.checkpoint({a.id: [1, a.last], b.id: [1, b.last]}, state, root=False), True)
    b.write([field('title', 'late', (b.id, 1), entity=LOGIN)])
    vault = read(world)
    wrong.same('closed', note(vault, LOGIN, 'title'), ('counts', []))
    wrong.same('late', [entry.number for entry in vault.state.excluded], [2])
    wrong.same('failures', codes(vault.failures), [])
    return wrong


def members():
    """Section 8: what a link may do, and who."""
    wrong = Wrong()

    def chain(change):
        ada = Ada()
        other = Device('other')
        account = Account(other)
        ada.world.accounts.append(account)
        try:
            change(ada.world, ada.account, ada.laptop, account, other)
        except StopIteration:
            pass
        vault = read(ada.world)
        return len(vault.chain), codes([vault.chain.problem] if vault.chain.problem else [])

    def adds(world, account, laptop, theirs, other, role=2):
        world.link(laptop, account, {0: 2, 3: theirs.id, 4: role, 5: theirs.head, 6: b''})

    def accepts(world, account, laptop, theirs, other, role=2):
        adds(world, account, laptop, theirs, other, role)
        world.link(other, theirs, {0: 3, 3: world.members.hashes[-1]})

    def case(what, stated, change, start=accepts, **more):
        def steps(*all):
            start(*all, **more)
            change(*all)

        wrong.same(what, chain(steps), stated)

    def writer_adds(world, account, laptop, theirs, other):
        third = Account(Device('third'))
        world.accounts.append(third)
        adds(world, theirs, other, third, None)

    nothing = lambda *all: None
    case('adds and accepts', (4, []), nothing)
    case('accepts twice', (4, ['trust.member.not-permitted']), lambda w, a, l, t, o: w.link(o, t, {0: 3, 3: w.members.hashes[-2]}))
    case('a writer adds', (4, ['trust.member.not-permitted']), writer_adds)
    case('who is added writes no epoch', (3, ['trust.member.not-permitted']), lambda w, a, l, t, o: w.link(o, t, {0: 7}, {}, True), adds)
    case('removes without an epoch', (4, ['trust.member.not-permitted']), lambda w, a, l, t, o: w.link(l, a, {0: 4, 3: [[t.id, 0]]}))
    case('the last owner leaves', (4, ['trust.member.not-permitted']), lambda w, a, l, t, o: w.link(l, a, {0: 6}))
    case('a writer leaves', (5, []), lambda w, a, l, t, o: w.link(o, t, {0: 6}))
    case('a later owner removes an earlier one', (4, ['trust.member.outranked']), lambda w, a, l, t, o: w.link(o, t, {0: 4, 3: [[a.id, 0]]}, {}, True), role=1)
    case('an unknown operation', (4, ['trust.link.unsupported']), lambda w, a, l, t, o: w.link(l, a, {0: 9}))
    case('a stranger signs', (4, ['trust.link.signer-unknown']), lambda w, a, l, t, o: w.link(Device('thief'), a, {0: 7}))
    return wrong


ALL = [example, conflicts, waiting, values, bulk, refused, rights, forked, revoked, recovered, members]
