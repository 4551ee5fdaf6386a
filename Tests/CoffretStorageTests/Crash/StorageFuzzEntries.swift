// Fuzz entries for the parsers of record files. Each takes any bytes and must return; authenticated
// formats get a right code first, so that the parser behind the code is reached too.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

enum StorageFuzzEntries {
    static let fixture = StoreFixture(fileSystem: SimulatedFileSystem(), seed: 11)
    static let authenticator = JournalAuthenticator(fixture.keys.journalKey)
    static let salt = [UInt8](repeating: 0, count: 16)

    private static func coded(_ bytes: [UInt8], _ purpose: JournalPurpose) -> [UInt8] {
        bytes + authenticator.code(ofArray: bytes, salt: salt, purpose: purpose)
    }

    static func fuzzManifest(_ bytes: [UInt8]) {
        _ = try? Manifest.parse(bytes, authenticator: authenticator)
        if let manifest = try? Manifest.parse(coded(bytes, .manifest), authenticator: authenticator) {
            #expect(manifest.encode(authenticator) == coded(bytes, .manifest))
        }
    }

    static func fuzzSegmentHeader(_ bytes: [UInt8]) {
        _ = try? SegmentHeader.parse(bytes, place: "", authenticator: authenticator)
        _ = try? SegmentHeader.parse(coded(bytes, .segmentHeader), place: "", authenticator: authenticator)
    }

    static func fuzzHint(_ bytes: [UInt8]) {
        var filled = coded(bytes, .positionHint)
        filled += [UInt8](repeating: 0, count: max(0, PositionHint.byteCount - filled.count))
        if let hint = PositionHint.parse(filled, salt: salt, authenticator: authenticator) {
            #expect(hint.encode(salt: salt, authenticator) == filled)
        }
    }

    static func fuzzFooter(_ bytes: [UInt8]) {
        let footer = coded(bytes, .fileFooter)
        for byteCount in [0, 53, 4_149, 1 << 40] {
            _ = SealedFileFooter.parse(footer, fileByteCount: byteCount, salt: salt, authenticator: authenticator)
        }
    }

    static func fuzzState(_ bytes: [UInt8]) {
        if let state = RepositoryState.parse(bytes.span) { #expect(state.encode() == bytes) }
    }

    static func fuzzMemory(_ bytes: [UInt8]) {
        guard let memory = RepositoryState.parseMemory(bytes.span) else { return }
        #expect(RepositoryState(memory: memory).encodedMemory == bytes)
    }

    static func fuzzTrailer(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { buffer in
            for offset in -1...bytes.count {
                guard let trailer = unsafe TransactionTrailer.parse(buffer, at: offset) else { continue }
                _ = unsafe trailer.isValid(in: buffer, at: offset, salt: salt, authenticator: authenticator)
            }
        }
    }

    /// The bytes behind a segment's first page, as a reader walks them.
    static func fuzzRecords(_ bytes: [UInt8]) {
        let disk = SimulatedFileSystem()
        guard let file = try? disk.open("f", .createNew), (try? file.write(bytes, at: 0)) != nil else { return }
        if let scanner = try? SegmentScanner(
            file: file, salt: salt, authenticator: authenticator, offset: 0, nextSequence: 1)
        {
            while let transaction = try? scanner.next() { _ = transaction.stateBlob }
            _ = try? scanner.lastSequenceBehindDamage(after: 0)
        }
        let walker = RecordWalker(file: file, offset: 0, endOffset: bytes.count)
        while let record = try? walker.next() {
            _ = try? unsafe walker.withPayload(of: record) { $0.count }
        }
        let index = SortedIndexReader(
            file: file, byteOffset: 0, entryCount: bytes.count / 16, sharedPrefixBitCount: 0, salt: salt,
            authenticator: authenticator)
        _ = try? index.locations(prefix: 7)
    }

    static func fuzzBlobLayout(_ bytes: [UInt8]) {
        let sealer = BlobSealer(keys: fixture.keys)
        _ = unsafe bytes.withUnsafeBytes { unsafe BlobSealer.verifiedLayout($0) }
        _ = try? unsafe bytes.lending(0..<bytes.count) { (sealed) throws(StorageError) in
            try unsafe sealer.open(sealed, name: BlobName(Bytes32(1, 2, 3, 4)), type: nil) { (_, _) in true }
        }
    }
}

@Suite struct StorageFuzzTests {
    private var names: [BlobName] { (0..<5).map { BlobName(Bytes32(UInt64($0), 1, 2, 3)) } }

    private var state: RepositoryState {
        RepositoryState(kept: [5, 6], entries: names, memory: [7], keyringGeneration: 9)
    }

    @Test("no bytes crash a parser of record files, and what parses is written the same again")
    func parsers() throws {
        let authenticator = StorageFuzzEntries.authenticator
        let entries = [
            Manifest.SealedEntry(id: .segment(.bulk, 3), byteCount: 99),
            Manifest.SealedEntry(
                id: StorageFileID(kind: .pack, number: 4, prefix: 0xA0, prefixBitCount: 4), byteCount: 7),
        ]
        let manifest = Manifest(generation: 3, nextNumber: 9, activeSegment: 8, sealed: entries)
        fuzz([Array(manifest.encode(authenticator).dropLast(16))], rounds: 1_000, StorageFuzzEntries.fuzzManifest)
        let header = SegmentHeader(kind: .journal, number: 1, firstSequence: 1, salt: StorageFuzzEntries.salt)
        fuzz([Array(header.encode(authenticator).dropLast(16))], rounds: 500, StorageFuzzEntries.fuzzSegmentHeader)
        let hint = PositionHint(
            scanOffset: 1, scanSequence: 2, stateRecordOffset: 3, endOffset: 400, endSequence: 5, isClosed: true,
            runs: [IndexRun(byteOffset: 6, entryCount: 7)])
        let hintBytes = hint.encode(salt: StorageFuzzEntries.salt, authenticator)
        fuzz([Array(hintBytes[..<(46 + 12)])], rounds: 500, StorageFuzzEntries.fuzzHint)
        let footer = SealedFileFooter(recordsEndOffset: 0, entryCount: 1, lastSequence: 0)
        fuzz(
            [Array(footer.encode(salt: StorageFuzzEntries.salt, authenticator).dropLast(16))], rounds: 500,
            StorageFuzzEntries.fuzzFooter)
        fuzz([state.encode()], rounds: 1_000, StorageFuzzEntries.fuzzState)
        fuzz([state.encodedMemory], rounds: 500, StorageFuzzEntries.fuzzMemory)
    }

    @Test("no bytes crash the walk over records")
    func records() throws {
        var transaction: [UInt8] = []
        let sealer = BlobSealer(keys: StorageFuzzEntries.fixture.keys)
        try sealer.appendRecord(type: .repositoryState, content: state.encode().span, to: &transaction)
        TransactionTrailer.append(
            to: &transaction, start: 0, sequence: 1, state: .full, stateRecordOffset: 0,
            salt: StorageFuzzEntries.salt, authenticator: StorageFuzzEntries.authenticator)
        fuzz([transaction, transaction + transaction], rounds: 300) { bytes in
            StorageFuzzEntries.fuzzRecords(bytes)
            StorageFuzzEntries.fuzzTrailer(bytes)
            StorageFuzzEntries.fuzzBlobLayout(bytes)
        }
    }

    @Test("a state is encoded in one way and parsed back")
    func stateRoundTrip() {
        for state in [RepositoryState(), state] {
            #expect(RepositoryState.parse(state.encode().span) == state)
            #expect(RepositoryState.parse((state.encode() + [0]).span) == nil)
        }
    }

    @Test("the state, and its memory alone, are what Spec/journal.md shows")
    func logsToTheByte() {
        let name = [UInt8](repeating: 0x22, count: 32)
        let state = RepositoryState(
            kept: [0xA0], entries: [BlobName(bytes: name)!], memory: [1, 2], keyringGeneration: 7)
        #expect(Hex.encode(state.encode()) == "8502" + "07" + "41a0" + "815820" + Hex.encode(name) + "420102")
        #expect(Hex.encode(state.encodedMemory) == "8201420102")
    }

    @Test("an index finds every entry, equal prefixes included, and nothing else")
    func indexLookup() throws {
        forAll(count: 10) { generator in
            let count = generator.element(of: [0, 1, 253, 254, 255, 2_000])
            var entries = (0..<count).map { index in
                IndexEntry(
                    prefix: generator.next() >> UInt64(generator.element(of: [0, 0, 0, 56])),
                    location: RecordLocation(byteOffset: index * 100, sealedByteCount: index % 500))
            }
            entries.sort()
            let disk = SimulatedFileSystem()
            let file = try disk.open("i", .createNew)
            try file.write(
                IndexPage.encode(sorted: entries, salt: StorageFuzzEntries.salt, StorageFuzzEntries.authenticator),
                at: 0)
            let reader = SortedIndexReader(
                file: file, byteOffset: 0, entryCount: count, sharedPrefixBitCount: 0, salt: StorageFuzzEntries.salt,
                authenticator: StorageFuzzEntries.authenticator)
            for entry in entries {
                let expected = entries.filter { $0.prefix == entry.prefix }.map(\.location)
                try require(try reader.locations(prefix: entry.prefix) == expected)
            }
            for _ in 0..<50 {
                let prefix = generator.next()
                if !entries.contains(where: { $0.prefix == prefix }) {
                    try require(try reader.locations(prefix: prefix).isEmpty)
                }
            }
            try require(try reader.allEntries() == entries)
        }
    }
}
