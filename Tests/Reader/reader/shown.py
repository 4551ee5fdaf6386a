"""What is shown of a key (Spec/history.md S8, T2 to T7; Spec/items.md section 9)."""

from collections import namedtuple

from . import cbor
from .failure import Failure
from .texts import merged

TEXT_MAX, TEXTS_MAX, TOTAL_MAX = 1 << 20, 8, 4 << 20
UNDISPUTED = ('pinned', 'archived', 'trashed', 'hidden', 'origin', 'moved')

# `value` is None if it cannot be read, and `failure` says why; `others` are the other values of a conflict.
Shown = namedtuple('Shown', 'value others is_merged failure')


def is_text(entity, attribute):
    """Whether a key's shape is text."""
    return attribute == 'text' and entity[:1] in (b'N', b'L', b'C', b'I', b'S', b'T', b'X')


def of_key(state, values, key, entity, attribute):
    """What is shown of a key that has current facts."""
    facts = state.current(key)
    read, failures = [], []
    for fact in facts:
        try:
            read.append((fact, values.shown(fact.value, f'fact {key.hex()}')))
        except Failure as failure:
            read.append((fact, None))
            failures.append(failure)
    value, others = read[0][1], []
    for _, other in read[1:]:
        if other != value and other not in others:
            others.append(other)
    failure = failures[0] if failures else None
    if not others:
        return Shown(value, [], False, failure)
    if attribute in UNDISPUTED:
        return Shown(value, [], False, failure)
    if attribute in ('modified', 'created') and not failures:
        times = [time for _, raw in read if isinstance(time := _decoded(raw), int)]
        if times:
            return Shown(cbor.encode(max(times) if attribute == 'modified' else min(times)), [], False, None)
    if is_text(entity, attribute) and not failures:
        whole = _merged(state, values, key, read)
        if whole is not None:
            return Shown(whole, [], True, None)
    return Shown(value, others, False, failure)


def _decoded(raw):
    try:
        return cbor.decode(raw)
    except Failure:
        return None


def _merged(state, values, key, read):
    """The merged text, or None (T4)."""
    if len(read) > TEXTS_MAX or sum(len(text) for _, text in read) > TOTAL_MAX or any(len(text) > TEXT_MAX for _, text in read):
        return None
    common = set.intersection(*(state.ancestors(key, (fact.instance, fact.number)) for fact, _ in read))
    if not common:
        return None
    base = max((state.version(key, dot) for dot in common), key=lambda fact: (fact.height, fact.instance, fact.number))
    try:
        under = values.shown(base.value)
    except Failure:
        return None
    if len(under) > TEXT_MAX:
        return None
    ordered = sorted(read, key=lambda one: (one[0].height, one[0].instance, one[0].number))
    return merged(under, [text for _, text in ordered])


def value_for_people(raw, entity, attribute):
    """A value as JSON has it: text, numbers and arrays as they are, bytes in hex."""
    if raw is None:
        return None
    if is_text(entity, attribute):
        return raw.decode('utf-8', 'replace')
    try:
        return _plain(cbor.decode(raw))
    except Failure:
        return {'unreadable': raw.hex()}


def _plain(value):
    if isinstance(value, bytes):
        return {'bytes': value.hex()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return value
