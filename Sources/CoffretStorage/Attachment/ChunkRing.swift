// The buffers that go to a second thread and back. The one thing to keep true: a buffer belongs to one
// side at a time, and both sides end when either fails.

internal import CoffretBase
internal import Glibc

/// Memory for one sealed chunk: a page-aligned block of 1 MiB and room for its tag.
@safe final class ChunkBuffer: @unchecked Sendable {
    // SAFETY: handed from one thread to the other through `ChunkRing`, whose lock orders the accesses;
    // only the side that holds the buffer touches it.
    private let pointer: UnsafeMutableRawPointer
    /// How many plaintext bytes it holds, padding included.
    var byteCount = 0
    var index: UInt64 = 0
    var isLast = false

    init() {
        unsafe pointer = .allocate(byteCount: AttachmentFormat.sealedChunkByteCount, alignment: 4096)
    }

    deinit {
        unsafe explicit_bzero(pointer, AttachmentFormat.sealedChunkByteCount)
        unsafe pointer.deallocate()
    }

    /// The first `count` bytes.
    func bytes(_ count: Int) -> UnsafeMutableRawBufferPointer {
        precondition(count <= AttachmentFormat.sealedChunkByteCount, "a chunk fits its buffer")
        return unsafe UnsafeMutableRawBufferPointer(start: pointer, count: count)
    }
}

/// Passes buffers from a producer to a consumer thread and back.
///
/// Memory is at most `capacity` chunks, whatever the size of the attachment.
@safe final class ChunkRing: @unchecked Sendable {
    // SAFETY: all variables are touched while the mutex is held.
    static let capacity = 8
    /// After so many chunks the system is asked to begin to write them to the disk.
    static let writtenTogetherCount = 16

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var free: [ChunkBuffer] = []
    /// Buffers are made when they are wanted: most files have one chunk.
    private var madeCount = 0
    private var filled: [ChunkBuffer] = []
    private var isClosed = false
    private var failure: StorageError?

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// An empty buffer; waits for one. Nil once the ring is closed.
    ///
    /// - Throws: what the other side failed with.
    func takeFree() throws(StorageError) -> ChunkBuffer? {
        try waiting {
            if let buffer = free.popLast() { return buffer }
            guard madeCount < Self.capacity else { return nil }
            madeCount += 1
            return ChunkBuffer()
        }
    }

    /// Passes a full buffer on.
    func putFilled(_ buffer: ChunkBuffer) {
        locked { filled.append(buffer) }
    }

    /// The next full buffer, in order; nil once the ring is closed and all are taken.
    ///
    /// - Throws: what the other side failed with.
    func takeFilled() throws(StorageError) -> ChunkBuffer? {
        try waiting { filled.isEmpty ? nil : filled.removeFirst() }
    }

    /// Gives a buffer back.
    func putFree(_ buffer: ChunkBuffer) {
        locked { free.append(buffer) }
    }

    /// No more full buffers will come.
    func close() { locked { isClosed = true } }

    /// Ends both sides with this error; the first one counts.
    func fail(_ error: StorageError) {
        locked { failure = failure ?? error }
    }

    private func locked(_ body: () -> Void) {
        unsafe pthread_mutex_lock(mutex)
        body()
        unsafe pthread_cond_broadcast(condition)
        unsafe pthread_mutex_unlock(mutex)
    }

    private func waiting(_ take: () -> ChunkBuffer?) throws(StorageError) -> ChunkBuffer? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let failure { throw failure }
            if let buffer = take() { return buffer }
            if isClosed { return nil }
            unsafe pthread_cond_wait(condition, mutex)
        }
    }
}
