// What an audit finds in a real vault and in a list of breached passwords.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("Audits of passwords")
struct PasswordReviewTests {
    let fixture: VaultFixture
    var vault: Vault { fixture.vault }

    init() throws { fixture = try VaultFixture() }

    @discardableResult
    func login(_ title: String, _ password: String, _ others: [String: String] = [:]) throws -> EntityID {
        var draft = ItemDraft(kind: .login, title: title)
        draft.fields = try others.merging(["password": password]) { $1 }.sorted { $0.key < $1.key }.map {
            try #require(ItemField(standard: $0.key, of: .login, value: $0.value))
        }
        return try vault.create(draft)
    }

    /// Flaws by title.
    func review(
        _ wanted: Set<PasswordFlaw> = Set(PasswordFlaw.allCases), list: BreachList? = nil
    ) throws -> [String: [PasswordFlaw]] {
        Dictionary(uniqueKeysWithValues: try rows(wanted, list: list).map { ($0.title, $0.flaws) })
    }

    func rows(_ wanted: Set<PasswordFlaw>, list: BreachList? = nil) throws -> [AuditedPassword] {
        var review = PasswordReview(wanted: wanted, now: fixture.clock.now, list: list)
        for password in try vault.passwords().found { try review.add(password) }
        return review.finish()
    }

    @Test("what is weak, reused or alike is found, and nothing else is")
    func flaws() throws {
        try login("A", "Tr0ub4dor&3")
        try login("B", "vK8#qLz2!mWx9@Rt")
        try login("C", "vK8#qLz2!mWx9@Rt")
        try login("D", "vK8#qLz2!mWx9@Ru")
        try login("E", "greenwombat-Quilt#2023")
        try login("F", "Greenw0mbat-Quilt#2024!")
        try login("G", "p7Yb&c0wT%e4hKd1")
        try login("H", "Zq5!nRv8*sJf3^Gm")
        try login("Empty", "")
        _ = try vault.create(ItemDraft(text: "# A note\npassword: hush"))
        let trashed = try login("Trashed", "p7Yb&c0wT%e4hKd1")
        try vault.trash(trashed)
        try #require(StrengthMeter() != nil, "libzxcvbn0 is missing")
        #expect(
            try review() == [
                "A": [.weak], "B": [.reused, .similar], "C": [.reused, .similar], "D": [.similar], "E": [.similar],
                "F": [.similar], "G": [], "H": [],
            ])
        let groups = try rows([.reused, .similar])
        #expect(groups.map(\.reuseGroup) == [nil, 1, 1, nil, nil, nil, nil, nil])
        #expect(groups.map(\.similarGroup) == [nil, 1, 1, 1, 2, 2, nil, nil])
        #expect(try review([.weak]).values.flatMap(\.self) == [.weak], "what is not wanted is not said")
    }

    @Test("words of our own list and known phrases count in an audit as they do for a passphrase")
    func words() throws {
        let meter = try #require(StrengthMeter(), "libzxcvbn0 is missing")
        let random = SeededGenerator.fromEnvironment()
        var texts = ["correct horse battery staple", "C0rrectHorseB4tteryStaple", "tobeornottobe", "Passwort", ""]
        for count in 3...5 { texts.append(try PasswordGenerator(random: random).passphrase(wordCount: count).text) }
        for _ in 0..<20 { texts.append(try PasswordGenerator(random: random).password().text) }
        for text in texts {
            let bits = try #require(StrengthEstimate(utf8: Array(text.utf8))).guessBits
            #expect(meter.isBelow(40, utf8: Array(text.utf8)) == (bits < 40), "\(text)")
        }
    }

    @Test("a password is as old as its field, not as its item, and no younger than what was imported")
    func age() throws {
        let old = try login("Old", "p7Yb&c0wT%e4hKd1")
        let renewed = try login("Renewed", "Zq5!nRv8*sJf3^Gm")
        for _ in 0..<731 { fixture.nextDay() }
        _ = try vault.update(old) { $0.givenTitle = "Old still" }
        _ = try vault.update(renewed) { $0.fields[0].value = "Kd1&p7Yb%e4hc0wT" }
        var imported = ItemDraft(kind: .login, title: "Imported")
        imported.fields = [try #require(ItemField(standard: "password", of: .login, value: "sJf3^Gm*Zq5!nRv8"))]
        imported.created = 1_000
        _ = try vault.create(imported)
        #expect(try review([.old]) == ["Old still": [.old], "Renewed": [], "Imported": [.old]])
    }

    @Test("a login with an address asks for a second factor; a code or a passkey is one")
    func factors() throws {
        let url = ["url": "https://example.org"]
        try login("None", "a", url)
        try login("Code", "b", url.merging(["totp": "GEZDGNBVGY3TQOJQ"]) { $1 })
        try login("No address", "c")
        let passkey = try login("Passkey", "d", url)
        _ = try vault.update(passkey) {
            $0.fields.append(
                ItemField(
                    key: FieldKey.generate(from: fixture.random), label: "Passkey", kind: .passkey, value: "{}",
                    position: 1))
        }
        #expect(
            try review([.oneFactor]) == ["None": [.oneFactor], "Code": [], "No address": [], "Passkey": []])
    }

    // MARK: Lists

    /// An open file, which is a list or not.
    private final class File {
        let descriptor: Int32
        private let folder: TemporaryDirectory

        init(_ text: String) throws {
            folder = try TemporaryDirectory("list")
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file("list")))
            descriptor = unsafe open(folder.file("list"), O_RDONLY)
        }

        deinit { close(descriptor) }

        func list() throws -> BreachList { try BreachList(descriptor: descriptor) }
    }

    private func digest(_ number: Int) -> [UInt8] { unsafe HashAlgorithm.sha1.hash(Array("\(number)".utf8).span.bytes) }

    private func lines(_ count: Int, end: String, hasCounts: Bool = true) -> String {
        (0..<count).map { (hash: Hex.encode(digest($0)).uppercased(), count: $0) }.sorted { $0.hash < $1.hash }
            .map { hasCounts ? "\($0.hash):\($0.count)\(end)" : $0.hash + end }.joined()
    }

    @Test("R45: every hash of a list is found in the file with its count, and no other", arguments: [1, 2, 80, 5_000])
    func lookUp(count: Int) throws {
        for end in ["\n", "\r\n"] {
            for isCut in [false, true] {
                var text = lines(count, end: end)
                if isCut { text.removeLast() }
                let file = try File(text)
                let list = try file.list()
                for number in 0..<count { #expect(try list.count(of: digest(number)) == number) }
                for number in count..<count + 200 { #expect(try list.count(of: digest(number)) == nil) }
                #expect(try list.count(of: [UInt8](repeating: 0, count: 20)) == nil)
                #expect(try list.count(of: [UInt8](repeating: 255, count: 20)) == nil)
            }
        }
        let file = try File(lines(count, end: "\n", hasCounts: false))
        #expect(try file.list().count(of: digest(0)) == 1)
    }

    @Test("what is no sorted list of such hashes is refused, and nothing is called unknown by it")
    func refused() throws {
        let sorted = lines(3_000, end: "\n")
        let byCount = (0..<3_000).map { "\(Hex.encode(digest($0))):\(3_000 - $0)\n" }.joined()
        let ntlm = sorted.split(separator: "\n").map { $0.dropFirst(8) + "\n" }.joined()
        for text in [
            "", "\n", "hush\n", byCount, ntlm, "password1\n" + sorted, sorted + "password1\n", "\u{0}\(sorted)",
        ] {
            #expect(throws: CoreError.self, "\(text.prefix(20))") { try File(text).list() }
        }
        // A block out of place in the middle shows when it is met.
        let half = sorted.split(separator: "\n").map(String.init)
        let shuffled = (half[..<1_000] + half[2_000..<2_900] + half[1_000..<2_000] + half[2_900...])
            .joined(separator: "\n")
        let file = try File(shuffled)
        let list = try file.list()
        #expect(throws: CoreError.self) { for number in 0..<3_000 { _ = try list.count(of: digest(number)) } }
        #expect(throws: CoreError.self, "no file") { try BreachList(descriptor: STDIN_FILENO + 1_000) }
    }

    @Test("a password of the list is breached, as often as the list says")
    func breached() throws {
        try login("Known", "7")
        try login("Unknown", "x7")
        let file = try File(lines(100, end: "\r\n"))
        let rows = try rows([.breached], list: file.list())
        #expect(rows.map(\.flaws) == [[.breached], []] && rows.map(\.breachCount) == [7, nil])
    }
}
