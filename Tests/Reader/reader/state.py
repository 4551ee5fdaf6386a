"""The state of a vault (Spec/history.md section 4): facts from entries, what is shown, the digest."""

from .failure import need
from .suite import hashed, kdf, lp, u64
from .tree import Fact, LOGS


class Version:
    """What an entry above the base did under a key: its fact, or a retraction, with the dots that it names as replaced."""

    __slots__ = ('fact', 'replaces')

    def __init__(self, fact, replaces):
        self.fact, self.replaces = fact, replaces


class State:
    """Facts by key and dot, from a base's tree and entries that are applied in any order that has each after what it has seen."""

    def __init__(self, facts=()):
        self.facts = {}
        self.early = {}
        self.versions = {}  # (key, dot) of every fact above the base -> Version
        self.frontier = {}
        self.base = {}
        for fact in facts:
            self.base[(fact.key, (fact.instance, fact.number))] = fact
            self.facts.setdefault(fact.key, {})[(fact.instance, fact.number)] = fact

    def apply(self, entry, changes, effective=lambda entry, replaced: replaced):
        """Applies an entry. `changes` are its changes, or those of its tree; `effective` leaves out replacements without effect."""
        own = entry.author.instance
        for change in changes:
            here = self.facts.setdefault(change.key, {})
            named = [(own if instance is None else instance, number) for instance, number in change.replaces]
            dot = (own, entry.number)
            fact = Fact(change.key, own, entry.number, entry.height, change.value)
            self.versions[(change.key, dot)] = Version(fact, named)
            for replaced in effective(entry, named):
                if here.pop(replaced, None) is None and (change.key, replaced) not in self.versions:
                    self.early.setdefault(change.key, set()).add(replaced)
            if change.value is not None and dot not in self.early.get(change.key, ()):
                here[dot] = fact
            if not here:
                del self.facts[change.key]
        self.frontier[own] = (entry.number, entry.name)

    def ordered(self):
        """All facts, ascending by (key, dot)."""
        return [fact for key in sorted(self.facts) for _, fact in sorted(self.facts[key].items())]

    @property
    def count(self):
        return sum(map(len, self.facts.values()))

    def digest(self, split_key, vault):
        """S9: the sum of the terms of all facts."""
        key = kdf(split_key, b'state/digest', vault)
        return (sum(int.from_bytes(term(key, fact), 'big') for fact in self.ordered()) % (1 << 256)).to_bytes(32, 'big')

    def version(self, key, dot):
        """The fact with this dot that stands or stood under a key, as far as the base and the entries above it know one."""
        version = self.versions.get((key, dot))
        return version.fact if version is not None else self.base.get((key, dot))

    def ancestors(self, key, dot):
        """The dots of all versions that a version was made from, itself among them (T2). The way to them may lead over retractions."""
        seen, todo = set(), [dot]
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                version = self.versions.get((key, one))
                todo += version.replaces if version is not None else []
        facts = {one: self.version(key, one) for one in seen}
        return {one for one, fact in facts.items() if fact is not None and fact.value is not None}

    def current(self, key):
        """The facts under a key, the one that is shown first (S8)."""
        return sorted(self.facts.get(key, {}).values(), key=lambda fact: (fact.height, fact.instance), reverse=True)


def term(key, fact):
    """The term of one fact in the digest; key is that of the digest."""
    value = fact.value if isinstance(fact.value, bytes) else fact.value[1]
    return hashed(lp(fact.key) + fact.instance + u64(fact.number) + u64(fact.height) + lp(value), key=key)


class TreeChange:
    """A change of an entry whose changes lie in a tree (E6)."""

    __slots__ = ('key', 'value', 'replaces')

    def __init__(self, key, value, replaces):
        self.key, self.value, self.replaces = key, value, replaces


def changes_of(entry, blobs, values):
    """The changes of an entry: in place, or those of its tree."""
    if entry.tree is None:
        return [PlacedChange(change, values) for change in entry.changes]
    found = {}
    own = (entry.author.instance, entry.number)
    for fact in LOGS.facts(blobs, entry.tree):
        place = f'tree of entry {entry.name.hex()}'
        need(fact.height == entry.height, 'storage.entry.malformed', place, 'another height')
        row = found.setdefault(fact.key, TreeChange(fact.key, None, []))
        dot = (fact.instance, fact.number)
        if fact.value is None:
            need(dot != own, 'storage.entry.malformed', place, 'retracts itself')
            row.replaces.append(dot)
        else:
            need(dot == own and row.value is None, 'storage.entry.malformed', place, 'a fact of another entry')
            row.value = fact.value
    return list(found.values())


class PlacedChange:
    """A change in place. A value above 512 bytes stands in the state by the name of the blob that its salt makes."""

    __slots__ = ('key', 'value', 'replaces')

    def __init__(self, change, values):
        self.key, self.replaces = change.key, change.replaces
        self.value = change.value if change.salt is None else values.placed(change.salt, change.value)
