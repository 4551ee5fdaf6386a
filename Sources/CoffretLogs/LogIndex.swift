// Which entries are kept, and which were. The one thing to keep true: an entry that the index names was verified before it
// was stored, so that reading it back costs no signature; and what was dropped is known by its name.

internal import CoffretBase
package import CoffretHistory
package import CoffretStorage

/// Entries of one vault by dot, and dropped ones by name (Spec/history.md section 15, L4).
///
/// A record of some 50 bytes for each entry; those of one log lie beside each other, so that appending to a log rewrites
/// one leaf of the tree. Derived, but for dropped names: `LogRepository` makes it anew from the blobs if it is damaged.
package struct LogIndex {
    /// An entry that is kept, or a bare form.
    package struct Record: Equatable, Sendable {
        package let name: BlobName
        package let dot: Dot
        package let height: Height
        /// Of its content.
        package let byteCount: Int
        /// E10: not the entry, but what is left of it.
        package let isBare: Bool
        /// Whether it was ever applied here.
        package var wasApplied: Bool
    }

    /// An entry that is kept no more.
    package struct Dropped: Equatable, Sendable {
        package let dot: Dot
        package let height: Height
        package let wasApplied: Bool
        /// P4: it is not taken again.
        package let isForGood: Bool
    }

    private static let entryKind: UInt8 = 0x65
    private static let droppedKind: UInt8 = 0x64
    private static let leftKind: UInt8 = 0x6C
    private static let appliedFlag: UInt8 = 1
    private static let bareFlag: UInt8 = 2
    private static let forGoodFlag: UInt8 = 4

    private var index: IndexTree
    /// Of some logs a number above which nothing is kept: who appends to them need not look whether it is here.
    private var ends: [InstanceID: EntryNumber] = [:]
    /// Whether anything was ever dropped; nil before somebody had to know.
    private var hasDropped: Bool?

    init(trees: FactTrees, tree: FactTree) { index = IndexTree(trees: trees, tree: tree) }

    /// Of what was flushed.
    var tree: FactTree { index.tree }

    mutating func flush() throws(StorageError) { try index.flush() }

    // MARK: Entries that are kept

    /// All that is kept with a dot, bare forms among it.
    package func records(at dot: Dot) throws(StorageError) -> [Record] {
        try records(of: dot.instance, from: dot.number, to: dot.number)
    }

    /// What is kept of a log from a number on, ascending by number and name.
    package func records(
        of instance: InstanceID, from number: EntryNumber = 1, to last: EntryNumber = .max
    ) throws(StorageError) -> [Record] {
        let entity = EntityID(kind: Self.entryKind, uuid: instance)
        var found: [Record] = []
        let start = Self.key(entity, number, nil)
        for fact in try index.facts(of: entity, from: start, while: { $0.dot.number <= last }) {
            found += Self.records(fact)
        }
        return found
    }

    package func record(of name: BlobName, at dot: Dot) throws(StorageError) -> Record? {
        try index.facts(under: Self.key(of: name, at: dot)).flatMap(Self.records).first { $0.name == name }
    }

    /// Logs of which anything is kept.
    package func instances() throws(StorageError) -> [InstanceID] {
        try index.entities(kind: Self.entryKind).map(\.uuid)
    }

    /// Takes a new entry in; one that was dropped may come again, to prove a checkpoint.
    ///
    /// - Returns: false for one that is here already.
    mutating func add(_ record: Record) throws(StorageError) -> Bool {
        let key = Self.key(of: record.name, at: record.dot)
        let others = try isBehindEnd(record.dot) ? [] : index.facts(under: key).flatMap(Self.records)
        if others.contains(where: { $0.name == record.name }) { return false }
        var record = record
        if try mayHaveDropped(), let before = try dropped(record.name) {
            record.wasApplied = record.wasApplied || before.wasApplied
            index.set([], under: Self.droppedKey(record.name))
        }
        set(record, beside: others, under: key)
        return true
    }

    /// Whether an entry is behind all that is kept of its log. What is asked once of a log costs nothing when the next is appended.
    private mutating func isBehindEnd(_ dot: Dot) throws(StorageError) -> Bool {
        if let end = ends[dot.instance] { return dot.number > end }
        let entity = EntityID(kind: Self.entryKind, uuid: dot.instance)
        var isAny = false
        _ = try index.facts(of: entity, from: Self.key(entity, dot.number, nil)) { _ in
            defer { isAny = true }
            return !isAny
        }
        if !isAny { ends[dot.instance] = dot.number }
        return !isAny
    }

    private mutating func mayHaveDropped() throws(StorageError) -> Bool {
        if let hasDropped { return hasDropped }
        let found = try !index.entities(kind: Self.droppedKind).isEmpty
        hasDropped = found
        return found
    }

    /// Changes the record of an entry, or takes one in.
    mutating func put(_ record: Record) throws(StorageError) {
        let key = Self.key(of: record.name, at: record.dot)
        set(record, beside: try index.facts(under: key).flatMap(Self.records), under: key)
    }

    private mutating func set(_ record: Record, beside others: [Record], under key: FactKey) {
        let all = others.filter { $0.name != record.name } + [record]
        if let end = ends[record.dot.instance] { ends[record.dot.instance] = max(end, record.dot.number) }
        // Names with the same first half, at one dot: nobody meets that but by looking for it for years.
        if all.count <= Self.recordCountMax { index.set([Self.fact(key, all)], under: key) }
    }

    mutating func noteApplied(_ name: BlobName, at dot: Dot) throws(StorageError) {
        guard var record = try record(of: name, at: dot), !record.wasApplied else { return }
        record.wasApplied = true
        try put(record)
    }

    private mutating func remove(_ name: BlobName, at dot: Dot) throws(StorageError) {
        let key = Self.key(of: name, at: dot)
        let rest = try index.facts(under: key).flatMap(Self.records).filter { $0.name != name }
        index.set(rest.isEmpty ? [] : [Self.fact(key, rest)], under: key)
    }

    /// Takes an own entry out of its log (I2): a server that has it gives it again. Its blob lies here until the next
    /// compaction.
    mutating func withdraw(_ record: Record) throws(StorageError) {
        try remove(record.name, at: record.dot)
        let key = Self.key(of: record.name, kind: Self.leftKind, "l")
        index.set([Fact(key: key, content: .inline([]), dot: record.dot, height: record.height)], under: key)
    }

    /// The dot of an entry that left its log, whether or not it came again since.
    package func leftDot(of name: BlobName) throws(StorageError) -> Dot? {
        try index.facts(under: Self.key(of: name, kind: Self.leftKind, "l")).first?.dot
    }

    /// Calls `body` with every record, ascending by log and number; for checks.
    package func forEachRecord(_ body: (Record) throws(StorageError) -> Void) throws(StorageError) {
        try index.forEachFact { (fact) throws(StorageError) in
            guard fact.key.entity.kind == Self.entryKind else { return }
            for record in Self.records(fact) { try body(record) }
        }
    }

    // MARK: Entries that were dropped

    package func dropped(_ name: BlobName) throws(StorageError) -> Dropped? {
        guard let fact = try index.facts(under: Self.droppedKey(name)).first, let flags = fact.inlineValue?.first else {
            return nil
        }
        return Self.dropped(fact, flags)
    }

    /// Calls `body` with each entry that was dropped.
    package func forEachDropped(_ body: (BlobName, Dropped) throws(StorageError) -> Void) throws(StorageError) {
        try index.forEachFact { (fact) throws(StorageError) in
            guard fact.key.entity.kind == Self.droppedKind, let flags = fact.inlineValue?.first,
                let name = BlobName(bytes: fact.key.entity.uuid.bytes + fact.key.element)
            else { return }
            try body(name, Self.dropped(fact, flags))
        }
    }

    private static func dropped(_ fact: Fact, _ flags: UInt8) -> Dropped {
        Dropped(
            dot: fact.dot, height: fact.height, wasApplied: flags & appliedFlag != 0,
            isForGood: flags & forGoodFlag != 0)
    }

    mutating func drop(_ record: Record, isForGood: Bool) throws(StorageError) {
        try remove(record.name, at: record.dot)
        hasDropped = true
        let fact = Self.fact(
            record.name,
            Dropped(dot: record.dot, height: record.height, wasApplied: record.wasApplied, isForGood: isForGood))
        index.set([fact], under: fact.key)
    }

    /// Takes over what another index knows of entries that were dropped and are not here again, and of those that left.
    mutating func takeDropped(from other: LogIndex) throws(StorageError) {
        var taken: [Fact] = []
        try other.index.forEachFact { (fact) in if fact.key.entity.kind == Self.leftKind { taken.append(fact) } }
        try other.forEachDropped { (name, dropped) throws(StorageError) in
            guard try record(of: name, at: dropped.dot) == nil else { return }
            taken.append(Self.fact(name, dropped))
        }
        for fact in taken { index.set([fact], under: fact.key) }
        if !taken.isEmpty { hasDropped = true }
    }

    // MARK: Layout

    private static let recordByteCount = 37
    private static let recordCountMax = FactLimits.inlineValueByteCountMax / recordByteCount

    /// Element: number (8) ‖ the first half of the name's first half (8).
    private static func key(_ entity: EntityID, _ number: EntryNumber, _ name: BlobName?) -> FactKey {
        let prefix = name.map { Array($0.bytes[..<8]) } ?? [UInt8](repeating: 0, count: 8)
        return FactKey(entity: entity, attribute: "e", element: number.bigEndianBytes + prefix)
    }

    private static func key(of name: BlobName, at dot: Dot) -> FactKey {
        key(EntityID(kind: entryKind, uuid: dot.instance), dot.number, name)
    }

    private static func droppedKey(_ name: BlobName) -> FactKey { key(of: name, kind: droppedKind, "d") }

    private static func key(of name: BlobName, kind: UInt8, _ attribute: Attribute) -> FactKey {
        guard let half = UniqueID(bytes: name.bytes[..<16]) else { preconditionFailure("a name has 32 bytes") }
        return FactKey(
            entity: EntityID(kind: kind, uuid: half), attribute: attribute, element: Array(name.bytes[16...]))
    }

    private static func fact(_ name: BlobName, _ dropped: Dropped) -> Fact {
        let flags = (dropped.wasApplied ? appliedFlag : 0) | (dropped.isForGood ? forGoodFlag : 0)
        return Fact(
            key: droppedKey(name), content: .inline([flags]), dot: dropped.dot, height: dropped.height)
    }

    /// Value: for each record flags (1) ‖ byte count (4) ‖ name (32).
    private static func fact(_ key: FactKey, _ records: [Record]) -> Fact {
        var value: [UInt8] = []
        for record in records {
            value.append((record.wasApplied ? appliedFlag : 0) | (record.isBare ? bareFlag : 0))
            value.appendBigEndian(UInt32(record.byteCount))
            value += record.name.bytes
        }
        return Fact(key: key, content: .inline(value), dot: records[0].dot, height: records[0].height)
    }

    private static func records(_ fact: Fact) -> [Record] {
        let value = fact.inlineValue ?? []
        return stride(from: 0, to: value.count - value.count % recordByteCount, by: recordByteCount).compactMap {
            start in
            guard let name = BlobName(bytes: value[start + 5..<start + recordByteCount]),
                let byteCount = UInt32(bigEndianBytes: Array(value[start + 1..<start + 5]))
            else { return nil }
            return Record(
                name: name, dot: fact.dot, height: fact.height, byteCount: Int(byteCount),
                isBare: value[start] & bareFlag != 0, wasApplied: value[start] & appliedFlag != 0)
        }
    }
}
