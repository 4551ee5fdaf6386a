// A log in memory, which can be made to lie.

import CoffretBase
import CoffretCrypto
import CoffretKeyLog
import CoffretTestSupport

final class TestLog {
    let signer = KeyLogSigner(seed: SystemRandomSource().bytes(count: KeyLogSigner.seedByteCount))
    static let name = "vault.example/coffret-log/1"
    let verifier: KeyLogVerifier
    var entries: [KeyLogEntry] = []

    init() { verifier = signer.verifier(name: Self.name) }

    func checkpoint() -> KeyLogCheckpoint {
        var range = KeyLogRange()
        for entry in entries { range.append(entry.leafHash) }
        return KeyLogCheckpoint(size: range.size, root: range.root, name: Self.name, signer: signer)
    }

    static func hash(_ text: String) -> Bytes32 { Bytes32(KeyLogTests.sha(Array(text.utf8)))! }

    /// Takes the link `text` of a chain.
    func append(_ text: String, of chain: String, at number: UInt64) {
        entries.append(
            KeyLogEntry(kind: 1, chainID: Self.hash(chain).bytes, number: number, linkHash: Self.hash(text)))
    }

    static func chain(_ name: String, _ links: [String], replaced: [String] = []) -> KeyLogChain {
        KeyLogChain(
            kind: 1, chainID: hash(name).bytes, name: name, links: links.map(hash), replaced: Set(replaced.map(hash)))
    }

    /// Reads all that is new, and what it cost in bundles.
    func read(
        _ view: KeyLogView, _ chains: [KeyLogChain], now: Milliseconds = 0, isFollowed: Bool = true,
        bundles: inout Int
    ) throws(KeyLogError) -> KeyLogView {
        var reading = try KeyLogReading(view, note: checkpoint().note, chains: chains)
        while let tile = reading.wanted {
            bundles += 1
            let start = Int(tile.index * KeyLogTile.width)
            try reading.take(KeyLogBundle.encode(entries[start..<start + tile.count].map(\.encoded)))
        }
        let read = try reading.finished(now: now, isFollowed: isFollowed)
        // What is kept reads back.
        guard KeyLogView(decoding: read.encoded) == read else { fatalError("a view does not read back") }
        return read
    }

    func read(
        _ view: KeyLogView, _ chains: [KeyLogChain], now: Milliseconds = 0, isFollowed: Bool = true
    ) throws(KeyLogError) -> KeyLogView {
        var bundles = 0
        return try read(view, chains, now: now, isFollowed: isFollowed, bundles: &bundles)
    }
}
