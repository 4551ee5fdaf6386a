// The flags of items as fields of messages.

internal import CoffretBase

extension RecordField where Owner: Flagged {
    /// A field for each flag.
    static var flags: [RecordField] {
        Flag.allCases.map { flag in RecordField(flag.fieldName, \Owner.flags[flag], flag.meaning) }
    }
}

extension RecordField where Owner: FlagWanting {
    /// A field for each of these flags; none is needed.
    static func flags(_ flags: [Flag], _ meaning: (Flag) -> String) -> [RecordField] {
        flags.map { flag in RecordField(flag.fieldName, \Owner.flags[flag], meaning(flag)) }
    }
}
