// Memory for secrets that live for one call. Must be overwritten on every way out.

internal import CoffretBase

/// Lends `byteCount` zeroed bytes for the duration of `body`, and overwrites them afterwards.
///
/// For derived keys and shared secrets that are used at once and forgotten. The memory is not
/// locked: what lives longer belongs in `SecretBytes`.
/// - Parameter body: works on the memory; must not let the pointer escape.
/// - Complexity: one allocation.
package func withSecretScratch<Result: ~Copyable, Failure: Error>(
    byteCount: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
) throws(Failure) -> Result {
    precondition(byteCount > 0, "scratch memory needs a size")
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
    defer {
        // SAFETY: the buffer is the allocation made above, still whole.
        unsafe zero(memory)
        unsafe memory.deallocate()
    }
    return try unsafe body(memory)
}
