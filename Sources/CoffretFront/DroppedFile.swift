// A file or folder that a person has dropped on the window. Invariant: nothing is read but plain files and folders, and the page learns
// a name and never a path.

internal import CPlatform
internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

package struct DroppedFile: Equatable, Sendable {
    private let path: String

    package init(path: String) { self.path = path }

    var name: String { PathText.name(of: path) }

    struct Opened: ~Copyable {
        let descriptor: OwnedDescriptor
        let isFolder: Bool
        let byteCount: Int
        let modifiedMilliseconds: Int
    }

    /// - Returns: nil for what cannot be read, and for what is neither.
    func open() -> Opened? {
        var information = stat()
        // A pipe would keep the window waiting for who writes into it.
        guard let descriptor = try? OwnedDescriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY),
            unsafe fstat(descriptor.number, &information) == 0,
            case let kind = information.st_mode & S_IFMT, kind == S_IFREG || kind == S_IFDIR
        else { return nil }
        return Opened(
            descriptor: descriptor, isFolder: kind == S_IFDIR, byteCount: Int(information.st_size),
            modifiedMilliseconds: information.st_mtim.tv_sec * 1000 + information.st_mtim.tv_nsec / 1_000_000)
    }
}
