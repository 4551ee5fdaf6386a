// The passwords of a vault. Invariant: what is hidden is not shown for a look at its password.

internal import CoffretBase
internal import CoffretLogs
internal import CoffretStorage

extension Vault {
    /// The passwords of items that are not in the trash, by title.
    ///
    /// - Parameter admits: which items are looked at.
    /// - Returns: also how many items were not looked at, because they are hidden and nobody has shown to be there.
    /// - Complexity: reads every fact of every item, and of the history as much as reaches back to the oldest of these passwords.
    package func passwords(
        admitting admits: (ItemSummary) -> Bool = { _ in true }
    ) throws -> (found: [PlacedPassword], hiddenCount: Int) {
        let (view, reader) = (try present, try presentReader())
        var found: [(password: PlacedPassword, dot: Dot?)] = []
        var hiddenCount = 0
        try view.forEachItem { (item) throws in
            guard !item.isTrashed, item.kind == .login || item.kind == .custom, admits(ItemSummary(item)) else {
                return
            }
            guard !item.isVeiled else {
                hiddenCount += 1
                return
            }
            guard let field = item.password, !field.value.isEmpty else { return }
            let key = FactKey(entity: item.id, attribute: ItemAttribute.field(field.key))
            let password = PlacedPassword(
                item: item.id, title: item.title, value: field.value, changed: item.modified,
                hasOneFactor: item.hasOneFactor)
            found.append((password, try inStorage(reader.snapshot.facts(under: key)).winner?.dot))
        }
        let times = try times(of: Set(found.compactMap(\.dot)))
        for (index, entry) in found.enumerated() {
            guard let time = entry.dot.flatMap({ times[$0] }) else { continue }
            found[index].password.changed = min(entry.password.changed, time)
        }
        let passwords = found.map(\.password).sorted {
            ($0.title.lowercased(), $0.item) < ($1.title.lowercased(), $1.item)
        }
        return (passwords, hiddenCount)
    }

    /// When the entries with these dots were made; those that are not here any more are left out.
    private func times(of dots: Set<Dot>) throws -> [Dot: Milliseconds] {
        try inStorage(repository.times(of: dots))
    }
}

extension Item {
    /// The field that holds the item's password.
    fileprivate var password: ItemField? {
        fields.first { $0.key.name == "password" }
            ?? fields.first { $0.kind == .secret && $0.label.lowercased() == "password" }
    }

    /// Whether a login at an address asks for nothing beside the password, as far as the item says.
    fileprivate var hasOneFactor: Bool {
        kind == .login && fields.contains { $0.kind == .url && !$0.value.isEmpty }
            && !fields.contains { ($0.kind == .oneTimeCode || $0.kind == .passkey) && !$0.value.isEmpty }
    }
}
