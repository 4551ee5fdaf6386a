// From what a person typed to one item. Invariant: never a guess. A reference that could mean two items is an error
// that names them (R34).

internal import CoffretBase
internal import CoffretStorage

/// Reads references: an id or the beginning of one (at least four hex digits), a title, or the beginning of a
/// title that no other item shares.
///
/// An id wins over a title, an exact title over a prefix; among exact titles, items outside the trash win over
/// those inside. Case does not matter.
struct ReferenceResolver {
    /// The shortest beginning of an id, in hex digits.
    static let digitCountMin = 4
    /// How many candidates an error names.
    static let candidateCountMax = 20

    private let reference: String

    init(_ reference: String) {
        self.reference = reference
    }

    /// The digits if the reference may be the beginning of an id.
    private var digits: [UInt8]? {
        let text = reference.utf8.filter { $0 != UInt8(ascii: "-") }
        guard (Self.digitCountMin...32).contains(text.count) else { return nil }
        var digits: [UInt8] = []
        for byte in text {
            guard let digit = UInt8(String(UnicodeScalar(byte)), radix: 16) else { return nil }
            digits.append(digit)
        }
        return digits
    }

    /// The items whose ids begin so; none if the reference is no hex.
    func itemIDs(in reader: SnapshotReader) throws -> [EntityID] {
        guard let digits else { return [] }
        return try reader.itemIDs(beginningWith: digits, countMax: Self.candidateCountMax)
    }

    /// The item whose id begins so; nil if the reference is no hex or no id begins so.
    ///
    /// - Complexity: one range read per kind of item; no index.
    func resolveByID(in reader: SnapshotReader) throws -> EntityID? {
        let ids = try itemIDs(in: reader)
        guard ids.count > 1 else { return ids.first }
        var candidates: [CoreError.Candidate] = []
        for id in ids {
            let item = try reader.item(id)
            candidates.append(
                item.map { CoreError.Candidate(ItemSummary($0)) } ?? CoreError.Candidate(id: id.uuid.hex, title: ""))
        }
        throw CoreError(.itemAmbiguous, at: reference, candidates: candidates)
    }

    /// The item that is meant among some.
    ///
    /// - Throws: `.itemNotFound`, or `.itemAmbiguous` with the candidates.
    func resolve(among items: [ItemSummary]) throws -> EntityID {
        if digits != nil {
            let start = reference.lowercased().filter { $0 != "-" }
            if let id = try only(items.filter { $0.id.uuid.hex.hasPrefix(start) }) { return id }
        }
        return try resolveByTitle(among: items)
    }

    /// The item with that title among all items.
    ///
    /// - Throws: `.itemNotFound`, or `.itemAmbiguous` with the candidates.
    func resolveByTitle(among items: [ItemSummary]) throws -> EntityID {
        let sought = reference.lowercased()
        guard !sought.isEmpty else { throw CoreError(.itemNotFound, at: reference) }
        let exact = items.filter { $0.title.lowercased() == sought }
        let live = exact.filter { !$0.isTrashed }
        if let id = try only(live.isEmpty ? exact : live) { return id }
        let beginning = items.filter { !$0.isTrashed && $0.title.lowercased().hasPrefix(sought) }
        if let id = try only(beginning) { return id }
        throw CoreError(.itemNotFound, at: reference)
    }

    private func only(_ items: [ItemSummary]) throws -> EntityID? {
        guard items.count > 1 else { return items.first?.id }
        throw CoreError(
            .itemAmbiguous, at: reference,
            candidates: items.prefix(Self.candidateCountMax).map {
                CoreError.Candidate($0)
            })
    }
}
