"""One world: accounts, devices, a server, and what happens to them, from a seed."""

import copy, random

from .attackers import Attackers
from .chains import Account, Link, Server, View
from .checks import Checks
from .rules import Broken, OWNER, VIEWER, WRITER, WRITES
from .syncing import Device
from .trace import Untraced


class World(Attackers, Checks):
    def __init__(w, seed, mode='any', steps=None, trial=(), trace=None):
        w.r = r = random.Random(seed)
        w.trace = Untraced() if trace is None else trace(w)
        w.seed, w.trial = seed, trial
        w.server = Server()
        w.count = 0
        w.t = 0.0
        w.notes, w.lies, w.closers, w.keys, w.made, w.stolen = {}, {}, {}, {}, {}, set()
        w.owner, w.accounts, w.devices = {}, [], []
        w.lines, w.first, w.removed, w.wipes, w.out, w.lost_copies = {}, {}, set(), set(), set(), set()
        w.tainted = w.taken_over = w.bares = False
        w.snap = None
        w.thefts, w.acknowledged = [], []
        w.mode = mode if mode != 'any' else r.choice(['honest', 'honest', 'lying'])
        w.lying = w.mode == 'lying'
        w.skews, w.hammers, w.badlinks = r.random() < 0.4, r.random() < 0.2, r.random() < 0.3
        w.haunted = r.random() < 0.3
        w.room = r.choice([99, 99, 4])
        w.q = random.Random(f'forks {seed}')  # of its own, so that worlds without these steps stay what they were
        w.hides = w.lying and w.q.random() < 0.3
        w.camps = random.Random(f'camps {seed}')
        w.parts = w.lying and 0.06 < w.camps.random() < 0.25  # without what shows C1a: history_model.py --self-test
        w.leaves = random.Random(f'leaves {seed}')
        w.leaving = 0.022 < w.leaves.random() < 0.094  # without what shows other rules: history_model.py --self-test
        w.upgrading = r.random() < 0.2
        w.ending = w.settling = False
        w.quiet = 0
        w.steps = steps or r.randint(20, 110)
        w.theme = r.choice([None, None, 'half', 'limit', 'purge', 'take over', 'lowered'])
        w.revoked_at = {}
        for a in range(r.randint(1, 3)):
            w.account(r.randint(1, 3))
        L = Link(0, None, (0, w.devices[0].name))
        L.roles = {0: OWNER}
        L.heads = {0: w.accounts[0].head}
        L.keyed = dict(L.heads)
        L.kids = {1: w.idn()}
        w.keys[L.kids[1]] = {d.name for d in w.devices}
        w.server.chains[0].append(L)
        for d in w.devices:
            d.follow(View(w, d))
        f = w.devices[0]
        for a in w.accounts[1:]:
            f.post({a.i: r.choice([OWNER, WRITER, WRITER, VIEWER])}, root=r.random() < 0.5)
        if w.upgrading:
            for d in w.devices:
                d.old = r.random() < 0.5

    def note(w, what):
        w.notes[what] = w.notes.get(what, 0) + 1

    def fail(w, what):
        raise Broken(what)

    def idn(w):
        w.count += 1
        return w.count

    def account(w, n):
        a = Account(w, len(w.accounts))
        w.accounts.append(a)
        a.paper = w.r.random() < 0.5
        for _ in range(n):
            w.device(a)
        return a

    def device(w, a, branch=None):
        b = len(a.branches) - 1 if branch is None else branch
        d = Device(w, a, f'{a.i}{chr(97 + b) if b else ""}{len(a.where)}')
        w.owner[d.name] = a.i
        a.add('add', d.name, branch)
        w.devices.append(d)
        d.side = next((x.side for x in w.devices if x.acct is a), 0)
        return d

    def trusted(w, d):
        return d.name in d.acct.now()

    def good(w, side=None):
        return [d for d in w.devices if not d.bad and (side is None or d.side == side) and w.trusted(d) and d.acct.i in d.links[-1].roles]

    def person(w, d):
        """Is there somebody at this device who answers questions? At the end of the world there is."""
        return w.ending or w.r.random() < 0.5

    def alone(w, a, side):
        """Has this account no device left that could speak for it?"""
        return not any(d.acct.i == a for d in w.good(side))

    # -- steps ---------------------------------------------------------------------------------------------------------------
    def step(w):
        r, d = w.r, w.r.choice(w.devices)
        a = r.randint(0, 25)
        v = View(w, d)
        w.t += r.choice([0, 0, 0, 0.02, 0.3, 2, 9])
        if w.skews and r.random() < 0.05:
            d.skew = r.choice([0, -500000, 500000, 20, -20])
            d.jumps += 1
            w.note('clock set')
        if w.hammers:
            w.hammer()
        if w.hides and w.q.random() < 0.3:
            w.hide_evidence()
        if w.parts and w.camps.random() < 0.15:
            w.part()
        if w.leaving and w.leaves.random() < 0.08:
            w.leave()
        if r.random() < 0.04:
            w.compare()
        if w.theme and r.random() < 0.12:
            w.play_theme()
        if d.bad:
            return w.evil(d)
        alive = w.trusted(d)
        if not alive and r.random() < 0.5:
            return
        if a <= 6:
            w.edit(d)
        elif a == 7 and d.ready():
            k = r.randint(5, 6)
            now = tuple(sorted(d.state.get(k, {})))
            d.write({k: (None if r.random() < 0.4 else str(w.count), now)})
        elif a == 8:
            d.drop()
        elif a == 9:  # a checkpoint: monthly, or compact
            d.sync(v)
            if alive and d.m and not d.due():
                d.post(root=r.random() < 0.8)
        elif a == 10 and d.base >= 0 and d.sure():  # collects at the server what it knows (G5)
            acc, known = d.accept(), w.server.entries
            ends = {x for L in d.links[: d.m] for ends in L.ended.values() for end in ends for x in end[2:]}
            at = {}
            for e in known.values():
                at.setdefault(e.dot, set()).add(e.id)
            twice = {x for y in at.values() if len(y) > 1 for x in y}
            tips = (d.tips() | ends | twice) - {x for k in d.purged if k < d.m for x in d.link(k).bare.values()}
            if len(w.server.chains) == 1:  # behind a fork of the chain it would withhold from the other side
                w.server.entries = {i: e for i, e in known.items() if e.n > acc.get(e.inst, (0, 0))[0] or i in tips or i not in d.applied}
        elif a == 11 and len(w.devices) < 9 and alive:
            w.device(d.acct)
        elif a == 12 and alive:
            w.revoke(d, v)
        elif a == 13 and alive:
            w.roles(d, v)
        elif a == 14 and alive and d.inst is not None and r.random() < 0.5:  # a copy of the store, or an old one put back
            c = w.copy(d)
            if r.random() < 0.5:
                w.snap = (d, c)
            else:
                w.devices.append(c)
                w.note('clone')
        elif a == 15 and w.snap:
            w.put_back()
        elif a == 16 and w.lying:
            w.lie(r.choice(w.devices))
        elif a == 17 and r.random() < (0.5 if w.haunted else 0.1) and d.m and len(w.good()) > 1:
            w.turn(d)
        elif a == 18 and alive and r.random() < 0.3:
            w.purge(d, v)
        elif a == 19 and d.m:
            d.refused_purges |= {k for k in range(d.m) if d.link(k).purges and k not in d.purged and r.random() < 0.5}  # a person says no
        elif a == 20 and d.acct.paper and (d.acct.taken_over or r.random() < 0.1):
            w.recover(d.acct)
        elif a == 21 and d.old:
            d.old = False
            w.note('program updated')
        elif a == 22 and w.lying and r.random() < 0.15:
            w.fork_chain()
        else:
            d.sync(v, stop=r.choice([0, 1, 2, 3, 9, 9, 9]))  # a sync that may break off

    def edit(w, d, key=None):
        if not d.ready():
            return
        r = w.r
        k = r.randint(0, 2) if key is None else key
        line = f'{d.name}.{w.idn()}'
        old = d.shown(k)[0]
        if old and r.random() < 0.15:
            x = r.choice(old)
            w.removed.add(x)
            d.edit(k, lambda text: tuple(y for y in text if y != x))
        else:
            p = r.choice([0, 10**6, r.randint(0, len(old))])
            e = d.edit(k, lambda text: text[:p] + (line,) + text[p:])
            w.lines[line] = (k, d.name)
            w.first[line] = e.id

    def revoke(w, d, v):
        """A device is revoked: in one request with the vault's link (K2), or half-made."""
        r = w.r
        own = [x for x in w.devices if x.acct is d.acct and x is not d and w.trusted(x)]
        if not own or r.random() < 0.4:
            return
        t = r.choice(own)
        once = r.random() < 0.5
        if once and not (w.once(d, t)):
            return
        if not once:
            if r.random() < 0.7:
                d.sync(v)
            d.acct.add('revoke', t.name)
            w.revoked_at[t.name] = w.count
        w.out.add(t.name)
        t.bad = t.bad or r.random() < 0.7
        if t.bad and t.known is None:
            t.known = (t.m, t.newest(t.acct.i))
        if not once and t.bad and w.lying and r.random() < 0.5:
            w.dark_link(t, False)  # quicker than the closing link
        if not once and r.random() < 0.6:
            d.sync(v)

    def once(w, d, t):
        """K2: the device link and the closing link, taken together or not at all; refused twice if the zone moved (412)."""
        a, v = d.acct, View(w, d)
        if not d.m or not d.may_write() or d.stuck is not None or d.old and 'E7' not in w.off:
            return False
        for tries in range(3):
            d.sync(v)
            if not d.full() or not d.may_write() or d.due():
                return False
            heads = w.server.heads[d.side]
            read = heads[-1] if heads else None
            others = [x for x in w.good(d.side) if x is not d]
            if others and w.r.random() < 0.4:  # somebody pushes in between
                x = w.r.choice(others)
                w.edit(x)
                x.sync(View(w, x))
            if not d.full():
                continue
            moved = bool(heads) and heads[-1] is not read
            if moved and tries < 2 and 'K2 412' not in w.off:
                continue
            w.revoked_at[t.name] = w.count
            a.add('revoke', t.name)
            d.branches[a.i][len(a.branches) - 1] = len(a.branches[-1])
            if not d.post(root=w.r.random() < 0.7, confirms={a.i} if not t.bad else ()):
                a.branches[-1].pop()
                a.known.clear()
                d.branches[a.i][len(a.branches) - 1] -= 1
                return False
            w.note('revoked in one request')
            if heads and tries < 2 and not w.lying:  # what the head named is accepted
                L = d.links[-1]
                for i, (n, x) in heads[-1].vec.items():
                    e = w.server.entries.get(x)
                    if (
                        i[1] == t.name
                        and e is not None
                        and not t.bad
                        and e.p < L.k
                        and d.valid(e)
                        and i not in d.forks
                        and L.accept.get(i, (0, 0))[0] < n
                        and w.room == 99
                    ):
                        w.fail('closing link leaves out what the head named')
            return True
        return False

    def roles(w, d, v):
        d.sync(v)
        if not d.m or not d.full() or d.role() != OWNER:
            return
        o = [x for x in w.accounts if x.i not in (d.acct.i, 0)]
        if not o:
            return
        r = w.r
        x = r.choice(o)
        new = r.choice([None, VIEWER, WRITER, OWNER])
        if d.links[-1].roles.get(x.i) != new and d.post({x.i: new}, root=r.random() < 0.6):
            if new not in WRITES and r.random() < 0.5:
                for y in w.devices:
                    if y.acct is x and r.random() < 0.5:
                        y.bad = True
                        y.known = y.known or (y.m, y.newest(x.i))

    def leave(w):
        """An account leaves; or a thief makes it leave, also behind his revocation, with an old head (K7)."""
        d = w.leaves.choice(w.devices)
        a, trusted = d.acct, w.trusted(d)
        if not d.bad:
            if not trusted:
                return
            d.sync(View(w, d))
            if d.m and not d.due() and w.leaves.random() < 0.7:
                d.post(root=False)  # what it wrote counts before it goes
        chain = d.links
        role = chain[-1].roles.get(a.i)
        owners = [x for x, r in chain[-1].roles.items() if r == OWNER]
        h = a.head if trusted and not d.bad else max(d.known[1], chain[-1].heads.get(a.i, (0, 0))) if d.known else None
        if role is None or h is None or owners == [a.i] or d.name not in a.trusted(h) or not trusted and not w.lying:
            return
        if not d.bad and (not d.full() or d.stuck is not None):
            return
        L = Link(len(chain), chain[-1], (a.i, d.name))
        L.change, L.leaves, L.dark, L.posted, L.cursor = {a.i: None}, True, not trusted, w.t, w.count
        del L.roles[a.i]
        L.heads[a.i] = max(L.heads.get(a.i, (0, 0)), h)
        L.since = L.epoch + 1
        chain.append(L)
        w.note('left by a thief' if d.bad else 'left')
        if not d.bad and any(x.acct is a and x is not d and w.trusted(x) for x in w.devices) and w.leaves.random() < 0.6:
            a.add('revoke', d.name)  # later it loses the device by which it gave rights
            w.revoked_at[d.name] = w.count
            w.out.add(d.name)

    def put_back(w):
        d, c = w.snap
        w.snap = None
        if d in w.devices and not d.bad and w.trusted(d) and c.side == d.side:
            w.lost_copies |= {e for e in d.wrote if e not in w.server.entries and e not in c.wrote}
            w.devices[w.devices.index(d)] = c
            w.note('put back')

    def copy(w, d):
        c = copy.copy(d)
        for x, v in vars(d).items():
            if isinstance(v, (dict, set)):
                setattr(c, x, copy.copy(v))
        c.newest_known = {}
        c.state = {k: dict(v) for k, v in d.state.items()}
        c.branches = {a: dict(b) for a, b in d.branches.items()}
        c.seen_purges = {k: list(v) for k, v in d.seen_purges.items()}
        w.trace.copied(d, c)
        return c

    def turn(w, d):
        d.bad = True
        d.known = (d.m, d.newest(d.acct.i))
        w.out.add(d.name)
        w.note('thief with a trusted device')

    def purge(w, d, v):
        d.sync(v)
        k = w.r.choice([0, 1, 2])
        if not d.m or d.bad:
            return
        lines = [x for h, t in d.state.get(k, {}).values() for x in t]
        w.removed |= set(lines)
        if d.purge({k}):
            w.note('purge asked')
            d.purging()

    def recover(w, a):
        """A recovery by paper: a new device, and those that its person keeps; what stood there since a thief came is replaced."""
        main = a.branches[-1]
        cut = len(main) if a.taken_over is None else a.taken_over
        before = a.trusted(a.norm((len(a.branches) - 1, cut)))
        mine = [d.name for d in w.devices if d.acct is a and not d.bad]
        keep = {x for x in sorted(before) if x in mine and w.r.random() < 0.7}
        for x in before - keep:
            w.out.add(x)
        a.recover(cut, keep)
        w.device(a)
        w.note('recovery')
        for d in w.devices:
            if d.acct is a and d.name not in a.now() and d.known is None:
                d.known = (d.m, d.newest(a.i))
                d.bad = d.bad or w.r.random() < 0.5

    def gone(w, L):
        """Are entries below this checkpoint swept at the server (a signed sweep says so)?"""
        have = {}
        for e in w.server.entries.values():
            have.setdefault(e.inst, set()).add(e.n)
        return any(len([1 for x in have.get(i, ()) if x <= n]) < n for i, (n, x) in L.accept.items())

    # -- the end ---------------------------------------------------------------------------------------------------------------
    def run(w):
        for _ in range(w.steps):
            w.step()
        w.lies = {}
        w.ending = True
        for d in w.devices:
            d.bad = d.bad or d.name in w.out
            d.old = False
        for a in w.accounts:
            if a.taken_over is not None and a.paper:
                w.recover(a)
        waits = any(L.purges for chain in w.server.chains for L in chain)
        for rnd in range(18 + 22 * waits):
            w.settling = rnd > 9
            w.last_round(1 if rnd < 2 else 30)  # a day passes: C5
            g = [d for d in w.good() if d.may_write()]
            if rnd in (2, 4, 6) and g:
                x = w.r.choice(g)
                x.sync(View(w, x))
                x.post()
        w.settles()
        for side in range(len(w.server.chains)):
            w.check(side)
        w.meet()

    def last_round(w, hours):
        """Every honest device syncs once."""
        before = sum(map(len, w.server.chains))
        w.t += hours
        for d in w.good():
            if w.lying:
                d.remember = {}  # the person says that the server was put back
            d.sync(View(w, d))
        w.quiet = 0 if sum(map(len, w.server.chains)) > before else w.quiet + 1

    def settles(w):
        """Nothing changes any more: honest devices come to an end of writing links. A wait of a day takes four rounds."""
        before = sum(map(len, w.server.chains))
        for rnd in range(60):
            if w.quiet > 5:
                break
            w.last_round(30)
        else:
            w.fail('links are written for ever')
        if sum(map(len, w.server.chains)) > before:
            w.note('settled late')

    def soon(w, p):
        """Does a device do now what it may also do later? When the world settles, it does."""
        return w.settling or w.r.random() < p
