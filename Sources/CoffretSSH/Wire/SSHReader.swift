// SSH's binary encoding (RFC 4251 section 5). Invariant: lengths are checked before anything is read or allocated, and
// numbers have one encoding only.

internal import CoffretBase

/// Reads one value after the other.
package struct SSHReader: Sendable {
    private let bytes: [UInt8]
    private var offset: Int
    private let end: Int

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        offset = 0
        end = bytes.count
    }

    /// How many bytes are left.
    package var leftCount: Int { end - offset }
    /// How many bytes were read.
    package var readCount: Int { offset }

    package mutating func byte() throws(SSHError) -> UInt8 {
        guard leftCount >= 1 else { throw SSHError(.malformed, at: "end of data") }
        defer { offset += 1 }
        return bytes[offset]
    }

    package mutating func bool() throws(SSHError) -> Bool { try byte() != 0 }

    package mutating func uint32() throws(SSHError) -> UInt32 {
        guard leftCount >= 4 else { throw SSHError(.malformed, at: "end of data") }
        defer { offset += 4 }
        return bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The place of a string's bytes; it is passed over.
    package mutating func stringRange() throws(SSHError) -> Range<Int> {
        let count = Int(try uint32())
        guard count <= leftCount else { throw SSHError(.malformed, at: "length of a string") }
        defer { offset += count }
        return offset..<(offset + count)
    }

    package mutating func string() throws(SSHError) -> [UInt8] { Array(bytes[try stringRange()]) }

    package mutating func text() throws(SSHError) -> String {
        guard let text = String(validating: bytes[try stringRange()], as: UTF8.self) else {
            throw SSHError(.malformed, at: "text")
        }
        return text
    }

    /// The place of the bytes of a number that is not negative, without the leading zero that its sign may need.
    package mutating func numberRange() throws(SSHError) -> Range<Int> {
        let range = try stringRange()
        guard let first = range.first else { return range }
        guard bytes[first] < 0x80 else { throw SSHError(.malformed, at: "negative number") }
        guard bytes[first] == 0 else { return range }
        guard range.count > 1, bytes[first + 1] >= 0x80 else { throw SSHError(.malformed, at: "leading zero") }
        return (first + 1)..<range.upperBound
    }

    package mutating func number() throws(SSHError) -> [UInt8] { Array(bytes[try numberRange()]) }

    /// Takes the next bytes if they are these.
    package mutating func take(_ expected: [UInt8]) throws(SSHError) {
        guard leftCount >= expected.count, bytes[offset..<(offset + expected.count)].elementsEqual(expected) else {
            throw SSHError(.malformed, at: "magic")
        }
        offset += expected.count
    }

    /// Throws unless everything was read.
    package func finish() throws(SSHError) {
        guard leftCount == 0 else { throw SSHError(.malformed, at: "trailing bytes") }
    }
}

/// Writes one value after the other.
package struct SSHWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    /// - Parameter capacity: reserved, so that growing leaves no copies of secrets behind.
    package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    package mutating func byte(_ value: UInt8) { bytes.append(value) }

    package mutating func uint32(_ value: UInt32) { bytes += value.bigEndianBytes }

    package mutating func string(_ value: some Collection<UInt8>) {
        uint32(UInt32(value.count))
        bytes += value
    }

    package mutating func text(_ value: String) { string(Array(value.utf8)) }

    /// A number from big-endian bytes; leading zeros do not matter.
    package mutating func number(_ value: some Collection<UInt8>) {
        let digits = value.drop { $0 == 0 }
        let needsZero = (digits.first ?? 0) >= 0x80
        uint32(UInt32(digits.count + (needsZero ? 1 : 0)))
        if needsZero { bytes.append(0) }
        bytes += digits
    }

    package mutating func raw(_ value: some Sequence<UInt8>) { bytes += value }

    /// Overwrites what was written.
    package mutating func zero() { bytes.zero() }
}
