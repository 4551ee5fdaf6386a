// Formats of password managers and of programs for one-time codes. Invariant: as in ForeignFormat.swift.

internal import CoffretBase

extension ForeignFormat {
    /// All formats of other programs that are no tables; the more telling signs first.
    static let all: [ForeignFormat] = passwordManagers + notePrograms

    /// Password managers and programs for one-time codes.
    static let passwordManagers: [ForeignFormat] =
        keePassFormats + [
            onePasswordPUX, onePasswordPIF,
            bitwardenJSON, protonPass, dashlaneJSON, pass,
        ] + oneTimeCodeLists
}
