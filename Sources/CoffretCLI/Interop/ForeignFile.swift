// Files of keys and of other programs' data. The one thing to keep true: a file that is there is never
// replaced, and one with a secret key is readable by its owner only, whether we read or write it.

internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

enum ForeignFile {
    /// The longest input: 256 MiB. Messages are made and opened whole, because no byte of a plaintext may
    /// leave before all of it has been authenticated.
    static let inputByteCountMax = 256 << 20
    /// The longest key file: 64 KiB.
    static let keyByteCountMax = 64 << 10

    /// Reads a file whole, or standard input for `nil`.
    static func read(_ path: String?, byteCountMax: Int = inputByteCountMax) throws -> [UInt8] {
        guard let path else { return try read(from: STDIN_FILENO, what: "standard input", byteCountMax: byteCountMax) }
        let shown = TextWidth.displaySafe(path)
        let file = try open(path)
        return try read(from: file.number, what: shown, byteCountMax: byteCountMax)
    }

    /// Reads a file with a secret key, which others may not read. The bytes are the caller's to overwrite.
    static func readSecretKey(_ path: String) throws -> [UInt8] {
        let shown = TextWidth.displaySafe(path)
        let file = try open(path)
        var information = stat()
        guard unsafe fstat(file.number, &information) == 0 else { throw unreadable(shown, SystemFailure.last) }
        // A FIFO is what process substitution and password managers offer.
        let kind = information.st_mode & S_IFMT
        let isOwn = information.st_uid == getuid() || information.st_uid == 0
        guard isOwn, kind == S_IFIFO || kind == S_IFREG && information.st_mode & 0o077 == 0 else {
            throw CommandFailure(
                .permission, .keyFileUnsafe, "the key file \(shown) can be read by others", hint: "chmod 600 \(shown)")
        }
        return try read(from: file.number, what: shown, byteCountMax: keyByteCountMax)
    }

    /// Makes a file of mode 0600 with all the bytes in it, or none.
    static func create(_ path: String, _ bytes: [UInt8]) throws {
        let shown = TextWidth.displaySafe(path)
        do throws(SystemFailure) {
            let file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL)
            do throws(SystemFailure) {
                try DescriptorIO.write(bytes, to: file.number)
                if fsync(file.number) != 0, errno != EINVAL { throw SystemFailure.last }
            } catch {
                // What was cut short would look like the whole.
                unsafe unlink(path)
                throw error
            }
        } catch {
            switch error.number {
            case EEXIST: throw exists(path)
            case ENOSPC, EDQUOT:
                throw CommandFailure(.diskFull, .diskFull, "\(shown) cannot be written: the disk is full")
            default:
                throw CommandFailure(
                    .cannotCreate, .fileUnwritable, "\(shown) cannot be written: \(error.message)")
            }
        }
    }

    /// Refuses names that are taken, before any work.
    static func requireAbsent(_ paths: [String]) throws {
        for path in paths where unsafe access(path, F_OK) == 0 { throw exists(path) }
    }

    /// Makes a secret key file and, if it is named, the file of the public half; both or none.
    static func createPair(_ secretPath: String, _ secret: [UInt8], _ publicPath: String?, _ open: [UInt8]) throws {
        try requireAbsent([secretPath] + (publicPath.map { [$0] } ?? []))
        try create(secretPath, secret) {
            if let publicPath { try create(publicPath, open) }
        }
    }

    /// Makes a secret file that is of use only with what `body` makes: without that, it is removed again.
    static func create(_ path: String, _ bytes: [UInt8], with body: () throws -> Void) throws {
        try create(path, bytes)
        do {
            try body()
        } catch {
            unsafe unlink(path)
            throw error
        }
    }

    private static func exists(_ path: String) -> CommandFailure {
        CommandFailure(
            .cannotCreate, .fileExists, "\(TextWidth.displaySafe(path)) is already there",
            hint: "choose another name; files are never replaced")
    }

    static func open(_ path: String) throws -> OwnedDescriptor {
        do throws(SystemFailure) {
            return try OwnedDescriptor.open(path, O_RDONLY)
        } catch {
            throw unreadable(TextWidth.displaySafe(path), error)
        }
    }

    private static func unreadable(_ shown: String, _ failure: SystemFailure) -> CommandFailure {
        let code: ExitCode =
            switch failure.number {
            case ENOENT, ENOTDIR: .notFound
            case EACCES, EPERM: .permission
            default: .inputOutput
            }
        return CommandFailure(code, .fileUnreadable, "\(shown) cannot be read: \(failure.message)")
    }

    private static func read(from descriptor: Int32, what: String, byteCountMax: Int) throws -> [UInt8] {
        let bytes: [UInt8]?
        do throws(SystemFailure) {
            bytes = try DescriptorIO.readAll(from: descriptor, byteCountMax: byteCountMax)
        } catch {
            throw unreadable(what, error)
        }
        guard let bytes else {
            throw CommandFailure(
                .badInput, .inputTooLarge, "\(what) is larger than \(NumberText.bytes(byteCountMax))")
        }
        return bytes
    }
}
