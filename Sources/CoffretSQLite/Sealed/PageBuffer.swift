// Memory for sealed pages. The one thing to keep true: only ciphertext lies in it for longer than a call.

internal import CoffretCrypto

/// A growing run of pages in one block of memory.
@safe final class PageBuffer {
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var pageCount = 0

    init(capacity: Int = 16) {
        self.capacity = capacity
        unsafe base = .allocate(byteCount: capacity * PageSealer.pageByteCount, alignment: 16)
    }

    deinit {
        unsafe base.deallocate()
    }

    /// The page in a slot; valid until the next `append`.
    func page(_ slot: Int) -> UnsafeMutableRawBufferPointer {
        precondition(slot < capacity, "a slot of this buffer")
        return unsafe UnsafeMutableRawBufferPointer(
            start: base + slot * PageSealer.pageByteCount, count: PageSealer.pageByteCount)
    }

    /// Adds a page of undefined content and returns its slot.
    func append() -> Int {
        if pageCount == capacity {
            let larger = UnsafeMutableRawPointer.allocate(
                byteCount: 2 * capacity * PageSealer.pageByteCount, alignment: 16)
            unsafe larger.copyMemory(from: base, byteCount: pageCount * PageSealer.pageByteCount)
            unsafe base.deallocate()
            unsafe base = larger
            capacity *= 2
        }
        pageCount += 1
        return pageCount - 1
    }

    /// All pages, one after the other; valid until the next `append`.
    var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: base, count: pageCount * PageSealer.pageByteCount)
    }

    /// Forgets the pages, and gives back memory that a large transaction took.
    func removeAll() {
        pageCount = 0
        guard capacity > 1_024 else { return }
        unsafe base.deallocate()
        capacity = 16
        unsafe base = .allocate(byteCount: capacity * PageSealer.pageByteCount, alignment: 16)
    }
}
