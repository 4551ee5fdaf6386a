// A disk in memory that fails and loses power on command. The one thing to keep true: it promises no
// more than `FileSystem` does, so that code which survives here survives a real power cut.

package import CoffretBase
internal import Foundation

/// What goes wrong, and when.
package struct FailurePlan: Sendable {
    package enum Kind: Sendable {
        /// The operation fails with this code; a write leaves a part written, a failed sync drops what
        /// it should have kept.
        case fail(FileSystemError.Code)
        /// The power goes before the operation takes effect; everything fails from then on.
        case powerCut
    }

    /// The number of the operation, counted from 1 over all that change or sync anything.
    package let operationNumber: Int
    package let kind: Kind

    package init(at operationNumber: Int, _ kind: Kind) {
        self.operationNumber = operationNumber
        self.kind = kind
    }
}

/// A file system in memory.
///
/// Model: each file has bytes as programs see them, bytes that survive, and changes in between, which a
/// power cut keeps or loses sector by sector (512 bytes). Each directory has the same for its names.
/// Paths are taken apart at slashes; a leading slash and `.` mean the root.
package final class SimulatedFileSystem: FileSystem, @unchecked Sendable {
    // SAFETY: everything below is touched under `lock` only, nodes included.
    private let lock = NSRecursiveLock()
    private var root = Directory()
    private var plan: FailurePlan?
    private var count = 0
    private var isOff = false
    private var capacity = Int.max
    private var badPaths: Set<String> = []

    package init() {}

    /// How many operations have changed or synced anything.
    package var operationCount: Int { lock.withLock { count } }

    /// Whether the power was cut; all calls fail until `restarted`.
    package var isPoweredOff: Bool { lock.withLock { isOff } }

    /// Arms a failure; nil disarms.
    package func setPlan(_ plan: FailurePlan?) { lock.withLock { self.plan = plan } }

    /// Limits the bytes of all files together; writes beyond it fail with `.noSpace`.
    package func setCapacity(byteCount: Int) { lock.withLock { capacity = byteCount } }

    /// Lets a file's sectors go bad, or come back: it is there, and cannot be read.
    package func setBad(_ path: String, _ isBad: Bool) {
        lock.withLock { _ = isBad ? badPaths.insert(path).memberAfterInsert : badPaths.remove(path) ?? path }
    }

    fileprivate func checkSectors(_ path: String) throws(FileSystemError) {
        if badPaths.contains(path) { throw FileSystemError(.inputOutput, place: path) }
    }

    /// Cuts the power now.
    package func cutPower() { lock.withLock { isOff = true } }

    /// The disk as the next start finds it: what was synced, and a random part of the rest.
    ///
    /// Open files and locks of before are gone. This disk itself stays off.
    package func restarted(keeping generator: SeededGenerator) -> SimulatedFileSystem {
        lock.withLock {
            isOff = true
            let next = SimulatedFileSystem()
            var made: [ObjectIdentifier: Node] = [:]
            next.root = root.surviving(generator, &made)
            return next
        }
    }

    /// A second disk with everything that programs see on this one, all of it synced. This one stays on.
    package func syncedCopy() -> SimulatedFileSystem {
        lock.withLock {
            let next = SimulatedFileSystem()
            next.root = root.copied()
            return next
        }
    }

    /// All paths of files with their bytes, for assertions about what lies on the disk.
    package func allFiles() -> [String: [UInt8]] {
        lock.withLock {
            var files: [String: [UInt8]] = [:]
            func walk(_ directory: Directory, _ path: String) {
                for (name, node) in directory.names {
                    if let file = node as? File { files[path + name] = file.copy() }
                    if let inner = node as? Directory { walk(inner, path + name + "/") }
                }
            }
            walk(root, "")
            return files
        }
    }

    /// Changes the bytes of a file behind everybody's back, as a failing disk does.
    package func corrupt(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
        try lock.withLock {
            guard let file = try node(path) as? File else { throw FileSystemError(.notFound, place: path) }
            var bytes = file.copy()
            change(&bytes)
            file.replace(bytes)
            file.persist()
        }
    }

    // MARK: FileSystem

    package func open(_ path: String, _ opening: FileOpening, mode: UInt32) throws(FileSystemError) -> any OpenFile {
        try locked { () throws(FileSystemError) in
            let existing = try node(path)
            if let existing {
                guard opening != .createNew else { throw FileSystemError(.exists, place: path) }
                guard let file = existing as? File else { throw FileSystemError(.wrongKind, place: path) }
                return Handle(file, path: path, isWritable: opening != .read, of: self)
            }
            guard opening == .createIfAbsent || opening == .createNew else {
                throw FileSystemError(.notFound, place: path)
            }
            let (directory, name) = try parent(path)
            try step(path)
            let file = File(mode: mode)
            directory.set(name, file)
            return Handle(file, path: path, isWritable: true, of: self)
        }
    }

    package func makeDirectory(_ path: String, mode: UInt32) throws(FileSystemError) {
        try locked { () throws(FileSystemError) in
            guard try node(path) == nil else { throw FileSystemError(.exists, place: path) }
            let (directory, name) = try parent(path)
            try step(path)
            directory.set(name, Directory(mode: mode))
        }
    }

    package func list(_ path: String) throws(FileSystemError) -> [DirectoryEntry] {
        try locked { () throws(FileSystemError) in
            try directory(path).names
                .map { DirectoryEntry(name: $0.key, kind: $0.value is File ? .file : .directory) }
                .sorted { $0.name < $1.name }
        }
    }

    package func status(_ path: String) throws(FileSystemError) -> FileStatus? {
        try locked { () throws(FileSystemError) in
            guard let node = try node(path) else { return nil }
            let file = node as? File
            return FileStatus(
                kind: file == nil ? .directory : .file, byteCount: file?.byteCount ?? 0, mode: node.mode, modified: 0)
        }
    }

    package func rename(_ path: String, to newPath: String) throws(FileSystemError) {
        try locked { () throws(FileSystemError) in
            guard let moved = try node(path) else { throw FileSystemError(.notFound, place: path) }
            let (source, name) = try parent(path)
            let (target, newName) = try parent(newPath)
            if let replaced = target.names[newName], moved is File != (replaced is File) {
                throw FileSystemError(.wrongKind, place: newPath)
            }
            try step(path)
            if source === target {
                source.rename(name, to: newName)
            } else {
                target.set(newName, moved)
                source.set(name, nil)
            }
        }
    }

    package func remove(_ path: String) throws(FileSystemError) {
        try locked { () throws(FileSystemError) in
            guard let node = try node(path) else { throw FileSystemError(.notFound, place: path) }
            guard node is File else { throw FileSystemError(.wrongKind, place: path) }
            let (directory, name) = try parent(path)
            try step(path)
            directory.set(name, nil)
        }
    }

    package func removeDirectory(_ path: String) throws(FileSystemError) {
        try locked { () throws(FileSystemError) in
            guard try directory(path).names.isEmpty else { throw FileSystemError(.notEmpty, place: path) }
            let (parent, name) = try parent(path)
            try step(path)
            parent.set(name, nil)
        }
    }

    package func synchronizeDirectory(_ path: String) throws(FileSystemError) {
        try locked { () throws(FileSystemError) in
            let directory = try directory(path)
            do throws(FileSystemError) {
                try step(path)
            } catch {
                // A power cut decides for itself what survives; any other failure loses it for good.
                if !isOff { directory.forgetChanges() }
                throw error
            }
            directory.persist()
        }
    }

    // MARK: Inside

    fileprivate func locked<Value>(_ body: () throws(FileSystemError) -> Value) throws(FileSystemError) -> Value {
        lock.lock()
        defer { lock.unlock() }
        guard !isOff else { throw FileSystemError(.inputOutput, place: "power is off") }
        return try body()
    }

    /// Counts an operation and lets it fail if the plan says so.
    fileprivate func step(_ path: String) throws(FileSystemError) {
        count += 1
        guard let plan, plan.operationNumber == count else { return }
        switch plan.kind {
        case .fail(let code):
            throw FileSystemError(code, place: path)
        case .powerCut:
            isOff = true
            throw FileSystemError(.inputOutput, place: "power is off")
        }
    }

    fileprivate func reserve(_ growth: Int, _ path: String) throws(FileSystemError) {
        guard capacity != .max, growth > 0 else { return }
        var used = 0
        func add(_ directory: Directory) {
            for node in directory.names.values {
                used += (node as? File)?.byteCount ?? 0
                if let inner = node as? Directory { add(inner) }
            }
        }
        add(root)
        guard used + growth <= capacity else { throw FileSystemError(.noSpace, place: path) }
    }

    private func parts(_ path: String) -> [Substring] { path.split(separator: "/").filter { $0 != "." } }

    private func node(_ path: String) throws(FileSystemError) -> Node? {
        var node: Node = root
        for part in parts(path) {
            guard let directory = node as? Directory else { throw FileSystemError(.wrongKind, place: path) }
            guard let next = directory.names[String(part)] else { return nil }
            node = next
        }
        return node
    }

    private func directory(_ path: String) throws(FileSystemError) -> Directory {
        guard let node = try node(path) else { throw FileSystemError(.notFound, place: path) }
        guard let directory = node as? Directory else { throw FileSystemError(.wrongKind, place: path) }
        return directory
    }

    private func parent(_ path: String) throws(FileSystemError) -> (Directory, String) {
        let parts = parts(path)
        guard let name = parts.last else { throw FileSystemError(.invalidPath, place: path) }
        return (try directory(parts.dropLast().joined(separator: "/")), String(name))
    }
}

/// An open file of the simulated disk.
private final class Handle: OpenFile, @unchecked Sendable {
    // SAFETY: the file is touched under the disk's lock only.
    let path: String
    private let file: File
    private let isWritable: Bool
    private let disk: SimulatedFileSystem

    init(_ file: File, path: String, isWritable: Bool, of disk: SimulatedFileSystem) {
        self.file = file
        self.path = path
        self.isWritable = isWritable
        self.disk = disk
    }

    deinit {
        try? disk.locked { () throws(FileSystemError) in file.unlock(ObjectIdentifier(self)) }
    }

    func byteCount() throws(FileSystemError) -> Int {
        try disk.locked { () throws(FileSystemError) in file.byteCount }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int) throws(FileSystemError) -> Int {
        try disk.locked { () throws(FileSystemError) in
            try disk.checkSectors(path)
            return unsafe file.read(into: buffer, at: byteOffset)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int) throws(FileSystemError) {
        try change { () throws(FileSystemError) in
            let growth = byteOffset + bytes.count - file.byteCount
            do throws(FileSystemError) {
                try disk.reserve(growth, path)
                try disk.step(path)
            } catch {
                // As on a real disk, the first half may have arrived.
                if error.code == .noSpace || error.code == .inputOutput {
                    unsafe file.write(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), at: byteOffset)
                }
                throw error
            }
            unsafe file.write(bytes, at: byteOffset)
        }
    }

    func truncate(to byteCount: Int) throws(FileSystemError) {
        try change { () throws(FileSystemError) in
            try disk.step(path)
            file.resize(to: byteCount)
        }
    }

    func preallocate(byteCount: Int) throws(FileSystemError) {
        try change { () throws(FileSystemError) in
            try disk.reserve(byteCount - file.byteCount, path)
            try disk.step(path)
            if byteCount > file.byteCount { file.resize(to: byteCount) }
        }
    }

    func synchronizeData() throws(FileSystemError) {
        try disk.locked { () throws(FileSystemError) in
            do throws(FileSystemError) {
                try disk.step(path)
            } catch {
                if !disk.isPoweredOff { file.forgetChanges() }
                throw error
            }
            file.persist()
        }
    }

    func map(byteCount: Int) throws(FileSystemError) -> MappedFile {
        try disk.locked { () throws(FileSystemError) in
            guard byteCount <= file.byteCount else { throw FileSystemError(.endOfFile, place: path) }
            return file.map(byteCount: byteCount)
        }
    }

    func lock(_ kind: FileLockKind, waits: Bool) throws(FileSystemError) {
        let deadline = Date().addingTimeInterval(10)
        while true {
            let isTaken = try disk.locked { () throws(FileSystemError) in file.lock(kind, ObjectIdentifier(self)) }
            if isTaken { return }
            guard waits, Date() < deadline else { throw FileSystemError(.wouldBlock, place: path) }
            usleep(1_000)
        }
    }

    func unlock() throws(FileSystemError) {
        try disk.locked { () throws(FileSystemError) in file.unlock(ObjectIdentifier(self)) }
    }

    private func change(_ body: () throws(FileSystemError) -> Void) throws(FileSystemError) {
        try disk.locked { () throws(FileSystemError) in
            guard isWritable else { throw FileSystemError(.permission, place: path) }
            try body()
        }
    }
}
