// Remote and one-time requests: against the vectors of another implementation, and against a relay that does what it likes.

import CoffretBase
import CoffretCrypto
import CoffretInterop
import CoffretTestSupport
import Testing

@testable import CoffretPairing

/// Two devices of an account, and one that is none.
private struct RemoteFixture {
    let asker = AgreementKey.generate(from: SystemRandomSource())
    let asked = AgreementKey.generate(from: SystemRandomSource())
    let stranger = AgreementKey.generate(from: SystemRandomSource())
    let askerID = UniqueID.generate(from: SystemRandomSource())
    let relayID = SystemRandomSource().bytes(count: 16)

    func ask(_ item: String = "Garden", relayID other: [UInt8]? = nil) throws -> RemoteAsker {
        RemoteAsker(
            try RemoteRequest(item: item, field: nil), relayID: other ?? relayID, deviceID: askerID, own: asker,
            other: asked.publicKey)
    }

    func answerer(relayID other: [UInt8]? = nil) -> RemoteAnswerer {
        RemoteAnswerer(relayID: other ?? relayID, own: asked, random: SystemRandomSource())
    }

    func key(_ id: UniqueID) -> RemoteAskerKey? { id == askerID ? .device(asker.publicKey) : nil }
}

private func expectMismatch<Value>(_ words: String, _ body: () throws(RemoteError) -> Value) {
    do throws(RemoteError) {
        _ = try body()
        Issue.record("it opened: \(words)")
    } catch {
        #expect(error.code == .mismatch, "\(words): \(error)")
    }
}

@Suite("Remote requests")
struct RemoteTests {
    private let canary = Canary()

    @Test("all frames are those of another implementation")
    func vectors() throws {
        struct Devices: Decodable {
            let asker, asked, askerEphemeral, askedEphemeral, relay, challenge, device, item: String
            let field, title, label, value, refusal: String?
            let seconds: Int?
            let frames: [String]
        }
        struct Page: Decodable {
            let senderEphemeral, code, host, place, label, value, relay: String
            let seconds: Int?
            let frames: [String]
        }
        struct Browser: Decodable {
            struct Request: Decodable { let origin, field: String, username: String? }
            struct Answer: Decodable {
                let title, label, value, refused: String?
                let seconds: Int?
            }
            let browserPublic, asked, askedEphemeral, relay, challenge, id: String
            let request: Request
            let answer: Answer
            let frames: [String]
        }
        struct Admission: Decodable {
            struct Given: Decodable { let id, account, device, name, key: String }
            let senderEphemeral, relay, browserPublic, host, name, code: String
            let given: Given
            let frames: [String]
        }
        struct Vectors: Decodable {
            let devices: [Devices]
            let pages: [Page]
            let browsers: [Browser]
            let admissions: [Admission]
        }
        func key(_ digits: String) throws -> AgreementKey {
            let bytes = try Hex.decode(digits)
            return AgreementKey(unsafe SecretBytes(byteCount: 32) { unsafe $0.copyBytes(from: bytes) })
        }
        let vectors = try VectorFile.decode(Vectors.self, from: "remote/remote.json")
        #expect(vectors.devices.count == 4 && vectors.pages.count == 3)
        #expect(vectors.browsers.count == 3 && vectors.admissions.count == 2)
        for vector in vectors.browsers {
            let frames = try vector.frames.map { try Hex.decode($0) }
            let (id, asking) = (
                try #require(UniqueID(bytes: Hex.decode(vector.id))),
                try AgreementPublicKey(Hex.decode(vector.browserPublic))
            )
            let answerer = RemoteAnswerer(
                relayID: try Hex.decode(vector.relay), own: try key(vector.asked),
                challenge: try Hex.decode(vector.challenge), ephemeral: try key(vector.askedEphemeral))
            #expect(answerer.opening == frames[0])
            // A device's protocol does not open what a browser says, nor the other way round.
            expectMismatch("a browser as a device") { () throws(RemoteError) in
                try answerer.receive(frames[1]) { $0 == id ? .device(asking) : nil }
            }
            let read = try answerer.receive(frames[1]) { $0 == id ? .browser(asking) : nil }
            guard case .login(let request) = read.wish else {
                Issue.record("\(read.wish)")
                continue
            }
            #expect(read.asker == id && request.origin == vector.request.origin)
            #expect(
                request.username == vector.request.username && request.wantsCode == (vector.request.field == "code"))
            let reply: RemoteReply
            if let refused = vector.answer.refused {
                reply = .refused(try #require(RemoteError.Code(rawValue: refused)))
            } else {
                reply = .value(
                    RemoteValue(
                        title: vector.answer.title ?? "", label: vector.answer.label ?? "",
                        value: vector.answer.value ?? "", seconds: vector.answer.seconds))
            }
            #expect(try answerer.frame(reply) == frames[2])
            expectMismatch("a second answer") { () throws(RemoteError) in try answerer.frame(reply) }
        }
        for vector in vectors.admissions {
            let frames = try vector.frames.map { try Hex.decode($0) }
            let code = try PageCode.parse(vector.code, as: .browser)
            #expect(code.host == vector.host && code.text == vector.code)
            #expect(code.pageKey == (try Hex.decode(vector.browserPublic)))
            #expect(throws: RemoteError(.codeMalformed)) { try PageCode.parse(vector.code) }
            let sender = try PageSender(code, ephemeral: try key(vector.senderEphemeral))
            #expect(try sender.opening() == frames[0])
            #expect(try sender.receive(frames[1]) == vector.name)
            let given = vector.given
            let admission = RemoteAdmission(
                id: try #require(UniqueID(bytes: Hex.decode(given.id))), account: try Hex.decode(given.account),
                device: try #require(UniqueID(bytes: Hex.decode(given.device))), name: given.name,
                key: try AgreementPublicKey(Hex.decode(given.key)))
            #expect(try sender.frame(admission) == frames[2])
            expectMismatch("a second admission") { () throws(RemoteError) in try sender.frame(admission) }
        }
        for vector in vectors.devices {
            let frames = try vector.frames.map { try Hex.decode($0) }
            let (relayID, id) = (try Hex.decode(vector.relay), try #require(UniqueID(bytes: Hex.decode(vector.device))))
            let (own, other) = (try key(vector.asker), try key(vector.asked))
            let request = try RemoteRequest(item: vector.item, field: vector.field)
            let asker = RemoteAsker(
                request, relayID: relayID, deviceID: id, own: own, other: other.publicKey,
                ephemeral: try key(vector.askerEphemeral))
            let answerer = RemoteAnswerer(
                relayID: relayID, own: other, challenge: try Hex.decode(vector.challenge),
                ephemeral: try key(vector.askedEphemeral))
            #expect(answerer.opening == frames[0])
            #expect(try asker.answer(opening: frames[0]) == frames[1])
            let read = try answerer.receive(frames[1]) { $0 == id ? .device(own.publicKey) : nil }
            #expect(read.asker == id && read.wish == .item(request))
            let reply: RemoteReply
            if let refusal = vector.refusal {
                reply = .refused(try #require(RemoteError.Code(rawValue: refusal)))
            } else {
                reply = .value(
                    RemoteValue(
                        title: vector.title ?? "", label: vector.label ?? "", value: vector.value ?? "",
                        seconds: vector.seconds))
            }
            #expect(try answerer.frame(reply) == frames[2])
            #expect(try asker.receive(frames[2]) == reply)
        }
        for vector in vectors.pages {
            let frames = try vector.frames.map { try Hex.decode($0) }
            let code = try PageCode.parse(vector.code)
            #expect(code.host == vector.host && code.text == vector.code)
            #expect(code.relayID == (try Hex.decode(vector.relay)))
            let sender = try PageSender(code, ephemeral: try key(vector.senderEphemeral))
            #expect(try sender.opening() == frames[0])
            #expect(try sender.receive(frames[1]) == vector.place)
            let value = RemoteValue(title: "", label: vector.label, value: vector.value, seconds: vector.seconds)
            #expect(try sender.frame(value) == frames[2])
            expectMismatch("a second value") { () throws(RemoteError) in try sender.frame(value) }
        }
    }

    @Test(
        "R150: a yes counts for 60 seconds from the request, by a clock that is given; nobody is asked for longer, or later"
    )
    func consent() {
        let begun = BootInstant(nanoseconds: 5_000_000_000)
        let limit = Duration.seconds(60)
        func require(
            askedAfter waited: Duration, answeredAfter answered: Duration, _ answer: Bool
        ) -> (error: RemoteError.Code?, asked: Duration?) {
            var (moments, asked): ([Duration], Duration?) = ([waited, answered], nil)
            do throws(RemoteError) {
                try RemoteConsent(since: begun).require(at: { begun.advanced(by: moments.removeFirst()) }) { left in
                    asked = left
                    return answer
                }
                return (nil, asked)
            } catch {
                return (error.code, asked)
            }
        }
        let instant = Duration.nanoseconds(1)
        #expect(require(askedAfter: .zero, answeredAfter: limit - instant, true) == (nil, limit))
        #expect(require(askedAfter: .seconds(59), answeredAfter: limit - instant, true) == (nil, .seconds(1)))
        #expect(require(askedAfter: .zero, answeredAfter: limit, true) == (.unanswered, limit))
        #expect(require(askedAfter: .zero, answeredAfter: limit + .seconds(900), true) == (.unanswered, limit))
        #expect(require(askedAfter: .zero, answeredAfter: limit, false) == (.unanswered, limit))
        #expect(require(askedAfter: .zero, answeredAfter: .seconds(1), false) == (.refused, limit))
        #expect(require(askedAfter: limit, answeredAfter: limit, true) == (.unanswered, nil))
    }

    @Test("R149: a relay that reads sees neither request nor answer, and no difference between a yes and a no")
    func reading() throws {
        let fixture = RemoteFixture()
        func sizes(_ reply: RemoteReply) throws -> [Int] {
            let (asker, answerer) = (try fixture.ask(canary.word), fixture.answerer())
            let request = try asker.answer(opening: answerer.opening)
            _ = try answerer.receive(request, key: fixture.key)
            let answer = try answerer.frame(reply)
            #expect(try asker.receive(answer) == reply)
            for frame in [answerer.opening, request, answer] { #expect(canary.finds(in: frame).isEmpty) }
            return [request.count, answer.count]
        }
        let value = RemoteValue(title: "Garden", label: "Password", value: canary.word)
        #expect(try sizes(.value(value)) == sizes(.refused(.refused)))
        // The search finds what is there.
        #expect(!canary.finds(in: RemoteReply.value(value).encoded).isEmpty)
    }

    @Test("R149: a relay that answers itself gets and gives nothing")
    func answering() throws {
        let fixture = RemoteFixture()
        // In the place of the asked device: it knows both public keys, and every frame that passed.
        let asker = try fixture.ask()
        let request = try asker.answer(opening: [1] + [UInt8](repeating: 7, count: 32))
        let impostor = RemoteAnswerer(relayID: fixture.relayID, own: fixture.stranger, random: SystemRandomSource())
        expectMismatch("the request, with a key of its own") { () throws(RemoteError) in
            try impostor.receive(request, key: fixture.key)
        }
        let forged = try NoiseHandshake(
            NoiseProtocol(.kk), role: .initiator, staticKey: NoiseStaticKey(fixture.stranger),
            remoteStaticKey: NoisePublicKey(fixture.asker.publicKey)
        ).writeMessage([UInt8](repeating: 0, count: 512))
        for (frame, words) in [(forged, "an answer with a key of its own"), (request, "the request"), ([], "nothing")] {
            let waiting = try fixture.ask()
            _ = try waiting.answer(opening: fixture.answerer().opening)
            expectMismatch(words) { () throws(RemoteError) in try waiting.receive(frame) }
        }
        // In the place of the asking device.
        let answerer = fixture.answerer()
        let asking = RemoteAsker(
            try RemoteRequest(item: "Garden", field: nil), relayID: fixture.relayID, deviceID: fixture.askerID,
            own: fixture.stranger, other: fixture.asked.publicKey)
        let frame = try asking.answer(opening: answerer.opening)
        expectMismatch("a request with another key") { () throws(RemoteError) in
            try answerer.receive(frame, key: fixture.key)
        }
        let unknown = UniqueID.generate(from: SystemRandomSource()).bytes + frame.dropFirst(16)
        expectMismatch("a request of no device") { () throws(RemoteError) in
            try fixture.answerer().receive(Array(unknown), key: fixture.key)
        }
        expectMismatch("an answer before a request") { () throws(RemoteError) in
            try fixture.answerer().frame(.refused(.refused))
        }
    }

    @Test("R149: what a relay repeats, swaps or alters does not open")
    func replaying() throws {
        let fixture = RemoteFixture()
        let (asker, answerer) = (try fixture.ask(), fixture.answerer())
        let request = try asker.answer(opening: answerer.opening)
        _ = try answerer.receive(request, key: fixture.key)
        let answer = try answerer.frame(.value(RemoteValue(title: "Garden", label: "Password", value: "secret")))
        expectMismatch("the request, once more") { () throws(RemoteError) in
            try answerer.receive(request, key: fixture.key)
        }
        expectMismatch("the request, at the same relay id later") { () throws(RemoteError) in
            try fixture.answerer().receive(request, key: fixture.key)
        }
        expectMismatch("a second answer") { () throws(RemoteError) in try answerer.frame(.refused(.refused)) }
        let other = SystemRandomSource().bytes(count: 16)
        let elsewhere = try fixture.ask(relayID: other)
        _ = try elsewhere.answer(opening: answerer.opening)
        expectMismatch("the answer of another request") { () throws(RemoteError) in try elsewhere.receive(answer) }
        let moved = RemoteAnswerer(
            relayID: other, own: fixture.asked, challenge: Array(answerer.opening.dropFirst()), ephemeral: nil)
        expectMismatch("the request at another relay id") { () throws(RemoteError) in
            try moved.receive(request, key: fixture.key)
        }
        expectMismatch("another opening after the first") { () throws(RemoteError) in
            try asker.answer(opening: fixture.answerer().opening)
        }
        for index in request.indices {
            var altered = request
            altered[index] ^= 1
            let same = RemoteAnswerer(
                relayID: fixture.relayID, own: fixture.asked, challenge: Array(answerer.opening.dropFirst()),
                ephemeral: nil)
            expectMismatch("byte \(index) of the request") { () throws(RemoteError) in
                try same.receive(altered, key: fixture.key)
            }
        }
        for index in answer.indices {
            var altered = answer
            altered[index] ^= 1
            let (asker, answerer) = (try fixture.ask(), fixture.answerer())
            let request = try asker.answer(opening: answerer.opening)
            _ = try answerer.receive(request, key: fixture.key)
            var frame = try answerer.frame(.refused(.refused))
            frame[index] ^= 1
            expectMismatch("byte \(index) of the answer") { () throws(RemoteError) in try asker.receive(frame) }
        }
        // Untouched, it opens once.
        #expect(try asker.receive(answer) == .value(RemoteValue(title: "Garden", label: "Password", value: "secret")))
        expectMismatch("the answer, once more") { () throws(RemoteError) in try asker.receive(answer) }
    }

    @Test("R149: who photographed the code reads nothing, and can only show a value of their own")
    func photographed() throws {
        let key = AgreementKey.generate(from: SystemRandomSource())
        let (relayID, secret) = (SystemRandomSource().bytes(count: 16), SystemRandomSource().bytes(count: 32))
        let code = PageCode(
            .value, host: "vault.example", relayID: relayID, pageKey: key.publicKey.bytes, secret: secret)
        func page(_ own: AgreementKey, secret: [UInt8]) throws -> NoiseHandshake {
            try NoiseHandshake(
                NoiseProtocol(.nkPSK0, .aesGCM), role: .responder, prologue: Array("coffret/ask/1".utf8) + relayID,
                staticKey: NoiseStaticKey(own), preSharedKey: secret)
        }
        let value = RemoteValue(title: "Garden", label: "Password", value: canary.word)
        // The page, and whoever has the code: the same frames, which only the page's key opens.
        let sender = try PageSender(code)
        let opening = try sender.opening()
        let stranger = AgreementKey.generate(from: SystemRandomSource())
        #expect(throws: InteropError.self) { try page(stranger, secret: secret).readMessage(opening) }
        #expect(throws: InteropError.self) {
            try page(key, secret: [UInt8](repeating: 0, count: 32)).readMessage(opening)
        }
        let honest = try page(key, secret: secret)
        _ = try honest.readMessage(opening)
        let answer = try honest.writeMessage(Array("https://vault.example".utf8))
        #expect(try sender.receive(answer) == "https://vault.example")
        let frame = try sender.frame(value)
        #expect(canary.finds(in: opening + answer + frame).isEmpty)
        let plain = try RemoteFilling.content(honest.makeSession().receiver.decrypt(frame))
        #expect(!canary.finds(in: plain).isEmpty)
        // A relay, or somebody with the code, in the place of the page: nothing is sent.
        for own in [stranger, AgreementKey.generate(from: SystemRandomSource())] {
            let (asked, forged) = (try PageSender(code), try page(own, secret: secret))
            _ = try asked.opening()
            _ = try? forged.readMessage(opening)
            expectMismatch("an answer without the page's key") { () throws(RemoteError) in try asked.receive(answer) }
            expectMismatch("a value for nobody") { () throws(RemoteError) in try asked.frame(value) }
        }
        // Who answers first with the code shows the page a value of their own; they learn nothing.
        let first = try PageSender(code)
        let other = try page(key, secret: secret)
        _ = try other.readMessage(first.opening())
        _ = try first.receive(other.writeMessage())
        let shown = try other.makeSession().receiver.decrypt(
            first.frame(RemoteValue(title: "", label: "Password", value: "wrong")))
        #expect(canary.finds(in: shown).isEmpty)
        // Where it came from is printable, and short.
        for place in ["a b", "\u{202E}", String(repeating: "a", count: 301)] {
            let (asked, page) = (try PageSender(code), try page(key, secret: secret))
            _ = try page.readMessage(asked.opening())
            let answer = try page.writeMessage(Array(place.utf8))
            expectMismatch("the place \(place.count)") { () throws(RemoteError) in try asked.receive(answer) }
        }
    }

    @Test("codes, requests and values keep to their bounds, whatever bytes come")
    func bounds() throws {
        let code = PageCode(
            .value, host: "a.example", relayID: [UInt8](repeating: 1, count: 16),
            pageKey: [UInt8](repeating: 2, count: 32),
            secret: [UInt8](repeating: 3, count: 32))
        #expect(code.text.utf8.count == 158)
        #expect(try PageCode.parse(" " + code.text.lowercased() + "\n") == code)
        let short = Base32.rfc4648Unpadded.encode([0] + [UInt8](repeating: 1, count: 80))
        for text in [
            "", "COFFRET-ASK:2:" + code.text.dropFirst(14), String(code.text.dropLast()), code.text + "A",
            "COFFRET-ASK:1:" + short,
        ] {
            #expect(throws: RemoteError(.codeMalformed)) { try PageCode.parse(text) }
        }
        #expect(throws: RemoteError(.itemNotFound)) { try RemoteRequest(item: "", field: nil) }
        #expect(throws: RemoteError(.itemNotFound)) {
            try RemoteRequest(item: String(repeating: "x", count: 1_025), field: nil)
        }
        #expect(throws: RemoteError(.fieldNotFound)) { try RemoteRequest(item: "x", field: "") }
        let fixture = RemoteFixture()
        for (count, isTooLong) in [(32_768, false), (32_769, true)] {
            let (asker, answerer) = (try fixture.ask(), fixture.answerer())
            _ = try answerer.receive(asker.answer(opening: answerer.opening), key: fixture.key)
            let value = RemoteValue(title: "", label: "", value: String(repeating: "x", count: count))
            if isTooLong {
                #expect(throws: RemoteError(.valueTooLong)) { try answerer.frame(.value(value)) }
            } else {
                #expect(try asker.receive(answerer.frame(.value(value))) == .value(value))
            }
        }
        let generator = SeededGenerator.fromEnvironment()
        for _ in 0..<2_000 {
            let bytes = generator.bytes(count: Int(generator.bytes(count: 1)[0]) * 4)
            _ = try? RemoteReply(decoding: bytes)
            _ = try? RemoteRequest(decoding: bytes)
            _ = try? RemoteFilling.content(bytes)
        }
        #expect(try RemoteReply(decoding: RemoteReply.refused(.pausing).encoded) == .refused(.pausing))
        let unknown = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 2)
            encoder.encode(text: "remote.something.new")
        }
        #expect(try RemoteReply(decoding: unknown) == .refused(.failed))
    }
}
