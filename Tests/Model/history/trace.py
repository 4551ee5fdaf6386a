"""What each honest device of a world was given, in its order, and what it concluded: for programs that play the same (--export)."""

import hashlib, json


def short(text):
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class Trace:
    def __init__(t, w, full=False):
        t.w, t.full = w, full
        t.events, t.tids, t.instances = [], {}, {}
        t.last = {}

    def instance(t, i):
        return t.instances.setdefault(i, len(t.instances))

    # -- what a device concluded, as text in one form that other programs write too ---------------------------------------------
    def state(t, state):
        facts = []
        for key in sorted(state):
            for d in sorted(state[key], key=lambda d: (t.instance(d[0]), d[1])):
                height, value = state[key][d]
                facts.append(f'{key}|{t.instance(d[0])}.{d[1]}|{height}|{value_text(value)};')
        return ''.join(facts)

    def marks(t, vec):
        return ''.join(f'{i}:{n}:{x};' for i, n, x in sorted((t.instance(i), n, x) for i, (n, x) in vec.items()))

    def verdicts(t, d):
        acc = d.accept()
        above = [(x, e) for x, e in sorted(d.store.items()) if e.n > acc.get(e.inst, (0, 0))[0]]
        return ''.join(f'{x}{"TFN"[(True, False, None).index(d.counts(e))]}' for x, e in above)

    def concluded(t, d):
        out = {
            'm': d.m,
            'stuck': d.stuck,
            'base': d.base,
            'trust': 0 if d.base < 0 and d.verified else 1 if d.verified else 2 if d.base in d.seasoned else 3,
            'void': sorted(d.void),
            'passed': d.passed,
            'forks': sorted(t.instance(i) for i in d.forks),
            'frontier': t.marks(d.f),
            'state': t.state(d.state),
            'store': ','.join(map(str, sorted(d.store))),
            'verdicts': t.verdicts(d) if d.m else '',
            'due': sorted(d.taken_away()) if d.m else [],
            'proven': [k for k in range(d.m) if d.links[k].root is not None and d.proven(k)] if d.m else [],
            'purged': sorted(d.purged),
        }
        for name in ('frontier', 'state', 'store', 'verdicts'):
            if not t.full:
                out[name] = short(out[name])
        return out

    # -- events ----------------------------------------------------------------------------------------------------------------
    def tid(t, d):
        if id(d) not in t.tids:
            t.tids[id(d)] = (len(t.tids), d)  # keeps d alive, so that no other has its id
        return t.tids[id(d)][0]

    def copied(t, source, copy):
        if source.bad:
            return
        t.events.append([t.tid(copy), 'copy', {'of': t.tid(source), 'account': copy.acct.i, 'device': copy.name}, None])

    def event(t, d, what, **given):
        if d.bad:
            return
        fresh = id(d) not in t.tids
        tid = t.tid(d)
        if fresh:
            t.events.append([tid, 'device', {'account': d.acct.i, 'device': d.name}, None])
        given['known'] = [[a, b, n] for a, v in sorted(d.branches.items()) for b, n in sorted(v.items())]
        given |= {'side': d.side, 'clock': d.clock(), 'old': d.old}
        # Only what changed: most of it stays as it was.
        now = concluded = t.concluded(d)
        before = t.last.get(tid, {})
        now = {k: v for k, v in concluded.items() if k not in before or before[k] != v}
        t.last[tid] = concluded
        t.events.append([tid, what, given, now])

    def gone(t, d):
        return [k for k in range(d.m) if d.links[k].root is not None and t.w.gone(d.links[k])]

    # -- the world ---------------------------------------------------------------------------------------------------------------
    def export(t):
        w = t.w
        links = {}
        for chain in w.server.chains:
            for L in chain:
                links.setdefault(id(L), (len(links), L))
        lid = lambda L: links[id(L)][0]
        before = {id(c[k]): c[k - 1] if k else None for c in w.server.chains for k in range(len(c))}
        mine = lambda vec: [[t.instance(i), n, x] for i, (n, x) in sorted(vec.items())]
        entries = [
            {
                'id': e.id,
                'instance': t.instance(e.inst),
                'number': e.n,
                'before': e.prev,
                'height': e.height,
                'link': [e.p, lid(e.link)],
                'head': list(e.h),
                'epoch': e.epoch,
                'seen': mine(e.seen),
                'new': e.new,
                'changes': [
                    [k, None if v is None else value_text(v), [[t.instance(i), n] for i, n in reps]]
                    for k, (v, reps) in sorted(e.changes.items())
                ],
            }
            for x, e in sorted(w.made.items())
            if id(e.link) in links
        ]
        out = {
            'seed': w.seed,
            'mode': w.mode,
            'room': w.room,
            'accounts': [
                {
                    'cuts': a.cut,
                    'branches': [
                        [['add', d] if op == 'add' else ['revoke', d] if op == 'revoke' else ['recover', *sorted(d)] for op, d in b]
                        for b in a.branches
                    ],
                }
                for a in w.accounts
            ],
            'chains': [[lid(L) for L in chain] for chain in w.server.chains],
            'links': [t.link(L, before[id(L)], mine) for n, L in sorted(links.values(), key=lambda x: x[0])],
            'entries': entries,
            'events': t.events,
        }
        out['instances'] = [list(i) for i in t.instances]  # account, device, first link, nonce; last, since all above name some
        return json.dumps(out, separators=(',', ':'))

    def link(t, L, B, mine):
        return {
            'number': L.k,
            'account': L.signer[0],
            'device': L.signer[1],
            'roles': {a: r for a, r in L.roles.items()},
            'changes': [[a, L.roles.get(a)] for a in sorted(set(L.roles) | set(B.roles if B else ())) if L.roles.get(a) != (B.roles.get(a) if B else None)],
            'heads': [[a, *h] for a, h in sorted(L.heads.items())],
            'opens': L.opens,
            'since': L.since,
            'epoch': L.epoch,
            'keyed': [[a, *h] for a, h in sorted(L.keyed.items())],
            'confirms': sorted(L.confirms),
            'ended': [[t.instance(i), n, x, y] for i, ends in sorted(L.ended.items()) for k, n, x, y in ends if k == L.k],
            'checkpoint': L.parent is not None,
            'base': L.parent,
            'accept': mine(L.accept),
            'root': None if L.root is None else [
                [key, t.instance(d[0]), d[1], h, value_text(v)] for key in sorted(L.root) for d, (h, v) in sorted(L.root[key].items())
            ],
            'root_text': None if L.root is None else short(t.state(L.root)),
            'refutes': sorted(L.refutes),
            'purges': sorted(L.purges),
            'bare': [[t.instance(i), x] for i, x in sorted(L.bare.items())],
        }


def value_text(v):
    return v if isinstance(v, str) else '/' + ','.join(v)


class Untraced:
    """No trace: most runs."""

    def copied(t, *a):
        pass

    def event(t, *a, **b):
        pass

    def gone(t, d):
        return ()

    def instance(t, i):
        return 0
