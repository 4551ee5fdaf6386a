// Files and directories of the simulated disk: what programs see, what survives, and what lies between.

internal import CoffretBase
internal import Foundation

/// A file or a directory.
class Node {
    let mode: UInt32

    init(mode: UInt32) { self.mode = mode }
}

/// How much of what was not synced a power cut keeps.
private enum Survival: CaseIterable {
    case nothing, everything, someChanges, someSectors
}

/// A file: its bytes now, and as they survive.
@safe final class File: Node {
    private enum Change {
        case write(byteOffset: Int, [UInt8])
        case resize(Int)
    }

    private static let sectorByteCount = 512

    // SAFETY: an anonymous mapping of `reserved` bytes, of which the first `byteCount` hold the file; it is
    // shared with the regions that `map` gives out, and unmapped when the last of them goes.
    private var memory: Memory
    private(set) var byteCount = 0
    private var durable: [UInt8] = []
    private var changes: [Change] = []
    private var locks: [ObjectIdentifier: FileLockKind] = [:]

    override init(mode: UInt32) {
        memory = Memory(byteCount: 1 << 20)
        super.init(mode: mode)
    }

    /// Address space for a file, so that mapped regions see later writes. Pages cost nothing until used.
    @safe private final class Memory: @unchecked Sendable {
        // SAFETY: the pointer never changes; the bytes are touched under the disk's lock.
        let base: UnsafeMutableRawPointer
        let byteCount: Int

        init(byteCount: Int) {
            self.byteCount = byteCount
            let address = unsafe mmap(
                nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
            guard let address = unsafe address, unsafe address != MAP_FAILED else { fatalError("no address space") }
            unsafe base = unsafe address
        }

        deinit { unsafe munmap(base, byteCount) }
    }

    func copy() -> [UInt8] {
        unsafe [UInt8](UnsafeRawBufferPointer(start: memory.base, count: byteCount))
    }

    /// The file as programs see it, all of it synced.
    func copied() -> File {
        let file = File(mode: mode)
        file.replace(copy())
        file.persist()
        return file
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int) -> Int {
        let count = max(0, min(buffer.count, byteCount - byteOffset))
        if count > 0 { unsafe buffer.baseAddress!.copyMemory(from: memory.base + byteOffset, byteCount: count) }
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int) {
        guard bytes.count > 0 else { return }
        setCurrent(byteCount: max(byteCount, byteOffset + bytes.count))
        unsafe (memory.base + byteOffset).copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
        changes.append(.write(byteOffset: byteOffset, unsafe [UInt8](bytes)))
    }

    func resize(to byteCount: Int) {
        setCurrent(byteCount: byteCount)
        changes.append(.resize(byteCount))
    }

    /// Replaces all bytes.
    func replace(_ bytes: [UInt8]) {
        resize(to: 0)
        unsafe bytes.withUnsafeBytes { bytes in unsafe write(bytes, at: 0) }
    }

    func persist() {
        for change in changes { Self.apply(change, to: &durable) }
        changes = []
    }

    /// What a failed sync does: programs still see the changes, but no later sync will write them.
    func forgetChanges() { changes = [] }

    func map(byteCount: Int) -> MappedFile {
        let memory = memory
        return unsafe MappedFile(UnsafeRawBufferPointer(start: memory.base, count: byteCount)) { _ in
            // Keeps the memory alive as long as the region.
            withExtendedLifetime(memory) {}
        }
    }

    func lock(_ kind: FileLockKind, _ owner: ObjectIdentifier) -> Bool {
        let others = locks.filter { $0.key != owner }
        guard kind == .shared ? !others.values.contains(.exclusive) : others.isEmpty else { return false }
        locks[owner] = kind
        return true
    }

    func unlock(_ owner: ObjectIdentifier) { locks[owner] = nil }

    /// The file after a power cut.
    func surviving(_ generator: SeededGenerator) -> File {
        var bytes = durable
        let survival = generator.element(of: Survival.allCases)
        for change in changes {
            switch (survival, change) {
            case (.nothing, _): break
            case (.everything, _): Self.apply(change, to: &bytes)
            case (.someSectors, .write(let byteOffset, let written)):
                applySectors(byteOffset, written, to: &bytes, generator)
            case (.someChanges, _), (.someSectors, _):
                if generator.bool() { Self.apply(change, to: &bytes) }
            }
        }
        let file = File(mode: mode)
        file.replace(bytes)
        file.persist()
        return file
    }

    private func applySectors(
        _ byteOffset: Int, _ written: [UInt8], to bytes: inout [UInt8], _ generator: SeededGenerator
    ) {
        var start = 0
        while start < written.count {
            // Sectors are those of the disk, not of the write.
            let end = min(written.count, start + Self.sectorByteCount - (byteOffset + start) % Self.sectorByteCount)
            if generator.bool() {
                Self.apply(.write(byteOffset: byteOffset + start, Array(written[start..<end])), to: &bytes)
            }
            start = end
        }
    }

    private static func apply(_ change: Change, to bytes: inout [UInt8]) {
        switch change {
        case .write(let byteOffset, let written):
            let end = byteOffset + written.count
            if bytes.count < end { bytes.append(contentsOf: repeatElement(0, count: end - bytes.count)) }
            bytes.replaceSubrange(byteOffset..<end, with: written)
        case .resize(let byteCount):
            if byteCount <= bytes.count {
                bytes.removeSubrange(byteCount...)
            } else {
                bytes.append(contentsOf: repeatElement(0, count: byteCount - bytes.count))
            }
        }
    }

    private func setCurrent(byteCount newByteCount: Int) {
        if newByteCount > memory.byteCount {
            // Regions of before keep the old memory and no longer see writes; large files are rare here.
            let larger = Memory(byteCount: max(newByteCount, 64 << 20))
            unsafe larger.base.copyMemory(from: memory.base, byteCount: byteCount)
            memory = larger
        }
        if newByteCount < byteCount {
            unsafe (memory.base + newByteCount).initializeMemory(
                as: UInt8.self, repeating: 0, count: byteCount - newByteCount)
        }
        byteCount = newByteCount
    }
}

/// A directory: its names now, and as they survive.
final class Directory: Node {
    private enum Change {
        case set(String, Node?)
        /// One step: either both names change or none.
        case rename(String, String, Node)
    }

    private(set) var names: [String: Node] = [:]
    private var durable: [String: Node] = [:]
    private var changes: [Change] = []

    init() { super.init(mode: 0o700) }
    override init(mode: UInt32) { super.init(mode: mode) }

    func set(_ name: String, _ node: Node?) { record(.set(name, node)) }

    func rename(_ name: String, to newName: String) {
        if let node = names[name], name != newName { record(.rename(name, newName, node)) }
    }

    func persist() {
        for change in changes { Self.apply(change, to: &durable) }
        changes = []
    }

    func forgetChanges() { changes = [] }

    /// The directory after a power cut, with all below it; `made` keeps two names of one file one file.
    func surviving(_ generator: SeededGenerator, _ made: inout [ObjectIdentifier: Node]) -> Directory {
        var kept = durable
        let survival = generator.element(of: Survival.allCases)
        for change in changes {
            switch survival {
            case .nothing: break
            case .everything: Self.apply(change, to: &kept)
            case .someChanges, .someSectors: if generator.bool() { Self.apply(change, to: &kept) }
            }
        }
        let directory = Directory(mode: mode)
        for (name, node) in kept.sorted(by: { $0.key < $1.key }) {
            let copy =
                made[ObjectIdentifier(node)] ?? (node as? File)?.surviving(generator)
                ?? (node as? Directory)?.surviving(generator, &made)
            made[ObjectIdentifier(node)] = copy
            directory.set(name, copy)
        }
        directory.persist()
        return directory
    }

    /// The directory as programs see it, all of it synced.
    func copied() -> Directory {
        let directory = Directory(mode: mode)
        for (name, node) in names {
            directory.set(name, (node as? File)?.copied() ?? (node as? Directory)?.copied())
        }
        directory.persist()
        return directory
    }

    private func record(_ change: Change) {
        Self.apply(change, to: &names)
        changes.append(change)
    }

    private static func apply(_ change: Change, to names: inout [String: Node]) {
        switch change {
        case .set(let name, let node): names[name] = node
        case .rename(let name, let newName, let node):
            // What was dropped before may have left the old name with somebody else.
            if names[name] === node { names[name] = nil }
            names[newName] = node
        }
    }
}
