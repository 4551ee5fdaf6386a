// Changes of fields by name, wherever they come from.

package import CoffretBase
package import CoffretCore
internal import CoffretTerminal

/// A change of one field.
package struct FieldChange {
    package let name: String
    /// An empty one removes the field.
    package let value: String
    /// Whether the value is a secret; nil: as the field is.
    package let isSecret: Bool?

    package init(name: String, value: String, isSecret: Bool?) {
        self.name = name
        self.value = value
        self.isSecret = isSecret
    }

    package static func standardField(_ name: String, _ kind: ItemKind) -> StandardField? {
        kind.standardFields.first { $0.key.name == name || $0.label.lowercased() == name.lowercased() }
    }

    /// Where the field is among others.
    package func index(in fields: [ItemField], of kind: ItemKind) -> Int? {
        fields.firstIndex { means(name: $0.key.name, label: $0.label, of: kind) }
    }

    /// Whether it is a change of the field with this name and label.
    package func means(name: String, label: String, of kind: ItemKind) -> Bool {
        name == Self.standardField(self.name, kind)?.key.name || name == self.name
            || label.lowercased() == self.name.lowercased()
    }

    /// Changes, adds or removes the field.
    ///
    /// - Throws: `CommandFailure` `.inputInvalid` for a value that the field cannot mean.
    package func apply(to fields: inout [ItemField], kind: ItemKind, random: any RandomSource) throws {
        if let index = index(in: fields, of: kind) {
            guard !value.isEmpty else {
                fields.remove(at: index)
                return
            }
            fields[index].value = value
            if isSecret == true, !fields[index].kind.isSecret { fields[index].kind = .secret }
            try FieldCheck.check(fields[index])
        } else if value.isEmpty {
            return
        } else if let standard = Self.standardField(name, kind) {
            let field = ItemField(key: standard.key, label: standard.label, kind: standard.kind, value: value)
            try FieldCheck.check(field)
            fields.append(field)
        } else {
            fields.append(
                ItemField(
                    key: .generate(from: random), label: name, kind: isSecret == true ? .secret : .text, value: value,
                    position: (fields.map(\.position).max() ?? 0) + 1))
        }
    }
}
