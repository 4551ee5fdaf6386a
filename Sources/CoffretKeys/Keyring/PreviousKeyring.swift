// The keyring that a change took the place of. Invariant: it stays until its successor was read from the disk and
// opened, and nothing ever opens it by itself.

internal import CoffretBase

/// The last keyring known to open, beside the one that replaced it.
///
/// It is put back by a person alone: an old keyring may also be an attack, which the marker then shows.
struct PreviousKeyring {
    private let path: String
    private let fileSystem: any FileSystem

    init(_ environment: KeyringEnvironment) {
        self.init(of: environment.keyringPath, environment.fileSystem)
    }

    init(of keyringPath: String, _ fileSystem: any FileSystem) {
        path = keyringPath + ".previous"
        self.fileSystem = fileSystem
    }

    /// Keeps `file` unless an older one is kept already, which is the one that was opened.
    ///
    /// One sync; the name lasts with the next sync of the directory, which the replacement makes.
    func keep(_ file: KeyringFile) throws(KeyError) {
        try withFiles { () throws(FileSystemError) in
            guard try !fileSystem.exists(path) else { return }
            let bytes = file.encoded
            let target = try fileSystem.open(path, .createNew)
            do throws(FileSystemError) {
                try target.write(bytes, at: 0)
                try target.synchronizeData()
            } catch {
                try? fileSystem.remove(path)
                throw error
            }
        }
    }

    /// For when its successor was opened. That it stays is no failure: it is put back by nobody.
    func forget() { try? fileSystem.remove(path) }

    /// The error of opening to report: with the way back, if there is one.
    func explaining(_ error: KeyError) -> KeyError {
        let damage: [KeyError.Code] = [.keyringMalformed, .keyringAltered, .keyringInconsistent]
        guard damage.contains(error.code), (try? fileSystem.exists(path)) == true else { return error }
        return KeyError(.keyringPreviousKept, at: error.code.rawValue, cause: error)
    }
}
