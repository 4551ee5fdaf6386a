// The index on a disk that fails or loses power at every operation: what is left is a state that was once
// committed, whole, or one that says it has to be made anew.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretSearch

@Suite("Search index on a failing disk")
struct IndexCrashTests {
    static let noteCount = 40

    func open(_ disk: SimulatedFileSystem) throws -> SearchIndex {
        var key = [UInt8](repeating: 5, count: 32)
        return try SearchIndex(
            directory: "/search", key: SearchKey(SecretBytes(consuming: &key)),
            vaultID: VaultID([UInt8](repeating: 1, count: 32))!, fileSystem: disk, random: SystemRandomSource(),
            foldPageCount: 40)
    }

    func changed(_ number: Int, step: UInt8) -> SearchDocument {
        note(number, "note \(number)", "common words step\(step) \(String(repeating: "pad\(number) ", count: 30))")
    }

    /// Makes an index and edits it across several folds; every step is a state with its number.
    func work(_ disk: SimulatedFileSystem, didCommit: (UInt8) -> Void = { _ in }) throws {
        let index = try open(disk)
        try index.rebuild(newState: [0]) { add in
            for number in 1...Self.noteCount { try add(changed(number, step: 0)) }
        }
        didCommit(0)
        for step in UInt8(1)...12 {
            try index.update([.put(changed(Int(step), step: step)), .put(changed(20, step: step))], newState: [step])
            didCommit(step)
            // Brings in the words of the changes before, in a transaction of its own.
            if step % 3 == 0 { _ = try index.titles("common") }
        }
        // A fold that fails costs no transaction, and is met by whoever comes next.
        _ = try index.state()
    }

    /// Checks that the index is exactly the state that it names.
    func verify(_ index: SearchIndex) throws -> UInt8? {
        guard case .ready(let state) = try index.state() else { return nil }
        let step = try #require(state.first)
        let results = try index.search(SearchQuery.parse("common"), limit: 100)
        #expect(results.totalCount == Self.noteCount)
        for other in 0...UInt8(12) {
            let count = try index.search(SearchQuery.parse("step\(other)")).totalCount
            let expected =
                other == 0
                ? Self.noteCount - Int(step) - (step > 0 ? 1 : 0) : other < step ? 1 : other == step ? 2 : 0
            #expect(count == expected, "step\(other) in state \(step)")
        }
        return step
    }

    @Test("power cut at any operation leaves an earlier state or an index to be made anew")
    func powerCuts() throws {
        let disk = SimulatedFileSystem()
        try work(disk)
        #expect(try verify(open(disk)) == 12)
        let operationCount = disk.operationCount
        var outcomes: [String: Int] = [:]
        let generator = SeededGenerator.fromEnvironment()
        for operation in 1...operationCount {
            let cut = SimulatedFileSystem()
            cut.setPlan(FailurePlan(at: operation, .powerCut))
            var committed: UInt8?
            #expect(throws: (any Error).self) { try work(cut) { committed = $0 } }
            let index = try open(cut.restarted(keeping: generator))
            do throws(SearchError) {
                var step: UInt8?
                do { step = try verify(index) } catch let error as SearchError { throw error } catch {
                    Issue.record(error)
                }
                if let step { #expect(step <= (committed ?? 0) + 1, "operation \(operation), seed \(generator.seed)") }
                outcomes[step == nil ? "rebuild" : "ready", default: 0] += 1
            } catch {
                // A page of the last, unsynced transactions is found missing only when it is read.
                #expect(error.code == .rebuildNeeded, "operation \(operation), seed \(generator.seed)")
                outcomes["damaged", default: 0] += 1
            }
            try index.rebuild(newState: [0]) { add in
                for number in 1...Self.noteCount { try add(changed(number, step: 0)) }
            }
            #expect(try verify(index) == 0)
        }
        // How often the unsynced end survives is chance; that it sometimes does is what makes this a test.
        #expect(outcomes["ready", default: 0] > 2, "\(outcomes)")
    }

    @Test("a failing operation is an error, and the index stays what it was or is made anew")
    func failures() throws {
        let disk = SimulatedFileSystem()
        try work(disk)
        for code in [FileSystemError.Code.noSpace, .inputOutput] {
            for operation in 1...disk.operationCount {
                let failing = SimulatedFileSystem()
                failing.setPlan(FailurePlan(at: operation, .fail(code)))
                var committed: UInt8?
                try? work(failing) { committed = $0 }
                failing.setPlan(nil)
                let index = try open(failing)
                if let step = try verify(index) {
                    // The last sync of a rebuild may fail when everything is in place.
                    #expect(step == committed ?? 0, "operation \(operation)")
                    try index.update([.put(changed(30, step: 99))], newState: [99])
                    #expect(try index.search(SearchQuery.parse("step99")).totalCount == 1)
                } else {
                    #expect(committed == nil, "operation \(operation)")
                }
            }
        }
    }

    @Test("a full disk is an error of its own, and the index is as before")
    func fullDisk() throws {
        let disk = SimulatedFileSystem()
        let index = try open(disk)
        try index.rebuild(newState: [0]) { add in
            for number in 1...Self.noteCount { try add(changed(number, step: 0)) }
        }
        disk.setCapacity(byteCount: 0)
        #expect(throws: SearchError(.indexFull)) { try index.update([.put(changed(1, step: 1))], newState: [1]) }
        #expect(try verify(index) == 0)
        disk.setCapacity(byteCount: .max)
        try index.update([.put(changed(1, step: 1)), .put(changed(20, step: 1))], newState: [1])
        disk.setCapacity(byteCount: 0)
        // The words of the change are not in yet, and cannot be brought in.
        #expect(throws: SearchError(.indexFull)) { try index.titles("common") }
        #expect(try index.state() == .ready(indexedState: [1]))
        disk.setCapacity(byteCount: .max)
        #expect(try verify(index) == 1)
    }
}
