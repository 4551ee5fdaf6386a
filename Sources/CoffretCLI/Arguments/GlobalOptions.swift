// Options that every command understands.

internal import CoffretTerminal

enum GlobalOptions {
    static let store = OptionDescription.value(
        "store", "PATH", .directory, "the store to use (or COFFRET_STORE; otherwise ~/.local/share/coffret)")
    static let vault = OptionDescription.value(
        "vault", "NAME", "the vault to use, if the store holds several (or COFFRET_VAULT)")
    static let passphraseDescriptor = OptionDescription.value(
        "passphrase-fd", "N", .number(0...1_048_575), "read the passphrase from an open file descriptor")
    static let notePassphraseDescriptor = OptionDescription.value(
        "note-passphrase-fd", "N", .number(0...1_048_575),
        "read the passphrases of locked notes from an open file descriptor, a line each")
    static let json = OptionDescription.flag("json", "answer with JSON, one value per line")
    static let quiet = OptionDescription.flag("quiet", short: "q", "say nothing but results and errors")
    static let verbose = OptionDescription.flag("verbose", short: "v", "say the technical cause of an error")
    static let color = OptionDescription.value(
        "color", "WHEN", .choice(["auto", "always", "never"]), "colour: auto, always or never (NO_COLOR is respected)")
    static let timings = OptionDescription.flag("timings", "say on standard error how long each stage took")
    static let help = OptionDescription.flag("help", short: "h", "explain this command")
    static let version = OptionDescription.flag("version", "print the version")

    static let all = [
        store, vault, passphraseDescriptor, notePassphraseDescriptor, json, quiet, verbose, color, timings, help,
        version,
    ]
}
