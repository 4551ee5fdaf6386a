#!/usr/bin/env python3
"""Executable model of the planned histories, Spec/history.md: logs of entries, checkpoints in the member chain, frontiers, epochs.

    history_model.py FIRST_SEED COUNT [--mode honest|lying|any] [--steps N] [--off RULE]... [--trial RULE]... [--trace] [--export FILE [--full]]
    history_model.py --self-test

Each seed is one world: 1 to 3 accounts with 1 to 3 devices each at first share one vault. Nothing here is sealed or signed: an entry that a device did not
make does not exist, and rules that only keep strangers out are left away. The model plays what can go wrong among those who can sign. Decisions 0070 and
0090 to 0094 say what it settled. Invariants, at the end of each world, when all was delivered, for each continuation of the member chain:

  one state       all devices that are members and trusted have equal facts, equal frontiers and links, and, on one base, show equal texts (also on the way)
  no lost line    each line of a device that still is trusted, of an account that still writes, stands, unless somebody took it out knowingly
  nothing dated back  no entry of a closed device or former writer counts that was made after its closing link was in the chain; nothing new of a revoked one
  no right of a thief no entry counts that was made by a right which a thief gave behind his revocation
  no false alarm  with an honest server nobody says rolled back, forked by the server, or withheld
  nothing waits   no entry of an honest device is held for ever; no closing is due for ever; every writer has a key to write under
  keys            no closed device and no former member holds the key of an epoch that an honest device opened after that
  purges          what was deleted for good is gone from every device that followed; what a thief deleted, who was revoked in time, is still there
  closings        with an honest server, a closing link accepts what the head named that its author read (K2); no merge becomes a conflict by a checkpoint (T6)

Attackers (history/attackers.py): thieves with trusted devices date back, wipe, fork, claim what is not, begin logs without end, post checkpoints with false trees, false
tips and false bare forms, call honest roots refuted, close with limits that do not exist, set false heads after every push, open epochs whose keys they give to nobody,
delete everything for good, revoke other devices and add their own, also on branches that a recovery replaced, and sign links behind their revocation. The server withholds, takes
the links and pushes of who was revoked, and shows some devices another continuation of the chain. Clocks jump by hours and by years. Programs are old.

Excused, counted and told as notes, since no rule can hold them: lines that lay only in a copy of the store that is gone; words above the limit of an account or device that
lost its right and got it back; texts that a thief wiped while he was trusted, or that an honest device in the dark edited on or accepted in a closing link; present states
that rest on a false tree which nobody with the entries, or only a viewer, could refute; a vault that waits for the word of an account that lost all its devices,
or at which a person was told that unspoken links are a thief's (K8a).
A failed world prints its seed: `history_model.py SEED 1 --trace` raises where it fails.
"""

import argparse, functools, sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from history import rules  # noqa: E402
from history.trace import Trace  # noqa: E402
from history.world import World  # noqa: E402


def play(seed, mode='any', steps=None, trial=(), trace=False, traced=None):
    """Plays one world. Returns it and what failed, or None."""
    w = World.__new__(World)
    w.off = rules.OFF
    try:
        w.__init__(seed, mode, steps, trial, traced)
        w.run()
    except rules.Broken as e:
        if trace:
            raise
        return w, str(e)
    except Exception as e:
        if trace:
            raise
        return w, 'crash of the model: ' + repr(e)[:60]
    return w, None


def self_test():
    """Each rule of the list is switched off in a world that fails without it, and only without it."""
    wrong = []
    for rule, (seed, mode, expected) in rules.SHOWN_BY.items():
        rules.OFF.clear()
        whole = play(seed, mode)[1]
        rules.OFF.add(rule)
        failed = play(seed, mode)[1]
        if whole is not None or failed != expected:
            wrong.append(f'{rule}, world {seed}: with it {whole}, without it {failed}, not {expected}')
    rules.OFF.clear()
    print(f'{len(rules.SHOWN_BY)} rules switched off, one at a time: {len(wrong)} not noticed')
    for line in wrong:
        print('FAILED', line)
    return 1 if wrong else 0


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('first', type=int, nargs='?')
    p.add_argument('count', type=int, nargs='?', default=1)
    p.add_argument('--mode', default='any', choices=['any', 'honest', 'lying'])
    p.add_argument('--steps', type=int)
    p.add_argument('--off', action='append', default=[], help='a rule to do without')
    p.add_argument('--trial', action='append', default=[], help='a rule that was tried and not taken')
    p.add_argument('--export', help='a file for what each device was given and concluded, a world a line')
    p.add_argument('--full', action='store_true', help='with --export: states in full, not their hashes')
    p.add_argument('--self-test', action='store_true')
    p.add_argument('--trace', action='store_true')
    o = p.parse_args()
    notes, bad, links, entries = {}, {}, 0, 0
    if o.self_test:
        return self_test()
    if o.first is None:
        p.error('a first seed is missing')
    rules.OFF.update(o.off)
    traced = functools.partial(Trace, full=o.full) if o.export else None
    out = open(o.export, 'w') if o.export else None
    for seed in range(o.first, o.first + o.count):
        w, failed = play(seed, o.mode, o.steps, o.trial, o.trace, traced)
        if out and not failed:
            print(w.trace.export(), file=out)
        if failed:
            bad.setdefault(failed, []).append(seed)
        for k, v in w.notes.items():
            notes[k] = notes.get(k, 0) + v
        links += sum(map(len, w.server.chains))
        entries += w.count
    if out:
        out.close()
    print(
        f'{o.count} worlds, {sum(map(len, bad.values()))} failed, {links} links, {entries} numbers;',
        ', '.join(f'{k}: {v}' for k, v in sorted(notes.items())),
    )
    for k, v in bad.items():
        print('FAILED', k, len(v), v[:8])
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
