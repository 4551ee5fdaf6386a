// Key stores that the machine offers beside files, for programs that are linked with them. Invariant: a program
// installs its provider once, before it reads anything; the others have none, and files are all they know.

package import CoffretBase
internal import Dispatch
internal import Synchronization

/// The surroundings of the store that a provider needs.
package struct KeyStoreSurroundings: Sendable {
    /// Outside the store and outside backups.
    package let stateDirectory: String
    package let fileSystem: any FileSystem
    package let random: any RandomSource
    /// Where the TPM is, in the words of tpm2-tss; nil for the kernel's device.
    package let tpm: String?

    package init(
        stateDirectory: String, fileSystem: any FileSystem, random: any RandomSource, tpm: String? = nil
    ) {
        self.stateDirectory = stateDirectory
        self.fileSystem = fileSystem
        self.random = random
        self.tpm = tpm
    }

    package var machineSecret: MachineSecretFile {
        MachineSecretFile(stateDirectory: stateDirectory, fileSystem: fileSystem, random: random)
    }
}

/// Makes key stores of hardware and desktop services.
package protocol KeyStoreProvider: Sendable {
    /// The key store of a kind, whether or not it answers; nil for a kind that is not known here.
    func keyStore(_ kind: SlotKind, _ surroundings: KeyStoreSurroundings) -> (any KeyStore)?
    /// The kinds that answer now, the one worth most first. Asks nobody.
    func availableKinds(_ surroundings: KeyStoreSurroundings) -> [SlotKind]
    /// The store that keeps keys while nobody uses them; nil where there is none. Touches nothing.
    func idleWrapping(_ surroundings: KeyStoreSurroundings) -> (any IdleWrapping)?
    /// Asks whether the person is there; nil where nobody can be asked.
    ///
    /// - Parameter conversation: how words reach the person; nil where none can, and a finger still may.
    func presence(_ conversation: (any PresenceConversation)?) -> (any UserPresence)?
}

/// The provider of this process.
package enum KeyStoreProviders {
    private static let slot = Mutex<(any KeyStoreProvider)?>(nil)

    /// nil in programs that are linked with no hardware library.
    package static var installed: (any KeyStoreProvider)? { slot.withLock(\.self) }

    /// For `main`, once.
    package static func install(_ provider: any KeyStoreProvider) { slot.withLock { $0 = provider } }

    /// The key store of a kind: files everywhere, the rest where a provider is installed.
    package static func keyStore(_ kind: SlotKind, _ surroundings: KeyStoreSurroundings) -> (any KeyStore)? {
        if kind == .machine {
            return FileKeyStore(machineSecret: surroundings.machineSecret, random: surroundings.random)
        }
        return installed?.keyStore(kind, surroundings)
    }

    /// Waits for a call to a key store on a thread that nobody else needs, such as that of a command.
    package static func wait<Value: Sendable>(
        for call: @escaping @Sendable () async throws(KeyError) -> Value
    ) throws(KeyError) -> Value {
        let answer = Answer<Value>()
        let isDone = DispatchSemaphore(value: 0)
        Task.detached {
            do throws(KeyError) {
                answer.give(.success(try await call()))
            } catch {
                answer.give(.failure(error))
            }
            isDone.signal()
        }
        isDone.wait()
        guard let result = answer.value else { preconditionFailure("the answer is given before the signal") }
        return try result.get()
    }

    private final class Answer<Value: Sendable>: Sendable {
        private let state = Mutex<Result<Value, KeyError>?>(nil)
        var value: Result<Value, KeyError>? { state.withLock(\.self) }
        func give(_ result: Result<Value, KeyError>) { state.withLock { $0 = result } }
    }
}
