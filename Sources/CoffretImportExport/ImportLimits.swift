// Bounds for foreign files (requirement R41). Every loop over untrusted input must end at one of
// these; a test goes to each limit and one past it.

/// How much an import may contain. The defaults are far above real collections and far below what
/// would exhaust a small machine.
package struct ImportLimits: Sendable {
    /// Files in a folder or archive. The largest public note collections hold about 100,000.
    package var entryCountMax = 500_000
    /// Bytes of all files together, unpacked.
    package var totalByteCountMax: UInt64 = 64 << 30
    /// Bytes of one file that becomes an attachment.
    package var fileByteCountMax: UInt64 = 16 << 30
    /// Bytes of one text file; it is held in memory as a whole.
    package var noteByteCountMax = 16 << 20
    /// Bytes of one line of text. Embedded images as `data:` addresses make lines of megabytes.
    package var lineByteCountMax = 8 << 20
    /// Unpacked bytes per byte of archive, above `ratioFreeByteCount`. Text rarely exceeds 20.
    package var compressionRatioMax: UInt64 = 200
    /// Unpacked bytes for which the ratio is not looked at: tiny archives of zeros are harmless.
    package var ratioFreeByteCount: UInt64 = 32 << 20
    /// Folders in a path.
    package var pathDepthMax = 48
    /// Bytes in a path.
    package var pathByteCountMax = 4_096
    /// Bytes in one component of a path.
    package var pathComponentByteCountMax = 1_024
    /// Bytes of front matter at the start of a note; a longer block is text.
    package var frontMatterByteCountMax = 64 << 10
    /// Nesting of structured files.
    package var nestingDepthMax = 32
    /// Values in one structured file.
    package var valueCountMax = 8_000_000
    /// Memory in KiB that an export's key may want.
    package var keyMemoryKibibytesMax: UInt64 = 2 << 20
    /// Passes over that memory.
    package var keyPassCountMax: UInt64 = 1_000
    /// Rounds of AES or of a hash that an export's key may want; a second of work is about ten million.
    package var keyRoundCountMax: UInt64 = 500_000_000

    /// The default limits.
    package init() {}
}
