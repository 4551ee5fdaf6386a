"""The tree of facts (Spec/tree.md): nodes read and written, boundaries, roots. Leaves of logs have a height (Spec/history.md section 4)."""

from collections import namedtuple

from .blobs import INNER, LEAF, name_of
from .failure import need
from .suite import kdf, siphash, u32

MALFORMED = 'storage.tree.malformed-node'
IN_PLACE, NUMBER_MAX, LEVEL_MAX = 512, (1 << 53) - 1, 32
LEAF_T, INNER_T = 2048, 1024

# `value` is None for a retraction, bytes in place, or (byte count, name).
Fact = namedtuple('Fact', 'key instance number height value')
Child = namedtuple('Child', 'key count name')


def varint(n):
    """v n: groups of seven bits, least significant first."""
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


class Bytes:
    """Bytes that are read from the front."""

    def __init__(self, data, code, place):
        self.data, self.at, self.code, self.place = data, 0, code, place

    def take(self, size):
        need(self.at + size <= len(self.data), self.code, self.place, 'cut short')
        self.at += size
        return self.data[self.at - size : self.at]

    def varint(self):
        n = shift = 0
        while True:
            byte = self.take(1)[0]
            n |= (byte & 127) << shift
            if byte < 128:
                need((byte or not shift) and n < 1 << 64, self.code, self.place, 'a number in a longer form')
                return n
            shift += 7
            need(shift < 70, self.code, self.place, 'a number that is too long')

    def end(self):
        need(self.at == len(self.data), self.code, self.place, 'bytes behind the end')


def shared(before, key):
    """The bytes that a key has in common with the one before it."""
    n = 0
    for a, b in zip(before, key):
        if a != b:
            break
        n += 1
    return n


def check_key(key, code, place):
    """Entity, attribute and element of a key; refuses what is none."""
    end = key.find(b'\0', 17)
    good = 18 <= end <= 17 + 64 and all(0x20 <= c <= 0x7E for c in key[17:end]) and len(key) - end - 1 in (0, 16)
    need(good, code, place, f'key {key.hex()}')
    return key[:17], key[17:end].decode(), key[end + 1 :]


class Format:
    """Trees of logs, whose leaves have heights; or the older form without."""

    def __init__(self, with_heights=True):
        self.with_heights = with_heights

    # -- reading ---------------------------------------------------------------------------------------------------------------------

    def _key(self, raw, before):
        n = raw.take(2)
        need(n[0] <= len(before), raw.code, raw.place, 'shared part')
        key = before[: n[0]] + raw.take(n[1])
        need(shared(before, key) == n[0], raw.code, raw.place, 'a shared part that could be longer')
        return key

    def leaf(self, content, place=''):
        """The facts of a leaf."""
        raw = Bytes(content, MALFORMED, place)
        count, instance_count = raw.varint(), raw.varint()
        need(0 < count <= len(content) and instance_count <= len(content), MALFORMED, place, 'counts')
        instances = [raw.take(16) for _ in range(instance_count)]
        need(all(a < b for a, b in zip(instances, instances[1:])), MALFORMED, place, 'instances out of order')
        facts, key, used = [], b'', set()
        for _ in range(count):
            key = self._key(raw, key)
            check_key(key, MALFORMED, place)
            index, number = raw.varint(), raw.varint()
            height = raw.varint() if self.with_heights else 0
            need(index < instance_count, MALFORMED, place, 'instance')
            bounded = 1 <= number <= NUMBER_MAX and (1 <= height <= NUMBER_MAX or not self.with_heights)
            need(bounded, MALFORMED, place, 'a number or a height that no entry has')
            used.add(index)
            size = raw.varint()
            value = None
            if size:
                size -= 1
                need(size <= 16 << 20, MALFORMED, place, 'byte count')
                value = raw.take(size) if size <= IN_PLACE else (size, raw.take(32))
            facts.append(Fact(key, instances[index], number, height, value))
        raw.end()
        need(len(used) == instance_count, MALFORMED, place, 'an instance that no fact uses')
        order = [fact[:3] for fact in facts]
        need(all(a < b for a, b in zip(order, order[1:])), MALFORMED, place, 'facts out of order')
        return facts

    def inner(self, content, place=''):
        """Level and children of an inner node."""
        raw = Bytes(content, MALFORMED, place)
        level, count = raw.take(1)[0], raw.varint()
        need(1 <= level <= LEVEL_MAX and count <= len(content), MALFORMED, place, 'level or count')
        children, key = [], b''
        for _ in range(count):
            before, key = key, self._key(raw, key)
            need(not children or before <= key, MALFORMED, place, 'children out of order')
            check_key(key, MALFORMED, place)
            below = raw.varint()
            need(below > 0, MALFORMED, place, 'a child without facts')
            children.append(Child(key, below, raw.take(32)))
        raw.end()
        return level, children

    def facts(self, blobs, root):
        """All facts of the tree with this root, ascending; each child is held against its parent before the next is read."""
        level, children = self.inner(blobs.get(root, INNER), root.hex())
        found = []
        for child in children:
            self._below(blobs, child, level - 1, found)
        return found

    def _below(self, blobs, child, level, found):
        place, before = child.name.hex(), len(found)
        if level == 0:
            facts = self.leaf(blobs.get(child.name, LEAF), place)
            need(not found or found[-1][:3] < facts[0][:3], MALFORMED, place, 'leaves out of order')
            found += facts
        else:
            stated, children = self.inner(blobs.get(child.name, INNER), place)
            need(stated == level and children, MALFORMED, place, 'level')
            for one in children:
                self._below(blobs, one, level - 1, found)
        good = found[-1].key == child.key and len(found) - before == child.count
        need(good, MALFORMED, place, 'another key or count than its parent states')

    def names(self, blobs, root):
        """The names of all nodes of a tree."""
        found, todo = set(), [(root, INNER)]
        while todo:
            name, kind = todo.pop()
            if name not in found:
                found.add(name)
                if kind == INNER:
                    level, children = self.inner(blobs.get(name, INNER), name.hex())
                    todo += [(child.name, INNER if level > 1 else LEAF) for child in children]
        return found

    # -- writing ---------------------------------------------------------------------------------------------------------------------

    def encode_leaf(self, facts):
        instances = sorted({fact.instance for fact in facts})
        out, before = varint(len(facts)) + varint(len(instances)) + b''.join(instances), b''
        for fact in facts:
            n = shared(before, fact.key)
            out += bytes([n, len(fact.key) - n]) + fact.key[n:] + varint(instances.index(fact.instance)) + varint(fact.number)
            out += varint(fact.height) if self.with_heights else b''
            before = fact.key
            if fact.value is None:
                out += varint(0)
            elif isinstance(fact.value, bytes):
                out += varint(1 + len(fact.value)) + fact.value
            else:
                out += varint(1 + fact.value[0]) + fact.value[1]
        return out

    def encode_inner(self, level, children):
        out, before = bytes([level]) + varint(len(children)), b''
        for child in children:
            n = shared(before, child.key)
            out += bytes([n, len(child.key) - n]) + child.key[n:] + varint(child.count) + child.name
            before = child.key
        return out

    def _weight(self, fact, before, instances):
        size = 0 if fact.value is None else 1 + (len(fact.value) if isinstance(fact.value, bytes) else fact.value[0])
        weight = 3 + len(fact.key) - shared(before, fact.key) + len(varint(fact.number)) + len(varint(size))
        weight += 0 if size == 0 else size - 1 if size - 1 <= IN_PLACE else 32
        weight += len(varint(fact.height)) if self.with_heights else 0
        return weight + (0 if fact.instance in instances else 16)

    def build(self, facts, hash_key, emit=None):
        """The root's name of the tree of these facts, which ascend. `emit(type, content)` gets each node."""
        def node(kind, content):
            if emit is not None:
                emit(kind, content)
            return name_of(kind, content)

        children, part, total, instances = [], [], 0, set()
        for fact in facts:
            weight = self._weight(fact, part[-1].key if part else b'', instances)
            part.append(fact)
            instances.add(fact.instance)
            if ends(hash_key, 0, fact.key, total, total + weight):
                children.append(Child(fact.key, len(part), node(LEAF, self.encode_leaf(part))))
                part, total, instances = [], 0, set()
            else:
                total += weight
        if part:
            children.append(Child(part[-1].key, len(part), node(LEAF, self.encode_leaf(part))))
        level = 1
        while True:
            upper, part, total = [], [], 0
            for child in children:
                weight = 2 + len(child.key) - shared(part[-1].key if part else b'', child.key) + len(varint(child.count)) + 32
                part.append(child)
                if len(part) > 1 and ends(hash_key, level, child.key, total, total + weight):
                    upper.append(self._parent(level, part, node))
                    part, total = [], 0
                else:
                    total += weight
            if part or not upper:
                upper.append(self._parent(level, part, node))
            if len(upper) == 1:
                return upper[0].name
            children, level = upper, level + 1

    def _parent(self, level, part, node):
        key, count = (part[-1].key if part else b''), sum(child.count for child in part)
        return Child(key, count, node(INNER, self.encode_inner(level, part)))


def ends(hash_key, level, key, start, end):
    """Whether the entry that takes a node's weight from `start` to `end` ends the node."""
    t = INNER_T if level else LEAF_T
    limit = t * 11 // 10
    if end > 4 * t - 704:
        return True
    h = siphash(hash_key, bytes([level]) + key)
    return (h >> 32) * (limit**4 >> 32) < end**4 - start**4


def hash_key(split_key, vault, generation=1):
    """The key of the boundaries."""
    return kdf(split_key, b'tree/boundary', vault + u32(generation))[:16]


LOGS = Format()
COMMITS = Format(with_heights=False)
