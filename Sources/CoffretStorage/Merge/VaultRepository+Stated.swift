// What a head that a device states elsewhere says of this vault. The one thing to keep true: a contradiction is told
// only where an honest server and honest devices cannot have come to it.

internal import CoffretBase

/// How a stated head stands to what is here.
package enum StatedStanding: Equatable, Sendable {
    /// It is here.
    case known
    /// It is not here, and nothing follows from that: it was removed, dropped by its author, or may have been set aside.
    case undecided
    /// Its number has not come yet.
    case ahead
    /// Another commit has its number (R2).
    case contradicted
}

extension VaultRepository {
    /// - Parameters:
    ///   - seen: what a trusted device has signed that it saw in this vault.
    ///   - newestRevocation: the newest link that revokes a device, as far as this device knows. What was seen before it may
    ///     count no more, and need not have been delivered.
    package func standing(
        of seen: SeenHead, signers: any CommitSignerDirectory, newestRevocation: UInt64?
    ) throws(StorageError) -> StatedStanding {
        let head = headNames.first
        // Whatever a device states: a name that is no commit's is no reason to fail.
        if let head, (try? backend.containsBlob(seen.head)) == true {
            if (try? isKnown(seen.head, to: head)) == true || (try? isSetAside(seen.head)) == true { return .known }
        }
        if let newestRevocation, seen.chainPosition < newestRevocation { return .undecided }
        guard let head else { return .ahead }
        let graph = try graph()
        guard try graph.versions(of: head).covers(seen.dot) else { return .ahead }
        let removed = try RepositoryAnnotation.decode(backend.state.annotation).removedVersions
        if let removed {
            if removed.covers(seen.dot) { return .undecided }
        } else if try graph.removedVersions().covers(seen.dot) {
            return .undecided
        }
        // A merge that its author dropped has a number and is nowhere.
        guard let found = try graph.commit(with: seen.dot, from: head) else { return .undecided }
        // What a revoked device signs twice tells nothing of the server.
        if signers.revocation(ofAuthorOf: try graph.summary(found).context) != nil { return .undecided }
        return found == seen.head ? .known : .contradicted
    }
}

extension ForeignHistory {
    /// What trusted devices state in the commits that count, parents before children.
    ///
    /// - Parameters:
    ///   - own: what this device said itself is no news.
    ///   - directory: knows who is trusted, if it is not who knew it for the check.
    func statements(besides own: [UInt8], _ directory: (any CommitSignerDirectory)? = nil) -> [CommitStatement] {
        let signers = directory ?? signers
        return order.compactMap { name in
            guard let commit = commits[name], commit.standing == .valid, let bytes = commit.summary.commit.statement,
                commit.summary.deviceID != own, signers.revocation(ofAuthorOf: commit.summary.context) == nil
            else { return nil }
            return CommitStatement(
                deviceID: commit.summary.deviceID, instance: commit.summary.instance, bytes: bytes)
        }
    }
}
