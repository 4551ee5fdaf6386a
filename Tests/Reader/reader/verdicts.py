"""Which entries count (Spec/history.md sections 6 and 7): S2 to S6, and the table of closed, ended, forked and open instances."""

from .blobs import CONTEXT
from .entries import Context, Entry
from .failure import Failure, need

MALFORMED, FOREIGN = 'storage.entry.malformed', 'storage.entry.instance-foreign'
NOT_A_WRITER, EPOCH, WITHHELD = 'storage.entry.not-a-writer', 'storage.entry.epoch-differs', 'sync.members.withheld'


class Log:
    """All entries that are here of one instance, by number; several under one number are a fork."""

    def __init__(self, instance):
        self.instance = instance
        self.entries = {}
        self.failure = None  # why the log ends
        self.waits = None
        self.signed, self.valid = {}, {}  # by name: entries whose signature verifies, and those that passed all checks

    def add(self, entry):
        self.entries.setdefault(entry.number, []).append(entry)

    @property
    def fork(self):
        """The number at which the log is forked, or None."""
        numbers = [n for n, all in self.entries.items() if len({entry.message for entry in all if entry.name in self.signed}) > 1]
        return min(numbers, default=None)


class Judge:
    """Judges entries by the chains that are known here."""

    def __init__(self, chain, checkpoints, accounts, blobs):
        self.chain, self.checkpoints, self.accounts, self.blobs = chain, checkpoints, accounts, blobs
        self.contexts, self.logs = {}, {}

    def context(self, name):
        """A context, which has to be of this vault."""
        if name not in self.contexts:
            context = Context(self.blobs.get(name, CONTEXT), name)
            need(context.vault == self.chain.vault, MALFORMED, f'context {name.hex()}', 'another vault')
            self.contexts[name] = context
        return self.contexts[name]

    def take(self, content, name):
        """Step 1: an entry that is well formed, in the log of its instance."""
        entry = Entry(content, name)
        context = self.context(entry.context)
        entry.check_instance(context.instance)
        entry.author = context
        self.logs.setdefault(context.instance, Log(context.instance)).add(entry)
        return entry

    def judge(self, log, covered, start=0):
        """Steps 2 to 8, for each entry of a log in order. A log ends at the first number for which no entry passes.

        `covered` has the names of which the base already says that they count, `start` is the number that the base accepts.
        """
        for number in sorted(log.entries):
            failures = []
            for entry in log.entries[number]:
                try:
                    self._check_signature(entry)
                    log.signed[entry.name] = entry
                    if entry.name not in covered:
                        self._check(entry)
                        self._check_order(entry, log, start)
                    log.valid[entry.name] = entry
                except Failure as failure:
                    failures.append(failure)
            if len(failures) == len(log.entries[number]) and number > start:
                waits = [failure for failure in failures if failure.code == WITHHELD]
                log.waits, log.failure = (waits[0], None) if waits else (None, failures[0])
                return

    def _check_signature(self, entry):
        """Step 6, with the key of the device on whatever line of its account it stands."""
        account = self.accounts.get(entry.author.account)
        need(account is not None, WITHHELD, entry.place, 'the device chain')
        device = account.device(entry.author.device)
        need(device is not None, WITHHELD, entry.place, 'a device that its chain does not have')
        need(entry.verifies(device.key, self.chain.vault), MALFORMED, entry.place, 'signature')

    def _check(self, entry):
        place, author = entry.place, entry.author
        # S6 and step 3: the stated link.
        need(author.member_head[0] >= author.first, FOREIGN, place, 'a link below its first')
        p = self.chain.link_of(author.member_head)
        need(p is not None, WITHHELD, place, f'member link {author.member_head[0]}')
        # S2.
        need(self.chain.states[p].may_write(author.account), NOT_A_WRITER, place)
        # S3.
        account = self.accounts.get(author.account)
        need(account is not None, WITHHELD, place, 'the device chain')
        head = account.position(author.device_head[1])
        need(head is not None and head[1] == author.device_head[0], WITHHELD, place, 'a link of the device chain')
        need(account.trusts(head, author.device), NOT_A_WRITER, place, 'a device that is not trusted there')
        stated = self.chain.states[p].heads.get(author.account)
        need(stated is None or not account.is_older(head, stated), NOT_A_WRITER, place, 'an older head than the chain states')
        # S5.
        need(self.chain.epoch_serves(author.epoch, p), EPOCH, place, f'epoch {author.epoch} at link {p}')

    def _check_order(self, entry, log, start):
        """S4, against the entry before, of which the bare form serves where it was deleted for good."""
        if entry.before is None or entry.number <= start:
            return
        before = log.valid.get(entry.before) or next((e for e in log.entries.get(entry.number - 1, []) if e.is_bare), None)
        if before is None:
            need(entry.number - 1 <= start, 'storage.log.broken', entry.place, 'the entry before is not here')
            return
        a, b = before.author, entry.author
        account = self.accounts[b.account]
        old, new = account.position(a.device_head[1]), account.position(b.device_head[1])
        sinks = b.member_head[0] < a.member_head[0] or b.epoch < a.epoch or old is not None and account.is_older(new, old)
        need(not sinks, MALFORMED, entry.place, 'an older link, head or epoch than the entry before')
        need(entry.height > before.height, MALFORMED, entry.place, 'a height that does not grow')

    def standing(self, log, number, name):
        """The entry with this number and name; else the bare form that a link lists for just this tip (C4). None if neither is here."""
        here = log.entries.get(number, []) if log is not None else []
        for entry in here:
            if entry.name == name:
                return entry
        for link, checkpoint in self.checkpoints.of_link.items():
            stands = checkpoint.bare_tips.get(log.instance) if log is not None else None
            if stands is not None and tuple(self.checkpoints.accept[link].get(log.instance, ())) == (number, name):
                return next((entry for entry in here if entry.is_bare and entry.name == stands), None)
        return None

    # -- the table -------------------------------------------------------------------------------------------------------------------

    def limit(self, log, base):
        """(verdict, link, accepted): 'none' if only the base's tree counts, 'limited' with [number, name], 'kept', or 'open'."""
        context = next(iter(log.entries.values()))[0].author
        upto = len(self.chain) - 1
        closing, end = self.chain.closing(context, upto), self.end(log)
        found = [link for link in (closing, end and end[0]) if link is not None]
        link = min(found, default=None)
        if link is not None:
            if base is not None and link <= base:
                return 'none', link, None
            return 'limited', link, self.checkpoints.accept[link].get(log.instance)
        if log.fork is not None:
            return 'kept', None, None
        account = self.accounts.get(context.account)
        if account is not None and not account.trusted_now(context.device):
            return 'kept', None, None
        return 'open', None, None

    def end(self, log):
        """The first link that ends a log (K6) and of which both entries are here: (link, last common number); None if there is none."""
        for number, checkpoint in sorted(self.checkpoints.of_link.items()):
            if log.instance in checkpoint.ends:
                common, *names = checkpoint.ends[log.instance]
                both = [log.signed.get(name) for name in names]
                if all(entry is not None and entry.number == common + 1 for entry in both) and both[0].message != both[1].message:
                    return number, common
        return None

    def effective(self, entry, replaced):
        """The dots of a replacement that have an effect: of an ended log nobody can tell which entry was meant (K6)."""
        return [dot for dot in replaced if not self._is_void(entry, *dot)]

    def _is_void(self, entry, instance, number):
        log = self.logs.get(instance)
        end = self.end(log) if log is not None and instance != entry.author.instance else None
        if end is None or number <= end[1] or entry.author.member_head[0] >= end[0]:
            return False
        base = self.checkpoints.of_link[end[0]].base
        accepted = self.checkpoints.accept[base].get(entry.author.instance, (0,)) if base is not None else (0,)
        return entry.number > accepted[0]

    def counting(self, log, base, accepted, applied):
        """The entries of a log above the base that count, in order, and those that are excluded.

        `accepted` is [number, name] that the base accepts, or None; `applied` the names that were applied here before.
        """
        start = accepted[0] if accepted else 0
        verdict, link, limit = self.limit(log, base)
        line = self._line(log, accepted, limit if verdict == 'limited' else None)
        if verdict == 'none':
            chosen = []
        elif verdict == 'limited':
            names = [entry.name for entry in line]
            whole = limit is not None and (limit[0] <= start or limit[1] in names)
            chosen = line if whole else []
        elif verdict == 'kept':
            chosen = [entry for entry in line if entry.name in applied]
        else:
            chosen = line
        names = {entry.name for entry in chosen}
        above = [entry for all in log.entries.values() for entry in all if entry.number > start and entry.name not in names]
        return chosen, sorted(above, key=lambda entry: entry.number)

    def _line(self, log, accepted, limit):
        """The hash chain of valid entries above the base: down from the limit where there is one, else up from the base."""
        start, name = accepted or (0, None)
        if limit is not None:
            line, wanted = [], limit[1]
            for number in range(limit[0], start, -1):
                entry = self.standing(log, number, wanted)
                if entry is None or entry.name not in log.valid:
                    return []
                line.append(entry)
                wanted = entry.before
            return line[::-1] if not line or wanted == name else []
        line, number = [], start + 1
        while True:
            here = [e for e in log.entries.get(number, []) if e.name in log.valid and e.before == name]
            if not here:
                return line
            line.append(here[0])
            number, name = number + 1, here[0].name
