// Entries of all kinds, written and read; hostile bytes; and the order of a log.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretHistory

@Suite("Entries")
struct EntryTests {
    @Test("what is written is read back, verifies, and has a bare form that verifies")
    func roundTrip() {
        forAll(count: 300) { generator in
            let maker = EntryMaker(generator)
            let body = maker.body()
            let written = body.sign(in: maker.context, with: maker.key)
            let read = try maker.decode(written.content)
            try require(read.body == body && read.context == maker.context)
            let verifier = EntryVerifier(
                vaultID: maker.context.vaultID, authority: AssumedAuthority(key: maker.key.verifyingKey))
            let signed = try verifier.verifySignature(of: read)
            try require(signed.body == body)
            let bare = try UnverifiedEntry.bareForm(
                of: written.content, name: read.name, own: maker.context.instance)
            let shown = try maker.decode(bare)
            try require(shown.isBare && shown.message == read.message)
            try require(shown.body.encode(own: maker.context.instance).bytes == Array(bare.dropLast(64)))
            _ = try verifier.verifySignature(of: shown)
        }
    }

    @Test("dots that are replaced are written in one order, whatever the caller's")
    func orderOfReferences() throws {
        let maker = EntryMaker(SeededGenerator(seed: 5))
        let (own, other, third) = (maker.context.instance, maker.others[0], maker.others[4])
        let dots = [Dot(own, 3), Dot(own, 8), Dot(other, 2), Dot(other, 9), Dot(third, 1)]
        let key = FactKey(entity: EntityID(kind: 1, uuid: other), attribute: "text")
        func entry(_ dots: [Dot]) -> [UInt8] {
            EntryBody(
                context: maker.context.name, number: 9, before: BlobName(Bytes32(1, 2, 3, 4)), height: 9, time: 1,
                changes: .list(
                    [Change(key: key, content: .inPlace([0]), replaces: dots)], salt: key.bytes.suffix(16) + [])
            ).sign(in: maker.context, with: maker.key).content
        }
        #expect(entry(dots) == entry(dots.reversed()))
        #expect(try maker.decode(entry(dots.reversed())).body.changes.list.first?.replaces == dots)
    }

    @Test("more changes than fit in place, by number or by bytes, are no entry")
    func bounds() throws {
        let maker = EntryMaker(SeededGenerator(seed: 6))
        let entity = EntityID(kind: 1, uuid: maker.others[0])
        func changes(_ count: Int, _ content: ChangeContent) -> [Change] {
            (0..<count).map { index in
                Change(
                    key: FactKey(
                        entity: entity, attribute: "a",
                        element: UInt64(index).bigEndianBytes + [UInt8](repeating: 0, count: 8)),
                    content: content)
            }
        }
        /// Written without the checks of `sign`.
        func isTaken(_ list: [Change]) -> Bool {
            let body = EntryBody(
                context: maker.context.name, number: 1, before: nil, height: 1, time: 1,
                changes: .list(list, salt: [UInt8](repeating: 1, count: 16)))
            let bytes = body.encode(own: maker.context.instance).bytes + [UInt8](repeating: 0, count: 64)
            return (try? maker.decode(bytes)) != nil
        }
        #expect(isTaken(changes(512, .inPlace([0]))))
        #expect(!isTaken(changes(513, .inPlace([0]))))
        let long = ChangeContent.salted(
            salt: [UInt8](repeating: 1, count: 16), bytes: [UInt8](repeating: 0, count: 4_096))
        let fitting = (1...80).last { count in
            EntryBody.changesByteCount(changes(count, long), own: maker.context.instance)
                <= HistoryLimits.changesByteCountMax
        }
        let count = try #require(fitting)
        #expect(count > 60 && isTaken(changes(count, long)) && !isTaken(changes(count + 1, long)))
    }

    @Test("an entry follows the one before: number, name, height, links and epoch")
    func order() throws {
        let maker = EntryMaker(SeededGenerator(seed: 7))
        let verifier = EntryVerifier(
            vaultID: maker.context.vaultID, authority: AssumedAuthority(key: maker.key.verifyingKey))
        func signed(_ body: EntryBody, _ context: EntryContext) throws -> SignedEntry {
            let content = body.sign(in: context, with: maker.key).content
            let name = BlobName.derive(type: .entry, content: content.span)
            return try verifier.verifySignature(of: try UnverifiedEntry.decode(content, name: name) { _ in context })
        }
        let context = maker.context
        let first = EntryBody(context: context.name, number: 1, before: nil, height: 4, time: 9)
        let one = try verifier.verify(signed(first, context), after: nil)
        let second = EntryBody(context: context.name, number: 2, before: one.name, height: 5, time: 8)
        let two = try verifier.verify(signed(second, context), after: EntryPredecessor(one))
        #expect(two.dot == Dot(context.instance, 2) && two.rank > one.rank)

        func isRefused(_ change: (inout EntryBody) -> Void, _ context: EntryContext = maker.context) -> Bool {
            var body = second
            change(&body)
            guard let entry = try? signed(body, context) else { return true }
            return (try? verifier.verify(entry, after: EntryPredecessor(one))) == nil
        }
        #expect(!isRefused { $0.height = 1 << 40 })
        #expect(isRefused { $0.height = 4 })
        #expect(isRefused { $0.number = 3 })
        #expect(isRefused { $0.before = two.name })
        #expect(isRefused({ _ in }, context.with(memberNumber: context.memberHead.number - 1)))
        #expect(isRefused({ _ in }, EntryMaker(SeededGenerator(seed: 8)).context))
        #expect(!isRefused({ _ in }, context.with(memberNumber: context.memberHead.number + 5)))
        #expect(throws: HistoryError.self) { _ = try verifier.verify(signed(second, context), after: nil) }
        let foreign = context.with(memberNumber: UInt64(context.firstLink) - 1)
        #expect(throws: HistoryError.self) { _ = try signed(second, foreign) }

        // Of an entry that was deleted for good the bare form is taken.
        let content = first.sign(in: context, with: maker.key).content
        let bare = try UnverifiedEntry.bareForm(of: content, name: one.name, own: context.instance)
        let shown = try verifier.verifySignature(of: maker.decode(bare))
        let predecessor = try #require(EntryPredecessor(bare: shown))
        #expect(try verifier.verify(signed(second, context), after: predecessor) == two)
        #expect(EntryPredecessor(bare: try signed(first, context)) == nil)
    }

    @Test("no bytes crash the reading of entries, and what is read is written the same again: fuzz")
    func hostileBytes() {
        let maker = EntryMaker(SeededGenerator(seed: 9))
        let samples = (0..<40).map { _ in maker.body().sign(in: maker.context, with: maker.key).content }
        let own = maker.context.instance
        fuzz(samples, rounds: 6_000) { bytes in
            guard let entry = try? maker.decode(bytes) else { return }
            #expect(entry.body.encode(own: own).bytes == Array(bytes.dropLast(64)))
            #expect((try? UnverifiedEntry.bareForm(of: bytes, name: entry.name, own: own)) != nil)
        }
        fuzz([maker.context.encode()], rounds: 2_000) { bytes in
            guard let context = try? EntryContext.decode(bytes, name: maker.context.name) else { return }
            #expect(context.encode() == bytes)
        }
    }
}

extension EntryContext {
    /// The same instance, some links later or earlier.
    fileprivate func with(memberNumber: UInt64) -> EntryContext {
        EntryContext(
            vaultID: vaultID, accountID: accountID, deviceID: deviceID, nonce: nonce, firstLink: firstLink,
            deviceHead: deviceHead, memberHead: ChainPosition(number: memberNumber, hash: memberHead.hash),
            epoch: epoch,
            formatFloor: formatFloor, identityHead: identityHead)
    }
}
