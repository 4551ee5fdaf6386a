// Folders in memory for plaintext that other programs must see as files. The one thing to keep true:
// the folder lies in memory, only its owner can enter it, and everything in it is overwritten before
// it is removed.

internal import CPlatform
internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// A private folder on a memory file system, locked as long as its owner lives.
final class PrivateDirectory {
    static let namePrefix = "coffret-edit-"

    let path: String
    private let descriptor: Int32
    private var isGone = false

    /// Makes a fresh folder.
    ///
    /// - Throws: `CommandFailure` `.unavailable` when there is only room on a disk.
    static func make(environment: ProcessEnvironment) throws -> PrivateDirectory {
        for place in places(environment) {
            var pattern = Array("\(place)/\(namePrefix)\(String(repeating: "X", count: 6))".utf8CString)
            guard unsafe mkdtemp(&pattern) != nil else { continue }
            let path = String(decoding: pattern.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if let directory = PrivateDirectory(adopting: path) { return directory }
            _ = unsafe rmdir(path)
        }
        throw CommandFailure(
            .unavailable, .editorUnsafe, "there is no folder in memory for the text while you edit it",
            hint: "give the text through a pipe, or mount a tmpfs and name it in XDG_RUNTIME_DIR")
    }

    /// Folders that lie in memory.
    static func places(_ environment: ProcessEnvironment) -> [String] {
        var places: [String] = []
        if let runtime = environment.value(.runtimeDirectory), runtime.hasPrefix("/") { places.append(runtime) }
        places.append("/dev/shm")
        return places.filter { path in
            do throws(SystemFailure) {
                let folder = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
                return coffret_is_in_memory(folder.number) == 1
            } catch {
                return false
            }
        }
    }

    /// Folders whose owner has died, with what is in them.
    static func abandoned(environment: ProcessEnvironment) -> [PrivateDirectory] {
        places(environment).flatMap { place in
            names(in: place).filter { $0.hasPrefix(namePrefix) }
                .compactMap { PrivateDirectory(adopting: "\(place)/\($0)") }
        }
    }

    /// Takes over a folder that belongs to this user and that no living process holds.
    private init?(adopting path: String) {
        let lock: Int32
        do throws(SystemFailure) {
            let opened = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
            var information = stat()
            guard unsafe fstat(opened.number, &information) == 0, information.st_uid == getuid(),
                information.st_mode & 0o077 == 0, flock(opened.number, LOCK_EX | LOCK_NB) == 0
            else { return nil }
            lock = fcntl(opened.number, F_DUPFD_CLOEXEC, 0)
        } catch {
            return nil
        }
        guard lock >= 0 else { return nil }
        descriptor = lock
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ text: String, to name: String) throws {
        do throws(SystemFailure) {
            let file = try OwnedDescriptor.open(file(name), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
            try DescriptorIO.write(Array(text.utf8), to: file.number)
        } catch {
            throw CommandFailure(
                .inputOutput, .fileUnwritable, "the text cannot be put into memory for the editor: \(error.message)")
        }
    }

    /// The bytes of a file in the folder; `nil` when it is not there.
    func read(_ name: String) -> [UInt8]? {
        do throws(SystemFailure) {
            let file = try OwnedDescriptor.open(file(name), O_RDONLY | O_NOFOLLOW)
            return try DescriptorIO.readAll(from: file.number, byteCountMax: 1 << 30)
        } catch {
            return nil
        }
    }

    /// When the file was last written, in milliseconds since 1970.
    func modificationMilliseconds(_ name: String) -> Int64? {
        var information = stat()
        guard unsafe lstat(file(name), &information) == 0 else { return nil }
        return Int64(information.st_mtim.tv_sec) * 1000 + Int64(information.st_mtim.tv_nsec) / 1_000_000
    }

    /// Overwrites and removes everything, editors' swap and backup files included.
    func wipe() {
        guard !isGone else { return }
        isGone = true
        Self.wipeFolder(path, depth: 0)
    }

    private static func wipeFolder(_ path: String, depth: Int) {
        for name in names(in: path) {
            let inner = "\(path)/\(name)"
            var information = stat()
            guard unsafe lstat(inner, &information) == 0 else { continue }
            if information.st_mode & S_IFMT == S_IFDIR {
                if depth < 8 { wipeFolder(inner, depth: depth + 1) }
                continue
            }
            if information.st_mode & S_IFMT == S_IFREG { overwrite(inner, byteCount: Int(information.st_size)) }
            _ = unsafe unlink(inner)
        }
        _ = unsafe rmdir(path)
    }

    private static func overwrite(_ path: String, byteCount: Int) {
        do throws(SystemFailure) {
            let file = try OwnedDescriptor.open(path, O_WRONLY | O_NOFOLLOW)
            let zeros = [UInt8](repeating: 0, count: 65_536)
            var left = byteCount
            while left > 0 {
                try DescriptorIO.write(left >= zeros.count ? zeros : Array(zeros[..<left]), to: file.number)
                left -= zeros.count
            }
        } catch {
            // It is removed all the same; in memory nothing stays behind a removed file.
            return
        }
    }

    private static func names(in path: String) -> [String] {
        guard let directory = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { buffer in
                unsafe String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
