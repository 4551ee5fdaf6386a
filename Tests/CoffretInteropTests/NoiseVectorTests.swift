// Noise against its vectors: the project's selection always, the full set where it is at hand.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCrypto
@testable import CoffretInterop

extension NoiseHandshake {
    /// One side of a vector, its ephemeral key fixed. `prefix` is `init_`, `resp_` or nothing.
    static func make(_ vector: VectorObject, name: String, role: NoiseRole, prefix: String) throws -> NoiseHandshake {
        let noiseProtocol = try #require(NoiseProtocol(name: name))
        let ephemeral = try vector.hexIfPresent(prefix + "ephemeral_hex").map { try NoiseStaticKey(privateKey: $0).key }
        let psks = try vector.texts(prefix + "psks_hex").map { try Hex.decode($0) }
        return try NoiseHandshake(
            noiseProtocol, role: role, prologue: vector.hexIfPresent(prefix + "prologue_hex") ?? [],
            staticKey: vector.hexIfPresent(prefix + "static_hex").map { try NoiseStaticKey(privateKey: $0) },
            remoteStaticKey: vector.hexIfPresent(prefix + "remote_static_hex").map { try NoisePublicKey($0) },
            preSharedKey: psks.first, ephemeralKey: ephemeral)
    }
}

@Suite("Noise vectors")
struct NoiseVectorTests {
    @Test("the project's selection: every case ends as it says")
    func selection() throws { try run(SharedData.ownVectors("noise")) }

    @Test("the full set: every case ends as it says", .enabled(if: SharedData.isAvailable))
    func full() throws { try run(try #require(SharedData.fullVectors("noise"))) }

    private func run(_ folder: URL) throws {
        for file in try VectorObject.files(in: folder) {
            let vectors = try VectorObject(contentsOf: file)
            let cases = try vectors.objects("cases")
            #expect(!cases.isEmpty, "\(file.lastPathComponent) holds no case")
            switch try vectors.text("format") {
            case "noise-valid/1": VectorObject.forEach(cases, valid)
            case "noise-transcript/1": VectorObject.forEach(cases, transcript)
            case "noise-rekey/1": VectorObject.forEach(cases, rekey)
            case let format: Issue.record("nobody reads \(file.lastPathComponent) of format \(format)")
            }
        }
    }

    private func valid(_ vector: VectorObject) throws {
        let name = try vector.text("protocol_name")
        let initiator = try NoiseHandshake.make(vector, name: name, role: .initiator, prefix: "init_")
        let responder = try NoiseHandshake.make(vector, name: name, role: .responder, prefix: "resp_")
        var trace = try vector.objects("handshake_trace")[...]
        var sessions: (initiator: NoiseSession, responder: NoiseSession)?
        for message in try vector.objects("messages") {
            let isInitiator = try message.text("sender") == "initiator"
            let payload = try message.hex("payload_hex")
            let expected = try message.hex("ciphertext_hex")
            if try message.text("kind") == "handshake" {
                let (sender, receiver) = isInitiator ? (initiator, responder) : (responder, initiator)
                #expect(try sender.writeMessage(payload) == expected, "\(vector)")
                #expect(try receiver.readMessage(expected) == payload, "\(vector)")
                if let step = trace.popFirst() {
                    for side in [sender, receiver] {
                        #expect(try side.symmetric.hash == step.hex("h_hex"), "\(vector)")
                        let chainingKey = unsafe side.symmetric.withChainingKey { unsafe [UInt8]($0) }
                        #expect(try chainingKey == step.hex("ck_hex"), "\(vector)")
                    }
                }
                continue
            }
            if sessions == nil {
                #expect(try initiator.handshakeHash == vector.hex("handshake_hash_hex"), "\(vector)")
                sessions = (try initiator.makeSession(), try responder.makeSession())
                try checkKeys(vector, sessions)
            }
            let both = try #require(sessions)
            let (sender, receiver) =
                isInitiator
                ? (both.initiator.sender, both.responder.receiver)
                : (both.responder.sender, both.initiator.receiver)
            #expect(try sender.encrypt(payload) == expected, "\(vector)")
            #expect(try receiver.decrypt(expected) == payload, "\(vector)")
        }
        #expect(sessions != nil && trace.isEmpty, "\(vector) ends early")
    }

    private func checkKeys(
        _ vector: VectorObject, _ sessions: (initiator: NoiseSession, responder: NoiseSession)?
    ) throws {
        let sessions = try #require(sessions)
        let hash = try vector.hex("handshake_hash_hex")
        #expect(sessions.initiator.handshakeHash == hash && sessions.responder.handshakeHash == hash, "\(vector)")
        guard vector.has("initiator_to_responder_key_hex") else { return }
        let first = unsafe sessions.initiator.sender.withKey { unsafe [UInt8]($0) }
        let second = unsafe sessions.initiator.receiver.withKey { unsafe [UInt8]($0) }
        #expect(try first == vector.hex("initiator_to_responder_key_hex"), "\(vector)")
        #expect(try second == vector.hex("responder_to_initiator_key_hex"), "\(vector)")
    }

    private func transcript(_ vector: VectorObject) throws {
        let role: NoiseRole = try vector.text("party") == "initiator" ? .initiator : .responder
        let handshake = try NoiseHandshake.make(
            vector.object("config"), name: vector.text("protocol_name"), role: role, prefix: "")
        var session: NoiseSession?
        for step in try vector.objects("steps") {
            if session == nil, handshake.nextStep == .split { session = try handshake.makeSession() }
            let message = try step.hex("message_hex")
            if try step.text("op") == "write" {
                let payload = try step.hex("payload_hex")
                let written = try session?.sender.encrypt(payload) ?? handshake.writeMessage(payload)
                #expect(written == message, "\(vector)")
            } else if try step.text("expect") == "ok" {
                let read = try session?.receiver.decrypt(message) ?? handshake.readMessage(message)
                #expect(try read == step.hex("payload_hex"), "\(vector)")
            } else {
                let code = expectFailure(vector) {
                    _ = try session?.receiver.decrypt(message) ?? handshake.readMessage(message)
                }
                #expect(code == .authenticationFailed, "\(vector)")
                // A handshake ends with its first failure; a session goes on as if nothing had come.
                if session == nil { #expect(handshake.nextStep == .over, "\(vector)") }
            }
        }
    }

    private func rekey(_ vector: VectorObject) throws {
        func state(_ direction: CipherDirection) throws -> NoiseCipherState {
            let bytes = try vector.hex("key_hex")
            return try NoiseCipherState(
                .chaChaPoly, direction, key: unsafe SecretBytes(byteCount: 32) { unsafe $0.copyBytes(from: bytes) })
        }
        let sender = NoiseSender(try state(.seal))
        let receiver = NoiseReceiver(try state(.open))
        for step in try vector.objects("steps") {
            if try step.text("op") == "rekey" {
                try sender.rekey()
                try receiver.rekey()
                #expect(try unsafe sender.withKey { unsafe [UInt8]($0) } == step.hex("key_after_hex"), "\(vector)")
                #expect(try unsafe receiver.withKey { unsafe [UInt8]($0) } == step.hex("key_after_hex"), "\(vector)")
            } else {
                #expect(try sender.messageCount == UInt64(step.int("nonce")))
                let data = try step.hex("ad_hex")
                let sent = try sender.encrypt(step.hex("payload_hex"), additionalData: data)
                #expect(try sent == step.hex("ciphertext_hex"), "\(vector)")
                #expect(try receiver.decrypt(sent, additionalData: data) == step.hex("payload_hex"), "\(vector)")
            }
        }
    }
}
