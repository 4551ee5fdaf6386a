"""The one error of the reader: a stable code, the place, and what was found there."""


class Failure(Exception):
    """Something that a page of Spec refuses. `code` is one of Spec/errors.md wherever that page has one."""

    def __init__(self, code, place='', found=''):
        super().__init__(code, place, found)
        self.code, self.place, self.found = code, place, found

    def __str__(self):
        return ' '.join(part for part in (self.code, self.place and f'({self.place})', self.found and f'- {self.found}') if part)


def need(condition, code, place='', found=''):
    """Raises a `Failure` unless the condition holds."""
    if not condition:
        raise Failure(code, place, found)


def is_bytes(value, *sizes):
    """Whether the value is a byte string, of one of these sizes if any are given."""
    return isinstance(value, bytes) and (not sizes or len(value) in sizes)


def is_int(value, least=0, most=(1 << 64) - 1):
    """Whether the value is an integer within both bounds; true and false are none."""
    return type(value) is int and least <= value <= most


def is_list(value, *sizes):
    """Whether the value is an array, of one of these lengths if any are given."""
    return isinstance(value, list) and (not sizes or len(value) in sizes)


def ascends(values):
    """Whether each value is above the one before it."""
    values = list(values)
    return all(a < b for a, b in zip(values, values[1:]))
