// A vault's whole history, written into another vault. Invariant: every state that could be seen in one can be seen in the
// other, conflicts included; and nothing of the other vault's keys is needed afterwards.

internal import CoffretBase
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage

/// Copies entries, oldest first, with their times. Files are sealed anew; those of locked notes, whose keys nobody has here,
/// are copied as they lie.
struct HistoryCopy {
    private let source: LogRepository
    private let sourceFiles: AttachmentStore
    private let sourceVault: Vault
    private let target: Vault
    /// Places of facts in the other history by those in this one.
    private var dots: [Dot: Dot] = [:]
    private var references: [[UInt8]: [UInt8]] = [:]

    /// - Parameters:
    ///   - source: open to read.
    ///   - target: empty, open for writing.
    init(from source: Vault, to target: Vault) throws {
        sourceVault = source
        self.source = source.repository
        sourceFiles = try source.contents()
        self.target = target
    }

    mutating func run() throws {
        var names: [BlobName] = []
        var kept: Set<Dot> = []
        var walk = try inStorage(source.walk())
        let dropped = try inStorage(source.droppedFrontier())
        while let entry = try inStorage(walk.next()) {
            if dropped.covers(entry.dot) { continue }
            names.append(entry.name)
            kept.insert(entry.dot)
        }
        try copyStart(without: kept)
        for name in names.reversed() {
            guard let entry = try inStorage(source.entry(named: name)) else { continue }
            try copy(entry)
        }
        _ = try inStorage(target.repository.checkpoint())
    }

    /// Facts that stood before the first entry that is kept. Several of one key go into one entry each.
    private mutating func copyStart(without kept: Set<Dot>) throws {
        var rest = try inStorage(source.beginning(without: kept))
        while !rest.isEmpty {
            var (layer, next): ([Fact], [Fact]) = ([], [])
            for fact in rest {
                if layer.last?.key == fact.key { next.append(fact) } else { layer.append(fact) }
            }
            let time = try inStorage(source.timeBelowHistory()) ?? target.clock.now
            let dot = try write(
                try layer.map { fact in
                    let value = try transformed(inStorage(source.present().value(of: fact)), under: fact.key)
                    return LogChange(key: fact.key, value: value, replaces: [])
                }, time: time)
            if let dot { for fact in layer { dots[fact.dot] = dot } }
            rest = next
        }
    }

    private mutating func copy(_ entry: VerifiedEntry) throws {
        var changes: [LogChange] = []
        for change in try inStorage(source.changes(of: entry)) {
            var value: [UInt8]?
            if change.content != .retraction {
                value = try transformed(
                    inStorage(source.value(of: change.content, under: change.key)), under: change.key)
            }
            changes.append(
                LogChange(key: change.key, value: value, replaces: change.replaces.compactMap { dots[$0] }))
        }
        if let dot = try write(changes, time: entry.body.time) { dots[entry.dot] = dot }
    }

    private func write(_ changes: [LogChange], time: Milliseconds) throws -> Dot? {
        try inStorage(target.repository.commit(changes, time: time))?.dot
    }

    // MARK: Values

    private mutating func transformed(_ value: [UInt8], under key: FactKey) throws -> [UInt8] {
        if key.attribute == RecordAttribute.hint {
            let record = key.entity.uuid
            guard let hint = try? sourceVault.openHint(value, of: record) else { return value }
            return try target.hintChange(hint, of: record).value ?? value
        }
        guard NamedFile.isNamed(by: key), let bytes = try? FactValue.bytes(value) else { return value }
        if key.attribute == AttachmentAttribute.content { return FactValue.encode(try copyFile(bytes)) }
        if let file = UniqueID(bytes: bytes) { try target.contents().copySealed(file, from: sourceFiles) }
        return value
    }

    /// - Returns: the reference of the copy; the old one for a file that is not here.
    private mutating func copyFile(_ encoded: [UInt8]) throws -> [UInt8] {
        if let known = references[encoded] { return known }
        guard let reference = try? AttachmentReference.parse(encoded),
            let reader = try? sourceFiles.makeReader(reference)
        else { return encoded }
        let store = try target.contents()
        let copy = try inStorage { () throws(StorageError) in
            let writer = try store.makeWriter()
            try unsafe reader.read { (piece) throws(StorageError) in try unsafe writer.write(piece) }
            return try writer.finish().encode()
        }
        references[encoded] = copy
        return copy
    }
}

extension AttachmentStore {
    /// Copies a file of a locked note as it lies, if it is there and not here.
    func copySealed(_ file: UniqueID, from source: AttachmentStore) throws {
        let (isThere, isHere) = try (inStorage(source.containsFile(file)), inStorage(containsFile(file)))
        guard isThere, !isHere else { return }
        let writer = try inStorage(makeSealedWriter(file))
        do {
            try inStorage(source.readSealed(file) { (piece) throws(StorageError) in try writer.write(piece) })
            try inStorage(writer.finish())
        } catch {
            writer.cancel()
            throw error
        }
    }
}
