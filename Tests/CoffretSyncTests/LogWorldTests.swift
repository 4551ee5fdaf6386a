// Worlds by seed, a few of each kind; `Scripts/simulate` plays as many as one likes.

import CoffretLogs
import CoffretSimulation
import CoffretSync
import CoffretTestSupport
import Testing

@Suite("Simulated worlds of logs")
struct LogWorldTests {
    @Test("devices come to one state, and no acknowledged line of a trusted device is lost", arguments: 0..<4)
    func worlds(part: Int) throws {
        let generator = SeededGenerator(seed: SeededGenerator.replayedSeed ?? 1)
        for _ in 0..<6 * part { _ = generator.next() }
        for _ in 0..<6 {
            let seed = generator.next()
            do { try LogWorld.run(SeededGenerator(seed: seed)) } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
    }

    @Test("faults that are planted are found", arguments: LogWorldFault.allCases)
    func planted(fault: LogWorldFault) throws {
        let generator = SeededGenerator(seed: 20)
        var failures: [String] = []
        for _ in 0..<60 where failures.isEmpty {
            var rules = LogWorldRules()
            rules.fault = fault
            do { try LogWorld.run(SeededGenerator(seed: generator.next()), rules: rules) } catch {
                failures.append("\(error)")
            }
        }
        let failure = try #require(failures.first, "nobody noticed")
        #expect(failure.contains(fault.complaint), "\(failure)")
    }

    @Test("a first sync reads as much for each entry of 1,500 as of 300")
    func readsOfFirstSync() throws {
        var reads: [Double] = []
        for count in [300, 1_500] {
            let authors = try LogAuthors(SeededGenerator(seed: 3))
            try authors.write(upTo: count)
            let third = try authors.join()
            #expect(try third.sync().receivedCount == count)
            #expect(try third.facts() == authors.person.devices[0].facts())
            reads.append(Double(third.repository.readCount) / Double(count))
        }
        #expect(reads[1] <= 1.3 * reads[0] + 0.1, "\(reads)")
    }
}

extension LogWorldFault {
    /// Words of the failure that it has to bring about.
    fileprivate var complaint: String {
        switch self {
        case .diskForgets: "is lost"
        case .losesChunks: "has no file"
        case .keepsClearText: "in clear"
        case .servesStrangers: "a stranger is answered"
        case .sheetLosesKeys: ""
        case .readsAll: "reads"
        }
    }
}
