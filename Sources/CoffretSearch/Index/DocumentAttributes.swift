// Attributes of every document that filters, lists and ranking need, in memory. Invariant: a record stands at the
// position that is the document's number in the database, and nowhere else; a number is never used for two texts.

internal import CoffretBase

/// The attributes of one document, or what else became of a number.
///
/// Layout (16 bytes): kind (1) ‖ flags (1) ‖ text length in units of 16 bytes (2) ‖
/// modified (6) ‖ created (6), the times in milliseconds since the year 0, cut to what fits.
///
/// Numbers are given to documents and to texts. A new document's text has the document's number. A changed text gets a
/// number of its own, whose record leads to the document; the one that it had is not used again.
/// Kind 0: the number was never used; 1: it was, and is no more; 2: a text of the document whose number
/// stands in the place of `created`.
struct DocumentAttributes: Equatable {
    static let byteCount = 16
    /// The bits of `Flag`.
    static let flagBits: UInt8 = 7
    static let attachments: UInt8 = 8
    static let tagged: UInt8 = 16
    static let locked: UInt8 = 32
    static let conflicted: UInt8 = 64
    /// The text does not have the document's own number.
    static let moved: UInt8 = 128

    private static let endedKind: UInt8 = 1
    private static let textKind: UInt8 = 2
    /// What belonged to this number is gone.
    static let ended = DocumentAttributes(kind: endedKind)

    var kind: UInt8 = 0
    var flags: UInt8 = 0
    var lengthUnits: UInt16 = 0
    var modified: Milliseconds = 0
    var created: Milliseconds = 0

    init() {}

    private init(kind: UInt8) { self.kind = kind }

    /// The record of a text of a document.
    init(textOf number: Int64) {
        kind = Self.textKind
        created = Self.timeOrigin + number
        modified = Self.timeOrigin
    }

    /// Whether this is a document.
    var isDocument: Bool { kind > Self.textKind }

    /// The document of a text with a number of its own.
    fileprivate var textOwner: Int64? { kind == Self.textKind ? created - Self.timeOrigin : nil }

    init(_ document: SearchDocument, textByteCount: Int) {
        kind = document.kind
        flags =
            (document.flags.rawValue & Self.flagBits) | (document.hasAttachments ? Self.attachments : 0)
            | (document.tags.isEmpty ? 0 : Self.tagged) | (document.isLocked ? Self.locked : 0)
            | (document.hasConflicts ? Self.conflicted : 0)
        lengthUnits = UInt16(clamping: textByteCount / 16)
        modified = Self.clamped(document.modifiedMilliseconds)
        created = Self.clamped(document.createdMilliseconds)
    }

    func has(_ bit: UInt8) -> Bool { flags & bit != 0 }
    func has(_ flag: Flag) -> Bool { flags & flag.bit != 0 }
    /// The flags that a person set.
    var itemFlags: FlagSet { Self.itemFlags(flags) }
    static func itemFlags(_ flags: UInt8) -> FlagSet { FlagSet(rawValue: flags & flagBits) }

    private static let timeOrigin: Milliseconds = CivilTime.range.lowerBound
    private static let timeMax: Milliseconds = 1 << 48 - 1

    /// The nearest time that six bytes hold: the years 0 to about 8900.
    private static func clamped(_ time: Milliseconds) -> Milliseconds {
        min(max(time, timeOrigin), timeOrigin + timeMax)
    }

    func write(to bytes: UnsafeMutableRawPointer) {
        unsafe bytes.storeBytes(of: kind, as: UInt8.self)
        unsafe bytes.storeBytes(of: flags, toByteOffset: 1, as: UInt8.self)
        unsafe bytes.storeBytes(of: lengthUnits.bigEndian, toByteOffset: 2, as: UInt16.self)
        let modified = UInt64(modified - Self.timeOrigin)
        let created = UInt64(created - Self.timeOrigin)
        unsafe bytes.storeBytes(of: UInt32(modified >> 16).bigEndian, toByteOffset: 4, as: UInt32.self)
        unsafe bytes.storeBytes(of: UInt16(modified & 0xFFFF).bigEndian, toByteOffset: 8, as: UInt16.self)
        unsafe bytes.storeBytes(of: UInt16(created >> 32).bigEndian, toByteOffset: 10, as: UInt16.self)
        unsafe bytes.storeBytes(of: UInt32(created & 0xFFFF_FFFF).bigEndian, toByteOffset: 12, as: UInt32.self)
    }

    init(reading bytes: UnsafeRawPointer) {
        kind = unsafe bytes.load(as: UInt8.self)
        flags = unsafe bytes.load(fromByteOffset: 1, as: UInt8.self)
        lengthUnits = unsafe UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        let modified = unsafe UInt64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
        let modifiedLow = unsafe UInt64(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self)))
        let created = unsafe UInt64(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self)))
        let createdLow = unsafe UInt64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self)))
        self.modified = Int64(modified << 16 | modifiedLow) + Self.timeOrigin
        self.created = Int64(created << 32 | createdLow) + Self.timeOrigin
    }
}

/// The attributes of all documents, by their numbers.
///
/// In the database they lie in blocks of 250, so that an edit changes one page and all of them are
/// read in one go: 1.6 MB for 100,000 documents.
struct AttributeTable {
    static let blockRecordCount = 250

    private(set) var records: [DocumentAttributes] = []
    private(set) var documentCount = 0
    private(set) var lengthUnitsTotal = 0

    /// Documents and texts are numbered from 1 to this.
    var numberMax: Int { max(records.count - 1, 0) }

    /// A number that was never used.
    var nextNumber: Int64 { Int64(numberMax + 1) }

    /// The document whose present words stand under a number in the full-text table; nil if these are gone.
    func document(ofText number: Int64) -> Int64? {
        let record = self[number]
        if record.isDocument { return record.has(DocumentAttributes.moved) ? nil : number }
        return record.textOwner
    }

    var lengthUnitsMean: Double { documentCount == 0 ? 1 : max(1, Double(lengthUnitsTotal) / Double(documentCount)) }

    subscript(number: Int64) -> DocumentAttributes {
        get { records.indices.contains(Int(number)) ? records[Int(number)] : DocumentAttributes() }
        set {
            let index = Int(number)
            if index >= records.count {
                records.append(contentsOf: repeatElement(DocumentAttributes(), count: index + 1 - records.count))
            }
            count(records[index], sign: -1)
            records[index] = newValue
            count(newValue, sign: 1)
        }
    }

    private mutating func count(_ record: DocumentAttributes, sign: Int) {
        guard record.isDocument else { return }
        documentCount += sign
        lengthUnitsTotal += sign * Int(record.lengthUnits)
    }

    static func block(of number: Int64) -> Int64 { number / Int64(blockRecordCount) }

    /// One block as it lies in the database.
    func encodeBlock(_ block: Int64) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.blockRecordCount * DocumentAttributes.byteCount)
        let first = Int(block) * Self.blockRecordCount
        unsafe bytes.withUnsafeMutableBytes { buffer in
            for index in 0..<Self.blockRecordCount {
                let record = first + index < records.count ? records[first + index] : DocumentAttributes()
                unsafe record.write(to: buffer.baseAddress! + index * DocumentAttributes.byteCount)
            }
        }
        return bytes
    }

    /// Takes in one block; false if it has the wrong size.
    mutating func decodeBlock(_ block: Int64, _ bytes: RawSpan) -> Bool {
        guard bytes.byteCount == Self.blockRecordCount * DocumentAttributes.byteCount, block >= 0 else { return false }
        let first = Int(block) * Self.blockRecordCount
        unsafe bytes.withUnsafeBytes { buffer in
            for index in 0..<Self.blockRecordCount {
                let record = unsafe DocumentAttributes(
                    reading: buffer.baseAddress! + index * DocumentAttributes.byteCount)
                guard record.kind != 0 else { continue }
                // Blocks come in order, and most records stand right behind the one before.
                if first + index == records.count {
                    records.append(record)
                    count(record, sign: 1)
                } else {
                    self[Int64(first + index)] = record
                }
            }
        }
        return true
    }
}
