"""The verified chains of a vault: the sealed file `chains` in its folder (Spec/journal.md section 5a), or what the keyring has."""

import os

from . import cbor
from .accounts import Account
from .devices import DeviceChain
from .failure import Failure, ascends, is_int, is_list, need
from .links import LINK_COUNT_MAX
from .members import MemberChain
from .suite import envelope_open, kdf

BEHIND = 'core.vault.chains-behind'
BYTES_MAX = 64 << 20


def read(directory, keyring, keys, taken):
    """The accounts that the vault knows, its member chain, and a failure where the file is missing, damaged or behind the state."""
    own = keyring.account.id
    accounts = {own: Account(keyring.account, [former for former in keyring.former if former.id == own])}
    for former in keyring.former:
        accounts.setdefault(former.id, Account(former))
    links, failure = keys.chain, None
    path = os.path.join(directory, 'chains')
    if os.path.exists(path):
        try:
            links, kept = _open(path, keys)
            for account in kept:
                accounts[account.id] = _newer(accounts.get(account.id), account)
        except Failure as found:
            failure = found
    chain = MemberChain(links, keys.id, accounts, taken)
    if failure is None and taken > len(chain):
        failure = Failure(BEHIND, 'chains', f'{len(chain)} links, the state has taken {taken}')
    return accounts, chain, failure


def _newer(known, kept):
    """The keyring's own chain may have grown since the file was written; a recovery in it then makes a branch of what was there."""
    if known is None:
        return kept

    def is_in(line, lines):
        return any(line.head in other.by_hash for other in lines)

    newest, branches = kept.chain if is_in(known.chain, kept.lines) else known.chain, []
    for line in [*known.branches, *kept.lines]:
        if not is_in(line, [newest, *branches]):
            branches.append(line)
    return Account(newest, branches)


def _open(path, keys):
    """The member links and the accounts of the file."""
    place = 'chains'
    need(os.path.getsize(path) <= BYTES_MAX, BEHIND, place, 'size')
    with open(path, 'rb') as file:
        sealed = file.read()
    key = kdf(keys.local, b'heads/local', keys.id)
    content = envelope_open(key, b'heads/record', keys.id + b'\3', sealed, failure=BEHIND, place=place)
    value = cbor.decode(content, BEHIND, place)
    need((is_list(value, 4) or is_list(value, 5)) and value[0] == 1 and value[1] == keys.id, BEHIND, place)
    need(is_list(value[2]) and 0 < len(value[2]) <= LINK_COUNT_MAX and is_list(value[3]), BEHIND, place)
    need(len(value) == 4 or is_int(value[4], 0, len(value[2])), BEHIND, place, 'verified links')
    accounts = [_account(row, f'chains account {number}') for number, row in enumerate(value[3])]
    return value[2], accounts


def _account(row, place):
    need(is_list(row, 4) and all(map(is_list, (row[0], row[1], row[3]))) and is_int(row[2], -(1 << 63), (1 << 63) - 1), BEHIND, place)
    announced = row[3]
    good = all(is_list(one, 2) and is_int(one[0]) and is_int(one[1], -(1 << 63), (1 << 63) - 1) for one in announced)
    need(good and ascends(one[0] for one in announced), BEHIND, place, 'announcements')
    chain = DeviceChain(row[0], place)
    lines, newer = [], row[0]
    for number, branch in reversed(list(enumerate(row[1]))):
        need(is_list(branch, 2) and is_int(branch[0], 1, len(newer)) and is_list(branch[1]) and branch[1], BEHIND, place, f'branch {number}')
        newer = newer[: branch[0]] + branch[1]
        lines.insert(0, DeviceChain(newer, f'{place} branch {number}', chain.id))
    return Account(chain, lines)
