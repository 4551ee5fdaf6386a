// Errors of the layers below, told in the words of a person. Invariant: each error keeps its stable code, and
// technical causes appear only with `--verbose`.

internal import CoffretBase
internal import CoffretClient
package import CoffretCore
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretSync
package import CoffretTerminal
package import CoffretWire

/// Turns any error into what the person sees.
package enum FailureTranslation {
    package static func failure(from error: any Error) -> CommandFailure {
        if let failure = error as? CommandFailure { return failure }
        if let refused = error as? AgentRefused { return failure(from: refused) }
        if let refused = error as? OperationFailure { return failure(from: refused) }
        guard let coded = error as? any CodedError else {
            return CommandFailure(
                .internalError, .unexpected, "something unexpected happened; nothing acknowledged is lost",
                hint: "run it again with --verbose and report what it says", cause: String(describing: error))
        }
        let telling = telling(coded)
        let refusal = Self.refusal(telling)
        let meaning = refusal.flatMap { FailureMeaning.refusals[$0] } ?? FailureMeaning.find(telling.codeText)
        var failure = CommandFailure(
            meaning.exitCode, code: telling.codeText, meaning.message(telling), hint: meaning.hint,
            cause: coded.causeText)
        if let core = telling as? CoreError, !core.candidates.isEmpty {
            failure.add(core.candidates, isShortened: core.code != .fieldAmbiguous && core.code != .fieldNotFound)
        }
        if let heads = (telling as? SyncError)?.heads { failure.add(heads) }
        if let seconds = coded.waitSeconds { failure.addWait(seconds) }
        if let refusal { failure.jsonFields.append(("serverCode", .string(refusal))) }
        return failure
    }

    private static func failure(from refused: AgentRefused) -> CommandFailure {
        let meaning = FailureMeaning.find(refused.code)
        var message = meaning.plainText
        if let seconds = refused.waitSeconds {
            message += "; try again in \(NumberText.duration(milliseconds: Int(seconds) * 1000))"
        }
        var failure = CommandFailure(meaning.exitCode, code: refused.code, message, hint: meaning.hint)
        if let seconds = refused.waitSeconds { failure.jsonFields.append(("waitSeconds", .integer(Int(seconds)))) }
        return failure
    }

    /// What a session refused, as it would have been refused here.
    private static func failure(from refused: OperationFailure) -> CommandFailure {
        let exitCode = refused.exitCode.flatMap { ExitCode(rawValue: Int32(truncatingIfNeeded: $0)) }
        var failure = CommandFailure(
            exitCode ?? FailureMeaning.find(refused.code).exitCode, code: refused.code, refused.message,
            details: refused.details ?? [], hint: refused.hint, cause: refused.cause)
        if let candidates = refused.candidates {
            failure.jsonFields.append(("candidates", .array(candidates.map(\.candidateJSON))))
        }
        if let seconds = refused.waitSeconds { failure.jsonFields.append(("waitSeconds", .integer(seconds))) }
        for fact in refused.facts ?? [] { failure.jsonFields.append((fact.name, .string(fact.value))) }
        return failure
    }

    /// The error of a chain that tells most.
    private static func telling(_ error: any CodedError) -> any CodedError {
        error.chain.first { !FailureMeaning.wrappers.contains($0.codeText) } ?? error
    }

    /// The code of a server's refusal, if an error comes from one.
    package static func refusal(in error: any Error) -> String? {
        (error as? any CodedError).flatMap { refusal(telling($0)) }
    }

    private static func refusal(_ error: any CodedError) -> String? {
        switch error.codeText {
        case "account.server.refused", "sync.server.refused": return error.placeText
        // A disk that is full is not the person's space.
        case "sync.server.quota-exceeded": return error.placeText == "server.storage.full" ? error.placeText : nil
        default: return nil
        }
    }
}

extension CodedError {
    /// Seconds until another try is possible, if that is why this one was not.
    package var waitSeconds: UInt32? {
        chain.lazy.compactMap { ($0 as? KeyStoreError)?.waitSeconds ?? ($0 as? KeyError)?.waitSeconds }.first
    }
}

extension CommandFailure {
    /// Says how long the next try has to wait.
    package mutating func addWait(_ seconds: UInt32) {
        let minutes = (Int(seconds) + 59) / 60
        details.append(
            seconds <= 120
                ? "the next try is possible in \(NumberText.counted(Int(seconds), "second"))"
                : "the next try is possible in \(NumberText.counted(minutes, "minute"))")
        jsonFields.append(("waitSeconds", .integer(Int(seconds))))
    }

    /// Shows which state was seen and which is shown, as coffret status and coffret log name them.
    fileprivate mutating func add(_ heads: SyncError.Heads) {
        details.append("seen here  \(heads.seen.map { String($0.description.prefix(8)) } ?? "nothing")")
        details.append("shown now  \(heads.shown.map { String($0.description.prefix(8)) } ?? "nothing")")
        jsonFields.append(("seen", heads.seen.map { .string($0.description) } ?? .null))
        jsonFields.append(("shown", heads.shown.map { .string($0.description) } ?? .null))
    }

    /// Lists what an ambiguous reference could mean.
    ///
    /// - Parameter isShortened: whether the beginning of an id is enough; keys of fields are whole.
    package mutating func add(_ candidates: [CoreError.Candidate], isShortened: Bool = true) {
        let digits = isShortened ? Self.distinguishingDigits(candidates.map(\.id)) : Int.max
        let now = SystemWallClock().now
        details += candidates.map { candidate in
            let about = Self.about(candidate, now)
            return "\(candidate.id.prefix(digits))  \(TextWidth.displaySafe(candidate.title))"
                + (about.isEmpty ? "" : "  \(about)")
        }
        jsonFields.append(
            (
                "candidates",
                .array(
                    candidates.map { OperationCandidate($0).candidateJSON })
            ))
    }

    /// The properties that distinguish an item from others of its name: its vault, kind and tags, and when it was
    /// changed.
    private static func about(_ candidate: CoreError.Candidate, _ now: Milliseconds) -> String {
        var parts = candidate.vault.map { ["in \(TextWidth.displaySafe($0))"] } ?? []
        if let summary = candidate.summary {
            if summary.kind != .note { parts.append(summary.kind.name) }
            parts += summary.tags.prefix(3).map { "#" + TextWidth.displaySafe($0) }
            if summary.isTrashed { parts.append("in the trash") }
            parts.append("changed \(RelativeTime(nowMilliseconds: now).moment(summary.modified))")
        }
        return parts.joined(separator: "  ")
    }

    /// How many digits tell all the ids apart; at least four.
    package static func distinguishingDigits(_ ids: [String]) -> Int {
        let longest = ids.map(\.count).max() ?? 4
        return (4...max(4, longest)).first { digits in Set(ids.map { $0.prefix(digits) }).count == Set(ids).count }
            ?? longest
    }
}

extension OperationCandidate {
    package init(_ candidate: CoreError.Candidate) {
        self.init()
        id = candidate.id
        title = candidate.title
        vault = candidate.vault
        kind = candidate.summary?.kind.name
        tags = candidate.summary?.tags
        modified = candidate.summary.map { WireMoment($0.modified) }
    }

    fileprivate var candidateJSON: JSONValue {
        .fields([
            "id": .string(id), "title": .string(title), "kind": kind.map { .string($0) },
            "tags": tags.map { .strings($0) }, "modified": modified.map(\.json), "vault": vault.map { .string($0) },
        ])
    }
}
