// Addresses back into names. Invariant: it undoes `AddressCipher` exactly; only checks of whole files need it,
// everything else goes from names to addresses.

internal import CoffretBase

/// AES-128 in CBC mode over exactly 32 bytes, the other way round: see `AddressCipher`.
///
/// - Concurrency: one user at a time; each makes his own from the key.
package final class AddressDecipher {
    private let blocks: AddressBlocks

    package init(_ key: AddressKey) { blocks = AddressBlocks(key, .open) }

    /// Deciphers an address of 32 bytes into `name`, of 32 bytes.
    package func decipher(_ address: UnsafeRawBufferPointer, into name: UnsafeMutableRawBufferPointer) {
        precondition(address.count == 32 && name.count == 32, "names and addresses have 32 bytes")
        var previous = blocks.vector
        for byteOffset in [0, 16] {
            let sealed = unsafe AddressBlocks.load(address, byteOffset)
            var block = sealed
            blocks.transform(&block)
            unsafe AddressBlocks.store((block.0 ^ previous.0, block.1 ^ previous.1), in: name, byteOffset)
            previous = sealed
        }
    }
}
