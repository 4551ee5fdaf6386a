"""Altered stores: every flipped, cut, missing or exchanged piece gives an error with a name, never a traceback, and never another state."""

import json
import os
import random
import shutil
import tempfile

from reader.blobs import name_of
from reader.command import main
from reader.failure import Failure
from reader.keyring import Keyring
from reader.suite import envelope_open, envelope_seal, kdf
from reader.vault import Vault
from scenarios import PASSPHRASE, Ada, dropped
from writer import save, secret

SEED, ROUNDS = 15, 60


class Altered:
    """A store on the disk whose files can be altered, and put back."""

    def __init__(self, folder, passphrase, vault):
        self.folder, self.keyring = folder, Keyring(f'{folder}/store.keyring', passphrase)
        self.keys = next(keys for keys in self.keyring.vaults if keys.name == vault)
        own = f'vaults/{self.keys.directory}'
        self.files = sorted(
            f'{own}/{os.path.relpath(os.path.join(at, name), f"{folder}/{own}")}'
            for at, _, names in os.walk(f'{folder}/{own}')
            for name in names
            if not name.startswith(('index', 'lock', 'sync.lock', 'rewriting', 'log-note', 'rest')) and os.path.getsize(os.path.join(at, name))
        )
        self.original = {name: self.read(name) for name in self.files}
        self.state = self.seen()

    def read(self, name):
        with open(f'{self.folder}/{name}', 'rb') as file:
            return file.read()

    def put(self, name, data=None):
        if data is None and os.path.exists(f'{self.folder}/{name}'):
            os.remove(f'{self.folder}/{name}')
        elif data is not None:
            with open(f'{self.folder}/{name}', 'wb') as file:
                file.write(data)

    def seen(self):
        """What is named, and the root and the digest of the state if there is one."""
        try:
            vault = Vault(self.folder, self.keyring, self.keys)
            vault.check_values()
            vault.check_roots()
        except Failure as failure:
            return [failure.code], None
        digest = vault.state.digest(vault.keys.split, vault.id)
        return sorted({failure.code for failure in vault.failures + vault.notes}), (vault.root(vault.state), digest)

    def flips(self, most):
        """Flips bits in each file: something is named that was not, or it is one of the few bytes that nothing reads."""
        wrong, rng = [], random.Random(SEED)
        for name in self.files:
            data = self.original[name]
            for at in sorted(rng.sample(range(used(data)), min(used(data), most))):
                self.put(name, data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
                found = self.seen()
                if found[0] == self.state[0] and (not _is_unread(name, data, at) or found[1] != self.state[1]):
                    wrong.append(f'{name} byte {at}: nothing is named')
            self.put(name, data)
        return wrong


def stored(folder, world, **more):
    """A world of tests on the disk."""
    save(folder, world, PASSPHRASE, **more)
    return Altered(folder, PASSPHRASE, world.name)


def used(data):
    """The bytes of a file up to the zeros behind its end."""
    return len(data.rstrip(b'\0'))


def _stores(work):
    wrong = []
    for what, more in (('whole', lambda ada: {}), ('behind a base', dropped)):
        ada = Ada()
        ada.whole()
        folder = tempfile.mkdtemp()
        try:
            wrong += [f'{what}: {line}' for line in work(stored(folder, ada.world, **more(ada)))]
        finally:
            shutil.rmtree(folder)
    return wrong


def unaltered():
    """The stores that are altered are ones that verify."""
    return _stores(lambda store: [] if store.state[0] == [] and store.state[1] else [str(store.state)])


def flipped():
    """One flipped bit anywhere in a vault's files."""
    return _stores(lambda store: store.flips(60))


def _is_unread(name, data, at):
    """The room between the header of a journal segment and its first record, which nothing reads but the hint in it."""
    return '/journal/' in name and data[12] == 1 and 64 <= at < 4096


def keyrings():
    """Flipped bytes of the keyring."""
    wrong = []
    ada = Ada()
    with tempfile.TemporaryDirectory() as folder:
        save(folder, ada.world, PASSPHRASE)
        path = f'{folder}/store.keyring'
        data = open(path, 'rb').read()
        rng = random.Random(SEED)
        for at in sorted(rng.sample(range(len(data)), 120)):
            with open(path, 'wb') as file:
                file.write(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
            try:
                Keyring(path, PASSPHRASE)
                wrong.append(f'byte {at} is not noticed')
            except Failure as failure:
                if not failure.code.startswith(('keys.', 'trust.')):
                    wrong.append(f'byte {at}: {failure.code}')
    return wrong


def cut():
    """Files that are missing, empty, cut short or longer."""

    def work(store):
        wrong = []
        for name in store.files:
            data = store.original[name]
            for what, other in (('missing', None), ('empty', b''), ('half', data[: used(data) // 2]), ('cut', data[: used(data) - 1])):
                store.put(name, other)
                if not store.seen()[0]:
                    wrong.append(f'{name} {what}: nothing is named')
            store.put(name, data)
        return wrong

    return _stores(work)


def resealed():
    """Altered content under good seals, as somebody with the keys can write it: an error with a name, never a traceback."""
    wrong, rng = [], random.Random(SEED)
    for number in range(ROUNDS):
        ada = Ada()
        ada.whole()
        more = dropped(ada) if number % 2 else {}
        behind = more.get('behind', ada.world.entries)
        at = rng.randrange(len(ada.world.blobs))
        target = rng.choice(['blob', 'kept', 'chains'])
        if target == 'kept' and more:
            more['kept'] = _altered(more['kept'], rng)
        elif target == 'blob':
            name, kind, content, epoch = ada.world.blobs[at]
            content = _altered(content, rng)
            new = name_of(kind, content)
            ada.world.blobs[at] = (new, kind, content, epoch)
            # It opens under its new name, and all that is listed by name follows.
            more['behind'] = [new if entry == name else entry for entry in behind]
            more['packed'] = [new if one == name else one for one in more.get('packed', ())]
        with tempfile.TemporaryDirectory() as folder:
            save(folder, ada.world, PASSPHRASE, **more)
            if target == 'chains':
                _reseal_chains(folder, ada.world, rng)
            try:
                code, report = run(folder, rng.choice(['verify', 'state', 'conflicts']))
            except Exception as error:  # whatever it is, it is a traceback
                wrong.append(f'round {number}, {target}: {type(error).__name__} {error}')
                continue
            if code != (1 if report['failures'] else 0):
                wrong.append(f'round {number}, {target}: exit {code}')
    return wrong


def _altered(content, rng):
    at = rng.randrange(len(content))
    return content[:at] + bytes([rng.choice([content[at] ^ 1 << rng.randrange(8), 0, 0x1B, 0x40, 0x80, 0xF6])]) + content[at + 1 :]


def _reseal_chains(folder, world, rng):
    """The sealed file of chains, with a byte of its content altered."""
    path = f'{folder}/vaults/{world.vault[:16].hex()}/chains'
    key = kdf(world.local, b'heads/local', world.vault)
    ad = world.vault + b'\3'
    with open(path, 'rb') as file:
        content = envelope_open(key, b'heads/record', ad, file.read())
    with open(path, 'wb') as file:
        file.write(envelope_seal(key, b'heads/record', ad, _altered(content, rng), secret('chains', 24)))


def whole_command():
    """The command itself on random bytes: it names an error and ends with 1."""
    wrong, rng = [], random.Random(SEED)
    ada = Ada()
    ada.whole()
    with tempfile.TemporaryDirectory() as folder:
        store = stored(f'{folder}/store', ada.world)
        for number in range(20):
            name = rng.choice(store.files)
            data = bytearray(store.original[name])
            for at in rng.sample(range(used(data)), 10):
                data[at] = rng.randrange(256)
            store.put(name, bytes(data))
            code, report = run(store.folder, rng.choice(['verify', 'state', 'conflicts']))
            if code != (1 if report['failures'] else 0) or not (report['failures'] or any(v.get('notes') or v.get('items') for v in report['vaults'])):
                wrong.append(f'{name}, round {number}: exit {code}')
            store.put(name, store.original[name])
    return wrong


def run(folder, command, *more):
    """The command as a person calls it: its exit code and its JSON."""
    import contextlib
    import io

    reader, writer = os.pipe()
    os.write(writer, PASSPHRASE + b'\n')
    os.close(writer)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main([folder, '--passphrase-fd', str(reader), '--json', command, *more])
    os.close(reader)
    return code, json.loads(out.getvalue())


ALL = [unaltered, flipped, keyrings, cut, resealed, whole_command]
