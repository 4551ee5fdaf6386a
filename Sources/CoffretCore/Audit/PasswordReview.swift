// Faults of the passwords of a store. Invariant: it works offline (R45), and keeps and gives no password, only digests
// and what was found.

package import CoffretBase
internal import CoffretCrypto
package import CoffretStorage

/// Something about a password that is to be put right. The order is that of their weight.
package enum PasswordFlaw: String, CaseIterable, Sendable {
    /// It stands in a list of passwords that became known.
    case breached
    /// `StrengthEstimate` gives it less than `leastBits`.
    case weak
    /// Another item has the same.
    case reused
    /// Another item has one that differs by an edit or two, by digits and marks at its ends, or by the usual substitutions.
    case similar
    /// It has not changed for long.
    case old
    /// A login with an address, and neither a one-time code nor a passkey.
    case oneFactor
}

/// A password in a vault, and what an audit asks about its item.
package struct PlacedPassword {
    package let item: EntityID
    package let title: String
    package let value: String
    /// The last moment at which it can have been set. An import knows no more than when an item was changed.
    package internal(set) var changed: Milliseconds
    /// Whether the item is a login with an address, and nothing beside the password.
    package let hasOneFactor: Bool
}

/// The findings of an audit about one item.
package struct AuditedPassword {
    package let item: EntityID
    package let title: String
    package let changed: Milliseconds
    /// In the order of `PasswordFlaw`; empty where nothing is wrong.
    package fileprivate(set) var flaws: [PasswordFlaw]
    /// How often it occurs in breaches, as the list says.
    package fileprivate(set) var breachCount: Int?
    /// Items with the same number have the same password.
    package fileprivate(set) var reuseGroup: Int?
    /// Items with the same number have passwords that are alike.
    package fileprivate(set) var similarGroup: Int?
}

/// An audit in the making: takes passwords one by one, and compares them at the end.
package struct PasswordReview {
    /// Passwords that nobody has changed for two years are called old.
    package static let usualOldDayCount = 730
    private static let dayMilliseconds: Milliseconds = 86_400_000

    private let wanted: Set<PasswordFlaw>
    private let oldBefore: Milliseconds
    private let list: BreachList?
    private let meter: StrengthMeter?
    /// Whether strength is judged by libzxcvbn. Without it, what is shorter than `StrengthEstimate.leastByteCount` is weak.
    package var isStrengthKnown: Bool { meter != nil }

    private var rows: [AuditedPassword] = []
    /// Of each row, a digest of its password, the same for the same password.
    private var digests: [[UInt8]] = []
    /// Rows by the forms of their passwords.
    private var rowsByForm: [Int: Int] = [:]
    private var likeness = DisjointSets()

    /// - Parameters:
    ///   - wanted: what is looked for.
    ///   - list: passwords that became known; nil to compare with none.
    package init(
        wanted: Set<PasswordFlaw>, now: Milliseconds, oldDayCount: Int = usualOldDayCount, list: BreachList? = nil
    ) {
        self.wanted = wanted
        self.list = list
        oldBefore = now - Milliseconds(oldDayCount) * Self.dayMilliseconds
        meter = wanted.contains(.weak) ? StrengthMeter() : nil
    }

    /// - Throws: as `BreachList.count`.
    /// - Complexity: some 30 µs without matches in the word list, and 4 ms with; with a list of breached passwords, some 30 reads of it.
    package mutating func add(_ password: PlacedPassword) throws(CoreError) {
        var bytes = Array(password.value.utf8)
        defer { bytes.zero() }
        var row = AuditedPassword(
            item: password.item, title: password.title, changed: password.changed, flaws: [])
        let digest = unsafe HashAlgorithm.sha1.hash(bytes.span.bytes)
        if let list, let count = try list.count(of: digest) {
            row.flaws.append(.breached)
            row.breachCount = count
        }
        if isWeak(bytes) { row.flaws.append(.weak) }
        if password.changed < oldBefore { row.flaws.append(.old) }
        if password.hasOneFactor { row.flaws.append(.oneFactor) }
        if wanted.contains(.similar) { noteLikeness(of: password.value) }
        digests.append(digest)
        rows.append(row)
    }

    private func isWeak(_ bytes: [UInt8]) -> Bool {
        guard let meter else { return bytes.count < StrengthEstimate.leastByteCount }
        return meter.isBelow(StrengthEstimate.leastBits, utf8: bytes)
    }

    /// Joins the next row with those whose passwords are like this one.
    private mutating func noteLikeness(of password: String) {
        let row = rows.count
        likeness.add()
        for form in PasswordLikeness.forms(of: password) {
            if let other = rowsByForm[form] { likeness.join(row, other) } else { rowsByForm[form] = row }
        }
    }

    /// The passwords that were added, with what is wrong with each, in their order.
    package consuming func finish() -> [AuditedPassword] {
        group(Dictionary(grouping: rows.indices, by: { digests[$0] }).values.map { $0 }, as: .reused)
        if wanted.contains(.similar) {
            let roots = rows.indices.map { likeness.root(of: $0) }
            let alike = Dictionary(grouping: rows.indices, by: { roots[$0] }).values
            group(alike.filter { Set($0.map { digests[$0] }).count > 1 }, as: .similar)
        }
        for index in rows.indices {
            rows[index].flaws = PasswordFlaw.allCases.filter { wanted.contains($0) && rows[index].flaws.contains($0) }
        }
        return rows
    }

    /// Marks the rows of groups with more than one, and numbers the groups from 1 in the order of their first rows.
    private mutating func group(_ groups: [[Int]], as flaw: PasswordFlaw) {
        let shared = groups.filter { $0.count > 1 }.sorted { $0[0] < $1[0] }
        for (index, group) in shared.enumerated() {
            for row in group {
                rows[row].flaws.append(flaw)
                if flaw == .reused { rows[row].reuseGroup = index + 1 } else { rows[row].similarGroup = index + 1 }
            }
        }
    }
}

/// When two passwords are alike.
enum PasswordLikeness {
    /// Below these many characters almost everything is alike.
    private static let (charactersMin, baseCharactersMin) = (8, 5)
    private static let substitutions: [Character: Character] = [
        "0": "o", "1": "l", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i", "|": "l",
    ]

    /// Numbers that passwords which are alike have in common: those of the password itself, of the password without one of its
    /// characters, and of what is left in small letters without digits and marks at its ends and without substitutions.
    ///
    /// The numbers are 64 bits under a key of this process. That two others have one in common happens once in a thousand million
    /// audits of 10,000 passwords.
    static func forms(of password: String) -> Set<Int> {
        let characters = Array(password)
        guard characters.count >= charactersMin else { return [hash(0, characters)] }
        var forms: Set<Int> = [hash(0, characters)]
        for index in characters.indices {
            var shorter = characters
            shorter.remove(at: index)
            forms.insert(hash(0, shorter))
        }
        let base = base(of: characters)
        if base.count >= baseCharactersMin { forms.insert(hash(1, base)) }
        return forms
    }

    private static func base(of characters: [Character]) -> [Character] {
        var rest = characters[...]
        while let last = rest.last, !last.isLetter { rest.removeLast() }
        while let first = rest.first, !first.isLetter { rest.removeFirst() }
        return rest.flatMap { character in substitutions[character].map { [$0] } ?? Array(character.lowercased()) }
    }

    private static func hash(_ kind: Int, _ characters: [Character]) -> Int {
        var hasher = Hasher()
        hasher.combine(kind)
        hasher.combine(characters)
        return hasher.finalize()
    }
}

/// Numbers from 0 that are joined into sets.
private struct DisjointSets {
    private var parents: [Int] = []

    mutating func add() { parents.append(parents.count) }

    /// Shortens the way for the next time.
    mutating func root(of number: Int) -> Int {
        var number = number
        while parents[number] != number {
            parents[number] = parents[parents[number]]
            number = parents[number]
        }
        return number
    }

    mutating func join(_ left: Int, _ right: Int) {
        let (left, right) = (root(of: left), root(of: right))
        parents[max(left, right)] = min(left, right)
    }
}
