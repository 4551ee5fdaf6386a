// One durable change of a note of 1 KiB, as people make it: signed, in the tree, and findable afterwards. Prints
// microseconds, one pair a line (the commit alone; with its share of the search index), for Benchmarks/compare.py.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretStorage

enum CommitBench {
    /// `commit DIRECTORY COUNT [GROUP]`: a store of its own below the directory; the index is brought up to date
    /// after each GROUP changes (1), as a search would do it.
    static func run(_ arguments: [String]) throws {
        guard (2...3).contains(arguments.count), let count = Int(arguments[1]),
            let group = arguments.count == 3 ? Int(arguments[2]) : 1, group > 0
        else {
            print("usage: coffret-bench commit DIRECTORY COUNT [GROUP]")
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
        let ids = try vault.batch { (batch) throws(CoreError) in
            var ids: [EntityID] = []
            for _ in 0..<1000 { ids.append(try batch.create(ItemDraft(title: "note", text: generator.next().body))) }
            return ids
        }
        try vault.synchronizeIndex()
        var commits: [Double] = []
        for index in 0..<count {
            var text = ""
            while text.utf8.count < 1024 { text += generator.next().body + "\n" }
            let value = String(decoding: Array(text.utf8).prefix(1024), as: UTF8.self)
            let commit = try measureSeconds {
                try vault.update(ids[index % ids.count]) { (item) throws(CoreError) in item.text = value }
            }
            commits.append(commit)
            guard commits.count == group else { continue }
            let share = try measureSeconds { try vault.synchronizeIndex() } / Double(group)
            for commit in commits { print("\(decimal(commit * 1e6, 1)) \(decimal((commit + share) * 1e6, 1))") }
            commits = []
        }
    }
}
