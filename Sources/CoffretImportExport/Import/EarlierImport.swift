// Finds the earlier import of a source. A name or a path alone proves nothing: every project has a README.md,
// and an import that takes one source for another replaces the notes of the first. An import that does not know a later
// backup doubles each of its items.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import Glibc

/// Compares a source with the imports that a vault remembers.
struct EarlierImport {
    let record: SourceRecord
    let files: [[UInt8]: FileRecord]

    /// The earlier import of the same source; nil if there is none.
    ///
    /// Spec: Spec/export.md section 7.
    /// - Complexity: reads files of the source until it is decided: at the place of before one or a few, else those that
    ///   both have.
    static func find(
        of origin: any ImportSource, by importer: any Importer, among known: [SourceRecord], reader: SourceRecordReader
    ) throws(ImportExportError) -> EarlierImport? {
        for candidate in known where candidate.location == origin.location {
            let files = try reader.files(of: candidate.entity)
            let comparison = Comparison(origin: origin, files: files)
            let needed = comparison.shared.count < 3 ? 0 : 1
            if try comparison.agrees(onAtLeast: needed) { return EarlierImport(record: candidate, files: files) }
        }
        // Backups have the day in their names, but their items have names of their own.
        if !known.isEmpty, let identities = try importer.identities(in: origin) {
            for candidate in known {
                let files = try reader.files(of: candidate.entity)
                if identities.areThose(of: files) { return EarlierImport(record: candidate, files: files) }
            }
        }
        for candidate in known where candidate.location != origin.location {
            let files = try reader.files(of: candidate.entity)
            let comparison = Comparison(origin: origin, files: files)
            guard comparison.isAlike(hasSameName: candidate.name == origin.name) else { continue }
            let isSame =
                isThere(candidate.location)
                ? try comparison.agreesOnAll() : try comparison.agrees(onAtLeast: (comparison.shared.count + 1) / 2)
            if isSame { return EarlierImport(record: candidate, files: files) }
        }
        return nil
    }

    private static func isThere(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }
}

/// How the items of a source are named.
package struct SourceIdentities {
    /// Ids that the program made, which no other source has.
    private var ofProgram: Set<[UInt8]> = []
    /// What stands for one: kind, title and user name, or a path.
    private var derived: Set<[UInt8]> = []

    mutating func add(_ entry: ListEntry, isOfProgram: Bool) {
        if isOfProgram { ofProgram.insert(entry.key) } else { derived.insert(entry.key) }
    }

    /// Whether these are the items of an earlier import, at another time.
    ///
    /// Spec: Spec/export.md section 7.
    func areThose(of files: [[UInt8]: FileRecord]) -> Bool {
        var known: Set<[UInt8]> = []
        for (key, record) in files where ItemKind(record.target) != nil {
            if let end = key.firstIndex(of: 0) { known.insert(Array(key[(end + 1)...])) }
        }
        let sharedOfProgram = ofProgram.intersection(known).count
        if sharedOfProgram > 0, sharedOfProgram * 2 >= min(ofProgram.count, known.count) { return true }
        let shared = sharedOfProgram + derived.intersection(known).count
        return shared >= 3 && shared * 10 >= min(ofProgram.count + derived.count, known.count) * 9
    }
}

/// Files that a source and an earlier import both have.
private struct Comparison {
    let origin: any ImportSource
    let files: [[UInt8]: FileRecord]
    /// Indexes in the listing of the paths that both have.
    let shared: [Int]

    init(origin: any ImportSource, files: [[UInt8]: FileRecord]) {
        self.origin = origin
        self.files = files
        shared = origin.listing.entries.indices.filter { files[origin.listing.entries[$0].path.bytes] != nil }
    }

    /// Whether enough paths are the same.
    func isAlike(hasSameName: Bool) -> Bool {
        let count = origin.listing.entries.count
        let isAlike = hasSameName ? shared.count * 2 > count : count >= 3 && shared.count * 10 >= count * 9
        // Items of a list have keys with a NUL in them, which no path has.
        return isAlike && shared.count * 2 >= files.keys.count(where: { !$0.contains(0) })
    }

    func agreesOnAll() throws(ImportExportError) -> Bool {
        var isSame = true
        try forEachShared({ isSame }) { isSame = $0 }
        return isSame
    }

    func agrees(onAtLeast wanted: Int) throws(ImportExportError) -> Bool {
        guard wanted > 0 else { return true }
        var count = 0
        try forEachShared({ count < wanted }) { if $0 { count += 1 } }
        return count >= wanted
    }

    /// Says of each shared file whether its content is that of the earlier import, while `isWanted`.
    private func forEachShared(
        _ isWanted: () -> Bool, _ body: (Bool) -> Void
    ) throws(ImportExportError) {
        // Another handle: notes are being read ahead through the source's own.
        let source = try openImportSource(atPath: origin.location, limits: origin.limits)
        let entries = source.listing.entries
        let members = Set(shared.map { origin.listing.entries[$0].path })
        try source.visit({ isWanted() && members.contains(entries[$0].path) }) {
            (index, reader) throws(ImportExportError) in
            var hasher = BLAKE2bHasher(byteCount: 32)
            try reader.forEachPiece(byteCountMax: origin.limits.fileByteCountMax) { piece in
                unsafe piece.withUnsafeBytes { unsafe hasher.update($0) }
            }
            body(hasher.finish() == files[entries[index].path.bytes]?.contentHash)
        }
    }
}
