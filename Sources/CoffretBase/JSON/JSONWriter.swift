// JSON, written as it comes. Invariant: whatever strings it is given, the result is one well-formed JSON text (RFC
// 8259) and memory does not grow with it.

package enum JSONStyle: Sendable {
    /// No white space.
    case compact
    /// A line per member and element, indented by two spaces.
    case pretty
}

/// Writes one JSON value piece by piece to a sink.
///
/// The calls follow the text: `beginObject`, `name`, a value, ..., `endObject`, `finish`. A call at
/// the wrong place is our own bug and stops the program. What was handed to the sink is zeroed here.
package struct JSONWriter<Failure: Error> {
    private enum Place {
        case arrayStart, array, objectStart, objectName, object
    }

    private let style: JSONStyle
    private let sink: ([UInt8]) throws(Failure) -> Void
    private var buffer: [UInt8] = []
    private var places: [Place] = []
    private var isComplete = false

    private static var bufferByteCount: Int { 32 << 10 }

    /// - Parameter sink: takes the text in pieces of about 32 KiB.
    package init(style: JSONStyle = .compact, to sink: @escaping ([UInt8]) throws(Failure) -> Void) {
        self.style = style
        self.sink = sink
        buffer.reserveCapacity(Self.bufferByteCount + 4096)
    }

    package mutating func beginObject() throws(Failure) {
        try beginValue()
        buffer.append(UInt8(ascii: "{"))
        places.append(.objectStart)
    }

    /// Writes a member's name; its value comes next.
    package mutating func name(_ name: String) throws(Failure) {
        switch places.last {
        case .objectStart: break
        case .object: buffer.append(UInt8(ascii: ","))
        default: preconditionFailure("a name stands only in an object")
        }
        places[places.count - 1] = .objectName
        newLine()
        try appendString(name)
        buffer.append(UInt8(ascii: ":"))
        if style == .pretty { buffer.append(UInt8(ascii: " ")) }
    }

    package mutating func endObject() throws(Failure) {
        let place = places.popLast()
        precondition(place == .object || place == .objectStart, "no object ends here")
        if place == .object { newLine() }
        buffer.append(UInt8(ascii: "}"))
        try endValue()
    }

    package mutating func beginArray() throws(Failure) {
        try beginValue()
        buffer.append(UInt8(ascii: "["))
        places.append(.arrayStart)
    }

    package mutating func endArray() throws(Failure) {
        let place = places.popLast()
        precondition(place == .array || place == .arrayStart, "no array ends here")
        if place == .array { newLine() }
        buffer.append(UInt8(ascii: "]"))
        try endValue()
    }

    package mutating func string(_ value: String) throws(Failure) {
        try beginValue()
        try appendString(value)
        try endValue()
    }

    package mutating func integer<Value: FixedWidthInteger>(_ value: Value) throws(Failure) {
        try beginValue()
        buffer.append(contentsOf: String(value).utf8)
        try endValue()
    }

    /// Writes a number with a fraction; infinities and not-a-number, which JSON lacks, become null.
    package mutating func number(_ value: Double) throws(Failure) {
        guard value.isFinite else { return try null() }
        try beginValue()
        buffer.append(contentsOf: "\(value)".utf8)
        try endValue()
    }

    /// Writes the characters of a number that was read as such.
    package mutating func rawNumber(_ text: String) throws(Failure) {
        try beginValue()
        buffer.append(contentsOf: text.utf8)
        try endValue()
    }

    package mutating func bool(_ value: Bool) throws(Failure) {
        try beginValue()
        buffer.append(contentsOf: (value ? "true" : "false").utf8)
        try endValue()
    }

    package mutating func null() throws(Failure) {
        try beginValue()
        buffer.append(contentsOf: "null".utf8)
        try endValue()
    }

    /// Ends the text, with a line feed in the pretty style, and hands the rest to the sink.
    package mutating func finish() throws(Failure) {
        precondition(isComplete && places.isEmpty, "the value is not complete")
        if style == .pretty { buffer.append(UInt8(ascii: "\n")) }
        try flush()
    }

    private mutating func beginValue() throws(Failure) {
        switch places.last {
        case .arrayStart:
            places[places.count - 1] = .array
            newLine()
        case .array:
            buffer.append(UInt8(ascii: ","))
            newLine()
        case .objectName:
            places[places.count - 1] = .object
        case .objectStart, .object:
            preconditionFailure("a value in an object needs a name")
        case nil:
            precondition(!isComplete, "a JSON text is one value")
        }
        if buffer.count >= Self.bufferByteCount { try flush() }
    }

    private mutating func endValue() throws(Failure) {
        if places.isEmpty { isComplete = true }
    }

    private mutating func newLine() {
        guard style == .pretty else { return }
        buffer.append(UInt8(ascii: "\n"))
        buffer.append(contentsOf: repeatElement(UInt8(ascii: " "), count: places.count * 2))
    }

    private mutating func appendString(_ value: String) throws(Failure) {
        buffer.append(UInt8(ascii: "\""))
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                buffer.append(UInt8(ascii: "\\"))
                buffer.append(byte)
            case 0x0A: buffer.append(contentsOf: "\\n".utf8)
            case 0x0D: buffer.append(contentsOf: "\\r".utf8)
            case 0x09: buffer.append(contentsOf: "\\t".utf8)
            case 0..<0x20, 0x7F:
                // DEL needs no escape in JSON, but may move the cursor of a terminal.
                buffer.append(contentsOf: "\\u00".utf8)
                buffer.append(contentsOf: Hex.encode(CollectionOfOne(byte)).utf8)
            default: buffer.append(byte)
            }
            if buffer.count >= Self.bufferByteCount { try flush() }
        }
        buffer.append(UInt8(ascii: "\""))
    }

    private mutating func flush() throws(Failure) {
        try sink(buffer)
        buffer.zero()
        buffer.removeAll(keepingCapacity: true)
    }
}
