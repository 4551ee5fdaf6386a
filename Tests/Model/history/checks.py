"""What must hold at the end of a world, and what no rule can hold."""

from .rules import WRITES


class Checks:
    def check(w, side):
        chain = w.server.chains[side]
        good = [d for d in w.good(side) if not w.waits_for_nobody(d)]
        if not any(d.may_write() for d in good):
            return
        if len({d.m for d in good}) > 1 or good[0].m != len(chain):
            w.fail('links not followed')
        facts = lambda d: {k: v for k, v in d.state.items() if v}
        if any(facts(d) != facts(good[0]) for d in good):
            first = next(d for d in good if d.may_write())
            if w.tainted and not any(d.may_write() for d in good if facts(d) != facts(first)):
                return w.note('a false tree that only viewers could refute (12.5)')
            w.fail('several states')
        if any(d.f != good[0].f for d in good):
            w.fail('several frontiers')
        if len({d.base for d in good}) > 1:
            w.note('several bases at the end')
        elif any(d.shown(k) != good[0].shown(k) for d in good for k in range(3)):
            w.fail('several texts')
        names = {x.name for x in good}
        for d in good:
            for e in d.store.values():
                waits = e.p < len(chain) and chain[e.p] is e.link  # of another chain: for good
                if (
                    not e.bad
                    and waits
                    and d.counts(e) is None
                    and d.limit(e.inst) is None
                    and e.n > d.f.get(e.inst, (0, 0))[0]
                    and e.inst[1] in names
                ):
                    w.fail('an entry is held for ever')
                at = d.f.get(e.inst, (0, 0))
                if not e.bad and e.n == at[0] + 1 and e.prev == at[1] and waits and len(w.server.chains) == 1 and d.counts(e):
                    w.fail('an entry is held by what it has seen')
            for i, (n, x) in d.f.items():
                c = d.closed(i)
                e = d.store.get(x)
                if c is not None and e is not None and e.bad and e.id > chain[c].cursor:
                    w.fail('dated back')
                if e is not None and e.bad and e.p < d.m and chain[e.p] is not e.link:
                    w.fail('an entry of another chain counts')
            if d.may_write() and d.due():
                w.fail('closing held up')
            if d.may_write() and d.usable(d.m - 1) is None:
                w.fail('cannot write')
        w.check_closed(good, chain)
        w.check_rights(good, chain)
        w.check_lines(good, chain, side)
        w.check_keys(chain if len(w.server.chains) == 1 else chain[w.forked_at :], chain)
        w.check_purges(good, chain)

    def check_closed(w, good, chain):
        """What the link that closed a log accepts stays, if an honest device had a base with it and all can be had (C9)."""
        served = w.server.entries
        for i in {i for L in chain for i in L.accept}:
            stops = [c for c in (good[0].closed(i), (good[0].end(i) or (None,))[0]) if c is not None]
            n, x = chain[min(stops)].accept.get(i, (0, 0)) if stops else (0, 0)
            line, tip = n, x
            while tip in served and served[tip].dot == (i, line):
                tip, line = served[tip].prev, line - 1
            if n and line == 0 and any(d.had.get(i, 0) >= n for d in good) and any(d.f.get(i, (0, 0))[0] < n for d in good):
                if not w.notes.get('gives way'):
                    w.fail('words of a closed log are lost')
                w.note('words of a closed log set aside')

    def compare(w):
        """On one base, with one frontier, all show the same, at any time (S1, T2)."""
        groups = {}
        for d in w.good():
            if d.m:
                groups.setdefault((d.side, d.m, d.base, frozenset(d.f.items())), []).append(d)
        for g in groups.values():
            if len({frozenset(i for i in d.forks if d.end(i) is None) for d in g}) > 1:
                continue
            if any({k: v for k, v in d.state.items() if v} != {k: v for k, v in g[0].state.items() if v} for d in g):
                w.fail('several states on the way')
            if any(d.shown(k) != g[0].shown(k) for d in g for k in range(3)):
                w.fail('several texts')

    def waits_for_nobody(w, d):
        """Does the device wait for the word of an account that nobody can speak for (K7: share restart)?"""
        if d.stuck is None:
            return False
        a = d.links[d.stuck].signer[0]
        before = d.links[d.stuck - 1].roles
        if d.unspoken(d.stuck) and not any(L.dark for L in d.links[d.stuck :] if L.signer[0] == a):
            return False
        able = [x for x in w.good(d.side) if x.role() in WRITES and (x.acct.i == a or before.get(x.acct.i) == 1 and w.alone(a, d.side))]
        if any(x.stuck is None or x.acct.i == a for x in able) and not w.notes.get('cannot undo') and not w.notes.get('cannot confirm'):
            return False
        w.note('waits for an account that nobody speaks for')
        return True

    def check_rights(w, good, chain):
        """Nobody writes by a right that a thief gave behind his revocation, if no honest device took that link in the dark (K7)."""
        for L in chain:
            if not L.dark or not L.change or L.taken_in_dark:
                continue
            until = next((c.k for c in chain[L.k + 1 :] if set(c.change) & set(L.change)), len(chain))
            if any(c.taken_in_dark for c in chain[L.k : until + 1]):
                continue
            for x, r in L.change.items():
                first = next(c.k for c in chain if c.dark and x in c.change)  # what he had before is his own
                if r not in WRITES or chain[first - 1].roles.get(x) in WRITES:
                    continue
                roots = [c.accept for c in chain[L.k : until] if c.root is not None]  # what a root took in meanwhile stays in
                for d in good:
                    for e in d.store.values():
                        counts = e.bad and e.inst[0] == x and L.k <= e.p < until and e.n <= d.f.get(e.inst, (0, 0))[0] and d.standing(e)
                        if counts and not any(e.n <= a.get(e.inst, (0, 0))[0] for a in roots):
                            w.fail('a right that a thief gave')

    def check_lines(w, good, chain, side):
        last, lost = chain[-1].roles, []
        for line, (k, name) in w.lines.items():
            if line in w.removed or not any(d.name == name and last.get(d.acct.i) in WRITES for d in good):
                continue
            if not all(any(line in v for h, v in d.state.get(k, {}).values()) for d in good):
                lost.append(line)
        if lost and not w.tainted and not w.excused(lost, good, chain):
            w.fail('lost lines')
        if lost:
            w.note('lost by a lying checkpoint' if w.tainted else 'lines of an excused kind')

    def check_keys(w, own, chain):
        for L in own:
            if not L.opens or L.kids[L.epoch] in w.stolen:
                continue
            later = chain[L.k :]
            for dev in w.keys[L.kids[L.epoch]]:
                a = w.owner[dev]
                if (
                    a in L.heads
                    and w.accounts[a].out(dev, L.heads[a])
                    and not any(not w.accounts[a].out(dev, x.heads[a]) for x in later if a in x.heads)
                ):
                    w.fail('key of a later epoch')
                if not any(a in x.roles for x in later):
                    w.fail('key of a later epoch')
        last = chain[-1]
        kid = last.kids[last.epoch]
        if kid not in w.stolen and any(
            w.accounts[w.owner[x]].out(x, last.heads[w.owner[x]]) for x in w.keys[kid] if w.owner[x] in last.heads
        ):
            w.fail('a closed device has the newest key')

    def check_purges(w, good, chain):
        for d in good:
            d.drop()
            d.purging()
            for k in d.purged if d.sure() else ():  # gone means gone
                L = chain[k]
                tips = {x for n, x in d.accept().values()} - set(L.bare.values())
                for e in d.store.values():
                    if L.purges & set(e.changes) and e.n <= min(L.accept.get(e.inst, (0, 0))[0], d.accept().get(e.inst, (0, 0))[0]) and e.id not in tips and not d.unsent(e):
                        w.fail('purged entry kept')
        for L, thief, held in w.thefts:  # what a thief ordered away stays, where he is revoked in time
            if w.trusted(thief) or L not in chain:
                continue
            for d, ids in held.items():
                if d not in good or d.skew or L.k in d.purged:
                    continue
                if not ids <= set(d.store) | d.dropped | d.went | d.redone | w.lost_copies:
                    w.fail('history lost by a purge')
            for d in good:
                # Revoked before seven days of syncs had passed here: nothing went.
                if L.k in d.purged and d.seen_purges[L.k][0] < 21:
                    w.fail('history lost by a purge')
                if L.k in d.purged_late:
                    w.fail('purge by a revoked device')

    def meet(w):
        """Counts worlds in which both continuations of a forked chain went on: whoever is shown both says so (K9), and changes nothing."""
        chains = w.server.chains
        if len(chains) < 2 or min(map(len, chains)) <= w.forked_at:
            return
        w.note('forks of the chain found')

    def excused(w, lost, good, chain):
        """Are all these lines of a kind that no rule can hold? See the head of history_model.py."""
        known = list(w.server.entries.values()) + [e for d in w.devices for e in d.store.values()]
        out = set()
        for line in lost:
            k, name = w.lines[line]
            a = w.accounts[w.owner[name]]
            if w.first[line] in w.lost_copies:
                why = None
            elif not any(w.first[line] in d.wrote for d in good):
                why = 'only on a branch whose copy is gone (rescue)'
            elif any((k, dot) in w.wipes for e in known if not e.bad and k in e.changes for dot in e.changes[k][1]):
                why = 'edited what a thief had wiped (S10)'
            elif any(q == k and d[1] <= good[0].f.get(d[0], (0, 0))[0] for q, d in w.wipes):
                why = 'wiped by a thief while trusted or in the dark (12.2, 12.3)'
            elif any(good[0].closed(i) is not None for i in {e.inst for e in known if e.inst[1] == name}):
                why = 'words above the limit of who came back (share rescue)'
            else:
                continue
            out.add(line)
            if why:
                w.note(why)
        return set(lost) <= out
