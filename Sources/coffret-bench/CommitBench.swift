// One durable change of a note of 1 KiB, as people make it: signed, in the tree, and findable afterwards. Prints
// microseconds, one pair a line (the commit alone; with the search index), for Benchmarks/compare.py.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretStorage

enum CommitBench {
    /// `commit DIRECTORY COUNT`: a store of its own below the directory.
    static func run(_ arguments: [String]) throws {
        guard arguments.count == 2, let count = Int(arguments[1]) else {
            print("usage: coffret-bench commit DIRECTORY COUNT")
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
        for index in 0..<count {
            var text = ""
            while text.utf8.count < 1024 { text += generator.next().body + "\n" }
            let value = String(decoding: Array(text.utf8).prefix(1024), as: UTF8.self)
            let commit = try measureSeconds {
                try vault.update(ids[index % ids.count]) { (item) throws(CoreError) in item.text = value }
            }
            let indexing = try measureSeconds { try vault.synchronizeIndex() }
            print("\(decimal(commit * 1e6, 1)) \(decimal((commit + indexing) * 1e6, 1))")
        }
    }
}
