// A vault of logs at the server: its head with the word of who set it, and what was collected. Invariant: a word is kept as
// it was signed, so that who reads it needs not believe the server.

package import CoffretBase

/// The push that set a zone's head, as its device signed it: [account(32), device(16), expected head or empty, hash of the
/// objects(32), signature(64)].
package struct PushWord: Equatable, Sendable, CBORRecord {
    package let accountID: [UInt8]
    package let deviceID: UniqueID
    package let expectedHead: [UInt8]?
    /// BLAKE2b-256 of the addresses and digests of what came with it.
    package let objectsHash: [UInt8]
    package let signature: [UInt8]

    package init(
        accountID: [UInt8], deviceID: UniqueID, expectedHead: [UInt8]?, objectsHash: [UInt8], signature: [UInt8]
    ) {
        self.accountID = accountID
        self.deviceID = deviceID
        self.expectedHead = expectedHead
        self.objectsHash = objectsHash
        self.signature = signature
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("account", \.accountID, .account), CBORField("device", \.deviceID, .id),
        CBORField("expected head", \.expectedHead, .addressOrEmpty), CBORField("objects", \.objectsHash, .hash),
        CBORField("signature", \.signature, .signature))
}

/// The state of a zone: [head or empty, cursor, epoch, people, word / null].
///
/// Answers `GET /v1/zones/{id}/head`, and a push whose expected head is not the head (412).
package struct LogHead: ServerMessage, CBORRecord {
    package let address: [UInt8]?
    package let cursor: [UInt8]
    /// That of the push which set the head; 0 before there is one.
    package let epoch: UInt32
    /// Another number whenever a chain of the vault or of its people is another one. It is a hint.
    package let people: UInt64
    package let word: PushWord?

    package init(address: [UInt8]?, cursor: [UInt8], epoch: UInt32, people: UInt64 = 0, word: PushWord?) {
        self.address = address
        self.cursor = cursor
        self.epoch = epoch
        self.people = people
        self.word = word
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("head", \.address, .addressOrEmpty), CBORField("cursor", \.cursor, .cursor),
        CBORField("epoch", \.epoch, .unsigned32), CBORField("people", \.people, .unsigned),
        CBORField("word", \.word, CBORForm<PushWord>.record.orNull),
        where: { ($0.address == nil) == ($0.word == nil) })
}

/// `GET /v1/heads`: [[zone, head or empty, cursor, people, words]…], of all vaults of the account.
package struct ZoneHeads: ServerMessage {
    package struct Entry: Equatable, Sendable, CBORRecord {
        package let zone: [UInt8]
        package let head: [UInt8]?
        package let cursor: [UInt8]
        /// As in `LogHead`.
        package let people: UInt64
        /// One more with each word that a device left, and another number whenever a letter with the vault's key came or went.
        package let words: UInt64

        package init(zone: [UInt8], head: [UInt8]?, cursor: [UInt8], people: UInt64, words: UInt64) {
            self.zone = zone
            self.head = head
            self.cursor = cursor
            self.people = people
            self.words = words
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("zone", \.zone, .zone), CBORField("head", \.head, .addressOrEmpty),
            CBORField("cursor", \.cursor, .cursor), CBORField("people", \.people, .unsigned),
            CBORField("words", \.words, .unsigned))
    }

    package let entries: [Entry]

    package init(_ entries: [Entry]) { self.entries = entries }

    package static let form = CBORForm<Entry>.record.list(countMax: ServerLimits.membershipCountMax)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(entries, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { entries = try Self.form.decode(&decoder) }
}

/// `GET /v1/zones/{zone}/collections?after=NEXT`: what was collected, as it was signed, the oldest first: [next, [[account(32),
/// device(16), link(32), [object address(32)…], [chunk address(32)…], signature(64)]…]].
package struct CollectionRecords: ServerMessage, CBORRecord {
    package struct Statement: Equatable, Sendable, CBORRecord {
        package let accountID: [UInt8]
        package let deviceID: UniqueID
        /// The hash of the member link whose checkpoint covers what was collected.
        package let linkHash: [UInt8]
        package let objects: [[UInt8]]
        package let chunks: [[UInt8]]
        package let signature: [UInt8]

        package init(
            accountID: [UInt8], deviceID: UniqueID, linkHash: [UInt8], objects: [[UInt8]], chunks: [[UInt8]],
            signature: [UInt8]
        ) {
            self.accountID = accountID
            self.deviceID = deviceID
            self.linkHash = linkHash
            self.objects = objects
            self.chunks = chunks
            self.signature = signature
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("account", \.accountID, .account), CBORField("device", \.deviceID, .id),
            CBORField("link hash", \.linkHash, .hash),
            CBORField("", \.objects, .addresses(countMax: ServerLimits.sweepAddressCountMax, name: "object address")),
            CBORField("", \.chunks, .addresses(countMax: ServerLimits.sweepAddressCountMax, name: "chunk address")),
            CBORField("signature", \.signature, .signature))
    }

    package let next: [UInt8]
    package let statements: [Statement]

    package init(next: [UInt8], statements: [Statement]) {
        self.next = next
        self.statements = statements
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("next", \.next, .cursor),
        CBORField("", \.statements, CBORForm<Statement>.record.list(countMax: ServerLimits.collectionCountMaxPerAnswer))
    )
}
