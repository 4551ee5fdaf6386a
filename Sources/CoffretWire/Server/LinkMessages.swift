// Links of several chains at once, on their way to and from the server. Invariant: links travel as the bytes that were
// signed, and their receiver verifies them.

package import CoffretBase

/// `POST /v1/links`: [[kind, chain id(32), link, expected head of the zone or empty / null]…], all taken or none.
package struct LinkPost: ServerMessage {
    package struct Item: Equatable, Sendable, CBORRecord {
        /// 1 of devices, 3 of members.
        package let kind: UInt8
        package let chainID: [UInt8]
        package let link: [UInt8]
        /// The zone's head that the link was made on, empty for none; nil: any.
        package let expectedHead: [UInt8]?

        package init(kind: UInt8, chainID: [UInt8], link: [UInt8], expectedHead: [UInt8]? = nil) {
            self.kind = kind
            self.chainID = chainID
            self.link = link
            self.expectedHead = expectedHead
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("kind", \.kind, CBORForm<UInt64>.unsigned.narrowed(to: UInt8.self)),
            CBORField("chain", \.chainID, .hash), CBORField("link", \.link, .link),
            CBORField("expected head", \.expectedHead, CBORForm<[UInt8]>.headBytes.orNull))
    }

    package let items: [Item]

    package init(_ items: [Item]) { self.items = items }

    package static let form = CBORForm<Item>.record.list(countMax: ServerLimits.linkCountMaxPerPost)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(items, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { items = try Self.form.decode(&decoder) }
}

/// The answer to `POST /v1/links` (200): [number…], where each link stands.
package struct LinkReceipt: ServerMessage {
    package let numbers: [UInt64]

    package init(_ numbers: [UInt64]) { self.numbers = numbers }

    package static let form = CBORForm<UInt64>.unsigned.list(
        countMax: ServerLimits.linkCountMaxPerPost, name: "sequence number")
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(numbers, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { numbers = try Self.form.decode(&decoder) }
}

/// The answer to `POST /v1/links` (409): the link at a place in the request does not go behind its chain's newest: [index,
/// head].
package struct LinkConflict: ServerMessage, CBORRecord {
    package let index: UInt64
    /// The newest link of that chain.
    package let head: ChainHead

    package init(index: UInt64, head: ChainHead) {
        self.index = index
        self.head = head
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("index", \.index, .unsigned), CBORField("newest", \.head, .record))
}

/// The answer to `POST /v1/links` (412): the zone's head is not the one that a link was made on: [index, state].
package struct LinkHeadMoved: ServerMessage, CBORRecord {
    package let index: UInt64
    package let state: LogHead

    package init(index: UInt64, state: LogHead) {
        self.index = index
        self.state = state
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("index", \.index, .unsigned),
        CBORField("state", \.state, CBORForm<LogHead>.record.named("state")))
}

/// `POST /v1/chains/updates`: [[kind, chain id(32), links known, branches known]…].
package struct ChainUpdateRequest: ServerMessage {
    package struct Item: Equatable, Sendable, CBORRecord {
        package let kind: UInt8
        package let chainID: [UInt8]
        /// How many links are known: the first wanted is this one's number.
        package let linkCount: UInt64
        package let branchCount: UInt64

        package init(kind: UInt8, chainID: [UInt8], linkCount: UInt64, branchCount: UInt64 = 0) {
            self.kind = kind
            self.chainID = chainID
            self.linkCount = linkCount
            self.branchCount = branchCount
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("kind", \.kind, CBORForm<UInt64>.unsigned.narrowed(to: UInt8.self)),
            CBORField("chain", \.chainID, .hash), CBORField("links known", \.linkCount, .unsigned),
            CBORField("branches known", \.branchCount, .unsigned))
    }

    package let items: [Item]

    package init(_ items: [Item]) { self.items = items }

    package static let form = CBORForm<Item>.record.list(countMax: ServerLimits.chainCountMaxPerRequest)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(items, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { items = try Self.form.decode(&decoder) }
}

/// The answer to `POST /v1/chains/updates`: [[[kind, chain id(32), [branch…], first, [link…]]…], more].
///
/// Chains of which nothing is new are left out. Where a branch is new, the links begin at or before the place where it began.
package struct ChainUpdates: ServerMessage, CBORRecord {
    /// Links that a recovery replaced: [number of the first, [link…]].
    package struct Branch: Equatable, Sendable, CBORRecord {
        package let start: UInt64
        package let links: [[UInt8]]

        package init(start: UInt64, links: [[UInt8]]) {
            self.start = start
            self.links = links
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("first", \.start, .unsigned),
            CBORField("", \.links, CBORForm<[UInt8]>.link.list(countMax: ServerLimits.chainLinkCountMax * 2)))
    }

    package struct Chain: Equatable, Sendable, CBORRecord {
        package let kind: UInt8
        package let chainID: [UInt8]
        /// Those behind the ones that are known, the oldest first.
        package let branches: [Branch]
        /// The number of the first of the links.
        package let start: UInt64
        package let links: [[UInt8]]

        package init(kind: UInt8, chainID: [UInt8], branches: [Branch], start: UInt64, links: [[UInt8]]) {
            self.kind = kind
            self.chainID = chainID
            self.branches = branches
            self.start = start
            self.links = links
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("kind", \.kind, CBORForm<UInt64>.unsigned.narrowed(to: UInt8.self)),
            CBORField("chain", \.chainID, .hash),
            CBORField("", \.branches, CBORForm<Branch>.record.list(countMax: ServerLimits.branchCountMax)),
            CBORField("first", \.start, .unsigned),
            CBORField("", \.links, CBORForm<[UInt8]>.link.list(countMax: ServerLimits.linkCountMaxPerRequest)))
    }

    package let chains: [Chain]
    /// Whether there is more than one answer holds: ask again.
    package let hasMore: Bool

    package init(_ chains: [Chain], hasMore: Bool) {
        self.chains = chains
        self.hasMore = hasMore
    }

    package static let layout = CBORLayout(
        Self.init(_:hasMore:),
        CBORField("", \.chains, CBORForm<Chain>.record.list(countMax: ServerLimits.chainCountMaxPerRequest)),
        CBORField("more", \.hasMore, .bool))
}
