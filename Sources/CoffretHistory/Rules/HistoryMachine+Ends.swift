// Ends of forked logs, and the two entries that show them (Spec/history.md section 7, K6). The one thing to keep true: an
// end holds with both entries alone; roots wait for them, but not for ever.

internal import CoffretBase
package import CoffretStorage

/// A log that a link ended.
package struct EndPlace: Hashable, Sendable {
    package let link: Int
    package let instance: InstanceID
}

extension HistoryMachine {
    enum Evidence {
        /// Both entries are, or were, here.
        case whole
        case missing
        /// They are one entry, or one of them is another log's or number's: no fork.
        case none
    }

    func evidence(for ended: EndedLog, of instance: InstanceID) throws(Store.Failure) -> Evidence {
        let (dot, names) = (Dot(instance, ended.end.lastCommonNumber + 1), [ended.end.first, ended.end.second])
        let dots = try names.map { (name) throws(Store.Failure) in try store.dot(of: name) }
        guard names[0] != names[1], dots.allSatisfy({ $0 == nil || $0 == dot }) else { return .none }
        return dots.contains(nil) ? .missing : .whole
    }

    /// Whether an end names the entry: it is kept, also below a base.
    func showsEnd(_ entry: VerifiedEntry) -> Bool {
        guard members.takenCount > 0, let ends = members.newestState.ended[entry.instance] else { return false }
        return ends.contains { [$0.end.first, $0.end.second].contains(entry.name) }
    }

    /// Ends of which an entry is not here, but those behind one that holds.
    private func endsWithoutEvidence() throws(Store.Failure) -> Set<EndPlace> {
        var found: Set<EndPlace> = []
        for (instance, ends) in members.newestState.ended {
            for ended in ends {
                let evidence = try evidence(for: ended, of: instance)
                if evidence == .missing { found.insert(EndPlace(link: ended.link, instance: instance)) }
                if evidence == .whole { break }
            }
        }
        return found
    }

    /// Names of entries that show ends and are not here; they are asked for by address (N3).
    package func missingEvidence() throws(Store.Failure) -> Set<BlobName> {
        var names: Set<BlobName> = []
        for lacked in lackedEnds {
            for ended in members.newestState.ended[lacked.instance] ?? [] where ended.link == lacked.link {
                for name in [ended.end.first, ended.end.second] {
                    if try store.dot(of: name) == nil { names.insert(name) }
                }
            }
        }
        return names
    }

    /// The first link whose root waits for the entries of an end; nil: none does.
    var firstDoubtedLink: Int? {
        lackedEnds.map(\.link).filter { !waits.isOver(times.entries, for: .ends(device: signer(of: $0))) }.min()
    }

    private func signer(of link: Int) -> MemberDevice { members.chain.links[link].signer }

    /// Looks which ends hold now. Once in a sync, before checkpoints are looked at.
    mutating func lookForEnds(now: Milliseconds) throws(Store.Failure) {
        let lacked = lackedEnds
        lackedEnds = try endsWithoutEvidence()
        let signers = Set(lackedEnds.map { signer(of: $0.link) })
        for case .ends(let device) in waits.waits.keys where !signers.contains(device) {
            waits.end(.ends(device: device))
        }
        for device in signers { _ = waits.passed(times.entries, for: .ends(device: device), now: now) }
        // What was judged without an end is judged again.
        let came = try lacked.subtracting(lackedEnds).keeping { (place) throws(Store.Failure) in
            try end(of: place.instance, at: members.newest)?.link == place.link
        }
        guard let first = came.map(\.link).min() else { return }
        refuted = refuted.filter { $0 < first }
        if baseTrust == .verified, let base, base >= first { baseTrust = .unverified }
    }

    /// C9: whether a checkpoint accepts more of an instance than the link that closed or ended it, and no link before that
    /// one accepts just that.
    func raisesLimit(_ link: Int) throws(Store.Failure) -> Bool {
        let states = members.chain.states
        for (instance, mark) in states[link].accepted.marks {
            let closing = owners[instance].flatMap { members.closingLink(of: $0, upTo: link) }
            guard let stop = [closing, try end(of: instance, at: link)?.link].compactMap(\.self).min(),
                mark.number > states[stop].accepted.number(of: instance)
            else { continue }
            if !(0..<stop).contains(where: { states[$0].accepted[instance] == mark }) { return true }
        }
        return false
    }
}
