// Files of mode 0600 that appear whole or not at all. Invariant: a reader of the name sees the old content or the new
// one, and nobody else than the owner sees either.

internal import CoffretBase
internal import Glibc

package enum PrivateFile {
    /// Puts a file in the place of another, or where none was. Never writes through a symbolic link: the link is replaced.
    package static func replace(_ path: String, _ bytes: [UInt8]) throws {
        try replace(path) { file throws(SystemFailure) in try DescriptorIO.write(bytes, to: file) }
    }

    /// The same, with a content that somebody writes into the open file.
    package static func replace(_ path: String, _ write: (Int32) throws -> Void) throws {
        let temporary = path + ".coffret-" + Hex.encode(SystemRandomSource().bytes(count: 8))
        do {
            let file = try OwnedDescriptor.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
            do {
                try write(file.number)
                guard fsync(file.number) == 0, unsafe rename(temporary, path) == 0 else { throw SystemFailure.last }
            } catch {
                unsafe unlink(temporary)
                throw error
            }
        } catch let error as SystemFailure {
            let shown = TextWidth.displaySafe(path)
            switch error.number {
            case ENOSPC, EDQUOT:
                throw CommandFailure(.diskFull, .diskFull, "\(shown) cannot be written: the disk is full")
            default:
                throw CommandFailure(.cannotCreate, .fileUnwritable, "\(shown) cannot be written: \(error.message)")
            }
        }
    }
}
