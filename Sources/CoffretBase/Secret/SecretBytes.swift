// Memory for secrets. Invariant: the bytes are never copied out of locked memory except inside `withUnsafeBytes`, and
// they are zeroed before the memory is given back.

internal import CSodium

/// A secret of fixed size in locked, guarded memory that is zeroed when it goes out of scope.
///
/// The memory is locked against swapping (as far as the process may lock memory), left out of core
/// dumps, and overwritten with zeros when freed; see `SecretArena`. Without memory the process ends.
/// The type is not copyable, so Swift refuses to print it, to put it in an array or to box it as `Any`.
@safe package struct SecretBytes: ~Copyable, @unchecked Sendable {
    // SAFETY: the piece is owned by this value alone, which cannot be copied; the memory behind it
    // is written only by the initialisers, before the value is shared.
    private let piece: SecretPiece

    /// The number of secret bytes.
    package var byteCount: Int { piece.byteCount }

    private var pointer: UnsafeMutableRawPointer { unsafe piece.start }

    /// Makes a secret and lets `initialize` fill it; the memory starts zeroed.
    ///
    /// - Parameter byteCount: at least 0.
    /// - Parameter initialize: writes the secret; if it throws, the memory is zeroed and freed.
    package init<Failure: Error>(
        byteCount: Int, initializingWith initialize: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(byteCount >= 0, "a secret cannot have a negative size")
        let piece = SecretMemory.piece(byteCount: byteCount)
        do throws(Failure) {
            try unsafe initialize(UnsafeMutableRawBufferPointer(start: piece.start, count: byteCount))
        } catch {
            SecretArena.giveBack(piece)
            throw error
        }
        self.piece = piece
    }

    /// Copies `bytes` into locked memory. The caller still owns, and must zero, the original.
    package init(copying bytes: UnsafeRawBufferPointer) {
        unsafe self.init(byteCount: bytes.count) { target in
            unsafe target.copyMemory(from: bytes)
        }
    }

    /// Moves `bytes` into locked memory and zeroes the array.
    package init(consuming bytes: inout [UInt8]) {
        unsafe self.init(byteCount: bytes.count) { target in
            unsafe bytes.withUnsafeBytes { source in unsafe target.copyMemory(from: source) }
        }
        bytes.zero()
    }

    /// A fresh secret from the system's random generator.
    package static func random(byteCount: Int) -> SecretBytes {
        unsafe SecretBytes(byteCount: byteCount) { target in
            if let base = target.baseAddress {
                unsafe randombytes_buf(base, target.count)
            }
        }
    }

    deinit { SecretArena.giveBack(piece) }

    /// Lends the secret for the duration of the call.
    ///
    /// Each use stands under a comment `// EXPOSE: why, and where the copies go`.
    package borrowing func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: pointer, count: byteCount))
    }

    /// A second copy of this secret, in locked memory of its own.
    package borrowing func duplicate() -> SecretBytes {
        // EXPOSE: copied from locked memory to locked memory.
        unsafe withUnsafeBytes { bytes in unsafe SecretBytes(copying: bytes) }
    }

    /// Compares in constant time; secrets of different sizes are unequal.
    package borrowing func isEqual(to other: borrowing SecretBytes) -> Bool {
        guard byteCount == other.byteCount else { return false }
        return unsafe sodium_memcmp(pointer, other.pointer, byteCount) == 0
    }
}

extension Array where Element == UInt8 {
    /// Overwrites the array's bytes with zeros, in a way that the optimiser may not remove.
    package mutating func zero() {
        unsafe withUnsafeMutableBytes { unsafe $0.zeroSecretly() }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Overwrites the bytes with zeros, in a way that the optimiser may not remove.
    package func zeroSecretly() {
        if let base = baseAddress { unsafe sodium_memzero(base, count) }
    }
}
