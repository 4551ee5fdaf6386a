"""The keyring of a store (Spec/keys.md sections 1 to 4): slots, storage key, body."""

import os
import unicodedata

from . import cbor
from .devices import DeviceChain
from .failure import Failure, is_bytes, is_int, is_list, need
from .suite import argon2id, box_open, box_public, envelope_open, hashed, kdf, signing_pair, u32, u64, verifies

MALFORMED, INCONSISTENT = 'keys.keyring.malformed', 'keys.keyring.inconsistent'
VERSION, OLDER = 3, 2
BYTES_MAX, SLOTS_MAX = 16 << 20, 64


class Slot:
    """One way to open the storage key."""

    def __init__(self, value, number):
        place = f'slot {number}'
        need(is_list(value, 8), MALFORMED, place)
        self.id, self.kind, self.algorithm, self.public, self.anchor, self.stretching, self.reference, self.sealed = value
        need(is_bytes(self.id, 16) and is_int(self.kind) and is_int(self.algorithm), MALFORMED, place)
        need(is_bytes(self.public) and is_bytes(self.anchor, 0, 32) and is_bytes(self.sealed), MALFORMED, place)
        need(is_bytes(self.reference) and len(self.reference) <= 64 << 10, MALFORMED, place, 'reference')
        if self.stretching is not None:
            need(is_list(self.stretching, 3) and is_bytes(self.stretching[2], 16), MALFORMED, place, 'stretching')
            kibibytes, passes, _ = self.stretching
            bounded = is_int(kibibytes, 64 << 10, 1 << 20) and is_int(passes, 3, 16)
            need(bounded, 'keys.password-policy', place, f'{kibibytes} KiB, {passes} passes')


class VaultKeys:
    """What the keyring has of one vault."""

    def __init__(self, value, version, number):
        place = f'keyring vault {number}'
        need(is_list(value, 7 if version == 2 else 8), MALFORMED, place)
        self.id, self.name, self.kind, self.chain, self.keys = value[:5]
        self.offered = value[5] if version > 2 else []
        self.split, self.local = value[-2:]
        need(is_bytes(self.id, 32) and isinstance(self.name, str) and self.kind in (1, 2, 3), MALFORMED, place)
        need(is_list(self.chain) and isinstance(self.keys, dict) and self.keys, MALFORMED, place)
        keys_good = all(is_int(epoch, 1) and is_bytes(key, 32) for epoch, key in self.keys.items())
        good = is_list(self.offered) and all(is_list(o, 3) and is_int(o[0], 1) and is_bytes(o[1], 32) for o in self.offered)
        need(good, MALFORMED, place, 'offered keys')
        need(keys_good and is_bytes(self.split, 32) and is_bytes(self.local, 32), MALFORMED, place)

    @property
    def directory(self):
        """The name of the vault's folder."""
        return self.id[:16].hex()


class Keyring:
    """An opened keyring; everything that can be checked without the rest of the store was checked.

    Version 2 is read where a caller admits it: its vaults are of an earlier format.
    """

    def __init__(self, path, passphrase, admits_older=False):
        try:
            size = os.path.getsize(path)
            need(size <= BYTES_MAX, 'keys.keyring.too-large', path)
            with open(path, 'rb') as file:
                raw = file.read()
        except FileNotFoundError:
            raise Failure('keys.keyring.not-found', path) from None
        value = cbor.decode(raw, MALFORMED, path)
        need(is_list(value) and len(value) > 1 and value[0] == 'coffret keyring', MALFORMED, path)
        need(admits_older or value[1] != OLDER, 'keys.keyring.outdated', path, 'a keyring of vaults of commits')
        need(value[1] in (OLDER, VERSION), 'keys.keyring.unsupported-version', path, str(value[1]))
        need(is_list(value, 9), MALFORMED, path)
        _, self.version, self.store, self.generation, slots, self.body, self.author, self.signature, mac = value
        need(is_bytes(self.store, 16) and is_int(self.generation) and is_list(slots), MALFORMED, path)
        need(is_bytes(self.body) and is_bytes(self.author, 32) and is_bytes(self.signature, 64), MALFORMED, path)
        need(is_bytes(mac, 32) and 0 < len(slots) <= SLOTS_MAX, MALFORMED, path)
        self.slots = [Slot(slot, number) for number, slot in enumerate(slots)]
        slot, storage = self._unlock(passphrase)
        expected = hashed(cbor.encode(value[:-1]), key=kdf(storage, b'slots/mac', self.store))
        need(mac == expected, 'keys.keyring.altered', path)
        need(slot.anchor == self.author, 'keys.keyring.foreign', path)
        message = hashed(cbor.encode(value[:7]))
        good = verifies(self.author, b'keyring/signature', self.store, message, self.signature)
        need(good, 'keys.keyring.foreign', path, 'signature')
        content = envelope_open(
            storage, b'keyring/body', self.store + u64(self.generation), self.body, failure='keys.keyring.altered', place='keyring body'
        )
        self._open_body(content)

    def _unlock(self, passphrase):
        """The slot that the passphrase opens, and the storage key."""
        text = unicodedata.normalize('NFC', passphrase.decode()).encode()
        for slot in self.slots:
            if slot.kind != 1 or slot.stretching is None or slot.algorithm != 1:
                continue
            stretched = argon2id(text, *slot.stretching)
            own = self.store + slot.id
            secret = kdf(stretched, b'slot/passphrase', own, slot.anchor)
            try:
                private = envelope_open(secret, b'slot-seal/private-key', own, slot.reference, filled=False)
                need(len(private) == 32 and box_public(private) == slot.public, 'keys.unlock-failed')
                storage = box_open(private, b'slot-seal/storage-key', own + u64(self.generation), slot.sealed, filled=False)
                need(len(storage) == 32, 'keys.unlock-failed')
                return slot, storage
            except Failure:
                continue
        raise Failure('keys.unlock-failed', '', 'the passphrase opens no slot')

    def _open_body(self, content):
        body = cbor.decode(content, MALFORMED, 'keyring body')
        need(is_list(body, 8, 9), MALFORMED, 'keyring body')
        self.device, self.instance, self.marker, self.details, chain, former, names, vaults = body[:8]
        self.server = body[8] if len(body) > 8 else None
        need(is_bytes(self.instance, 16) and is_bytes(self.marker, 32) and is_bytes(self.details, 32), MALFORMED, 'keyring body')
        need(is_list(former) and is_list(names) and is_list(vaults) and len(vaults) <= 1024, MALFORMED, 'keyring body')
        self.account = DeviceChain(chain, 'device chain')
        self.former = [DeviceChain(links, f'former device chain {number}') for number, links in enumerate(former)]
        self._check_device()
        self.vaults = [VaultKeys(value, self.version, number) for number, value in enumerate(vaults)]
        for vault in self.vaults:
            self._check_founding(vault)

    def _check_device(self):
        need(is_list(self.device, 4), MALFORMED, 'keyring device')
        id, seed, box, noise = self.device
        known = self.account.devices.get(id)
        need(known is not None, INCONSISTENT, 'keyring device', 'not in the chain')
        keys = signing_pair(seed)[0], box_public(box), box_public(noise)
        need(keys == (known.key, known.box, known.noise), INCONSISTENT, 'keyring device', 'keys that its chain does not have')
        need(self.author == known.key, 'keys.keyring.foreign', 'keyring device', 'the author is another device')

    def _check_founding(self, vault):
        """The key of epoch 1 is the one to which the founding link commits."""
        from .members import founding

        link = founding(vault.chain, vault.id, f'vault {vault.name}')
        need(1 in vault.keys, INCONSISTENT, f'vault {vault.name}', 'no key of epoch 1')
        commitment = kdf(vault.keys[1], b'vault-key/commit', link.parts[1] + u32(1))
        need(commitment == link.parts[4], INCONSISTENT, f'vault {vault.name}', 'another key of epoch 1')
