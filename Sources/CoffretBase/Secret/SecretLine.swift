// A line being typed, in locked memory from its first byte on.

/// A growing secret of bounded size.
///
/// Invariant: bytes are written only into locked memory, and taken-back characters are overwritten at once.
@safe package struct SecretLine: ~Copyable {
    private let piece: SecretPiece
    private var memory: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(start: piece.start, count: piece.byteCount)
    }
    package private(set) var byteCount = 0

    /// Reserves locked memory for `byteCountMax` bytes; more are refused.
    package init(byteCountMax: Int) {
        piece = SecretMemory.piece(byteCount: byteCountMax)
    }

    deinit { SecretArena.giveBack(piece) }

    /// - Returns: whether there was room.
    package mutating func append(_ byte: UInt8) -> Bool {
        guard unsafe byteCount < memory.count else { return false }
        unsafe memory[byteCount] = byte
        byteCount += 1
        return true
    }

    /// Takes back one character of UTF-8.
    ///
    /// - Returns: whether there was one.
    package mutating func removeLastCharacter() -> Bool {
        guard byteCount > 0 else { return false }
        while byteCount > 0 {
            byteCount -= 1
            let byte = unsafe memory[byteCount]
            unsafe memory[byteCount] = 0
            if byte & 0xC0 != 0x80 { break }
        }
        return true
    }

    /// The secret so far, in memory of its own.
    package borrowing func take() -> SecretBytes {
        // EXPOSE: copied from locked memory to locked memory.
        unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: memory[0..<byteCount]))
    }
}
