// The one step in which commands turn references into values. The one thing to keep true: `read`, `run` and `inject`
// all come here, with all their references at once, so that the step can be done where the keys are.

internal import CoffretBase
internal import CoffretCore

enum SecretReferences {
    /// The most references of one command.
    static let countMax = 10_000

    /// Reads references from the command line.
    static func parse(_ texts: [String]) throws -> [SecretReference] {
        try texts.map { text in
            do throws(CoreError) {
                return try SecretReference.parse(text)
            } catch {
                throw invalid(text, error)
            }
        }
    }

    /// A text that is no reference, with what is wrong with it.
    static func invalid(_ text: String, _ error: CoreError) -> CommandFailure {
        CommandFailure(
            .badInput, code: error.code.rawValue,
            "\"\(TextWidth.truncate(TextWidth.displaySafe(text), to: 100))\" is not a reference: \(error.place ?? "")",
            hint: "a reference is \(SecretReference.prefix)VAULT/ITEM/FIELD; coffret help references")
    }

    /// The values of references, in their order. Opens the store only if there is something to look up.
    static func values(of references: [SecretReference], _ context: CommandContext) throws -> [ResolvedSecret] {
        guard !references.isEmpty else { return [] }
        guard references.count <= countMax else {
            throw CommandFailure(.badInput, .inputTooLarge, "more than \(countMax) references at once")
        }
        let session = try StoreSession.open(context, with: .passphrase)
        var resolver = SecretResolver(store: session.store)
        return try context.timings.measure("resolve") {
            try resolver.values(of: references, now: context.nowMilliseconds)
        }
    }
}
