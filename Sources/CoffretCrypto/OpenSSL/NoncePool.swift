// Random nonces drawn in batches: a system call for each would take longer than sealing a short message.
// The pool must never hand out the same bytes twice, not even on both sides of a fork.

internal import CSodium
internal import Glibc
internal import Synchronization

/// Random bytes for nonces and salts, which are published anyway. Not for keys: the pool is ordinary memory.
///
/// Bytes are overwritten as they are handed out. The memory and the count of what is left in it are on one
/// page that the kernel replaces by zeros in a forked child, which then starts with an empty pool.
@safe package final class NoncePool: Sendable {
    /// The one pool of the process.
    package static let shared = NoncePool()

    private static let pageByteCount = 4096
    /// The count lies at the page's start; what follows is handed out from the end.
    private static let capacity = pageByteCount - 16

    @safe private struct Page: @unchecked Sendable {
        // SAFETY: the memory is read and written under the lock alone, and never unmapped.
        let base: UnsafeMutableRawPointer?
    }

    private let page: Mutex<Page>

    private init() {
        precondition(sodium_init() >= 0, "libsodium cannot be initialised")
        // MADV_WIPEONFORK; where the kernel lacks it there is no pool, and every call asks the system.
        let wipeOnFork: Int32 = 18
        let memory = unsafe mmap(
            nil, Self.pageByteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        if let memory = unsafe memory, unsafe memory != MAP_FAILED,
            unsafe madvise(memory, Self.pageByteCount, wipeOnFork) == 0
        {
            page = unsafe Mutex(Page(base: memory))
        } else {
            page = unsafe Mutex(Page(base: nil))
        }
    }

    /// Fills `output` with bytes that nobody can predict and that nobody else gets.
    package func fill(_ output: UnsafeMutableRawBufferPointer) {
        guard let target = output.baseAddress, output.count > 0 else { return }
        guard output.count <= 64 else {
            unsafe randombytes_buf(target, output.count)
            return
        }
        page.withLock { page in
            guard let base = unsafe page.base else {
                unsafe randombytes_buf(target, output.count)
                return
            }
            var leftByteCount = unsafe base.load(as: Int.self)
            if leftByteCount < output.count {
                unsafe randombytes_buf(base + 16, Self.capacity)
                leftByteCount = Self.capacity
            }
            leftByteCount -= output.count
            let source = unsafe base + 16 + leftByteCount
            unsafe target.copyMemory(from: source, byteCount: output.count)
            unsafe sodium_memzero(source, output.count)
            unsafe base.storeBytes(of: leftByteCount, as: Int.self)
        }
    }

    /// `count` bytes that nobody can predict.
    package func bytes(count: Int) -> [UInt8] {
        unsafe makeBytes(byteCount: count) { unsafe fill($0) }
    }
}
