// Giving a person a recovery key. The one thing to keep true: a key counts only after the person has
// typed part of it back; one that was not confirmed is taken away again.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys

/// Shows a recovery key and makes sure that it was written down.
struct RecoveryCeremony {
    let context: CommandContext
    let prompt: TerminalPrompt

    /// How often the groups may be typed wrong.
    private static let tryCountMax = 3

    func run(_ session: StoreSession, named name: String) throws {
        let (key, slotID) = try session.addRecoveryKey(named: name)
        do {
            show(key, try session.store.keyring.fingerprints())
            try confirm(
                key,
                orThrow: CommandFailure(
                    .notConfirmed, .recoveryMismatch, "the recovery key was not confirmed, so it does not count",
                    hint: "coffret recovery add makes another one"))
        } catch {
            try session.removeSlot(slotID)
            throw error
        }
        prompt.show("Recovery key confirmed.\n")
    }

    /// Shows the sheet of a paper device and makes sure that it was written down, before it is one.
    func confirm(_ sheet: PaperSheet, server: String) throws {
        prompt.show("\nWrite this down, or print it, and keep it away from this computer:\n\n  Key\n")
        for line in Self.rows(of: sheet.key.textGroups()) { prompt.show("    \(line)\n") }
        prompt.show("  Account\n")
        for line in Self.rows(of: sheet.accountGroups()) { prompt.show("    \(line)\n") }
        prompt.show("  Server\n    \(TextWidth.displaySafe(server))\n\n")
        showCode(sheet.text())
        try confirm(
            sheet.key,
            orThrow: CommandFailure(
                .notConfirmed, .recoveryMismatch, "the sheet was not confirmed, so it is none of your devices",
                hint: "coffret recovery add --paper makes another one"))
        prompt.show("Sheet confirmed.\n")
    }

    private func show(_ key: RecoveryKey, _ fingerprints: (account: Fingerprint, store: Fingerprint)) {
        prompt.show("\nWrite this down, or print it, and keep it away from this computer:\n\n")
        for line in Self.rows(of: key.textGroups()) { prompt.show("    \(line)\n") }
        prompt.show("\n    Account \(fingerprints.account)\n    Store   \(fingerprints.store)\n\n")
        showCode(key.text())
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
            let answers = answer.split(whereSeparator: { $0 == " " || $0 == "-" || $0 == "," }).map(String.init)
            if challenge.isAnswered(by: answers, for: key) { return }
            if tryNumber < Self.tryCountMax { prompt.show("That is not what is written there.\n") }
        }
        throw failure
    }

    /// Four groups to a line, which is how people read them aloud.
    static func rows(of groups: [String]) -> [String] {
        stride(from: 0, to: groups.count, by: 4).map { start in
            groups[start..<min(start + 4, groups.count)].joined(separator: "  ")
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
