// Frontiers of this device and of others. The one thing to keep true: a frontier names what is applied here, and one of
// somebody else is read over links that this device has taken.

package import CoffretBase
internal import CoffretCrypto
package import CoffretHistory
package import CoffretStorage

/// What a blob of type 10 came to.
package enum FrontierReading: Sendable {
    /// With all that it says was applied.
    case good(SignedFrontier, Frontier)
    /// This blob is needed first: a context, or the full frontier.
    case lacks(BlobName)
    /// It is none of a device that may write (F6).
    case refused
}

extension LogRepository {
    /// Reads a frontier of somebody else.
    ///
    /// - Parameter other: the content of a frontier that came and is not stored.
    package func readFrontier(
        _ content: [UInt8], name: BlobName, other: (BlobName) -> [UInt8]? = { _ in nil }
    ) throws(StorageError) -> FrontierReading {
        let members = try ask { (machine) in machine.members }
        var lacking: BlobName?
        func verify(_ content: [UInt8], _ name: BlobName) -> SignedFrontier? {
            try? SignedFrontier.verify(content, name: name, vaultID: keys.vaultID, authority: members) {
                (name) throws(HistoryError) in
                do throws(HistoryError) { return try files.context(named: name) } catch {
                    if (error.cause as? StorageError)?.code == .blobMissing { lacking = name }
                    throw error
                }
            }
        }
        func accepted(_ frontier: SignedFrontier) -> Frontier? {
            guard let base = frontier.body.base else { return Frontier() }
            return base < UInt64(members.takenCount) ? members.chain.states[Int(base)].accepted : nil
        }
        guard let head = verify(content, name) else { return lacking.map { .lacks($0) } ?? .refused }
        guard let full = head.body.full else {
            return accepted(head).map { .good(head, head.body.frontier(over: $0)) } ?? .refused
        }
        var below = other(full)
        if below == nil { below = try frontierContent(full) }
        guard let below else { return .lacks(full) }
        guard let read = verify(below, full) else { return lacking.map { .lacks($0) } ?? .refused }
        guard read.body.full == nil, let start = accepted(read) else { return .refused }
        return .good(head, head.body.frontier(over: read.body.frontier(over: start)))
    }

    private func frontierContent(_ name: BlobName) throws(StorageError) -> [UInt8]? {
        try blobs.containsBlob(name) ? blobs.blobBytes(name, type: .frontier) : nil
    }

    /// What this device has applied, as its own frontier (F1): the blobs that a push sends, the frontier last.
    ///
    /// - Parameters:
    ///   - full: the full frontier that this device wrote last; it is not used if it is not here or of another base.
    ///   - missing: what the replaced head named and never came (F3).
    /// - Returns: the blobs, and the full frontier that it rests on, or that it is.
    /// - Throws: `.readOnly` where this device may not write.
    package func writeFrontier(
        over full: BlobName?, missing: [InstanceID: EntryNumber], time: Milliseconds
    ) throws(StorageError) -> (blobs: [WrittenBlob], full: BlobName) {
        guard let signingKey = author.signingKey else { throw StorageError(.readOnly, place: directory) }
        try beginOwnLogIfNeeded()
        let context = try nextPlace().context
        let (base, frontier, accept, digest) = try ask { (machine) in
            (machine.base, machine.frontier, machine.accepted, machine.summary.digest)
        }
        var last: (name: BlobName, frontier: Frontier)?
        if let full, let content = try frontierContent(full),
            case .good(let read, let said) = try readFrontier(content, name: full),
            read.body.full == nil, read.body.base == base.map({ UInt64($0) })
        {
            last = (full, said)
        }
        let (rests, marks) = ZoneFrontier.difference(frontier, accept: accept, last: last)
        let body = ZoneFrontier(
            context: context.name, base: base.map { UInt64($0) }, full: rests, marks: marks, missing: missing,
            digest: digest, time: time)
        let head = try blobs.seal(body.sign(in: context, with: signingKey), type: .frontier)
        files.remember(context, name: context.name)
        // One that lies here went, or goes, with an entry.
        let isKnown = try blobs.containsBlob(context.name)
        let extra = try isKnown ? [] : [blobs.seal(context.encode(), type: .entryContext)]
        return (extra + [head], rests ?? head.name)
    }
}
