#!/usr/bin/env python3
"""Executable model of the planned histories: logs of entries, checkpoints in the member chain, frontiers, key epochs.

    history_model.py FIRST_SEED COUNT [--mode honest|lying|any] [--steps N]

Each seed is one world: 1 to 3 accounts with 1 to 3 devices each share one vault. Nothing here is sealed or signed: an entry that a device did not
make does not exist, and rules that only keep strangers out are left away. The model plays what can go wrong among those who can sign.
Rule numbers (E, S, C, K, F, G, N, I) are those of the design of histories; Docs/decisions/0070 lists what the model settled beyond it.

A text is a set of lines; its merge over a base is the three-way merge of sets. Invariants, at the end of each world, when all was delivered:
  one state       all devices that are members and trusted have equal facts, equal frontiers, and, on one base, show equal texts (T2)
  no lost line    each line of a device that still is trusted, of an account that still writes, stands, unless somebody took it out knowingly
  nothing dated back  no entry of a closed device or former writer counts that was made after its closing link was in the chain
  no false alarm  with an honest server nobody says rolled back, forked by the server, or withheld
  nothing waits   no entry of an honest device is held for ever; no closing is due for ever; every writer has a key to write under
  keys            no closed device and no former member holds the key of an epoch that an honest device opened after that

Attackers: thieves with trusted devices date back, wipe, fork, claim what is not, post checkpoints with false trees and false tips, one each hour in
some worlds, set false heads after every push, open epochs whose keys they give to nobody, and call honest roots refuted. The server withholds.
Clocks of devices jump by hours and by years.

Excused, counted and told as notes, since no rule can hold them: lines that lay only in a copy of the store that is gone; words above the limit of an
account that lost its right and got it back; with a lying server, texts that a thief wiped and that an honest device in the dark edited on, or accepted
in the closing link; present states that rest on a false tree which nobody with the entries could refute.
A failed world prints its seed: `history_model.py SEED 1 --trace` raises where it fails.
"""
import argparse, copy, random, sys

OWNER, WRITER, VIEWER = 1, 2, 3

class Broken(Exception): pass

class Entry:
    __slots__ = ('id', 'inst', 'n', 'prev', 'height', 'seen', 'changes', 'p', 'h', 'epoch', 'made', 'bad')
    # changes: {key: (value | None, dots that it replaces)}; seen: {inst: (n, id)} since the entry before; p: member link; h: device-chain head
    @property
    def dot(e): return (e.inst, e.n)

class Link:
    """One link of the member chain, with what the chain says after it (roles, heads, closings)."""
    def __init__(s, k, before, signer):
        s.k, s.signer = k, signer
        s.roles, s.heads = (dict(before.roles), dict(before.heads)) if before else ({}, {})
        s.closed = {d: list(v) for d, v in before.closed.items()} if before else {}   # device -> links that closed it
        s.left = {a: list(v) for a, v in before.left.items()} if before else {}       # account -> links that took its right: K1, devices added later too
        s.ended = dict(before.ended) if before else {}                                # instance -> (link, last common number): K6
        s.refutes = set()                                                              # links whose roots the author found to be wrong: C6
        s.accept, s.root, s.parent = {}, None, None                                   # checkpoint: {inst: (n, id)}, facts, base it was made on
        s.shut = set(before.shut) if before else set()                                 # devices of members without the newest key: K3
        s.epoch, s.holders = (before.epoch, before.holders) if before else (1, set())
        s.opens = False; s.since = before.since if before else 1                  # the oldest epoch under which entries that state this link may be (S5)

class Account:
    def __init__(s, w, i): s.w, s.i, s.chain = w, i, []          # chain: ('add'|'revoke', device)
    def trusted(s, head): 
        out = set()
        for op, d in s.chain[:head]: (out.add if op == 'add' else out.discard)(d)
        return out

class Frontier:
    def __init__(s, i, vec, over, by, missing): s.id, s.vec, s.over, s.by, s.missing = i, dict(vec), over, by, missing

class Server:
    def __init__(s): s.entries, s.links, s.heads = {}, [], []    # entries: id -> Entry; heads: all that were ever set, newest last

class Device:
    def __init__(s, w, acct, name):
        s.w, s.acct, s.name = w, acct, name
        s.m, s.dk = 0, {}                                        # links known; heads of device chains known
        s.store = {}                                             # id -> entry, retained
        s.ids = set()                                            # ids of entries that were ever here: proof of a tip (C4)
        s.base, s.verified = -1, True                            # checkpoint that the state builds on
        s.void = set()                                           # checkpoints found to be wrong
        s.f, s.state, s.forks, s.killed = {}, {}, set(), set()
        s.nonce, s.inst = 0, None
        s.remember, s.lasthead = {}, None                        # what this server had: F4
        s.bad = False; s.alarms = 0; s.passed = False
        s.skew, s.asked = 0, {}; s.refused = 0                                  # own clock against the world's; since when something is waited for
    # -- clocks ----------------------------------------------------------------------------------------------------------
    def clock(s): return s.w.t + s.skew
    def waited(s, what, hours):
        """Was this waited for that long? From one sync to the next an own clock adds between nothing and 8 hours, whatever it says."""
        done, last = s.asked.get(what, (0, s.clock()))
        done += min(max(s.clock() - last, 0), 8)
        s.asked[what] = (done, s.clock())
        return done >= hours
    # -- member chain ------------------------------------------------------------------------------------------------
    def link(s, k=None): return s.w.server.links[s.m - 1 if k is None else k]
    def role(s, k=None): return s.link(k).roles.get(s.acct.i) if s.m else None
    def ok(s): return s.name in s.acct.trusted(s.dk.get(s.acct.i, 0))
    def revoked(s, dev): a = s.w.owner[dev]; return dev not in s.w.accounts[a].trusted(s.dk.get(a, 0))
    def closing(s, inst, k=None):
        """The first link that closed this instance, or None (K1)."""
        L = s.link() if k is None else s.link(k)
        return min([c for c in L.closed.get(inst[1], []) + L.left.get(inst[0], []) if c > inst[2]], default=None)
    def due(s):
        """Devices of members that are revoked in the known device chain and closed by no link, whether a stated head ever trusted them or not."""
        out = []
        for a in s.link().roles:
            known = s.w.accounts[a].chain[:s.dk.get(a, 0)]
            out += [d for op, d in known if op == 'add' and ('revoke', d) in known and d not in s.link().shut]
        return out
    # -- keys (section 5) ----------------------------------------------------------------------------------------------------
    def has(s, epoch): return s.name in s.w.keys.get(epoch, ())
    def ask(s):
        """Whoever is trusted and a member asks the others for keys that he lacks; honest ones give them."""
        for L in s.w.server.links[:s.m]:
            if s.has(L.epoch): continue
            if any(x.name in s.w.keys[L.epoch] for x in s.w.good() if x is not s) and s.name in s.right(): s.w.keys[L.epoch].add(s.name)
    def right(s):
        last = s.w.server.links[-1]
        return {d for a in last.roles for d in s.w.accounts[a].trusted(len(s.w.accounts[a].chain))}
    def usable(s, k, floor=1):
        """The epoch under which an entry that states link k may be written (S5, E5); None: no key of any."""
        L = s.link(k); own = [x for x in range(max(L.since, floor), L.epoch + 1) if s.has(x)]
        return max(own, default=None)
    # -- what counts (section 4) ---------------------------------------------------------------------------------------
    def accept(s): return s.link(s.base).accept if s.base >= 0 else {}
    def limit(s, inst):
        """(n, id) up to which a closed or ended instance counts above the base; None: it is open."""
        c = s.closing(inst); e = s.link().ended.get(inst)
        if e is not None and (c is None or e[0] < c): c = e[0]
        if c is None: return None
        if c <= s.base: return s.accept().get(inst, (0, 0))
        return s.link(c).accept.get(inst, (0, 0))
    def valid(s, e):
        L = s.link(e.p); a = e.inst[0]
        if L.roles.get(a) not in (OWNER, WRITER) or e.p < e.inst[2]: return False                      # S2, S6
        if not L.since <= e.epoch <= L.epoch: return False                                             # S5
        if e.inst[1] not in s.w.accounts[a].trusted(e.h) or e.h < L.heads.get(a, 0): return False      # S3
        q = s.store.get(e.prev)                                                                        # S4: its own log only
        return not (q is not None and (q.p > e.p or q.h > e.h or q.height >= e.height or q.epoch > e.epoch))
    def onchain(s, e, tip):
        """Does e lie on the hash chain to tip? None: cannot be told here."""
        while tip[0] > e.n:
            t = s.store.get(tip[1])
            if t is None: return None
            tip = (tip[0] - 1, t.prev)
        return tip == (e.n, e.id)
    def counts(s, e):
        """True, False, None: not decided yet."""
        if e.p >= s.m or e.h > s.dk.get(e.inst[0], 0): return None
        if not s.valid(e): return False
        lim = s.limit(e.inst)
        if lim is not None: return False if e.n > lim[0] else s.onchain(e, lim)
        if e.inst in s.forks: return None
        if s.revoked(e.inst[1]): return True if e.id in s.applied else None                            # K4
        return True
    def past(s, inst, n, i):
        """Is a stated predecessor satisfied? (S7)"""
        if s.f.get(inst, (0, 0))[0] >= n: return True
        return s.limit(inst) is not None                                                              # a closed instance never makes another log wait
    def effective(s, e, key):
        """Dots that e replaces under key; of an ended instance nothing above the fork, if e did not know of the end (K6)."""
        for d in e.changes[key][1]:
            x = s.link().ended.get(d[0])
            if x is not None and e.p < x[0] and d[1] > x[1] and e.inst != d[0] and not s.before(e, x[0]): continue
            yield d
    def before(s, e, k):
        """Is e covered by the base that link k names? Then its root was made without knowing of the end."""
        b = s.w.server.links[k].parent
        return b is not None and b >= 0 and e.n <= s.w.server.links[b].accept.get(e.inst, (0, 0))[0]
    def apply(s, state, e, killed):
        """killed: (key, dot) that were replaced, perhaps before they came (S1, S7)."""
        for key, (value, reps) in e.changes.items():
            now = state.setdefault(key, {})
            for d in s.effective(e, key): now.pop(d, None); killed.add((key, d))
            if value is not None and (key, e.dot) not in killed: now[e.dot] = value
            s.w.heights[e.dot] = e.height                     # the leaf has the height
            if not now: del state[key]
    def settle(s, upto=None, base=None, state=None, f=None):
        """Applies, in causal order, all that counts and is not applied. With upto: only what that vector covers, on a given base."""
        probe = upto is not None
        if not probe: state, f, held = s.state, s.f, [e for e in s.store.values() if e.n > s.f.get(e.inst, (0, 0))[0]]
        else: held = [e for e in s.store.values() if f.get(e.inst, (0, 0))[0] < e.n <= upto.get(e.inst, (0, 0))[0]]
        keep, s.f = s.f, f; killed = set() if probe else s.killed
        held.sort(key=lambda e: (e.height, e.inst, e.n)); going = True
        while going:
            going = False; rest = []
            for e in held:
                at = f.get(e.inst, (0, 0))
                if e.n <= at[0]: continue
                if at[0] != e.n - 1 or (e.n > 1 and at[1] != e.prev): rest.append(e); continue
                if (probe and not s.onchain(e, upto[e.inst])) or (not probe and not s.counts(e)): rest.append(e); continue
                if not all(s.past(i, n, x) or (probe and upto.get(i, (0, 0))[0] < n) for i, (n, x) in e.seen.items()): rest.append(e); continue
                s.apply(state, e, killed); f[e.inst] = (e.n, e.id); going = True
                if not probe: s.applied.add(e.id)
            held = rest
        s.f = keep if probe else f
        return held
    def rebuild(s):
        b = s.link(s.base).root if s.base >= 0 else {}
        s.state = {k: dict(v) for k, v in b.items()}; s.f = dict(s.accept()); s.killed = set(); return s.settle()
    # -- checkpoints (section 5) -----------------------------------------------------------------------------------------
    def stopped(s, inst, k):
        """Was the instance closed or ended by link k?"""
        c = s.closing(inst, k); return c is not None or inst in s.link(k).ended
    def proven(s, k): return all(i in s.ids for n, i in s.link(k).accept.values())
    def take(s, fresh=False):
        """Looks at the checkpoints above the base, newest first (C4 to C7)."""
        old = (s.base, s.m)
        for k in range(s.m - 1, s.base, -1):
            L = s.link(k)
            if L.root is None or k in s.void or not s.proven(k): continue
            acc = s.accept()
            less = [i for i, (n, x) in acc.items() if L.accept.get(i, (0, 0))[0] < n]
            shut = [i for i, (n, x) in L.accept.items() if n > acc.get(i, (0, 0))[0] and s.base >= 0 and s.stopped(i, s.base)]
            if less and not s.w.gone(L):                                                                # C9: it leaves out what the base has
                if not s.verified and s.base in L.refutes: s.base = k; s.w.note('refuted base left'); break          # C6: who cannot look believes who says that he could
                if s.may_write() or not all(s.stopped(i, k) for i in less) or not s.waited(('less', k), 24): s.passed = True; continue
                s.base, s.verified = k, False; s.w.note('viewer gives way'); break                      # C9: a viewer can write none that covers both
            if shut:                                                                                    # C9: the base left out what is proven now
                if all(any(s.link(j).accept.get(i, (0, 0)) == L.accept[i] for j in range(s.base + 1)) for i in shut): s.base, s.verified = k, False; break
                s.void.add(k); s.w.note('closed instance raised'); continue
            can = s.verified and not less
            if can:
                f = dict(acc); st = {q: dict(v) for q, v in (s.link(s.base).root if s.base >= 0 else {}).items()}
                s.settle(upto=L.accept, state=st, f=f)
                if f == L.accept:
                    if st == L.root: s.base = k; break
                    s.void.add(k); s.w.note('checkpoint differs'); continue
            if fresh or s.w.gone(L) or not s.verified or s.waited(('base', k), 24):                                      # C7: swept, or a day has passed
                s.base, s.verified = k, False; s.w.note('checkpoint taken unverified'); break
        return s.base != old[0]
    # -- writing ---------------------------------------------------------------------------------------------------------
    def versions(s, key):
        """dot -> (value, what it replaced): facts of the base's tree, without ancestors, and entries above the base. Nothing below it is looked at (T2)."""
        vs = {d: (v, ()) for d, v in ((s.link(s.base).root or {}).get(key, {}) if s.base >= 0 else {}).items()}
        acc = s.accept()
        for e in s.store.values():
            if key in e.changes and acc.get(e.inst, (0, 0))[0] < e.n <= s.f.get(e.inst, (0, 0))[0]:
                if e.inst not in s.forks or s.onchain(e, s.f[e.inst]): vs[e.dot] = (e.changes[key][0], e.changes[key][1])
        return vs
    def shown(s, key):
        """The text of a key, whether it is in conflict (T2 to T4), and the dots that an edit of it replaces (T5)."""
        now = s.state.get(key, {}); order = lambda x: (s.w.heights[x], x)
        if len(set(now.values())) <= 1: return (next(iter(now.values())) if now else frozenset()), False, tuple(sorted(now))
        vs = s.versions(key); anc = []
        for d in now:
            seen, todo = set(), [d]
            while todo:
                x = todo.pop()
                if x in seen: continue
                seen.add(x)
                if x in vs: todo += vs[x][1]
            anc.append(seen)
        common = [x for x in set.intersection(*anc) if x in vs and vs[x][0] is not None]
        if not common:
            v = now[max(now, key=order)]
            return v, True, tuple(sorted(d for d in now if now[d] == v))
        base = vs[max(common, key=order)][0]
        gone = frozenset().union(*[base - v for v in now.values()])
        return frozenset().union(*now.values()) - gone, False, tuple(sorted(now))
    def begin(s):
        """A new instance, bound to account, device and the newest link known (E4)."""
        s.w.count += 1; s.nonce = s.w.count; s.inst = (s.acct.i, s.name, s.m - 1, s.nonce); s.mine = {}; s.said = {}
    def write(s, changes, seen=None, bad=False, p=None, h=None):
        w = s.w; n, prev = s.f.get(s.inst, (0, 0)); e = Entry(); w.count += 1
        e.id, e.inst, e.n, e.prev = w.count, s.inst, n + 1, prev
        e.p, e.h = (s.stated() if p is None else p), (s.dk[s.acct.i] if h is None else h)
        q = s.store.get(prev); e.epoch = s.usable(e.p, q.epoch if q else 1) or s.link(e.p).epoch
        e.seen = {i: v for i, v in s.f.items() if i != s.inst and s.said.get(i) != v} if seen is None else seen
        s.said.update(e.seen)
        e.height = 1 + max([s.store[x].height for n, x in s.f.values() if x in s.store], default=0)
        e.changes, e.bad, e.made = changes, bad, len(w.server.links)
        s.store[e.id] = e; s.ids.add(e.id); s.applied.add(e.id); s.apply(s.state, e, s.killed); s.f[s.inst] = (e.n, e.id)
        return e
    def stated(s):
        """The newest link under which something can be written with the keys that are here (E5); without any, the newest."""
        q = s.store.get(s.f.get(s.inst, (0, 0))[1])
        low = max(s.inst[2], q.p if q else 0)
        return next((k for k in range(s.m - 1, low - 1, -1) if s.usable(k, q.epoch if q else 1)), s.m - 1)
    def edit(s, key, line=None, without=None):
        text, conflict, dots = s.shown(key)
        if conflict and s.w.r.random() < .3: text, dots = frozenset().union(*s.state[key].values()), tuple(sorted(s.state[key]))     # a person resolves it
        new = (text | {line}) if line else text
        if without: new = new - {without}
        s.write({key: (new, dots)})
    def may_write(s): return s.m and s.role() in (OWNER, WRITER) and s.ok()
    def ready(s):
        """Before an own entry: an instance that is closed, ended or not ours to go on with is left (I1, I3)."""
        if not s.may_write(): return False
        if s.inst is None or s.limit(s.inst) is not None or s.inst in s.forks or s.torn():
            if not s.usable(s.m - 1): return False                                                      # a new instance states the newest link
            s.leave()
        q = s.store.get(s.f.get(s.inst, (0, 0))[1])
        return s.usable(s.stated(), q.epoch if q else 1) is not None
    def torn(s): return any(e.inst == s.inst and e.id in s.wrote and e.n > s.f.get(s.inst, (0, 0))[0] for e in s.store.values())
    def leave(s):
        """Leaves an instance that is closed, ended or copied (I1 to I3), and writes again what was lost with a branch (I4)."""
        s.begin(); s.again_own()
    def again_own(s):
        if not s.may_write() or not s.usable(s.m - 1): return
        own = sorted([e for e in s.store.values() if e.id in s.wrote and e.id not in s.redone and s.closing(e.inst) is None and not s.standing(e)], key=lambda e: (e.height, e.n))
        if own and (s.inst is None or any(e.inst == s.inst for e in own) or s.limit(s.inst) is not None): s.begin()
        for e in own:
            x = s.write({key: (v, tuple(s.again.get(d, d) for d in reps)) for key, (v, reps) in e.changes.items()})
            s.again[e.dot] = x.dot; s.wrote.add(x.id); s.redone.add(e.id)
        if own: s.w.note('written again')
    def standing(s, e):
        """Is this own entry part of what counts? Not known: yes, if the server acknowledged it."""
        if e.n > s.f.get(e.inst, (0, 0))[0]: return False
        on = s.onchain(e, s.f[e.inst])
        return on if on is not None else e.n <= s.remember.get(e.inst, (0, 0))[0]
    # -- links -------------------------------------------------------------------------------------------------------------
    def post(s, change=None, root=True, epoch=False):
        """A link with a checkpoint; what closes waits for nothing (C1, C2, K2). False: lost the race, or C2."""
        S = s.w.server
        if len(S.links) != s.m or not s.may_write() or s.limit_own(): return False
        row = 0
        for x in reversed(S.links):
            if x.signer[0] != s.acct.i: break
            row += x.opens
        if epoch and row >= 16: return False                                                            # of one account in a row
        plain = not change and not epoch and not s.due() and not any(s.limit(i) is None for i in s.forks)
        for k in range(1, s.m) if plain else ():                                                        # C2: what proven checkpoints accept; who closes waits for nothing
            if S.links[k].root is None or k in s.void or not s.proven(k): continue
            if k > s.base and any(s.f.get(i, (0, 0))[0] < n and s.limit(i) is None for i, (n, x) in S.links[k].accept.items()): return False
        root = root and s.verified                                                                      # C1: who is unverified writes cuts only
        lacks = any(s.limit(i) is not None and s.closing(i) is not None and s.closing(i) > s.base and s.limit(i)[0] > s.f.get(i, (0, 0))[0] for L in S.links[s.base + 1:s.m] for i in L.accept)
        if lacks and not s.waited('closed', 24): root = False                                                          # C2: a root waits a day for what closed instances have up to their limits
        L = Link(s.m, S.links[-1], (s.acct.i, s.name))
        for a, r in (change or {}).items():
            was = L.roles.get(a)
            if r is None: L.roles.pop(a, None)
            else: L.roles[a] = r
            if was in (OWNER, WRITER) and r not in (OWNER, WRITER):
                L.left.setdefault(a, []).append(L.k)
                for op, d in s.w.accounts[a].chain: 
                    if op == 'add': L.closed.setdefault(d, []).append(L.k)
            L.heads.setdefault(a, s.dk.get(a, 0))
        for d in s.due(): L.closed.setdefault(d, []).append(L.k); L.shut.add(d)
        for a in L.roles: L.heads[a] = max(L.heads.get(a, 0), s.dk.get(a, 0))
        for i in s.forks:
            if i not in L.ended and s.limit(i) is None:
                a = [e for e in s.store.values() if e.inst == i]; by = {}
                for e in a: by.setdefault(e.n, set()).add(e.id)
                split = min((n for n, x in by.items() if len(x) > 1), default=1)
                L.ended[i] = (L.k, split - 1)
        ends = L.shut != S.links[-1].shut or any(r is None for r in (change or {}).values())            # K3: a new key, only if reading ends
        if ends or epoch:
            L.epoch += 1; L.opens = True; L.holders = {d for a in L.roles for d in s.w.accounts[a].trusted(L.heads[a])}
            if ends: L.since = L.epoch
            s.w.keys[L.epoch] = {s.name} if s.bad else {d for d in L.holders if d not in L.shut}        # a thief gives bad letters
            if s.bad: s.w.stolen.add(L.epoch); s.w.note('bad letters')
        s.send()
        L.accept = dict(s.f); L.parent = s.base; L.refutes = set(s.void)
        S.links.append(L); s.m += 1
        s.rebuild()                                                                                     # by the rules as they now are
        L.accept = dict(s.f)
        if root: L.root = {k: dict(v) for k, v in s.state.items()}; s.base, s.verified = L.k, s.verified
        return True
    def limit_own(s): return s.inst is not None and s.limit(s.inst) is not None
    # -- sync ----------------------------------------------------------------------------------------------------------------
    def send(s):
        for e in list(s.store.values()):
            if e.n > s.accept().get(e.inst, (0, 0))[0] or e.id in {x for n, x in s.f.values()}:
                if s.counts(e) is not False or e.inst == s.inst: s.w.server.entries.setdefault(e.id, e)
        for n, x in s.f.values():
            if x in s.store: s.w.server.entries.setdefault(x, s.store[x])
    def follow(s, view):
        for a, head in view.chains().items(): s.dk[a] = max(s.dk.get(a, 0), head)
        m = min(view.links(), len(s.w.server.links))
        while s.m < m:
            L = s.w.server.links[s.m]
            if any(s.dk.get(a, 0) < h for a, h in L.heads.items()): s.alarm('chain missing'); break
            s.m += 1
    def alarm(s, what):
        s.alarms += 1; s.w.note('alarm: ' + what)
        if s.w.mode == 'honest': raise Broken('false alarm: ' + what)
    def sync(s, view, stop=9):
        S, w = s.w.server, s.w
        was = s.m; s.follow(view)
        if not s.m or (s.acct.i not in s.link().roles) or not s.ok(): return
        if stop < 1: return s.resettle(was)
        head = view.head()
        exempt = lambda i: i in s.forks or s.limit(i) is not None or s.revoked(i[1])
        got = view.entries()
        for e in got:
            s.ids.add(e.id)
            if e.n > s.accept().get(e.inst, (0, 0))[0] or any(x == e.id for L in S.links[:s.m] for x in (L.accept.get(e.inst, (0, 0))[1],)):
                s.store.setdefault(e.id, e)
            if e.inst == s.inst and e.id not in s.wrote: s.copied = True                                # I2
        by = {}
        for e in s.store.values(): by.setdefault(e.dot, set()).add(e.id)
        for (i, n), x in by.items():
            if len(x) > 1 and i not in s.forks:
                s.forks.add(i)
                if i != s.inst or not s.copied: w.note('fork found')
        s.resettle(was, force=True)
        if s.copied and (s.usable(s.m - 1) or not s.may_write()):                                       # I4 waits for a key under which it can write
            s.copied = False; w.note('copy found')
            if s.inst in s.forks and not any(len({e.id for e in S.entries.values() if e.dot == (s.inst, n)}) > 1 for n in range(1, 99)): s.forks.discard(s.inst)
            mine = [e for e in s.store.values() if e.inst == s.inst and e.id in s.wrote]
            theirs = {e.id for e in got if e.inst == s.inst}; sent = s.remember.get(s.inst, (0, 0))[0]
            drop = [e for e in mine if e.id not in theirs and (e.n > sent or any(x.dot == e.dot and x.id != e.id for x in got))]
            low = min((e.n for e in drop), default=None)
            again = [e for e in mine if low is not None and e.n >= low and e.id not in theirs]
            for e in again: del s.store[e.id]; s.applied.discard(e.id)
            s.rebuild(); s.begin()
            if s.may_write():
                for e in again: s.store[e.id] = e
                s.again_own()
                for e in again: s.store.pop(e.id, None)
            elif again: w.lost_copies |= {e.id for e in again}
        if head is not None:
            lacks = [i for i, (n, x) in s.remember.items() if not exempt(i) and head.vec.get(i, (0, 0))[0] < n and s.accept().get(i, (0, 0))[0] < n]
            if lacks:                                                                                   # F4, F5
                served = {e.id for e in got}                                                            # F5: is what is remembered still served, or swept?
                if all(s.remember[i][1] in served or any(s.remember[i][0] <= L.accept.get(i, (0, 0))[0] for L in S.links) for i in lacks):
                    w.note('head refused, pusher named'); s.w.accused.add(head.by)
                else: s.alarm('rolled back or forked'); return
            else: s.lasthead = head.id
        elif s.remember: s.alarm('rolled back to nothing'); return
        if stop < 2: return
        s.ask()
        if not s.has(s.link().epoch) and s.may_write() and s.waited(('key', s.link().epoch), 1) and not s.due():  # the key was not given
            if s.post(root=False, epoch=True): w.note('another epoch: key not given')
        if s.due() and s.may_write() and (stop > 4 or w.r.random() < .5):                               # K2, K5: anyone who may
            if not s.post(root=w.r.random() < .7): return
        if s.forks - set(s.link().ended) and s.may_write() and w.r.random() < .5: 
            if any(s.limit(i) is None for i in s.forks): s.post(root=True)
        roots = [k for k in range(s.m) if s.link(k).root is not None and s.proven(k)]
        if s.verified and roots and (roots[-1] in s.void or s.passed and s.base < roots[-1]) and s.may_write() and stop > 4 and w.r.random() < .5: s.passed = False; s.post()          # C6: a better one
        if s.may_write(): s.ready() if s.inst is not None else None; s.again_own()
        if stop < 3 or not s.may_write() or s.due() or s.usable(s.m - 1) is None: return                # K3
        view.put(s)
    def resettle(s, was, force=False):
        if not s.m: return
        moved = s.take(fresh=not s.f and s.base < 0)
        if moved or was != s.m or s.forks: s.rebuild()
        else: s.settle()
    def drop(s):
        """G2: what a verified checkpoint covers, but the tips."""
        if s.base < 0: return
        acc = s.accept(); tips = {x for L in s.w.server.links[:s.m] for n, x in L.accept.values()}
        s.store = {i: e for i, e in s.store.items() if e.n > acc.get(e.inst, (0, 0))[0] or i in tips or i in s.wrote and (e.n > s.remember.get(e.inst, (0, 0))[0] or not s.standing(e))}

class View:
    """What the server shows one device. An honest one shows all."""
    def __init__(s, w, d): s.w, s.d = w, d
    def lies(s): return s.w.lies.get(s.d.name, {}) if s.w.mode == 'lying' else {}
    def chains(s):
        cap = s.lies().get('chains')
        return {a.i: (len(a.chain) if cap is None else min(cap.get(a.i, 0), len(a.chain))) for a in s.w.accounts}
    def links(s): return min(len(s.w.server.links), s.lies().get('links', 10**9))
    def entries(s):
        hide = s.lies().get('hide', ()); es = [e for e in s.w.server.entries.values() if e.id not in hide]
        s.w.r.shuffle(es); return es
    def head(s):
        hs = s.w.server.heads; cut = s.lies().get('head')
        hs = hs if cut is None else hs[:cut]
        return hs[-1] if hs else None
    def put(s, d):
        """Entries, then the frontier over the head that was read (F2, F3)."""
        w = s.w; d.send(); w.count += 1; h = s.head()
        if h is not None and h is not w.server.heads[-1] and w.mode == 'honest': return
        missing = {i for i, v in (h.vec.items() if h else ()) if d.f.get(i, (0, 0))[0] < v[0]}
        if missing and not d.waited('head', 1): d.remember = dict(d.remember); return                   # F3: entries are pushed at once, the head is left for an hour
        if not missing: d.asked.pop('head', None)
        w.server.heads.append(Frontier(w.count, d.f, h.id if h else None, d.name, missing))
        d.lasthead = w.count; d.remember = dict(d.f)

class World:
    def __init__(w, seed, mode='any', steps=None):
        w.r = r = random.Random(seed); w.seed = seed; w.server = Server(); w.count = 0; w.notes = {}; w.lies = {}; w.accused = set(); w.lost_copies = set(); w.heights = {}
        w.mode = mode if mode != 'any' else r.choice(['honest', 'honest', 'lying'])
        w.owner, w.accounts, w.devices = {}, [], []; w.lines = {}; w.out = set(); w.first = {}; w.lying = w.mode == 'lying'; w.removed = set(); w.tainted = False; w.wipes = set(); w.keys = {}; w.stolen = set(); w.t = 0.0; w.skews = r.random() < .4; w.hammers = r.random() < .2
        w.badlinks = r.random() < .3; w.steps = steps or r.randint(20, 110)
        for a in range(r.randint(1, 3)): w.account(r.randint(1, 3))
        L = Link(0, None, (0, w.devices[0].name)); L.roles = {0: OWNER}; L.heads = {0: len(w.accounts[0].chain)}
        L.holders = w.accounts[0].trusted(L.heads[0]); w.server.links.append(L); w.keys[1] = {d.name for d in w.devices}
        for d in w.devices: d.follow(View(w, d))
        f = w.devices[0]
        for a in w.accounts[1:]: f.m and f.post({a.i: r.choice([OWNER, WRITER, WRITER, VIEWER])}, root=r.random() < .5)
    def note(w, what): w.notes[what] = w.notes.get(what, 0) + 1
    def account(w, n):
        a = Account(w, len(w.accounts)); w.accounts.append(a)
        for _ in range(n): w.device(a)
        return a
    def device(w, a):
        d = Device(w, a, f'{a.i}{chr(97 + len(a.chain))}'); a.chain.append(('add', d.name)); w.owner[d.name] = a.i
        d.applied, d.wrote, d.again, d.redone, d.copied, d.said = set(), set(), {}, set(), False, {}
        w.devices.append(d); return d
    def good(w): return [d for d in w.devices if not d.bad and d.name in d.acct.trusted(len(d.acct.chain)) and d.acct.i in w.server.links[-1].roles]
    def step(w):
        r, S = w.r, w.server; d = r.choice(w.devices); a = r.randint(0, 22); v = View(w, d)
        w.t += r.choice([0, 0, 0, .02, .3, 2, 9])
        if w.skews and r.random() < .05: d.skew = r.choice([0, -500000, 500000, 20, -20]); w.note('clock set')
        if w.hammers: w.hammer()
        if d.bad: return w.evil(d)
        alive = d.name in d.acct.trusted(len(d.acct.chain))
        if not alive and r.random() < .5: return
        if a <= 6:
            if d.ready():
                k = r.randint(0, 2); w.count += 1; line = f'{d.name}.{w.count}'; old = sorted(d.shown(k)[0])
                if old and r.random() < .15: x = r.choice(old); d.edit(k, without=x); w.removed.add(x)
                else: d.edit(k, line); w.lines[line] = (k, d.name); w.first[line] = d.f[d.inst][1]
                d.wrote.add(d.f[d.inst][1])
        elif a == 7:
            if d.ready():
                k = r.randint(5, 6); now = tuple(sorted(d.state.get(k, {})))
                d.write({k: (None if r.random() < .4 else frozenset({str(w.count)}), now)}); d.wrote.add(d.f[d.inst][1])
        elif a == 8: d.drop()
        elif a == 9:                                             # a checkpoint: monthly, or compact
            d.sync(v)
            if d.m == len(S.links) and not d.due() and d.name in d.acct.trusted(len(d.acct.chain)): d.post(root=r.random() < .8)
        elif a == 10 and d.base >= 0 and d.verified:             # sweep
            acc = d.accept(); tips = {x for L in S.links for n, x in L.accept.values()}
            S.entries = {i: e for i, e in S.entries.items() if e.n > acc.get(e.inst, (0, 0))[0] or i in tips or i not in d.applied}   # G5: names what it knows
        elif a == 11 and len(w.devices) < 9 and alive: w.device(d.acct)
        elif a == 12 and alive:                                  # revoke, perhaps half-made
            own = [x for x in w.devices if x.acct is d.acct and x is not d and x.name in d.acct.trusted(len(d.acct.chain))]
            if own and r.random() < .6:
                t = r.choice(own)
                if r.random() < .7: d.sync(v)
                d.acct.chain.append(('revoke', t.name)); w.out.add(t.name); t.bad = r.random() < .7
                if t.bad: t.known = (t.m, dict(t.dk))
                if r.random() < .6: d.sync(v)
        elif a == 13 and d.m == len(S.links) and d.role() == OWNER and alive:   # roles: remove, lower, raise, add again
            d.sync(v)
            o = [x for x in w.accounts if x.i != d.acct.i and x.i != 0]
            if o and d.m == len(S.links) and d.role() == OWNER: 
                x = r.choice(o); new = r.choice([None, VIEWER, WRITER, OWNER])
                if S.links[-1].roles.get(x.i) != new and d.post({x.i: new}, root=r.random() < .6):
                    if new not in (OWNER, WRITER) and r.random() < .5:
                        for y in w.devices:
                            if y.acct is x: y.bad = y.bad or r.random() < .5; y.known = (y.m, dict(y.dk))
        elif a == 14 and alive and d.inst is not None and not d.bad and r.random() < .5:   # a copy of the store, or an old one put back
            c = w.copy(d)
            if r.random() < .5: w.snap = (d, c)
            else: w.devices.append(c); w.note('clone')
        elif a == 15 and getattr(w, 'snap', None):
            d, c = w.snap; w.snap = None
            if d in w.devices and not d.bad and d.name in d.acct.trusted(len(d.acct.chain)):
                lost = {e for e in d.wrote if e not in w.server.entries and e not in c.wrote}; w.lost_copies |= lost
                w.devices[w.devices.index(d)] = c; w.note('put back')
        elif a == 16 and w.mode == 'lying': w.lie(r.choice(w.devices))
        elif a == 17 and r.random() < .1 and not d.bad and d.m and len(w.good()) > 1: w.turn(d)
        else: d.sync(v, stop=r.choice([0, 1, 2, 3, 9, 9, 9]))    # a sync that may break off
    def copy(w, d):
        c = copy.copy(d)
        for x in ('dk', 'asked', 'store', 'ids', 'void', 'f', 'forks', 'remember', 'applied', 'wrote', 'again', 'redone', 'said', 'killed'): setattr(c, x, copy.copy(getattr(d, x)))
        c.state = {k: dict(v) for k, v in d.state.items()}; return c
    def turn(w, d): d.bad = True; d.known = (d.m, dict(d.dk)); w.out.add(d.name); w.note('thief with a trusted device')
    def lie(w, d):
        r = w.r; L = w.lies.setdefault(d.name, {})
        k = r.randint(0, 4)
        if k == 0: L['hide'] = {i for i in w.server.entries if r.random() < .3}
        elif k == 1: L['links'] = max(d.m, r.randint(1, len(w.server.links)))
        elif k == 2: L['chains'] = {a.i: r.randint(0, len(a.chain)) for a in w.accounts}; L['links'] = d.m
        elif k == 3 and w.server.heads: L['head'] = r.randint(0, len(w.server.heads))
        else: w.lies[d.name] = {}
    def evil(w, d):
        """A device of a thief or former writer: dates back, forks, claims what is not, sets bad heads. It never stops pushing."""
        r, S = w.r, w.server; trusted = d.name in d.acct.trusted(len(d.acct.chain))
        reaches = w.mode == 'lying' or (trusted and S.links[-1].roles.get(d.acct.i) in (OWNER, WRITER))
        if not reaches: return
        d.m = max(d.m, d.known[0])
        if d.inst is None or not d.m: return
        p = min(d.known[0] - 1, d.m - 1); h = d.known[1].get(d.acct.i, 0)
        if trusted: p, h = d.m - 1, d.dk.get(d.acct.i, 0)
        if p < d.inst[2]: return
        k = r.randint(0, 5)
        if k <= 2:
            w.count += 1; key = r.randint(0, 2)
            old, _, dots = d.shown(key); val = old | {f'bad.{w.count}'}
            if not trusted and r.random() < .5: val, dots = frozenset({f'bad.{w.count}'}), tuple(sorted(d.state.get(key, {})))     # wipes what is there: must come to nothing
            e = d.write({key: (val, dots)}, bad='wipe' if len(val) == 1 and old else True, p=p, h=h); S.entries[e.id] = e
            if e.bad == 'wipe': w.wipes.add((key, e.dot))
            for x in d.store.values(): S.entries.setdefault(x.id, x) if x.inst == d.inst else None
            if r.random() < .2 and e.n > 1:                                             # a second entry with the same number
                x = copy.copy(e); w.count += 1; x.id = w.count; S.entries[x.id] = x; w.note('fork made')
            if r.random() < .1: e.seen = dict(e.seen); e.seen[(0, 'none', 0, -1)] = (5, -5)   # has seen what does not exist
        elif k == 3 and trusted: w.badhead(d)
        elif k == 4 and trusted and w.badlinks and d.may_write():
            d.sync(View(w, d), stop=1)
            if d.m == len(S.links) and d.may_write() and not d.limit_own() and d.post():
                L = S.links[-1]; w.note('bad checkpoint')
                if r.random() < .6 and L.accept: i = r.choice(sorted(L.accept)); L.accept[i] = (L.accept[i][0] + 50, -9)   # a tip that nobody has
                else: L.root = {}; w.tainted = True                                     # a tree that is not true
                L.refutes = {k for k in range(L.k) if r.random() < .3}
                d.base, d.verified = L.parent, True; d.rebuild()
        elif trusted: d.sync(View(w, d))
    def badhead(w, d):
        """A head that names nothing, an instance that is none, or a number of a real log that does not exist (finding 1c of the review)."""
        r, S = w.r, w.server; vec = r.choice([{}, {(0, 'none', 0, -1): (7, -7)}, None])
        if vec is None:
            vec = dict(S.heads[-1].vec) if S.heads else {}
            for i in list(vec): vec[i] = (vec[i][0] + r.choice([1, 50]), -7)
        S.heads.append(Frontier(w.idn(), vec, S.heads[-1].id if S.heads else None, d.name, set())); w.note('bad head')
    def hammer(w):
        """A thief with a trusted device posts a checkpoint with a false tip each hour, and a false head after each push (finding 1)."""
        for d in [d for d in w.devices if d.bad]:
            S = w.server; trusted = d.name in d.acct.trusted(len(d.acct.chain))
            if not trusted or S.links[-1].roles.get(d.acct.i) not in (OWNER, WRITER): continue
            if S.heads and S.heads[-1].by != d.name: w.badhead(d)
            if w.r.random() < .1 and d.inst is not None and d.m:
                d.follow(View(w, d))
                if d.m == len(S.links) and d.may_write() and not d.limit_own(): d.post(root=False, epoch=True)
            if w.t - getattr(d, 'posted', -9) < 1 or w.r.random() < .5: continue
            d.m = max(d.m, d.known[0]); d.follow(View(w, d))
            if d.m == len(S.links) and d.may_write() and d.inst is not None and not d.limit_own() and d.post(root=w.r.random() < .5):
                L = S.links[-1]; d.posted = w.t; w.note('false tip')
                L.accept[w.r.choice(sorted(L.accept)) if L.accept else d.inst] = (50, -9)
                d.base, d.verified = L.parent, True; d.rebuild()
    def idn(w): w.count += 1; return w.count
    def gone(w, L):
        """Are entries below this checkpoint swept at the server (a signed sweep says so)?"""
        have = {}
        for e in w.server.entries.values(): have.setdefault(e.inst, set()).add(e.n)
        return any(len([1 for x in have.get(i, ()) if x <= n]) < n for i, (n, x) in L.accept.items())
    def run(w):
        for _ in range(w.steps): w.step()
        w.lies = {}; w.mode_end = True; mode, w.mode = w.mode, 'lying' if w.mode == 'lying' else 'honest'
        for d in w.devices: d.bad = d.bad or d.name in w.out
        for rnd in range(14):
            w.t += 1 if rnd < 2 else 30                           # a day passes: C5
            for d in w.good():
                if mode == 'lying': d.remember, d.lasthead = {}, None      # the person says that the server was put back
                d.sync(View(w, d))
            g = [d for d in w.good() if d.may_write()]
            if rnd in (2, 4, 6) and g:
                x = w.r.choice(g); x.sync(View(w, x)); x.post()
        w.check()
    def check(w):
        good, S = w.good(), w.server
        if not any(d.may_write() for d in good): return
        facts = lambda d: {k: v for k, v in d.state.items() if v}
        fs = [facts(d) for d in good]
        if any(x != fs[0] for x in fs): raise Broken(f'several states')
        if any(d.f != good[0].f for d in good): raise Broken('several frontiers')
        if len({d.base for d in good}) == 1 and any(d.shown(k) != good[0].shown(k) for d in good for k in range(3)): raise Broken('several texts')
        if len({d.base for d in good}) > 1: w.note('several bases at the end')
        for d in good:
            if d.m != len(S.links): raise Broken('links not followed')
            for e in d.store.values():
                if not e.bad and d.counts(e) is None and d.limit(e.inst) is None and e.n > d.f.get(e.inst, (0, 0))[0] and e.inst[1] in {x.name for x in good}: raise Broken(f'held {e.dot}')
            for i, (n, x) in d.f.items():
                c = d.closing(i)
                if c is not None and x in d.store and d.store[x].made > c and d.store[x].bad: raise Broken('dated back')
        last = S.links[-1].roles
        lost = []
        for line, (k, name) in w.lines.items():
            own = [d for d in good if d.name == name and d.acct.i in last and last[d.acct.i] in (OWNER, WRITER)]
            if not own or line in w.removed: continue
            if not all(any(line in v for v in d.state.get(k, {}).values()) for d in good): lost.append(line)
        if lost and not w.tainted and not w.excused(lost): raise Broken(f'lost {lost[:3]}')
        if lost: w.note('lost by a lying checkpoint' if w.tainted else 'lines of an excused kind')
        for L in S.links:
            if not L.opens or L.epoch in w.stolen: continue
            for dev in w.keys[L.epoch]:
                if dev in L.shut or not any(w.owner[dev] in x.roles for x in S.links[L.k:]): raise Broken('key of a later epoch')
        for d in good:
            if d.may_write() and d.due(): raise Broken('closing held up')
            if d.may_write() and d.usable(d.m - 1) is None: raise Broken('cannot write')
    def excused(w, lost):
        """Are all these lines of a kind that no rule can hold? See the head of this file."""
        good, known = w.good(), list(w.server.entries.values()) + [e for d in w.devices for e in d.store.values()]
        out = set()
        for line in lost:
            k, name = w.lines[line]
            es = [e for e in known if e.inst[1] == name and k in e.changes and e.changes[k][0] and line in e.changes[k][0]]
            if w.first[line] in w.lost_copies: why = None
            elif not any(w.first[line] in d.wrote for d in good): why = 'only on a branch whose copy is gone (rescue)'
            elif any((k, dot) in w.wipes for d in w.devices for e in d.store.values() if not e.bad and k in e.changes for dot in e.changes[k][1]): why = 'edited what a thief had wiped (S10)'
            elif w.lying and any(q == k and d[1] <= good[0].f.get(d[0], (0, 0))[0] for q, d in w.wipes): why = 'wipe accepted by a closer in the dark (12.3)'
            elif w.server.links[-1].closed.get(name): why = 'words above the limit of who came back (share rescue)'
            else: continue
            out.add(line)
            if why: w.note(why)
        return set(lost) <= out

def main():
    p = argparse.ArgumentParser(); p.add_argument('first', type=int); p.add_argument('count', type=int)
    p.add_argument('--mode', default='any'); p.add_argument('--steps', type=int); p.add_argument('--trace', action='store_true')
    o = p.parse_args(); notes, bad, links, entries = {}, {}, 0, 0
    for seed in range(o.first, o.first + o.count):
        w = World.__new__(World)
        try:
            w.__init__(seed, o.mode, o.steps); w.run()
        except Broken as e:
            if o.trace: raise
            bad.setdefault(str(e).split(' [')[0].split(' (')[0][:40], []).append(seed)
        except Exception as e:
            if o.trace: raise
            bad.setdefault('crash of the model: ' + repr(e)[:60], []).append(seed)
        for k, v in w.notes.items(): notes[k] = notes.get(k, 0) + v
        links += len(w.server.links); entries += w.count
    print(f'{o.count} worlds, {sum(map(len, bad.values()))} failed, {links} links, {entries} numbers;', ', '.join(f'{k}: {v}' for k, v in sorted(notes.items())))
    for k, v in bad.items(): print('FAILED', k, len(v), v[:8])
    return 1 if bad else 0

if __name__ == '__main__': sys.exit(main())
