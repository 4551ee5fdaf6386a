// Whether a path on the command line can be what it is given for. The one thing to keep true: this is asked before anybody
// types a passphrase, reads nothing and changes nothing; what is done later looks again.

internal import CoffretBase
internal import CoffretCore
internal import CoffretImportExport
internal import CoffretKeys
internal import CoffretTerminal
internal import Glibc

/// Looks at paths before a store is opened.
enum PathCheck {
    /// A file that will be read; `-` is standard input.
    static func readable(_ path: String) throws {
        guard path != "-", unsafe access(path, R_OK) != 0 else { return }
        let failure = SystemFailure.last
        throw CommandFailure(
            failure.number == ENOENT ? .notFound : .permission, .fileUnreadable,
            "\(TextWidth.displaySafe(path)) cannot be read: \(failure.message)")
    }

    /// A file that will be made in a folder that is there.
    static func folder(of path: String) throws {
        let folder = PathText.parent(of: path)
        var information = stat()
        guard unsafe stat(folder, &information) == 0, information.st_mode & S_IFMT == S_IFDIR
        else {
            throw CommandFailure(
                .notFound, .fileUnreadable, "there is no folder \(TextWidth.displaySafe(folder))",
                hint: "make it first, or name another place")
        }
    }

    /// Where an export goes: a new file, or a new or empty folder.
    static func target(ofExport path: String, isFile: Bool) throws {
        let folder = PathText.parent(of: path)
        if unsafe access(folder, F_OK) != 0 {
            throw ImportExportError(.targetUnwritable, subject: path)
        }
        guard unsafe access(path, F_OK) == 0 else { return }
        let names = try? PosixFileSystem().list(path)
        if isFile || names?.isEmpty != true { throw ImportExportError(.targetOccupied, subject: path) }
    }

    /// A descriptor that a passphrase will be read from.
    static func descriptor(_ option: OptionDescription, _ context: CommandContext) throws {
        guard let number = context.arguments.number(option), fcntl(Int32(number), F_GETFD) < 0 else { return }
        throw CommandFailure(
            .permission, .fileUnreadable,
            "the passphrase cannot be read from descriptor \(number): \(SystemFailure.last.message)")
    }

    /// What a store's keyring shows to everybody; nil where there is none.
    static func keyring(_ context: CommandContext) throws -> KeyringSummary? {
        let environment = try StoreAccess.environment(context)
        return try? KeyringSummary.read(
            at: StoreAccess.keyringPath(context), fileSystem: environment.fileSystem)
    }
}
