"""The sealed part of member links (Spec/history.md section 8): details, checkpoints, and what each link accepts."""

from . import cbor
from .entries import is_frontier
from .failure import Failure, ascends, is_bytes, is_int, is_list, need
from .suite import envelope_open, kdf, u32, u64

MALFORMED, KEY_MISSING = 'trust.link.malformed', 'trust.member.key-missing'
INSTANCES_MAX = 1024


class Checkpoint:
    """What a link accepts, with mostly a root."""

    def __init__(self, parts, place):
        good = isinstance(parts, dict) and {1, 2, 4, 5} <= set(parts) <= set(range(1, 10))
        need(good, MALFORMED, place, 'keys of the checkpoint')
        self.base, self.differs, self.root, self.digest, self.count = (parts.get(key) for key in (1, 2, 3, 4, 5))
        need(self.base is None or is_int(self.base), MALFORMED, place, 'base')
        need(is_frontier(self.differs) and len(self.differs) <= INSTANCES_MAX, MALFORMED, place, 'accept')
        need(3 not in parts or is_bytes(self.root, 32), MALFORMED, place, 'root')
        need(is_bytes(self.digest, 32) and is_int(self.count), MALFORMED, place, 'digest or count')
        self.ends, self.deleted = parts.get(6, {}), parts.get(7, [])
        self.bare_tips, self.wrong = parts.get(8, {}), parts.get(9, [])
        good = isinstance(self.ends, dict) and all(
            is_bytes(k, 16) and is_list(v, 3) and is_int(v[0], 0) and is_bytes(v[1], 32) and is_bytes(v[2], 32)
            for k, v in self.ends.items()
        )
        need(good and (6 not in parts or self.ends), MALFORMED, place, 'ends')
        good = is_list(self.deleted) and all(is_bytes(e, 17) for e in self.deleted) and ascends(self.deleted)
        need(good and (7 not in parts or self.deleted and 3 in parts), MALFORMED, place, 'deleted entities')
        good = isinstance(self.bare_tips, dict) and all(is_bytes(k, 16) and is_bytes(v, 32) for k, v in self.bare_tips.items())
        need(good and (8 not in parts or self.bare_tips and 7 in parts), MALFORMED, place, 'bare tips')
        good = is_list(self.wrong) and all(map(is_int, self.wrong)) and ascends(self.wrong)
        need(good and (9 not in parts or self.wrong), MALFORMED, place, 'wrong roots')
        self.accept = {}


class Checkpoints:
    """The details and checkpoints of all links, as far as the keys are here; `accept[n]` is what link n accepts in full."""

    def __init__(self, chain, vault_keys):
        self.chain, self.keys = chain, vault_keys
        self.details, self.of_link, self.failures = {}, {}, []
        self.accept = [{}]
        for number in range(1, len(chain)):
            try:
                found = self._open(chain.links[number])
            except Failure as failure:
                self.failures.append(failure)
                found = None
            self.accept.append(self.accept[-1])
            if found is not None and self._holds(found, number):
                self.of_link[number] = found
                self.accept[number] = found.accept = self._full(found)

    def _holds(self, checkpoint, number):
        """Whether the signer may write it, and its base is an earlier checkpoint with a root."""
        if not self.chain.states[number - 1].may_write(self.chain.links[number].account):
            return False
        base = self.of_link.get(checkpoint.base)
        return checkpoint.base is None or base is not None and base.root is not None

    def _full(self, checkpoint):
        under = {} if checkpoint.base is None else self.of_link[checkpoint.base].accept
        return {**under, **checkpoint.differs}

    def _key(self, epoch, place):
        need(epoch in self.keys, KEY_MISSING, place, f'epoch {epoch}')
        return kdf(self.keys[epoch], b'member-details/key', self.chain.vault + u32(epoch))

    def _open(self, link):
        """The checkpoint of a link, or None; its details are kept. An empty sealed part has neither."""
        place, sealed, separate = link.place, link.sealed, None
        if not sealed:
            return None
        if 10 in link.parts:
            both = cbor.decode(sealed, MALFORMED, place)
            need(is_list(both, 2) and all(map(is_bytes, both)), MALFORMED, place, 'sealed part')
            sealed, separate = both
        ad = self.chain.vault + u64(link.number)
        found = None
        if separate is not None:
            key = self._key(link.parts[14], place)
            content = envelope_open(key, b'member-checkpoint/seal', ad, separate, failure=KEY_MISSING, place=place)
            found = cbor.decode(content, MALFORMED, place)
        try:
            details = self._details(link, ad, sealed)
        except Failure as failure:
            if separate is None:
                raise
            self.failures.append(failure)
            details = {}
        need(separate is None or 2 not in details, MALFORMED, place, 'two checkpoints')
        self.details[link.number] = details
        found = details.get(2, found)
        return None if found is None else Checkpoint(found, place)

    def _details(self, link, ad, sealed):
        key, place = self._key(self.chain.epoch_at(link.number), link.place), link.place
        content = envelope_open(key, b'member-details/seal', ad, sealed, failure='trust.link.details-sealed', place=place)
        details = cbor.decode(content, MALFORMED, place)
        good = isinstance(details, dict) and 0 in details and set(details) <= {0, 1, 2, 3} and is_int(details[0], -(1 << 63))
        need(good, MALFORMED, place, 'details')
        return details
