"""Deterministic CBOR (Spec/encoding.md): one value, one encoding; anything else is refused."""

from collections import namedtuple

from .failure import Failure, need

DEPTH_MAX = 16
MALFORMED = 'reader.cbor.malformed'

Tag = namedtuple('Tag', 'number value')
Raw = namedtuple('Raw', 'encoded')  # a key of a map that is neither integer nor string: no format has one


def decode(data, code=MALFORMED, place=''):
    """The one item that fills these bytes; a `Failure` with `code` if they are anything else."""
    try:
        value, end = _item(data, 0, 1)
        need(end == len(data), MALFORMED, '', 'bytes behind the item')
        return value
    except Failure as failure:
        raise Failure(code, place, failure.found) from None


def pairs(data, code=MALFORMED, place=''):
    """The encoded pairs of a map, by key: parts of a body are hashed as they are, without encoding them again."""
    need(isinstance(decode(data, code, place), dict), code, place, 'no map')
    count, at = _argument(data, 0)
    found = {}
    for _ in range(count):
        start = at
        key, at = _item(data, at, 2)
        _, at = _item(data, at, 2)
        found[key] = data[start:at]
    return found


def map_of(encoded_pairs, keys):
    """The map that has only these keys of a map, from its encoded pairs."""
    kept = [pair for key, pair in encoded_pairs.items() if key in keys]
    return _head(5, len(kept)) + b''.join(kept)


def _argument(data, at):
    """The integer in a head, and the place behind it."""
    info = data[at] & 31
    at += 1
    if info < 24:
        return info, at
    need(info < 28, MALFORMED, '', 'an indefinite or reserved length')
    size = 1 << info - 24
    need(at + size <= len(data), MALFORMED, '', 'cut short')
    value = int.from_bytes(data[at : at + size], 'big')
    need(value >= (24 if size == 1 else 1 << 4 * size), MALFORMED, '', 'not the shortest form')
    return value, at + size


def _item(data, at, depth):
    need(depth <= DEPTH_MAX, MALFORMED, '', 'nested too deep')
    need(at < len(data), MALFORMED, '', 'cut short')
    first = data[at]
    major = first >> 5
    if major == 7:
        need(first in (0xF4, 0xF5, 0xF6), MALFORMED, '', 'a simple value or float that no format has')
        return {0xF4: False, 0xF5: True, 0xF6: None}[first], at + 1
    count, at = _argument(data, at)
    if major == 0:
        return count, at
    if major == 1:
        return -1 - count, at
    left = len(data) - at
    if major in (2, 3):
        need(count <= left, MALFORMED, '', 'cut short')
        raw = bytes(data[at : at + count])
        try:
            return (raw if major == 2 else raw.decode()), at + count
        except UnicodeDecodeError:
            raise Failure(MALFORMED, '', 'text that is no UTF-8') from None
    if major == 4:
        need(count <= left, MALFORMED, '', 'cut short')
        values = []
        for _ in range(count):
            value, at = _item(data, at, depth + 1)
            values.append(value)
        return values, at
    if major == 5:
        need(2 * count <= left, MALFORMED, '', 'cut short')
        return _map(data, at, count, depth)
    value, at = _item(data, at, depth + 1)
    if count in (2, 3):
        need(isinstance(value, bytes) and len(value) > 8 and value[0] != 0, MALFORMED, '', 'a big number that fits, or has zeros')
        number = int.from_bytes(value, 'big')
        return (number if count == 2 else -1 - number), at
    return Tag(count, value), at


def _map(data, at, count, depth):
    values, before = {}, b''
    for _ in range(count):
        start = at
        key, at = _item(data, at, depth + 1)
        encoded = bytes(data[start:at])
        need(encoded > before, MALFORMED, '', 'keys that do not ascend')
        before = encoded
        value, at = _item(data, at, depth + 1)
        values[key if type(key) in (int, bytes, str) else Raw(encoded)] = value
    return values, at


def _head(major, value):
    if value < 24:
        return bytes([major << 5 | value])
    size = next(size for size in (1, 2, 4, 8) if value < 1 << 8 * size)
    return bytes([major << 5 | {1: 24, 2: 25, 4: 26, 8: 27}[size]]) + value.to_bytes(size, 'big')


def encode(value):
    """The one encoding of a value of integers, bytes, text, lists, maps, tags, true, false and null."""
    if value is None or value is False or value is True:
        return {None: b'\xf6', False: b'\xf4', True: b'\xf5'}[value]
    if isinstance(value, Raw):
        return value.encoded
    if isinstance(value, Tag):
        return _head(6, value.number) + encode(value.value)
    if isinstance(value, int):
        number, negative = (value, 0) if value >= 0 else (-1 - value, 1)
        if number < 1 << 64:
            return _head(negative, number)
        return _head(6, 2 + negative) + encode(number.to_bytes((number.bit_length() + 7) // 8, 'big'))
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        raw = value.encode()
        return _head(3, len(raw)) + raw
    if isinstance(value, list):
        return _head(4, len(value)) + b''.join(map(encode, value))
    return _head(5, len(value)) + b''.join(key + item for key, item in sorted((encode(k), encode(v)) for k, v in value.items()))
