// As much DER as key files need. Every length is checked against the bytes at hand, and only the one
// shortest form of a length is taken.

/// Reads elements one after another. The bytes come from strangers.
struct DERReader {
    private var bytes: ArraySlice<UInt8>

    /// The tags that key files use.
    enum Tag: UInt8 {
        case integer = 0x02
        case bitString = 0x03
        case octetString = 0x04
        case objectIdentifier = 0x06
        case sequence = 0x30
        case context0 = 0xA0
        case context1 = 0xA1
    }

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Whether all has been read.
    var isAtEnd: Bool { bytes.isEmpty }

    /// Whether the next element has this tag.
    func isNext(_ tag: Tag) -> Bool { bytes.first == tag.rawValue }

    /// The content of the next element, which must have this tag; nil if it has not, or is malformed.
    mutating func read(_ tag: Tag) -> ArraySlice<UInt8>? {
        var rest = bytes
        guard rest.popFirst() == tag.rawValue, let first = rest.popFirst() else { return nil }
        var byteCount = Int(first)
        if first >= 0x80 {
            // One or two bytes of length cover every key; 0x80, the indefinite form, is no DER.
            guard first == 0x81 || first == 0x82, rest.count >= Int(first & 0x7F) else { return nil }
            byteCount = rest.prefix(Int(first & 0x7F)).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(Int(first & 0x7F))
            guard byteCount >= (first == 0x81 ? 0x80 : 0x100) else { return nil }
        }
        guard rest.count >= byteCount else { return nil }
        bytes = rest.dropFirst(byteCount)
        return rest.prefix(byteCount)
    }

    /// A reader of the next element's content.
    mutating func enter(_ tag: Tag) -> DERReader? { read(tag).map { DERReader($0) } }

    /// The whole bytes of the next bit string, which must have no unused bits.
    mutating func readBitString() -> ArraySlice<UInt8>? {
        guard let content = read(.bitString), content.first == 0 else { return nil }
        return content.dropFirst()
    }
}

/// Writes elements.
enum DERWriter {
    /// One element with this content.
    static func element(_ tag: DERReader.Tag, _ content: [UInt8]) -> [UInt8] {
        precondition(content.count < 0x1_0000, "no key is that long")
        let byteCount = content.count
        let length: [UInt8] =
            switch byteCount {
            case ..<0x80: [UInt8(byteCount)]
            case ..<0x100: [0x81, UInt8(byteCount)]
            default: [0x82, UInt8(byteCount >> 8), UInt8(byteCount & 0xFF)]
            }
        return [tag.rawValue] + length + content
    }
}
