// Formats of password managers and of programs for one-time codes. Invariant: as in ForeignFormat.swift.

internal import CoffretBase

extension ForeignFormat {
    /// All formats of other programs that are no tables; the more telling signs first.
    static let all: [ForeignFormat] = passwordManagers + notePrograms

    /// Password managers and programs for one-time codes.
    static let passwordManagers: [ForeignFormat] = [
        ForeignFormat(
            name: "keepass-kdbx", title: "a KeePass database", signs: [.magic([0x03, 0xD9, 0xA2, 0x9A])]),
        ForeignFormat(name: "keepass-xml", title: "a KeePass XML export", signs: [.words(["<KeePassFile"])]),
        ForeignFormat(
            name: "1pux", title: "a 1Password export (1PUX)",
            signs: [.files(["export.data", "export.attributes"]), .json(["accounts.attrs", "accounts.vaults"])]),
        ForeignFormat(
            name: "1pif", title: "a 1Password export (1PIF)",
            signs: [.words(["***5642bee8-a5ff-11dc-8314-0800200c9a66***"]), .words(["\"keyID\"", "\"typeName\""])]),
        bitwardenJSON,
        ForeignFormat(
            name: "proton-pass", title: "a Proton Pass export",
            signs: [.any { $0.hasPrefix("proton pass/") }, .place(suffix: "proton pass")]),
        ForeignFormat(
            name: "dashlane-json", title: "a Dashlane export", signs: [.words(["\"AUTHENTIFIANT\""])]),
        ForeignFormat(name: "pass", title: "a password store (pass)", signs: [.most { $0.hasSuffix(".gpg") }]),
        ForeignFormat(
            name: "otpauth", title: "a list of one-time codes (otpauth)", signs: [.start("otpauth://")]),
        ForeignFormat(
            name: "google-authenticator", title: "a list of one-time codes (Google Authenticator)",
            signs: [.words(["otpauth-migration://"])]),
        ForeignFormat(name: "2fas", title: "a 2FAS backup", signs: [.words(["\"schemaVersion\"", "\"services"])]),
        ForeignFormat(name: "aegis", title: "an Aegis backup", signs: [.words(["\"header\"", "\"slots\""])]),
        ForeignFormat(
            name: "andotp", title: "an andOTP backup", signs: [.words(["\"secret\"", "\"issuer\"", "\"digits\""])]),
        ForeignFormat(
            name: "proton-authenticator", title: "a Proton Authenticator export",
            signs: [.words(["\"entries\"", "\"content\"", "otpauth"])]),
    ]
}
