// Folders and single files as import sources. Invariant: nothing outside the folder is opened, whatever links, pipes
// or loops lie inside it.

internal import Glibc

/// A folder tree. Hidden entries (except hidden Markdown) and those of version control systems are left
/// out and counted.
final class FolderSource: ImportSource {
    let name: String
    let location: String
    let limits: ImportLimits
    private(set) var listing = SourceListing()
    private let root: OwnedDescriptor

    init(root: OwnedDescriptor, location: String, limits: ImportLimits) throws(ImportExportError) {
        self.root = root
        self.location = location
        self.limits = limits
        name = lastComponent(of: location)
        let status = try root.status(subject: location)
        var walk = FolderWalk(limits: limits)
        try walk.visit(root, path: [], depth: 0, ancestors: [FolderWalk.Identity(status)])
        listing = walk.listing
        listing.entries.sort { $0.path < $1.path }
    }

    func visit(
        _ wanted: (Int) -> Bool, _ body: (Int, any SourceEntryReader) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        // Neighbours in the listing share their folder, so one open folder is worth keeping.
        var openFolder: (path: ArraySlice<UInt8>, descriptor: OwnedDescriptor) = ([], root)
        for (index, entry) in listing.entries.enumerated() where wanted(index) {
            if !openFolder.path.elementsEqual(entry.path.folder) {
                openFolder = (entry.path.folder, try openFolderBelowRoot(entry.path.folder))
            }
            let file = try openFolder.descriptor.open(
                name: Array(entry.path.name), folder: false, subject: entry.path.printable)
            let status = try file.status(subject: entry.path.printable)
            guard status.kind == .file else {
                throw ImportExportError(.sourceChanged, subject: entry.path.printable)
            }
            try body(
                index, DescriptorReader(file: file, byteCount: status.byteCount, subject: entry.path.printable))
        }
    }

    private func openFolderBelowRoot(_ path: ArraySlice<UInt8>) throws(ImportExportError) -> OwnedDescriptor {
        var folder = root
        for component in path.split(separator: UInt8(ascii: "/")) {
            folder = try folder.open(name: Array(component), folder: true, subject: printableText(path))
        }
        return folder
    }
}

/// One file that is no archive.
final class SingleFileSource: ImportSource {
    let name: String
    let location: String
    let limits: ImportLimits
    let listing: SourceListing
    private let file: OwnedDescriptor

    init(
        file: OwnedDescriptor, location: String, status: OwnedDescriptor.Status, limits: ImportLimits
    ) throws(ImportExportError) {
        self.file = file
        self.location = location
        self.limits = limits
        name = lastComponent(of: location)
        var listing = SourceListing()
        try listing.add(
            SourceEntry(
                path: try SourcePath(validating: Array(name.utf8), limits: limits), byteCount: status.byteCount,
                modifiedMilliseconds: status.modifiedMilliseconds), limits: limits)
        self.listing = listing
    }

    func visit(
        _ wanted: (Int) -> Bool, _ body: (Int, any SourceEntryReader) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        guard wanted(0) else { return }
        guard lseek(file.number, 0, SEEK_SET) == 0 else {
            throw ImportExportError(.sourceUnreadable, at: "errno \(errno)", subject: name)
        }
        try body(
            0,
            DescriptorReader(file: file, byteCount: listing.totalByteCount, subject: printableText(name.utf8)))
    }
}

/// Reads an open file from where it stands to its end.
final class DescriptorReader: SourceEntryReader {
    private let file: OwnedDescriptor
    private let byteCount: UInt64
    private let subject: String

    /// - Parameter byteCount: how large the file is said to be; no more room than that is taken for a small one.
    init(file: OwnedDescriptor, byteCount: UInt64, subject: String) {
        self.file = file
        self.byteCount = byteCount
        self.subject = subject
    }

    func forEachPiece(
        byteCountMax: UInt64, _ body: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        // One byte more than there should be, so that growth beyond a limit is seen.
        let capacity = Int(min(byteCountMax, max(byteCount, 4_095), (1 << 20) - 1)) + 1
        var buffer = [UInt8](repeating: 0, count: capacity)
        var total: UInt64 = 0
        while true {
            let count = try file.read(into: &buffer, subject: subject)
            if count == 0 { return }
            total += UInt64(count)
            guard total <= byteCountMax else {
                throw ImportExportError(.fileTooLarge, at: "more than \(byteCountMax) bytes", subject: subject)
            }
            try body(buffer[..<count])
        }
    }
}

/// The walk that lists a folder.
private struct FolderWalk {
    struct Identity: Equatable {
        let device: UInt64
        let node: UInt64

        init(_ status: OwnedDescriptor.Status) {
            device = status.device
            node = status.node
        }
    }

    /// Folders of version control systems whose names do not start with a dot, and what macOS adds to zips.
    static let leftOut: [[UInt8]] = ["CVS", "_darcs", "__MACOSX"].map { Array($0.utf8) }

    let limits: ImportLimits
    var listing = SourceListing()

    init(limits: ImportLimits) {
        self.limits = limits
    }

    /// - Parameter ancestors: the folders above, to notice a loop made by mounts.
    mutating func visit(
        _ folder: OwnedDescriptor, path: [UInt8], depth: Int, ancestors: [Identity]
    ) throws(ImportExportError) {
        let subject = printableText(path)
        guard depth <= limits.pathDepthMax else {
            throw ImportExportError(.pathTooLong, at: "depth \(depth)", subject: subject)
        }
        for name in try folder.names(subject: subject, countMax: limits.entryCountMax) {
            let childPath = path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
            guard childPath.count <= limits.pathByteCountMax else {
                throw ImportExportError(.pathTooLong, at: "bytes \(childPath.count)", subject: printableText(childPath))
            }
            // A name that vanished since it was listed is none of ours to complain about.
            guard let status = folder.status(ofName: name) else { continue }
            if isLeftOut(name, isFolder: status.kind == .folder) {
                listing.skip(printableText(childPath), .hidden)
                continue
            }
            switch status.kind {
            case .symbolicLink: listing.skip(printableText(childPath), .symbolicLink)
            case .special: listing.skip(printableText(childPath), .specialFile)
            case .file:
                try listing.add(
                    SourceEntry(
                        path: SourcePath(cleanBytes: childPath), byteCount: status.byteCount,
                        modifiedMilliseconds: status.modifiedMilliseconds), limits: limits)
            case .folder:
                let child = try folder.open(name: name, folder: true, subject: printableText(childPath))
                let identity = Identity(try child.status(subject: printableText(childPath)))
                guard !ancestors.contains(identity) else {
                    listing.skip(printableText(childPath), .symbolicLink)
                    continue
                }
                try visit(child, path: childPath, depth: depth + 1, ancestors: ancestors + [identity])
            }
        }
    }

    private func isLeftOut(_ name: [UInt8], isFolder: Bool) -> Bool {
        isFolder ? isLeftOutFolder(name[...]) : isLeftOutFile(SourcePath(cleanBytes: name))
    }
}

/// Hidden folders, and those of version control systems and of macOS archives.
private func isLeftOutFolder(_ name: ArraySlice<UInt8>) -> Bool {
    name.first == UInt8(ascii: ".") || FolderWalk.leftOut.contains { name.elementsEqual($0) }
}

/// Hidden files, but not hidden Markdown: a page about the command `.` is called `..md`. The companions
/// that macOS writes beside a file (`._name`) are left out whatever they are called.
private func isLeftOutFile(_ path: SourcePath) -> Bool {
    guard path.name.first == UInt8(ascii: ".") else { return false }
    return !path.isMarkdown || path.name.starts(with: "._".utf8)
}

/// Whether a path of an archive lies in, or is, something that a folder walk leaves out.
func isLeftOutOfImports(_ path: SourcePath) -> Bool {
    isLeftOutFile(path) || path.components.dropLast().contains { isLeftOutFolder($0) }
}

/// The last component of an absolute path.
func lastComponent(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
}
