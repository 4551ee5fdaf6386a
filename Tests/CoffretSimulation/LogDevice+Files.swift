// A device's files: attached, sent before the entry that names them, fetched, and removed when nothing names them. The one thing
// to keep true: files are sealed, sent and verified by the product.

package import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
package import CoffretStorage
internal import CoffretSync

extension LogDevice {
    private static let fileKind: UInt8 = 102

    package static func file(_ number: Int) -> FactKey {
        FactKey(entity: EntityID(kind: fileKind, uuid: text(number).entity.uuid), attribute: "file")
    }

    private var files: AttachmentStore {
        AttachmentStore(
            directory: "vault", keys: repository.keys, environment: LogDevice.environment(person, disk))
    }

    private func chunks() -> (any ChunkSite)? {
        person.server.chunks(in: person.vaultID.bytes, by: owner) { [self] in chunksPass() }
    }

    /// Attaches a file, and names it in an entry.
    ///
    /// - Returns: the file's id.
    package func attach(_ bytes: [UInt8], as key: FactKey) throws -> UniqueID {
        let writer = try files.makeWriter()
        try writer.write(bytes)
        let reference = try writer.finish()
        try repository.commit([LogChange(key: key, value: reference.encode())], time: now)
        return reference.fileID
    }

    /// The files that entries name, before these go.
    func sendFiles(of entries: [VerifiedEntry]) throws {
        var wanted: [UniqueID] = []
        for entry in entries {
            for change in try repository.changes(of: entry)
            where change.key.entity.kind == LogDevice.fileKind && change.content != .retraction {
                let value = try repository.value(of: change.content, under: change.key)
                wanted.append(try AttachmentReference.parse(value).fileID)
            }
        }
        guard !wanted.isEmpty, let chunks = chunks() else { return }
        let tally = try FileExchange(store: files, transport: chunks).send(wanted)
        guard tally.waiting.isEmpty else { throw SimulationFailure("files wait: \(tally.waiting)") }
    }

    /// The file that a fact of now names, as it was attached; it is fetched if it is not here.
    ///
    /// - Throws: `SimulationFailure` for one that is nowhere.
    package func contents(of fact: Fact) throws -> (id: UniqueID, bytes: [UInt8]) {
        let reference = try AttachmentReference.parse(repository.present().value(of: fact))
        if try !files.containsFile(reference.fileID), let chunks = chunks() {
            let wanted = WantedFile(reference: reference, home: nil, place: "\(fact.key)")
            let tally = try FileExchange(store: files, transport: chunks).fetch([wanted])
            guard tally.problems.isEmpty else { throw SimulationFailure("no file: \(tally.problems)") }
        }
        var bytes: [UInt8] = []
        try unsafe files.makeReader(reference).read { part in unsafe bytes.append(contentsOf: part) }
        return (reference.fileID, bytes)
    }

    /// Ids of files that anything kept here names.
    private func namedFiles() throws -> Set<UniqueID> {
        var named: Set<UniqueID> = []
        try repository.forEachKeptValue(withPrefix: [LogDevice.fileKind], where: { _ in true }) {
            (_, value) throws(StorageError) in named.insert(try AttachmentReference.parse(value).fileID)
        }
        return named
    }

    /// Frees the bytes of what was dropped, of files too.
    package func compact() throws {
        try repository.compact()
        try files.removeAll(except: namedFiles())
    }

    /// Chunks at the server that nothing kept here names.
    func unneededChunks(_ meanwhile: () throws -> Void) throws -> [[UInt8]] {
        guard LogCollector.requested(in: repository) != nil, let chunks = chunks() else { return [] }
        let named = try namedFiles()
        try meanwhile()
        let stored = try chunks.allChunks()
        let kept = files.addresses(ofChunksOf: named, among: Set(stored))
        return stored.filter { !kept.contains($0) }.map(\.bytes)
    }
}
