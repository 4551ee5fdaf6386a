"""Stores that the built programs make in front of us: two devices and a server, then the reader over what lies on their disks.

So the two programs are held together at each change, and not only by stores of before.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import scenarios
import worlds
from hostile import Altered
from reader.failure import Failure
from reader.store import Store

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = pathlib.Path(os.environ.get('COFFRET_PROGRAMS', ROOT / '.build' / 'debug'))
PASSPHRASE = b'a passphrase of stores that live for a minute'
PATIENCE = 180


class Device:
    """A home with a store, and the program on it."""

    def __init__(self, folder, name):
        self.home = folder / name
        self.home.mkdir()
        self.store = self.home / 'store'
        self.environment = {
            'PATH': os.environ['PATH'], 'TZ': 'UTC', 'HOME': str(self.home), 'COFFRET_STORE': str(self.store), 'XDG_STATE_HOME': str(self.home / 'state'),
            'COFFRET_AGENT': 'off', 'COFFRET_TPM': 'off', 'COFFRET_PASSPHRASE_FILE': str(folder / 'passphrase'),
        }  # fmt: skip

    def command(self, *words):
        return [str(PROGRAMS / 'coffret'), *words]

    def run(self, *words, text='', descriptors=(), accepted=(0,)):
        done = subprocess.run(
            self.command(*words), input=text.encode(), env=self.environment, capture_output=True, timeout=PATIENCE, cwd=self.home,
            pass_fds=descriptors,
        )  # fmt: skip
        if done.returncode not in accepted:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr.decode()[-500:]}")
        return done.stdout.decode()

    def export(self, vault, accepted=(0,)):
        path = self.home / f'{vault}-{time.monotonic_ns()}.json'
        self.run('export', '--vault', vault, '--format', 'json', str(path), '--yes', accepted=accepted)
        return json.loads(path.read_text())

    def vault(self, name):
        """What the reader makes of a vault, with all that does not verify."""
        store = Store(str(self.store), PASSPHRASE)
        if store.failures:
            raise RuntimeError('; '.join(map(str, store.failures)))
        found = store.vault(name)
        found.check_values()
        found.computed = found.check_roots()[0]
        found.wrong = [str(failure) for failure in store.failures + found.failures]
        return found


class Server:
    """A server on a free port of this machine."""

    def __init__(self, folder):
        program, data, settings = str(PROGRAMS / 'coffret-server'), folder / 'server', folder / 'server.conf'
        data.mkdir()
        subprocess.run([program, 'init', '--data', str(data)], check=True, capture_output=True, timeout=PATIENCE)
        settings.write_text(f'name = localhost\ndata = {data}\nlisten = 127.0.0.1:0\nregistration = open\n')
        self.log = open(folder / 'server.log', 'w+b')
        self.process = subprocess.Popen([program, 'serve', '--config', str(settings)], stdout=self.log, stderr=self.log)
        text = waited(lambda: (folder / 'server.log').read_text(), r'"port":"(\d+)"')
        self.address = f'http://127.0.0.1:{text}'

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()


def waited(text, pattern):
    """The first group of a pattern, as soon as a text has it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if (found := re.search(pattern, text())) is not None:
            return found.group(1)
        time.sleep(0.05)
    raise RuntimeError(f'{pattern} did not come')


def pair(old, new, server):
    """Lets a new device in by the text of its code."""
    out = new.home / 'pairing.txt'
    with open(out, 'wb') as file:
        words = new.command('device', 'pair', server.address, '--qr', '--effort', 'light', '--name', 'second')
        waiting = subprocess.Popen(words, env=new.environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        old.run('device', 'approve', waited(lambda: out.read_text(errors='replace'), r'(COFFRET-PAIR:\S+)\s'))
        if waiting.wait(PATIENCE):
            raise RuntimeError(out.read_text(errors='replace')[-500:])
    finally:
        waiting.kill()
        waiting.wait()


LINES = ['one', 'two', 'three', 'four', 'five']


def note(title, *lines):
    return f'# {title}\n\n' + '\n'.join(lines) + '\n'


def merged(wrong, one, two):
    """Two devices write apart: a text that merges, one that does not, two passwords. Both stores are read, and say what the programs say."""
    for device in (one, two):
        device.run('sync')
    one.run('edit', 'Merged', text=note('Merged', 'one by one', *LINES[1:]))
    two.run('edit', 'Merged', text=note('Merged', *LINES[:4], 'five by two'))
    one.run('edit', 'Contradicted', text=note('Contradicted', 'first'))
    two.run('edit', 'Contradicted', text=note('Contradicted', 'second'))
    one.run('edit', 'Door', '--secret', 'password', text='first secret\n')
    two.run('edit', 'Door', '--secret', 'password', text='second secret\n')
    for device in (one, two, one, two):
        device.run('sync')
    states = []
    for device in (one, two):
        vault, exported = device.vault('Personal'), device.export('Personal')
        wrong += vault.wrong
        titled = {item['title']: item for item in items_of(vault) if item['kind'] in ('note', 'login')}
        same(wrong, 'state hash', hash_of(vault), exported['stateHash'])
        same(wrong, 'merged', titled['Merged']['attributes']['text'], note('Merged', 'one by one', *LINES[1:4], 'five by two'))
        same(wrong, 'conflicts', sorted(t for t, item in titled.items() if 'conflicts' in item), ['Contradicted', 'Door'])
        same(wrong, 'entries', len(vault.counted()), len(exported['history']))
        for title in titled:
            same(wrong, f'history of {title}', versions_of(vault, titled[title]['id']), told_versions(device, title))
        states.append((vault.root(vault.state), vault.state.digest(vault.keys.split, vault.id)))
    same(wrong, 'the second device', states[1], states[0])


def revoked(wrong, one, two):
    """The second device is revoked: a closing link, a new epoch, and an entry under it. The revoked one keeps what it had."""
    one.run('device', 'revoke', 'second', '--yes')
    one.run('new', text=note('Behind it', 'written under a new key'))
    one.run('sync')
    vault = one.vault('Personal')
    wrong += vault.wrong
    same(wrong, 'epochs', sorted(vault.keys.keys), [1, 2])
    same(wrong, 'closed', [len(devices) for _, _, devices in vault.chain.closed_devices], [1])
    same(wrong, 'state hash', hash_of(vault), one.export('Personal')['stateHash'])
    wrong += two.vault('Personal').wrong


def dropped(wrong, one):
    """A vault whose history was dropped, with more notes than one leaf has: its base, its indexes, and one entry behind them."""
    one.run('vault', 'new', 'Work')
    folder = one.home / 'notes'
    folder.mkdir()
    for number in range(120):
        (folder / f'{number}.md').write_text(note(f'Note {number}', *(f'{number} {line}' for line in range(number))))
    one.run('import', str(folder), '--vault', 'Work')
    for version in range(4):
        one.run('edit', 'Note 7', '--vault', 'Work', text=note('Note 7', f'version {version}'))
    whole = one.vault('Work')
    second = int(time.time())
    while int(time.time()) == second:  # dropping goes by whole seconds
        time.sleep(0.05)
    one.run('compact', '--vault', 'Work', '--drop-history-older-than', time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime()), '--yes')
    compact = one.vault('Work')
    wrong += whole.wrong + compact.wrong
    same(wrong, 'base', (compact.base is not None, compact.kept.dropped is not None), (True, True))
    same(wrong, 'root', compact.root(compact.state), whole.root(whole.state))
    one.run('edit', 'Note 7', '--vault', 'Work', text=note('Note 7', 'behind it'))
    last = one.vault('Work')
    wrong += last.wrong
    same(wrong, 'state hash', hash_of(last), one.export('Work')['stateHash'])
    same(wrong, 'entries', len(last.state.frontier), 1)


def versions_of(vault, id):
    from reader.items import find, history

    return [version['entry'] for entity in find(vault, id) for version in history(vault, entity)]


def told_versions(device, title):
    """The versions of an item as the program lists them, the oldest first."""
    return [version['version'] for version in json.loads(device.run('history', title, '--json'))['versions']][::-1]


def purged(wrong, one):
    """A note is locked, and what it said goes for good: entries that name it go, and bare forms stand for tips."""
    one.run('new', '--vault', 'Work', text=note('Diary', 'the quagga sleeps'))
    one.run('edit', 'Note 9', '--vault', 'Work', text=note('Note 9', 'before'))
    reader, writer = os.pipe()
    os.write(writer, b'a passphrase of one note\n')
    os.close(writer)
    words = ['note', 'lock', 'Diary', '--vault', 'Work', '--effort', 'light', '--purge-history', '--yes', '--note-passphrase-fd', str(reader)]
    one.run(*words, descriptors=(reader,))
    os.close(reader)
    vault = one.vault('Work')
    wrong += vault.wrong
    same(wrong, 'purges', any(checkpoint.deleted for checkpoint in vault.checkpoints.of_link.values()), True)
    same(wrong, 'words that went', any(b'quagga' in entry.content for entry in vault.entries.values()), False)
    same(wrong, 'state hash', hash_of(vault), one.export('Work')['stateHash'])


def altered(wrong, one):
    """Flipped bytes in each file of what the programs wrote."""
    for keys in Store(str(one.store), PASSPHRASE).keyring.vaults:
        store = Altered(str(one.store), PASSPHRASE, keys.name)
        wrong += [f'{keys.name}: {line}' for line in store.flips(12)]


def told(wrong, folder):
    """The worlds of this folder, written by `writer.py`: the built program reads them, and its export has the reader's state."""
    home = Device(folder, 'three')
    (folder / 'of worlds').write_bytes(scenarios.PASSPHRASE + b'\n')
    (folder / 'of worlds').chmod(0o600)
    count, known = [0, 0], set()

    def watch(store, vault):
        mark = vault.state.digest(vault.keys.split, vault.id), len(vault.chain), len(vault.entries)
        if mark in known:
            return
        known.add(mark)
        count[0] += 1
        # Left out: logs that stop without a link that says where. There each store has what it had applied before.
        if any(log.failure or log.waits or vault.judge.limit(log, vault.base)[0] == 'kept' for log in vault.judge.logs.values()):
            return
        try:
            stated = hash_of(vault)
        except Failure:
            return  # a value that cannot be read: neither program exports it
        home.environment |= {'COFFRET_STORE': store, 'COFFRET_PASSPHRASE_FILE': str(folder / 'of worlds'), 'XDG_STATE_HOME': f'{folder}/{count[0]}'}
        # Exit code 71: values that no item has are named and left out of items; the state has them.
        same(wrong, f'world {count[0]}', home.export('Personal', (0, 71))['stateHash'], stated)
        count[1] += 1

    scenarios.WATCHERS.append(watch)
    try:
        wrong += [line for world in worlds.ALL for line in world()]
    finally:
        scenarios.WATCHERS.remove(watch)
    print(f'live: {count[1]} of {count[0]} written stores were read by the program')
    if not count[1]:
        wrong.append('no written store was read by the program')


def items_of(vault):
    from reader.items import state_of

    return state_of(vault)


def hash_of(vault):
    from reader.items import state_hash

    return state_hash(vault).hex()


def same(wrong, what, found, stated):
    if found != stated:
        wrong.append(f'{what}: {found!r} is not {stated!r}')


def run():
    if not all((PROGRAMS / name).exists() for name in ('coffret', 'coffret-server')):
        print(f'skipped: live stores: no programs in {PROGRAMS}')
        return []
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / 'passphrase').write_bytes(PASSPHRASE + b'\n')
        (folder / 'passphrase').chmod(0o600)
        server = Server(folder)
        try:
            one, two = Device(folder, 'one'), Device(folder, 'two')
            one.run('init', '--effort', 'light')
            one.run('server', 'join', server.address)
            one.run('vault', 'sync', 'Personal')
            one.run('new', '-t', 'tag/first', text=note('Merged', *LINES))
            one.run('new', text=note('Contradicted', 'common'))
            one.run('new', '--type', 'login', 'Door', '--set', 'username=ada', '--secret', 'password', text='a secret\n')
            (one.home / 'attached.txt').write_text('A file that is attached.\n')
            one.run('attach', 'add', 'Merged', str(one.home / 'attached.txt'))
            one.run('sync')
            pair(one, two, server)
            merged(wrong, one, two)
            revoked(wrong, one, two)
            dropped(wrong, one)
            purged(wrong, one)
            altered(wrong, one)
            told(wrong, folder)
        except (Failure, RuntimeError, subprocess.SubprocessError) as error:
            wrong.append(str(error))
        finally:
            server.end()
    return wrong
