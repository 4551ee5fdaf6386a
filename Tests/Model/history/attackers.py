"""What thieves, former writers and a lying server do."""

import copy

from .chains import Frontier, View
from .rules import OWNER, VIEWER, WRITER, WRITES


class Attackers:
    def lie(w, d):
        r = w.r
        lies = w.lies.setdefault(d.name, {})
        k = r.randint(0, 4)
        if k == 0:
            lies['hide'] = {i for i in w.server.entries if r.random() < 0.3}
        elif k == 1:
            lies['links'] = max(d.m, r.randint(1, len(d.links)))
        elif k == 2:
            lies['links'] = d.m
            lies['chains'] = {}
            for a in w.accounts:
                last = r.randint(0, len(a.branches) - 1)
                lies['chains'][a.i] = {b: r.randint(1, len(a.branches[b])) if b == last else len(a.branches[b]) for b in range(last + 1)}
        elif k == 3 and w.server.heads[d.side]:
            lies['head'] = r.randint(0, len(w.server.heads[d.side]))
        else:
            w.lies[d.name] = {}

    def hide_evidence(w):
        """The server withholds one of two entries with one number from some devices that have not got it (K6)."""
        q, by = w.q, {}
        for e in w.server.entries.values():
            by.setdefault(e.dot, []).append(e.id)
        twice = [x for d, x in sorted(by.items()) if len(x) > 1]
        if not twice:
            return
        hidden = q.choice(q.choice(twice))
        for d in w.devices:
            if hidden not in d.ids and q.random() < 0.6:
                hide = w.lies.setdefault(d.name, {}).get('hide', ())
                w.lies[d.name]['hide'] = {hidden, *hide}
                w.note('entry of a fork withheld')

    def part(w):
        """The server makes two camps: it withholds a log from each, both write roots without it, and the devices of these logs are closed (C9)."""
        r, good = w.camps, [d for d in w.good(0) if d.may_write() and d.inst is not None]
        if len(good) < 4:
            return
        heads = r.sample(good, 2)
        logs = [d for d in r.sample(good, len(good)) if d not in heads][:2]
        for d in logs:
            w.edit(d)
            d.sync(View(w, d))
        for d, log in zip(heads, logs):
            hide = {e.id for e in w.server.entries.values() if e.inst == log.inst and e.id not in d.ids}
            w.lies.setdefault(d.name, {})['hide'] = {*hide, *w.lies.get(d.name, {}).get('hide', ())}
        for hours in range(r.randint(1, 6)):
            for d in r.sample(heads, 2):
                if d.bad or not w.trusted(d):
                    continue
                d.sync(View(w, d))
                if r.random() < 0.5:
                    d.post()
            for t in logs:
                others = [x for x in w.good(0) if x.acct is t.acct and x is not t]
                if others and w.trusted(t) and r.random() < 0.3:
                    w.revoked_at[t.name] = w.count
                    t.acct.add('revoke', t.name)
                    w.out.add(t.name)
            w.t += r.choice([1, 9])
        w.note('two camps')

    def fork_chain(w):
        """The server shows some devices another continuation of the member chain (R95)."""
        S = w.server
        dark = [d for d in w.devices if w.r.random() < 0.4]
        if len(S.chains) > 1 or not dark or len(dark) == len(w.devices):
            return
        at = max(d.m for d in dark)
        if at < 1:
            return
        S.chains.append(S.chains[0][:at])
        S.heads.append(list(S.heads[0]))
        w.note('chain forked')
        for d in dark:
            d.side = 1
        w.forked_at = at

    def evil(w, d):
        """A device of a thief or former writer: dates back, wipes, forks, claims what is not, sets bad heads, writes links. It never stops pushing."""
        r, S = w.r, w.server
        trusted = w.trusted(d)
        if not (w.lying or trusted and d.links[-1].roles.get(d.acct.i) in WRITES):
            return
        if d.known is None:
            d.known = (d.m, d.newest(d.acct.i))
        d.m = min(max(d.m, d.known[0]), len(d.links))
        if d.inst is None or not d.m or d.inst[2] >= d.m:
            return
        p, h = (d.m - 1, d.newest(d.acct.i)) if trusted else (min(d.known[0], d.m) - 1, d.known[1])
        if p < d.inst[2]:
            return
        k = r.choice([0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8])
        if k <= 2:
            w.evil_entry(d, p, h, trusted)
        elif k == 3 and trusted:
            w.bad_head(d)
        elif k == 4 and trusted and w.badlinks and d.may_write():
            w.bad_checkpoint(d)
        elif k == 5:
            w.dark_link(d, trusted)
        elif k == 6:
            w.take_over(d, trusted)
        elif k == 7 and trusted:
            w.evil_purge(d)
        elif trusted:
            d.sync(View(w, d))

    def evil_entry(w, d, p, h, trusted):
        r, S = w.r, w.server
        key = r.randint(0, 2)
        line = f'bad.{w.idn()}'
        if r.random() < 0.15:
            d.begin()
            d.inst = d.inst[:2] + (p,) + d.inst[3:]  # instances cost nothing (review 10)
        old, _, dots = d.shown(key)
        val = old + (line,)
        # Wipes what is there: of a device that lost its right it must come to nothing.
        wipe = r.random() < (0.1 if trusted else 0.5)
        if wipe:
            val, dots = (line,), tuple(sorted(d.state.get(key, {})))
        e = d.write({key: (val, dots)}, bad='wipe' if wipe and dots else True, p=p, h=h)
        S.entries[e.id] = e
        if e.bad == 'wipe':
            w.wipes.add((key, e.dot))
            w.note('wipe by a trusted device' if trusted else 'wipe')
        for x in d.store.values():
            if x.inst == d.inst:
                S.entries.setdefault(x.id, x)
        if r.random() < 0.2 and e.n > 1:  # a second entry with the same number
            x = copy.copy(e)
            x.id = w.idn()
            S.entries[x.id] = w.made[x.id] = x
            w.note('fork made')
            if r.random() < 0.5:
                x.height += r.randint(1, 9)
        if r.random() < 0.1:
            e.seen = dict(e.seen)
            e.seen[(0, 'none', 0, -1)] = (5, -5)  # has seen what does not exist

    def bad_checkpoint(w, d):
        d.sync(View(w, d), stop=1)
        if not (d.full() and d.may_write() and not d.limit_own() and d.post()):
            return
        L = d.links[-1]
        w.note('bad checkpoint')
        if w.r.random() < 0.6 and L.accept:  # a tip that nobody has, and a bare form that is none
            i = w.r.choice(sorted(L.accept))
            # Or one that everybody has, under a number that is not its own.
            L.accept[i] = (L.accept[i][0] + 50, -9 if w.count % 3 else L.accept[i][1])
            if w.count % 2:  # an end of somebody's log, without two entries
                before = tuple(end for end in L.ended.get(i, ()) if end[0] < L.k)  # key 6 has one of each
                L.ended[i] = before + ((L.k, 0, -9, -9 if w.count % 5 else -8),)
            L.bare = {i: -9} if w.r.random() < 0.5 else {}
            w.bares = True
        elif L.root is not None and w.q.random() < 0.5 and w.raise_limit(d, L):
            w.note('limit raised by a thief')
        else:
            L.root = {}
            w.tainted = True  # a tree that is not true
        L.refutes = {k for k in range(L.k) if w.r.random() < 0.3}
        d.base, d.verified = L.parent, True
        d.rebuild()

    def raise_limit(w, d, L):
        """A root that accepts more of an ended or closed log than the link that shut it, with the tree that belongs to it."""
        for e in sorted(d.store.values(), key=lambda e: -e.n):
            at = L.accept.get(e.inst, (0, 0))
            if d.limit(e.inst) is None or e.n <= at[0]:
                continue
            line, x = [], e
            while x is not None and x.n > at[0]:
                line.append(x)
                x = d.store.get(x.prev)
            if len(line) != e.n - at[0] or line[-1].prev != at[1]:
                continue
            L.accept[e.inst] = (e.n, e.id)
            for x in reversed(line):
                d.apply(L.root, x, set())
            return True
        return False

    def dark_link(w, d, trusted):
        """A thief gives somebody a right, or takes it, with a link that states an old head of its device chain (K7)."""
        chain, a = d.links, d.acct
        if trusted and w.r.random() < 0.7:
            return
        if chain[-1].roles.get(a.i) != OWNER or d.side != 0 and not w.lying:
            return
        h = max(d.known[1], chain[-1].heads.get(a.i, (0, 0)))
        if d.name not in a.trusted(h):
            return  # rules 3 and 4 of member links
        others = [x for x in w.accounts if x.i not in (a.i, 0)]
        if not others:
            return
        x = w.r.choice(others)
        new = w.r.choice([OWNER, WRITER, VIEWER, None])
        if chain[-1].roles.get(x.i) == new:
            return
        keep, d.branches = d.branches, {y.i: {b: len(o) for b, o in enumerate(y.branches)} for y in w.accounts}
        d.branches[a.i] = {h[0]: h[1]}
        d.m = len(chain)
        d.rebuild()
        if d.may_write() and not d.limit_own() and d.post({x.i: new}, root=False):
            w.note('link by a thief' if trusted else 'link signed behind a revocation')
            if not trusted:
                chain[-1].dark = True
            if new in WRITES:  # whom he brought in writes at once
                for y in w.devices:
                    if y.acct is x and w.r.random() < 0.4 and not y.bad:
                        y.bad = True
                        w.out.add(y.name)
                        y.known = (len(chain), y.newest(x.i))
        d.branches = {**keep, **{i: {b: max(n, keep.get(i, {}).get(b, 0)) for b, n in v.items()} for i, v in d.branches.items()}}

    def take_over(w, d, trusted):
        """A thief revokes another device of the account and adds one of his own; on a branch that was replaced he goes on for ever."""
        a = d.acct
        if not a.paper:
            return
        if trusted and w.r.random() < 0.3:
            last = len(a.branches) - 1
            others = [x for x in w.devices if x.acct is a and x is not d and w.trusted(x)]
            if a.taken_over is None:
                a.taken_over = len(a.branches[-1])
            if others and w.r.random() < 0.7:
                a.add('revoke', w.r.choice(others).name)
            w.taken_over = True
            w.note('account taken over')
        elif not trusted and w.lying and len(a.branches) > 1:
            b = a.where[d.name]
            if b == len(a.branches) - 1 or d.name not in a.trusted(a.norm((b, len(a.branches[b])))):
                return
        else:
            return
        if len(w.devices) > 12:
            return
        x = w.device(a, None if trusted else b)
        x.bad = True
        x.side = d.side
        w.out.add(x.name)
        x.m, x.base, x.verified, x.store, x.ids, x.came = d.m, d.base, d.verified, dict(d.store), set(d.ids), set(d.came)
        x.branches = {i: dict(v) for i, v in d.branches.items()}
        bb = a.where[x.name]
        x.branches[a.i][bb] = len(a.branches[bb])
        x.rebuild()
        x.known = (x.m, a.norm((bb, len(a.branches[bb]))))
        x.begin()
        w.note('device of a thief')

    def evil_purge(w, d):
        """A thief with an owner's device orders everything to be deleted for good (review 2)."""
        if d.role() != OWNER or not d.verified or w.r.random() < 0.5:
            return
        d.sync(View(w, d), stop=1)
        held = {x: {i for i, e in x.store.items() if set(e.changes) & {0, 1, 2}} for x in w.good(d.side)}
        done = d.purge({0, 1, 2})
        for e in d.store.values():
            if e.bad and e.inst == d.inst:
                w.server.entries[e.id] = e
                w.wipes |= {(k, e.dot) for k in e.changes}
        if done:
            w.note('purge by a thief')
            w.thefts.append((d.links[-1], d, held))

    # -- themes: what is rare by chance ------------------------------------------------------------------------------------------
    def play_theme(w):
        r = w.r
        good = w.good(0)
        if not good:
            return
        d = r.choice(good)
        v = View(w, d)
        owners = [x for x in good if x.m and x.role() == OWNER]
        if w.theme == 'half':  # a revocation without its closing link, and a thief who is quicker
            own = [x for x in good if x.acct is d.acct and x is not d]
            if not own:
                return
            t = r.choice(own)
            d.sync(v)
            w.edit(t)
            t.sync(View(w, t))
            w.revoked_at[t.name] = w.count
            d.acct.add('revoke', t.name)
            w.out.add(t.name)
            t.bad = True
            t.known = (t.m, t.newest(t.acct.i))
            for x in r.sample(good, len(good) // 2):
                x.follow(View(w, x))
            if w.lying and t.inst is not None:
                w.dark_link(t, False)
                for y in w.devices:
                    if y.bad and r.random() < 0.7:
                        w.evil(y)
            for x in r.sample(good, len(good) // 2):
                if x is not t:
                    x.sync(View(w, x), stop=r.choice([1, 9]))
        elif w.theme == 'limit':
            w.false_limit(d)
        elif w.theme == 'purge' and owners:
            t = r.choice(owners)
            w.turn(t)
            if t.inst is not None:
                w.evil_purge(t)
        elif w.theme == 'take over':
            bad = [x for x in w.devices if x.bad and x.acct.paper and x.inst is not None and x.m]
            if bad:
                t = r.choice(bad)
                t.known = t.known or (t.m, t.newest(t.acct.i))
                w.take_over(t, w.trusted(t))
                w.evil(t)
            elif d.acct.paper and len(good) > 2:
                w.turn(d)
            else:
                d.acct.paper = True
        elif w.theme == 'lowered':  # who lost his right goes on with a device that comes later
            gone = [x for x in w.devices if x.acct.i in x.links[0].roles or x.acct.i not in x.links[-1].roles]
            gone = [x for x in gone if x.m and x.links[-1].roles.get(x.acct.i) not in WRITES]
            if gone and w.lying:
                x = r.choice(gone)
                y = w.device(x.acct)
                y.bad = True
                w.out.add(y.name)
                y.m, y.side = x.m, x.side
                y.branches = {a: dict(b) for a, b in x.branches.items()}
                y.branches[x.acct.i] = {b: len(o) for b, o in enumerate(x.acct.branches)}
                p = next((k for k in range(y.m - 1, -1, -1) if y.links[k].roles.get(x.acct.i) in WRITES), None)
                if p is not None:
                    y.m = p + 1
                    y.base = -1
                    y.begin()
                    y.known = (y.m, x.acct.head)
                    w.evil_entry(y, p, x.acct.head, False)

    def false_limit(w, d):
        """A bad writer is first with the closing link of somebody's revoked device, with a tip that does not exist (review 3)."""
        r = w.r
        bad = [x for x in w.devices if x.bad and w.trusted(x) and x.m and x.side == 0 and x.links[-1].roles.get(x.acct.i) in WRITES]
        if not bad:
            if w.alone(d.acct.i, 0) or len(w.good()) < 3:
                return
            w.turn(d)
            return
        own = [x for x in w.good(0) if x.acct.i == d.acct.i and x is not d and x.inst is not None]
        if not own:
            return
        t, m = r.choice(own), r.choice(bad)
        if r.random() < 0.8:
            w.edit(t)
        t.sync(View(w, t))
        for x in w.good(0):
            if x is not t and r.random() < 0.6:
                x.sync(View(w, x))
                w.edit(x)
                x.sync(View(w, x))
        m.known = m.known or (m.m, m.newest(m.acct.i))
        w.revoked_at[t.name] = w.count
        t.acct.add('revoke', t.name)
        w.out.add(t.name)
        m.follow(View(w, m))
        m.rebuild()
        if m.full() and m.may_write() and not m.limit_own() and m.post(root=False):
            L = m.links[-1]
            mine = [i for i in L.accept if i[1] == t.name]
            w.note('false limit')
            for i in mine:
                L.accept[i] = (L.accept[i][0] + r.choice([0, 50]), -9)
            m.base, m.verified = L.parent, True
            m.rebuild()

    def bad_head(w, d):
        """A head that names nothing, an instance that is none, or a number of a real log that does not exist (review 1c)."""
        r, heads = w.r, w.server.heads[d.side]
        vec = r.choice([{}, {(0, 'none', 0, -1): (7, -7)}, None])
        if vec is None:
            vec = dict(heads[-1].vec) if heads else {}
            for i in list(vec):
                vec[i] = (vec[i][0] + r.choice([1, 50]), -7)
        heads.append(Frontier(w.idn(), vec, heads[-1].id if heads else None, d.name))
        w.note('bad head')

    def hammer(w):
        """A thief with a trusted device posts a checkpoint with a false tip each hour, and a false head after each push (review 1)."""
        for d in [d for d in w.devices if d.bad]:
            chain, heads = d.links, w.server.heads[d.side]
            if not w.trusted(d) or chain[-1].roles.get(d.acct.i) not in WRITES:
                continue
            if d.known is None:
                d.known = (d.m, d.newest(d.acct.i))
            if heads and heads[-1].by != d.name:
                w.bad_head(d)
            if w.r.random() < 0.1 and d.inst is not None and d.m:
                d.follow(View(w, d))
                if d.full() and d.may_write() and not d.limit_own():
                    d.post(root=False, epoch=True)
            if w.t - d.posted < 1 or w.r.random() < 0.5:
                continue
            d.m = min(max(d.m, d.known[0]), len(d.links))
            d.follow(View(w, d))
            if d.full() and d.may_write() and d.inst is not None and not d.limit_own() and d.post(root=w.r.random() < 0.5):
                L = d.links[-1]
                d.posted = w.t
                w.note('false tip')
                L.accept[w.r.choice(sorted(L.accept)) if L.accept else d.inst] = (50, -9)
                d.base, d.verified = L.parent, True
                d.rebuild()
