"""A store (Spec/keys.md section 1): its keyring and its vaults."""

import os

from .failure import Failure, need
from .keyring import Keyring
from .vault import Vault


class Store:
    """An opened store. A vault that cannot be read at all is named in `failures`; the others are read."""

    def __init__(self, path, passphrase):
        self.keyring = Keyring(os.path.join(path, 'store.keyring'), passphrase)
        self.vaults, self.failures = [], []
        for keys in self.keyring.vaults:
            try:
                self.vaults.append(Vault(path, self.keyring, keys))
            except Failure as failure:
                failure.place = f'vault {keys.name}: {failure.place}' if failure.place else f'vault {keys.name}'
                self.failures.append(failure)

    def vault(self, name):
        found = [vault for vault in self.vaults if vault.name == name]
        need(found, 'reader.vault.not-found', name)
        return found[0]
