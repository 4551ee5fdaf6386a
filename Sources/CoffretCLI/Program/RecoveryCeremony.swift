// Giving a person a recovery key. The one thing to keep true: a key counts only after the person has
// typed part of it back; until then the store does not have it.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretTerminal

/// Shows a recovery key and makes sure that it was written down.
struct RecoveryCeremony {
    let context: CommandContext
    let prompt: TerminalPrompt

    /// How often the groups may be typed wrong.
    private static let tryCountMax = 3

    func run(_ session: StoreSession, named name: String) throws {
        // What ends this, a lost connection or the machine, leaves no key that nobody has.
        let key = RecoveryKey.generate(from: SystemRandomSource())
        let again = "coffret recovery add makes another one"
        show(key, try session.store.keyring.fingerprints())
        do {
            try confirm(
                key,
                orThrow: CommandFailure(
                    .notConfirmed, .recoveryMismatch, "the recovery key was not confirmed, so it does not count",
                    hint: again))
        } catch let failure as CommandFailure where failure.exitCode == .cancelled {
            throw CommandFailure(
                .cancelled, .cancelled, "cancelled: the recovery key on the screen does not count", hint: again)
        }
        try session.addRecoveryKey(key, named: name)
        prompt.show("Recovery key confirmed.\n")
    }

    /// Shows the sheet of a paper device and makes sure that it was written down, before it is one.
    func confirm(_ sheet: PaperSheet, server: String) throws {
        // The text comes last, so that it is in sight when parts of it are asked for.
        prompt.show("\n")
        showCode(sheet.text())
        prompt.show("Write this down, or print it, and keep it away from this computer:\n\n  Key\n")
        for line in Self.rows(of: sheet.key.textGroups()) { prompt.show("    \(line)\n") }
        prompt.show("  Account\n")
        for line in Self.rows(of: sheet.accountGroups()) { prompt.show("    \(line)\n") }
        prompt.show("  Server\n    \(TextWidth.displaySafe(server))\n\n")
        try confirm(
            sheet.key,
            orThrow: CommandFailure(
                .notConfirmed, .recoveryMismatch, "the sheet was not confirmed, so it is none of your devices",
                hint: "coffret recovery add --paper makes another one"))
        prompt.show("Sheet confirmed.\n")
    }

    private func show(_ key: RecoveryKey, _ fingerprints: (account: Fingerprint, store: Fingerprint)) {
        prompt.show("\n")
        showCode(key.text())
        prompt.show("Write this down, or print it, and keep it away from this computer:\n\n")
        for line in Self.rows(of: key.textGroups()) { prompt.show("    \(line)\n") }
        prompt.show("\n    Account \(fingerprints.account)\n    Store   \(fingerprints.store)\n\n")
    }

    private func showCode(_ text: String) {
        let lines = QRCode.linesToShow(text, isColored: context.terminal.errorStyle.isColored)
        for line in lines { prompt.show("  \(line)\n") }
        prompt.show("\n")
    }

    /// Asks for two groups, chosen at random, so that having seen the first line is not enough.
    private func confirm(_ key: RecoveryKey, orThrow failure: CommandFailure) throws {
        let challenge = RecoveryChallenge.generate(from: SystemRandomSource())
        let numbers = challenge.groupNumbers.map(Self.ordinal).joined(separator: " and ")
        for tryNumber in 1...Self.tryCountMax {
            guard let answer = try prompt.askLine("Type the \(numbers) group to show that you have it: ") else { break }
            // With or without spaces, as everywhere.
            let characters = Array(answer.filter { $0.isLetter || $0.isNumber })
            let answers = stride(from: 0, to: characters.count, by: RecoveryKey.groupCharacterCount).map { start in
                String(characters[start..<min(start + RecoveryKey.groupCharacterCount, characters.count)])
            }
            if challenge.isAnswered(by: answers, for: key) { return }
            if tryNumber < Self.tryCountMax { prompt.show("That is not what is written there.\n") }
        }
        throw failure
    }

    /// Four groups to a line, which is how people read them aloud, behind the numbers of the first and the last.
    static func rows(of groups: [String]) -> [String] {
        stride(from: 0, to: groups.count, by: 4).map { start in
            let end = min(start + 4, groups.count)
            return TextWidth.pad("\(start + 1)-\(end):", to: 7) + groups[start..<end].joined(separator: "  ")
        }
    }

    static func ordinal(_ number: Int) -> String {
        switch (number % 10, number % 100) {
        case (1, let tens) where tens != 11: "\(number)st"
        case (2, let tens) where tens != 12: "\(number)nd"
        case (3, let tens) where tens != 13: "\(number)rd"
        default: "\(number)th"
        }
    }
}
