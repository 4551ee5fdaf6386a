// The envelope around Themis keys. Everything in it is checked before the payload is looked at.

internal import CoffretBase

/// `tag ‖ BE32(total size) ‖ LE32(CRC-32C) ‖ payload`. Spec: Spec/interop-themis.md §7.
enum KeyContainer {
    static let headerByteCount = 12
    /// A container of a P-256 key is at most as long as one with an uncompressed point.
    static let byteCountMax = headerByteCount + 65

    /// The four characters in front: the kind, and 2 for P-256.
    enum Tag: String {
        case privateKey = "REC2"
        case publicKey = "UEC2"
    }

    /// Wraps a payload.
    static func encode(_ tag: Tag, payload: some Collection<UInt8>) -> [UInt8] {
        var container = Array(tag.rawValue.utf8)
        container.reserveCapacity(headerByteCount + payload.count)
        container.appendBigEndian(UInt32(headerByteCount + payload.count))
        container += [0, 0, 0, 0]
        container += payload
        // The checksum runs over the container with its own field zero, and is little-endian, while the
        // size beside it is big-endian.
        let checksum = CRC32C.checksum(container)
        for index in 0..<4 { container[8 + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * index)) }
        return container
    }

    /// Checks a container, and calls `body` with where its payload lies.
    static func payload(of container: [UInt8], _ tag: Tag) throws(InteropError) -> Range<Int> {
        guard container.count >= headerByteCount, container.count <= byteCountMax,
            container[..<4].elementsEqual(tag.rawValue.utf8),
            UInt32(bigEndianBytes: container[4..<8]) == UInt32(container.count)
        else { throw InteropError(.invalidKey, at: "key container") }
        let stored = container[8..<12].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let zeroed = [container[..<8], [0, 0, 0, 0], container[12...]].joined()
        guard CRC32C.checksum(zeroed) == stored else { throw InteropError(.invalidKey, at: "key container checksum") }
        return headerByteCount..<container.count
    }
}
