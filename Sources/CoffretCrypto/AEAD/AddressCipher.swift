// Names into addresses. Invariant: an address is a permutation of the name under a key of one vault, epoch and type,
// so that equal names meet and nothing else shows.

internal import CoffretBase

/// AES-128 in CBC mode over exactly 32 bytes, without padding.
///
/// Key material: initialisation vector (first 16 bytes) ‖ AES key (last 16 bytes). The input is a hash,
/// so that a fixed vector shows nothing but equality (protocol decision 24).
/// - Concurrency: one user at a time; each makes his own from the key.
package final class AddressCipher {
    private let blocks: AddressBlocks

    package init(_ key: AddressKey) { blocks = AddressBlocks(key, .seal) }

    /// Enciphers a name of 32 bytes into `address`, of 32 bytes.
    package func encipher(_ name: UnsafeRawBufferPointer, into address: UnsafeMutableRawBufferPointer) {
        precondition(name.count == 32 && address.count == 32, "names and addresses have 32 bytes")
        var previous = blocks.vector
        for byteOffset in [0, 16] {
            let plain = unsafe AddressBlocks.load(name, byteOffset)
            var block = (plain.0 ^ previous.0, plain.1 ^ previous.1)
            blocks.transform(&block)
            unsafe AddressBlocks.store(block, in: address, byteOffset)
            previous = block
        }
    }

    /// Enciphers a name of 32 bytes.
    package func address(ofName name: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            unsafe name.withUnsafeBytes { name in
                unsafe encipher(name, into: UnsafeMutableRawBufferPointer(start: output.baseAddress, count: 32))
            }
            count = 32
        }
    }
}
