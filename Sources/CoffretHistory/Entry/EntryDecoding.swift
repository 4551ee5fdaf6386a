// Entries from bytes of anybody. The one thing to keep true: a body that is taken has every bound of section 16, and
// writing it again gives the same bytes.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretStorage

/// Reads the body of one entry, or of a bare form.
struct EntryDecoding {
    let own: InstanceID

    private var context: BlobName?
    private var number: EntryNumber?
    private var before: BlobName?
    private var height: Height?
    private var time: Milliseconds?
    private var seen = Frontier()
    /// The value of key 7, which can be read when key 10 was.
    private var list: Range<Int>?
    private var tree: BlobName?
    private var statement: [UInt8]?
    private var others: [InstanceID] = []
    private var rewrites: Dot?
    private var keyLogNote: [UInt8]?
    private var salt: [UInt8]?
    private var digest: Bytes32?
    private var encoding = EntryEncoding(bytes: [], pairCount: 0)

    init(own: InstanceID) { self.own = own }

    /// Keys of the format.
    static let keys: ClosedRange<UInt64> = 1...14

    /// The name of the context, by which a reader finds out whose entry it is.
    static func contextName(of body: ArraySlice<UInt8>) throws(CBORError) -> BlobName {
        try unsafe body.span.withUnsafeBytes { (buffer) throws(CBORError) in
            var decoder = unsafe CBORDecoder(over: buffer)
            var map = try decoder.readMapHeader()
            try decoder.expectKey(1, in: &map)
            return try decoder.readName()
        }
    }

    /// Reads all of `body`.
    ///
    /// - Throws: `.unexpectedKey` for an unknown key, and others for what section 3 does not allow.
    static func decode(
        _ body: ArraySlice<UInt8>, own: InstanceID
    ) throws(CBORError) -> (body: EntryBody, encoding: EntryEncoding) {
        var decoding = EntryDecoding(own: own)
        let result = try unsafe body.span.withUnsafeBytes { (buffer) throws(CBORError) in
            try unsafe withCBORDecoder(over: buffer) { (decoder) throws(CBORError) in
                var map = try decoder.readMapHeader()
                decoding.encoding.pairCount = map.remaining
                while try decoding.readPair(in: &map, from: &decoder) {}
                return try decoding.body(from: decoder)
            }
        }
        decoding.encoding.bytes = Array(body)
        return (result, decoding.encoding)
    }

    private mutating func readPair(
        in map: inout CBORMapPosition, from decoder: inout CBORDecoder
    ) throws(CBORError) -> Bool {
        let start = decoder.byteOffset
        guard let key = try decoder.readUnsignedKey(in: &map) else { return false }
        switch key {
        case 1: context = try decoder.readName()
        case 2: number = try decoder.readNumber()
        case 3: before = try decoder.readName()
        case 4: height = try decoder.readNumber()
        case 5: time = try decoder.readSigned()
        case 6: seen = try readSeen(from: &decoder)
        case 7:
            let value = decoder.byteOffset
            try decoder.skipItem()
            list = value..<decoder.byteOffset
            encoding.changes = start..<decoder.byteOffset
        case 8:
            tree = try decoder.readName()
            guard list == nil else { throw CBORError(.unexpectedItem, byteOffset: start) }
            encoding.changes = start..<decoder.byteOffset
        case 9: statement = try decoder.readNonEmptyBytes(countMax: HistoryLimits.statementByteCountMax)
        case 10: others = try readOthers(from: &decoder)
        case 11: rewrites = try decoder.readDot()
        case 12: keyLogNote = try decoder.readNonEmptyBytes(countMax: HistoryLimits.keyLogNoteByteCountMax)
        case 13:
            salt = try decoder.readBytes(count: HistoryLimits.saltByteCount)
            encoding.salt = start..<decoder.byteOffset
        case 14:
            digest = try decoder.readBytes32()
            encoding.stated = start..<decoder.byteOffset
        default: throw CBORError(.unexpectedKey, byteOffset: start)
        }
        return true
    }

    private func readSeen(from decoder: inout CBORDecoder) throws(CBORError) -> Frontier {
        let start = decoder.byteOffset
        let seen = try decoder.readFrontier(countMax: HistoryLimits.referenceCountMax)
        guard !seen.isEmpty, seen[own] == nil else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return seen
    }

    private func readOthers(from decoder: inout CBORDecoder) throws(CBORError) -> [InstanceID] {
        let start = decoder.byteOffset
        let count = try decoder.readArrayHeader()
        guard 1...HistoryLimits.referenceCountMax ~= count else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        var instances: [InstanceID] = []
        instances.reserveCapacity(count)
        for _ in 0..<count {
            let instance = try decoder.readID()
            if let last = instances.last, !(last < instance) {
                throw CBORError(.keysNotSorted, byteOffset: start)
            }
            guard instance != own else { throw CBORError(.unexpectedItem, byteOffset: start) }
            instances.append(instance)
        }
        return instances
    }

    /// What the pairs are together.
    private func body(from decoder: borrowing CBORDecoder) throws(CBORError) -> EntryBody {
        let malformed = CBORError(.unexpectedItem, byteOffset: 0)
        guard let context, let number, let height, let time, (before != nil) == (number > 1) else { throw malformed }
        var changes = EntryChanges.none
        switch (list, tree, salt, digest) {
        case (let list?, nil, let salt?, nil):
            changes = .list(try readChanges(in: list, number: number, from: decoder), salt: salt)
        case (nil, let root?, let salt?, nil): changes = .tree(root, salt: salt)
        case (nil, nil, nil, let digest?): changes = .gone(digest: digest, replacedInstances: others)
        case (nil, nil, nil, nil): break
        default: throw malformed
        }
        if list == nil, digest == nil, !others.isEmpty { throw malformed }
        return EntryBody(
            context: context, number: number, before: before, height: height, time: time, seen: seen, changes: changes,
            statement: statement, rewrites: rewrites, keyLogNote: keyLogNote)
    }

    private func readChanges(
        in range: Range<Int>, number: EntryNumber, from decoder: borrowing CBORDecoder
    ) throws(CBORError) -> [Change] {
        guard range.count <= HistoryLimits.changesByteCountMax else {
            throw CBORError(.unexpectedItem, byteOffset: range.lowerBound)
        }
        let codec = ChangeCodec(own: own, others: others)
        return try unsafe decoder.withUnsafeBytes(in: range) { (buffer) throws(CBORError) in
            try unsafe withCBORDecoder(over: buffer) { (decoder) throws(CBORError) in
                try codec.decode(number: number, from: &decoder)
            }
        }
    }
}

extension CBORDecoder {
    fileprivate mutating func readNonEmptyBytes(countMax: Int) throws(CBORError) -> [UInt8] {
        let start = byteOffset
        let bytes = try readBytes(countMax: countMax)
        guard !bytes.isEmpty else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return bytes
    }
}
