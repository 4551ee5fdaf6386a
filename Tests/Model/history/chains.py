"""What is signed: entries, device chains with recoveries, links of the member chain; and what the server and its views hold."""

from .rules import on


class Entry:
    """One signed change. changes: {key: (value or None, dots that it replaces)}; seen: {instance: (n, id)} since the own entry before;
    p, link: the member link that it states, by number and by hash; h: its device-chain head; new: it has a key that old programs do not know (E7).
    """

    __slots__ = ('id', 'inst', 'n', 'prev', 'height', 'seen', 'changes', 'p', 'link', 'h', 'epoch', 'made', 'bad', 'new')

    @property
    def dot(e):
        return (e.inst, e.n)


class Link:
    """One link of the member chain, with what the chain says after it: roles, heads, epochs, ended logs."""

    def __init__(s, k, before, signer):
        s.k, s.signer = k, signer
        s.roles = dict(before.roles) if before else {}
        s.heads = dict(before.heads) if before else {}  # account -> newest head of its device chain that was stated
        s.keyed = dict(before.keyed) if before else {}  # account -> head that the newest epoch knew of: K3
        s.ended = dict(before.ended) if before else {}  # instance -> ((link, last common number, two entries behind it), ...): K6
        s.epoch, s.since = (
            (before.epoch, before.since) if before else (1, 1)
        )  # since: the oldest epoch for entries that state this link (S5)
        s.kids = dict(before.kids) if before else {}  # epoch -> which key it is
        s.change, s.confirms, s.refutes, s.purges, s.bare = {}, set(), set(), frozenset(), {}
        s.accept, s.root, s.parent, s.cursor = dict(before.accept) if before else {}, None, None, 0
        s.opens = s.dark = s.plain = s.leaves = False  # dark: signed behind the revocation of its device
        s.taken_in_dark = False
        s.posted = 0.0
        s.told = set()


class Account:
    """A device chain. A recovery by paper begins a new branch on a beginning of the one before; what it replaced stays known (trust.md)."""

    def __init__(s, w, i):
        s.w, s.i, s.branches, s.cut, s.where, s.known = w, i, [[]], [0], {}, {}
        s.paper = False
        s.taken_over = None  # first operation of a thief, while nobody recovered

    @property
    def head(s):
        return s.norm((len(s.branches) - 1, len(s.branches[-1])))

    def norm(s, h):
        """A head by the lowest branch that has it: so heads are ordered, a replaced branch below the recovery that replaced it."""
        b, n = h
        while b and n <= s.cut[b]:
            b -= 1
        return (b, n)

    def add(s, op, what, branch=None):
        b = len(s.branches) - 1 if branch is None else branch
        s.branches[b].append((op, what))
        if op == 'add':
            s.where[what] = b

    def recover(s, cut, keep):
        s.branches.append(s.branches[-1][:cut] + [('recover', frozenset(keep))])
        s.cut.append(cut)
        s.taken_over = None

    def at(s, h):
        """(trusted, ever added) at a head."""
        if h not in s.known:
            trusted, ever = set(), set()
            for op, d in s.branches[h[0]][: h[1]]:
                if op == 'add':
                    trusted.add(d)
                    ever.add(d)
                elif op == 'revoke':
                    trusted.discard(d)
                else:
                    trusted &= d
            s.known[h] = (frozenset(trusted), frozenset(ever))
        return s.known[h]

    def trusted(s, h):
        return s.at(h)[0]

    def now(s):
        return s.trusted(s.head)

    def out(s, dev, h):
        """Has this device no right at the head, for good? Revoked there, or of a branch that a recovery replaced (K1)."""
        trusted, ever = s.at(h)
        if dev in trusted:
            return False
        if dev in ever:
            return True
        if s.where.get(dev, h[0]) >= h[0]:
            return False  # added behind this head, or never
        # Of a lower branch: it is out unless that part of the branch is a part of this one.
        return on('K1 branch') and ('add', dev) not in s.branches[h[0]]

    def takes_away(s, a, b):
        """Does anything between two heads revoke or leave out a device?"""
        return any(op != 'add' for n, (op, d) in enumerate(s.branches[b[0]][: b[1]], 1) if s.norm((b[0], n)) > a)


class Frontier:
    def __init__(s, i, vec, over, by):
        s.id, s.vec, s.over, s.by = i, dict(vec), over, by


class Server:
    """One zone. chains, heads: one of each; a second one where a lying server shows some devices another chain (R95)."""

    def __init__(s):
        s.entries, s.chains, s.heads = {}, [[]], [[]]


class View:
    """What the server shows one device. An honest one shows all."""

    def __init__(s, w, d):
        s.w, s.d = w, d

    def lies(s):
        return s.w.lies.get(s.d.name, {}) if s.w.mode == 'lying' else {}

    def chains(s):
        cap = s.lies().get('chains')
        return {a.i: (cap or {}).get(a.i) or {b: len(ops) for b, ops in enumerate(a.branches)} for a in s.w.accounts}

    def links(s):
        return min(len(s.d.links), s.lies().get('links', 10**9))

    def entries(s):
        hide = s.lies().get('hide', ())
        es = [e for e in s.w.server.entries.values() if e.id not in hide]
        s.w.r.shuffle(es)
        return es

    def head(s):
        heads = s.w.server.heads[s.d.side]
        cut = s.lies().get('head')
        heads = heads if cut is None else heads[:cut]
        return heads[-1] if heads else None

    def put(s, d):
        """Entries, then the frontier over the head that was read (F2, F3)."""
        w, h = s.w, s.head()
        if not d.bad and d.due():
            w.fail('pushed while an epoch is due')  # K3
        d.send()
        heads = w.server.heads[d.side]
        missing = h is not None and any(d.f.get(i, (0, 0))[0] < v[0] for i, v in h.vec.items())
        if missing and not d.waited('head', 1):
            return  # F3: entries are pushed at once, the head is left for an hour
        if not missing:
            d.asked.pop('head', None)
        heads.append(Frontier(w.idn(), d.f, h.id if h else None, d.name))
        d.remember = dict(d.f)
