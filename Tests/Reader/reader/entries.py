"""Entries, their contexts and frontiers (Spec/history.md sections 3 and 9): form, name, signature."""

from . import cbor
from .blobs import CONTEXT, ENTRY, FRONTIER, name_of
from .failure import ascends, is_bytes, is_int, is_list, need
from .suite import hashed, u32, verifies
from .tree import NUMBER_MAX, check_key

MALFORMED, UNSUPPORTED = 'storage.entry.malformed', 'storage.entry.unsupported-format'
CHANGES_MAX, CHANGE_BYTES_MAX, REFS_MAX = 512, 256 << 10, 4096
FORMAT = FLOOR = 2


def is_number(value):
    """Whether the value is the number or the height of an entry."""
    return is_int(value, 1, NUMBER_MAX)


def is_position(value):
    """Whether the value is [number, hash] of a link."""
    return is_list(value, 2) and is_int(value[0]) and is_bytes(value[1], 32)


def is_frontier(value):
    """Whether the value is {* instance => [number, name]}."""
    return isinstance(value, dict) and all(
        is_bytes(k, 16) and is_list(v, 2) and is_number(v[0]) and is_bytes(v[1], 32) for k, v in value.items()
    )


class Context:
    """Who writes an instance, and where its author stood."""

    def __init__(self, content, name):
        place = f'context {name.hex()}'
        parts = cbor.decode(content, MALFORMED, place)
        need(isinstance(parts, dict), MALFORMED, place)
        need(is_int(parts.get(1)), MALFORMED, place, 'format')
        newer = parts[1] > FORMAT or not set(parts) <= set(range(1, 12)) or is_int(parts.get(10)) and parts[10] > FLOOR
        need(not newer, UNSUPPORTED, place)
        need(set(range(1, 11)) <= set(parts), MALFORMED, place, 'keys')
        self.vault, self.account, self.device, self.nonce, self.first = (parts[key] for key in range(2, 7))
        need(parts[1] == 2, MALFORMED, place, 'format')
        need(is_bytes(self.vault, 32) and is_bytes(self.account, 32) and is_bytes(self.device, 16), MALFORMED, place)
        need(is_bytes(self.nonce, 16) and is_int(self.first, 0, (1 << 32) - 1), MALFORMED, place)
        need(is_position(parts[7]) and is_position(parts[8]), MALFORMED, place, 'positions')
        need(11 not in parts or is_position(parts[11]), MALFORMED, place, 'identity chain')
        need(is_int(parts[9], 1, (1 << 32) - 1) and is_int(parts[10]), MALFORMED, place, 'epoch or floor')
        self.name, self.device_head, self.member_head, self.epoch = name, parts[7], parts[8], parts[9]
        self.instance = hashed(
            b'coffret/instance/1' + self.vault + self.account + self.device + u32(self.first) + self.nonce, 16
        )


class Change:
    """One change of an entry: a fact or a retraction, and the dots that it replaces."""

    __slots__ = ('key', 'value', 'replaces', 'salt')

    def __init__(self, key, value, replaces, salt=None):
        self.key, self.value, self.replaces, self.salt = key, value, replaces, salt


class Entry:
    """The body of an entry or of a bare form. It says nothing about whether the entry counts."""

    def __init__(self, content, name=None):
        self.content = content
        self.name = name or name_of(ENTRY, content)
        place = self.place = f'entry {self.name.hex()}'
        need(len(content) > 64, MALFORMED, place)
        self.raw, self.signature = content[:-64], content[-64:]
        self.pairs = cbor.pairs(self.raw, MALFORMED, place)
        body = self.body = cbor.decode(self.raw, MALFORMED, place)
        need(set(body) <= set(range(1, 15)), UNSUPPORTED, place)
        need({1, 2, 4, 5} <= set(body) and is_bytes(body[1], 32), MALFORMED, place)
        need(is_number(body[2]) and is_number(body[4]) and is_int(body[5], -(1 << 63), (1 << 63) - 1), MALFORMED, place)
        self.context, self.number, self.height, self.time = body[1], body[2], body[4], body[5]
        self.before = body.get(3)
        need((self.before is None) == (self.number == 1) and (3 in body) == (self.number > 1), MALFORMED, place, 'entry before')
        need(self.before is None or is_bytes(self.before, 32), MALFORMED, place, 'entry before')
        self._check_rest()
        self.seen = body.get(6, {})
        self.others = body.get(10, [])
        self.tree = body.get(8)
        self.is_bare = 14 in body
        self.changes = self._changes(body[7]) if 7 in body else []
        need(10 not in body or 7 in body or self.is_bare, MALFORMED, place, 'instances that nothing uses')

    def _check_rest(self):
        body, place = self.body, self.place
        if 6 in body:
            need(is_frontier(body[6]) and 0 < len(body[6]) <= REFS_MAX, MALFORMED, place, 'seen')
        if 10 in body:
            good = is_list(body[10]) and 0 < len(body[10]) <= REFS_MAX and all(is_bytes(i, 16) for i in body[10]) and ascends(body[10])
            need(good, MALFORMED, place, 'other instances')
        need(not (7 in body and 8 in body) and (13 in body) == (7 in body or 8 in body), MALFORMED, place, 'salt')
        need(14 not in body or 13 not in body, MALFORMED, place, 'digest beside changes')
        need(is_bytes(body.get(13, bytes(16)), 16) and is_bytes(body.get(14, bytes(32)), 32), MALFORMED, place)
        need(is_bytes(body.get(8, bytes(32)), 32), MALFORMED, place, 'tree')
        for key, most in ((9, 2048), (12, 512)):
            need(key not in body or is_bytes(body[key]) and 1 <= len(body[key]) <= most, MALFORMED, place, f'key {key}')
        if 11 in body:
            need(is_list(body[11], 2) and is_bytes(body[11][0], 16) and is_number(body[11][1]), MALFORMED, place, 'dot')

    def _changes(self, groups):
        place = self.place
        need(is_list(groups) and groups, MALFORMED, place, 'changes')
        need(len(self.pairs[7]) - 1 <= CHANGE_BYTES_MAX, MALFORMED, place, 'more than 256 KiB of changes')
        found, used, before, entity = [], set(), b'', b''
        for group in groups:
            need(is_list(group) and len(group) > 1 and is_bytes(group[0], 17) and group[0] > entity, MALFORMED, place, 'entities')
            entity = group[0]
            for change in group[1:]:
                need(is_list(change, 2, 3, 4) and isinstance(change[0], str), MALFORMED, place, 'change')
                element = change[2] if len(change) > 2 else b''
                need(is_bytes(element, 0, 16) and (len(change) != 3 or element), MALFORMED, place, 'element')
                key = entity + change[0].encode() + b'\0' + element
                check_key(key, MALFORMED, place)
                need(key > before, MALFORMED, place, 'changes out of order')
                before = key
                value, salt = self._content(change[1])
                need(value is not None or len(change) == 4, MALFORMED, place, 'a retraction of nothing')
                replaces = self._refs(change[3], used) if len(change) == 4 else []
                found.append(Change(key, value, replaces, salt))
        need(len(found) <= CHANGES_MAX, MALFORMED, place, 'more than 512 changes')
        need(used == set(range(len(self.others))), MALFORMED, place, 'instances that nothing uses')
        return found

    def _content(self, content):
        """The value of a fact, as in a leaf of the tree, and the salt of its blob where it lies in place."""
        if content is None:
            return None, None
        good = False
        if is_bytes(content):
            good = 1 <= len(content) <= 512 and content[0] <= 2
            value, salt = content, None
        elif is_list(content, 2) and is_bytes(content[0], 16):
            good = is_bytes(content[1]) and 513 <= len(content[1]) <= 4096 and content[1][0] <= 2
            value, salt = content[1], content[0]
        elif is_list(content, 2):
            good = is_int(content[0], 513, 16 << 20) and is_bytes(content[1], 32)
            value, salt = (content[0], content[1]), None
        need(good, MALFORMED, self.place, 'content')
        return value, salt

    def _refs(self, refs, used):
        """The dots that a change replaces, with None for the own instance."""
        place = self.place
        need(is_list(refs) and 0 < len(refs) <= REFS_MAX, MALFORMED, place, 'replaces')
        order = []
        for ref in refs:
            if is_number(ref):
                need(ref < self.number, MALFORMED, place, 'replaces what is not yet')
                order.append((-1, ref))
            else:
                good = is_list(ref, 2) and is_int(ref[0], 0, len(self.others) - 1) and is_number(ref[1])
                need(good, MALFORMED, place, 'replaces')
                order.append((ref[0], ref[1]))
                used.add(ref[0])
        need(ascends(order), MALFORMED, place, 'replaces out of order')
        return [(None if index < 0 else self.others[index], number) for index, number in order]

    def check_instance(self, instance):
        """E7: neither `seen` nor key 10 has the own instance."""
        need(instance not in self.seen and instance not in self.others, MALFORMED, self.place, 'names its own log')

    @property
    def digest(self):
        """The digest of the changes."""
        if self.is_bare:
            return self.body[14]
        return hashed(b'coffret/changes/1' + cbor.map_of(self.pairs, (7, 8, 13)))

    @property
    def message(self):
        """The message that the signature covers."""
        kept = [key for key in self.pairs if key not in (7, 8, 13, 14)]
        return hashed(b'coffret/entry/1' + self.digest + cbor.map_of(self.pairs, kept))

    def verifies(self, key, vault):
        return verifies(key, b'entry', vault, self.message, self.signature)

    def bare(self):
        """E10: the bare form of this entry."""
        body = {key: value for key, value in self.body.items() if key not in (7, 8, 13)}
        body[14] = self.digest
        return cbor.encode(body) + self.signature


class Frontier:
    """A signed frontier, as a head of a zone names it."""

    def __init__(self, content, name=None):
        code = 'sync.head.refused'
        self.name = name or name_of(FRONTIER, content)
        place = f'frontier {self.name.hex()}'
        need(len(content) > 64, code, place)
        self.raw, self.signature = content[:-64], content[-64:]
        body = cbor.decode(self.raw, code, place)
        need(isinstance(body, dict) and {1, 2, 4, 7, 8} <= set(body) <= {1, 2, 3, 4, 6, 7, 8}, code, place, 'keys')
        need(is_bytes(body[1], 32) and (body[2] is None or is_int(body[2])) and is_bytes(body.get(3, bytes(32)), 32), code, place)
        missing = body.get(6, {bytes(16): 1})
        good = isinstance(missing, dict) and missing and all(is_bytes(k, 16) and is_number(v) for k, v in missing.items())
        need(is_frontier(body[4]) and good and is_bytes(body[7], 32) and is_int(body[8], -(1 << 63), (1 << 63) - 1), code, place)
        self.context, self.base, self.full, self.differs = body[1], body[2], body.get(3), body[4]
        self.missing, self.digest, self.time = body.get(6, {}), body[7], body[8]

    def verifies(self, key, vault):
        return verifies(key, b'frontier', vault, hashed(b'coffret/frontier/1' + self.raw), self.signature)


def context_name(content):
    return name_of(CONTEXT, content)
