#!/usr/bin/env python3
"""Holds the reader against vectors, worlds that Spec decides, altered stores, worlds of the model, golden stores, and live ones.

check.py [vectors|worlds|hostile|model|golden|live...]      all of them without a word; prints what differs; exit 0 if nothing does,
77 if a library is missing
"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

try:
    import reader.suite as suite
    from reader.values import zstd
except ImportError as error:
    print(f'skipped: the Python package {error.name} is missing')
    sys.exit(77)
except Exception as missing:
    if type(missing).__name__ != 'Missing':
        raise
    print(f'skipped: {missing} is missing')
    sys.exit(77)


def vectors():
    import vectors as all_of_them

    return [f'{part.__name__}: {line}' for part in all_of_them.ALL for line in part()]


def worlds():
    import worlds as all_of_them

    return [f'{part.__name__}: {line}' for part in all_of_them.ALL for line in part()]


def hostile():
    import hostile as all_of_them

    return [f'{part.__name__}: {line}' for part in all_of_them.ALL for line in part()]


def model():
    import model as all_of_them

    return all_of_them.run()


def golden():
    import golden as all_of_them

    return all_of_them.run()


def live():
    import live as all_of_them

    return all_of_them.run()


def main(wanted):
    groups = {group.__name__: group for group in (vectors, worlds, hostile, model, golden, live)}
    found = []
    if zstd is None:
        print('skipped: libzstd is missing')
        return 77
    for name in wanted or groups:
        start = time.monotonic()
        wrong = groups[name]()
        print(f'{name}: {len(wrong)} wrong, {time.monotonic() - start:.1f} s')
        found += [f'{name}: {line}' for line in wrong]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    assert suite
    sys.exit(main(sys.argv[1:]))
