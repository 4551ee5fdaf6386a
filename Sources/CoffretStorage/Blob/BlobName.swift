// Names and addresses of blobs. The one thing to keep true: a name is a hash of plaintext and never
// reaches the disk or a server in the clear; an address is its encrypted form and may.

package import CoffretBase

/// What a blob is called in references: BLAKE2b-256 of exactly the bytes that are sealed
/// (`Spec/blob.md`). References hold names alone; the key epoch is found by trying addresses.
package struct BlobName: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let value: Bytes32

    package init(_ value: Bytes32) { self.value = value }

    /// Reads a name of 32 bytes, or returns nil for any other number.
    package init?(bytes: some Collection<UInt8>) {
        guard let value = Bytes32(bytes) else { return nil }
        self.value = value
    }

    package var bytes: [UInt8] { value.bytes }
    package var description: String { value.hex }
    package static func < (left: BlobName, right: BlobName) -> Bool { left.value < right.value }
}

/// Where a blob lies, on this disk and on a server: its name, enciphered under a key of one vault,
/// epoch and type group. Shows nothing about the content to who lacks the key.
package struct BlobAddress: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let value: Bytes32

    package init(_ value: Bytes32) { self.value = value }

    /// Reads an address of 32 bytes, or returns nil for any other number.
    package init?(bytes: some Collection<UInt8>) {
        guard let value = Bytes32(bytes) else { return nil }
        self.value = value
    }

    package var bytes: [UInt8] { value.bytes }
    package var description: String { value.hex }
    var firstByte: Int { Int(value.word0 >> 56) }
    package static func < (left: BlobAddress, right: BlobAddress) -> Bool { left.value < right.value }
}
