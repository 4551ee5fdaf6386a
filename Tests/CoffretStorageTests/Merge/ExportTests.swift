// What a push reads and sends. The one thing to keep true: both go by what is new, and not by what was there before.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("What is exported to who knows a head")
struct ExportTests {
    /// How many blobs are read to tell what is new, with so many commits in the tail below it.
    private func readCounts(tail count: Int) throws -> (nothing: Int, edit: Int) {
        let fixture = RepositoryFixture()
        let repository = fixture.open(policy: CheckpointPolicy(factCountMax: 1_000))
        for number in 0..<count { try repository.commit([RepositoryFixture.put(number, "old \(number)")], time: 1) }
        func reads(_ known: BlobName, commits: Int) throws -> Int {
            let before = fixture.backend.blobs.readCount
            let contents = try repository.contents(from: [known])
            #expect(contents.commitCount == commits && contents.names.isEmpty == (commits == 0))
            return fixture.backend.blobs.readCount - before
        }
        let known = try #require(repository.headNames.first)
        _ = try repository.contents(from: [known])
        let nothing = try reads(known, commits: 0)
        try repository.commit([RepositoryFixture.put(0, "new")], time: 2)
        return (nothing, try reads(known, commits: 1))
    }

    @Test("a sync with nothing new, and one edit, read as much above a long tail as above a short one")
    func tail() throws {
        let (short, long) = (try readCounts(tail: 3), try readCounts(tail: 300))
        #expect(short == long)
        #expect(long.nothing == 0)
    }

    @Test("a memory of the sync that is larger than would be read again is refused, and the one before stays")
    func largeNote() throws {
        let fixture = RepositoryFixture()
        let repository = fixture.open()
        let fullest = [UInt8](repeating: 7, count: VaultRepository.syncNoteByteCountMax)
        try repository.setSyncNote(fullest)
        #expect(throws: StorageError.self) { try repository.setSyncNote(fullest + [7]) }
        #expect(try repository.syncNote() == fullest)
        try repository.commit([RepositoryFixture.put(1, "goes on")], time: 1)
        #expect(try fixture.open().syncNote() == fullest)
    }

    @Test("of a long value an edit sends the pieces that it changed")
    func pieces() throws {
        let fixture = RepositoryFixture()
        let repository = fixture.open()
        let text = (0..<20_000).map { "word\($0)" }.joined(separator: " ")
        try repository.commit([RepositoryFixture.put(1, text)], time: 1)
        let known = try #require(repository.headNames.first)
        let whole = try repository.contents(from: []).names.count
        try repository.commit([RepositoryFixture.put(1, text.replacing("word10000 ", with: "another "))], time: 2)
        let edit = try repository.contents(from: [known]).names
        // The commit, the list of pieces, and one or two of them.
        #expect(whole > 10 && edit.count <= 4, "\(edit.count) of \(whole)")
    }
}
