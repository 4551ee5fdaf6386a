"""What is known of one account: its device chain, and the branches that recoveries replaced (Spec/history.md S3, K1)."""

from .devices import DeviceChain
from .failure import need

ENDS_READING = (2, 3, 5)  # operations of a device chain: revokes, recovers, carries out a revocation


class Account:
    """A verified device chain with its replaced branches, the oldest branch first; each branch begins with link 0."""

    def __init__(self, links, branches=(), what='account', expected_id=None):
        self.chain = links if isinstance(links, DeviceChain) else DeviceChain(links, what, expected_id)
        self.id = self.chain.id
        self.branches = [
            branch if isinstance(branch, DeviceChain) else DeviceChain(branch, f'{what} branch {number}', self.id)
            for number, branch in enumerate(branches)
        ]
        self.lines = [*self.branches, self.chain]

    @property
    def newest(self):
        """The position of the newest link."""
        return len(self.lines) - 1, len(self.chain.links) - 1

    def position(self, hash):
        """(line, number) of a link, on the newest line that has it; None if it is not here."""
        for line in range(len(self.lines) - 1, -1, -1):
            number = self.lines[line].by_hash.get(hash)
            if number is not None:
                return line, number
        return None

    def _common(self, one, two):
        """The number of links that two lines have in common."""
        n = 0
        for a, b in zip(self.lines[one].links, self.lines[two].links):
            if a.hash != b.hash:
                break
            n += 1
        return n

    def is_older(self, a, b):
        """Whether position a is older than position b: by number on one line; a replaced line is older than what replaced it."""
        if a[0] == b[0]:
            return a[1] < b[1]
        common = self._common(a[0], b[0])
        if a[1] < common or b[1] < common:
            return a[1] < b[1]
        return a[0] < b[0]

    def trusts(self, position, device):
        return device in self.lines[position[0]].trusted_at(position[1])

    def device(self, id):
        """The device with this id, on any line."""
        for line in reversed(self.lines):
            if id in line.devices:
                return line.devices[id]
        return None

    def trusted_now(self, device):
        return self.trusts(self.newest, device)

    def without_right(self, position):
        """K1: the devices that lost their right at a position, those of branches that a recovery at or before it replaced among them."""
        line, number = position
        chain = self.lines[line]
        added = {d.id for d in chain.devices.values() if d.number <= number}
        lost = added - chain.trusted_at(number)
        for other, branch in enumerate(self.lines):
            common = self._common(line, other)
            if other < line and common <= number:
                lost |= {d.id for d in branch.devices.values() if d.number >= common} - added
        return lost

    def ends_reading(self, before, now):
        """Whether a revocation or a recovery stands between two positions."""
        start = before[1] + 1 if before[0] == now[0] else min(self._common(before[0], now[0]), before[1] + 1)
        links = self.lines[now[0]].links[start : now[1] + 1]
        return any(link.operation in ENDS_READING for link in links)


def account_of(links, branches, what, expected_id):
    """An account from what a store keeps of it."""
    account = Account(links, branches, what, expected_id)
    need(account.id == expected_id, 'trust.chain.id-differs', what)
    return account
