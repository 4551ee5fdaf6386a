// Notes that a log signs. Invariant: the text that is read is the text that was signed, byte for byte.

package import CoffretBase
internal import CoffretCrypto

/// The public key of a log, with its name.
///
/// Text: NAME+KEYID+KEY, KEYID eight lower-case digits, KEY the base64 of 01 ‖ Ed25519 key. Key id = the first 4 bytes of
/// SHA-256(NAME ‖ 0A ‖ 01 ‖ key). Source: C2SP signed-note.
package struct KeyLogVerifier: Equatable, Sendable {
    private static let ed25519: UInt8 = 1
    package static let byteCountMax = 512

    package let name: String
    /// 32 bytes.
    let publicKey: [UInt8]
    let keyID: [UInt8]

    package init(name: String, publicKey: [UInt8]) {
        self.name = name
        self.publicKey = publicKey
        keyID = Array(KeyLogTree.hash(Array(name.utf8) + [0x0A, Self.ed25519] + publicKey).bytes.prefix(4))
    }

    /// Whether a name can stand in a note: no white space, no plus sign.
    static func isName(_ name: some StringProtocol) -> Bool {
        !name.isEmpty && name.utf8.count <= 256
            && name.unicodeScalars.allSatisfy { $0 != "+" && !$0.properties.isWhitespace && $0.value >= 0x20 }
    }

    /// - Throws: `.checkpointInvalid`.
    package init(text: String) throws(KeyLogError) {
        let invalid = KeyLogError(.checkpointInvalid, at: "key")
        let parts = text.split(separator: "+", maxSplits: 2, omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.byteCountMax, parts.count == 3, Self.isName(parts[0]),
            let key = try? Base64.standard.decode(String(parts[2])), key.count == 33, key[0] == Self.ed25519
        else { throw invalid }
        self.init(name: String(parts[0]), publicKey: Array(key.dropFirst()))
        guard parts[1] == Hex.encode(keyID) else { throw invalid }
    }

    package var text: String {
        "\(name)+\(Hex.encode(keyID))+\(Base64.standard.encode([Self.ed25519] + publicKey))"
    }
}

/// Signs the checkpoints of a log, and nothing else.
package struct KeyLogSigner: Sendable {
    package static let seedByteCount = 32
    private let key: ForeignEd25519Key

    /// - Parameter seed: 32 bytes; they are overwritten.
    package init(seed: consuming [UInt8]) { key = ForeignEd25519Key(seed: SecretBytes(consuming: &seed)) }

    /// - Parameter name: of the log, as it stands in its notes.
    package func verifier(name: String) -> KeyLogVerifier { KeyLogVerifier(name: name, publicKey: key.publicKey) }

    fileprivate func signature(of text: [UInt8]) -> [UInt8] { key.signature(of: text) }
}

/// What a log says of its size and root at some moment, verified.
///
/// Text: origin, size, base64 of the root, each on a line. Source: C2SP tlog-checkpoint.
package struct KeyLogCheckpoint: Equatable, Sendable {
    package static let byteCountMax = 4_096
    private static let lineCountMax = 64

    package let size: UInt64
    package let root: Bytes32
    /// The note as it was signed.
    package let note: [UInt8]

    /// Makes and signs one.
    package init(size: UInt64, root: Bytes32, name: String, signer: KeyLogSigner) {
        let verifier = signer.verifier(name: name)
        let text = "\(verifier.name)\n\(size)\n\(Base64.standard.encode(root.bytes))\n"
        let signature = verifier.keyID + signer.signature(of: Array(text.utf8))
        self.size = size
        self.root = root
        note = Array("\(text)\n\u{2014} \(verifier.name) \(Base64.standard.encode(signature))\n".utf8)
    }

    /// Verifies a note. Signatures of others, as of witnesses, may stand beside the log's.
    ///
    /// - Throws: `.checkpointInvalid` for another form, another log, or without a valid signature by its key.
    package init(verifying note: [UInt8], by verifier: KeyLogVerifier) throws(KeyLogError) {
        let invalid = KeyLogError(.checkpointInvalid, at: verifier.name)
        guard note.count <= Self.byteCountMax, String(validating: note, as: UTF8.self) != nil, note.last == 0x0A,
            let gap = note.indices.dropLast().last(where: { note[$0] == 0x0A && note[$0 + 1] == 0x0A })
        else { throw invalid }
        let text = Array(note[...gap])
        let lines = Self.lines(note[..<gap])
        let signatures = Self.lines(note[(gap + 2)...].dropLast())
        guard lines.count >= 3, lines[0] == verifier.name, let size = UInt64(lines[1]), String(size) == lines[1],
            let rootBytes = try? Base64.standard.decode(String(lines[2])), let root = Bytes32(rootBytes),
            signatures.count <= Self.lineCountMax
        else { throw invalid }
        let isSigned = signatures.contains { line in
            let parts = line.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == "\u{2014}", parts[1] == verifier.name,
                let bytes = try? Base64.standard.decode(String(parts[2])), bytes.count == 68,
                Array(bytes.prefix(4)) == verifier.keyID
            else { return false }
            return ForeignEd25519Key.isValid(Array(bytes.dropFirst(4)), of: text, by: verifier.publicKey)
        }
        guard isSigned else { throw invalid }
        (self.size, self.root, self.note) = (size, root, note)
    }

    private static func lines(_ text: ArraySlice<UInt8>) -> [String] {
        text.split(separator: 0x0A, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }
}
