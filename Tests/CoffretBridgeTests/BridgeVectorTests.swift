// Values of pairings and sessions that another implementation computed, against both sides: Swift and the extension's JavaScript.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretBridge

@Suite("Vectors of the bridge")
struct BridgeVectorTests {
    private struct Vectors: Decodable {
        struct Case: Decodable {
            let name, id, opening, pairingOpening, pairingHash, reveal, commitment, challenge, digits: String
        }
        let cases: [Case]
    }

    @Test("openings, commitments and digits")
    func vectors() throws {
        let vectors = try VectorFile.decode(Vectors.self, from: "bridge/bridge.json")
        #expect(vectors.cases.count == 4)
        for each in vectors.cases {
            let opening = try Hex.decode(each.opening)
            let handshake = Array(opening.dropFirst(9))
            #expect(try BridgeOpening(opening) == .session(pairing: Hex.decode(each.id), handshake: handshake))
            #expect(
                try BridgeOpening(Hex.decode(each.pairingOpening))
                    == .pairing(handshake: Array(Hex.decode(each.pairingOpening).dropFirst())))
            let reveal = try Hex.decode(each.reveal)
            let digits = PairingDigits(
                hash: try Hex.decode(each.pairingHash), commitment: try Hex.decode(each.commitment), name: each.name,
                challenge: try Hex.decode(each.challenge))
            #expect(try digits.digits(revealed: reveal) == each.digits)
            for index in [0, 31] {
                var other = reveal
                other[index] ^= 1
                #expect(throws: BridgeError(.pairingMismatch)) { try digits.digits(revealed: other) }
            }
            #expect(throws: BridgeError(.pairingMismatch)) { try digits.digits(revealed: reveal + [0]) }
        }
    }

    @Test(
        "the extension's JavaScript computes the same, by WebCrypto alone",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/node"), "needs nodejs"))
    func extensionVectors() throws {
        let folder = try TemporaryDirectory("bridge-vectors")
        let sources = SharedData.packageRoot.appendingPathComponent("Web/extension")
        for name in ["noise.js", "bytes.js", "channel.js", "keys.js"] {
            try FileManager.default.copyItem(
                at: sources.appendingPathComponent(name), to: URL(fileURLWithPath: folder.file(name)))
        }
        try Data(#"{"type":"module"}"#.utf8).write(to: URL(fileURLWithPath: folder.file("package.json")))
        let run = try ProcessRunner.run(
            "/usr/bin/node",
            [
                "--experimental-global-webcrypto",
                SharedData.packageRoot.appendingPathComponent("Tests/Interop/bridge_vectors.mjs").path,
                folder.file("."), SharedData.ownVectors("bridge/bridge.json").path,
            ])
        #expect(run.text.contains("4 cases held"), "\(run.text)\n\(run.errorText)")
    }

    @Test(
        "R149: the extension's JavaScript asks over the relay as the vectors say, and opens nothing that was altered",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/node"), "needs nodejs"))
    func extensionRemoteVectors() throws {
        let folder = try TemporaryDirectory("remote-vectors")
        let sources = SharedData.packageRoot.appendingPathComponent("Web/extension")
        for name in ["noise.js", "bytes.js", "channel.js", "keys.js", "qr.js", "remote.js"] {
            try FileManager.default.copyItem(
                at: sources.appendingPathComponent(name), to: URL(fileURLWithPath: folder.file(name)))
        }
        try Data(#"{"type":"module"}"#.utf8).write(to: URL(fileURLWithPath: folder.file("package.json")))
        let run = try ProcessRunner.run(
            "/usr/bin/node",
            [
                "--experimental-global-webcrypto",
                SharedData.packageRoot.appendingPathComponent("Tests/Interop/extension_remote_vectors.mjs").path,
                folder.file("."), SharedData.ownVectors("remote/remote.json").path,
                SharedData.packageRoot.appendingPathComponent("Web/ask/ask.html").path,
            ])
        #expect(run.text.contains("all held"), "\(run.text)\n\(run.errorText)")
    }
}
