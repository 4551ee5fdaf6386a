// A server that lies about a zone of logs: what it alters, exchanges, keeps back or repeats harms nobody, and once it gives the
// truth the device has it.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretSimulation
import CoffretStorage
import CoffretTestSupport
import CoffretWire
import Testing

@testable import CoffretSync

@Suite("A lying server: logs")
struct LyingServerLogTests {
    private let random = SeededGenerator(seed: 11)

    /// Two devices; the first has written notes that the second has not.
    private func written() throws -> (person: LogPerson, one: LogDevice, two: LogDevice) {
        let person = try LogExchangeTests.person()
        let (one, two) = (person.devices[0], person.devices[1])
        for number in 1...4 { try one.put(LogDevice.text(number), "note \(number)\n") }
        try one.sync()
        return (person, one, two)
    }

    /// Changes the objects of all pages.
    private static func altering(_ change: @escaping ([ZoneObject]) -> [ZoneObject]) -> (LogReply) -> LogReply {
        { reply in
            guard case .page(let page) = reply else { return reply }
            return .page(LogPage(objects: change(page.objects), cursor: page.cursor, hasMore: page.hasMore))
        }
    }

    @Test(
        "R5, R6, R9, R14: objects that are altered, cut, exchanged or kept back count nowhere; the truth is taken later"
    )
    func objects() throws {
        let lies: [(String, ([ZoneObject]) -> [ZoneObject])] = [
            ("flipped", { $0.map { Self.object($0.address, Self.flipped($0.ciphertext)) } }),
            ("cut", { $0.map { Self.object($0.address, Array($0.ciphertext.dropLast(17))) } }),
            (
                "exchanged",
                { objects in
                    // One alone is kept back: it has nothing to be exchanged with.
                    if objects.count < 2 { return [] }
                    return
                        zip(objects, objects.dropFirst() + objects.prefix(1)).map {
                            Self.object($0.address, $1.ciphertext)
                        }
                }
            ),
            ("kept back", { _ in [] }),
        ]
        for (name, lie) in lies {
            let (person, one, two) = try written()
            defer { withExtendedLifetime(person) {} }
            let before = try two.facts()
            two.lie = Self.altering(lie)
            _ = try? two.sync()
            #expect(try two.facts() == before, "\(name)")
            two.lie = { $0 }
            // The second took the head for a bad one and put its own over it; the first does the same with that.
            try one.sync()
            try two.sync()
            #expect(try two.shown(LogDevice.text(3)) == "note 3\n", "\(name)")
            #expect(try two.facts() == one.facts(), "\(name)")
        }
    }

    private static func object(_ address: [UInt8], _ bytes: [UInt8]) -> ZoneObject {
        ZoneObject(address: address, ciphertext: bytes)
    }

    private static func flipped(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        bytes[bytes.count / 2] ^= 1
        return bytes
    }

    @Test(
        "R3: views that alternate from request to request: each that takes something back is refused, and nothing goes")
    func alternatingViews() throws {
        let person = try LogExchangeTests.person()
        let (one, two) = (person.devices[0], person.devices[1])
        defer { withExtendedLifetime(person) {} }
        let old = try #require(try person.head())
        try two.put(LogDevice.text(1), "second\n")
        try two.sync()
        try one.sync()
        let facts = try one.facts()
        for _ in 0..<3 {
            one.lie = { reply in if case .head = reply { .head(old) } else { reply } }
            one.intercept = { request in if case .fetch = request { .end } else { nil } }
            #expect(throws: SyncError.self) { try one.sync() }
            #expect(try one.facts() == facts)
            (one.lie, one.intercept) = ({ $0 }, nil)
            try one.sync()
            #expect(try one.facts() == facts)
        }
    }

    @Test("R17: another key, another place, a cut and any flipped bit: one error, which says nothing")
    func oneError() throws {
        let key = LinkDetailsKey.generate(from: random)
        let sealed = Envelope.seal(
            Array("secret".utf8), key: key, context: .linkDetails, associatedData: [1], random: random)
        func failure(_ bytes: [UInt8], _ key: LinkDetailsKey, _ place: [UInt8], _ context: Context) -> CryptoError? {
            do throws(CryptoError) {
                try unsafe Envelope.open(bytes, key: key, context: context, associatedData: place) { _ in }
                return nil
            } catch {
                return error
            }
        }
        #expect(failure(sealed, key, [1], .linkDetails) == nil)
        var failures = [
            failure(sealed, .generate(from: random), [1], .linkDetails), failure(sealed, key, [2], .linkDetails),
            failure(sealed, key, [1], .deviceBox),
        ]
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            failures.append(failure(changed, key, [1], .linkDetails))
        }
        for failure in failures { #expect(failure == CryptoError(.authenticationFailed)) }
    }

    @Test("R44: equal texts in two vaults share neither address nor bytes")
    func equalTexts() throws {
        var seen: [Set<[UInt8]>] = []
        for seed: UInt64 in 1...2 {
            let person = try LogExchangeTests.person(1, seed: seed)
            defer { withExtendedLifetime(person) {} }
            let device = person.devices[0]
            for number in 1...4 { try device.put(LogDevice.text(number), "the same text \(number)\n") }
            try device.sync()
            var parts: Set<[UInt8]> = []
            for case .push(let push) in device.requests {
                for object in push.objects { parts.formUnion([object.address, object.ciphertext]) }
            }
            #expect(!parts.isEmpty)
            seen.append(parts)
        }
        #expect(seen[0].isDisjoint(with: seen[1]))
    }
}
