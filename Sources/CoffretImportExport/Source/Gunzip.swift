// Compressed bytes within a file of another program, by libarchive. Invariant: what comes out is bounded by the same ratio
// as an archive.

internal import CoffretBase

/// The content of a gzip stream.
///
/// - Throws: `.archiveDamaged`, `.ratioTooHigh`, `.libraryMissing`.
func gunzipped(_ bytes: [UInt8], subject: String, limits: ImportLimits) throws(ImportExportError) -> [UInt8] {
    guard let library = ArchiveLibrary.shared else { throw ImportExportError(.libraryMissing, at: "libarchive13") }
    let byteCountMax = max(
        limits.ratioFreeByteCount, UInt64(bytes.count).multipliedOrMax(by: limits.compressionRatioMax))
    var failure: ImportExportError?
    let result = unsafe bytes.withUnsafeBytes { input in
        do throws(ImportExportError) {
            return try unsafe gunzipped(input, library, byteCountMax: min(byteCountMax, 1 << 30), subject)
        } catch {
            failure = error
            return []
        }
    }
    if let failure { throw failure }
    return result
}

private func gunzipped(
    _ input: UnsafeRawBufferPointer, _ library: ArchiveLibrary, byteCountMax: UInt64, _ subject: String
) throws(ImportExportError) -> [UInt8] {
    let damaged = ImportExportError(.archiveDamaged, subject: subject)
    guard let handle = unsafe library.readNew() else { throw ImportExportError(.libraryMissing, at: "libarchive13") }
    // SAFETY: the handle is freed here, and the input outlives it.
    defer { _ = unsafe library.readFree(handle) }
    _ = unsafe library.supportGzip(handle)
    _ = unsafe library.supportRaw(handle)
    var entry: ArchiveLibrary.Handle?
    guard unsafe library.openMemory(handle, input.baseAddress, input.count) == ArchiveLibrary.okay,
        unsafe library.nextHeader(handle, &entry) == ArchiveLibrary.okay
    else { throw damaged }
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    defer { buffer.zero() }
    while true {
        let capacity = buffer.count
        let count = unsafe library.readData(handle, &buffer, capacity)
        guard count >= 0 else { throw damaged }
        if count == 0 { return result }
        guard UInt64(result.count + count) <= byteCountMax else {
            throw ImportExportError(.ratioTooHigh, at: "more than \(byteCountMax)", subject: subject)
        }
        result += buffer[..<count]
    }
}
