// The word of a device, in numbers, about what it has applied. The one thing to keep true: it is a claim, and nothing is
// applied or dropped for it.

package import CoffretBase
internal import CoffretStorage

/// The base of a device's state, what it applied above that, and the digest of its state: in acknowledgements, and told to
/// a device that is let in.
package struct AppliedWord: Hashable, Sendable {
    package static let instanceCountMax = 64

    /// The link of the base; nil: none.
    package let base: UInt32?
    /// Of each instance the newest number above what the base accepts; the 64 greatest.
    package let numbers: [InstanceID: EntryNumber]
    package let digest: StateDigest

    package init(base: UInt32?, numbers: [InstanceID: EntryNumber], digest: StateDigest) {
        self.base = base
        self.numbers = numbers
        self.digest = digest
    }

    /// `base / null, {* instance => number}, digest`: three items of an array.
    package func encode(to encoder: inout CBOREncoder) {
        if let base { encoder.encode(unsigned: UInt64(base)) } else { encoder.encodeNull() }
        encoder.encodeMapHeader(count: numbers.count)
        for (instance, number) in numbers.sorted(by: { $0.key < $1.key }) {
            encoder.encode(id: instance)
            encoder.encode(unsigned: number)
        }
        encoder.encode(bytes32: digest.bytes32)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        var base: UInt32?
        if decoder.isNextNull { try decoder.readNull() } else { base = try decoder.readUnsigned(as: UInt32.self) }
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        guard map.remaining <= Self.instanceCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var numbers: [InstanceID: EntryNumber] = [:]
        while let instance = try decoder.readKey(in: &map, { (decoder) throws(CBORError) in try decoder.readID() }) {
            numbers[instance] = try decoder.readNumber()
        }
        self.init(base: base, numbers: numbers, digest: StateDigest(try decoder.readBytes32()))
    }
}

/// How a word of another device stands to what is here.
package enum WordVerdict: Sendable {
    case upToDate, behind
    /// It says more than is applied here.
    case ahead
    /// `storage.state.differs`: the same was applied on the same base, and the state is another one (S9).
    case differs
}

/// How an entry that a device has seen stands to what is here.
package enum WitnessVerdict: Sendable {
    case known
    /// It did not come, or is not applied.
    case ahead
    /// Another entry has its number.
    case contradicted
    /// Its log was closed, ended or forked, or history hides it: nothing follows.
    case undecided
}

extension HistoryMachine {
    /// The word of this device.
    package var word: AppliedWord {
        let above = frontier.marks.filter { $0.value.number > accepted.number(of: $0.key) }
            .sorted { ($0.value.number, $1.key) > ($1.value.number, $0.key) }.prefix(AppliedWord.instanceCountMax)
        return AppliedWord(
            base: base.map { UInt32($0) },
            numbers: Dictionary(uniqueKeysWithValues: above.map { ($0.key, $0.value.number) }), digest: summary.digest)
    }

    /// How a word of somebody who states a member link stands to what is here.
    ///
    /// A log that is closed, ended, forked or of a revoked device is nobody's lack.
    package mutating func standing(of word: AppliedWord, at link: Int) throws(Store.Failure) -> WordVerdict {
        let (own, here, below) = (self.word, frontier, accepted)
        var isBehind = false
        if let base = word.base {
            // Also a link that waits for a word says what it accepts.
            guard base < members.chain.count else { return .ahead }
            for (instance, mark) in members.chain.states[Int(base)].accepted.marks
            where mark.number > max(here.number(of: instance), below.number(of: instance)) {
                if try isOpen(instance) { return .ahead }
            }
        }
        for (instance, number) in word.numbers
        where number > max(here.number(of: instance), below.number(of: instance)) {
            if try isOpen(instance) { return .ahead }
        }
        let wordBelow = word.base.map { members.chain.states[Int($0)].accepted } ?? Frontier()
        for (instance, mark) in here.marks
        where mark.number > max(word.numbers[instance] ?? 0, wordBelow.number(of: instance)) { isBehind = true }
        if isBehind || word.base != own.base { return .behind }
        let isSame = word.numbers == own.numbers && own.numbers.count < AppliedWord.instanceCountMax
        return isSame && link == members.newest && forked.isEmpty && word.digest != own.digest ? .differs : .upToDate
    }

    /// Whether a word says that all is applied, or in its base, which the checkpoint of a link accepts (G5).
    package func covers(_ word: AppliedWord, link: Int) -> Bool {
        if let base = word.base, base >= link, base < members.takenCount { return true }
        guard (word.base.map { $0 < members.takenCount } ?? true) else { return false }
        let below = word.base.map { members.chain.states[Int($0)].accepted } ?? Frontier()
        return members.chain.states[link].accepted.marks.allSatisfy { instance, mark in
            mark.number <= max(word.numbers[instance] ?? 0, below.number(of: instance))
        }
    }

    /// How an entry of this vault that a device stated elsewhere stands to what is here (E9).
    package mutating func standing(of head: WitnessedHead) throws(Store.Failure) -> WitnessVerdict {
        let dot = head.newest
        guard head.memberLink < UInt64(members.takenCount) else { return .ahead }
        guard try isOpen(dot.instance) else { return .undecided }
        let isCovered = frontier.covers(dot) || accepted.covers(dot)
        if try store.dot(of: head.newestName) == dot { return isCovered ? .known : .ahead }
        guard isCovered else { return .ahead }
        let tip = accepted[dot.instance]
        if let tip, tip.number == dot.number { return tip.name == head.newestName ? .known : .contradicted }
        return try store.entries(at: dot).isEmpty ? .undecided : .contradicted
    }

    /// Whether a log, as far as it is known here, is neither closed, ended nor forked, and its device is trusted.
    private mutating func isOpen(_ instance: InstanceID) throws(Store.Failure) -> Bool {
        if let owner = owners[instance], members.isRevoked(owner.deviceID, of: owner.accountID) { return false }
        if forked.contains(instance) { return false }
        return try limit(of: instance) == nil
    }
}
