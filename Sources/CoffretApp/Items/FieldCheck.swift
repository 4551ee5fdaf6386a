// Values that somebody types now are refused if the field cannot mean them.

package import CoffretCore
internal import CoffretTerminal

extension FieldCheck {
    /// Refuses a value that the field cannot mean.
    ///
    /// - Throws: `CommandFailure` `.inputInvalid` with the reason.
    package static func check(_ field: ItemField) throws {
        guard let problem = problem(field.value, kind: field.kind, key: field.key.name) else { return }
        throw CommandFailure(
            .badInput, .inputInvalid, "\(TextWidth.displaySafe(field.label)): \(problem)", hint: hint(field.kind))
    }

    private static func hint(_ kind: FieldKind) -> String? {
        kind == .oneTimeCode ? "websites show the key as text beside the QR code (\"cannot scan?\")" : nil
    }
}
