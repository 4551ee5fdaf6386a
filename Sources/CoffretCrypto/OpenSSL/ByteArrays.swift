// Arrays that are written by C, without zeroing them first. A failed writer leaves nothing behind.

internal import CoffretBase

/// An array of `byteCount` bytes that `body` writes in full; if it throws, what it wrote is overwritten.
package func makeBytes<Failure: Error>(
    byteCount: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
) throws(Failure) -> [UInt8] {
    // The array's own initialiser does not carry typed errors, so the error is handed around it.
    var failure: Failure?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initializedCount in
        do throws(Failure) {
            try unsafe body(
                UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<byteCount]))
            initializedCount = byteCount
        } catch {
            unsafe zero(UnsafeMutableRawBufferPointer(buffer))
            failure = error
        }
    }
    if let failure { throw failure }
    return bytes
}

extension UnsafeRawBufferPointer {
    /// The part of the buffer in `range`, which the caller has checked.
    package func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: self[range])
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The part of the buffer in `range`, which the caller has checked.
    package func part(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(rebasing: self[range])
    }
}
