// 32 bytes as one value: names, addresses and hashes of links. The one thing to keep true: it compares as its bytes do.

/// A value of 32 bytes that compares as bytes do.
///
/// Four big-endian words instead of an array: no allocation, and hashing and comparing are a few
/// instructions; trees and indexes handle millions of these.
package struct Bytes32: Hashable, Comparable, Sendable {
    package let word0, word1, word2, word3: UInt64

    package init(_ word0: UInt64, _ word1: UInt64, _ word2: UInt64, _ word3: UInt64) {
        self.word0 = word0
        self.word1 = word1
        self.word2 = word2
        self.word3 = word3
    }

    /// Reads 32 bytes.
    ///
    /// - Parameter bytes: exactly 32 bytes; anything else is our own bug.
    package init(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count == 32, "32 bytes are needed")
        unsafe self.init(
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)),
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)))
    }

    /// Reads 32 bytes, or returns nil if `bytes` are not 32.
    package init?(_ bytes: some Collection<UInt8>) {
        let array = Array(bytes)
        guard array.count == 32 else { return nil }
        self = unsafe array.withUnsafeBytes { buffer in unsafe Bytes32(buffer) }
    }

    /// Writes the 32 bytes at `target`, which must have room for them.
    package func write(to target: UnsafeMutableRawPointer) {
        unsafe target.storeBytes(of: word0.bigEndian, as: UInt64.self)
        unsafe target.storeBytes(of: word1.bigEndian, toByteOffset: 8, as: UInt64.self)
        unsafe target.storeBytes(of: word2.bigEndian, toByteOffset: 16, as: UInt64.self)
        unsafe target.storeBytes(of: word3.bigEndian, toByteOffset: 24, as: UInt64.self)
    }

    package var bytes: [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            if let base = buffer.baseAddress {
                unsafe write(to: UnsafeMutableRawPointer(base))
                count = 32
            }
        }
    }

    package static func < (left: Bytes32, right: Bytes32) -> Bool {
        if left.word0 != right.word0 { return left.word0 < right.word0 }
        if left.word1 != right.word1 { return left.word1 < right.word1 }
        if left.word2 != right.word2 { return left.word2 < right.word2 }
        return left.word3 < right.word3
    }

    package static func == (left: Bytes32, right: Bytes32) -> Bool {
        left.word0 == right.word0 && left.word1 == right.word1 && left.word2 == right.word2
            && left.word3 == right.word3
    }

    /// The bytes are uniform already (hashes and ciphertext), so one word feeds the hasher.
    package func hash(into hasher: inout Hasher) { hasher.combine(word0) }

    /// 64 lowercase hexadecimal digits.
    package var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(64)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
