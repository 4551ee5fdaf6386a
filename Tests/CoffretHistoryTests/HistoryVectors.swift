// The published vectors of histories, as values. Must fail loudly where the file lacks a part.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretStorage
import CoffretTestSupport
import Testing

/// `history/history.json`.
struct HistoryVectors: Decodable {
    struct Context: Decodable {
        let cbor_hex: String
        let name_hex: String
        let instance_hex: String
    }

    struct Entry: Decodable {
        let what: String
        let content_hex: String
        let name_hex: String
        let message_hex: String
        let bare_hex: String
        let bare_name_hex: String
    }

    struct Refused: Decodable {
        let why: String
        let code: String
        let content_hex: String
    }

    struct Fact: Decodable {
        let key_hex: String
        let instance_hex: String
        let number: UInt64
        let height: UInt64
        let content_hex: String
        let term_hex: String
    }

    struct State: Decodable {
        let split_key_hex: String
        let facts: [Fact]
        let digest_hex: String
        let leaf_hex: String
        let leaf_name_hex: String
    }

    struct Named: Decodable {
        let what: String
        let content_hex: String
        let name_hex: String
    }

    struct HeadCode: Decodable {
        let base_hash_hex: String
        let frontier: [String: Mark]
        let digest_hex: String
        let device_chain_head_hex: String
        let hash_hex: String
        let code: String
    }

    /// `[number, name]`.
    struct Mark: Decodable {
        let number: UInt64
        let name: String

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            number = try list.decode(UInt64.self)
            name = try list.decode(String.self)
        }
    }

    struct Push: Decodable {
        let expected_hex: String
        let new_hex: String
        let epoch: UInt32
        /// Pairs of address and ciphertext.
        let objects: [[String]]
        let message_hex: String
    }

    struct Values: Decodable {
        struct Base: Decodable {
            let content_hex: String
            let name_hex: String
        }

        struct Case: Decodable {
            let what: String
            let stored_hex: String
            let bytes_hex: String
        }

        struct Bad: Decodable {
            let why: String
            let stored_hex: String
        }

        let bases: [Base]
        let cases: [Case]
        let refused: [Bad]
    }

    struct Texts: Decodable {
        struct Difference: Decodable {
            let old: String
            let new: String
            let runs: [[Int]]
        }

        struct Merge: Decodable {
            let base: String
            let versions: [String]
            let merged: String?
        }

        let differences: [Difference]
        let merges: [Merge]
    }

    let vault_hex: String
    let device_public_key_hex: String
    let contexts: [Context]
    let entries: [Entry]
    let refused: [Refused]
    let state: State
    let frontiers: [Named]
    let head_codes: [HeadCode]
    let push: Push
    let values: Values
    let texts: Texts

    static let shared: Result<HistoryVectors, any Error> = Result {
        try VectorFile.decode(HistoryVectors.self, from: "history/history.json")
    }

    func vaultID() throws -> VaultID { try #require(VaultID(Hex.decode(vault_hex))) }

    /// The context of that name; a name that no vector has is malformed, as one whose blob does not open.
    func context(_ name: BlobName) throws(HistoryError) -> EntryContext {
        guard let found = contexts.first(where: { $0.name_hex == name.description }),
            let content = try? Hex.decode(found.cbor_hex)
        else { throw HistoryError(.entryMalformed, place: name.description) }
        return try EntryContext.decode(content, name: name)
    }

    /// The name of a blob.
    static func name(_ hex: String) throws -> BlobName { try #require(BlobName(bytes: Hex.decode(hex))) }
}

/// Says of each author that his device has one key, and the right to write.
struct AssumedAuthority: EntryAuthority {
    let key: VerifyingKey
    var epochError: HistoryError?

    func signerKey(for context: EntryContext, of entry: BlobName) throws(HistoryError) -> VerifyingKey { key }

    func isHead(_ later: ChainPosition, atOrAfter earlier: ChainPosition, of context: EntryContext) -> Bool {
        later.number >= earlier.number
    }

    func checkEpoch(of context: EntryContext, of entry: BlobName) throws(HistoryError) {
        if let epochError { throw epochError }
    }
}
