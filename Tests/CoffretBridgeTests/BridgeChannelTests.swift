// Channels, records of browsers and requests, without a socket. The one thing to keep true: any bytes are answered or refused.

import CoffretBase
import CoffretInterop
import CoffretTestSupport
import CoffretWire
import Testing

@testable import CoffretBridge

@Suite("Channels of browsers")
struct BridgeChannelTests {
    /// The extension's side of a handshake.
    private static func initiate(_ pairing: Pairing) throws -> (handshake: NoiseHandshake, message: [UInt8]) {
        let key = unsafe pairing.key.withUnsafeBytes { unsafe [UInt8]($0) }
        let noise = try NoiseHandshake(
            NoiseProtocol(.nnPSK0, .aesGCM), role: .initiator,
            prologue: Array("coffret/bridge/1".utf8) + pairing.id, preSharedKey: key)
        return (noise, try noise.writeMessage())
    }

    private static func makePairing(_ name: String = "Firefox") throws -> Pairing {
        var pairings = Pairings()
        return try pairings.add(
            wanted: name, program: "/usr/bin/browser", now: 1_700_000_000_000, random: SystemRandomSource())
    }

    @Test("R142: messages are opened once, in their order, and by their own channel")
    func channel() throws {
        let pairing = try Self.makePairing()
        let (noise, message) = try Self.initiate(pairing)
        let (channel, reply) = try BridgeChannel.open(message, with: pairing)
        _ = try noise.readMessage(reply)
        let session = try noise.makeSession()
        #expect(session.handshakeHash == channel.handshakeHash)
        let first = try session.sender.encrypt(Array("one".utf8))
        let second = try session.sender.encrypt(Array("two".utf8))
        #expect(throws: BridgeError.self) { try channel.open(second) }
        #expect(try channel.open(first) == Array("one".utf8))
        #expect(throws: BridgeError.self) { try channel.open(first) }
        #expect(try channel.open(second) == Array("two".utf8))
        #expect(try session.receiver.decrypt(channel.seal(Array("three".utf8))) == Array("three".utf8))
        #expect(throws: BridgeError.self) {
            try channel.seal([UInt8](repeating: 0, count: BridgeChannel.byteCountMax + 1))
        }
    }

    @Test("R142: another key, another id and the key that everybody knows open nothing")
    func otherKeys() throws {
        let (pairing, other) = (try Self.makePairing(), try Self.makePairing())
        let (_, message) = try Self.initiate(pairing)
        #expect(throws: BridgeError.self) { try BridgeChannel.open(message, with: other) }
        #expect(throws: BridgeError.self) { try BridgeChannel.openPairing(message) }
        for index in message.indices {
            var altered = message
            altered[index] ^= 0x10
            #expect(throws: BridgeError.self) { try BridgeChannel.open(altered, with: pairing) }
        }
    }

    @Test("browsers on other machines are in the same record, under names of their own")
    func remoteRecord() throws {
        var pairings = Pairings()
        let random = SystemRandomSource()
        _ = try pairings.addRemote(wanted: "Firefox", key: [UInt8](repeating: 9, count: 32), now: 7, random: random)
        _ = try pairings.add(wanted: "Firefox", program: "/usr/bin/firefox", now: 5, random: random)
        let browser = try pairings.addRemote(
            wanted: "firefox", key: [UInt8](repeating: 8, count: 32), now: 8, random: random)
        #expect(pairings.remote.map(\.name) == ["Firefox", "firefox 3"] && pairings.all.map(\.name) == ["Firefox 2"])
        // The same key once more is the same browser.
        let again = try pairings.addRemote(wanted: "firefox", key: browser.key, now: 9, random: random)
        #expect(pairings.remote.count == 2 && pairings.findRemote(browser.id) == nil)
        let bytes = pairings.encoded
        let read = try Pairings(decoding: bytes)
        #expect(read.encoded == bytes && read.remote == pairings.remote && read.findRemote(again.id) == again)
        for count in bytes.indices {
            #expect(throws: BridgeError(.recordAltered)) { try Pairings(decoding: Array(bytes[..<count])) }
        }
        try pairings.remove(named: "FIREFOX")
        #expect(pairings.remote.map(\.name) == ["firefox 3"])
        for _ in pairings.remote.count + pairings.all.count..<Pairing.countMax {
            _ = try pairings.addRemote(wanted: "x", key: random.bytes(count: 32), now: 5, random: random)
        }
        #expect(pairings.encoded.count <= 4_096 - 32)
        #expect(throws: BridgeError(.pairingExhausted)) {
            try pairings.addRemote(wanted: "x", key: random.bytes(count: 32), now: 5, random: random)
        }
    }

    @Test("a record of browsers comes back as it was, and an altered one is refused")
    func record() throws {
        var pairings = Pairings()
        let names = try (0..<Pairing.countMax).map { _ in
            try pairings.add(wanted: "Fire<fox>\n", program: "/usr/bin/firefox", now: 5, random: SystemRandomSource())
                .name
        }
        #expect(names.prefix(3) == ["Fire fox", "Fire fox 2", "Fire fox 3"])
        #expect(throws: BridgeError(.pairingExhausted)) {
            try pairings.add(wanted: "x", program: "y", now: 5, random: SystemRandomSource())
        }
        let bytes = pairings.encoded
        // A home of records takes no more.
        #expect(bytes.count <= 4_096 - 32)
        let read = try Pairings(decoding: bytes)
        #expect(read.encoded == bytes)
        try pairings.remove(named: "fire FOX 2")
        #expect(pairings.all.count == Pairing.countMax - 1)
        #expect(throws: BridgeError(.pairingNotFound, at: "Opera")) { try pairings.remove(named: "Opera") }
        for count in bytes.indices {
            #expect(throws: BridgeError(.recordAltered)) { try Pairings(decoding: Array(bytes[..<count])) }
        }
    }

    @Test(
        "names of browsers hold nothing that could speak to a person",
        arguments: [
            ("Firefox", "Firefox"), ("", "Browser"), ("\n\n", "Browser"), ("a\u{202E}b", "a b"),
            ("Type 123456\nnow!", "Type 123456 now"),
            (String(repeating: "x", count: 100), String(repeating: "x", count: 36)),
        ])
    func names(_ wanted: String, _ name: String) { #expect(Pairings.cleaned(wanted) == name) }

    @Test("R144: what is no request of the list is refused by name")
    func requests() throws {
        #expect(
            try BridgeRequest(parsing: Array(#"{"do":"find","origin":"https://a.b"}"#.utf8)).origin == "https://a.b")
        for name in ["item.read", "hello", "lock", "", "Find", "passkey.list"] {
            #expect(throws: BridgeError(.unsupported)) {
                try BridgeRequest(parsing: Array("{\"do\":\"\(name)\"}".utf8))
            }
        }
        for text in [
            "", "{}", "[]", #"{"do":"find","vault":"x"}"#, #"{"do":"fill","fields":"password"}"#, #"{"do":null}"#,
        ] {
            #expect(throws: BridgeError.self) { try BridgeRequest(parsing: Array(text.utf8)) }
        }
        forAll(count: 500) { generator in
            let bytes = (0..<Int(generator.next() % 80)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            _ = try? BridgeRequest(parsing: bytes)
            _ = try? BridgeOpening(bytes)
            _ = try? Pairings(decoding: bytes)
        }
    }
}
