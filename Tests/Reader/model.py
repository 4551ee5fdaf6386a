"""Worlds of Tests/Model/history_model.py, with their attackers, judged by the reader's verdicts, limits and states.

The model signs nothing, so entries, links and chains are given to the reader's rules as if they had been verified.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
from types import SimpleNamespace as Some

from reader.accounts import Account
from reader.entries import Change
from reader.members import Member, MemberChain, State as Rights
from reader.state import State
from reader.tree import Fact
from reader.verdicts import Judge, Log

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / 'Model' / 'history_model.py'
OPERATIONS = {'add': 1, 'revoke': 2, 'recover': 3}


class Line:
    """A device chain of the model, up to the link that a device knows."""

    def __init__(self, account, branch, count):
        cuts, operations = account['cuts'], account['branches'][branch][:count]
        self.links, self.devices, self.trust, trusted = [], {}, [], set()
        for number, (operation, *names) in enumerate(operations):
            self.links.append(Some(hash=hash_of(cuts, branch, number + 1), operation=OPERATIONS[operation], number=number))
            if operation == 'add':
                trusted.add(names[0])
                self.devices[names[0]] = Some(id=names[0], number=number, key=names[0])
            else:
                trusted = trusted - {names[0]} if operation == 'revoke' else trusted & set(names)
            self.trust.append(frozenset(trusted))
        self.by_hash = {link.hash: link.number for link in self.links}

    def trusted_at(self, number):
        return self.trust[number]


def hash_of(cuts, branch, count):
    """What stands for the hash of a link: the lowest branch that has it, and its place."""
    while branch and count <= cuts[branch]:
        branch -= 1
    return branch, count


def account_of(id, account, known):
    """An account as a device knows it: {branch: links}."""
    made = Account.__new__(Account)
    made.id, made.lines = id, [Line(account, branch, count) for branch, count in sorted(known.items()) if count]
    made.branches, made.chain = made.lines[:-1], made.lines[-1]
    return made


def chain_of(world, links, accounts):
    """The member chain, with what the reader makes of the heads that its links state."""
    chain = MemberChain.__new__(MemberChain)
    chain.accounts, chain.links, chain.states = accounts, [], []
    chain.closed_devices, chain.closed_accounts, chain.ending_reading = [], [], set()
    wrong = []
    for number, link in enumerate(links):
        before = chain.states[-1] if chain.states else Rights()
        state = before.copy()
        roles = {int(account): role for account, role in link['roles'].items()}
        closed = [a for a, member in before.members.items() if member.role in (1, 2) and roles.get(a) not in (1, 2)]
        removes = any(a not in roles for a in before.members)
        state.members = {account: Member(role, True, 0, None) for account, role in roles.items() if role}
        stated = {}
        for account, branch, count in link['heads']:
            head = accounts[account].position(hash_of(world['accounts'][account]['cuts'], branch, count))
            if head is None:
                return None, []  # a chain that this device does not know yet: it took no such link
            stated[account] = head
        row = Some(number=number, hash=link['id'], account=link['account'], device=link['device'], parts={})
        ends = chain._conclude(row, before, state, stated, closed) or removes
        if ends:
            chain.ending_reading.add(number)
        state.epoch = link['epoch']
        if link['opens']:
            state.opened[link['epoch']] = number
        chain.links.append(row)
        chain.states.append(state)
        served = [epoch for epoch in range(1, link['epoch'] + 1) if chain.epoch_serves(epoch, number)]
        if served and served[0] != link['since']:
            wrong.append(f"link {number}: epochs {served}, since {link['since']}")
    return chain, wrong


class Links:
    """Checkpoints of the model in the place of opened ones."""

    def __init__(self, links):
        self.accept, self.of_link = [], {}
        for number, link in enumerate(links):
            accept = {i: (n, x) for i, n, x in link['accept']}
            self.accept.append(accept)
            if link['checkpoint'] or link['ended'] or link['bare']:
                base = link['base'] if link['base'] is not None and link['base'] >= 0 else None
                ends = {}
                for instance, common, one, two in link['ended']:
                    ends.setdefault(instance, (common, one, two))
                self.of_link[number] = Some(base=base, accept=accept, ends=ends, root=link['root'], bare_tips=dict(link['bare']))


class Model(Judge):
    """The reader's judge, without signatures."""

    def _check_signature(self, entry):
        pass


def entry_of(world, row, is_bare=False):
    account, device, first = world['instances'][row['instance']][:3]
    cuts, (branch, count) = world['accounts'][account]['cuts'], row['head']
    author = Some(
        instance=row['instance'], account=account, device=device, first=first, member_head=row['link'],
        device_head=[count - 1, hash_of(cuts, branch, count)], epoch=row['epoch'],
    )  # fmt: skip
    changes = [Change(key, value, [(None if i == row['instance'] else i, n) for i, n in refs]) for key, value, refs in row['changes']]
    return Some(
        name=row['id'], number=row['number'], height=row['height'], before=row['before'] if row['number'] > 1 else None, author=author, place=f"entry {row['id']}",
        seen={i: [n, x] for i, n, x in row['seen']}, changes=changes, is_bare=is_bare, message=row['id'], new=row['new'], tree=None,
    )  # fmt: skip


def judged(world, seen):
    """The reader's state, frontier and counting entries for what a device had at the end."""
    links = [{**world['links'][id], 'id': id} for id in world['chains'][seen['side']][: seen['m']]]
    accounts = {
        a: account_of(a, world['accounts'][a], known) for a, known in seen['known'].items() if any(known.values())
    }
    chain, wrong = chain_of(world, links, accounts)
    if chain is None:
        return None
    judge = Model(chain, Links(links), accounts, None)
    rows = {row['id']: row for row in world['entries']}
    bare = {x for link in links for _, x in link['bare'] if x in rows} - seen['store']
    for id in sorted(seen['store'] | bare):
        entry = entry_of(world, rows[id], id in bare)
        if not (entry.new and seen['old']):
            judge.logs.setdefault(entry.author.instance, Log(entry.author.instance)).add(entry)
    base = seen['base'] if seen['base'] >= 0 else None
    accepted = judge.checkpoints.accept[base] if base is not None else {}
    state = State(Fact(k, i, n, h, v) for k, i, n, h, v in links[base]['root'] or []) if base is not None else State()
    queues, dead = {}, set()
    for instance, log in judge.logs.items():
        start = accepted.get(instance, (0,))[0]
        covered, tip = set(), accepted.get(instance, (0, None))
        while tip[0] and (one := judge.standing(log, *tip)) is not None:
            covered.add(one.name)
            tip = tip[0] - 1, one.before
        judge.judge(log, covered, start)
        chosen, _ = judge.counting(log, base, accepted.get(instance), seen['applied'])
        queues[instance] = [entry for entry in chosen if not entry.is_bare]
        if judge.limit(log, base)[0] in ('none', 'limited'):
            dead.add(instance)
    counted = {entry.name for queue in queues.values() for entry in queue}
    from reader.vault import Vault

    vault = Some(judge=judge, blobs=None, values=None)
    Vault._apply(vault, state, queues, accepted, dead)
    return state, {**accepted, **state.frontier}, counted, wrong


def devices_of(world):
    """What each device had and concluded at its last event."""
    found, rows = {}, {row['id']: row for row in world['entries']}
    for tid, what, given, now in world['events']:
        if what == 'copy':
            found[tid] = {**found.get(given['of'], {}), 'applied': set(found.get(given['of'], {}).get('applied', ()))}
        if now is None:
            found.setdefault(tid, {'applied': set()})
            continue
        seen = found.setdefault(tid, {'applied': set()})
        seen.update(now)
        seen.update({'side': given['side'], 'old': given['old']})
        seen['known'] = {}
        for account, branch, count in given['known']:
            seen['known'].setdefault(account, {})[branch] = count
        for mark in seen['frontier'].split(';')[:-1]:
            name = int(mark.split(':')[2])
            while name in rows and name not in seen['applied']:
                seen['applied'].add(name)
                name = rows[name]['before']
    for seen in found.values():
        if 'store' in seen:
            seen['store'] = {int(id) for id in seen['store'].split(',') if id}
    return {tid: seen for tid, seen in found.items() if seen.get('m')}


def check(world):
    """What the reader concludes otherwise than the devices of a world; and how many devices were compared."""
    wrong, count = [], 0
    for tid, seen in devices_of(world).items():
        result = judged(world, seen)
        if result is None:
            continue
        count += 1
        state, frontier, counted, odd = result
        text = ''.join(
            f'{key}|{fact.instance}.{fact.number}|{fact.height}|{fact.value};' for key in sorted(state.facts) for _, fact in sorted(state.facts[key].items())
        )
        marks = ''.join(f'{i}:{n}:{x};' for i, (n, x) in sorted(frontier.items(), key=lambda row: (row[0], *row[1])))
        verdicts = dict(_verdicts(seen['verdicts']))
        wrong += [f"world {world['seed']}, device {tid}: {line}" for line in odd]
        wrong += [f"world {world['seed']}, device {tid}: entry {id} counts" for id in counted if verdicts.get(id, 'T') != 'T']
        if any(letter != 'T' and _is_applied(id, world, seen) for id, letter in verdicts.items()):
            continue  # it took a link, and has not computed its state anew (S11)
        if marks != seen['frontier']:
            wrong.append(f"world {world['seed']}, device {tid}: frontier {marks}, the model has {seen['frontier']}")
        if text != seen['state']:
            wrong.append(f"world {world['seed']}, device {tid}: another state")
    return wrong, count


def _is_applied(id, world, seen):
    row = next(row for row in world['entries'] if row['id'] == id)
    tips = {int(mark.split(':')[0]): int(mark.split(':')[1]) for mark in seen['frontier'].split(';')[:-1]}
    return row['number'] <= tips.get(row['instance'], 0)


def _verdicts(text):
    number = ''
    for letter in text:
        if letter.isdigit():
            number += letter
        else:
            yield int(number), letter
            number = ''


def run(first=1, count=40):
    wrong, compared = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            path = f'{folder}/{seed}.json'
            subprocess.run([sys.executable, str(PROGRAM), str(seed), '1', '--export', path, '--full'], check=True, stdout=subprocess.DEVNULL)
            for line in pathlib.Path(path).read_text().splitlines():
                lines, devices = check(json.loads(line))
                wrong += lines
                compared += devices
    print(f'model: {count} worlds, {compared} devices')
    return wrong if compared else [*wrong, 'no device was compared']
