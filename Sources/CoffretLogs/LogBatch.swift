// One own entry in the making. The one thing to keep true: small and large entries go through the same code; and nothing
// counts before the transaction is durable.

package import CoffretBase
package import CoffretHistory
package import CoffretStorage

/// Collects changes and writes them as one entry.
///
/// Long values are handed to the transaction at once, so that memory holds some 300 bytes for each change. End it with
/// `commit` or `cancel`; the repository takes no other entry in between.
package final class LogBatch {
    private let repository: LogRepository
    private let transaction: BlobTransaction
    /// At most one for each key; `replaces` in no order yet.
    private var changes: [Change] = []
    private var places: [FactKey: Int] = [:]
    private var listedByteCount = 0
    /// Set when the changes become too many for a list: from then on long values go into blobs.
    private var isBulk = false

    /// What a change costs in a list beside its key and value, at most, without what it replaces.
    private static let changeOverhead = 40
    private static let referenceByteCount = 16

    init(repository: LogRepository, transaction: BlobTransaction) {
        self.repository = repository
        self.transaction = transaction
    }

    /// Takes a change; a later one of the same key wins. A retraction of nothing is left out.
    ///
    /// - Throws: `.factValueTooLarge`, and what reading and writing blobs throws.
    package func add(_ change: LogChange) throws(StorageError) {
        let current = try repository.ask { (machine) throws(StorageError) in try machine.facts(under: change.key) }
        let replaced = Array((change.replaces ?? current.keys.sorted()).prefix(HistoryLimits.referenceCountMax))
        if change.value == nil, replaced.isEmpty { return remove(change.key) }
        let content =
            if let value = change.value {
                try self.content(value, of: change, current: current)
            } else { ChangeContent.retraction }
        listedByteCount += change.key.bytes.count + content.listedByteCount + Self.changeOverhead
        listedByteCount += replaced.count * Self.referenceByteCount
        put(Change(key: change.key, content: content, replaces: replaced))
        isBulk =
            isBulk || changes.count > HistoryLimits.changeCountMax
            || listedByteCount > HistoryLimits.changesByteCountMax
    }

    /// Takes a change as it is: of an entry that is written again (I4). Its values are stored here.
    package func add(_ change: Change) {
        listedByteCount += change.key.bytes.count + change.content.listedByteCount + Self.changeOverhead
        listedByteCount += change.replaces.count * Self.referenceByteCount
        put(change)
        isBulk =
            isBulk || changes.count > HistoryLimits.changeCountMax
            || listedByteCount > HistoryLimits.changesByteCountMax
    }

    private func put(_ change: Change) {
        if let place = places[change.key] {
            changes[place] = change
        } else {
            places[change.key] = changes.count
            changes.append(change)
        }
    }

    private func remove(_ key: FactKey) {
        guard let place = places.removeValue(forKey: key) else { return }
        changes.remove(at: place)
        for (key, other) in places where other > place { places[key] = other - 1 }
    }

    // MARK: Values

    private func content(
        _ value: [UInt8], of change: LogChange, current: CurrentFacts
    ) throws(StorageError) -> ChangeContent {
        guard value.count <= FactLimits.valueByteCountMax - 1 else {
            throw StorageError(.factValueTooLarge, place: "\(value.count) bytes")
        }
        let shown = current.max {
            EntryRank(height: $0.value.height, dot: $0.key) < EntryRank(height: $1.value.height, dot: $1.key)
        }?.value.content
        let stored =
            if repository.isText(change.key) {
                change.isWhole ? ValueEncoder.text(value, base: nil) : try text(value, after: shown)
            } else { ValueEncoder.plain(value) }
        if stored.count <= FactLimits.inlineValueByteCountMax { return .inPlace(stored) }
        if stored.count <= FactLimits.commitValueByteCountMax, !isBulk {
            return .salted(salt: repository.random.bytes(count: FactLimits.saltByteCount), bytes: stored)
        }
        var salt: [UInt8]?
        if stored.count > FactLimits.wholeValueByteCountMax, case .inBlobs(let before)? = shown {
            salt = try ValueReader(reader: transaction, unstored: [:]).salt(of: before)
        }
        let writer = ValueWriter(writer: transaction, cutter: repository.cutter, random: repository.random)
        return .inBlobs(try writer.write(stored, previousSalt: salt))
    }

    /// The stored value of a text. The base of a delta that lies in an entry alone is stored by its name now, so that readers
    /// find it.
    private func text(_ value: [UInt8], after shown: ChangeContent?) throws(StorageError) -> [UInt8] {
        let base = try base(of: shown, for: value)
        let stored = ValueEncoder.text(value, base: base)
        guard let shown, let base, base.name == shown.blobName, ValueForm(rawValue: stored[0]) == .delta else {
            return stored
        }
        // It may be named by a tree that is not stored yet.
        var content = shown.unstored
        if content == nil { content = try repository.unstoredContent(of: base.name) }
        if let content { try transaction.writeBlob(type: .value, bytes: content) }
        return stored
    }

    /// The last whole version under a key, for a delta (Z3).
    private func base(of shown: ChangeContent?, for value: [UInt8]) throws(StorageError) -> ValueBase? {
        guard let shown, value.count > ValueLimits.plainByteCountMax, value.count <= ValueLimits.deltaByteCountMax,
            let now = try repository.storedValue(of: shown),
            let name = ValueBase.name(behind: now, name: shown.blobName)
        else { return nil }
        let stored = name == shown.blobName ? now : try repository.storedValue(named: name)
        return stored.flatMap { ValueBase(name: name, stored: $0) }
    }

    // MARK: The entry

    /// Writes the entry and makes it durable.
    ///
    /// - Parameters:
    ///   - time: for show.
    ///   - statement: sealed words about other vaults (E9).
    ///   - rewrites: the entry that this one writes again (I4).
    /// - Returns: the entry; nil: there was nothing to change, and nothing was written.
    /// - Throws: `.readOnly` where this device may not write, or has no key for an entry; what transactions throw. Then
    ///   nothing has happened, and `cancel` is due.
    @discardableResult
    package func commit(
        time: Milliseconds, statement: [UInt8]? = nil, rewrites: Dot? = nil, keyLogNote: [UInt8]? = nil
    ) throws(StorageError) -> VerifiedEntry? {
        guard !changes.isEmpty || statement != nil || keyLogNote != nil else {
            cancel()
            return nil
        }
        let (place, context) = try repository.nextPlace()
        let own = context.instance
        let statement = statement ?? repository.statements?.next(of: own)
        let keyLogNote = keyLogNote ?? repository.keyLogNotes?.next()
        var sorted = changes.map { Change(key: $0.key, content: $0.content, replaces: $0.replaces.ordered(by: own)) }
            .sorted { $0.key < $1.key }
        changes = []
        // The bound is on the bytes as they are encoded; far below it nobody has to count them.
        if !isBulk, 2 * listedByteCount > HistoryLimits.changesByteCountMax {
            isBulk = ChangeTree.isNeeded(for: sorted, own: own)
        }
        if isBulk { sorted = try storeValues(of: sorted) }
        var body = EntryBody(
            context: context.name, number: place.number, before: place.before, height: place.height, time: time,
            seen: place.seen, statement: statement, rewrites: rewrites, keyLogNote: keyLogNote)
        let salt = repository.random.bytes(count: HistoryLimits.saltByteCount)
        if isBulk {
            let facts = ChangeTree.facts(
                of: sorted, by: Dot(own, place.number), height: place.height, value: \.inTree)
            body.changes = .tree(try repository.files.changes.build(facts, to: transaction).name, salt: salt)
        } else if !sorted.isEmpty {
            body.changes = .list(sorted, salt: salt)
        }
        return try write(body, context: context, changeCount: sorted.count)
    }

    /// Writes an entry that says what was seen, and nothing else (E2).
    func commitSeen(time: Milliseconds) throws(StorageError) {
        let (place, context) = try repository.nextPlace()
        let body = EntryBody(
            context: context.name, number: place.number, before: place.before, height: place.height, time: time,
            seen: place.seen)
        _ = try write(body, context: context, changeCount: 0)
    }

    private func write(
        _ body: EntryBody, context: EntryContext, changeCount: Int
    ) throws(StorageError) -> VerifiedEntry {
        guard let signingKey = repository.author.signingKey else { throw StorageError(.readOnly) }
        let written = body.sign(in: context, with: signingKey)
        let (hasStatement, hasNote) = (body.statement != nil, body.keyLogNote != nil)
        let before = try body.before.flatMap { (name) throws(StorageError) in try repository.files.entry(named: name) }
        if before?.body.context != body.context {
            try transaction.writeBlob(type: .entryContext, bytes: context.encode())
        }
        let name = try transaction.writeBlob(type: .entry, bytes: written.content)
        try transaction.commit(appendingHead: name)
        let entry = written.named(name)
        repository.files.remember(context, name: body.context)
        if hasStatement { repository.statements?.written() }
        if hasNote { repository.keyLogNotes?.written() }
        repository.take(entry, byteCount: written.content.count, changeCount: changeCount)
        if isBulk { repository.checkpointIfPossible() }
        return entry
    }

    /// Values that were to lie in the entry before it grew too large.
    private func storeValues(of changes: [Change]) throws(StorageError) -> [Change] {
        var result: [Change] = []
        result.reserveCapacity(changes.count)
        for change in changes {
            guard case .salted(_, let bytes) = change.content, let content = change.content.unstored else {
                result.append(change)
                continue
            }
            let name = try transaction.writeBlob(type: .value, bytes: content)
            let stored = StoredValue(name: name, byteCount: bytes.count)
            result.append(Change(key: change.key, content: .inBlobs(stored), replaces: change.replaces))
        }
        return result
    }

    /// Gives the entry up.
    package func cancel() { transaction.cancel() }
}

extension [Dot] {
    /// Own numbers ascending, then others ascending.
    fileprivate func ordered(by own: InstanceID) -> [Dot] {
        count < 2 ? self : filter { $0.instance == own }.sorted() + filter { $0.instance != own }.sorted()
    }
}

extension ChangeContent {
    /// Bytes that it takes in a list of changes, about.
    fileprivate var listedByteCount: Int {
        switch self {
        case .retraction: 1
        case .inPlace(let bytes), .salted(_, let bytes): bytes.count + 20
        case .inBlobs: 44
        }
    }
}
