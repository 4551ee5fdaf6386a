// A part of a file, seen as memory. Invariant: the region stays mapped for as long as anybody holds it, whatever
// happens to the file's name.

/// A read-only view of the beginning of a file.
///
/// Later writes through the file show here; the size is fixed, and a file that has grown is mapped
/// anew. If the file is cut shorter by somebody else, touching the lost part ends the process with
/// SIGBUS: formats map only files that are never cut while they can be mapped.
@safe package final class MappedFile: @unchecked Sendable {
    // SAFETY: the memory is unmapped in deinit only, which nobody who still holds the region can see.
    private let bytes: UnsafeRawBufferPointer
    private let release: @Sendable (UnsafeRawBufferPointer) -> Void

    package let byteCount: Int

    /// - Parameter release: unmaps; called once, when the last reference goes.
    @unsafe package init(
        _ bytes: UnsafeRawBufferPointer, release: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) {
        unsafe self.bytes = unsafe bytes
        self.byteCount = bytes.count
        unsafe self.release = unsafe release
    }

    deinit {
        unsafe release(bytes)
    }

    /// Lends the region for the duration of the call.
    package func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(bytes)
    }
}
