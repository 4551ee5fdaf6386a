// Operations on values behind references, and the generator. Invariant: all references of a request are answered, or none.

package import CoffretBase
package import CoffretCore
internal import CoffretStorage
package import CoffretTerminal
package import CoffretWire

extension ReferenceRead: PerformedOperation {
    /// The most references of one request.
    package static let countMax = 10_000

    package func perform(on desk: StoreDesk) throws -> Answer {
        var values = try Self.values(
            of: references.map(SecretReference.init(typed:)), on: desk, now: desk.surroundings.clock.now,
            asksForPresence: desk.surroundings.canAskForPresence())
        defer { for index in values.indices { values[index].bytes.zero() } }
        var answer = Answer()
        answer.values = zip(references, values).map { ReferenceValue($0, $1) }
        return answer
    }

    /// The values in the order of the references; their taker zeroes them.
    ///
    /// - Parameters:
    ///   - now: for one-time codes.
    ///   - asksForPresence: whether a person may be asked to show to be there, for a hidden item.
    package static func values(
        of references: [SecretReference], on desk: StoreDesk, now: Milliseconds, asksForPresence: Bool = true
    ) throws -> [ResolvedSecret] {
        try checkCount(references.count)
        var resolver = desk.secretResolver()
        do {
            if asksForPresence, let item = try resolver.veiledItem(among: references) {
                try desk.surroundings.requirePresence(desk.store, item)
            }
            return try resolver.values(of: references, now: now)
        } catch let error as CoreError where error.code == .noteLocked {
            let reference = TextWidth.truncate(TextWidth.displaySafe(error.place ?? ""), to: 100)
            throw CommandFailure(
                .noteLocked, code: error.code.rawValue,
                "the note of \(reference) is locked, and a reference opens no lock",
                hint: "with the agent (coffret unlock), coffret note unlock NOTE opens it until the store locks")
        }
    }

    /// - Throws: `CommandFailure` `.inputTooLarge` for more references than one request may have.
    package static func checkCount(_ count: Int) throws {
        guard count <= countMax else {
            throw CommandFailure(.badInput, .inputTooLarge, "more than \(countMax) references at once")
        }
    }
}

extension ReferenceValue {
    package init(_ reference: String, _ resolved: ResolvedSecret) {
        self.init()
        self.reference = reference
        value = String(validating: resolved.bytes, as: UTF8.self)
        base64 = value == nil ? Base64.standard.encode(resolved.bytes) : nil
        isSecret = resolved.isSecret
    }
}

extension ResolvedSecret {
    /// The value of an answer.
    package init(_ value: ReferenceValue, of reference: SecretReference) throws {
        let bytes = value.value.map { Array($0.utf8) } ?? value.base64.flatMap { try? Base64.standard.decode($0) }
        guard let bytes else { throw WireError(.malformed, place: "value") }
        self.init(reference: reference, bytes: bytes, isSecret: value.isSecret)
    }
}

extension FieldRead: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var request = ItemRead()
        (request.item, request.vault, request.at, request.version) = (item, vault, at, version)
        let (item, _) = try request.found(on: desk)
        var answer = Answer()
        answer.item = item.id.uuid.hex
        if let field {
            answer.field = FieldMessage(try item.field(named: field), revealsSecrets: true)
        } else if item.kind == .note, item.fields.isEmpty {
            answer.text = item.text
        } else {
            let field = item.fields.first { $0.key.name == "password" } ?? item.fields.first { $0.kind == .secret }
            guard let field else {
                throw CommandFailure(
                    .notFound, .fieldNotFound, "\"\(TextWidth.displaySafe(item.title))\" has no secret to copy",
                    hint: "coffret copy ITEM FIELD copies any field")
            }
            answer.field = FieldMessage(field, revealsSecrets: true)
        }
        return answer
    }
}

extension SecretReference {
    /// Reads a reference that a person or a program wrote.
    ///
    /// - Throws: `CommandFailure` that says what is wrong with it.
    package init(typed text: String) throws {
        do {
            self = try SecretReference.parse(text)
        } catch {
            throw Self.invalid(text, error)
        }
    }

    /// A text that is no reference, with what is wrong with it.
    package static func invalid(_ text: String, _ error: CoreError) -> CommandFailure {
        CommandFailure(
            .badInput, code: error.code.rawValue,
            "\"\(TextWidth.truncate(TextWidth.displaySafe(text), to: 100))\" is not a reference: \(error.place ?? "")",
            hint: "a reference is \(prefix)VAULT/ITEM/FIELD; coffret help references")
    }
}

extension SecretGenerate: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        Answer(try made(PasswordGenerator(random: desk.surroundings.random)))
    }

    /// Needs no store.
    package func made(_ generator: PasswordGenerator) throws -> GeneratedSecret {
        switch kind ?? .password {
        case .passphrase:
            return try generator.passphrase(
                wordCount: length ?? 5, separator: separator ?? " ", capitalises: capitalises ?? false)
        case .pin: return try generator.pin(digitCount: length ?? 6)
        case .password:
            var recipe = PasswordRecipe()
            if let length { recipe.characterCount = length }
            if excludesSymbols == true { recipe.classes.remove(.symbols) }
            recipe.excludesAmbiguous = excludesAmbiguous ?? false
            return try generator.password(recipe)
        }
    }
}

extension SecretGenerate.Answer {
    package init(_ made: GeneratedSecret) {
        self.init()
        secret = made.text
        entropyBits = Int(made.entropyBits)
    }
}
