"""The state that a vault of logs stores (Spec/journal.md section 5a, Spec/history.md section 15)."""

from . import cbor
from .blobs import ENTRY, MEMORY, STATE
from .entries import is_frontier, is_number
from .failure import Failure, ascends, is_bytes, is_int, is_list, need

MALFORMED, OLDER = 'storage.state.malformed', 'storage.format.unsupported'
MEMORY_MAX = 64 << 10
APPLIED, BARE, DELETED = 1, 2, 4


class Journal:
    """The state behind the last transaction: kept part, entries behind it, memory of the sync."""

    def __init__(self, transactions, blobs):
        self.kept, self.entries, self.memory, self.generation = None, [], b'', 0
        for transaction in transactions:
            kind, content, name = blobs.of_record(transaction.record)
            place = transaction.place
            wanted = {1: STATE, 2: ENTRY, 3: MEMORY}[transaction.form]
            if kind != wanted and (kind in (STATE, 3) or transaction.form == 1):
                need(kind == wanted, OLDER, place, 'a transaction of commits')
            need(kind == wanted, MALFORMED, place, f'type {kind} in a transaction of form {transaction.form}')
            if transaction.form == 1:
                self._whole(content, place)
            elif transaction.form == 2:
                self.entries.append(name)
            else:
                value = cbor.decode(content, MALFORMED, place)
                good = is_list(value, 2) and is_int(value[0], 1, 1) and is_bytes(value[1]) and len(value[1]) <= MEMORY_MAX
                need(good, MALFORMED, place, 'memory')
                self.memory = value[1]

    def _whole(self, content, place):
        need(content[:1] != b'\1', OLDER, place, 'the state of a store of commits')
        value = cbor.decode(content, MALFORMED, place)
        need(is_list(value, 5) and is_int(value[0], 2, 2) and is_int(value[1]), MALFORMED, place)
        _, self.generation, self.kept, names, self.memory = value
        need(is_bytes(self.kept) and is_list(names) and all(is_bytes(n, 32) for n in names), MALFORMED, place)
        need(is_bytes(self.memory) and len(self.memory) <= MEMORY_MAX, MALFORMED, place, 'memory')
        self.entries = list(names)


class LogRow:
    """What the machine knows of a log."""

    def __init__(self, value, place):
        need(is_list(value, 7) and is_bytes(value[0], 16), MALFORMED, place, 'log')
        self.instance, self.author, self.applied, self.closed, self.limit, self.pending, self.forked = value
        good = self.author is None or is_list(self.author, 3) and is_bytes(self.author[0], 32) and is_bytes(self.author[1], 16)
        need(good, MALFORMED, place, 'device of a log')
        for row in (self.applied, self.limit):
            need(row is None or is_list(row, 2) and is_int(row[0]) and is_bytes(row[1]), MALFORMED, place, 'number of a log')
        need(self.closed is None or is_int(self.closed), MALFORMED, place, 'link of a log')
        need(isinstance(self.pending, bool) and isinstance(self.forked, bool), MALFORMED, place, 'flags of a log')


class Kept:
    """The kept part, taken apart."""

    def __init__(self, raw):
        place = 'kept state'
        value = cbor.decode(raw, MALFORMED, place)
        need(is_list(value, 6, 7) and is_bytes(value[0]), MALFORMED, place)
        need(all(is_bytes(root, 32) for root in value[1:4] + value[6:]), MALFORMED, place, 'roots')
        self.facts, self.entries, self.items, self.own, self.refused = value[1:6]
        self.start = value[6] if len(value) == 7 else None
        if self.own is not None:
            good = is_list(self.own, 4) and is_bytes(self.own[0], 16) and is_bytes(self.own[1], 16) and is_int(self.own[2])
            need(good and is_frontier(self.own[3]), MALFORMED, place, 'own log')
        need(is_list(self.refused) and all(map(is_int, self.refused)) and ascends(self.refused), MALFORMED, place, 'refused purges')
        self._machine(cbor.decode(value[0], MALFORMED, 'machine'))
        need(self.start is None or self.dropped is not None, MALFORMED, place, 'start without dropped history')

    def _machine(self, value):
        place = 'machine'
        need(is_list(value, 16) and is_int(value[0], 2, 2), MALFORMED, place, 'version or length')
        (_, self.links, self.base, self.belief, self.passed, logs, self.early, self.several, self.digest, self.count,
         self.dropped, self.ends, self.refuted, self.believed, self.purged, self.waits) = value  # fmt: skip
        need(is_int(self.links) and (self.base is None or is_int(self.base)) and is_int(self.belief, 0, 2), MALFORMED, place)
        need(self.passed is None or is_int(self.passed), MALFORMED, place, 'passed link')
        need(is_list(logs) and is_list(self.early) and is_list(self.several), MALFORMED, place)
        self.logs = {row.instance: row for row in (LogRow(log, place) for log in logs)}
        need(ascends(self.logs) and len(self.logs) == len(logs), MALFORMED, place, 'logs out of order')
        need(is_bytes(self.digest, 32) and is_int(self.count), MALFORMED, place, 'digest')
        need(self.dropped is None or is_int(self.dropped), MALFORMED, place, 'dropped')
        for rows in (self.refuted, self.believed, self.purged):
            need(is_list(rows) and all(map(is_int, rows)) and ascends(rows), MALFORMED, place, 'links out of order')


def indexed(facts):
    """The index of entries (L4), from the facts of its tree: {(instance, number, name): flags}, {name: flags} of dropped ones, and the names that left a log."""
    entries, dropped, left = {}, {}, set()
    for fact in facts:
        kind, rest, value = fact.key[0], fact.key[1:17], fact.value
        end = fact.key.index(b'\0', 17)
        attribute, element = fact.key[17:end], fact.key[end + 1 :]
        need(isinstance(value, bytes) and len(element) == 16, MALFORMED, 'index of entries')
        if kind == 0x65 and attribute == b'e':
            need(value and len(value) % 37 == 0, MALFORMED, 'index of entries', 'value')
            number = int.from_bytes(element[:8], 'big')
            for at in range(0, len(value), 37):
                name = value[at + 5 : at + 37]
                need(is_number(number) and name[:8] == element[8:], MALFORMED, 'index of entries', 'name')
                entries[(rest, number, name)] = value[at]
        elif kind == 0x64 and attribute == b'd':
            need(len(value) == 1, MALFORMED, 'index of entries', 'value of a dropped one')
            dropped[rest + element] = value[0]
        elif kind == 0x6C and attribute == b'l':
            need(not value, MALFORMED, 'index of entries', 'value of one that left')
            left.add(rest + element)
        else:
            raise Failure(MALFORMED, 'index of entries', f'kind {kind:02x}')
    return entries, dropped, left
