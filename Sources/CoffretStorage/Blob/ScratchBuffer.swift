// Memory that is used again and again for one blob at a time. The one thing to keep true: plaintext
// that passed through it is overwritten before the memory is given back.

internal import CoffretBase
internal import Glibc

/// A growing block of raw memory, zeroed when it grows and when it goes.
@safe final class ScratchBuffer {
    private var pointer: UnsafeMutableRawPointer
    private(set) var capacity: Int

    init(capacity: Int) {
        unsafe pointer = Self.allocate(capacity)
        self.capacity = capacity
    }

    deinit {
        unsafe explicit_bzero(pointer, capacity)
        unsafe pointer.deallocate()
    }

    /// The first `byteCount` bytes, uninitialised or from an earlier use; valid until the next call
    /// of `bytes(count:)`, and not beyond the buffer's life.
    func bytes(count byteCount: Int) -> UnsafeMutableRawBufferPointer {
        if byteCount > capacity {
            let larger = max(byteCount, capacity * 2)
            unsafe explicit_bzero(pointer, capacity)
            unsafe pointer.deallocate()
            unsafe pointer = Self.allocate(larger)
            capacity = larger
        }
        return unsafe UnsafeMutableRawBufferPointer(start: pointer, count: byteCount)
    }

    /// Aligned to cache lines, which the ciphers' vector code likes.
    private static func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer {
        UnsafeMutableRawPointer.allocate(byteCount: max(byteCount, 64), alignment: 64)
    }
}

/// Hands out scratch buffers so that nested reads get different ones.
final class ScratchPool {
    private var free: [ScratchBuffer] = []

    func take() -> ScratchBuffer { free.popLast() ?? ScratchBuffer(capacity: 16 << 10) }
    func give(_ buffer: ScratchBuffer) { free.append(buffer) }
}
