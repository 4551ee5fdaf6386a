// Requests for values behind references, and for new secrets.

package struct ReferenceRead: StoreOperation {
    package static let name = "reference.read"
    package static let access = OperationAccess.read
    package static let meaning =
        "Gives the values behind references (`references.md`), in their order: all of them, or a refusal."

    package var references: [String] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("references", \.references, "`coffret://VAULT/ITEM/FIELD`, at most 10,000"))

    package struct Answer: Record {
        package static let recordName = "reference-values"
        package static let refusesUnknownFields = false
        package var values: [ReferenceValue] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("values", \.values, "one for each reference, in their order"))
    }
}

/// The value of a reference.
package struct ReferenceValue: Record {
    package static let recordName = "reference-value"
    package static let refusesUnknownFields = false

    package var reference = ""
    package var value: String?
    package var base64: String?
    package var isSecret = false

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("reference", \.reference, "as it was asked for"),
        RecordField("value", \.value, "a value that is text"),
        RecordField("base64", \.base64, "any other value, such as that of a file"),
        RecordField("isSecret", \.isSecret, "masked on screens"))
}

package struct FieldRead: StoreOperation {
    package static let name = "field.read"
    package static let access = OperationAccess.read
    package static let meaning =
        "Reads the value of one field, secret or not, or the text of a note that has no fields."

    package var item = ""
    package var vault: String?
    package var field: String?
    package var at: WireMoment?
    package var version: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("field", \.field, "name or label; without it the password, else the first secret"),
        RecordField("at", \.at, "as it was at this moment"),
        RecordField("version", \.version, "as it was in this commit, by at least four digits"))

    package struct Answer: Record {
        package static let recordName = "field-value"
        package static let refusesUnknownFields = false
        package var item = ""
        package var field: FieldMessage?
        package var text: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("item", \.item, "its id"), RecordField("field", \.field, "with its value"),
            RecordField("text", \.text, "of a note that has no fields, where none was named"))
    }
}

package struct SecretGenerate: StoreOperation {
    package static let name = "secret.generate"
    package static let access = OperationAccess.none
    package static let meaning = "Makes a password, a passphrase or a PIN; each possible one is equally likely."

    package enum Kind: String, RecordChoice {
        case password, passphrase, pin
    }

    package var kind: Kind?
    package var length: Int?
    package var excludesSymbols: Bool?
    package var excludesAmbiguous: Bool?
    package var separator: String?
    package var capitalises: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("kind", \.kind, "`password` without it"),
        RecordField(
            "length", \.length, "characters (4 to 1,024; 20 without it), words (3 to 64; 5) or digits (4 to 64; 6)"),
        RecordField("excludesSymbols", \.excludesSymbols, "a password of letters and digits only"),
        RecordField("excludesAmbiguous", \.excludesAmbiguous, "a password without characters that look alike"),
        RecordField(
            "separator", \.separator, "between the words of a passphrase, at most 16 bytes; a space without it"),
        RecordField("capitalises", \.capitalises, "whether each word of a passphrase begins with a capital"))

    package struct Answer: Record {
        package static let recordName = "generated"
        package static let refusesUnknownFields = false
        package var secret = ""
        package var entropyBits = 0

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("secret", \.secret, "what was made; it is kept nowhere"),
            RecordField(
                "entropyBits", \.entropyBits,
                "the logarithm to the base 2 of the number of possible ones, rounded down"))
    }
}
