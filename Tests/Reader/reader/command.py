"""The command: reads a store and says what is in it, or what does not verify."""

import argparse
import json
import os
import sys

from . import items
from .failure import Failure
from .store import Store
from .suite import Missing

UNREADABLE, MISSING = 1, 77


def parser():
    made = argparse.ArgumentParser(prog='reader', description='Reads a store of Coffret by the pages of Spec.')
    made.add_argument('store', help='the folder with store.keyring')
    made.add_argument('--passphrase-fd', type=int, default=0, metavar='N', help='the descriptor that the passphrase is read from')
    made.add_argument('--vault', help='one vault, by its name')
    made.add_argument('--json', action='store_true', help='print JSON')
    made.add_argument('command', nargs='?', default='verify', choices=['state', 'history', 'conflicts', 'verify'])
    made.add_argument('item', nargs='?', help='for history: a title, or the beginning of a UUID')
    return made


def passphrase(descriptor):
    """The passphrase, without one line end."""
    with os.fdopen(descriptor, 'rb', closefd=False) as file:
        raw = file.read(8192)
    return raw[:-2] if raw.endswith(b'\r\n') else raw[:-1] if raw.endswith(b'\n') else raw


def main(arguments=None):
    """Runs the command; 0 if all verifies, 1 if something does not, 2 for a wrong call."""
    options = parser().parse_intermixed_args(arguments)
    try:
        store = Store(options.store, passphrase(options.passphrase_fd))
        vaults = [store.vault(options.vault)] if options.vault else store.vaults
        report = {'state': _state, 'history': _history, 'conflicts': _conflicts, 'verify': _verify}[options.command](store, vaults, options)
    except Failure as failure:
        report = {'failures': [_failure(failure)]}
    except Missing as missing:
        print(f'skipped: {missing} is missing')
        return MISSING
    if options.json:
        print(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        sys.stdout.write(_plain(report))
    return UNREADABLE if report['failures'] else 0


def _failure(failure):
    return {'code': failure.code, 'place': failure.place, 'found': failure.found}


def _report(store, vaults, rows):
    failures = store.failures + [failure for vault in vaults for failure in vault.failures]
    return {'vaults': rows, 'failures': [_failure(failure) for failure in failures]}


def _vault(vault, **more):
    return {'name': vault.name, 'id': vault.id.hex(), **more}


def _state(store, vaults, options):
    return _report(store, vaults, [_vault(vault, items=items.state_of(vault)) for vault in vaults])


def _conflicts(store, vaults, options):
    return _report(store, vaults, [_vault(vault, items=items.conflicts_of(vault)) for vault in vaults])


def _history(store, vaults, options):
    rows = []
    for vault in vaults:
        found = items.find(vault, options.item or '')
        rows.append(_vault(vault, histories=[{'id': entity[1:].hex(), 'versions': items.history(vault, entity)} for entity in found]))
    if not any(row['histories'] for row in rows):
        store.failures.append(Failure('reader.item.not-found', options.item or ''))
    return _report(store, vaults, rows)


def _verify(store, vaults, options):
    rows = []
    for vault in vaults:
        vault.check_values()
        computed, others = vault.check_roots()
        rows.append(_vault(
            vault, base=vault.base, dropped=vault.kept and vault.kept.dropped, links=len(vault.chain), entries=len(vault.entries), logs=len(vault.judge.logs),
            facts=vault.state.count, blobs=len(vault.blobs.by_name), digest=vault.state.digest(vault.keys.split, vault.id).hex(),
            root=vault.root(vault.state).hex(), state_hash=_hash(vault), epochs=sorted(vault.keys.keys), computed=computed, not_computed=others,
            excluded=[entry.name.hex() for entry in vault.state.excluded], notes=[_failure(note) for note in vault.notes],
        ))  # fmt: skip
    return _report(store, vaults, rows)


def _hash(vault):
    try:
        return items.state_hash(vault).hex()
    except Failure:
        return None  # a value cannot be read, and is among the failures


def _plain(report):
    lines = []
    for vault in report.get('vaults', []):
        lines.append(f"vault {vault['name']} ({vault['id'][:16]})")
        lines += [f'  {key}: {vault[key]}' for key in vault if key not in ('name', 'id', 'items', 'histories', 'notes')]
        for item in vault.get('items', []):
            lines += _plain_item(item)
        for found in vault.get('histories', []):
            lines.append(f"  {found['id']}")
            for version in found['versions']:
                if 'base' in version:
                    lines.append(f"    in the tree of link {version['base']}; history below link {version['dropped']} was dropped")
                    lines += [f'      {key}: {_short(value)}' for key, value in version['changes'].items()]
                    continue
                mark = ' excluded' if version.get('excluded') else ''
                lines.append(f"    {version['instance'][:8]} {version['number']} at {version['time']} by {version['device'][:8]}{mark}")
                lines += [f'      {key}: {_short(value)}' for key, value in version['changes'].items()]
        lines += [f"  note: {note['code']} {note['place']} {note['found']}" for note in vault.get('notes', [])]
    lines += [f"fails: {failure['code']} {failure['place']} {failure['found']}" for failure in report['failures']]
    return ''.join(line.rstrip() + '\n' for line in lines)


def _plain_item(item):
    lines = [f"  {item['kind']} {item['id']} {item['title']}"]
    lines += [f'    {key}: {_short(value)}' for key, value in item['attributes'].items()]
    lines += [f'    conflict in {key}: {_short(value)}' for key, others in item.get('conflicts', {}).items() for value in others]
    return lines + [f'    unreadable {key}: {code}' for key, code in item.get('unreadable', {}).items()]


def _short(value):
    """A value in one line, without characters that a terminal takes for its own."""
    return json.dumps(value, ensure_ascii=True)
