"""Files of attachments (Spec/attachment.md): their references, chunks and digests."""

import os

from . import cbor
from .failure import Failure, is_bytes, is_int, is_list, need
from .suite import address, hashed, kdf, padme, u32, u64, xchacha_open

CHUNK, TAG, HEADER = 1 << 20, 16, b'CofFile\1\0\0\0\1\0\0\0\0'
TRUNCATED, ALTERED = 'storage.attachment.truncated', 'storage.attachment.authentication-failed'


class Reference:
    """The value by which a fact names a file."""

    def __init__(self, raw, place):
        value = cbor.decode(raw, ALTERED, place)
        need(is_list(value, 7) and value[0] == 1, ALTERED, place, 'reference')
        _, self.id, self.key, self.chunks, self.size, self.plain, self.digest = value
        good = is_bytes(self.id, 16) and is_bytes(self.key, 32) and is_int(self.chunks, 1) and is_int(self.size)
        need(good and is_bytes(self.plain, 32) and is_bytes(self.digest, 32), ALTERED, place, 'reference')
        need(self.chunks == max(1, -(-self.size // CHUNK)), ALTERED, place, 'number of chunks')

    @property
    def sizes(self):
        """The bytes of each chunk, without tags."""
        last = self.size - CHUNK * (self.chunks - 1)
        return [CHUNK] * (self.chunks - 1) + [max(256, padme(last))]


def path_of(vault, keys, epoch, file):
    """The place of a file below a vault's folder, under one epoch."""
    material = kdf(keys[epoch], b'addr/chunk', vault + u32(epoch))
    digits = address(material, hashed(b'coffret/file/1' + vault + file)).hex()
    return f'files/{digits[:2]}/{digits}'


def check(directory, vault, keys, raw, place):
    """Reads a whole file, and holds it against its reference; gives the file's bytes."""
    reference = Reference(raw, place)
    for epoch in sorted(keys, reverse=True):
        path = os.path.join(directory, path_of(vault, keys, epoch, reference.id))
        if os.path.exists(path):
            return _read(path, vault, reference)
    raise Failure('storage.attachment.missing', place)


def _read(path, vault, reference):
    place = os.path.join(*path.split(os.sep)[-3:])
    size = 16 + sum(reference.sizes) + TAG * reference.chunks
    need(os.path.getsize(path) == size, TRUNCATED, place, f'{os.path.getsize(path)} bytes in place of {size}')
    with open(path, 'rb') as file:
        need(file.read(16) == HEADER, ALTERED, place, 'header')
        tags, plain = b'', b''
        for number, length in enumerate(reference.sizes):
            sealed = file.read(length + TAG)
            mark = u64(number) + bytes([number == reference.chunks - 1])
            ad = b'coffret/chunk/1' + vault + reference.id + mark + kdf(reference.key, b'chunk-key/commit')
            chunk = xchacha_open(reference.key, bytes(15) + mark, ad, sealed)
            need(chunk is not None, ALTERED, place, f'chunk {number}')
            tags, plain = tags + sealed[-TAG:], plain + chunk
    need(not any(plain[reference.size :]), ALTERED, place, 'padding')
    plain = plain[: reference.size]
    need(hashed(tags) == reference.digest and hashed(plain) == reference.plain, ALTERED, place, 'digest')
    return plain
