"""One sync of a device: follow, take, judge the head, write what is due, push (Spec/history.md: sections 10 and 11)."""

from .checkpoints import Dropping, Judging, Linking
from .device import Counting, Knowledge, Writing
from .rules import WRITES, on


class Syncing:
    def send(s):
        known = s.w.server.entries
        at = {}
        for e in s.store.values():
            at.setdefault(e.dot, []).append(e)
        for es in at.values():
            if len(es) > 1:  # K6: both are pushed as evidence, before a link that ends the log
                for e in es:
                    known.setdefault(e.id, e)
        for e in s.store.values():
            if e.n > s.accept().get(e.inst, (0, 0))[0] and (e.inst == s.inst or s.counts(e) is not False):
                known.setdefault(e.id, e)
        for n, x in s.f.values():
            if x in s.store:
                known.setdefault(x, s.store[x])

    def alarm(s, what):
        s.w.note('alarm: ' + what)
        if s.w.mode == 'honest':
            s.w.fail('false alarm: ' + what)

    def receive(s, view):
        """What comes: all of it; at a device that began at a checkpoint what was stored since, and by address what is named and missing (N3)."""
        got = view.entries()
        if s.w.ending and on('N3'):
            s.since = None  # the rest comes in the background, in the end
        if s.since is None:
            return got
        served = {e.id: e for e in got}
        new = {e.id: e for e in got if e.id > s.since}
        head = view.head()
        asked = [x for n, x in (head.vec.values() if head else ())]
        shuts = lambda L: L.opens or any(r not in WRITES for r in L.change.values()) or L.k and L.ended != s.links[L.k - 1].ended
        named = [L for L in s.links[: s.m] if L.root is not None or L.k == s.m - 1 or shuts(L)]
        asked += [x for L in named for n, x in L.accept.values()]
        asked += [x for e in list(new.values()) + list(s.store.values()) for x in [e.prev] + [y for n, y in e.seen.values()]]
        asked += [x for ends in s.link().ended.values() for end in ends for x in end[2:]]  # what shows a fork (K6)
        while asked:  # back along the logs, to the base
            e = served.get(asked.pop())
            if e is None or e.id in new or e.id in s.store:
                continue
            new[e.id] = e
            if e.n > s.accept().get(e.inst, (0, 0))[0]:
                asked += [e.prev] + [y for n, y in e.seen.values()]
        return list(new.values())

    def sync(s, view, stop=9):
        w, S = s.w, s.w.server
        s.follow(view)
        if s.stuck is not None:
            s.take_unspoken()
        if not s.m or s.acct.i not in s.link().roles or not s.ok():
            return
        if stop < 1:
            return s.resettle()
        head = view.head()
        exempt = lambda i: i in s.forks or s.limit(i) is not None or s.revoked(i[1])
        if s.base < 0 and not s.store:
            s.since = max([L.cursor for L in s.links[: s.m] if L.root is not None], default=None)
        got = s.receive(view)
        new = [e.id for e in got if e.id not in s.store]
        tips = s.tips()
        for e in got:
            s.ids.add(e.id)
            if e.id in s.went:
                continue
            shows = any(e.id in end[2:] for end in s.link().ended.get(e.inst, ()))  # K6
            if e.n > s.accept().get(e.inst, (0, 0))[0] or e.id in tips or shows or s.base >= 0 and not s.sure():  # C7, N3: older ones verify it
                s.store.setdefault(e.id, e)
                s.came.add(e.inst)
            if e.inst == s.inst and e.id not in s.wrote:
                s.copied = True  # I2
        by = {}
        for e in s.store.values():
            if by.setdefault((e.inst, e.n), e.id) != e.id and e.inst not in s.forks and on('K6'):
                s.forks.add(e.inst)
                if e.inst != s.inst or not s.copied:
                    w.note('fork found')
        s.told('receive', entries=sorted(new))
        s.resettle()
        if s.copied and (s.usable(s.m - 1) or not s.may_write()):
            s.copy_found(got)  # I4 waits for a key under which it can write
        if head is not None:
            lacks = [
                i for i, (n, x) in s.remember.items() if not exempt(i) and max(head.vec.get(i, (0, 0))[0], s.accept().get(i, (0, 0))[0]) < n
            ]
            if lacks:  # F4, F5: is what is remembered still served, or swept?
                served = {e.id for e in view.entries()}
                swept = lambda i: any(s.remember[i][0] <= L.accept.get(i, (0, 0))[0] for L in s.links)
                if on('F5') and all(s.remember[i][1] in served or swept(i) for i in lacks):
                    w.note('head refused, pusher named')
                else:
                    return s.alarm('rolled back or forked')
        elif s.remember:
            return s.alarm('rolled back to nothing')
        if stop < 2:
            return
        s.ask()
        s.purging()
        if stop > 4 and w.person(s) and on('K7'):
            s.confirm()
        if not s.has(s.link().epoch) and s.may_write() and s.waited(('key', s.link().epoch), 1) and not s.due() and on('key not given'):
            if s.post(root=False, epoch=True):
                w.note('another epoch: key not given')  # section 8, Keys
        if s.due() and s.may_write() and (stop > 4 or w.r.random() < 0.5):  # K2, K5: anyone who may
            if not s.post(root=w.r.random() < 0.7):
                return
        if s.unended() and s.may_write() and w.soon(0.5):
            s.post()
        roots = [k for k in range(s.m) if s.link(k).root is not None and s.proven(k)]
        worse = roots and roots[-1] in s.void or s.passed is not None
        if s.sure() and worse and s.doubt is None and s.may_write() and stop > 4 and w.soon(0.5):
            s.post(again=True)  # C6, C9: a better one
        if s.may_write():
            if s.inst is not None:
                s.ready()
            s.again_own()
        if stop < 3 or not s.may_write() or s.due() and on('K3 push') or s.usable(s.m - 1) is None:
            return
        view.put(s)

    def copy_found(s, got):
        """I2, I4: this store is a copy. It begins a new instance and writes again what only it has."""
        w, S = s.w, s.w.server
        s.copied = False
        w.note('copy found')
        twice = any(len({e.id for e in S.entries.values() if e.dot == (s.inst, n)}) > 1 for n in range(1, 99))
        if s.inst in s.forks and not twice:
            s.forks.discard(s.inst)
        mine = [e for e in s.store.values() if e.inst == s.inst and e.id in s.wrote]
        theirs = {e.id for e in got if e.inst == s.inst}
        sent = s.remember.get(s.inst, (0, 0))[0]
        other = {e.dot: e.id for e in got}
        low = min((e.n for e in mine if e.id not in theirs and (e.n > sent or other.get(e.dot, e.id) != e.id)), default=None)
        again = [e for e in mine if low is not None and e.n >= low and e.id not in theirs]
        for e in again:
            del s.store[e.id]
            s.applied.discard(e.id)
        s.rebuild()
        s.told('leave', entries=sorted(e.id for e in again), instance=s.w.trace.instance(s.inst), forked=s.inst in s.forks)
        s.begin()
        if s.may_write():
            for e in again:
                s.store[e.id] = e
            s.told('keep', entries=sorted(e.id for e in again))
            s.again_own()
            for e in again:
                if e.id in s.redone:
                    s.store.pop(e.id, None)
            s.told('forget', entries=sorted(e.id for e in again if e.id in s.redone))
        elif again:
            w.lost_copies |= {e.id for e in again}

    def resettle(s):
        if not s.m:
            return
        s.look_for_ends()
        moved = s.take(fresh=not s.f and s.base < 0)
        if moved or s.built != s.m or s.forks:
            s.rebuild()
        else:
            s.settle()
        if s.lacks_closed():
            s.waited('closed', 24)
        else:
            s.asked.pop('closed', None)
        s.told('settle', gone=s.w.trace.gone(s))

    def told(s, what, **given):
        s.w.trace.event(s, what, **given)


class Device(Knowledge, Counting, Writing, Judging, Linking, Dropping, Syncing):
    def __init__(s, w, acct, name):
        s.w, s.acct, s.name, s.newest_known = w, acct, name, {}
        s.side = 0  # which continuation of a forked chain the server shows here
        s.held_from = None
        s.built = 0  # links taken when the state was last computed from the base
        s.m, s.branches, s.stuck = 0, {}, None  # links taken; known lengths of device chains by branch; link that waits (K7)
        s.came = set()  # instances of which an entry was kept
        s.store, s.ids = {}, set()  # retained entries; ids of all that were ever here: proof of a tip (C4)
        s.base, s.verified, s.void = -1, True, set()  # checkpoint that the state builds on; checkpoints found to be wrong
        s.f, s.state, s.forks, s.killed = {}, {}, set(), set()
        s.lacked, s.doubt = set(), None  # ends of which an entry is not here; the first link whose root waits for one (K6)
        s.had = {}  # of each log the most that a base here had; for a check
        s.nonce, s.inst, s.said = 0, None, {}
        s.applied, s.wrote, s.again, s.redone, s.copied = set(), set(), {}, set(), False
        s.remember, s.since = {}, None  # what this server had (F4); where listing began (N3)
        s.bad = s.old = False
        s.passed = None  # the newest root that leaves out what the base has (C9)
        s.known = None
        s.posted = -9
        s.skew, s.jumps, s.asked = 0, 0, {}  # own clock against the world's, and how often it was set; waits (N1)
        s.dropped, s.went, s.purged, s.refused_purges, s.seen_purges, s.seasoned, s.purged_late = (
            set(),
            set(),
            set(),
            set(),
            {},
            set(),
            set(),
        )
