"""The verified chains of a vault: the sealed file `chains` beside it, or what the keyring has."""

from .accounts import Account
from .members import MemberChain


def read(directory, keyring, keys, taken):
    """The accounts that the vault knows, and its member chain."""
    own = Account(keyring.account)
    accounts = {own.id: own}
    for former in keyring.former:
        accounts.setdefault(former.id, Account(former))
    return accounts, MemberChain(keys.chain, keys.id, accounts, taken)
