// Keys out of the bytes that a terminal sends. Invariant: bytes that are no key of ours are dropped whole, so that the end of
// an unknown sequence is never taken for text.

/// A key that a person pressed.
package enum Key: Equatable, Sendable {
    /// Text without control characters; a paste has its line ends as spaces.
    case text(String)
    case enter, tab, escape, backspace
    case up, down, left, right, pageUp, pageDown, home, end
    /// Control with a letter, small.
    case control(Character)
}

/// Takes bytes as they come, and gives the keys that are whole.
package struct KeyDecoder {
    private var waiting: [UInt8] = []
    private var isPasting = false

    /// The longest escape sequence that is waited for.
    private static let sequenceByteCountMax = 32
    private static let escape: UInt8 = 0x1B

    package init() {}

    /// True while the bytes so far may be the beginning of a key; the next moment decides.
    package var isWithinKey: Bool { !waiting.isEmpty }

    /// Takes bytes, and gives the keys that they complete.
    package mutating func add(_ bytes: [UInt8]) -> [Key] {
        waiting += bytes
        return take(isAtEnd: false)
    }

    /// Gives what waits as it stands, since nothing followed: an escape alone is the key.
    package mutating func flush() -> [Key] { take(isAtEnd: true) }

    private mutating func take(isAtEnd: Bool) -> [Key] {
        var keys: [Key] = []
        var index = 0
        func add(_ text: String) {
            guard !text.isEmpty else { return }
            if case .text(let before)? = keys.last {
                keys[keys.count - 1] = .text(before + text)
            } else {
                keys.append(.text(text))
            }
        }
        while index < waiting.count {
            let byte = waiting[index]
            if byte == Self.escape {
                guard let (key, length) = sequence(at: index, isAtEnd: isAtEnd) else { break }
                index += length
                if let key { keys.append(key) }
            } else if byte < 0x20 || byte == 0x7F {
                index += 1
                if isPasting { add(" ") } else { keys.append(Self.key(byte)) }
            } else {
                let length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
                guard index + length <= waiting.count || isAtEnd else { break }
                let part = waiting[index..<min(index + length, waiting.count)]
                index += part.count
                // Half a character, or none.
                if let text = String(validating: part, as: UTF8.self) { add(text) }
            }
        }
        waiting.removeFirst(index)
        return keys
    }

    private static func key(_ byte: UInt8) -> Key {
        switch byte {
        case 0x0A, 0x0D: .enter
        case 0x09: .tab
        case 0x08, 0x7F: .backspace
        case 0x01...0x1A: .control(Character(Unicode.Scalar(byte + 0x60)))
        default: .control(" ")
        }
    }

    /// - Returns: nil while it is not whole; without a key where it is none of ours.
    private mutating func sequence(at start: Int, isAtEnd: Bool) -> (key: Key?, byteCount: Int)? {
        // A paste is text: an escape in it is no key.
        let escape: Key? = isPasting ? nil : .escape
        guard start + 1 < waiting.count else { return isAtEnd ? (escape, 1) : nil }
        let kind = waiting[start + 1]
        // A key with Alt is the escape and the key.
        guard kind == UInt8(ascii: "[") || kind == UInt8(ascii: "O") else { return (escape, 1) }
        var end = start + 2
        while end < waiting.count, end - start < Self.sequenceByteCountMax {
            // The final byte of ECMA-48.
            if (0x40...0x7E).contains(waiting[end]) {
                let parameters = String(decoding: waiting[(start + 2)..<end], as: UTF8.self)
                return (key(final: waiting[end], parameters), end + 1 - start)
            }
            end += 1
        }
        guard end - start >= Self.sequenceByteCountMax || isAtEnd else { return nil }
        return (nil, end - start)
    }

    private mutating func key(final: UInt8, _ parameters: String) -> Key? {
        switch (UInt8(ascii: "~") == final, parameters) {
        case (true, "200"): isPasting = true
        case (true, "201"): isPasting = false
        case (_, _) where isPasting: break
        case (true, "1"), (true, "7"): return .home
        case (true, "4"), (true, "8"): return .end
        case (true, "5"): return .pageUp
        case (true, "6"): return .pageDown
        case (true, _): break
        case (false, _):
            switch final {
            case UInt8(ascii: "A"): return .up
            case UInt8(ascii: "B"): return .down
            case UInt8(ascii: "C"): return .right
            case UInt8(ascii: "D"): return .left
            case UInt8(ascii: "H"): return .home
            case UInt8(ascii: "F"): return .end
            default: break
            }
        }
        return nil
    }
}
