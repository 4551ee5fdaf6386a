// Secret references: how they are read and written, and that each means one value or is refused (R34).

import CoffretBase
import CoffretCore
import CoffretStorage
import CoffretTestSupport
import Testing

/// References; one that is read is written and read again the same.
func fuzzSecretReference(_ bytes: [UInt8]) -> Bool {
    guard let reference = try? SecretReference.parse(String(decoding: bytes, as: UTF8.self)) else { return false }
    let again = try? SecretReference.parse("\(reference)")
    precondition(
        again == reference || "\(reference)".utf8.count > SecretReference.byteCountMax, "written as it was read")
    return true
}

@Suite("Secret references")
struct ReferenceTests {
    @Test("references are read, and written in one form only")
    func parsing() throws {
        let plain = try SecretReference.parse("coffret://Personal/GitHub/password")
        #expect(plain == SecretReference(vault: "Personal", item: "GitHub", part: .field("password")))
        let escaped = try SecretReference.parse("coffret://My vault/caf%C3%A9%2Fbar (1)/One-time code")
        #expect(escaped.item == "café/bar (1)")
        #expect("\(escaped)" == "coffret://My%20vault/caf%C3%A9%2Fbar%20%281%29/One-time%20code")
        #expect(try SecretReference.parse("coffret://v/i/otp/totp").part == .oneTimeCode("totp"))
        #expect(try SecretReference.parse("coffret://v/i/attachment/id_ed25519").part == .attachment("id_ed25519"))
    }

    @Test(
        "what is not exactly a reference is refused",
        arguments: [
            "", "coffret:", "coffret://", "coffret://v", "coffret://v/i", "coffret://v/i/", "coffret:///i/f",
            "coffret://v//f", "Coffret://v/i/f", " coffret://v/i/f", "coffret://v/i/f/g", "coffret://v/i/otp/x/y",
            "coffret://v/i/attachment/", "coffret://v/i/f?x=1", "coffret://v/i/f#x", "coffret://v/i/%",
            "coffret://v/i/%4",
            "coffret://v/i/%zz", "coffret://v/i/%FF", "coffret://v/i/a\nb", "coffret://v/i/%00", "op://v/i/f",
        ])
    func refused(text: String) {
        #expect(throws: CoreError.self) { try SecretReference.parse(text) }
    }

    @Test("every reference that can be made is written so that it is read back, and the parser never crashes")
    func roundTrip() {
        forAll { generator in
            func part() -> String {
                let text = generator.text(countMax: 20).filter {
                    !$0.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
                }
                return text.isEmpty ? "x" : text
            }
            let parts: [SecretReference.Part] = [.field(part()), .oneTimeCode(part()), .attachment(part())]
            let reference = SecretReference(vault: part(), item: part(), part: generator.element(of: parts))
            let again = try SecretReference.parse("\(reference)")
            try require(again == reference, "\(reference)")
        }
        fuzz(["coffret://Personal/caf%C3%A9/otp/x", "coffret://v/i/attachment/a b"].map { Array($0.utf8) }) {
            _ = fuzzSecretReference($0)
        }
    }

    private static func login(_ title: String, _ fields: ItemField...) -> ItemDraft {
        ItemDraft(kind: .login, title: title, fields: fields)
    }

    private static func value(
        _ store: Store, _ text: String, now: Milliseconds = 0
    ) throws -> String {
        var resolver = SecretResolver(store: store)
        let values = try resolver.values(of: [SecretReference.parse(text)], now: now)
        return String(decoding: values[0].bytes, as: UTF8.self)
    }

    private static func code(_ store: Store, _ text: String) -> CoreError.Code? {
        do {
            _ = try value(store, text)
            return nil
        } catch let error as CoreError {
            return error.code
        } catch {
            return nil
        }
    }

    @Test("R34: fields by key and label, codes, texts, files; several that fit are an error that names them")
    func parts() throws {
        let fixture = try StoreFixture()
        let store = try fixture.create()
        let vault = try store.openVault(isWritable: true)
        let field = { (key: String, label: String, kind: FieldKind, value: String) in
            ItemField(key: FieldKey(key) ?? .generate(from: fixture.random), label: label, kind: kind, value: value)
        }
        var draft = Self.login(
            "GitHub", field("username", "Username", .text, "ada"), field("password", "Password", .secret, "s3cret"),
            field("totp", "One-time code", .oneTimeCode, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"),
            field("x-0000000000000001", "Backup code", .secret, "one"),
            field("x-0000000000000002", "backup code", .secret, "two"),
            field("x-0000000000000003", "Text", .text, "labelled"))
        draft.text = "Notes of the login"
        let id = try vault.create(draft)
        var content = Array("file\n".utf8)[...]
        try unsafe vault.attach(to: id, name: "recovery codes.txt") { buffer in
            let count = min(buffer.count, content.count)
            unsafe buffer.copyBytes(from: content.prefix(count))
            content = content.dropFirst(count)
            return count
        }
        #expect(try Self.value(store, "coffret://Personal/GitHub/password") == "s3cret")
        #expect(try Self.value(store, "coffret://personal/github/USERNAME") == "ada")
        #expect(try Self.value(store, "coffret://Personal/git/one-time%20code").hasPrefix("GEZD"))
        #expect(try Self.value(store, "coffret://Personal/\(id.uuid.hex)/title") == "GitHub")
        // RFC 6238's secret, at 59 seconds.
        #expect(try Self.value(store, "coffret://Personal/GitHub/otp", now: 59_000) == "287082")
        #expect(try Self.value(store, "coffret://Personal/GitHub/otp/totp", now: 59_000) == "287082")
        #expect(try Self.value(store, "coffret://Personal/GitHub/attachment/recovery codes.txt") == "file\n")
        #expect(Self.code(store, "coffret://Personal/GitHub/backup%20code") == .fieldAmbiguous)
        #expect(try Self.value(store, "coffret://Personal/GitHub/x-0000000000000002") == "two")
        // The item has a text, and a field that is called so.
        #expect(Self.code(store, "coffret://Personal/GitHub/text") == .fieldAmbiguous)
        #expect(Self.code(store, "coffret://Personal/GitHub/nothing") == .fieldNotFound)
        #expect(Self.code(store, "coffret://Personal/GitHub/attachment/nothing") == .attachmentNotFound)
        #expect(Self.code(store, "coffret://Elsewhere/GitHub/password") == .vaultNotFound)
        var resolver = SecretResolver(store: store)
        let both = try resolver.values(
            of: ["username", "password"].map { try SecretReference.parse("coffret://Personal/GitHub/\($0)") }, now: 0)
        #expect(both.map(\.isSecret) == [false, true])
        // A counted code moves with each use, which reading must not.
        try vault.update(id) { item in
            let index = item.fields.firstIndex { $0.kind == .oneTimeCode } ?? 0
            item.fields[index].value = "otpauth://hotp/x?secret=GEZDGNBV&counter=1"
        }
        #expect(Self.code(store, "coffret://Personal/GitHub/otp") == .referenceUnsupported)
    }

    @Test("R34: an item is meant by one thing only: an id and a title that both fit are ambiguous, the trash stays out")
    func items() throws {
        let fixture = try VaultFixture()
        let vault = fixture.vault
        let first = try vault.create(Self.login("GitHub"))
        #expect(try vault.resolveForScripts("git") == first)
        let second = try vault.create(Self.login("Gitea"))
        #expect(throws: CoreError.self) { try vault.resolveForScripts("git") }
        #expect(try vault.resolveForScripts("GITEA") == second)
        #expect(throws: CoreError.self) { try vault.resolveForScripts("") }
        // A title that is also the beginning of another item's id.
        let digits = String(first.uuid.hex.prefix(6))
        #expect(try vault.resolveForScripts(digits) == first)
        let third = try vault.create(Self.login(digits))
        do {
            _ = try vault.resolveForScripts(digits)
            Issue.record("guessed")
        } catch let error as CoreError {
            #expect(error.code == .itemAmbiguous)
            #expect(Set(error.candidates.map(\.id)) == [first.uuid.hex, third.uuid.hex])
        }
        #expect(try vault.resolveForScripts(first.uuid.hex) == first)
        try vault.update(third) { $0.flagTimes[.trashed] = 1 }
        #expect(try vault.resolveForScripts(digits) == first)
        try vault.update(second) { $0.flagTimes[.trashed] = 1 }
        #expect(throws: CoreError.self) { try vault.resolveForScripts("Gitea") }
        #expect(try vault.resolveForScripts(second.uuid.hex) == second)
        // Without an index the same rules hold.
        let plain = try fixture.reopened(hasIndex: false)
        #expect(try plain.resolveForScripts(digits) == first)
        #expect(try plain.resolveForScripts("git") == first)
        #expect(throws: CoreError.self) { try plain.resolveForScripts("Gitea") }
    }
}
