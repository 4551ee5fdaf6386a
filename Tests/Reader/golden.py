"""The golden stores of Tests/Vectors/store: read whole where they are of logs; else their keyring, files, blobs and trees."""

import json
import os
import pathlib
import tarfile
import tempfile

from reader import attachments, cbor
from reader.blobs import COMMIT, INNER, Blobs
from reader.failure import Failure
from reader.files import Files
from reader.items import state_hash
from reader.keyring import Keyring
from reader.store import Store
from reader.suite import kdf
from reader.tree import COMMITS, hash_key

FOLDER = pathlib.Path(__file__).resolve().parent.parent / 'Vectors' / 'store'


def run():
    wrong, folders = [], sorted(FOLDER.glob('format-*/store.tar.gz'))
    if not folders:
        print('skipped: there is no golden store')
    for archive in folders:
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(archive) as file:
                file.extractall(folder, filter='data')
            passphrase = (archive.parent / 'passphrase.txt').read_bytes().rstrip(b'\n')
            wrong += [f'{archive.parent.name}: {line}' for line in _store(os.path.join(folder, 'store'), passphrase, archive.parent)]
    return wrong


def _store(path, passphrase, folder):
    try:
        store = Store(path, passphrase)
    except Failure as failure:
        if failure.code != 'keys.keyring.outdated':
            return [str(failure)]
        print(f'skipped: {folder.name} is a store of commits; its keyring, files, blobs and trees are read, its histories are not')
        keyring = Keyring(os.path.join(path, 'store.keyring'), passphrase, admits_older=True)
        return [line for keys in keyring.vaults for line in _of_commits(path, keys)]
    wrong = [str(failure) for failure in store.failures]
    for vault in store.vaults:
        vault.check_values()
        vault.check_roots()
        wrong += [f'{vault.name}: {failure}' for failure in vault.failures]
        exported = folder / f'{vault.name}.json'
        if exported.exists() and json.loads(exported.read_text())['stateHash'] != state_hash(vault).hex():
            wrong.append(f'{vault.name}: another state than its export has')
    return wrong


def _of_commits(path, keys):
    """Every blob opens, and each tree has the root that its facts make."""
    files = Files(os.path.join(path, 'vaults', keys.directory), kdf(keys.local, b'journal', keys.id))
    blobs = Blobs(files.records, keys.keys, keys.id)
    blobs.check_all()
    wrong = [str(failure) for failure in files.notes + blobs.failures]
    if not blobs.types.get(COMMIT):
        wrong.append(f'{keys.name}: no commit')
    roots = 0
    for name in blobs.types.get(INNER, ()):
        try:
            facts = COMMITS.facts(blobs, name)
        except Failure:
            continue
        roots += COMMITS.build(facts, hash_key(keys.split, keys.id)) == name
        for fact in facts:
            if fact.key[:1] == b'A' and fact.key[17:] == b'content\0':
                attachments.check(files.directory, keys.id, keys.keys, cbor.decode(fact.value), 'attachment')
    return wrong if roots else [*wrong, f'{keys.name}: no tree that its facts make']
