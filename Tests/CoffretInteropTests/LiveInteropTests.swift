// What we make is opened by others, and what others make we open: fresh keys and messages in every run.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretCrypto
@testable import CoffretInterop

@Suite("Live interoperation")
struct LiveInteropTests {
    private func bytes(_ value: Any?) throws -> [UInt8] { try Hex.decode(#require(value as? String)) }

    @Test("ECIES, ECDSA and key files with pyca/cryptography", .enabled(if: PythonPeer.hasCryptography))
    func cryptography() throws {
        let generator = SeededGenerator.fromEnvironment()
        var jobs: [String: [[String: Any]]] = [:]
        var cases: [(key: SoftwareCurveKey, algorithm: ECIESAlgorithm, plaintext: [UInt8])] = []
        var signed: [(key: SoftwareCurveKey, message: [UInt8])] = []
        for curve in Curve.allCases {
            jobs["make_keys", default: []].append(["point_bytes": 1 + 2 * curve.coordinateByteCount])
            let key = try SoftwareCurveKey.generate(curve)
            for algorithm in ECIESAlgorithm.allCases {
                let plaintext = generator.bytes(count: 0...300)
                cases.append((key, algorithm, plaintext))
                jobs["seal", default: []].append([
                    "public_hex": Hex.encode(key.publicKey.x963Representation), "algorithm": algorithm.rawValue,
                    "plaintext_hex": Hex.encode(plaintext),
                ])
                jobs["open", default: []].append([
                    "private_pem": try key.exportPEMRepresentation(), "algorithm": algorithm.rawValue,
                    "message_hex": Hex.encode(try key.publicKey.encrypt(plaintext, algorithm: algorithm)),
                ])
            }
            for algorithm in ECDSAAlgorithm.allCases {
                guard let hash = algorithm.hash else { continue }
                let data = generator.bytes(
                    count: algorithm.hashesMessage ? 0...99 : hash.digestByteCount...hash.digestByteCount)
                jobs["verify", default: []].append([
                    "public_pem": key.publicKey.pemRepresentation, "algorithm": algorithm.rawValue,
                    "data_hex": Hex.encode(data), "signature_hex": Hex.encode(try key.sign(data, algorithm: algorithm)),
                ])
            }
            let message = generator.bytes(count: 1...99)
            signed.append((key, message))
            jobs["sign", default: []].append([
                "private_pem": try key.exportPEMRepresentation(), "algorithm": "ecdsaSignatureMessageX962SHA256",
                "data_hex": Hex.encode(message),
            ])
        }
        let results = try PythonPeer.run("ecies_peer.py", jobs)
        for (index, expected) in cases.enumerated() {
            let theirs = try bytes(results["seal"]?[index])
            #expect(try expected.key.decrypt(theirs, algorithm: expected.algorithm) == expected.plaintext)
            #expect(try bytes(results["open"]?[index]) == expected.plaintext, "seed \(generator.seed)")
        }
        for (index, expected) in signed.enumerated() {
            try expected.key.publicKey.verify(bytes(results["sign"]?[index]), of: expected.message)
        }
        #expect(results["verify"]?.count == 3 * 10 && results["make_keys"]?.count == 3)
        for made in results["make_keys"] ?? [] {
            let made = try #require(made as? [String: String])
            for form in ["pkcs8", "sec1"] {
                let key = try SoftwareCurveKey(pemRepresentation: #require(made[form]))
                #expect(try key.publicKey.x963Representation == bytes(made["public_hex"]))
            }
            let key = try CurvePublicKey(pemRepresentation: #require(made["spki"]))
            #expect(try key.x963Representation == bytes(made["public_hex"]))
            #expect(made["spki"] == key.pemRepresentation)
        }
    }

    static let noiseProtocols = NoisePattern.allCases.filter { $0 != .oldPSKNN }.flatMap { pattern in
        NoiseCipher.allCases.map { NoiseProtocol(pattern, $0) }
    }

    @Test(
        "every Noise protocol, AESGCM included, in both roles with noiseprotocol",
        .enabled(if: PythonPeer.hasNoise), arguments: noiseProtocols)
    func noise(noiseProtocol: NoiseProtocol) throws {
        for role in [NoiseRole.initiator, .responder] {
            let peerRole: NoiseRole = role == .initiator ? .responder : .initiator
            let pattern = noiseProtocol.pattern
            let own = NoiseStaticKey.generate()
            let theirs = NoiseStaticKey.generate()
            let psk = pattern.needsPreSharedKey ? SystemRandomSource().bytes(count: 32) : nil
            let prologue = SystemRandomSource().bytes(count: 20)
            let peer = try LinePeer(
                "noise_peer.py",
                [
                    noiseProtocol.name, peerRole == .initiator ? "initiator" : "responder", Hex.encode(prologue),
                    pattern.needsStaticKey(peerRole) ? Hex.encode(theirs.exportPrivateKey()) : "-",
                    pattern.needsRemoteStaticKey(peerRole) ? Hex.encode(own.publicKey.bytes) : "-",
                    psk.map { Hex.encode($0) } ?? "-",
                ])
            let handshake = try NoiseHandshake(
                noiseProtocol, role: role, prologue: prologue, staticKey: pattern.needsStaticKey(role) ? own : nil,
                remoteStaticKey: pattern.needsRemoteStaticKey(role) ? theirs.publicKey : nil, preSharedKey: psk)
            while handshake.nextStep != .split {
                let payload = SystemRandomSource().bytes(count: 30)
                if handshake.nextStep == .write {
                    #expect(try peer.ask("read", handshake.writeMessage(payload)) == payload)
                } else {
                    let message = try #require(try peer.ask("write", payload))
                    #expect(try handshake.readMessage(message) == payload)
                }
            }
            let session = try handshake.makeSession()
            #expect(try peer.ask("hash") == session.handshakeHash)
            if pattern.needsStaticKey(peerRole) { #expect(session.remoteStaticKey == theirs.publicKey) }
            for round in 0..<4 {
                let payload = SystemRandomSource().bytes(count: round == 3 ? 5_000 : 10)
                #expect(try peer.ask("decrypt", session.sender.encrypt(payload)) == payload)
                let message = try #require(try peer.ask("encrypt", payload))
                #expect(try session.receiver.decrypt(message) == payload)
                if round == 1 {
                    // Both directions of both sides, between two messages.
                    #expect(try peer.ask("rekey") == [])
                    try session.sender.rekey()
                    try session.receiver.rekey()
                }
            }
            var damaged = try session.sender.encrypt([1])
            damaged[0] ^= 1
            #expect(try peer.ask("decrypt", damaged) == nil)
        }
    }

    @Test("all of Themis with its reference implementation", .enabled(if: PythonPeer.hasThemis))
    func themis() throws {
        let made = try PythonPeer.run("themis_peer.py", ["make_keys": [[:], [:]]])
        let pairs = try #require(made["make_keys"] as? [[String: String]])
        let keys = try pairs.map { try ThemisPrivateKey(container: bytes($0["private"])) }
        for (key, pair) in zip(keys, pairs) { #expect(try key.publicKey.container == bytes(pair["public"])) }
        // Sender ours and recipient theirs: the peer gets containers that we made.
        let own = try ThemisPrivateKey.generate()
        let ownPrivate = Hex.encode(try own.exportContainer())
        let ownPublic = Hex.encode(own.publicKey.container)
        let theirPrivate = try #require(pairs[0]["private"])
        let theirPublic = try #require(pairs[0]["public"])

        let text = Array("Themis, live".utf8)
        let key = SecureCell.generateKey()
        let context = Array("context".utf8)
        let cell = try SecureCell(key: key)
        let passphraseCell = try PassphraseCell(passphrase: Array("pässphrase".utf8))
        let protected = try cell.protect(text, context: context)
        func job(_ more: [String: [UInt8]]) -> [String: Any] { more.mapValues { Hex.encode($0) } }
        let passphrase = Array("pässphrase".utf8)
        let jobs: [String: [[String: Any]]] = [
            "seal": [
                job(["key": key, "plaintext": text]), job(["key": key, "plaintext": text, "context": context]),
                job(["passphrase": passphrase, "plaintext": text, "context": context]),
            ],
            "open": [
                job(["key": key, "cell": try cell.seal(text)]),
                job(["key": key, "cell": try cell.seal(text, context: context), "context": context]),
                job([
                    "passphrase": passphrase, "cell": try passphraseCell.seal(text, context: context),
                    "context": context,
                ]),
            ],
            "protect": [job(["key": key, "plaintext": text, "context": context])],
            "unprotect": [
                job(["key": key, "token": protected.token, "ciphertext": protected.ciphertext, "context": context])
            ],
            "imprint": [job(["key": key, "plaintext": text, "context": context])],
            "encrypt": [["private": theirPrivate, "public": ownPublic, "plaintext": Hex.encode(text)]],
            "decrypt": [
                [
                    "private": theirPrivate, "public": ownPublic,
                    "message": Hex.encode(try SecureMessage.encrypt(text, from: own, to: keys[0].publicKey)),
                ]
            ],
            "sign": [["private": ownPrivate, "message": Hex.encode(text)]],
            "verify": [["public": theirPublic, "signed": Hex.encode(try SecureMessage.sign(text, with: keys[0]))]],
        ]
        let results = try PythonPeer.run("themis_peer.py", jobs)
        #expect(try cell.open(bytes(results["seal"]?[0])) == text)
        #expect(try cell.open(bytes(results["seal"]?[1]), context: context) == text)
        #expect(try passphraseCell.open(bytes(results["seal"]?[2]), context: context) == text)
        for index in 0..<3 { #expect(try bytes(results["open"]?[index]) == text) }
        let theirs = try #require(results["protect"]?[0] as? [String: String])
        #expect(
            try cell.open(
                .init(token: bytes(theirs["token"]), ciphertext: bytes(theirs["ciphertext"])), context: context) == text
        )
        #expect(try bytes(results["unprotect"]?[0]) == text)
        #expect(try bytes(results["imprint"]?[0]) == cell.imprint(text, context: context))
        #expect(try SecureMessage.decrypt(bytes(results["encrypt"]?[0]), to: own, from: keys[0].publicKey) == text)
        #expect(try bytes(results["decrypt"]?[0]) == text)
        #expect(try SecureMessage.verify(bytes(results["sign"]?[0]), from: own.publicKey) == text)
        #expect(try bytes(results["verify"]?[0]) == text)
    }
}
