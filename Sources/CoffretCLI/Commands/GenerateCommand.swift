// `coffret generate`: passwords, passphrases and PINs.

enum GenerateCommand {
    static let description = CommandDescription("generate", group: .secrets, "Make a password", run: { _ in })
}
