"""Checkpoints: which one a device builds on, how links are written, and what is deleted for good (Spec/history.md: C, K, G, P)."""

import copy

from .chains import Link
from .rules import on, Broken, OWNER, WRITES

TEXTS = (0, 1, 2)
SEASON = 40  # stands for 30 days, since worlds are short
HALF = 168  # hours between a purge that was seen and what it removes at other devices


class Judging:
    """Which checkpoint is the base (C4 to C9)."""

    def proven(s, k):
        """C4: every tip that the checkpoint names is here or was, or its bare form, without changes, is (P2)."""
        made = s.w.made
        here = lambda i, n, x: x in s.ids and x in made and (made[x].dot == (i, n) or not on('C4'))
        if not s.w.bares:
            return all(here(i, n, x) for i, (n, x) in s.links[k].accept.items())
        bare = {x: i for L in s.links[: s.m] for i, x in L.bare.items()}
        return all(
            here(i, n, x) or bare.get(x) == i and (x in made and made[x].dot == (i, n) or not on('P2'))
            for i, (n, x) in s.link(k).accept.items()
        )

    def compute(s, accept, base=None):
        """The state at what a link accepts, from a base, the own one if none is named; None: entries are missing."""
        keep, s.base = s.base, s.base if base is None else base
        f = dict(s.accept())
        tree = s.link(s.base).root if s.base >= 0 else {}
        state = {q: dict(v) for q, v in tree.items()}
        s.settle(upto=accept, state=state, f=f)
        s.base = keep
        return state if f == accept else None

    def both(s, k):
        """C9: what a checkpoint accepts that covers what is applied here, and what link k accepts."""
        return {**s.f, **{i: x for i, x in s.links[k].accept.items() if x[0] > s.f.get(i, (0, 0))[0]}}

    def start(s, accept):
        """From which base that is computed: from none, if the own base left out closed logs, since it may have replaced what they say."""
        acc = s.accept()
        shut = s.base >= 0 and any(n > acc.get(i, (0, 0))[0] and s.stopped(i, s.base) for i, (n, x) in accept.items())
        return -1 if shut and on('C9 past') else s.base

    def covers(s, k):
        """C9: can this device write a root that covers both?"""
        if not s.may_write() or not s.sure() or not on('C9 cover'):
            return False
        accept = s.both(k)
        return s.compute(accept, s.start(accept)) is not None

    def take(s, fresh=False):
        """Looks at the checkpoints above the base, newest first."""
        old, s.passed = (s.base, s.m), None
        for k in range(s.m - 1, s.base, -1):
            L = s.link(k)
            if L.root is None or k in s.void or not s.proven(k):
                continue
            if s.verified and s.doubt is not None and k >= s.doubt:
                s.w.note('waits for the entries of an end')
                continue
            if s.raises(k):
                s.void.add(k)
                s.w.note('limit raised')
                continue
            acc = s.accept()
            less = [i for i, (n, x) in acc.items() if L.accept.get(i, (0, 0))[0] < n]
            shut = [i for i, (n, x) in L.accept.items() if n > acc.get(i, (0, 0))[0] and s.base >= 0 and s.stopped(i, s.base)]
            if less and on('C9'):  # C9: it leaves out what the base has
                if not s.verified and s.base in L.refutes and on('C6 list'):
                    s.base = k
                    s.w.note('refuted base left')
                    break
                given = s.w.gone(L) or all(s.stopped(i, k) for i in less) and s.waited(('less', k), 24) and on('C9 way')
                if given and not s.covers(k):
                    s.base, s.verified = k, False  # who cannot cover both gives way
                    s.w.note('gives way')
                    break
                s.passed = k if s.passed is None else s.passed
                continue
            if shut and on('C9 closed'):  # C9: the base left out what is proven now, and may have replaced what it says
                s.base, s.verified = k, False
                s.w.note('closed log taken in')
                break
            state = None if less or s.base < 0 and not s.verified else s.compute(L.accept)
            if state is not None and s.verified:
                if state == L.root:
                    s.base = k
                    break
                s.void.add(k)
                s.w.note('checkpoint differs')
                continue
            if state == L.root and state is not None and 'C7 second' in s.w.trial and s.link(s.base).signer[1] != L.signer[1]:
                s.base, s.verified = k, True
                s.w.note('verified by a second author')
                break
            if s.base in s.seasoned and state == L.root:
                s.seasoned.add(k)
            if fresh or s.w.gone(L) or not s.verified or s.waited(('base', k), 24):  # C7: swept, or a day has passed
                older = s.older(k) if 'C7 older' in s.w.trial and s.base < 0 else None
                s.base, s.verified = (k if older is None else older), False
                s.w.note('checkpoint taken unverified')
                break
        if s.base >= 0 and not s.verified:
            s.verify()
        return s.base != old[0]

    def raises(s, k):
        """C9: does a checkpoint accept more of an instance than the link that closed or ended it, and no link before that one just that?"""
        for i, (n, x) in s.links[k].accept.items():
            stops = [c for c in (s.closing(i, k), (s.end(i, k) or (None,))[0]) if c is not None]
            if stops and n > s.links[min(stops)].accept.get(i, (0, 0))[0] and on('C9 raised'):
                if not any(L.accept.get(i) == (n, x) for L in s.links[: min(stops)]):
                    return True
        return False

    def verify(s):
        """C7: an unverified base is verified by all older entries, or by 30 days in which nobody refuted it it comes to be believed."""
        L, keep = s.link(s.base), (s.f, s.state)
        if on('C7 past') and len(s.links[L.k].accept) > 0:
            state = 'raised' if s.raises(L.k) else s.compute(L.accept, -1) if s.doubt is None or L.k < s.doubt else None
            s.f, s.state = keep
            if state is not None:
                if state == L.root:
                    s.verified = True
                    s.w.note('verified by its past')
                else:
                    s.void.add(L.k)
                    s.base, s.verified = -1, True
                    s.w.note('false base found')
                    s.take()
                return
        if s.waited(('unverified', s.base), SEASON) and s.base not in s.seasoned:
            s.seasoned.add(s.base)
            s.w.note('seasoned')

    def sure(s):
        """May this device write roots and drop? Verified, or nobody refuted its base for 30 days (C7)."""
        return s.verified or s.base in s.seasoned and on('C7 time')

    def older(s, k):
        """A trial: the newest root before k, if k's differs from what its tree and the entries between give."""
        keep, L = (s.base, s.verified, s.f, s.state), s.link(k)
        for j in range(k - 1, -1, -1):
            if s.link(j).root is None or not s.proven(j) or j in L.refutes:
                continue
            s.base = j
            state = s.compute(L.accept)
            s.base, s.verified, s.f, s.state = keep
            return j if state is not None and state != L.root else None
        return None


class Linking:
    """Links, and who writes which (K2, C1 to C3)."""

    def full(s):
        return len(s.links) == s.m

    def post(s, change=None, root=True, epoch=False, confirms=(), purges=(), again=False):
        """A link with a checkpoint; what closes waits for nothing (C1, C2, K2). False: lost the race, C2 or C3. again: C6's better one."""
        chain, w = s.links, s.w
        if not s.full() or not s.may_write() or s.old and on('E7') or s.bad and s.limit_own():
            return False
        if s.limit_own():
            s.inst = None  # I1: left; a link needs no instance
        row = 0
        for x in reversed(chain):
            if x.signer[1] != s.name:
                break
            row += x.opens
        due = s.due()
        if epoch and row >= 16 and not due:
            return False  # of one device in a row
        forks = s.unended()
        plain = not (change or epoch or due or forks or confirms)
        if plain and not (again or purges) and any(x.plain and x.signer[1] == s.name and w.t - x.posted < 1 for x in chain):
            return False  # C3
        if plain and on('C2'):
            for k in range(s.base + 1, s.m):  # C2: what proven checkpoints accept
                if chain[k].root is None or k in s.void or not s.proven(k):
                    continue
                if any(s.f.get(i, (0, 0))[0] < n and s.limit(i) is None for i, (n, x) in chain[k].accept.items()):
                    return False
        root = root and (s.sure() or not on('C1'))  # C1: who is unverified writes cuts only
        if s.doubt is not None:
            root = False  # K6: a root waits a day for the entries of ends
        if s.lacks_closed() and not s.is_over('closed', 24) and on('C2 root'):
            root = False  # C2: a root waits a day for closed logs
        cover = again and s.passed is not None and on('C9 cover')
        if again and not root or cover and not s.covers(s.passed):
            return False  # C6, C9: a better root, or nothing; one that does not cover both would be passed over too
        if root and not s.bad and not s.write_merged():
            root = False
            if again or purges:
                return False
        L = Link(s.m, chain[-1], (s.acct.i, s.name))
        L.change = dict(change or {})
        for a, r in L.change.items():
            if r is None:
                L.roles.pop(a, None)
            else:
                L.roles[a] = r
            L.keyed.setdefault(a, s.newest(a))
            if a not in chain[-1].roles:  # who was revoked before his account came got no letter
                w.keys[L.kids[L.epoch]] -= {x for x in w.accounts[a].where if w.accounts[a].out(x, L.keyed[a])}
            L.heads[a] = max(L.heads.get(a, (0, 0)), s.newest(a))
        for a in L.roles:
            L.heads[a] = max(L.heads.get(a, (0, 0)), s.newest(a))
        L.heads[s.acct.i] = max(L.heads[s.acct.i], s.newest(s.acct.i))
        for i in forks:
            n = s.common(i)
            both = sorted(e.id for e in s.store.values() if e.dot == (i, n + 1))
            L.ended[i] = L.ended.get(i, ()) + ((L.k, n, *both[:2]),)
        ends = bool(due) and on('K3') or any(r is None for r in L.change.values())  # K3: a new key, only if reading ends
        if ends or epoch:
            L.epoch += 1
            L.opens = True
            kid = w.idn()
            L.kids[L.epoch] = kid
            if ends:
                L.since = L.epoch
            L.keyed = {a: L.heads[a] for a in L.roles}
            w.keys[kid] = (
                {s.name} if s.bad else {d for a in L.roles for d in w.accounts[a].trusted(L.heads[a])}
            )  # a thief gives bad letters
            if s.bad:
                w.stolen.add(kid)
                w.note('bad letters')
        elif due:
            L.keyed = {a: L.heads[a] for a in L.roles}
        s.send()
        L.parent, L.refutes, L.confirms, L.purges = s.base, set(s.void), set(confirms), frozenset(purges)
        if purges:
            w.bares = True
        L.plain, L.posted, L.cursor, L.dark = plain, w.t, w.count, s.name not in s.acct.now()
        chain.append(L)
        s.m += 1
        L.accept, before = dict(s.f), {k: set(v) for k, v in s.state.items()}
        s.rebuild()  # by the rules as they now are
        if root and not s.bad and any(len(v) > 1 and set(v) != before.get(k) for k, v in s.state.items()) and on('T6 link'):
            root = cover = False  # T6: what the link brings together nobody has merged
            L.purges = frozenset()
            w.note('root waits for a merge')
        whole = s.both(s.passed) if cover else dict(s.f)
        L.accept = s.fitting(whole)
        L.bare = {i: x for i, (n, x) in L.accept.items() if x in s.store and L.purges & set(s.store[x].changes)}  # P2
        texts = {k: s.shown(k)[0] for k in TEXTS if not s.shown(k)[1]}
        if root:
            L.root = {k: dict(v) for k, v in s.state.items()} if L.accept == s.f else s.compute(L.accept, s.start(L.accept))
            if L.root is None:
                raise Broken('a checkpoint that its author cannot compute')
            if s.base in s.seasoned:
                s.seasoned.add(L.k)  # computed on a base that is believed
            s.base, s.passed = L.k, None
            s.rebuild()
        s.told('post', root=root, covers=cover)
        if root and not s.bad and not cover and L.accept == s.f and any(s.shown(k)[:2] != (x, False) for k, x in texts.items()):
            raise Broken('merged text lost by a checkpoint')  # T6: no merge becomes a conflict by this
        return not purges or bool(L.purges)

    def lacks_closed(s):
        """C2: are entries of closed logs missing, up to limits that were set behind the base?"""
        return any(
            s.limit(i)[0] > s.f.get(i, (0, 0))[0]
            for L in s.links[s.base + 1 : s.m]
            for i in L.accept
            if s.limit(i) is not None and s.closing(i) is not None and s.closing(i) > s.base
        )

    def unended(s):
        """K6: forked logs that no link ended, with both entries here: an end without them says nothing."""
        twice = {}
        for e in s.store.values():
            twice.setdefault(e.dot, set()).add(e.id)
        both = {d[0] for d, x in twice.items() if len(x) > 1}
        return [i for i in s.forks if s.end(i) is None and s.limit(i) is None and i in both]

    def fitting(s, whole):
        """What key 2 can hold (C1): first what is closed or ended, then the rest in ascending order, closed under seen; others keep the base's number."""
        acc = s.accept()
        differs = sorted(i for i, v in whole.items() if acc.get(i) != v)
        if len(differs) <= s.w.room:
            return whole
        s.w.note('key 2 full')
        shut = [i for i in differs if s.limit(i) is not None]
        chosen = set(shut[: s.w.room])
        seen = {}
        for e in s.store.values():
            if e.n > acc.get(e.inst, (0, 0))[0] and e.n <= whole.get(e.inst, (0, 0))[0]:
                seen.setdefault(e.inst, set()).update(e.seen)
        for i in differs:
            group, todo = set(), [i]
            while todo:
                x = todo.pop()
                if x in group or x not in differs:
                    continue
                group.add(x)
                todo += seen.get(x, ()) if on('C1a') else ()
            if len(chosen | group) <= s.w.room:
                chosen |= group
        return {**acc, **{i: whole[i] for i in chosen}}

    def limit_own(s):
        return s.inst is not None and s.limit(s.inst) is not None

    def write_merged(s):
        """T6: before a checkpoint with a root its author writes the merged text of each key that has one. False: one has no effect."""
        for key in TEXTS:
            if not s.several(key) or s.shown(key)[1] or not on('T6'):
                continue
            if not s.ready():
                return False
            text, conflict, dots = s.shown(key)
            s.write({key: (text, dots)})
            s.w.note('merged text written')
            if s.several(key) and on('T6 link'):
                return False  # K6: he states an older link than an end
        return True

    def several(s, key):
        return len({v for h, v in s.state.get(key, {}).values()}) > 1

    def common(s, inst):
        """The last number of a forked log that both branches share."""
        by = {}
        for e in s.store.values():
            if e.inst == inst:
                by.setdefault(e.n, set()).add(e.id)
        return min(n for n, x in by.items() if len(x) > 1) - 1

    def confirm(s):
        """K7: a person is shown the links that wait, takes them, and undoes what is not his account's doing, in one link."""
        w, was, end = s.w, s.m, len(s.links)
        if not s.ok() or s.old:
            return
        owns = lambda L: L.roles.get(s.acct.i) == OWNER
        speaks = lambda k, a: a == s.acct.i or owns(s.links[k - 1]) and owns(s.links[-1]) and w.alone(a, s.side)
        # Taken here before or not: others wait for it.
        k = next((k for k in range(1, end) if speaks(k, s.links[k].signer[0]) and s.unconfirmed(k, end)), None)
        if k is None or any(not s.knows(x, h) for L in s.links for x, h in L.heads.items()):
            return
        a = s.links[k].signer[0]
        undo, came = {}, set()
        for L in s.links[k:]:
            if L.dark or L.signer[0] in came:
                for x, r in L.change.items():
                    undo.setdefault(x, s.links[L.k - 1].roles.get(x))
                    if r in WRITES:
                        came.add(x)
        undo = {x: r for x, r in undo.items() if s.links[-1].roles.get(x) != r and x != s.acct.i}
        before = s.kept()
        s.m = len(s.links)
        s.held_from = k if undo and on('K8') else None  # nothing that states what is undone is accepted
        s.told('show', held=s.held_from, links=s.m)
        s.resettle()
        if s.role() not in WRITES or undo and s.role() != OWNER:
            w.note('cannot confirm' if s.role() not in WRITES else 'cannot undo')
            vars(s).update(before)
        elif s.post(undo, root=False, confirms={a}):
            w.note('confirmed' + (' and undone' if undo else ''))
        else:
            vars(s).update(before)
        s.held_from = None
        s.rebuild()
        s.told('shown', back=s.m == was)

    def take_unspoken(s):
        """K8: nobody can confirm the link that waits. The person asks who signed it, and takes it on this device, or never."""
        if s.stuck is None or not on('K8 alone'):
            return
        k, end = s.stuck, len(s.links)
        if any(not s.knows(a, h) for L in s.links for a, h in L.heads.items()):
            return
        alike = [x for x in range(k, end) if s.links[x].signer[0] == s.links[k].signer[0] and s.unconfirmed(x, end) and s.unspoken(x)]
        if not alike or not s.w.person(s):
            return
        if any(s.links[x].dark for x in alike):
            return s.w.note('a person says no')
        while s.m < end and (s.m in alike or not s.unconfirmed(s.m, end)):
            s.m += 1
        s.stuck = s.m if s.m < end else None
        s.w.note('taken by a person alone')
        s.told('take', links=end, shown=alike)
        s.resettle()

    def kept(s):
        """What a plan that is thrown away leaves as it was."""
        fields = ('m', 'base', 'verified', 'void', 'seasoned', 'applied', 'asked', 'passed', 'lacked', 'doubt')
        return {x: copy.copy(getattr(s, x)) for x in fields}


class Dropping:
    """What goes from this device (G1, G2, P)."""

    def tips(s):
        """G2: the tips of the base and of checkpoints above it are kept."""
        return {x for L in s.links[max(s.base, 0) : s.m] for n, x in L.accept.values()}

    def unsent(s, e):
        return e.id in s.wrote and (e.n > s.remember.get(e.inst, (0, 0))[0] or not s.standing(e))

    def drop(s):
        """G1: what a checkpoint covers that this device verified."""
        if s.base < 0 or on('G1') and not s.sure():
            return
        acc, tips = s.accept(), s.tips()
        at = {}
        for e in s.store.values():
            at.setdefault(e.dot, set()).add(e.id)
        ends = {x for ends in s.link().ended.values() for end in ends for x in end[2:]}
        kept = lambda e: e.id in tips | ends or len(at[e.dot]) > 1 or s.unsent(e)  # G2, evidence of K6 among it
        gone = {i for i, e in s.store.items() if e.n <= acc.get(e.inst, (0, 0))[0] and not kept(e)}
        unsent = sorted(e.id for e in s.store.values() if s.unsent(e))
        for i in gone:
            del s.store[i]
        s.dropped |= gone
        s.told('drop', unsent=unsent)

    def purge(s, keys):
        """Deleting for good: retract, and say so in a checkpoint, with the bare form of the tips that go (P1, P2)."""
        if s.role() != OWNER or not s.sure() or not s.full() or s.due() or not s.ready():
            return False
        s.write({k: (None, tuple(sorted(s.state.get(k, {})))) for k in keys}, bad=s.bad)
        return s.post(purges=keys)

    def purging(s):
        """P3: what a verified checkpoint by an owner's device says goes here too, after seven days, unless its signer lost his right or a person said no."""
        unsent = sorted(e.id for e in s.store.values() if s.unsent(e))
        for k in range(1, s.m):
            L = s.link(k)
            if not L.purges or k in s.refused_purges:
                continue
            s.seen_purges.setdefault(k, [0, s.w.t])
            s.seen_purges[k][0] += 1
            if L.root is None or L.k > s.base or not s.sure() or s.links[k - 1].roles.get(L.signer[0]) != OWNER:
                continue
            done = k in s.purged or s.name == L.signer[1] or s.waited(('purge', k), HALF) or not on('P3 wait')
            if not done or k not in s.purged and on('P3 signer') and s.revoked(L.signer[1]):
                continue
            if k not in s.purged and s.name != L.signer[1] and s.w.t - s.seen_purges[k][1] < HALF - 8 * s.jumps:
                raise Broken('deleted before seven days')
            tips = {x for n, x in s.accept().values()} - set(L.bare.values())
            gone = {
                i
                for i, e in s.store.items()
                if L.purges & set(e.changes)
                and e.n <= L.accept.get(e.inst, (0, 0))[0]
                and e.n <= s.accept().get(e.inst, (0, 0))[0]
                and i not in tips
                and not s.unsent(e)
            }
            for i in gone:
                del s.store[i]
            if k not in s.purged:
                s.w.note('purged')
            if k not in s.purged and s.revoked(L.signer[1]):
                s.purged_late.add(k)
            s.went |= gone
            s.purged.add(k)
        s.told('purge', unsent=unsent, refused=sorted(s.refused_purges))
