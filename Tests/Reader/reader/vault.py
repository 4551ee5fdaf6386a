"""One vault of a store: its files, chains, entries and state, verified from the first byte to the last fact."""

import os

from . import attachments, cbor, chains
from .blobs import ENTRY, FRONTIER, Blobs
from .checkpoints import Checkpoints
from .entries import Frontier
from .failure import Failure, need
from .files import Files
from .state import State, changes_of
from .stored import BARE, Journal, Kept, indexed
from .suite import hashed, kdf, u32
from .tree import LOGS, hash_key
from .values import Values
from .verdicts import Judge

MEMORY_KEY_MAX = 24  # Spec/sync.md section 2


class Vault:
    """A vault that was read. `failures` are things that do not verify, `notes` things that a person may want to know."""

    def __init__(self, store, keyring, keys):
        self.keys, self.id, self.name = keys, keys.id, keys.name
        self.account, self.device = keyring.account.id, keyring.device[0]
        self.failures, self.notes, self.frontiers = [], [], []
        directory = self.directory = os.path.join(store, 'vaults', keys.directory)
        self.files = Files(directory, kdf(keys.local, b'journal', keys.id))
        self.notes += self.files.notes
        self.blobs = Blobs(self.files.records, keys.keys, keys.id)
        self.blobs.check_all()
        self.failures += self.blobs.failures
        self.values = Values(self.blobs)
        self.journal = Journal(self.files.transactions, self.blobs)
        need(self.journal.generation <= keyring.generation, 'keys.keyring.rolled-back', f'vault {self.name}')
        self.kept = Kept(self.journal.kept) if self.journal.kept else None
        self.accounts, self.chain, self.behind = chains.read(directory, keyring, keys, self.kept.links if self.kept else 0)
        self.failures += [failure for failure in (self.behind, self.chain.problem) if failure is not None]
        self._check_keys()
        self.checkpoints = Checkpoints(self.chain, keys.keys)
        self.notes += self.checkpoints.failures
        self.judge = Judge(self.chain, self.checkpoints, self.accounts, self.blobs)
        self._gather()
        self._judge()
        self.state = self._state(self.base, set(self.index_names) | set(self.journal.entries))
        self._compare()

    # -- entries -----------------------------------------------------------------------------------------------------------------------

    def _check_keys(self):
        for epoch, key in self.keys.keys.items():
            if not self.chain.commits(epoch, key):
                self.failures.append(Failure('keys.keyring.inconsistent', f'vault {self.name}', f'key of epoch {epoch}'))

    def _gather(self):
        """The entries that the state knows: those of the index, those behind it, and all that these name before them."""
        self.index, self.dropped, self.left, self.entries = {}, {}, set(), {}
        if self.kept is not None:
            self.index, self.dropped, self.left = indexed(LOGS.facts(self.blobs, self.kept.entries))
        self.index_names = {name: flags for (_, _, name), flags in self.index.items()}
        self.missing = set()
        for name in [*self.index_names, *self.journal.entries]:
            while name is not None and name not in self.entries and name not in self.missing:
                name = self._take(name)
        for (instance, number, name), flags in self.index.items():
            entry = self.entries.get(name)
            fits = entry is None or (entry.author.instance, entry.number, entry.is_bare) == (instance, number, bool(flags & BARE))
            if not fits:
                self.failures.append(Failure('storage.state.malformed', f'entry {name.hex()}', 'the index says something else'))

    def _take(self, name):
        """Takes an entry; the name of the one before it, if it has one."""
        if name not in self.blobs:
            self.missing.add(name)
            return None
        try:
            entry = self.entries[name] = self.judge.take(self.blobs.get(name, ENTRY), name)
        except Failure as failure:
            self.missing.add(name)
            self.failures.append(failure)
            return None
        return entry.before

    @property
    def base(self):
        return self.kept.base if self.kept is not None else None

    def accepted(self, base):
        """What the base accepts in full."""
        known = base is None or base in self.checkpoints.of_link
        if not known and self.behind is not None:
            raise self.behind
        need(known, 'storage.state.malformed', f'base {base}', 'a member link that is not here, or has no checkpoint')
        return self.checkpoints.accept[base] if base is not None else {}

    def _judge(self):
        """Judges every log, and names what ends one."""
        accepted = self.accepted(self.base)
        for log in self.judge.logs.values():
            start = accepted.get(log.instance, (0,))[0]
            self.judge.judge(log, self._covered(log, accepted.get(log.instance)), start)
            if log.failure is not None:
                self.failures.append(log.failure)
            if log.waits is not None:
                self.notes.append(log.waits)
            if log.fork is not None:
                self.notes.append(Failure('storage.log.forked', f'log {log.instance.hex()}', f'at number {log.fork}'))

        for frontier in sorted(self.blobs.types.get(FRONTIER, ())):
            self._check_frontier(frontier)

    def _check_frontier(self, name):
        """A frontier is one of a device that the chains know, signed by it."""
        try:
            frontier = Frontier(self.blobs.get(name, FRONTIER), name)
            author = self.judge.context(frontier.context)
            account = self.accounts.get(author.account)
            device = account and account.device(author.device)
            need(device and frontier.verifies(device.key, self.id), 'sync.head.refused', f'frontier {name.hex()}', 'signature')
            self.frontiers.append((author.device, frontier))
        except Failure as failure:
            self.notes.append(failure)

    def _covered(self, log, accepted):
        """The names at or below what the base accepts, on its hash chain."""
        covered = set()
        number, name = accepted or (0, None)
        while number:
            entry = self.judge.standing(log, number, name)
            if entry is None:
                return covered
            covered.add(entry.name)
            number, name = number - 1, entry.before
        return covered

    # -- states ------------------------------------------------------------------------------------------------------------------------

    def base_facts(self, base):
        """The facts of the tree at a base."""
        if base is None:
            return []
        checkpoint = self.checkpoints.of_link.get(base)
        need(checkpoint is not None and checkpoint.root is not None, 'storage.state.malformed', f'base {base}', 'no root')
        return LOGS.facts(self.blobs, checkpoint.root)

    def state_at(self, accept):
        """The state at what a link accepts, from all entries down from there, which count whatever the rules say (C6)."""
        state, queues = State(), {}
        for instance, tip in accept.items():
            log = self.judge.logs[instance]
            names = self._covered(log, tip)
            queues[instance] = [entry for number in range(1, tip[0] + 1) for entry in log.entries[number] if entry.name in names]
        self._apply(state, queues, {}, set(), accept)
        return state

    def _state(self, base, among):
        """The state on a base of those entries among `among` that count and are complete."""
        state = State(self.base_facts(base))
        accepted = self.accepted(base)
        applied = {name for name, flags in self.index_names.items() if flags & 1} | set(self.journal.entries)
        queues, excluded, dead = {}, [], set()
        for instance, log in self.judge.logs.items():
            chosen, left = self.judge.counting(log, base, accepted.get(instance), applied)
            if self.judge.limit(log, base)[0] in ('none', 'limited'):
                dead.add(instance)
            queues[instance] = [entry for entry in chosen if entry.name in among and not entry.is_bare]
            excluded += [entry for entry in left if entry.name in among]
        self._apply(state, queues, accepted, dead)
        state.excluded, state.pending = excluded, [entry for queue in queues.values() for entry in queue]
        return state

    def _apply(self, state, queues, accepted, dead, upto=None):
        """Applies queues of entries by S7, until none is ready; those that are not stay in the queues. With `upto` nothing above it is waited for."""

        def is_here(instance, number):
            if upto is not None and number > upto.get(instance, (0,))[0]:
                return True
            return max(state.frontier.get(instance, (0,))[0], accepted.get(instance, (0,))[0]) >= number or instance in dead

        moved = True
        while moved:
            moved = False
            for queue in queues.values():
                at = 0
                while at < len(queue) and all(is_here(i, row[0]) for i, row in queue[at].seen.items()):
                    state.apply(queue[at], changes_of(queue[at], self.blobs, self.values), self.judge.effective)
                    at += 1
                if at:
                    del queue[:at]
                    moved = True

    def counted(self):
        """The names of all entries that count here: at or below the base's frontier on its chain, or applied above it."""
        found = set()
        accepted = self.accepted(self.base)
        for instance, log in self.judge.logs.items():
            chosen, _ = self.judge.counting(log, self.base, accepted.get(instance), set(self.index_names) | set(self.journal.entries))
            applied = self.state.frontier.get(instance, (0,))[0]
            found |= {entry.name for entry in chosen if entry.number <= applied} | self._covered(log, accepted.get(instance))
        return found

    def root(self, state):
        """The root of the tree of a state."""
        return LOGS.build(state.ordered(), hash_key(self.keys.split, self.id))

    # -- what was computed against what is stored ----------------------------------------------------------------------------------------

    def _full(self, frontier):
        """All that a frontier names, or None if a frontier on which it rests is not here."""
        if frontier.full is not None:
            under = next((f for _, f in self.frontiers if f.name == frontier.full), None)
            under = self._full(under) if under is not None and under.full is None else None
        else:
            under = self.accepted(frontier.base) if frontier.base is None or frontier.base in self.checkpoints.of_link else None
        return None if under is None else {**under, **frontier.differs}

    def _compare_frontiers(self):
        """S9: a frontier on this base that names all that is applied here states the digest of this state."""
        here = {i: list(tip) for i, tip in {**self.accepted(self.base), **self.state.frontier}.items()}
        for device, frontier in self.frontiers:
            if frontier.base == self.base and self._full(frontier) == here:
                if frontier.digest != self.state.digest(self.keys.split, self.id):
                    self.failures.append(Failure('storage.state.differs', f'device {device.hex()}', f'frontier {frontier.name.hex()}'))

    def _check_memory(self):
        """The memory of the sync is a map of the keys that its page has."""
        if self.journal.memory:
            memory = cbor.decode(self.journal.memory, 'storage.state.malformed', 'memory of the sync')
            good = isinstance(memory, dict) and all(type(key) is int and 0 <= key <= MEMORY_KEY_MAX for key in memory)
            need(good, 'storage.state.malformed', 'memory of the sync')

    def _compare(self):
        """Holds the kept part against the state that its entries make."""
        self._compare_frontiers()
        self._check_memory()
        if self.kept is None:
            return
        kept = self._state(self.base, set(self.index_names))
        self._same(kept.digest(self.keys.split, self.id), self.kept.digest, 'the digest')
        self._same(kept.count, self.kept.count, 'the fact count')
        self._same(self.root(kept), self.kept.facts, 'the root of the tree of facts')
        for instance, row in self.kept.logs.items():
            found = kept.frontier.get(instance) or self.accepted(self.base).get(instance)
            stated = tuple(row.applied) if row.applied is not None else None
            self._same(tuple(found) if found else None, stated, f'the applied entry of log {instance.hex()}')
        self._check_own()
        self._check_items(kept)
        several = sorted(key for key, facts in kept.facts.items() if len(facts) > 1)
        self._same(several, self.kept.several, 'the keys with several facts')

    def _check_own(self):
        """The own log is one of this device, as its nonce and first link say."""
        if self.kept.own is not None and self.device is not None:
            instance, nonce, first, _ = self.kept.own
            parts = self.id + self.account + self.device + u32(first) + nonce
            self._same(hashed(b'coffret/instance/1' + parts, 16), instance, 'the own log')

    def _check_items(self, kept):
        """The index of items (L4) is what the entries that are here make; it is derived."""
        stated = {(f.key[:17], f.instance, f.number, f.height) for f in LOGS.facts(self.blobs, self.kept.items)}
        found = set()
        for name in self.index_names:
            entry = self.entries.get(name)
            if entry is not None and not entry.is_bare:
                for change in changes_of(entry, self.blobs, self.values):
                    found.add((change.key[:17], entry.author.instance, entry.number, entry.height))
        if stated != found:
            odd = f'{len(stated - found)} rows too many, {len(found - stated)} missing'
            self.notes.append(Failure('storage.index.damaged', 'index of items', odd))

    def _same(self, found, stated, what):
        if found != stated:
            show = lambda value: value.hex() if isinstance(value, bytes) else str(value)
            self.failures.append(Failure('storage.state.malformed', f'vault {self.name}', f'{what}: {show(found)}, {show(stated)} stated'))

    def check_values(self):
        """Reads every current value, and the files that attachments name; names those that cannot be read."""
        for fact in self.state.ordered():
            try:
                place = f'fact {fact.key.hex()}'
                value = self.values.shown(fact.value, place)
                if fact.key[:1] == b'A' and fact.key[17:] == b'content\0':
                    attachments.check(self.directory, self.id, self.keys.keys, cbor.decode(value), place)
            except Failure as failure:
                self.failures.append(failure)

    def check_roots(self):
        """Computes the state at every checkpoint with a root of which all entries are here; the numbers of those, and of the others."""
        computed, others = [], []
        for number, checkpoint in sorted(self.checkpoints.of_link.items()):
            self._check_accept(number, checkpoint)
            if checkpoint.root is None:
                continue
            if not self._is_whole(checkpoint.accept):
                others.append(number)
                if checkpoint.root in self.blobs:
                    facts = State(LOGS.facts(self.blobs, checkpoint.root))
                    self._check_root(number, checkpoint, facts, checkpoint.root)
                continue
            state = self.state_at(checkpoint.accept)
            self._check_root(number, checkpoint, state, self.root(state))
            computed.append(number)
        return computed, others

    def _check_accept(self, number, checkpoint):
        """C4 and C9: the tips are here, and no limit is raised."""
        for instance, (tip, name) in checkpoint.accept.items():
            log = self.judge.logs.get(instance)
            if self.judge.standing(log, tip, name) is None:
                if number >= (self.base or 0) and name not in self.left:  # G2 keeps the tips of the base and of all above
                    self.notes.append(Failure('storage.checkpoint.unproven', f'member link {number}', f'{tip} of log {instance.hex()}'))
                continue
            link = self.judge.limit(log, None)[1]
            accepts = [self.checkpoints.accept[n].get(instance, [0])[0] for n in range(1, number)]
            raised = link is not None and link < number and tip > self.checkpoints.accept[link].get(instance, [0])[0]
            if raised and tip not in accepts[: link - 1]:
                self.failures.append(Failure('storage.checkpoint.differs', f'member link {number}', f'raises a limit of log {instance.hex()}'))

    def _check_root(self, number, checkpoint, state, root):
        found = root, state.digest(self.keys.split, self.id), state.count
        if found != (checkpoint.root, checkpoint.digest, checkpoint.count):
            problem = Failure('storage.checkpoint.differs', f'member link {number}', 'root, digest or fact count')
            known = self.kept is not None and number in self.kept.refuted
            (self.notes if known else self.failures).append(problem)

    def _is_whole(self, accept):
        """Whether every entry down from a frontier is here, with its changes."""
        for instance, (number, name) in accept.items():
            log = self.judge.logs.get(instance)
            while number:
                entry = self.judge.standing(log, number, name)
                if entry is None or entry.is_bare:
                    return False
                number, name = number - 1, entry.before
        return True
