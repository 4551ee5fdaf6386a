// Every real export, cut short and altered: a named error and the vault as before, whatever the format (R41).

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Real exports, damaged", .enabled(if: RealExports.areThere, "no real exports beside the repository"))
struct HostileExportsTests {
    /// Files that are whole exports of one file each, by format; of several versions of a format one or two.
    static let files = [
        "1password/1PasswordExport.1pux", "1password/1password.1pif", "1password/1password8.csv",
        "apple-passwords/simplePasswordData.csv", "bear/backup.bear2bk", "bitwarden/bitwarden.csv",
        "bitwarden/bitwarden.json", "bitwarden/bitwarden_encrypted_export.json", "chrome/chrome.csv",
        "dashlane/credentials.csv", "dashlane/dashlane.json", "evernote/test-task-lists.enex",
        "evernote/test-threePictures.enex", "firefox/firefox.csv", "googlekeep/takeout.zip",
        "joplin/03_10_2022.jex", "keepass/Format400.kdbx", "keepass/NewDatabase.kdbx", "keepass/NewDatabase.xml",
        "keepass/keepass.csv", "keepass/keepassx2.csv", "lastpass/lastpass.csv", "notesnook/backup.v5.8.json",
        "other-csv/enpass.csv", "other-csv/nordpass.csv", "other-csv/strongbox.csv",
        "otp/2fas_authenticator_encrypted_v4.2fas", "otp/2fas_authenticator_plain_v4.2fas", "otp/aegis_encrypted.json",
        "otp/aegis_plain.json", "otp/andotp_plain.json", "otp/google-migration-totp.txt", "otp/otpauth-uris.txt",
        "otp/proton_authenticator.json", "protonpass/protonpass.zip", "simplenote/simplenote.zip",
        "standardnotes/Standard Notes Backup and Import File-custom.zip", "textbundle/example.textpack",
    ]
    /// Formats without an end of their own: what is cut at the end of a line is a shorter file.
    private static let openEnded = ["csv", "txt", "1pif"]

    private static let archives = ["1pux", "bear2bk", "zip", "jex", "textpack"]
    private static let password = "a"

    /// The refusal of bytes; nil if they came in. A refused import leaves the vault as it was.
    private func outcome(_ bytes: [UInt8], _ name: String) throws -> ImportExportError.Code? {
        let fixture = try ImportFixture()
        _ = try fixture.vault.create(ItemDraft(text: "# Before"))
        let before = try fixture.commitCount()
        let folder = try TemporaryFolder()
        let path = try folder.write(Data(bytes), to: String(name.split(separator: "/").last ?? "")).path
        do {
            try ForeignTrial.run(path, fixture, password: Self.password)
            return nil
        } catch let error as ImportExportError {
            #expect(try fixture.commitCount() == before, "\(name)")
            #expect(try ForeignTrial.all(fixture).map(\.title) == ["Before"], "\(name)")
            return error.code
        }
    }

    @Test("a file that is cut short is refused by name, and the vault is as before", arguments: files)
    func cut(name: String) throws {
        let bytes = try RealExports.bytes(name)
        let isOpenEnded = Self.openEnded.contains { name.hasSuffix("." + $0) }
        for part in [4, 2] {
            let code = try outcome(Array(bytes[..<(bytes.count - bytes.count / part)]), name)
            #expect(isOpenEnded || code != nil, "\(name) without the last \(part)th")
        }
        // An archive has all of its files before its own end.
        let isArchive = Self.archives.contains { name.hasSuffix("." + $0) }
        let code = try outcome(Array(bytes.dropLast(3)), name)
        #expect(isOpenEnded || isArchive || code != nil, "\(name) without its end")
        #expect(try outcome([], name) != .vaultFailed)
    }

    @Test("a file with a flipped byte is refused by name, or comes in as a whole", arguments: files)
    func flipped(name: String) throws {
        let bytes = try RealExports.bytes(name)
        let random = SeededGenerator.fromEnvironment()
        let hasChecks = name.hasSuffix(".kdbx")
        var refused = 0
        for _ in 0..<6 {
            var altered = bytes
            altered[Int(random.next() % UInt64(bytes.count))] ^= UInt8(1 << (random.next() % 8))
            if let code = try outcome(altered, name) {
                refused += 1
                #expect(code != .vaultFailed, "\(name)")
            }
        }
        #expect(!hasChecks || refused == 6, "\(name)")
    }
}
