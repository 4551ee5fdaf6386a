// Memory for sealed pages. Invariant: only ciphertext lies in it for longer than a call.

internal import CoffretCrypto

/// A growing run of pages in one block of memory, with room for what is written before and behind them.
@safe final class PageBuffer {
    private let headByteCount: Int
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var pageCount = 0

    /// - Parameter headByteCount: of what a record of these pages begins with; a multiple of 16.
    init(capacity: Int = 16, headByteCount: Int = 0) {
        self.capacity = capacity
        self.headByteCount = headByteCount
        unsafe base = Self.allocate(capacity, headByteCount)
    }

    deinit {
        unsafe base.deallocate()
    }

    private static func allocate(_ capacity: Int, _ headByteCount: Int) -> UnsafeMutableRawPointer {
        .allocate(byteCount: headByteCount + capacity * PageSealer.pageByteCount, alignment: 16)
    }

    private func byteOffset(ofSlot slot: Int) -> Int { headByteCount + slot * PageSealer.pageByteCount }

    /// The page in a slot; valid until the next `append` or `record`.
    func page(_ slot: Int) -> UnsafeMutableRawBufferPointer {
        precondition(slot < capacity, "a slot of this buffer")
        return unsafe UnsafeMutableRawBufferPointer(
            start: base + byteOffset(ofSlot: slot), count: PageSealer.pageByteCount)
    }

    /// Adds a page of undefined content and returns its slot.
    func append() -> Int {
        if pageCount == capacity { grow(to: 2 * capacity) }
        pageCount += 1
        return pageCount - 1
    }

    private func grow(to newCapacity: Int) {
        let larger = unsafe Self.allocate(newCapacity, headByteCount)
        unsafe larger.copyMemory(from: base, byteCount: byteOffset(ofSlot: pageCount))
        unsafe base.deallocate()
        unsafe base = larger
        capacity = newCapacity
    }

    /// Head, all pages, one after the other, and trailer: in one piece, without copying the pages. Valid until the next
    /// `append`.
    ///
    /// - Parameter head: as many bytes as the buffer was made for.
    func record(head: [UInt8], trailer: [UInt8]) -> UnsafeRawBufferPointer {
        precondition(head.count == headByteCount, "the head has its place")
        let end = byteOffset(ofSlot: pageCount)
        let trailerPageCount = (trailer.count + PageSealer.pageByteCount - 1) / PageSealer.pageByteCount
        if pageCount + trailerPageCount > capacity { grow(to: pageCount + trailerPageCount) }
        unsafe head.withUnsafeBytes {
            unsafe UnsafeMutableRawBufferPointer(start: base, count: end).copyMemory(from: $0)
        }
        unsafe trailer.withUnsafeBytes {
            unsafe UnsafeMutableRawBufferPointer(start: base + end, count: trailer.count).copyMemory(from: $0)
        }
        return unsafe UnsafeRawBufferPointer(start: base, count: end + trailer.count)
    }

    /// Forgets the pages, and gives back memory that a large transaction took.
    func removeAll() {
        pageCount = 0
        guard capacity > 1_024 else { return }
        unsafe base.deallocate()
        capacity = 16
        unsafe base = Self.allocate(capacity, headByteCount)
    }
}
