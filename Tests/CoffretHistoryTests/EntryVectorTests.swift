// Entries, contexts and bare forms against the published vectors: what is one, and what is none.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretHistory

@Suite("Vectors of entries")
struct EntryVectorTests {
    let vectors: HistoryVectors
    let verifier: EntryVerifier<AssumedAuthority>

    init() throws {
        vectors = try HistoryVectors.shared.get()
        verifier = EntryVerifier(
            vaultID: try vectors.vaultID(),
            authority: AssumedAuthority(key: try VerifyingKey(Hex.decode(vectors.device_public_key_hex))))
    }

    private func decode(_ content: [UInt8], _ name: BlobName) throws(HistoryError) -> UnverifiedEntry {
        try UnverifiedEntry.decode(content, name: name) { (name) throws(HistoryError) in try vectors.context(name) }
    }

    @Test("a context has its name and makes its instance, and is written as it was read")
    func contexts() throws {
        #expect(vectors.contexts.count >= 5)
        for vector in vectors.contexts {
            let content = try Hex.decode(vector.cbor_hex)
            let context = try EntryContext.decode(content, name: HistoryVectors.name(vector.name_hex))
            #expect(context.encode() == content)
            #expect(context.name.description == vector.name_hex)
            #expect(context.instance.hex == vector.instance_hex)
        }
    }

    @Test("an entry is verified, has its name and message, and is written as it was read")
    func entries() throws {
        #expect(vectors.entries.count >= 12)
        for vector in vectors.entries {
            let content = try Hex.decode(vector.content_hex)
            let name = BlobName.derive(type: .entry, content: content.span)
            #expect(name.description == vector.name_hex)
            let entry = try decode(content, name)
            #expect(Hex.encode(entry.message) == vector.message_hex, "\(vector.what)")
            #expect(!entry.isBare)
            let signed = try verifier.verifySignature(of: entry)
            #expect(signed.dot == entry.dot)
            let again = signed.body.encode(own: entry.context.instance).bytes
            #expect(again == Array(content.dropLast(64)), "\(vector.what)")
        }
    }

    @Test("the bare form of an entry is the one of the vectors, and carries the same signature")
    func bareForms() throws {
        for vector in vectors.entries {
            let content = try Hex.decode(vector.content_hex)
            let entry = try decode(content, HistoryVectors.name(vector.name_hex))
            let bare = try UnverifiedEntry.bareForm(of: content, name: entry.name, own: entry.context.instance)
            #expect(Hex.encode(bare) == vector.bare_hex, "\(vector.what)")
            let name = BlobName.derive(type: .entry, content: bare.span)
            #expect(name.description == vector.bare_name_hex)
            let read = try decode(bare, name)
            #expect(read.isBare && read.message == entry.message && read.dot == entry.dot)
            let signed = try verifier.verifySignature(of: read)
            #expect(signed.isBare)
            #expect(try UnverifiedEntry.bareForm(of: bare, name: name, own: entry.context.instance) == bare)
            // A bare form says nothing of a state, so it is never an entry that counts.
            #expect(throws: HistoryError(.entryMalformed, place: name.description)) {
                _ = try verifier.verify(signed, after: nil)
            }
        }
    }

    @Test("what is no entry is refused with its code")
    func refused() throws {
        #expect(vectors.refused.count >= 48)
        for vector in vectors.refused {
            let content = try Hex.decode(vector.content_hex)
            let name = BlobName.derive(type: .entry, content: content.span)
            do throws(HistoryError) {
                let entry = try decode(content, name)
                _ = try verifier.verifySignature(of: entry)
                Issue.record("taken: \(vector.why)")
            } catch {
                #expect(error.code.rawValue == vector.code, "\(vector.why)")
                #expect(error.place == name.description)
            }
        }
    }

    @Test("what is no context is refused: a newer one as unsupported, any other as malformed")
    func refusedContexts() throws {
        let vector = try #require(vectors.contexts.first)
        let content = try Hex.decode(vector.cbor_hex)
        let name = try HistoryVectors.name(vector.name_hex)
        func code(_ bytes: [UInt8]) -> HistoryError.Code? {
            do throws(HistoryError) {
                _ = try EntryContext.decode(bytes, name: name)
                return nil
            } catch { return error.code }
        }
        #expect(code(content) == nil)
        // The format, the floor behind it, and one more key.
        #expect(code([content[0], 1, 3] + content[3...]) == .entryUnsupportedFormat)
        #expect(code(content.dropLast() + [3]) == .entryUnsupportedFormat)
        #expect(code([content[0] + 1] + content[1...] + [12, 0]) == .entryUnsupportedFormat)
        #expect(code([content[0], 1, 1] + content[3...]) == .entryMalformed)
        #expect(code(content + [0]) == .entryMalformed)
        #expect(code(content.dropLast()) == .entryMalformed)
        #expect(code([]) == .entryMalformed)
    }
}
