"""The files of a vault (Spec/journal.md, Spec/pack.md): manifest, segments, packs, transactions, indexes."""

import os
import re

from .failure import Failure, need
from .suite import code

JOURNAL, BULK, PACK = 1, 2, 3
HEADER, JOURNAL_START, HINT_AT, PAGE = 64, 4096, 512, 4096
ENTRIES_OF_PAGE = 254


def _number(data, at, size):
    return int.from_bytes(data[at : at + size], 'big')


def _read(path, missing):
    try:
        with open(path, 'rb') as file:
            return file.read()
    except FileNotFoundError:
        raise Failure(missing, path, 'missing') from None


class Sealed:
    """One line of the manifest."""

    def __init__(self, raw):
        self.kind, self.number = raw[0], _number(raw, 1, 8)
        self.prefix, self.bits, self.size = raw[9], raw[10], _number(raw, 11, 8)

    @property
    def path(self):
        if self.kind != PACK:
            return f'journal/{self.number:016x}'
        text = {0: 'all', 4: f'{self.prefix >> 4:x}', 8: f'{self.prefix:02x}'}[self.bits]
        return f'blobs/{text}.{self.number:016x}'

    @property
    def header_number(self):
        return self.number << 16 | self.bits << 8 | self.prefix if self.kind == PACK else self.number


class Manifest:
    """The list of the files that count."""

    def __init__(self, raw, key, place):
        damaged = 'storage.manifest.damaged'
        need(len(raw) >= 56 and raw[:8] == b'CofList\1', damaged, place)
        need(raw[-16:] == code(key, b'coffret/manifest', raw[:-16]), damaged, place)
        need(_number(raw, 8, 4) == 1, 'storage.format.unsupported', place)
        self.generation, self.next, self.active = (_number(raw, at, 8) for at in (12, 20, 28))
        count = _number(raw, 36, 4)
        need(len(raw) == 40 + 19 * count + 16, damaged, place, 'size')
        self.sealed = [Sealed(raw[40 + 19 * i : 59 + 19 * i]) for i in range(count)]
        for file in self.sealed:
            good = file.kind in (JOURNAL, BULK, PACK) and file.bits in (0, 4, 8) and not file.prefix & 0xFF >> file.bits
            need(good and (file.kind == PACK or not file.bits), damaged, place)


class Record:
    """A blob record: its address, and the stored blob."""

    __slots__ = ('address', 'stored', 'place', 'offset')

    def __init__(self, address, stored, place, offset):
        self.address, self.stored, self.place, self.offset = address, stored, place, offset


class Transaction:
    """A transaction: its records and the state's record."""

    __slots__ = ('sequence', 'form', 'record', 'place')

    def __init__(self, sequence, form, record, place):
        self.sequence, self.form, self.record, self.place = sequence, form, record, place


class Files:
    """All records of a vault's files, the transactions of the active segment, and notes on derived parts that are wrong."""

    def __init__(self, directory, key):
        self.directory, self.key = directory, key
        self.records, self.transactions, self.notes = [], [], []
        self.manifest = Manifest(_read(f'{directory}/manifest', 'storage.store.not-found'), key, 'manifest')
        for file in self.manifest.sealed:
            self._sealed(file)
        self._active()
        self._strangers()

    def _header(self, data, kind, number, place, damaged):
        need(len(data) >= HEADER and data[:8] == b'Coffret\1', damaged, place, 'header')
        self.salt = data[32:48]
        need(data[48:64] == code(self.key, b'coffret/segment', data[:48], self.salt), damaged, place, 'header')
        need(_number(data, 8, 4) == 1, 'storage.format.unsupported', place)
        need(data[12] == kind and data[13:16] == bytes(3) and _number(data, 16, 8) == number, damaged, place, 'header')
        return _number(data, 24, 8)

    # -- sealed files ----------------------------------------------------------------------------------------------------------------

    def _sealed(self, file):
        place, damaged = file.path, 'storage.pack.damaged'
        data = _read(f'{self.directory}/{place}', damaged)
        need(len(data) == file.size, damaged, place, f'{len(data)} bytes, listed with {file.size}')
        first = self._header(data, file.kind, file.header_number, place, damaged)
        salt, start = self.salt, JOURNAL_START if file.kind == JOURNAL else HEADER
        if file.kind == JOURNAL:
            found, end, last = self._read_transactions(data, start, first, place)
            need(found, damaged, place, 'no transaction')
        else:
            end = self._read_blobs(data, start, place)
            last = 0
        records = [record for record in self.records if record.place == place]
        if file.kind == PACK:
            for record in records:
                need(record.address[0] >> 8 - file.bits == file.prefix >> 8 - file.bits, damaged, place, 'a record out of range')
        if (problem := self._index_problem(data, end, records, last, salt)) is not None:
            self.notes.append(Failure('storage.index.damaged', place, problem))

    def _read_blobs(self, data, at, place):
        """Blob records up to the index; the offset behind them."""
        while True:
            need(at + 5 <= len(data), 'storage.pack.damaged', place, 'no index behind the records')
            if data[at + 4 : at + 5] == b'I':
                return at
            at = self._blob(data, at, place, 'storage.pack.damaged')

    def _blob(self, data, at, place, damaged):
        size = _number(data, at, 4)
        need(data[at + 4 : at + 5] == b'B' and size >= 52 and at + 5 + size <= len(data), damaged, place, f'no record at {at}')
        self.records.append(Record(data[at + 5 : at + 37], data[at + 37 : at + 5 + size], place, at))
        return at + 5 + size

    def _index_problem(self, data, end, records, last, salt):
        """The first thing that is wrong with the index and the footer behind the records, or None."""
        footer = data[-48:]
        if footer[:8] != b'cof-end\1' or footer[32:] != code(self.key, b'coffret/footer/1', footer[:32], salt):
            return 'footer'
        if (_number(footer, 8, 8), _number(footer, 16, 8), _number(footer, 24, 8)) != (end, len(records), last):
            return 'footer states other records'
        size = _number(data, end, 4)
        if data[end + 4 : end + 5] != b'I' or end + 5 + size + 48 != len(data) or size % PAGE:
            return 'size of the index'
        entries = []
        for number in range(size // PAGE):
            page = data[end + 5 + PAGE * number : end + 5 + PAGE * (number + 1)]
            if page[-16:] != code(self.key, b'coffret/index/1', page[:-16], salt):
                return f'page {number}'
            if (_number(page, 4064, 8), _number(page, 4072, 8)) != (number, len(records)):
                return f'page {number} states another place'
            entries += [page[16 * i : 16 * i + 16] for i in range(ENTRIES_OF_PAGE)]
        expected = sorted(
            record.address[:8] + record.offset.to_bytes(5, 'big') + len(record.stored).to_bytes(3, 'big') for record in records
        )
        if entries[: len(records)] != expected or any(any(entry) for entry in entries[len(records) :]):
            return 'entries that are not those of the records'
        return None

    # -- transactions ----------------------------------------------------------------------------------------------------------------

    def _read_transactions(self, data, at, sequence, place):
        """All transactions from an offset on: the count, the offset behind the last, and its sequence."""
        count = 0
        while (one := self._transaction(data, at, sequence, place)) is not None:
            transaction, records, at = one
            need(count or transaction.form == 1, 'storage.journal.damaged-segment', place, 'the first transaction has no state')
            self.records += records
            self.transactions.append(transaction)
            sequence, count = sequence + 1, count + 1
        return count, at, sequence - 1

    def _transaction(self, data, start, sequence, place):
        """The transaction that begins at an offset, its records, and the offset behind it; None if there is none."""
        at, kept, run = start, self.records, 0
        self.records = found = []
        try:
            while data[at + 4 : at + 5] in (b'B', b'R'):
                size = _number(data, at, 4)
                if data[at + 4 : at + 5] == b'R':
                    run += 1
                    at += 5 + size
                else:
                    at = self._blob(data, at, place, 'none')
        except Failure:
            return None
        finally:
            self.records = kept
        trailer = data[at : at + 38]
        if len(trailer) < 38 or trailer[:5] != b'\0\0\0\x21T' or run > 1:
            return None
        good = trailer[22:] == code(self.key, b'coffret/txn/1', data[start : at + 22], self.salt)
        if not good or (sequence is not None and _number(trailer, 5, 8) != sequence) or _number(trailer, 13, 4) != at - start:
            return None
        form, offset = trailer[17], _number(trailer, 18, 4)
        record = next((record for record in found if record.offset == start + offset), None)
        need(form in (1, 2, 3) and record is not None, 'storage.journal.damaged-segment', place, f'state of the transaction at {start}')
        return Transaction(_number(trailer, 5, 8), form, record, f'{place} at {start}'), found, at + 38

    def _active(self):
        place = f'journal/{self.manifest.active:016x}'
        damaged = 'storage.journal.damaged-segment'
        data = _read(f'{self.directory}/{place}', damaged)
        first = self._header(data, JOURNAL, self.manifest.active, place, damaged)
        count, end, last = self._read_transactions(data, JOURNAL_START, first, place)
        need(count, damaged, place, 'the first transaction does not verify')
        hint = data[HINT_AT : HINT_AT + 512]
        stated = self._hint(hint, place)
        later = self._later(data, end, last, place)
        lost = max(stated, later) - last
        need(lost <= 0, 'storage.journal.damaged-tail', place, f'{lost} transactions lost')
        rest = data[end:].rstrip(b'\0')
        if rest:
            self.notes.append(Failure('storage.journal.torn-tail', place, f'{len(rest)} bytes'))

    def _hint(self, hint, place):
        """The end sequence that the hint states; 0 if it does not verify."""
        if hint[:4] != b'hint':
            if any(hint):
                self.notes.append(Failure('storage.index.damaged', place, 'hint'))
            return 0
        runs = hint[45]
        size = 46 + 12 * runs
        if size + 16 > 512 or hint[size : size + 16] != code(self.key, b'coffret/hint/1', hint[:size], self.salt):
            self.notes.append(Failure('storage.index.damaged', place, 'hint'))
            return 0
        return _number(hint, 36, 8)

    def _later(self, data, end, last, place):
        """The greatest sequence of a complete transaction anywhere behind the end; 0 if there is none."""
        found = 0
        for match in re.finditer(rb'\0\0\0\x21T', data[end:]):
            at = end + match.start()
            sequence, size = _number(data, at + 5, 8), _number(data, at + 13, 4)
            if last < sequence and size <= at - end:
                one = self._transaction(data, at - size, sequence, place)
                found = max(found, sequence) if one is not None else found
        return found

    def _strangers(self):
        listed = {file.path for file in self.manifest.sealed} | {f'journal/{self.manifest.active:016x}'}
        for folder in ('journal', 'blobs'):
            path = f'{self.directory}/{folder}'
            for name in sorted(os.listdir(path)) if os.path.isdir(path) else ():
                if f'{folder}/{name}' not in listed:
                    self.notes.append(Failure('reader.file.not-listed', f'{folder}/{name}'))
