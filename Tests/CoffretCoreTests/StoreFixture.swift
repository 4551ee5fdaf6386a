// Stores with keyrings in temporary folders, with the cheapest parameters that are allowed.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretStorage
import CoffretTestSupport

final class StoreFixture {
    static let passphrase = "correct horse battery"

    let folder: TemporaryDirectory
    let random = SeededGenerator.fromEnvironment()
    let clock = ManualClock()
    let environment: StoreEnvironment
    var storePath: String { folder.file("store") }

    init() throws {
        folder = try TemporaryDirectory("store")
        environment = Self.environment(state: folder.file("state"), random: random, clock: clock)
    }

    static func environment(state: String, random: SeededGenerator, clock: ManualClock) -> StoreEnvironment {
        StoreEnvironment(stateDirectory: state, fileSystem: PosixFileSystem(), random: random, clock: clock)
    }

    /// Another machine: another state directory, the same disk.
    func otherMachine() -> StoreEnvironment {
        Self.environment(state: folder.file("other-state"), random: random, clock: clock)
    }

    static func passphrase(_ text: String = passphrase) throws -> Passphrase {
        var bytes = Array(text.utf8)
        return try Passphrase(typed: &bytes)
    }

    func parameters() -> PasswordParameters {
        PasswordParameters.generate(from: random, memoryKibibytes: 65_536, passCount: 3)
    }

    func create() throws -> Store {
        try Store.create(
            at: storePath, passphrase: Self.passphrase(), parameters: parameters(), deviceName: "laptop",
            environment: environment)
    }

    func open(_ text: String = passphrase, environment: StoreEnvironment? = nil) throws -> Store {
        try Store.open(
            at: storePath, with: .passphrase(Self.passphrase(text)), environment: environment ?? self.environment)
    }
}
