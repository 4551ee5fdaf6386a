// The head of a vault's place at the server, as a device tells it to one that it lets in. The one thing to keep true: with its
// number it is known even after a compaction has removed the commit.

internal import CoffretBase
internal import CoffretCrypto
package import CoffretStorage

/// What a device that was let in holds against the server's first answer (R7).
///
/// Layout: head (32), or head ‖ instance (16) ‖ sequence number (8, big-endian) where the number is known.
package struct ToldHead: Equatable, Sendable {
    package let head: BlobName
    package let dot: Dot?

    package init(head: BlobName, dot: Dot?) {
        self.head = head
        self.dot = dot
    }

    package func encode() -> [UInt8] {
        guard let dot else { return head.bytes }
        return head.bytes + dot.instance.bytes + dot.sequence.bigEndianBytes
    }

    /// - Returns: nil for bytes of another form.
    package static func decode(_ bytes: [UInt8]) -> ToldHead? {
        guard bytes.count == 32 || bytes.count == 56, let head = BlobName(bytes: Array(bytes.prefix(32))) else {
            return nil
        }
        guard bytes.count == 56 else { return ToldHead(head: head, dot: nil) }
        guard let instance = UniqueID(bytes: Array(bytes[32..<48])) else { return nil }
        let sequence = bytes[48...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return ToldHead(head: head, dot: Dot(instance: instance, sequence: sequence))
    }
}
