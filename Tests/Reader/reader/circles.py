"""Circles and shares (Spec/recovery.md)."""

from . import links
from .failure import Failure, ascends, is_bytes, is_int, is_list, need
from .members import MALFORMED, NOT_PERMITTED
from .suite import hashed

FOUNDER, CONTACT = 1, 4
REQUESTS_MAX, NEEDS_NONE = 16, (7, 21)
KEYS = {
    2: (range(7), ()), 3: (range(4), ()), 4: (range(4), (8, 9, *range(10, 15))), 6: (range(3), ()), 7: (range(3), (8, 9, *range(10, 15))),
    20: (range(5), ()), 21: (range(4), ()), 22: (range(5), ()), 23: (range(5), ()),
}  # fmt: skip


# -- Shares ------------------------------------------------------------------------------------------------------------------------------


def product(a, b):
    """In GF(256) with the polynomial 0x11D."""
    result = 0
    for bit in range(8):
        if b >> bit & 1:
            result ^= a << bit
    for bit in range(14, 7, -1):
        if result >> bit & 1:
            result ^= 0x11D << bit - 8
    return result


def inverse(a):
    result = 1
    for _ in range(254):
        result = product(result, a)
    return result


def joined(shares):
    """The secret out of {x: share}."""
    secret = bytes(32)
    for x, share in shares.items():
        weight = 1
        for other in shares:
            if other != x:
                weight = product(weight, product(other, inverse(other ^ x)))
        secret = bytes(s ^ product(weight, b) for s, b in zip(secret, share))
    return secret


def share_hash(circle, x, share):
    return hashed(b'coffret/circle-share/1' + circle + bytes([x]) + share)


# -- The chain ---------------------------------------------------------------------------------------------------------------------------


class State:
    """What a number of links says; `fold` refuses what does not apply."""

    def __init__(self, founder, terms):
        self.founder, self.terms = founder, terms
        self.contacts, self.adding, self.arming, self.requests = {}, {}, None, {}

    def may(self, account):
        return account == self.founder or self.contacts.get(account, False)

    def refusal(self, link):
        """The code with which a link is refused, or None."""
        parts, me, operation = link.parts, link.account, link.operation
        if me != self.founder and me not in self.contacts:
            return NOT_PERMITTED
        owns, request = me == self.founder, self.requests.get(parts.get(3)) if operation in (20, 21, 22) else None
        if operation == 2:
            new = parts[3] != self.founder and parts[3] not in self.contacts and len(self.contacts) < self.terms[1]
            good = owns and parts[4] == CONTACT and self.arming is None and new
        elif operation == 3:
            good = not owns and not self.contacts[me] and self.adding[me] == parts[3]
        elif operation == 6:
            good = not owns
        elif operation == 7:
            others = {row[0] for row in parts.get(9, [])} | set(parts.get(8, [])) - {me}
            inside = {row[0] for row in parts.get(9, [])} <= {self.founder, *self.contacts}
            good = 10 not in parts and inside and (owns or others <= {me})
        elif operation == 23:
            if not owns or self.arming is not None:
                return NOT_PERMITTED
            if len(self.contacts) != self.terms[1] or not all(self.contacts.values()):
                return 'recovery.consent-required'
            rows = parts[4]
            good = {row[0] for row in rows} == set(self.contacts) and sorted(row[1] for row in rows) == list(range(1, self.terms[1] + 1))
        elif operation == 20:
            own = sum(other['by'] == me for other in self.requests.values())
            good = not owns and self.contacts[me] and self.arming is not None and request is None and own < REQUESTS_MAX
        elif operation == 21:
            good = owns and request is not None and not request['forbidden']
        elif operation == 22:
            good = not owns and self.contacts[me] and request is not None and not request['forbidden'] and me not in request['releases']
        else:
            good = False
        return None if good else NOT_PERMITTED

    def fold(self, link):
        parts, me = link.parts, link.account
        if link.operation == 2:
            self.contacts[parts[3]], self.adding[parts[3]] = False, link.hash
        elif link.operation == 3 and me in self.contacts:
            self.contacts[me] = True
        elif link.operation == 6:
            self.contacts.pop(me, None)
        elif link.operation == 20:
            self.requests[parts[3]] = {'by': me, 'forbidden': False, 'releases': set()}
        elif link.operation == 21:
            self.requests[parts[3]]['forbidden'] = True
        elif link.operation == 22:
            self.requests[parts[3]]['releases'].add(me)
        elif link.operation == 23:
            self.arming = parts


class Circle:
    """A verified circle: `state` is what counts, for the accounts as they are known."""

    def __init__(self, values, accounts, what='circle'):
        self.accounts, self.links, self.heads = accounts, [], {}
        self.id = b''
        for link in links.check_sequence(links.links_of(values, what), links.MEMBER):
            if link.number == 0:
                self._found(link)
            else:
                self._take(link)
            self.links.append(link)
        self.state = self._counted()

    def _found(self, link):
        need(link.parts.get(5, 2) in (2, 3), 'trust.link.unsupported', link.place, 'purpose')
        need(link.operation == 1 and link.parts.get(5) == 2 and not link.sealed, MALFORMED, link.place, 'no circle')
        link.fields((0, 1, 2, 3, 5, 6))
        parts, terms = link.parts, link.parts[6]
        good = all(is_bytes(parts[key], 32) for key in (1, 2, 3)) and is_list(terms, 3) and all(is_int(t) for t in terms)
        good = good and 2 <= terms[0] <= terms[1] <= 16 and 24 <= terms[2] <= 8760
        need(good, MALFORMED, link.place, 'terms')
        self._sign(link, parts[2], parts[3])
        self.id, self.founder, self.terms = link.hash, link.account, terms
        self.all = State(self.founder, terms)

    def _sign(self, link, account, head):
        """Rules 2 and 3: the stated head is here, and the signer is trusted there."""
        need(account in self.accounts, 'trust.member.chain-missing', link.place)
        known = self.accounts[account]
        position = known.position(head)
        need(position is not None, 'trust.member.chain-missing', link.place)
        device = known.lines[position[0]].device_of_key(link.signer)
        need(device is not None, 'trust.link.signer-unknown', link.place)
        need(known.trusts(position, device.id), 'trust.link.signer-revoked', link.place)
        link.account, link.device, link.position = account, device.id, position
        return position

    def _take(self, link):
        parts = link.parts
        need(not link.sealed, MALFORMED, link.place, 'sealed part')
        need(link.operation in KEYS, 'trust.link.unsupported', link.place)
        link.fields(*KEYS[link.operation])
        need(is_bytes(parts[1], 32) and is_bytes(parts[2], 32), MALFORMED, link.place)
        self._check_form(link)
        stated = [(parts[1], parts[2])] + [(row[0], row[1]) for row in parts.get(9, [])]
        if link.operation == 2:
            stated.append((parts[3], parts[5]))
        for account, head in stated:
            here = account in self.accounts and self.accounts[account].position(head) is not None
            need(here, 'trust.member.chain-missing', link.place)
        self._sign(link, parts[1], parts[2])
        for account, head in stated:
            position = self.accounts[account].position(head)
            known = self.heads.get(account)
            behind = known is not None and self.accounts[account].is_older(position, known)
            need(not behind, 'trust.member.heads-behind', link.place)
        code = self.all.refusal(link)
        need(code is None, code or '', link.place)
        if link.operation == 23:
            device = self.accounts[self.founder].device(parts[3])
            paper = device is not None and device.kind == 2 and self.accounts[self.founder].trusts(link.position, device.id)
            need(paper, NOT_PERMITTED, link.place, 'no paper device')
        for account, head in stated:
            self.heads[account] = self.accounts[account].position(head)
        self.all.fold(link)

    def _check_form(self, link):
        parts, operation = link.parts, link.operation
        if operation == 2:
            good = is_bytes(parts[3], 32) and parts[4] in (1, 2, 3, 4) and is_bytes(parts[5], 32) and is_bytes(parts[6], 0, 32)
        elif operation in (3, 20, 21, 22):
            good = is_bytes(parts[3], 32) and (4 not in parts or isinstance(parts[4], int))
        elif operation == 23:
            rows = parts[4]
            good = is_bytes(parts[3], 16) and is_list(rows) and rows
            good = good and all(is_list(r, 3) and is_bytes(r[0], 32) and is_int(r[1], 0, 255) and is_bytes(r[2], 32) for r in rows)
            good = good and ascends(r[0] for r in rows)
        else:
            good = True
        need(good, MALFORMED, link.place)

    def _counted(self):
        """Which links count, and what they say."""
        counts, confirmed = [True] * len(self.links), set()
        for link in reversed(self.links):
            stands = self.accounts[link.account].trusted_now(link.device) or link.account in confirmed
            if link.number and link.operation not in NEEDS_NONE:
                counts[link.number] = stands
            if stands and link.operation == 7:
                confirmed |= {a for a in link.parts.get(8, []) if link.account in (a, self.founder)}
        state = State(self.founder, self.terms)
        for link in self.links[1:]:
            if not counts[link.number]:
                continue
            if link.operation >= 20 and state.refusal(link) is not None:
                continue
            state.fold(link)
        return state

    @property
    def paper_is_trusted(self):
        return self.state.arming is not None and self.accounts[self.founder].trusted_now(self.state.arming[3])


def refusal_of(values, accounts):
    """(code, place) with which a circle is refused, or None."""
    try:
        Circle(values, accounts)
        return None
    except Failure as failure:
        return failure.code, failure.place
