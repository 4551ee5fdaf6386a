"""Links of all chains (Spec/trust.md section 1): their form, hash and signature."""

from . import cbor
from .failure import is_bytes, is_int, is_list, need
from .suite import hashed, verifies

DEVICE, MEMBER = 1, 3
MALFORMED = 'trust.link.malformed'
LINK_COUNT_MAX, CHAIN_BYTES_MAX = 100_000, 4 << 20


class Link:
    """One signed link, as it lies in a chain; `hash` and `chain` are set by `begin` and by the chain that it follows."""

    def __init__(self, value, place):
        need(is_list(value, 8), MALFORMED, place, 'no array of eight')
        version, self.kind, self.number, self.public, self.sealed, self.previous, self.signer, self.signature = value
        need(is_int(version) and is_int(self.kind) and is_int(self.number), MALFORMED, place)
        need(version == 1, 'trust.link.unsupported', place, f'version {version}')
        need(is_bytes(self.public) and len(self.public) <= 64 << 10, MALFORMED, place, 'public part')
        need(is_bytes(self.sealed) and len(self.sealed) <= (64 << 10 if self.kind == MEMBER else 4 << 10), MALFORMED, place, 'sealed part')
        need(is_bytes(self.previous, 0, 32) and is_bytes(self.signer, 32) and is_bytes(self.signature, 64), MALFORMED, place)
        self.place = place
        self.parts = cbor.decode(self.public, MALFORMED, place)
        need(isinstance(self.parts, dict) and all(is_int(key) for key in self.parts), MALFORMED, place, 'public part is no map')
        self.operation = self.parts.get(0)
        need(is_int(self.operation), MALFORMED, place, 'no operation')
        self.hash = b''

    def hashed_in(self, chain):
        """The hash of this link in the chain with this id (empty for link 0)."""
        parts = [self.kind, chain, self.number, self.public, self.sealed, self.previous, self.signer]
        return hashed(b'coffret/link/1' + cbor.encode(parts))

    def fields(self, required, optional=()):
        """Refuses a public part with other keys than these."""
        keys = set(self.parts)
        need(set(required) <= keys <= set(required) | set(optional), MALFORMED, self.place, f'keys {sorted(keys)}')


def link_of(raw, place):
    """A link from its bytes, or from the array that they decode to."""
    return Link(cbor.decode(raw, MALFORMED, place) if isinstance(raw, bytes) else raw, place)


def check_sequence(links, kind, expected_id=None):
    """Checks kind, number, previous hash and signature of each link; gives the chain's id, and sets each link's hash.

    Yields (link) in order, so that a caller checks rights before the next link is looked at.
    """
    need(links, 'trust.chain.empty')
    need(len(links) <= LINK_COUNT_MAX, 'trust.chain.too-long')
    size = sum(len(link.public) + len(link.sealed) + 160 for link in links)
    need(size <= CHAIN_BYTES_MAX, 'trust.chain.too-long')
    chain, before = b'', b''
    for index, link in enumerate(links):
        need(link.kind == kind, 'trust.chain.kind-differs', link.place)
        need(link.number == index, 'trust.chain.gap', link.place, f'number {link.number}')
        need(link.previous == before, 'trust.chain.broken', link.place)
        link.hash = link.hashed_in(chain)
        if index == 0:
            chain = link.hash
            need(expected_id in (None, chain), 'trust.chain.id-differs', link.place)
        before = link.hash
        scope = bytes([kind]) + chain
        need(verifies(link.signer, b'link/signature', scope, link.hash, link.signature), 'trust.link.signature-invalid', link.place)
        yield link


def links_of(values, what):
    """The links of a chain, from an array of them."""
    need(is_list(values), MALFORMED, what, 'no array of links')
    return [link_of(value, f'{what} link {number}') for number, value in enumerate(values)]
