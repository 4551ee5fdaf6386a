// The merge of several sealed versions of one part. Invariant: the values beside the bodies decide it, so that every
// device decides alike, without a passphrase and without losing an edit.

package import CoffretBase

/// The versions of one sealed part that stand under its key, and the rule that chooses among them (protocol 19).
///
/// A resealing (another passphrase, another scheme) is no edit: an edit of the same text on another device wins over
/// it, and is to be sealed again under the newer record. Two different edits are a conflict, for the person.
package enum LockedMerge {
    /// The version to show, and the record that it belongs under.
    package struct Outcome: Equatable, Sendable {
        /// Index of the version to show.
        package let shown: Int
        /// Indexes of versions with other contents that nobody saw superseded, in the order of the input.
        package let conflicting: [Int]
        /// The record that the part belongs under from now on.
        package let record: UniqueID
        /// Whether one write would make the part simple again: several versions, or one under a replaced record.
        package let needsWriting: Bool
    }

    /// - Parameters:
    ///   - versions: at least one, in the order in which the facts lie.
    ///   - preferred: index of the version that a register shows: the one of the greatest dot.
    ///   - records: all records of the vault that this version of the program knows.
    package static func resolve(
        _ versions: [SealedValue], preferred: Int, records: RecordTable
    ) -> Outcome {
        precondition(!versions.isEmpty && versions.indices.contains(preferred), "there is at least one version")
        let record = records.newest(among: versions.map(\.record))
        // Versions with one content form a class; a class that another one was made from is out.
        let open = versions.indices.filter { index in
            !versions.indices.contains { isMade($0, from: index, versions) && !isMade(index, from: $0, versions) }
        }
        // The class of what a register shows, if it is still in; else the one with the smallest tag.
        let leader =
            open.first { isSame($0, preferred, versions) }
            ?? open.min { versions[$0].tag.lexicographicallyPrecedes(versions[$1].tag) }
        guard let leader else { preconditionFailure("something is always newest") }
        let shown =
            open.filter { isSame($0, leader, versions) }
            .min { isBetter(versions[$0], versions[$1], record: record) } ?? leader
        let conflicting = open.filter { !isSame($0, shown, versions) }
        return Outcome(
            shown: shown, conflicting: representatives(of: conflicting, versions), record: record,
            needsWriting: versions.count > 1 || versions[shown].record != record)
    }

    /// The tags under which the content of a version is known: its own, and those it was merely resealed from.
    private static func aliases(_ version: SealedValue) -> Set<[UInt8]> {
        Set([version.tag] + version.ancestors.prefix(version.resealCount))
    }

    /// Whether the content of `later` is that of `earlier`, or was made from it.
    private static func isMade(_ later: Int, from earlier: Int, _ versions: [SealedValue]) -> Bool {
        guard later != earlier else { return true }
        let known = Set([versions[later].tag] + versions[later].ancestors)
        return !known.isDisjoint(with: aliases(versions[earlier]))
    }

    private static func isSame(_ left: Int, _ right: Int, _ versions: [SealedValue]) -> Bool {
        !aliases(versions[left]).isDisjoint(with: aliases(versions[right]))
    }

    /// Which of two with one content to show: the one under the record that the part belongs under; then by tag; of
    /// two with one tag the bytewise smaller body.
    private static func isBetter(_ left: SealedValue, _ right: SealedValue, record: UniqueID) -> Bool {
        if (left.record == record) != (right.record == record) { return left.record == record }
        if left.tag != right.tag { return left.tag.lexicographicallyPrecedes(right.tag) }
        return left.body.lexicographicallyPrecedes(right.body)
    }

    private static func representatives(of indexes: [Int], _ versions: [SealedValue]) -> [Int] {
        var kept: [Int] = []
        for index in indexes where !kept.contains(where: { isSame($0, index, versions) }) { kept.append(index) }
        return kept
    }

    /// The ancestors of a version that takes the place of `versions`, made from `source`.
    ///
    /// - Parameter isReseal: whether the content stays that of `source`.
    package static func lineage(
        of source: SealedValue, replacing versions: [SealedValue], isReseal: Bool
    ) -> (ancestors: [[UInt8]], resealCount: Int) {
        var ancestors = [source.tag] + source.ancestors.prefix(isReseal ? source.resealCount : 0)
        let resealCount = isReseal ? ancestors.count : 0
        var seen = Set(ancestors)
        // Replaced versions come before their ancestors, so that a limit loses the oldest.
        for tag in versions.map(\.tag) + source.ancestors + versions.flatMap(\.ancestors)
        where seen.insert(tag).inserted { ancestors.append(tag) }
        return (Array(ancestors.prefix(SealedValue.ancestorCountMax)), min(resealCount, SealedValue.ancestorCountMax))
    }
}

/// The password records of a vault and how they replace each other.
package struct RecordTable: Equatable, Sendable {
    package let records: [UniqueID: PasswordRecord]
    /// Records that a newer version of the program wrote, or whose values are not what their ids stand for.
    package let unusable: [UniqueID: CoreError]

    package init(_ records: [PasswordRecord], unusable: [UniqueID: CoreError] = [:]) {
        self.records = Dictionary(records.map { ($0.id, $0) }) { first, _ in first }
        self.unusable = unusable
    }

    package subscript(id: UniqueID) -> PasswordRecord? { records[id] }

    /// The usable records, the newest first.
    package var newestFirst: [PasswordRecord] { records.values.sorted { PasswordRecord.isOlder($1, $0) } }

    /// The records that no other one replaces, the newest first.
    package var live: [PasswordRecord] {
        let replaced = Set(records.values.flatMap { $0.previous.map(\.id) })
        return newestFirst.filter { !replaced.contains($0.id) }
    }

    /// The record at the end of the chain of those that replace `id`; itself if none does or it is not known.
    package func successor(of id: UniqueID) -> UniqueID {
        var current = id
        var seen: Set<UniqueID> = [id]
        while true {
            let next = records.values.filter { record in
                record.id != current && record.previous.contains { $0.id == current }
            }.max(by: PasswordRecord.isOlder)
            guard let next, seen.insert(next.id).inserted else { return current }
            current = next.id
        }
    }

    /// The record that a part with versions under these records belongs under.
    func newest(among ids: [UniqueID]) -> UniqueID {
        let ends = Set(ids.map { successor(of: $0) })
        let known = ends.compactMap { records[$0] }.max(by: PasswordRecord.isOlder)
        guard let end = known?.id ?? ends.min() else { preconditionFailure("a version names a record") }
        return end
    }
}
