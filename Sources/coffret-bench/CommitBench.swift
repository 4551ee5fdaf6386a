// One durable change of a note of 1 KiB, as people make it: signed, in the tree, and findable afterwards. Prints
// microseconds, four a line, for Benchmarks/compare.py: the commit alone, then with its share of the search index, each
// as wall time and, behind both, as processor time.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretLogs
import CoffretStorage

enum CommitBench {
    /// `commit DIRECTORY COUNT [GROUP] [fact|search]`: a store of its own below the directory; the index is brought up to
    /// date after each GROUP changes (1), as a list would do it. With `fact` one fact is written, the text, and the
    /// note is not read before: what a database does when it is given a row. With `search` a word that no note holds is
    /// searched for after each GROUP, so that the words of the changes are in.
    static func run(_ arguments: [String]) throws {
        let isBareFact = arguments.last == "fact"
        let isSearching = arguments.last == "search"
        let arguments = isBareFact || isSearching ? arguments.dropLast() : arguments
        guard (2...3).contains(arguments.count), let count = Int(arguments[1]),
            let group = arguments.count == 3 ? Int(arguments[2]) : 1, group > 0
        else {
            print("usage: coffret-bench commit DIRECTORY COUNT [GROUP] [fact|search]")
            return
        }
        let fileSystem = PosixFileSystem()
        let folder = PathText.join(arguments[0], "commit")
        try fileSystem.removeTree(folder)
        let random = SystemRandomSource()
        let environment = StoreEnvironment(
            stateDirectory: PathText.join(folder, "state"), fileSystem: fileSystem, random: random,
            clock: SystemWallClock())
        var secret = Array("a passphrase for the benchmark".utf8)
        let store = try Store.create(
            at: PathText.join(folder, "store"), passphrase: Passphrase(typed: &secret),
            parameters: PasswordParameters.generate(from: random, memoryKibibytes: 65_536, passCount: 3),
            deviceName: "bench", environment: environment)
        let vault = try store.openVault(isWritable: true)
        defer { vault.close() }
        var generator = NoteGenerator(seed: 7)
        // Notes to change, so that the tree and the index are not empty.
        let ids = try vault.batch { batch in
            var ids: [EntityID] = []
            for _ in 0..<1000 { ids.append(try batch.create(ItemDraft(title: "note", text: generator.next().body))) }
            return ids
        }
        try vault.synchronizeIndex()
        var commits: [(wall: Double, processor: Double)] = []
        // Made before, so that making them does not stand between two commits.
        let values = (0..<count).map { _ in
            var text = ""
            while text.utf8.count < 1024 { text += generator.next().body + "\n" }
            return String(decoding: Array(text.utf8).prefix(1024), as: UTF8.self)
        }
        for (index, value) in values.enumerated() {
            let id = ids[index % ids.count]
            commits.append(
                try measureBoth {
                    if isBareFact {
                        let key = FactKey(entity: id, attribute: ItemAttribute.text)
                        let bytes = Array(value.utf8)
                        try vault.batch { (batch) in batch.write([LogChange(key: key, value: bytes)]) }
                    } else {
                        try vault.update(id) { item in item.text = value }
                    }
                })
            guard commits.count == group else { continue }
            let indexing = try measureBoth {
                if isSearching {
                    _ = try vault.search("nowhere-to-be-found")
                } else {
                    try vault.synchronizeIndex()
                }
            }
            let share = (wall: indexing.wall / Double(group), processor: indexing.processor / Double(group))
            for commit in commits {
                let values = [
                    commit.wall, commit.wall + share.wall, commit.processor, commit.processor + share.processor,
                ]
                print(values.map { decimal($0 * 1e6, 1) }.joined(separator: " "))
            }
            commits = []
        }
    }

    private static func measureBoth(_ body: () throws -> Void) throws -> (wall: Double, processor: Double) {
        var processor = 0.0
        let wall = try measureSeconds { processor = try measureCPUSeconds(body) }
        return (wall, processor)
    }
}
