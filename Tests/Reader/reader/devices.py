"""Device chains (Spec/trust.md section 4): which devices an account trusts, at each of its links."""

from . import links
from .failure import ascends, is_bytes, is_int, is_list, need
from .links import MALFORMED
from .suite import valid_signing_key, verifies

WEEK = 7 * 86_400_000


class Device:
    """A device as its chain added it."""

    def __init__(self, parts, number, brought_by, rank):
        self.id, self.kind, self.key, self.box, self.noise = (parts[key] for key in range(1, 6))
        self.number, self.brought_by, self.rank = number, brought_by, rank
        self.trusted, self.announced = True, None

    @property
    def is_paper(self):
        return self.kind == 2


class DeviceChain:
    """A verified device chain. `trusted_at(n)` answers for each link; `ended[n]` says who lost his trust at link n."""

    def __init__(self, values, what='device chain', expected_id=None):
        self.links = links.links_of(values, what)
        self.devices, self.taken = {}, set()
        self.trust = []
        self.id = b''
        for link in links.check_sequence(self.links, links.DEVICE, expected_id):
            self.id = self.id or link.hash
            self._take(link)
            self.trust.append(frozenset(d.id for d in self.devices.values() if d.trusted))
        self.by_hash = {link.hash: link.number for link in self.links}

    @property
    def head(self):
        return self.links[-1].hash

    def trusted_at(self, number):
        """The ids of the devices that are trusted behind the link with this number."""
        return self.trust[number]

    def device_of_key(self, key):
        return next((d for d in self.devices.values() if d.key == key), None)

    # -- one link --------------------------------------------------------------------------------------------------------------------

    def _take(self, link):
        place = link.place
        need(link.operation in range(1, 7), 'trust.link.unsupported', place, f'operation {link.operation}')
        signer = self.device_of_key(link.signer)
        if link.number == 0:
            self._check_form(link)
            need(link.operation == 1 and link.parts[3] == link.signer, MALFORMED, place, 'the first link')
            need(link.parts[2] == 1, MALFORMED, place, 'founded by paper')
        else:
            need(signer is not None, 'trust.link.signer-unknown', place)
            need(signer.trusted, 'trust.link.signer-revoked', place)
            self._check_form(link)
        {1: self._add, 2: self._revoke, 3: self._recover, 4: self._announce, 5: self._carry_out, 6: self._describe}[link.operation](
            link, signer
        )

    def _check_form(self, link):
        parts, place = link.parts, link.place
        keys = {1: (range(7), ()), 2: ((0, 1), (2, 3)), 3: ((0, 1), ()), 4: ((0, 1, 2), ()), 5: ((0, 1, 2), ()), 6: ((0, 1), ())}
        link.fields(*keys[link.operation])
        if link.operation == 3:
            need(_ids(parts[1]) and parts[1], MALFORMED, place, 'ids that do not ascend')
        else:
            need(is_bytes(parts[1], 16), MALFORMED, place, 'device id')
        if link.operation == 1:
            need(parts[2] in (1, 2) and all(is_bytes(parts[key], 32) for key in (3, 4, 5)), MALFORMED, place)
            need(is_bytes(parts[6], 64 if link.number else 0), MALFORMED, place, 'countersignature')
        elif link.operation == 2:
            need((2 in parts) == (3 in parts) and _ids(parts.get(2, [])) and _ids(parts.get(3, [])), MALFORMED, place)
        elif link.operation in (4, 5):
            need(is_int(parts[2]), MALFORMED, place, 'time')

    def _known(self, id, link):
        device = self.devices.get(id)
        need(device is not None and device.trusted, 'trust.device.unknown', link.place, id.hex())
        return device

    def _add(self, link, signer):
        parts, place = link.parts, link.place
        names = {parts[key] for key in (1, 3, 4, 5)}
        need(len(names) == 4 and not names & self.taken, 'trust.device.exists', place)
        need(valid_signing_key(parts[3]), MALFORMED, place, 'signing key')
        if link.number:
            message = parts[1] + parts[3] + parts[4] + parts[5] + link.number.to_bytes(8, 'big')
            good = verifies(parts[3], b'link/countersignature', bytes([links.DEVICE]) + self.id, message, parts[6])
            need(good, 'trust.device.countersignature-invalid', place)
        self.taken |= names
        rank = link.number if signer is None or not signer.is_paper else signer.rank
        self.devices[parts[1]] = Device(parts, link.number, signer and signer.id, rank)

    def _revoke(self, link, signer):
        gone = [self._known(link.parts[1], link)]
        if 2 in link.parts:
            named = set(link.parts[2]) | set(link.parts[3])
            brought = self._brought_by(gone[0].id)
            need(not set(link.parts[2]) & set(link.parts[3]), MALFORMED, link.place, 'a device twice')
            need(named == brought, 'trust.device.brought-undecided', link.place)
            gone += [self._known(id, link) for id in link.parts[2]]
        for device in gone:
            outranked = device.is_paper and signer.id != device.id and not (signer.is_paper and signer.rank <= device.rank)
            need(not outranked, 'trust.device.paper-outranks', link.place)
        for device in gone:
            self._end(device)

    def _brought_by(self, id):
        """Trusted devices that this one added, and those that these added."""
        found, todo = set(), [id]
        while todo:
            by = todo.pop()
            for device in self.devices.values():
                if device.brought_by == by and device.id not in found:
                    found.add(device.id)
                    todo.append(device.id)
        return {i for i in found if self.devices[i].trusted}

    def _recover(self, link, signer):
        kept = link.parts[1]
        need(signer.is_paper, 'trust.device.paper-outranks', link.place)
        need(signer.id in kept, MALFORMED, link.place, 'a recovery that does not keep its signer')
        for id in kept:
            self._known(id, link)
        for device in list(self.devices.values()):
            if device.trusted and device.id not in kept:
                need(not device.is_paper or signer.rank <= device.rank, 'trust.device.paper-outranks', link.place)
        for device in list(self.devices.values()):
            if device.trusted and device.id not in kept:
                self._end(device)

    def _announce(self, link, signer):
        device = self._known(link.parts[1], link)
        need(device.is_paper, MALFORMED, link.place, 'no paper')
        device.announced = (signer.id, link.parts[2])

    def _carry_out(self, link, signer):
        device = self._known(link.parts[1], link)
        by, time = device.announced or (None, 0)
        need(by == signer.id, 'trust.device.paper-outranks', link.place, 'announced by another device, or not at all')
        need(link.parts[2] >= time + WEEK, 'trust.device.revocation-too-early', link.place)
        self._end(device)

    def _describe(self, link, signer):
        self._known(link.parts[1], link)

    def _end(self, device):
        device.trusted = False
        for other in self.devices.values():
            if other.announced and other.announced[0] == device.id:
                other.announced = None


def _ids(values):
    return is_list(values) and all(is_bytes(v, 16) for v in values) and ascends(values)


def follow(seen, values, what='device chain'):
    """The chain behind `seen` and the links that are served in full, by Spec/trust.md section 3, and how many links it replaced."""
    served = DeviceChain(values, what, seen.id)
    for number, (old, new) in enumerate(zip(seen.links, served.links)):
        if old.hash == new.hash:
            continue
        return served, _replaced(seen, served, number)
    need(len(served.links) >= len(seen.links), 'trust.chain.rolled-back', what)
    return served, 0


def _replaced(seen, served, number):
    link = served.links[number]
    need(link.operation == 3, 'trust.chain.forked', link.place)
    signer = served.device_of_key(link.signer).id
    for old in seen.links[number:]:
        recovers = old.operation == 3
        by = seen.device_of_key(old.signer)
        need(not (recovers and by.id in served.trusted_at(number - 1)), 'trust.chain.forked', old.place)
    need(signer in seen.trusted_at(len(seen.links) - 1), 'trust.link.signer-revoked', link.place)
    return len(seen.links) - number
