"""Stored values (Spec/history.md section 14) and their places (Spec/fact.md section 4): forms, zstd frames, deltas, pieces."""

import ctypes
import ctypes.util

from .blobs import VALUE, VALUE_LIST, name_of
from .failure import Failure, need
from .tree import Bytes

MALFORMED = 'storage.value.malformed'
LIST_MALFORMED = 'storage.fact.malformed-value'
TEXT_MAX, DELTA_MAX, PIECE_MAX, WINDOW_LOG_MAX = 16 << 20, 1 << 20, 16_384, 24
IN_BLOB_MAX = 16_384


def _library():
    path = ctypes.util.find_library('zstd')
    if path is None:
        return None
    library = ctypes.CDLL(path)
    for name in ('ZSTD_createDCtx', 'ZSTD_createCCtx'):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ('ZSTD_decompressDCtx', 'ZSTD_compress2', 'ZSTD_compressBound'):
        getattr(library, name).restype = ctypes.c_size_t
    return library


zstd = _library()


def check_frame(frame, place=''):
    """Z4: one frame without magic, size, checksum or dictionary; a bounded window; blocks up to the end."""
    need(len(frame) > 1 and frame[0] == 0 and frame[1] <= 112, MALFORMED, place, 'head of the frame')
    at, last = 2, False
    while not last:
        need(at + 3 <= len(frame), MALFORMED, place, 'cut short')
        head = int.from_bytes(frame[at : at + 3], 'little')
        last, kind = head & 1, head >> 1 & 3
        need(kind < 3, MALFORMED, place, 'a reserved block')
        at += 3 + (1 if kind == 1 else head >> 3)
    need(at == len(frame), MALFORMED, place, 'another end than its blocks have')


def inflate(frame, size, prefix=b'', place=''):
    """Exactly `size` bytes of a checked frame; nothing is written beyond them."""
    need(zstd is not None, 'storage.value.library-missing', place)
    context = ctypes.c_void_p(zstd.ZSTD_createDCtx())
    try:
        zstd.ZSTD_DCtx_setParameter(context, ctypes.c_int(1000), ctypes.c_int(1))  # a frame without magic
        zstd.ZSTD_DCtx_setParameter(context, ctypes.c_int(100), ctypes.c_int(WINDOW_LOG_MAX))
        if prefix:
            zstd.ZSTD_DCtx_refPrefix(context, prefix, ctypes.c_size_t(len(prefix)))
        out = ctypes.create_string_buffer(size or 1)
        n = zstd.ZSTD_decompressDCtx(context, out, ctypes.c_size_t(size), frame, ctypes.c_size_t(len(frame)))
        need(not zstd.ZSTD_isError(ctypes.c_size_t(n)) and n == size, MALFORMED, place, 'another size than it states')
        return out.raw[:size]
    finally:
        zstd.ZSTD_freeDCtx(context)


def deflate(text, prefix=b''):
    """A frame of the form of Z4, at level 3: what tests write."""
    context = ctypes.c_void_p(zstd.ZSTD_createCCtx())
    for parameter, value in ((100, 3), (200, 0), (201, 0), (202, 0), (10, 1)):
        zstd.ZSTD_CCtx_setParameter(context, ctypes.c_int(parameter), ctypes.c_int(value))
    if prefix:
        zstd.ZSTD_CCtx_refPrefix(context, prefix, ctypes.c_size_t(len(prefix)))
    out = ctypes.create_string_buffer(zstd.ZSTD_compressBound(ctypes.c_size_t(len(text))) + 64)
    n = zstd.ZSTD_compress2(context, out, ctypes.c_size_t(len(out)), text, ctypes.c_size_t(len(text)))
    zstd.ZSTD_freeCCtx(context)
    return out.raw[:n]


def base_name(stored):
    """The name of the base of a value of form 2; None for the other forms."""
    if stored[:1] != b'\2':
        return None
    raw = Bytes(stored, MALFORMED, '')
    raw.take(1)
    raw.varint()
    return raw.take(32)


def value_of(stored, base=None, place=''):
    """The value of stored bytes. `base(name)` gives the stored bytes of a base."""
    need(stored[:1] in (b'\0', b'\1', b'\2'), MALFORMED, place, 'form')
    if stored[0] == 0:
        return stored[1:]
    raw = Bytes(stored, MALFORMED, place)
    raw.take(1)
    size, prefix, room = raw.varint(), b'', len(stored)
    need(size <= (TEXT_MAX if stored[0] == 1 else DELTA_MAX), MALFORMED, place, f'{size} bytes')
    if stored[0] == 2:
        name = raw.take(32)
        under = base(name) if base else None
        need(under is not None, MALFORMED, place, 'a base that is not here')
        need(under[:1] in (b'\0', b'\1') and len(under) >= 513, MALFORMED, place, 'a base that is none')
        prefix, room = value_of(under, None, place), room + len(under)
        need(len(prefix) <= DELTA_MAX, MALFORMED, place, 'a base that is too long')
    need(size <= 64 * room + 4096, MALFORMED, place, 'a bomb')
    frame = stored[raw.at :]
    check_frame(frame, place)
    return inflate(frame, size, prefix, place)


class Values:
    """The stored bytes and the values that blobs hold."""

    def __init__(self, blobs):
        self.blobs, self.in_entries = blobs, {}

    def placed(self, salt, stored):
        """(byte count, name) of a value that an entry has in place with the salt of its blob; it is read from there."""
        name = name_of(VALUE, salt + stored)
        self.in_entries[name] = stored
        return len(stored), name

    def stored(self, name, size=None):
        """The stored bytes under a name: of a blob, or of the list of its pieces."""
        place = name.hex()
        if name not in self.blobs and name in self.in_entries:
            return self.in_entries[name]
        kind, content = self.blobs.get_typed(name, VALUE, VALUE_LIST)
        need(len(content) > 16, LIST_MALFORMED, place, 'no salt')
        stored = content[16:] if kind == VALUE else self._joined(content, place)
        need(len(stored) > 512 and (kind == VALUE_LIST) == (len(stored) > IN_BLOB_MAX), LIST_MALFORMED, place, 'kind of blob')
        need(size in (None, len(stored)), LIST_MALFORMED, place, f'{len(stored)} bytes, {size} stated')
        return stored

    def _joined(self, content, place):
        raw = Bytes(content, LIST_MALFORMED, place)
        salt, pieces, total = raw.take(16), [], 0
        while raw.at < len(content):
            size, name = raw.varint(), raw.take(32)
            total += size
            need(1 <= size <= PIECE_MAX and total <= TEXT_MAX, LIST_MALFORMED, place, 'size of a piece')
            piece = self.blobs.get(name, VALUE)
            need(piece[:16] == salt and len(piece) == 16 + size, LIST_MALFORMED, place, 'a piece')
            pieces.append(piece[16:])
        need(len(pieces) > 1, LIST_MALFORMED, place, 'fewer than two pieces')
        return b''.join(pieces)

    def of_fact(self, value):
        """The stored bytes of a fact's value: in place, or (byte count, name)."""
        return value if isinstance(value, bytes) else self.stored(value[1], value[0])

    def shown(self, value, place=''):
        """The value of a fact, decoded."""

        def base(name):
            try:
                return self.stored(name)
            except Failure:
                return None

        return value_of(self.of_fact(value), base, place)

    def names(self, value):
        """The names of all blobs that a fact's value rests on, pieces and bases among them."""
        found = set()
        todo = [] if isinstance(value, bytes) else [value[1]]
        stored = self.of_fact(value)
        if (base := base_name(stored)) is not None:
            todo.append(base)
        for name in todo:
            found.add(name)
            if name not in self.blobs and name in self.in_entries:
                continue
            if (kind_content := self.blobs.get_typed(name, VALUE, VALUE_LIST))[0] == VALUE_LIST:
                raw = Bytes(kind_content[1][16:], LIST_MALFORMED, name.hex())
                while raw.at < len(raw.data):
                    raw.varint()
                    found.add(raw.take(32))
        return found
