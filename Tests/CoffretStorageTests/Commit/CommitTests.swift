// Commits as bytes, and what may be believed of them. The one thing to keep true: every altered bit of a
// commit is refused, by name, by form or by signature.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Commits")
struct CommitTests {
    typealias Fixture = RepositoryFixture

    private func name(_ generator: SeededGenerator) -> BlobName { BlobName(bytes: generator.bytes(count: 32...32))! }

    private func content(_ generator: SeededGenerator) -> CommittedContent {
        switch generator.int(in: 0...4) {
        case 0: .retraction
        case 1: .salted(salt: generator.bytes(count: 16...16), bytes: generator.bytes(count: 513...4096))
        case 2: .stored(StoredValue(name: name(generator), byteCount: generator.int(in: 513...16 << 20)))
        default: .inline(generator.bytes(count: 0...512))
        }
    }

    private func changes(_ generator: SeededGenerator) -> [CommitChange] {
        var changes: [FactKey: [CommitChange]] = [:]
        for _ in 0..<generator.int(in: 0...12) {
            let key = TreeSupport.key(generator, entityCount: 4)
            if generator.int(in: 0...4) > 0 {
                changes[key] = [CommitChange(key: key, content: content(generator))]
                continue
            }
            let dots = Set(
                (0..<generator.int(in: 1...3)).map { _ in
                    Dot(
                        instance: TreeSupport.instance(UInt8(generator.int(in: 1...3))),
                        sequence: UInt64(generator.int(in: 1...99)))
                })
            changes[key] = dots.sorted().map { CommitChange(key: key, content: .inline([1]), dot: $0) }
        }
        return changes.keys.sorted().flatMap { changes[$0] ?? [] }
    }

    private func commit(_ generator: SeededGenerator) -> Commit {
        let parents = Set((0..<generator.int(in: 0...3)).map { _ in name(generator) }).sorted()
        var commit = Commit(
            context: name(generator), root: name(generator), parents: parents,
            sequence: UInt64(generator.int(in: 1...1 << 40)), timeMilliseconds: Int64(bitPattern: generator.next()),
            changes: .list(changes(generator)))
        if parents.count > 1 { commit.flags.insert(.merge) }
        if generator.int(in: 0...3) == 0 {
            commit.flags.insert(.bulk)
            commit.changes = .tree(name(generator))
        }
        if generator.bool() { commit.previousOfInstance = name(generator) }
        if generator.bool() {
            commit.versionVector = VersionVector([TreeSupport.instance(1): 3, TreeSupport.instance(2): 1 << 33])
        }
        if generator.bool() { commit.statement = generator.bytes(count: 1...HeadStatement.byteCountMax) }
        if generator.int(in: 0...3) == 0 {
            commit.flags.insert(.compaction)
            commit.compaction = CompactionRecord(
                removedParents: [name(generator)], removedCommitCount: 7,
                removedVersions: VersionVector([TreeSupport.instance(1): 2]), olderThanMilliseconds: -5)
            if generator.bool() {
                let vector = VersionVector([TreeSupport.instance(1): 9])
                commit.compaction?.beginnings = [name(generator): vector, name(generator): vector]
                if generator.bool() {
                    let author = CompactionRecord.Author(
                        accountID: generator.bytes(count: 32...32), deviceID: generator.bytes(count: 16...32))
                    commit.compaction?.authors = [TreeSupport.instance(2): author, TreeSupport.instance(1): author]
                }
            }
        }
        return commit
    }

    @Test("decoding an encoded commit gives it back, and encoding that the same bytes")
    func roundTrip() {
        forAll(count: 300) { generator in
            let commit = commit(generator)
            let body = commit.encodeBody()
            let decoded = try UnverifiedCommit.decode(body + generator.bytes(count: 64...64), name: name(generator))
            try require(decoded.commit == commit)
            try require(decoded.commit.encodeBody() == body)
        }
    }

    @Test("whatever the decoder accepts is canonical: encoding it gives the same bytes")
    func canonical() {
        let generator = SeededGenerator.fromEnvironment()
        let samples = (0..<40).map { _ in commit(generator).encodeBody() + generator.bytes(count: 64...64) }
        let place = name(generator)
        var acceptedCount = 0
        fuzz(samples, rounds: 4_000) { bytes in
            guard let decoded = try? UnverifiedCommit.decode(bytes, name: place) else { return }
            acceptedCount += 1
            #expect(decoded.commit.encodeBody() + decoded.signature == bytes)
        }
        #expect(acceptedCount > 0)
    }

    @Test("a context decodes to itself; a newer format and a raised floor are refused by name (R12, R18)")
    func olderFormatFromLyingServer() throws {
        let fixture = Fixture()
        let context = fixture.open().context(for: fixture.author)
        #expect(try CommitContext.decode(context.encode(), place: "x") == context)
        var newer = context
        newer.format = 2
        #expect(throws: StorageError(.commitUnsupportedFormat, place: "x")) {
            try CommitContext.decode(newer.encode(), place: "x")
        }
        var raised = context
        raised.formatFloor = 2
        #expect(throws: StorageError(.commitUnsupportedFormat, place: "x")) {
            try CommitContext.decode(raised.encode(), place: "x")
        }
        fuzz([context.encode()]) { bytes in
            guard let decoded = try? CommitContext.decode(bytes, place: "x") else { return }
            #expect(decoded.encode() == bytes)
        }
    }

    /// A signed commit of a repository, its content, and what verifies it.
    private func signed(_ fixture: Fixture) throws -> (content: [UInt8], summary: CommitSummary, CommitVerifier) {
        let repository = fixture.open()
        let summary = try repository.commit([Fixture.put(1, "garden")], time: 1)
        let content = try fixture.backend.blobBytes(summary.name, type: .commit)
        let verifier = CommitVerifier(
            vaultID: fixture.keys.vaultID.bytes, signers: SingleSignerDirectory(author: fixture.author))
        return (content, summary, verifier)
    }

    @Test("every flipped bit of a commit is refused: by its form or by its signature (R14)")
    func flippedBits() throws {
        let fixture = Fixture()
        let (content, summary, verifier) = try signed(fixture)
        let whole = try UnverifiedCommit.decode(content, name: summary.name)
        #expect(try verifier.verify(whole, context: summary.context).commit == summary.commit)
        withEveryFlippedBit(content) { changed, bit in
            #expect(throws: StorageError.self, "bit \(bit)") {
                let decoded = try UnverifiedCommit.decode(changed, name: summary.name)
                _ = try verifier.verify(decoded, context: summary.context)
            }
        }
    }

    @Test("a commit of one vault, sealed again in another, is refused (R9)")
    func otherVault() throws {
        let one = Fixture(seed: 1)
        let (content, summary, _) = try signed(one)
        // The same author in another vault; a member of both re-seals commit and context there.
        let other = Fixture(seed: 2)
        let name = try other.backend.blobs.writeBlob(type: .commit, bytes: content)
        try other.backend.blobs.writeBlob(type: .commitContext, bytes: summary.context.encode())
        other.backend.state.heads = [name]
        other.backend.state.tailCommits = [name]
        let wrongVault = StorageError(.commitWrongVault, place: summary.commit.context.description)
        #expect(throws: wrongVault) { try other.open().present }
        let verifier = CommitVerifier(
            vaultID: other.keys.vaultID.bytes, signers: SingleSignerDirectory(author: one.author))
        let unverified = try UnverifiedCommit.decode(content, name: name)
        #expect(throws: StorageError(.commitWrongVault, place: name.description)) {
            try verifier.verify(unverified, context: summary.context)
        }
        // A context that lies about the vault has another name than the one that was signed.
        var lying = summary.context
        lying.vaultID = other.keys.vaultID.bytes
        #expect(throws: StorageError(.commitAuthenticationFailed, place: name.description)) {
            try verifier.verify(unverified, context: lying)
        }
    }

    @Test("a commit by a device that nobody vouches for is refused (R11)")
    func unknownSigner() throws {
        let fixture = Fixture()
        let (content, summary, _) = try signed(fixture)
        let stranger = SingleSignerDirectory(author: Fixture.author(fixture.random))
        let verifier = CommitVerifier(vaultID: fixture.keys.vaultID.bytes, signers: stranger)
        let unverified = try UnverifiedCommit.decode(content, name: summary.name)
        #expect(throws: StorageError(.commitUnknownSigner, place: summary.name.description)) {
            try verifier.verify(unverified, context: summary.context)
        }
    }

    @Test("a signature made for another purpose does not pass as a commit's (R16)")
    func otherPurpose() throws {
        let fixture = Fixture()
        let (_, summary, verifier) = try signed(fixture)
        let body = summary.commit.encodeBody()
        let signature = fixture.author.signingKey.sign(.link, scope: fixture.keys.vaultID.bytes, message: body)
        let unverified = try UnverifiedCommit.decode(body + signature, name: summary.name)
        #expect(throws: StorageError(.commitAuthenticationFailed, place: summary.name.description)) {
            try verifier.verify(unverified, context: summary.context)
        }
    }

    @Test(
        "malformed commits are refused",
        arguments: ["unsorted parents", "sequence 0", "merge flag", "bulk flag", "unknown flag", "previous is parent"])
    func malformed(what: String) throws {
        let generator = SeededGenerator(seed: 5)
        let names = [name(generator), name(generator)].sorted()
        var commit = Commit(
            context: names[0], root: names[1], parents: [names[0]], sequence: 1, timeMilliseconds: 0,
            changes: .list([]))
        switch what {
        case "unsorted parents": commit.parents = names.reversed(); commit.flags = .merge
        case "sequence 0": commit.sequence = 0
        case "merge flag": commit.flags = .merge
        case "bulk flag": commit.flags = .bulk
        case "unknown flag": commit.flags = CommitFlags(rawValue: 1 << 20)
        default: commit.previousOfInstance = names[0]
        }
        let content = commit.encodeBody() + [UInt8](repeating: 0, count: 64)
        #expect(throws: StorageError(.commitMalformed, place: names[0].description)) {
            try UnverifiedCommit.decode(content, name: names[0])
        }
    }
}
