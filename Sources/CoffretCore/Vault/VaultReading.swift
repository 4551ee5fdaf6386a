// What somebody has read of a vault. Invariant: it is said of values that they were there, and no value is given out.

internal import CoffretBase
package import CoffretHistory
internal import CoffretLogs
package import CoffretStorage

/// A value that stood in a vault.
package struct ReadValue: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case secret, text, file
    }

    package let item: EntityID
    /// Of the item, as it was.
    package let title: String
    package let kind: Kind
    /// The label of a field, or the name of a file.
    package let label: String
    /// The device has said that it has it.
    package let isKnownForSure: Bool
    /// Another value stands there now.
    package let isChangedSince: Bool
    /// The item had been removed by then.
    package let isGone: Bool
}

extension Vault {
    /// The values that stood in the vault up to some entries, and those of items that were gone by then and are in its history.
    ///
    /// - Parameters:
    ///   - end: who has this reads nothing behind it; nil for now.
    ///   - isReader: whether an entry is one of the reader's: what it says it has seen, the reader has.
    /// - Complexity: reads all items, and all entries.
    package func valuesRead(
        upTo end: Frontier?, by isReader: (VerifiedEntry) -> Bool
    ) throws -> [ReadValue] {
        let now = try whole
        let then = try end.map { try VaultView(reader: reader(of: inStorage(repository.moment(at: $0)))) } ?? now
        var (sure, touched) = (Frontier(), Set<EntityID>())
        var walk = try inStorage(repository.walk())
        while let entry = try inStorage(walk.next()) {
            guard end?.covers(entry.dot) ?? true else { continue }
            if isReader(entry) {
                sure.merge(entry.body.seen)
                sure.advance(entry.instance, to: entry.mark)
            }
            try forEachItem(touchedBy: entry) { touched.insert($0) }
        }
        var values: [ReadValue] = []
        try then.forEachItem { item in
            touched.remove(item.id)
            let dots = Dictionary(grouping: try then.reader.facts(of: item.id), by: \.key).mapValues { $0.map(\.dot) }
            values += try Self.values(of: item, now: now.item(item.id), isGone: false) { attribute in
                let known = dots[FactKey(entity: item.id, attribute: attribute)] ?? []
                return !known.isEmpty && known.allSatisfy(sure.covers)
            }
        }
        for id in touched {
            guard let item = try lastState(of: id, upTo: end) else { continue }
            values += try Self.values(of: item, now: now.item(id), isGone: true) { _ in false }
        }
        return values.sorted { ($0.title.lowercased(), $0.item, $0.label) < ($1.title.lowercased(), $1.item, $1.label) }
    }

    /// An item before it was removed.
    private func lastState(of id: EntityID, upTo end: Frontier?) throws -> Item? {
        var life = try ItemLife(id, in: repository)
        var last = try life.first()?.item
        while let state = try life.next() {
            guard let dot = try inStorage(repository.entry(named: state.name))?.dot, end?.covers(dot) ?? true else {
                continue
            }
            last = state.item ?? last
        }
        return last
    }

    private static func values(
        of item: Item, now: Item?, isGone: Bool, isSure: (Attribute) throws -> Bool
    ) throws -> [ReadValue] {
        func value(_ kind: ReadValue.Kind, _ label: String, _ attribute: Attribute?, isChanged: Bool) throws
            -> ReadValue
        {
            ReadValue(
                item: item.id, title: item.title, kind: kind, label: label,
                isKnownForSure: try attribute.map(isSure) ?? false, isChangedSince: isChanged, isGone: isGone)
        }
        var values: [ReadValue] = []
        for field in item.fields where field.kind.isSecret && !field.value.isEmpty {
            let current = now?.fields.first { $0.key == field.key }?.value
            // A field that was taken away may still be in use elsewhere.
            values.append(
                try value(
                    .secret, field.label, ItemAttribute.field(field.key),
                    isChanged: current.map { $0 != field.value } ?? false))
        }
        if !item.text.isEmpty {
            values.append(
                try value(.text, "text", ItemAttribute.text, isChanged: now.map { $0.text != item.text } ?? false))
        }
        for file in item.attachments {
            let current = now?.attachments.first { $0.id == file.id }
            values.append(
                try value(
                    .file, file.name, nil,
                    isChanged: current.map { $0.encodedReference != file.encodedReference } ?? false))
        }
        return values
    }
}
