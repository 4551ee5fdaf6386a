"""Blobs (Spec/blob.md): what is sealed in a vault, found by name, and checked."""

from .failure import Failure, need
from .suite import hashed, kdf, name_of_address, padded, secretbox_open, u32

LEAF, INNER, COMMIT, VALUE, VALUE_LIST, COMMIT_CONTEXT, STATE, ENTRY, CONTEXT, FRONTIER, MEMORY = range(1, 12)
BAD = 'storage.blob.authentication-failed'
BYTES_MAX = 1 << 20


def plaintext(kind, content):
    """P: type, version, length, content and padding."""
    size = padded(6 + len(content))
    return bytes([kind, 1]) + u32(len(content)) + content + bytes(size - 6 - len(content))


def name_of(kind, content):
    """The name of a blob."""
    return hashed(plaintext(kind, content))


class EpochKeys:
    """The keys of one epoch of a vault."""

    def __init__(self, vault_key, vault, epoch):
        context = vault + u32(epoch)
        self.blob = kdf(vault_key, b'blob', context)
        self.nonce = kdf(vault_key, b'nonce', context)
        self.address = kdf(vault_key, b'addr/blob', context)


def opened(keys, place, stored, name=None):
    """Type and content of a stored blob, and its name; `name` is the one that it has to have, if that is known."""
    epoch = int.from_bytes(stored[:4], 'big')
    need(epoch in keys, BAD, place, f'epoch {epoch}, whose key is not here')
    own = keys[epoch]
    name = name or name_of_address(own.address, place if isinstance(place, bytes) else b'')
    shown = name.hex()
    plain = secretbox_open(own.blob, hashed(name, 24, own.nonce), stored[4:])
    need(plain is not None, BAD, shown, 'seal')
    need(hashed(plain) == name, BAD, shown, 'name')
    need(len(plain) >= 6 and len(plain) <= BYTES_MAX and plain[1] == 1, BAD, shown, 'version')
    length = int.from_bytes(plain[2:6], 'big')
    need(1 <= plain[0] <= MEMORY, BAD, shown, f'type {plain[0]}')
    need(6 + length <= len(plain) and len(plain) == padded(6 + length), BAD, shown, 'size')
    need(not any(plain[6 + length :]), BAD, shown, 'padding')
    return plain[0], plain[6 : 6 + length], name


class Blobs:
    """All blobs of a vault by name, opened and checked when they are asked for."""

    def __init__(self, records, vault_keys, vault):
        self.keys = {epoch: EpochKeys(key, vault, epoch) for epoch, key in vault_keys.items()}
        self.by_name, self.failures = {}, []
        self.types = {}
        for record in records:
            epoch = int.from_bytes(record.stored[:4], 'big')
            if epoch not in self.keys:
                self.failures.append(Failure(BAD, f'{record.place} at {record.offset}', f'epoch {epoch}, whose key is not here'))
                continue
            name = name_of_address(self.keys[epoch].address, record.address)
            self.by_name.setdefault(name, []).append(record)

    def check_all(self):
        """Opens every record, and remembers the names by type; what does not open is named in `failures`."""
        for name, records in self.by_name.items():
            for record in records:
                try:
                    kind, _, _ = opened(self.keys, record.address, record.stored, name)
                    self.types.setdefault(kind, set()).add(name)
                except Failure as failure:
                    failure.place = f'{record.place} at {record.offset}: {failure.place}'
                    self.failures.append(failure)

    def __contains__(self, name):
        return name in self.by_name

    def of_record(self, record):
        """Type, content and name of a record of the journal."""
        epoch = int.from_bytes(record.stored[:4], 'big')
        need(epoch in self.keys, BAD, f'{record.place} at {record.offset}', f'epoch {epoch}')
        return opened(self.keys, record.address, record.stored, name_of_address(self.keys[epoch].address, record.address))

    def get(self, name, *kinds):
        """The content of a blob of one of these types."""
        return self.get_typed(name, *kinds)[1]

    def get_typed(self, name, *kinds):
        """Type and content; the newest record that verifies counts."""
        need(name in self.by_name, 'storage.blob.missing', name.hex())
        problem = None
        for record in reversed(self.by_name[name]):
            try:
                kind, content, _ = opened(self.keys, record.address, record.stored, name)
                need(kind in kinds, BAD, name.hex(), f'type {kind}')
                return kind, content
            except Failure as failure:
                problem = problem or failure
        raise problem
