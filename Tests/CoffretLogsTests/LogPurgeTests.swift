// What was deleted for good, in the bytes of the store. No word of it may be left in any blob, whatever stays beside it.

import CoffretBase
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretHistory
@testable import CoffretLogs

@Suite("Bytes of what was deleted for good")
struct LogPurgeTests {
    let world: LogWorld

    init() throws { world = try LogWorld() }

    /// A checkpoint with a root over all that is applied, which may delete items for good.
    private func checkpoint(_ repository: LogRepository, purging purges: [EntityID] = []) throws -> Int {
        let plan = try repository.plan(for: world.preview(), purges: purges)
        #expect(plan.purgedTips.isEmpty && plan.isWhole)
        let root = try #require(plan.root)
        let link = world.link(
            checkpoint: Checkpoint(
                base: plan.base, accepted: plan.accepted, root: root,
                digest: plan.summary.digest.bytes32, factCount: plan.summary.factCount, purges: purges), time: 1)
        try repository.takeOwn(world.chains, isRoot: true)
        return link
    }

    /// Letters; texts alone are compressed, and these are none.
    private func letters(_ count: Int) -> String {
        String(decoding: world.generator.bytes(count: count).map { 97 + $0 % 26 }, as: UTF8.self)
    }

    /// Whether any blob of the store, opened, has these bytes.
    private func contains(_ text: String, _ repository: LogRepository) throws -> Bool {
        let sought = Data(text.utf8)
        var isFound = false
        for type in BlobType.allCases {
            try repository.blobs.forEachBlob(type: type) { (_, content) in
                isFound = isFound || Data(content).range(of: sought) != nil
            }
        }
        return isFound
    }

    @Test(
        "a value that stood in the tree below which history was dropped goes with the item, and moments beside it stay (P3, G2a)"
    )
    func belowDroppedHistory() throws {
        let repository = try world.create()
        let (short, long) = (letters(200), letters(2_000))
        let detail = FactKey(entity: LogWorld.item(1), attribute: "detail")
        try repository.commit([LogWorld.put(LogWorld.title(1), short), LogWorld.put(detail, long)], time: 1)
        for number in 2..<400 { try repository.commit([LogWorld.put(LogWorld.title(number), "first")], time: 2) }
        let dropped = try checkpoint(repository)
        try repository.commit([LogWorld.put(LogWorld.title(2), "second")], time: 10)
        let plan = try #require(try repository.droppingPlan(below: dropped, unacknowledged: []))
        #expect(try repository.drop(plan, unacknowledged: []) == nil)
        try repository.commit([LogWorld.put(LogWorld.title(3), "third")], time: 20)
        try repository.compact()
        #expect(try contains(short, repository) && contains(long, repository))
        // Both go, with all that was ever said of them.
        try repository.commit(
            [LogWorld.put(LogWorld.title(1), nil), LogWorld.put(detail, nil)], time: 30)
        try repository.commit([LogWorld.put(LogWorld.title(4), "fourth")], time: 40)
        let purging = try checkpoint(repository, purging: [LogWorld.item(1)])
        try repository.purge(unacknowledged: [], now: 50)
        try repository.compact()
        #expect(try !contains(short, repository) && !contains(long, repository))
        repository.close()
        let next = try world.open()
        for _ in 0..<2 {
            #expect(try next.history(of: LogWorld.item(1)).isEmpty)
            for key in [LogWorld.title(1), detail] {
                for time in [Milliseconds(10), 25, 35] { #expect(try next.moment(at: time).facts(under: key).isEmpty) }
            }
            // Beside it all is as it was.
            #expect(
                try next.moment(at: 15).facts(under: LogWorld.title(3)).map(\.plainInlineValue) == [Array("first".utf8)]
            )
            #expect(
                try next.moment(at: 25).facts(under: LogWorld.title(3)).map(\.plainInlineValue) == [Array("third".utf8)]
            )
            #expect(throws: StorageError(.historyCompacted, place: "link \(dropped)")) { try next.moment(at: 1) }
            let report = next.fsck()
            #expect(report.isClean, "\(report.problems) \(report.repairable)")
            // Also when the indexes are made anew, and after another compaction.
            try next.repair()
            try next.compact()
        }
        // History that goes later begins with the newer tree.
        let later = try #require(try next.droppingPlan(below: purging, unacknowledged: []))
        #expect(try next.drop(later, unacknowledged: []) == nil)
        try next.compact()
        #expect(try next.moment(at: 45).facts(under: LogWorld.title(3)).count == 1)
        #expect(try KeptState(decoding: next.blobs.state.kept).start == nil)
        #expect(try !contains(short, next) && !contains(long, next) && next.fsck().isClean)
    }

    @Test("history that goes below an older checkpoint begins with its tree, also after a compaction")
    func olderTree() throws {
        let repository = try world.create()
        for number in 1..<400 { try repository.commit([LogWorld.put(LogWorld.title(number), "first")], time: 1) }
        let older = try checkpoint(repository)
        try repository.commit([LogWorld.put(LogWorld.title(2), "second")], time: 10)
        try repository.commit([LogWorld.put(LogWorld.title(3), "third")], time: 20)
        _ = try checkpoint(repository)
        try repository.commit([LogWorld.put(LogWorld.title(3), "fourth")], time: 30)
        try repository.compact()
        let plan = try #require(try repository.droppingPlan(below: older, unacknowledged: []))
        #expect(try repository.drop(plan, unacknowledged: []) == nil)
        try repository.compact()
        for (time, value) in [(Milliseconds(10), "first"), (20, "third"), (30, "fourth")] {
            let facts = try repository.moment(at: time).facts(under: LogWorld.title(3))
            #expect(facts.map(\.plainInlineValue) == [Array(value.utf8)])
        }
        #expect(repository.fsck().isClean)
    }
}
