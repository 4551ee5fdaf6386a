// libarchive, loaded when the first archive is opened, so that no other command pays for it. The one
// thing to keep true: only formats and filters that run inside the process are switched on; libarchive's
// "all" would start external programs for some filters.

internal import Glibc

/// The functions of libarchive that imports and exports need.
///
/// SAFETY: the signatures follow archive.h and archive_entry.h of libarchive 3 (soname 13), whose ABI has
/// been stable since 3.0. The library is never unloaded.
@safe struct ArchiveLibrary: @unchecked Sendable {
    typealias Handle = OpaquePointer
    typealias Status = @convention(c) (Handle?) -> Int32

    let readNew: @convention(c) () -> Handle?
    let readFree: Status
    let supportFunctions: [Status]
    let openDescriptor: @convention(c) (Handle?, Int32, Int) -> Int32
    let openMemory: @convention(c) (Handle?, UnsafeRawPointer?, Int) -> Int32
    let supportGzip: Status
    let supportRaw: Status
    let nextHeader: @convention(c) (Handle?, UnsafeMutablePointer<Handle?>?) -> Int32
    let readData: @convention(c) (Handle?, UnsafeMutableRawPointer?, Int) -> Int
    let errorNumber: Status
    let entryPath: @convention(c) (Handle?) -> UnsafePointer<CChar>?
    let entryPathUTF8: @convention(c) (Handle?) -> UnsafePointer<CChar>?
    let entryHardLink: @convention(c) (Handle?) -> UnsafePointer<CChar>?
    let entryFileType: @convention(c) (Handle?) -> UInt32
    let entrySize: @convention(c) (Handle?) -> Int64
    let entrySizeIsSet: Status
    let entryTime: @convention(c) (Handle?) -> Int
    let entryTimeNanoseconds: @convention(c) (Handle?) -> Int
    let entryTimeIsSet: Status
    let entryIsEncrypted: Status

    typealias WriteCallback =
        @convention(c) (Handle?, UnsafeMutableRawPointer?, UnsafeRawPointer?, Int) -> Int
    let writeNew: @convention(c) () -> Handle?
    let writeFree: Status
    let writeClose: Status
    let writeFormatZip: Status
    let writeBytesPerBlock: @convention(c) (Handle?, Int32) -> Int32
    let writeBytesInLastBlock: @convention(c) (Handle?, Int32) -> Int32
    let writeOpen: @convention(c) (Handle?, UnsafeMutableRawPointer?, Status?, WriteCallback?, Status?) -> Int32
    let writeHeader: @convention(c) (Handle?, Handle?) -> Int32
    let writeData: @convention(c) (Handle?, UnsafeRawPointer?, Int) -> Int
    let entryNew: @convention(c) () -> Handle?
    let entryFree: @convention(c) (Handle?) -> Void
    let entrySetPath: @convention(c) (Handle?, UnsafePointer<CChar>?) -> Void
    let entrySetSize: @convention(c) (Handle?, Int64) -> Void
    let entrySetMode: @convention(c) (Handle?, UInt32) -> Void
    let entrySetTime: @convention(c) (Handle?, Int, Int) -> Void

    /// Return codes of libarchive.
    static let endOfFile: Int32 = 1
    static let okay: Int32 = 0
    static let warning: Int32 = -20

    /// The library, or nil where it is not installed.
    static let shared: ArchiveLibrary? = ArchiveLibrary()

    private init?() {
        guard let library = unsafe dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL) else { return nil }
        do {
            unsafe readNew = try Self.symbol("archive_read_new", in: library)
            unsafe readFree = try Self.symbol("archive_read_free", in: library)
            unsafe openDescriptor = try Self.symbol("archive_read_open_fd", in: library)
            unsafe openMemory = try Self.symbol("archive_read_open_memory", in: library)
            unsafe supportGzip = try Self.symbol("archive_read_support_filter_gzip", in: library)
            unsafe supportRaw = try Self.symbol("archive_read_support_format_raw", in: library)
            unsafe nextHeader = try Self.symbol("archive_read_next_header", in: library)
            unsafe readData = try Self.symbol("archive_read_data", in: library)
            unsafe errorNumber = try Self.symbol("archive_errno", in: library)
            unsafe entryPath = try Self.symbol("archive_entry_pathname", in: library)
            unsafe entryPathUTF8 = try Self.symbol("archive_entry_pathname_utf8", in: library)
            unsafe entryHardLink = try Self.symbol("archive_entry_hardlink", in: library)
            unsafe entryFileType = try Self.symbol("archive_entry_filetype", in: library)
            unsafe entrySize = try Self.symbol("archive_entry_size", in: library)
            unsafe entrySizeIsSet = try Self.symbol("archive_entry_size_is_set", in: library)
            unsafe entryTime = try Self.symbol("archive_entry_mtime", in: library)
            unsafe entryTimeNanoseconds = try Self.symbol("archive_entry_mtime_nsec", in: library)
            unsafe entryTimeIsSet = try Self.symbol("archive_entry_mtime_is_set", in: library)
            unsafe entryIsEncrypted = try Self.symbol("archive_entry_is_encrypted", in: library)
            unsafe writeNew = try Self.symbol("archive_write_new", in: library)
            unsafe writeFree = try Self.symbol("archive_write_free", in: library)
            unsafe writeClose = try Self.symbol("archive_write_close", in: library)
            unsafe writeFormatZip = try Self.symbol("archive_write_set_format_zip", in: library)
            unsafe writeBytesPerBlock = try Self.symbol("archive_write_set_bytes_per_block", in: library)
            unsafe writeBytesInLastBlock = try Self.symbol("archive_write_set_bytes_in_last_block", in: library)
            unsafe writeOpen = try Self.symbol("archive_write_open", in: library)
            unsafe writeHeader = try Self.symbol("archive_write_header", in: library)
            unsafe writeData = try Self.symbol("archive_write_data", in: library)
            unsafe entryNew = try Self.symbol("archive_entry_new", in: library)
            unsafe entryFree = try Self.symbol("archive_entry_free", in: library)
            unsafe entrySetPath = try Self.symbol("archive_entry_set_pathname", in: library)
            unsafe entrySetSize = try Self.symbol("archive_entry_set_size", in: library)
            unsafe entrySetMode = try Self.symbol("archive_entry_set_mode", in: library)
            unsafe entrySetTime = try Self.symbol("archive_entry_set_mtime", in: library)
            var supports = unsafe [Status]()
            for name in Self.supportedFormats {
                // A build of libarchive without one of the compressions still serves the others.
                if let function: Status = unsafe try? Self.symbol(name, in: library) {
                    unsafe supports.append(function)
                }
            }
            unsafe supportFunctions = unsafe supports
        } catch {
            return nil
        }
    }

    private static let supportedFormats = [
        "archive_read_support_filter_gzip", "archive_read_support_filter_bzip2",
        "archive_read_support_filter_xz", "archive_read_support_filter_zstd",
        "archive_read_support_format_tar", "archive_read_support_format_zip",
    ]

    private struct SymbolMissing: Error {}

    private static func symbol<Function>(
        _ name: String, in library: UnsafeMutableRawPointer
    ) throws(SymbolMissing) -> Function {
        guard let address = unsafe dlsym(library, name) else { throw SymbolMissing() }
        // SAFETY: the caller states the type that the header declares for this name.
        return unsafe unsafeBitCast(address, to: Function.self)
    }
}
