"""A device: what it knows, whom it believes, what counts and what stands (Spec/history.md: E, S, K, T)."""

from . import texts
from .chains import Entry
from .rules import on, OWNER, WRITES

HOUR = 3_600_000


class Knowledge:
    """Clocks, chains and keys."""

    def clock(s):
        """Milliseconds; the world counts hours."""
        return round((s.w.t + s.skew) * HOUR)

    def waited(s, what, hours):
        """N1: was this waited for that long? From one sync to the next an own clock adds between nothing and 8 hours, whatever it says."""
        done, last = s.asked.get(what, (0, s.clock()))
        step = s.clock() - last
        done += min(max(step, 0), 8 * HOUR) if on('N1') else abs(step)
        s.asked[what] = (done, s.clock())
        return done >= hours * HOUR

    def is_over(s, what, hours):
        """The same, without a look at the clock."""
        return s.asked.get(what, (0, 0))[0] >= hours * HOUR

    # -- member chain and device chains ------------------------------------------------------------------------------------
    @property
    def side(s):
        return s._side

    @side.setter
    def side(s, n):
        s._side, s.links = n, s.w.server.chains[n]

    def link(s, k=None):
        return s.links[s.m - 1 if k is None else k]

    def role(s, k=None):
        return s.link(k).roles.get(s.acct.i) if s.m else None

    def knows(s, a, h):
        return s.branches.get(a, {}).get(h[0], 0) >= h[1]

    def newest(s, a):
        known = tuple(s.branches.get(a, {0: 0}).items())
        found = s.newest_known.get(a)
        if found is None or found[0] != known:
            found = s.newest_known[a] = (known, max(s.w.accounts[a].norm(h) for h in known))
        return found[1]

    def revoked(s, dev):
        a = s.w.owner[dev]
        return dev not in s.w.accounts[a].trusted(s.newest(a))

    def ok(s):
        return not s.revoked(s.name)

    def may_write(s):
        return bool(s.m) and s.role() in WRITES and s.ok()

    def follow(s, view):
        for a, lengths in view.chains().items():
            mine = s.branches.setdefault(a, {})
            for b, n in lengths.items():
                mine[b] = max(mine.get(b, 0), n)
        end = view.links()
        s.stuck = None
        while s.m < end:
            L = s.links[s.m]
            if any(not s.knows(a, h) for a, h in L.heads.items()):
                s.alarm('chain missing')
                break
            if on('K7') and s.unconfirmed(s.m, end):
                s.stuck = s.m
                break
            if L.dark and not s.bad and not s.revoked(L.signer[1]):
                L.taken_in_dark = True
            s.m += 1
        s.told('follow', links=end)

    # -- links by devices that were revoked later (K7) ---------------------------------------------------------------------
    def unconfirmed(s, k, end):
        L = s.links[k]
        return k > 0 and bool(L.change) and (not L.leaves or not on('K7 leave')) and s.revoked(L.signer[1]) and not s.confirmed(k, end)

    def unspoken(s, k):
        """Is nobody left who could confirm link k? Its account is gone, and so is who was an owner before it (K8)."""
        last, before = s.links[-1].roles, s.links[k - 1].roles
        return s.links[k].signer[0] not in last and not any(r == OWNER and last.get(a) == OWNER for a, r in before.items())

    def confirmed(s, k, end):
        a = s.links[k].signer[0]
        for c in range(k + 1, end):
            C = s.links[c]
            if a not in C.confirms and (C.change.get(a, 0) is not None or C.leaves):
                continue
            if C.signer[0] != a and s.links[k - 1].roles.get(C.signer[0]) != 1:
                continue
            if not s.revoked(C.signer[1]) or s.confirmed(c, end):
                return True
        return False

    # -- closing (K1, K3) ---------------------------------------------------------------------------------------------------
    def closing(s, inst, k=None):
        """The first link that closed this instance, or None; whose log it is, its entries say alone."""
        return s.closed(inst, k) if inst in s.came else None

    def closed(s, inst, k=None):
        """The first link that closed this instance, whoever knows of it."""
        last = s.m if k is None else k + 1
        cached = s.w.closers.get((s._side, inst[0], inst[1]))
        if cached is None:
            cached = s.w.closers[s._side, inst[0], inst[1]] = [1, []]
        done, found = cached
        a, dev, chain = s.w.accounts[inst[0]], inst[1], s.links
        for c in range(done, len(chain)) if done < len(chain) else ():
            L, B = chain[c], chain[c - 1]
            lost = B.roles.get(inst[0]) in WRITES and L.roles.get(inst[0]) not in WRITES
            if on('K1 later') or dev in a.at(L.heads.get(inst[0], (0, 0)))[1]:
                pass
            else:
                lost = False
            now, was = a.out(dev, L.heads.get(inst[0], (0, 0))), a.out(dev, B.heads.get(inst[0], (0, 0)))
            if not on('K1'):
                now = now and dev in a.trusted(B.heads.get(inst[0], (0, 0)))
            if lost or now and not was:
                found.append(c)
        cached[0] = max(done, len(chain))
        for c in found:
            if inst[2] < c < last:
                return c
        return None

    def stopped(s, inst, k):
        """Was the instance closed or ended by link k?"""
        return s.closing(inst, k) is not None or s.end(inst, k) is not None

    def end(s, inst, k=None):
        """(link, last common number) of the first link that ended this log with two entries that are, or were, here (K6)."""
        for c, n, x, y in s.link(k).ended.get(inst, ()):
            if s.shown_by(inst, n, x, y) or not on('K6 proof'):
                return (c, n)
        return None

    def shown_by(s, inst, n, x, y):
        """Are, or were, the two entries here that an end names? None: one is not here; False: these show nothing."""
        made = s.w.made
        here = [z for z in (x, y) if z in s.ids]
        if x == y or any(z not in made or made[z].dot != (inst, n + 1) for z in here):
            return False
        return True if len(here) == 2 else None

    def lacking(s):
        """Ends of which an entry is not here, but those behind one that holds: (link, instance)."""
        out = set()
        for inst, ends in s.link().ended.items():
            for c, n, x, y in ends:
                found = s.shown_by(inst, n, x, y)
                if found is None:
                    out.add((c, inst))
                if found:
                    break
        return out

    def look_for_ends(s):
        """K6: roots wait a day for the two entries of an end, in all for the ends that one device stated; what was judged without them is judged again."""
        lacked, s.lacked = s.lacked, s.lacking()
        by = {}
        for c, inst in s.lacked:
            by.setdefault(s.links[c].signer[1], []).append(c)
        for x in [x for x in s.asked if x[0] == 'ends' and x[1] not in by]:
            del s.asked[x]
        waiting = [c for x in sorted(by) for c in by[x] if not s.waited(('ends', x), 24)]
        s.doubt = min(waiting, default=None) if on('K6 wait') else None
        came = [c for c, inst in lacked - s.lacked if (s.end(inst) or (None,))[0] == c]
        if came and on('K6 late'):
            s.void = {k for k in s.void if k < min(came)}
            if s.verified and s.base >= min(came):
                s.verified = False
                s.w.note('base without an end')

    def due(s):
        """Is a closing or an epoch due (K2, K3)?"""
        return bool(s.taken_away()) or s.link().since > s.link().epoch

    def taken_away(s):
        """Accounts of which a device lost its right behind the heads that the newest epoch knew of (K2, K3)."""
        L = s.link()
        return [a for a in L.roles if s.w.accounts[a].takes_away(L.keyed[a], s.newest(a))]

    # -- keys (section 8) -----------------------------------------------------------------------------------------------------
    def has(s, epoch):
        return s.name in s.w.keys.get(s.link().kids.get(epoch), ())

    def ask(s):
        """Whoever is trusted and a member asks the others for keys that he lacks; honest ones give them."""
        if s.name not in s.right():
            return
        for kid in set(s.link().kids.values()):
            if s.name not in s.w.keys[kid] and any(x.name in s.w.keys[kid] for x in s.w.good(s.side) if x is not s):
                s.w.keys[kid].add(s.name)

    def right(s):
        return {d for a in s.links[-1].roles for d in s.w.accounts[a].now()}

    def usable(s, k, floor=1):
        """The epoch under which an entry that states link k may be written (S5, E5); None: no key of any."""
        L = s.link(k)
        return max((x for x in range(max(L.since, floor), L.epoch + 1) if s.has(x)), default=None)


class Counting:
    """What counts, and the state that follows from it."""

    def accept(s):
        return s.links[s.base].accept if s.base >= 0 else {}

    def limit(s, inst):
        """(n, id) up to which a closed or ended instance counts above the base; None: it is open."""
        c = s.closing(inst)
        e = s.end(inst)
        if e is not None and (c is None or e[0] < c):
            c = e[0]
        if c is None:
            return None
        if not on('limits'):
            return None
        if c <= s.base:
            return s.accept().get(inst, (0, 0))
        return s.link(c).accept.get(inst, (0, 0))

    def valid(s, e):
        L, a = s.link(e.p), e.inst[0]
        if L.roles.get(a) not in WRITES or e.p < e.inst[2]:
            return False
        if not L.since <= e.epoch <= L.epoch:
            return False  # S5
        acct = s.w.accounts[a]
        if e.inst[1] not in acct.trusted(e.h) or e.h < L.heads.get(a, (0, 0)):
            return False  # S3
        q = s.store.get(e.prev) or s.bare(e.prev)  # S4: its own log only
        return not (q is not None and (q.p > e.p or q.h > e.h or q.height >= e.height or q.epoch > e.epoch))

    def bare(s, x):
        """The bare form of an entry that was purged: all but its changes (P2)."""
        return s.w.made.get(x) if s.w.bares and any(x in L.bare.values() for L in s.links[: s.m]) else None

    def onchain(s, e, tip):
        """Does e lie on the hash chain to tip? None: cannot be told here."""
        while tip[0] > e.n:
            t = s.store.get(tip[1]) or s.bare(tip[1])
            if t is None:
                return None
            tip = (tip[0] - 1, t.prev)
        return tip == (e.n, e.id)

    def counts(s, e):
        """True, False, None: not decided yet."""
        if e.new and s.old or s.held_from is not None and e.p >= s.held_from:
            return None  # E7, K8
        if e.p < e.inst[2]:
            return False  # S6
        if e.p >= s.m or on('hash') and s.links[e.p] is not e.link:
            return None  # a link that is not here, or of another chain
        if s.link(e.p).roles.get(e.inst[0]) not in WRITES:
            return False  # S2
        if not s.knows(e.inst[0], e.h):
            return None
        if not s.valid(e):
            return False
        lim = s.limit(e.inst)
        if lim is not None:
            return False if e.n > lim[0] else s.onchain(e, lim)
        if e.inst in s.forks:
            return True if e.id in s.applied else None  # K6
        if on('K4') and s.revoked(e.inst[1]):
            return True if e.id in s.applied else None  # K4
        return True

    def past(s, inst, n):
        """Is a stated predecessor satisfied? (S7: a closed instance never makes another log wait)"""
        if s.f.get(inst, (0, 0))[0] >= n:
            return True
        return on('S7') and s.limit(inst) is not None

    def effective(s, e, key):
        """Dots that e replaces under key; of an ended instance nothing above the fork, if e did not know of the end (K6)."""
        for d in e.changes[key][1]:
            x = s.end(d[0])
            if x is not None and e.p < x[0] and d[1] > x[1] and e.inst != d[0] and not s.before(e, x[0]):
                continue
            yield d

    def before(s, e, k):
        """Is e covered by the base that link k names? Then its root was made without knowing of the end."""
        b = s.links[k].parent
        return b is not None and b >= 0 and e.n <= s.links[b].accept.get(e.inst, (0, 0))[0]

    def apply(s, state, e, killed):
        """killed: (key, dot) that were replaced, perhaps before they came (S1, S7)."""
        for key, (value, reps) in e.changes.items():
            now = state.setdefault(key, {})
            for d in s.effective(e, key):
                now.pop(d, None)
                killed.add((key, d))
            if value is not None and (key, e.dot) not in killed:
                now[e.dot] = (e.height, value)  # the leaf has the height
            if not now:
                del state[key]

    def settle(s, upto=None, state=None, f=None):
        """Applies, in causal order, all that counts and is not applied. With upto: only what that vector covers, on the own base."""
        probe = upto is not None
        if not probe:
            state, f, held = s.state, s.f, [e for e in s.store.values() if e.n > s.f.get(e.inst, (0, 0))[0]]
        else:
            held = [e for e in s.store.values() if f.get(e.inst, (0, 0))[0] < e.n <= upto.get(e.inst, (0, 0))[0]]
        keep, s.f = s.f, f
        killed = set() if probe else s.killed
        held.sort(key=lambda e: (e.height, e.inst, e.n))
        going = True
        while going:
            going = False
            rest = []
            for e in held:
                at = f.get(e.inst, (0, 0))
                if e.n <= at[0]:
                    continue
                ready = at[0] == e.n - 1 and (e.n == 1 or at[1] == e.prev)
                if ready and probe:
                    ready = s.onchain(e, upto[e.inst]) and not (e.new and s.old)
                elif ready:
                    ready = s.counts(e)
                if not ready or not all(s.past(i, n) or probe and upto.get(i, (0, 0))[0] < n for i, (n, x) in e.seen.items()):
                    rest.append(e)
                    continue
                s.apply(state, e, killed)
                f[e.inst] = (e.n, e.id)
                going = True
                if not probe and e.id not in s.applied:
                    s.applied.add(e.id)
                    if (
                        e.bad
                        and not s.bad
                        and s.limit(e.inst) is None
                        and e.id > s.w.revoked_at.get(e.inst[1], 10**9)
                        and s.revoked(e.inst[1])
                    ):
                        s.w.fail('new words of a revoked device')
            held = rest
        s.f = keep if probe else f
        return held

    def rebuild(s):
        tree = s.link(s.base).root if s.base >= 0 else {}
        s.state = {k: dict(v) for k, v in tree.items()}
        s.f = dict(s.accept())
        s.had.update({i: max(n, s.had.get(i, 0)) for i, (n, x) in s.f.items()})
        s.built = s.m
        s.killed = set()
        return s.settle()

    # -- texts (T) -------------------------------------------------------------------------------------------------------------
    def versions(s, key):
        """dot -> (value, what it replaced, height): facts of the base's tree, without ancestors, and entries above the base (T2)."""
        vs = {d: (v, (), h) for d, (h, v) in ((s.link(s.base).root or {}).get(key, {}) if s.base >= 0 else {}).items()}
        acc = s.accept() if on('T2') else {}
        for e in s.store.values():
            if key in e.changes and acc.get(e.inst, (0, 0))[0] < e.n <= s.f.get(e.inst, (0, 0))[0]:
                if e.inst not in s.forks or s.onchain(e, s.f[e.inst]):
                    vs[e.dot] = (e.changes[key][0], e.changes[key][1], e.height)
        return vs

    def shown(s, key):
        """The text of a key, whether it is in conflict (T2 to T4), and the dots that an edit of it replaces (T5)."""
        now = s.state.get(key, {})
        order = lambda d: (now[d][0], d)
        if len({v for h, v in now.values()}) <= 1:
            return (next(iter(now.values()))[1] if now else ()), False, tuple(sorted(now))
        vs = s.versions(key)
        common = None
        for d in now:
            line, todo = set(), [d]
            while todo:
                x = todo.pop()
                if x in line:
                    continue
                line.add(x)
                if x in vs:
                    todo += vs[x][1]
            common = line if common is None else common & line
        common = [x for x in common if x in vs and vs[x][0] is not None]
        if common:
            base = vs[max(common, key=lambda x: (vs[x][2], x))][0]
            text = texts.merge_all(base, [now[d][1] for d in sorted(now, key=order)])
            if text is not None:
                return text, False, tuple(sorted(now))
        v = now[max(now, key=order)][1]
        return v, True, tuple(sorted(d for d in now if now[d][1] == v)) if on('T5') else tuple(sorted(now))


class Writing:
    """Own entries, and the instances that they go to (E, I)."""

    def begin(s):
        """A new instance, bound to account, device and the newest link known (E4)."""
        s.nonce = s.w.idn()
        s.inst = (s.acct.i, s.name, s.m - 1, s.nonce)
        s.said = {}

    def write(s, changes, seen=None, bad=False, p=None, h=None):
        w = s.w
        n, prev = s.f.get(s.inst, (0, 0))
        e = Entry()
        e.id, e.inst, e.n, e.prev, e.new = w.idn(), s.inst, n + 1, prev, w.upgrading and not s.old and not bad and w.r.random() < 0.3
        e.p, e.h = (s.stated() if p is None else p), (s.newest(s.acct.i) if h is None else h)
        e.link = s.links[e.p]
        q = s.store.get(prev)
        e.epoch = s.usable(e.p, q.epoch if q else 1) or s.link(e.p).epoch
        e.seen = {i: v for i, v in s.f.items() if i != s.inst and s.said.get(i) != v} if seen is None else seen
        s.said.update(e.seen)
        e.height = 1 + max([w.made[x].height for n, x in s.f.values() if x in w.made], default=0)
        e.changes, e.bad, e.made = changes, bad, len(s.links)
        s.store[e.id] = e
        s.ids.add(e.id)
        s.came.add(e.inst)
        s.applied.add(e.id)
        s.apply(s.state, e, s.killed)
        s.f[s.inst] = (e.n, e.id)
        w.made[e.id] = e
        if not bad:
            s.wrote.add(e.id)
        s.told('write', entry=e.id)
        return e

    def stated(s):
        """The newest link under which something can be written with the keys that are here (E5); without any, the newest."""
        q = s.store.get(s.f.get(s.inst, (0, 0))[1])
        low = max(s.inst[2], q.p if q else 0)
        return next((k for k in range(s.m - 1, low - 1, -1) if s.usable(k, q.epoch if q else 1)), s.m - 1)

    def edit(s, key, change):
        """A person edits what he is shown; of a text in conflict, in three cases of ten, all that stands there (resolve)."""
        text, conflict, dots = s.shown(key)
        if conflict and s.w.r.random() < 0.3:
            text, dots = tuple(dict.fromkeys(x for h, v in s.state[key].values() for x in v)), tuple(sorted(s.state[key]))
        return s.write({key: (change(text), dots)})

    def ready(s):
        """Before an own entry: an instance that is closed, ended or not ours to go on with is left (I1, I3)."""
        if not s.may_write():
            return False
        if s.inst is None or s.limit(s.inst) is not None or s.inst in s.forks or s.torn():
            if not s.usable(s.m - 1):
                return False  # a new instance states the newest link
            s.begin()
            s.again_own()
        q = s.store.get(s.f.get(s.inst, (0, 0))[1])
        return s.usable(s.stated(), q.epoch if q else 1) is not None

    def torn(s):
        return any(e.inst == s.inst and e.id in s.wrote and e.n > s.f.get(s.inst, (0, 0))[0] for e in s.store.values())

    def again_own(s):
        """I4: what was lost with a branch is written again."""
        if not on('I4') or not s.may_write() or not s.usable(s.m - 1):
            return
        own = [e for e in s.store.values() if e.id in s.wrote and e.id not in s.redone and s.closing(e.inst) is None and not s.standing(e)]
        own.sort(key=lambda e: (e.height, e.n))
        if own and (s.inst is None or any(e.inst == s.inst for e in own) or s.limit(s.inst) is not None):
            s.begin()
        for e in own:
            x = s.write({key: (v, tuple(s.again.get(d, d) for d in reps)) for key, (v, reps) in e.changes.items()})
            s.again[e.dot] = x.dot
            s.redone.add(e.id)
        if own:
            s.w.note('written again')

    def standing(s, e):
        """Is this own entry part of what counts? Not known: yes, if the server acknowledged it."""
        if e.n > s.f.get(e.inst, (0, 0))[0]:
            return False
        found = s.onchain(e, s.f[e.inst])
        return found if found is not None else e.n <= s.remember.get(e.inst, (0, 0))[0]
