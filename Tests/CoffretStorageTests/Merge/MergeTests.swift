// Replicas that write apart and meet in any order. The one thing to keep true: all come to one root, fall silent,
// and nothing that anybody acknowledged is lost or doubled.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Merging replicas")
struct MergeTests {
    private let texts = (0..<4).map { RepositoryFixture.key($0, "text") }

    /// One commit of a replica: titles, members of sets, lines of texts, long values, retractions.
    private func write(_ world: ReplicaWorld, _ index: Int, round: Int) throws {
        let random = world.random
        let replica = world.replicas[index]
        var changes: [FactKey: FactChange] = [:]
        for _ in 0..<random.int(in: 1...5) {
            let number = random.int(in: 0...5)
            switch random.int(in: 0...5) {
            case 0:
                let key = RepositoryFixture.key(number)
                changes[key] = FactChange(key: key, value: nil)
            case 1:
                let key = FactKey(
                    entity: RepositoryFixture.key(number).entity, attribute: "tag",
                    element: [UInt8](repeating: UInt8(random.int(in: 1...3)), count: 16))
                changes[key] = FactChange(key: key, value: random.bool() ? [1] : nil)
            case 2:
                let key = RepositoryFixture.key(number, "body")
                let size = random.element(of: [10, 600, 5_000, 20_000])
                changes[key] = FactChange(key: key, value: random.bytes(count: size...size))
            case 3:
                let key = RepositoryFixture.key(number)
                changes[key] = RepositoryFixture.put(number, "title \(index) \(round)")
            default:
                let key = random.element(of: texts)
                guard changes[key] == nil else { continue }
                changes[key] = try addLine(world, replica, key, "\(index)-\(round)")
            }
        }
        try replica.repository.commit(Array(changes.values), time: Int64(round))
    }

    /// Adds a line to a text; where there are several texts the person puts them together.
    private func addLine(
        _ world: ReplicaWorld, _ replica: Replica, _ key: FactKey, _ mark: String
    ) throws -> FactChange {
        var lines: [Substring] = []
        for text in try replica.text(key) {
            for line in text.split(separator: "\n") where !lines.contains(line) { lines.append(line) }
        }
        let line = mark + " " + String(repeating: "x", count: world.random.element(of: [1, 300, 2_000, 9_000]))
        world.acknowledged[key, default: []].insert(line)
        return FactChange(key: key, value: Array((lines + [Substring(line)]).joined(separator: "\n").utf8))
    }

    private func checkTexts(_ world: ReplicaWorld) throws {
        for replica in world.replicas {
            for (key, lines) in world.acknowledged {
                let found = try replica.text(key).map { $0.split(separator: "\n").map(String.init) }
                for text in found { try require(Set(text).count == text.count, "a line is doubled") }
                let all = Set(found.flatMap(\.self))
                try require(lines.isSubset(of: all), "\(lines.subtracting(all).count) lines are lost")
            }
        }
    }

    private func checkAlike(_ world: ReplicaWorld) throws {
        let heads = Set(world.replicas.map(\.head))
        try require(heads.count == 1, "\(heads.count) heads")
        for replica in world.replicas {
            let root = try replica.repository.present.rootName()
            try replica.reopen()
            try require(try replica.repository.present.rootName() == root, "opened again it is another root")
            let report = replica.repository.fsck(signers: world.signers)
            try require(report.allProblems == [], "\(report.allProblems)")
        }
    }

    @Test("random edits and partitions: all come to one head and one root, and then nobody writes any more")
    func converge() {
        forAll(count: 10) { random in
            let count = random.int(in: 2...5)
            let policy = CheckpointPolicy(factCountMax: random.element(of: [3, 20, 256]))
            let world = try ReplicaWorld(random, count: count, policy: policy)
            for round in 0..<random.int(in: 6...16) {
                let index = random.int(in: 0...count - 1)
                if random.int(in: 0...2) > 0 {
                    try write(world, index, round: round)
                } else {
                    let other = (index + random.int(in: 1...count - 1)) % count
                    _ = try world.send(other, to: index)
                }
                if random.int(in: 0...9) == 0 { try world.replicas[index].reopen() }
                if random.int(in: 0...7) == 0 { try world.rotate() }
            }
            // Everybody hears everybody until nothing is new; more than a few rounds would be a quarrel.
            var rounds = 0
            while true {
                var isNews = false
                for from in 0..<count {
                    for to in 0..<count where from != to {
                        isNews = try world.send(from, to: to)?.isNews ?? false || isNews
                    }
                }
                rounds += 1
                if !isNews { break }
                try require(rounds <= 2 * count + 2, "they do not fall silent")
            }
            try checkTexts(world)
            try checkAlike(world)
        }
    }

    @Test("through a server that compares and swaps, devices that only sync fall silent within N + 1 pushes")
    func quiescence() {
        forAll(count: 8) { random in
            let count = random.int(in: 2...5)
            let world = try ReplicaWorld(random, count: count)
            var server: BlobName?
            var stored: [BlobName: [SealedBlob]] = [:]
            var pushes = 0
            func sync(_ index: Int) throws {
                let replica = world.replicas[index]
                if let server, let blobs = stored[server] {
                    try replica.adopt(blobs, heads: [server], signers: world.signers)
                }
                guard let head = replica.head, head != server else { return }
                stored[head] = try replica.export()
                server = head
                pushes += 1
            }
            try write(world, 0, round: 0)
            try sync(0)
            for index in 1..<count { try sync(index) }
            pushes = 0
            for index in 0..<count { try write(world, index, round: 1 + index) }
            for _ in 0..<3 { for index in 0..<count { try sync(index) } }
            try require(pushes <= count + 1, "\(pushes) pushes")
            try checkTexts(world)
            try checkAlike(world)
        }
    }

    @Test("two devices that merge the same make the same root, and the merge with the lower name stays")
    func equalMerges() {
        forAll(count: 10) { random in
            let world = try ReplicaWorld(random, count: 2)
            try write(world, 0, round: 0)
            try world.send(0, to: 1)
            for index in 0...1 { try write(world, index, round: 1 + index) }
            let (one, two) = (try #require(world.replicas[0].head), try #require(world.replicas[1].head))
            let exports = try world.replicas.map { try $0.export() }
            try world.replicas[0].adopt(exports[1], heads: [two], signers: world.signers)
            try world.replicas[1].adopt(exports[0], heads: [one], signers: world.signers)
            let merges = try world.replicas.map { try $0.repository.commit(named: #require($0.head)) }
            try require(merges[0].commit.root == merges[1].commit.root, "the roots differ")
            try require(merges[0].parents == [one, two].sorted())
            try world.send(0, to: 1)
            try world.send(1, to: 0)
            let lower = merges.map(\.name).min()
            try require(world.replicas.allSatisfy { $0.head == lower }, "another merge stays")
            // The number of the merge that was dropped is not used again.
            let loser = merges[0].name == lower ? 1 : 0
            let next = try world.replicas[loser].repository.commit([RepositoryFixture.put(1, "next")], time: 9)
            try require(next.sequence == merges[loser].sequence + 1, "a number is used twice")
            try world.send(loser, to: 1 - loser)
            try checkAlike(world)
        }
    }

    @Test("a rotation of keys between edits leaves equal roots equal")
    func rotation() throws {
        let random = SeededGenerator(seed: 5)
        let world = try ReplicaWorld(random, count: 2)
        try world.replicas[0].repository.commit([RepositoryFixture.put(1, "a")], time: 1)
        try world.send(0, to: 1)
        try world.rotate()
        // One adds and takes away under the new key; the other never touched anything.
        try world.replicas[0].repository.commit([RepositoryFixture.put(2, "b")], time: 2)
        try world.replicas[0].repository.commit(
            [FactChange(key: RepositoryFixture.key(2), value: nil)], time: 3)
        let roots = try world.replicas.map { try $0.repository.present.rootName() }
        #expect(roots[0] == roots[1])
        // What is sent now is under the new key, whatever it lies under here.
        #expect(try world.replicas[0].export().allSatisfy { $0.epoch == 2 })
    }

    @Test("an edit of a text and an edit elsewhere in it become one text without conflict, and no new dots")
    func cleanText() throws {
        let random = SeededGenerator(seed: 3)
        let world = try ReplicaWorld(random, count: 2)
        let key = texts[0]
        func put(_ index: Int, _ text: String) throws {
            try world.replicas[index].repository.commit([FactChange(key: key, value: Array(text.utf8))], time: 1)
        }
        try put(0, "one\ntwo")
        try world.send(0, to: 1)
        try put(0, "one\ntwo\nthree")
        try put(1, "one\ntwo\nfour")
        try world.send(0, to: 1)
        let merged = try world.replicas[1].text(key)
        #expect(merged == ["one\ntwo\nfour\nthree", "one\ntwo\nfour\nthree"])
        let dots = try world.replicas[1].repository.present.facts(under: key).map(\.dot.sequence)
        #expect(dots.sorted() == [1, 2])
        try put(1, "all")
        try world.send(1, to: 0)
        #expect(try world.replicas[0].text(key) == ["all"])
    }

    @Test("edits that contradict each other stay side by side on all devices until somebody settles them")
    func conflict() throws {
        let world = try ReplicaWorld(SeededGenerator(seed: 4), count: 2)
        let key = texts[0]
        func put(_ index: Int, _ text: String) throws {
            try world.replicas[index].repository.commit([FactChange(key: key, value: Array(text.utf8))], time: 1)
        }
        try put(0, "one\ntwo")
        try world.send(0, to: 1)
        try put(0, "one")
        try put(1, "one\ntwo\nfour")
        try world.send(0, to: 1)
        try world.send(1, to: 0)
        for replica in world.replicas { #expect(Set(try replica.text(key)) == ["one", "one\ntwo\nfour"]) }
        try put(0, "one\nfour")
        try world.send(0, to: 1)
        for replica in world.replicas { #expect(try replica.text(key) == ["one\nfour"]) }
    }
}
