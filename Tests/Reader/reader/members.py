"""The member chain of a vault (Spec/trust.md section 5, Spec/history.md sections 7 and 8): rights at each link, closings, epochs."""

from . import links
from .failure import Failure, ascends, is_bytes, is_int, is_list, need
from .suite import u32, kdf

OWNER, WRITER, VIEWER = 1, 2, 3
ACCOUNT_VAULT = 3
MALFORMED, NOT_PERMITTED = links.MALFORMED, 'trust.member.not-permitted'
EPOCHS_MAX, OWNER_EPOCHS, EPOCHS_IN_A_ROW, MEMBERS_MAX, OWNERS_MAX = 4096, 256, 16, 256, 16


class Member:
    """A member at a link."""

    __slots__ = ('role', 'accepted', 'owner_since', 'added_by')

    def __init__(self, role, accepted, owner_since, added_by):
        self.role, self.accepted, self.owner_since, self.added_by = role, accepted, owner_since, added_by

    def copy(self):
        return Member(self.role, self.accepted, self.owner_since, self.added_by)


class State:
    """Rights, stated heads and epochs behind a link."""

    def __init__(self):
        self.members, self.heads, self.epoch, self.opened = {}, {}, 1, {1: 0}
        self.split, self.reading_ended = None, None

    def copy(self):
        new = State()
        new.members = {account: member.copy() for account, member in self.members.items()}
        new.heads, new.epoch, new.opened = dict(self.heads), self.epoch, dict(self.opened)
        new.split, new.reading_ended = self.split, self.reading_ended
        return new

    def may_write(self, account):
        member = self.members.get(account)
        return member is not None and member.role in (OWNER, WRITER) and member.accepted


def founding(values, vault, what):
    """Link 0 of a member chain, with its form, hash and signature checked."""
    chain = links.links_of(values, what)
    first = next(iter(links.check_sequence(chain, links.MEMBER, vault)))
    check_founding_form(first)
    return first


def check_founding_form(link):
    link.fields(range(5), (5,))
    parts = link.parts
    good = parts[0] == 1 and all(is_bytes(parts[key], 32) for key in range(1, 5))
    need(good, MALFORMED, link.place, 'founding link')
    need(parts.get(5, ACCOUNT_VAULT) == ACCOUNT_VAULT, 'trust.link.unsupported', link.place, 'purpose')


class MemberChain:
    """A verified member chain. `states[p]` says what holds behind link p; `problem` says why the chain ends where it does."""

    def __init__(self, values, vault, accounts, taken=0, what='member chain'):
        self.vault, self.accounts = vault, accounts
        self.links, self.states, self.problem = [], [], None
        self.closed_devices, self.closed_accounts = [], []  # (link, account, devices), (link, account)
        self.ending_reading = set()
        every = links.links_of(values, what)
        try:
            for link in links.check_sequence(every, links.MEMBER, vault):
                state = self._found(link) if link.number == 0 else self._take(link)
                self.links.append(link)
                self.states.append(state)
        except Failure as failure:
            if not self.links:
                raise
            self.problem = failure
        self._cut(taken)

    def __len__(self):
        return len(self.links)

    # -- link 0 ----------------------------------------------------------------------------------------------------------------------

    def _found(self, link):
        check_founding_form(link)
        account = self._account(link.parts[2], link)
        position = account.position(link.parts[3])
        need(position is not None, 'trust.member.founder-differs', link.place, 'not at the stated head')
        device = account.lines[position[0]].device_of_key(link.signer)
        need(device is not None and account.trusts(position, device.id), 'trust.link.signer-unknown', link.place)
        state = State()
        state.members[account.id] = Member(OWNER, True, 0, None)
        state.heads[account.id] = position
        link.account, link.device = account.id, device.id
        return state

    def _account(self, id, link):
        account = self.accounts.get(id)
        need(account is not None, 'trust.member.chain-missing', link.place, id.hex())
        return account

    # -- links from 1 on -------------------------------------------------------------------------------------------------------------

    def _take(self, link):
        before = self.states[-1]
        self._check_form(link)
        parts = link.parts
        account = self._account(parts[1], link)
        position = account.position(parts[2])
        need(position is not None, 'trust.member.chain-missing', link.place, 'the signer\'s head')
        device = account.lines[position[0]].device_of_key(link.signer)
        need(device is not None, 'trust.link.signer-unknown', link.place)
        need(account.trusts(position, device.id), 'trust.link.signer-revoked', link.place)
        link.account, link.device = account.id, device.id
        stated = self._stated(link, position)
        for id, head in stated.items():
            known = before.heads.get(id)
            behind = known is not None and self.accounts[id].is_older(head, known)
            need(not behind, 'trust.member.heads-behind', link.place, id.hex())
        state = before.copy()
        self._check_rights(link, before, stated)
        closed, ends = self._apply(link, before, state)
        ends = self._conclude(link, before, state, stated, closed) or ends
        self._epoch(link, before, state, ends)
        return state

    def _conclude(self, link, before, state, stated, closed):
        """Takes the stated heads; notes who is closed by them (K1). Whether reading ends by them (K3)."""
        ends = False
        for id, head in stated.items():
            known = before.heads.get(id)
            state.heads[id] = head
            if known is not None and known != head:
                lost = self.accounts[id].without_right(head) - self.accounts[id].without_right(known)
                if lost:
                    self.closed_devices.append((link.number, id, lost))
                ends = ends or id in before.members and self.accounts[id].ends_reading(known, head)
        self.closed_accounts += [(link.number, id) for id in closed]
        return ends

    def _check_form(self, link):
        parts = link.parts
        epochs = (10, 11, 12, 13, 14)
        keys = {
            2: (range(7), ()), 3: (range(4), ()), 4: (range(4), (8, 9, *epochs)), 6: (range(3), ()), 7: (range(3), (8, 9, *epochs)),
        }  # fmt: skip
        need(link.operation in keys, 'trust.link.unsupported', link.place, f'operation {link.operation}')
        link.fields(*keys[link.operation])
        need(is_bytes(parts[1], 32) and is_bytes(parts[2], 32), MALFORMED, link.place)
        if link.operation == 2:
            good = is_bytes(parts[3], 32) and parts[4] in (1, 2, 3) and is_bytes(parts[5], 32) and is_bytes(parts[6], 0, 32)
            need(good, MALFORMED, link.place)
        elif link.operation == 3:
            need(is_bytes(parts[3], 32), MALFORMED, link.place)
        elif link.operation == 4:
            rows = parts[3]
            good = is_list(rows) and rows and all(is_list(r, 2) and is_bytes(r[0], 32) and is_int(r[1], 0, 3) for r in rows)
            need(good, MALFORMED, link.place, 'roles')
            need(ascends(r[0] for r in rows), NOT_PERMITTED, link.place, 'roles do not ascend')
        for key, size in ((8, None), (9, 3)):
            if key in parts:
                rows = parts[key]
                names = [r[0] if size else r for r in rows] if is_list(rows) and rows and (not size or all(is_list(r, 3) for r in rows)) else None
                need(names is not None and all(is_bytes(n, 32) for n in names), MALFORMED, link.place, f'key {key}')
                need(ascends(names), NOT_PERMITTED, link.place, f'key {key} does not ascend')
                need(not size or all(is_bytes(r[1], 32) and is_bytes(r[2], 0, 32) for r in rows), MALFORMED, link.place)
        group = [key in parts for key in epochs]
        need(all(group) or not any(group), MALFORMED, link.place, 'part of an epoch')
        if all(group):
            good = is_int(parts[10], 1, (1 << 32) - 1) and is_int(parts[14], 1, (1 << 32) - 1)
            need(good and all(is_bytes(parts[key], 32) for key in (11, 12, 13)), MALFORMED, link.place, 'epoch')

    def _stated(self, link, position):
        """The heads that a link states, by account."""
        stated = {link.account: position}
        rows = [(r[0], r[1]) for r in link.parts.get(9, [])]
        if link.operation == 2:
            rows.append((link.parts[3], link.parts[5]))
        for id, hash in rows:
            head = self._account(id, link).position(hash)
            need(head is not None, 'trust.member.chain-missing', link.place, f'a head of {id.hex()}')
            if id not in stated or self.accounts[id].is_older(stated[id], head):
                stated[id] = head
        return stated

    def _check_rights(self, link, before, stated):
        """The table of section 8."""
        parts, place, me = link.parts, link.place, before.members.get(link.account)
        need(me is not None, NOT_PERMITTED, place, 'signed by who is no member')
        writes = before.may_write(link.account)
        owns = writes and me.role == OWNER
        if link.operation in (2, 4):
            need(owns, NOT_PERMITTED, place, 'an owner does that')
        if 10 in parts:
            need(writes, NOT_PERMITTED, place, 'a writer opens epochs')
        others = set(stated) - {link.account} - ({parts[3]} if link.operation == 2 else set())
        need(not others or writes, NOT_PERMITTED, place, 'a writer states heads of others')
        need(others <= set(before.members), NOT_PERMITTED, place, 'states heads of who is no member')
        need(owns or set(parts.get(8, [])) <= {link.account}, NOT_PERMITTED, place, 'an owner confirms for others')

    def _apply(self, link, before, state):
        """Changes roles; the accounts that the link closes, and whether reading ends by it."""
        parts, place = link.parts, link.place
        if link.operation == 2:
            need(5 not in self.links[0].parts, NOT_PERMITTED, place, 'an account vault has one account')
            need(parts[3] not in before.members, NOT_PERMITTED, place, 'is a member already')
            state.members[parts[3]] = Member(parts[4], False, link.number if parts[4] == OWNER else None, link.hash)
            self._check_counts(state, place)
            return [], False
        if link.operation == 3:
            me = state.members[link.account]
            need(not me.accepted and me.added_by == parts[3], NOT_PERMITTED, place, 'accepts what was not offered')
            me.accepted = True
            return [], False
        if link.operation == 6:
            need(not self._is_last_owner(before, link.account), NOT_PERMITTED, place, 'the last owner leaves')
            del state.members[link.account]
            return [link.account], True
        if link.operation == 4:
            return self._change_roles(link, before, state)
        return [], False

    def _change_roles(self, link, before, state):
        place, closed, removes = link.place, [], False
        for id, role in link.parts[3]:
            member = before.members.get(id)
            need(member is not None, NOT_PERMITTED, place, 'changes who is no member')
            if member.role == OWNER and role != OWNER:
                if id == link.account:
                    need(not self._is_last_owner(state, id), 'trust.member.outranked', place, 'the last owner')
                else:
                    outranks = before.members[link.account].owner_since < member.owner_since
                    need(outranks, 'trust.member.outranked', place)
            if role == 0:
                need(10 in link.parts, NOT_PERMITTED, place, 'removes without an epoch')
                del state.members[id]
                removes = True
            else:
                new = state.members[id]
                new.owner_since = (new.owner_since if member.role == OWNER else link.number) if role == OWNER else None
                new.role = role
            if role == 0 or role == VIEWER and member.role != VIEWER:
                closed.append(id)
        self._check_counts(state, place)
        return closed, removes

    def _is_last_owner(self, state, id):
        owners = [i for i, m in state.members.items() if m.role == OWNER and m.accepted]
        return owners == [id]

    def _check_counts(self, state, place):
        owners = sum(m.role == OWNER for m in state.members.values())
        need(len(state.members) <= MEMBERS_MAX and owners <= OWNERS_MAX, 'trust.member.too-many', place)

    def _epoch(self, link, before, state, ends):
        parts, place = link.parts, link.place
        if ends:
            state.reading_ended = link.number
            self.ending_reading.add(link.number)
        if 10 not in parts:
            return
        need(parts[10] == before.epoch + 1, NOT_PERMITTED, place, f'epoch {parts[10]} behind {before.epoch}')
        need(before.split in (None, parts[12]), NOT_PERMITTED, place, 'another split key')
        need(parts[14] <= parts[10], MALFORMED, place, 'sealed under a later epoch')
        need(parts[10] <= EPOCHS_MAX, NOT_PERMITTED, place, 'too many epochs')
        late = parts[10] > EPOCHS_MAX - OWNER_EPOCHS
        need(not late or before.members[link.account].role == OWNER, NOT_PERMITTED, place, 'an owner opens the last epochs')
        needed = ends or before.reading_ended is not None and before.reading_ended > max(before.opened.values())
        if not needed:
            run = 0
            for old in reversed(self.links):
                if (old.account, old.device) != (link.account, link.device):
                    break
                run += 10 in old.parts
            need(run < EPOCHS_IN_A_ROW, NOT_PERMITTED, place, 'epochs in a row')
        state.epoch, state.split = parts[10], parts[12]
        state.opened[parts[10]] = link.number

    # -- confirmation (K7) -------------------------------------------------------------------------------------------------------------

    def _cut(self, taken):
        """Ends the chain before the first link that lacks confirmation; links that the store had taken stay taken."""
        for number in range(max(1, taken), len(self.links)):
            if not self._is_confirmed(number):
                self.problem = Failure('trust.member.unconfirmed', self.links[number].place)
                del self.links[number:], self.states[number:]
                self.closed_devices = [row for row in self.closed_devices if row[0] < number]
                self.closed_accounts = [row for row in self.closed_accounts if row[0] < number]
                self.ending_reading = {link for link in self.ending_reading if link < number}
                return

    def _is_confirmed(self, number):
        link = self.links[number]
        if link.operation not in (2, 4) or self.accounts[link.account].trusted_now(link.device):
            return True
        return self._has_word(number)

    def _has_word(self, number):
        link = self.links[number]
        before = self.states[number - 1].members
        owners = {id for id, member in before.items() if member.role == OWNER} | {link.account}
        for later in self.links[number + 1 :]:
            removes = later.operation == 4 and [link.account, 0] in later.parts[3]
            confirms = link.account in later.parts.get(8, []) or removes
            if confirms and later.account in owners:
                if self.accounts[later.account].trusted_now(later.device) or self._has_word(later.number):
                    return True
        return False

    # -- what others ask -----------------------------------------------------------------------------------------------------------------

    def link_of(self, position):
        """The number of a link that is stated as [number, hash], or None if it is not here."""
        number, hash = position
        return number if number < len(self.links) and self.links[number].hash == hash else None

    def closing(self, context, upto=None):
        """The first link that closes an instance (K1), or None."""
        upto = len(self.links) - 1 if upto is None else upto
        found = [
            link for link, account, devices in self.closed_devices if account == context.account and context.device in devices
        ] + [link for link, account in self.closed_accounts if account == context.account]
        found = [link for link in found if context.first < link <= upto]
        return min(found, default=None)

    def epoch_serves(self, epoch, number):
        """S5 and K3: whether an epoch is one that serves at a link."""
        opened = self.states[number].opened.get(epoch)
        return opened is not None and not any(opened < link <= number for link in self.ending_reading)

    def epoch_at(self, number):
        return self.states[number].epoch

    def commits(self, epoch, key):
        """Whether the chain commits to this key for an epoch."""
        if epoch == 1:
            first = self.links[0].parts
            return kdf(key, b'vault-key/commit', first[1] + u32(1)) == first[4]
        number = self.states[-1].opened.get(epoch)
        if number is None:
            return False
        return kdf(key, b'vault-key/commit', self.vault + u32(epoch)) == self.links[number].parts[11]
