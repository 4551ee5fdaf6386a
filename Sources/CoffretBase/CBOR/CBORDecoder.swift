// Deterministic CBOR, read. Invariant: whatever this decoder accepts, the encoder would write again byte for byte; and
// no length taken from the input causes an allocation before it was compared with what the input holds.

/// A strict pull decoder over borrowed bytes.
///
/// It refuses what RFC 8949 section 4.2.1 does not allow (long forms, indefinite lengths, unsorted or
/// repeated map keys), and, beyond that, floating-point numbers, `undefined` and all simple values
/// but false, true and null. It allocates only the arrays and strings it returns.
///
/// The bytes must outlive the decoder; `withCBORDecoder` sees to that.
///
/// Spec: Spec/encoding.md. Source: RFC 8949. Vectors: cbor/.
@safe package struct CBORDecoder: ~Copyable {
    // SAFETY: borrowed for the decoder's life; every access stays below `input.count`, which
    // `take` checks before it moves `byteOffset`.
    private let input: UnsafeRawBufferPointer
    /// Offset of the next item from the start of the input.
    package private(set) var byteOffset = 0

    /// - Parameter input: must stay valid and unchanged for as long as the decoder is used.
    @unsafe package init(over input: UnsafeRawBufferPointer) {
        unsafe self.input = unsafe input
    }

    /// Whether all bytes have been read.
    package var isAtEnd: Bool { unsafe byteOffset == input.count }

    /// Ends decoding. Throws `.trailingBytes` if anything is left.
    package func finish() throws(CBORError) {
        guard isAtEnd else { throw CBORError(.trailingBytes, byteOffset: byteOffset) }
    }

    /// The kind of the next item, which stays unread.
    package func peekMajorType() throws(CBORError) -> CBORMajorType {
        guard unsafe byteOffset < input.count else { throw CBORError(.truncated, byteOffset: byteOffset) }
        return unsafe CBORMajorType(rawValue: input[byteOffset] >> 5).unsafelyUnwrapped
    }

    /// Whether the next item is true or false, which stays unread.
    package var isNextBool: Bool { unsafe byteOffset < input.count && (input[byteOffset] | 1) == 0xF5 }

    /// Whether the next item is null, which stays unread.
    package var isNextNull: Bool { unsafe byteOffset < input.count && input[byteOffset] == 0xF6 }

    package mutating func readUnsigned() throws(CBORError) -> UInt64 {
        try readHead(.unsigned)
    }

    /// Reads an unsigned integer that fits `Value`; throws `.unexpectedItem` if it does not.
    package mutating func readUnsigned<Value: FixedWidthInteger>(
        as type: Value.Type, max: Value = .max
    ) throws(CBORError) -> Value {
        let start = byteOffset
        guard let value = Value(exactly: try readHead(.unsigned)), value <= max else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return value
    }

    /// Reads an integer in the range of `Int64`.
    package mutating func readSigned() throws(CBORError) -> Int64 {
        let start = byteOffset
        switch try peekMajorType() {
        case .unsigned:
            if let value = Int64(exactly: try readHead(.unsigned)) { return value }
        case .negative:
            if let argument = Int64(exactly: try readHead(.negative)) { return ~argument }
        default:
            break
        }
        throw CBORError(.unexpectedItem, byteOffset: start)
    }

    /// Reads a negative integer -1 - n and returns n.
    package mutating func readNegativeArgument() throws(CBORError) -> UInt64 {
        try readHead(.negative)
    }

    package mutating func readBool() throws(CBORError) -> Bool {
        let start = byteOffset
        switch try readHead(.simple) {
        case 20: return false
        case 21: return true
        default: throw CBORError(.unexpectedItem, byteOffset: start)
        }
    }

    package mutating func readNull() throws(CBORError) {
        let start = byteOffset
        guard try readHead(.simple) == 22 else { throw CBORError(.unexpectedItem, byteOffset: start) }
    }

    /// Reads a byte string and returns where it lies in the input. Nothing is copied.
    package mutating func readByteRange() throws(CBORError) -> Range<Int> {
        let start = byteOffset
        return try take(try readHead(.bytes), itemOffset: start)
    }

    /// Lends bytes of the input, such as those of `readByteRange`.
    package func withUnsafeBytes<Result, Failure: Error>(
        in range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(rebasing: input[range]))
    }

    /// Copies bytes of the input, such as those of `readByteRange`.
    package func bytes(in range: Range<Int>) -> [UInt8] {
        unsafe [UInt8](input[range])
    }

    package mutating func readBytes() throws(CBORError) -> [UInt8] {
        let range = try readByteRange()
        return bytes(in: range)
    }

    /// Reads a byte string of exactly `count` bytes; another size is `.unexpectedItem`.
    package mutating func readBytes(count: Int) throws(CBORError) -> [UInt8] {
        let start = byteOffset
        let range = try readByteRange()
        guard range.count == count else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return bytes(in: range)
    }

    /// Reads a byte string of at most `countMax` bytes; a longer one is `.unexpectedItem`.
    package mutating func readBytes(countMax: Int) throws(CBORError) -> [UInt8] {
        let start = byteOffset
        let range = try readByteRange()
        guard range.count <= countMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return bytes(in: range)
    }

    /// Reads an id: a byte string of 16 bytes.
    package mutating func readID() throws(CBORError) -> UniqueID {
        let start = byteOffset
        let range = try readByteRange()
        guard range.count == UniqueID.byteCount else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return unsafe UniqueID(UnsafeRawBufferPointer(rebasing: input[range]))
    }

    /// Reads a byte string of `counts` bytes from the input into locked memory; another size is `.unexpectedItem`.
    package mutating func readSecret(counts: ClosedRange<Int>) throws(CBORError) -> SecretBytes {
        let start = byteOffset
        let range = try readByteRange()
        guard counts.contains(range.count) else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: input[range]))
    }

    /// Reads a text and returns where its UTF-8 lies in the input, unchecked: for texts of fewer characters than Unicode has,
    /// which the caller checks. Nothing is copied.
    package mutating func readUncheckedTextRange() throws(CBORError) -> Range<Int> {
        let start = byteOffset
        return try take(try readHead(.text), itemOffset: start)
    }

    package mutating func readText(byteCountMax: Int = .max) throws(CBORError) -> String {
        let start = byteOffset
        let range = try take(try readHead(.text), itemOffset: start)
        guard range.count <= byteCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        let text = unsafe withUnsafeBytes(in: range) { bytes in
            unsafe String(validating: bytes, as: UTF8.self)
        }
        guard let text else { throw CBORError(.invalidText, byteOffset: start) }
        return text
    }

    /// Reads an array's header and returns its count, which is at most the bytes that are left.
    package mutating func readArrayHeader() throws(CBORError) -> Int {
        try readCount(.array, byteCountPerItem: 1)
    }

    /// Reads an array's header of exactly `count` items.
    package mutating func readArrayHeader(count: Int) throws(CBORError) {
        let start = byteOffset
        guard try readArrayHeader() == count else { throw CBORError(.unexpectedItem, byteOffset: start) }
    }

    /// The number that begins an array, by which a message of several forms is told apart; nothing is taken.
    package mutating func peekKind() throws(CBORError) -> UInt64 {
        let start = byteOffset
        defer { byteOffset = start }
        guard try readArrayHeader() > 0 else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return try readUnsigned()
    }

    /// Reads a map's header. Its keys are read through `readKey` and its siblings, which check order.
    package mutating func readMapHeader() throws(CBORError) -> CBORMapPosition {
        CBORMapPosition(remaining: try readCount(.map, byteCountPerItem: 2))
    }

    package mutating func readTag() throws(CBORError) -> UInt64 {
        try readHead(.tag)
    }

    /// Reads the next key of a map with `read`, or returns nil behind the last pair.
    ///
    /// - Throws: `.keysNotSorted` unless the key's bytes are greater than those of the key before.
    package mutating func readKey<Key>(
        in map: inout CBORMapPosition, _ read: (inout CBORDecoder) throws(CBORError) -> Key
    ) throws(CBORError) -> Key? {
        guard map.remaining > 0 else { return nil }
        let start = byteOffset
        let key = try read(&self)
        let range = start..<byteOffset
        if let previous = map.previousKey {
            let isAscending = unsafe input[previous].lexicographicallyPrecedes(input[range])
            guard isAscending else { throw CBORError(.keysNotSorted, byteOffset: start) }
        }
        map.previousKey = range
        map.remaining -= 1
        return key
    }

    package mutating func readUnsignedKey(in map: inout CBORMapPosition) throws(CBORError) -> UInt64? {
        try readKey(in: &map) { (decoder) throws(CBORError) in try decoder.readUnsigned() }
    }

    package mutating func readTextKey(in map: inout CBORMapPosition) throws(CBORError) -> String? {
        try readKey(in: &map) { (decoder) throws(CBORError) in try decoder.readText() }
    }

    /// Reads the next key, which must be `key`. Throws `.unexpectedKey` if it is another or missing.
    package mutating func expectKey(_ key: UInt64, in map: inout CBORMapPosition) throws(CBORError) {
        let start = byteOffset
        guard try readUnsignedKey(in: &map) == key else { throw CBORError(.unexpectedKey, byteOffset: start) }
    }

    /// Reads one item of any kind, with all it contains, and forgets it.
    package mutating func skipItem(depthMax: Int = Limits.cborDepthMax) throws(CBORError) {
        let start = byteOffset
        switch try peekMajorType() {
        case .unsigned, .negative: _ = try readHead(peekMajorType())
        case .bytes: _ = try readByteRange()
        case .text: _ = try readText()
        case .array:
            let count = try readArrayHeader()
            guard depthMax > 0 else { throw CBORError(.tooDeep, byteOffset: start) }
            for _ in 0..<count { try skipItem(depthMax: depthMax - 1) }
        case .map:
            var map = try readMapHeader()
            guard depthMax > 0 else { throw CBORError(.tooDeep, byteOffset: start) }
            func skip(_ decoder: inout CBORDecoder) throws(CBORError) {
                try decoder.skipItem(depthMax: depthMax - 1)
            }
            while try readKey(in: &map, skip) != nil { try skipItem(depthMax: depthMax - 1) }
        case .tag:
            let tag = try readTag()
            guard depthMax > 0 else { throw CBORError(.tooDeep, byteOffset: start) }
            let content = byteOffset
            try skipItem(depthMax: depthMax - 1)
            if tag == 2 || tag == 3 { try checkBignum(from: content, itemOffset: start) }
        case .simple:
            guard 20...22 ~= (try readHead(.simple)) else { throw CBORError(.reserved, byteOffset: start) }
        }
    }

    /// Checks that the item between `start` and here is a byte string that no integer could replace.
    private func checkBignum(from start: Int, itemOffset: Int) throws(CBORError) {
        unsafe precondition(start < input.count)
        var content = unsafe CBORDecoder(over: UnsafeRawBufferPointer(rebasing: input[start..<byteOffset]))
        let range = try content.readByteRange()
        let isPreferred = unsafe range.count > 8 && content.input[range.lowerBound] != 0
        guard isPreferred else { throw CBORError(.notPreferredBignum, byteOffset: itemOffset) }
    }

    private mutating func readCount(_ type: CBORMajorType, byteCountPerItem: UInt64) throws(CBORError) -> Int {
        let start = byteOffset
        let count = try readHead(type)
        let available = unsafe UInt64(input.count - byteOffset)
        // Each item takes at least one byte, so a greater count cannot be true.
        guard count <= available / byteCountPerItem else { throw CBORError(.truncated, byteOffset: start) }
        return Int(count)
    }

    private mutating func take(_ count: UInt64, itemOffset: Int) throws(CBORError) -> Range<Int> {
        guard unsafe count <= UInt64(input.count - byteOffset) else {
            throw CBORError(.truncated, byteOffset: itemOffset)
        }
        let range = byteOffset..<byteOffset + Int(count)
        byteOffset = range.upperBound
        return range
    }

    /// Reads an item's head: its kind, which must be `type`, and its argument in the shortest form.
    private mutating func readHead(_ type: CBORMajorType) throws(CBORError) -> UInt64 {
        let start = byteOffset
        guard unsafe start < input.count else { throw CBORError(.truncated, byteOffset: start) }
        let first = unsafe input[start]
        let information = first & 0x1F
        guard first >> 5 == type.rawValue else {
            if information == 31 { throw CBORError(.indefiniteLength, byteOffset: start) }
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        byteOffset += 1
        if information < 24 { return UInt64(information) }
        guard information < 28 else {
            throw CBORError(information == 31 ? .indefiniteLength : .reserved, byteOffset: start)
        }
        if type == .simple {
            throw CBORError(information == 24 ? .reserved : .floatingPoint, byteOffset: start)
        }
        let byteCount = 1 << Int(information - 24)
        let range = try take(UInt64(byteCount), itemOffset: start)
        var value: UInt64 = 0
        for index in range { value = unsafe value << 8 | UInt64(input[index]) }
        let smallest: UInt64 = information == 24 ? 24 : 1 << UInt64(byteCount * 4)
        guard value >= smallest else { throw CBORError(.notShortest, byteOffset: start) }
        return value
    }
}

/// Where a decoder stands in a map: how many pairs are left, and which key came last.
package struct CBORMapPosition {
    package fileprivate(set) var remaining: Int
    fileprivate var previousKey: Range<Int>?
}

/// Decodes all of `bytes` with `body`, which must read everything.
///
/// `body` may throw errors of the caller's own; `convert` turns the decoder's errors into them.
package func withCBORDecoder<Result, Failure: Error>(
    _ bytes: [UInt8], convert: (CBORError) -> Failure,
    _ body: (inout CBORDecoder) throws(CBORError) -> Result
) throws(Failure) -> Result {
    do throws(CBORError) {
        return try withCBORDecoder(bytes, body)
    } catch {
        throw convert(error)
    }
}

/// Decodes all of `bytes` with `body`, which must read everything.
package func withCBORDecoder<Result>(
    _ bytes: [UInt8], _ body: (inout CBORDecoder) throws(CBORError) -> Result
) throws(CBORError) -> Result {
    try unsafe bytes.span.withUnsafeBytes { (buffer) throws(CBORError) in
        try unsafe withCBORDecoder(over: buffer, body)
    }
}

/// Decodes all of `buffer` with `body`, which must read everything.
package func withCBORDecoder<Result>(
    over buffer: UnsafeRawBufferPointer, _ body: (inout CBORDecoder) throws(CBORError) -> Result
) throws(CBORError) -> Result {
    var decoder = unsafe CBORDecoder(over: buffer)
    let result = try body(&decoder)
    try decoder.finish()
    return result
}
