// Which entry of a log comes next, and whether it counts (Spec/history.md section 6). The one thing to keep true: a log
// waits for itself, for links and for what its author had seen, and for no closed or ended log (S7).

internal import CoffretStorage
internal import CoffretTrust

extension HistoryMachine {
    // MARK: Limits

    /// Up to where a closed or ended instance counts; nil: it is open.
    mutating func limit(of instance: InstanceID) throws(Store.Failure) -> Limit? {
        if let known = limits[instance] { return known }
        let found = try computeLimit(of: instance)
        limits[instance] = .some(found)
        return found
    }

    /// Whether a link that was taken closed or ended a log.
    package mutating func isShut(_ instance: InstanceID) throws(Store.Failure) -> Bool {
        try limit(of: instance) != nil
    }

    private func computeLimit(of instance: InstanceID) throws(Store.Failure) -> Limit? {
        var link = owners[instance].flatMap { members.closingLink(of: $0) }
        if let ended = try end(of: instance, at: members.newest) { link = min(link ?? ended.link, ended.link) }
        guard let link else { return nil }
        let accepted = link <= base ?? -1 ? self.accepted : members.chain.states[link].accepted
        return Limit(link: link, mark: accepted[instance])
    }

    /// Whether a link, or one before it, closed or ended the instance.
    func isShut(_ instance: InstanceID, at link: Int) throws(Store.Failure) -> Bool {
        if try end(of: instance, at: link) != nil { return true }
        return owners[instance].flatMap { members.closingLink(of: $0, upTo: link) } != nil
    }

    /// The first end of a log, up to a link, of which both entries are, or were, here (K6).
    func end(of instance: InstanceID, at link: Int) throws(Store.Failure) -> EndedLog? {
        for ended in members.chain.states[link].ended[instance] ?? [] {
            if try evidence(for: ended, of: instance) == .whole { return ended }
        }
        return nil
    }

    /// The chain of names up to a limit, or to what was applied.
    private mutating func limitChain(of instance: InstanceID, _ limit: Limit) throws(Store.Failure) -> LogChain? {
        if let known = limitChains[instance] { return known }
        guard let mark = limit.mark else { return nil }
        let chain = try LogChain(from: mark, downTo: accepted.number(of: instance)) { (mark) throws(Store.Failure) in
            try entry(mark, of: instance)
        }
        limitChains[instance] = chain
        return chain
    }

    /// An entry that is kept, by name, or the bare form of one that was deleted for good.
    func entry(_ mark: EntryMark, of instance: InstanceID) throws(Store.Failure) -> VerifiedEntry? {
        if let entry = try store.entry(named: mark.name)?.entry { return entry.instance == instance ? entry : nil }
        return try bareForm(of: mark, of: instance)
    }

    /// The bare form that a taken link lists for this tip of its own `accept` (P2), if it is an entry of that instance and
    /// number.
    func bareForm(of mark: EntryMark, of instance: InstanceID) throws(Store.Failure) -> VerifiedEntry? {
        for number in 0..<members.takenCount {
            guard let name = bareName(of: mark, of: instance, at: number), let form = try store.bareForm(named: name),
                form.dot == Dot(instance, mark.number)
            else { continue }
            return form
        }
        return nil
    }

    /// The name of the bare form that the first link of those which list one says for this tip.
    func bareName(of mark: EntryMark, of instance: InstanceID) -> BlobName? {
        (0..<members.takenCount).lazy.compactMap { bareName(of: mark, of: instance, at: $0) }.first
    }

    private func bareName(of mark: EntryMark, of instance: InstanceID, at link: Int) -> BlobName? {
        guard let name = members.chain.links[link].checkpoint?.bareTips[instance],
            members.chain.states[link].accepted[instance] == mark
        else { return nil }
        return name
    }

    // MARK: Verdicts

    /// Whether an entry counts above the base, as far as it can be told now.
    package mutating func verdict(on stored: StoredEntry) throws(Store.Failure) -> Verdict {
        let entry = stored.entry
        if !stored.isSupported { return .waits }
        if let heldFrom, entry.context.memberHead.number >= UInt64(heldFrom) { return .waits }
        var before: VerifiedEntry?
        if let name = entry.body.before {
            before = try self.entry(EntryMark(number: entry.number - 1, name: name), of: entry.instance)
        }
        do throws(HistoryError) {
            try members.check(entry, behind: before)
        } catch {
            return error.code == .membersWithheld ? .waits : .excluded(error.code)
        }
        if let limit = try limit(of: entry.instance) {
            guard entry.number <= limit.number else { return .excluded(.entryBehindLimit) }
            guard let isOn = try limitChain(of: entry.instance, limit)?.contains(entry) else { return .waits }
            return isOn ? .counts : .excluded(.logForked)
        }
        // What was applied before stays; nothing new.
        if forked.contains(entry.instance) || members.isRevoked(entry.context.deviceID, of: entry.context.accountID) {
            return try store.wasApplied(entry.name) ? .counts : .waits
        }
        return .counts
    }

    // MARK: Advancing

    /// Applies all that counts and is ready of these instances, and of those that waited for them.
    ///
    /// - Complexity: two or three reads for each entry that is applied.
    mutating func advance(_ instances: some Sequence<InstanceID>) throws(Store.Failure) {
        var queue = Array(instances)
        while let instance = queue.popLast() {
            while let entry = try nextEntry(of: instance) { try apply(entry) }
            guard let all = waiting.removeValue(forKey: instance) else { continue }
            // Nobody waits for a log that is shut, which may be told only now that an entry of it is here.
            let number = try limit(of: instance) == nil ? frontier.number(of: instance) : .max
            let rest = all.filter { $0.number > number }
            if !rest.isEmpty { waiting[instance] = rest }
            queue += all.filter { $0.number <= number }.map(\.instance)
        }
    }

    /// The entry of a log that is to be applied next; nil: none is here, or none is ready.
    private mutating func nextEntry(of instance: InstanceID) throws(Store.Failure) -> VerifiedEntry? {
        let mark = frontier[instance]
        pending.remove(instance)
        for stored in try store.entries(at: Dot(instance, (mark?.number ?? 0) + 1)) {
            let entry = stored.entry
            guard entry.body.before == mark?.name else { continue }
            pending.insert(instance)
            guard try verdict(on: stored) == .counts else { continue }
            if let missing = try firstMissing(entry.body.seen) {
                waiting[missing.instance, default: []].append((missing.number, instance))
                continue
            }
            pending.remove(instance)
            return entry
        }
        return nil
    }

    /// The first dot that an author had seen and that is neither applied, nor covered by the base, nor of a shut log (S7).
    private mutating func firstMissing(_ seen: Frontier) throws(Store.Failure) -> Dot? {
        for (instance, mark) in seen.marks where frontier.number(of: instance) < mark.number {
            if try limit(of: instance) == nil { return Dot(instance, mark.number) }
        }
        return nil
    }
}
