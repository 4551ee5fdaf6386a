// What a link of a member chain says, as bytes. The one thing to keep true: a link lists all of its effects, and an honest
// writer and every reader have one form for each.

package import CoffretBase

/// The right of an account in a vault.
package enum MemberRole: UInt8, Sendable, Comparable {
    case owner = 1
    case writer = 2
    case viewer = 3
    /// Somebody who helps to bring an account back; in circles alone.
    case contact = 4

    package var writes: Bool { self < .viewer }

    package static func < (left: MemberRole, right: MemberRole) -> Bool { left.rawValue < right.rawValue }
}

/// The newest links of an account's chains that a member link states.
package struct StatedHead: Equatable, Sendable {
    package let accountID: ChainID
    /// The hash of a link of its device chain.
    package let device: Bytes32
    /// The hash of a link of its identity chain; nil while there is none.
    package let identity: Bytes32?

    package init(accountID: ChainID, device: Bytes32, identity: Bytes32? = nil) {
        self.accountID = accountID
        self.device = device
        self.identity = identity
    }
}

/// A new key of the vault (keys 10 to 14).
package struct EpochOpening: Equatable, Sendable {
    /// The highest epoch before, and one.
    package let epoch: UInt32
    package let keyCommitment: Bytes32
    package let splitKeyCommitment: Bytes32
    /// BLAKE2b-256 of the history object, by which who has this key reads what was sealed before.
    package let historyHash: Bytes32
    /// The epoch under which the link's checkpoint is sealed.
    package let checkpointEpoch: UInt32

    package init(
        epoch: UInt32, keyCommitment: Bytes32, splitKeyCommitment: Bytes32, historyHash: Bytes32,
        checkpointEpoch: UInt32
    ) {
        self.epoch = epoch
        self.keyCommitment = keyCommitment
        self.splitKeyCommitment = splitKeyCommitment
        self.historyHash = historyHash
        self.checkpointEpoch = checkpointEpoch
    }
}

/// The public part of a link from number 1 on.
///
/// Layout, deterministic CBOR, a = the signer's account, h = the hash of the newest link of its device chain:
///
///     {0: 2, 1: a, 2: h, 3: account, 4: role, 5: its device head, 6: its identity head or empty}     adds
///     {0: 3, 1: a, 2: h, 3: hash of the adding link}                                                 accepts
///     {0: 4, 1: a, 2: h, 3: [+ [account, role]], ?8, ?9, ?10..14}                                    changes roles; role 0 removes
///     {0: 6, 1: a, 2: h}                                                                             leaves, or declines
///     {0: 7, 1: a, 2: h, ?8, ?9, ?10..14}                                                            states
/// Operations 20 to 23 are `CircleOperation`s.
///
///     8: [+ account]  confirms     9: [+ [account, device head, identity head or empty]]  heads
///     10: epoch  11: commitment  12: split key's commitment  13: hash of the history object  14: epoch of the checkpoint
///
/// Lists ascend by account. Spec: Spec/history.md section 8.
package struct MemberOperation: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case add(StatedHead, MemberRole)
        case accept(addingLink: Bytes32)
        /// Without a role an account is removed.
        case changeRoles([RoleChange])
        case leave
        case state
        case circle(CircleOperation)
    }

    package struct RoleChange: Equatable, Sendable {
        package let accountID: ChainID
        package let role: MemberRole?

        package init(_ accountID: ChainID, _ role: MemberRole?) {
            self.accountID = accountID
            self.role = role
        }
    }

    package let kind: Kind
    package let accountID: ChainID
    /// The hash of the link of the signer's device chain.
    package let deviceHead: Bytes32
    package let confirms: [ChainID]
    package let heads: [StatedHead]
    package let opening: EpochOpening?

    package init(
        _ kind: Kind, by accountID: ChainID, deviceHead: Bytes32, confirms: [ChainID] = [], heads: [StatedHead] = [],
        opening: EpochOpening? = nil
    ) {
        self.kind = kind
        self.accountID = accountID
        self.deviceHead = deviceHead
        self.confirms = confirms
        self.heads = heads
        self.opening = opening
    }

    /// Whether the link gives, takes or changes a right, so that it may need confirmation (K7).
    package var changesRights: Bool {
        switch kind {
        case .add, .changeRoles: true
        case .accept, .leave, .state, .circle: false
        }
    }

    /// Accounts of which the link states a head; its signer's among them.
    package var statedAccounts: [ChainID] {
        var accounts = [accountID] + heads.map(\.accountID)
        if case .add(let head, _) = kind { accounts.append(head.accountID) }
        return accounts
    }

    /// Accounts that the link takes out of the vault.
    package var removes: [ChainID] {
        switch kind {
        case .leave: [accountID]
        case .changeRoles(let changes): changes.filter { $0.role == nil }.map(\.accountID)
        case .add, .accept, .state, .circle: []
        }
    }
}

extension MemberOperation {
    private static let countMax = 256

    private var code: UInt64 {
        switch kind {
        case .add: 2
        case .accept: 3
        case .changeRoles: 4
        case .leave: 6
        case .state: 7
        case .circle(let operation): operation.code
        }
    }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeMap { map in
                map.put(0) { $0.encode(unsigned: code) }
                map.put(1) { $0.encode(bytes: accountID.bytes) }
                map.put(2) { $0.encode(bytes: deviceHead.bytes) }
                switch kind {
                case .add(let head, let role):
                    map.put(3) { $0.encode(bytes: head.accountID.bytes) }
                    map.put(4) { $0.encode(unsigned: UInt64(role.rawValue)) }
                    map.put(5) { $0.encode(bytes: head.device.bytes) }
                    map.put(6) { $0.encode(bytes: head.identity?.bytes ?? []) }
                case .accept(let adding):
                    map.put(3) { $0.encode(bytes: adding.bytes) }
                case .changeRoles(let changes):
                    map.put(3) { encoder in
                        encoder.encodeArrayHeader(count: changes.count)
                        for change in changes {
                            encoder.encodeArrayHeader(count: 2)
                            encoder.encode(bytes: change.accountID.bytes)
                            encoder.encode(unsigned: UInt64(change.role?.rawValue ?? 0))
                        }
                    }
                case .circle(let operation): operation.encode(to: &map)
                case .leave, .state: break
                }
                encodeRest(&map)
            }
        }
    }

    private func encodeRest(_ map: inout CBORMapWriter) {
        if !confirms.isEmpty {
            map.put(8) { encoder in
                encoder.encodeArrayHeader(count: confirms.count)
                for account in confirms { encoder.encode(bytes: account.bytes) }
            }
        }
        if !heads.isEmpty {
            map.put(9) { encoder in
                encoder.encodeArrayHeader(count: heads.count)
                for head in heads {
                    encoder.encodeArrayHeader(count: 3)
                    encoder.encode(bytes: head.accountID.bytes)
                    encoder.encode(bytes: head.device.bytes)
                    encoder.encode(bytes: head.identity?.bytes ?? [])
                }
            }
        }
        guard let opening else { return }
        map.put(10) { $0.encode(unsigned: UInt64(opening.epoch)) }
        map.put(11) { $0.encode(bytes: opening.keyCommitment.bytes) }
        map.put(12) { $0.encode(bytes: opening.splitKeyCommitment.bytes) }
        map.put(13) { $0.encode(bytes: opening.historyHash.bytes) }
        map.put(14) { $0.encode(unsigned: UInt64(opening.checkpointEpoch)) }
    }

    /// Reads the public part of a link from number 1 on.
    ///
    /// - Throws: `.linkMalformed`; `.linkUnsupported` for an operation of a later version.
    package init(decoding link: UnverifiedLink) throws(MemberError) {
        let number = link.sequenceNumber
        let read = try withCBORDecoder(link.publicPart, convert: { _ in MemberError(.linkMalformed, at: number) }) {
            (decoder) throws(CBORError) in try Self.read(&decoder)
        }
        guard let read else { throw MemberError(.linkUnsupported, at: number) }
        self = read
    }

    /// nil for an operation of a later version, which is skipped.
    private static func read(_ decoder: inout CBORDecoder) throws(CBORError) -> MemberOperation? {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        try decoder.expectKey(0, in: &map)
        let code = try decoder.readUnsigned()
        guard [2, 3, 4, 6, 7].contains(code) || CircleOperation.codes ~= code else {
            while try decoder.readUnsignedKey(in: &map) != nil { try decoder.skipItem() }
            return nil
        }
        try decoder.expectKey(1, in: &map)
        let account = try readAccount(&decoder)
        try decoder.expectKey(2, in: &map)
        let head = try readHash(&decoder)
        let kind: Kind
        switch code {
        case 2: kind = try readAddition(&decoder, &map)
        case 3:
            try decoder.expectKey(3, in: &map)
            kind = .accept(addingLink: try readHash(&decoder))
        case 4: kind = .changeRoles(try readRoleChanges(&decoder, &map))
        case 6: kind = .leave
        case 7: kind = .state
        default: kind = .circle(try CircleOperation(code: code, from: &decoder, &map))
        }
        let rest = code == 4 || code == 7 ? try readRest(&decoder, &map) : Rest()
        guard map.remaining == 0 else { throw CBORError(.unexpectedKey, byteOffset: start) }
        let operation = MemberOperation(
            kind, by: account, deviceHead: head, confirms: rest.confirms, heads: rest.heads, opening: rest.opening)
        // A removal ends reading: it opens an epoch itself (K3).
        if code == 4, !operation.removes.isEmpty, operation.opening == nil {
            throw CBORError(.unexpectedKey, byteOffset: start)
        }
        return operation
    }

    private struct Rest {
        var confirms: [ChainID] = []
        var heads: [StatedHead] = []
        var opening: EpochOpening?
    }

    private static func readAddition(
        _ decoder: inout CBORDecoder, _ map: inout CBORMapPosition
    ) throws(CBORError) -> Kind {
        try decoder.expectKey(3, in: &map)
        let account = try readAccount(&decoder)
        try decoder.expectKey(4, in: &map)
        let start = decoder.byteOffset
        guard let role = MemberRole(rawValue: try decoder.readUnsigned(as: UInt8.self)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        try decoder.expectKey(5, in: &map)
        let device = try readHash(&decoder)
        try decoder.expectKey(6, in: &map)
        return .add(StatedHead(accountID: account, device: device, identity: try readHashOrEmpty(&decoder)), role)
    }

    private static func readRoleChanges(
        _ decoder: inout CBORDecoder, _ map: inout CBORMapPosition
    ) throws(CBORError) -> [RoleChange] {
        try decoder.expectKey(3, in: &map)
        return try readList(&decoder, order: \.accountID.bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            let account = try readAccount(&decoder)
            let start = decoder.byteOffset
            let code = try decoder.readUnsigned(as: UInt8.self)
            let role = MemberRole(rawValue: code)
            guard code == 0 || role != nil else { throw CBORError(.unexpectedItem, byteOffset: start) }
            return RoleChange(account, role)
        }
    }

    private static func readRest(
        _ decoder: inout CBORDecoder, _ map: inout CBORMapPosition
    ) throws(CBORError) -> Rest {
        var rest = Rest()
        var key = try decoder.readUnsignedKey(in: &map)
        if key == 8 {
            rest.confirms = try readList(&decoder, order: \.bytes) { (decoder) throws(CBORError) in
                try readAccount(&decoder)
            }
            key = try decoder.readUnsignedKey(in: &map)
        }
        if key == 9 {
            rest.heads = try readList(&decoder, order: \.accountID.bytes) { (decoder) throws(CBORError) in
                try decoder.readArrayHeader(count: 3)
                return StatedHead(
                    accountID: try readAccount(&decoder), device: try readHash(&decoder),
                    identity: try readHashOrEmpty(&decoder))
            }
            key = try decoder.readUnsignedKey(in: &map)
        }
        guard key != nil else { return rest }
        let start = decoder.byteOffset
        guard key == 10 else { throw CBORError(.unexpectedKey, byteOffset: start) }
        let epoch = try decoder.readUnsigned(as: UInt32.self)
        var hashes: [Bytes32] = []
        for next in 11...13 as ClosedRange<UInt64> {
            try decoder.expectKey(next, in: &map)
            hashes.append(try readHash(&decoder))
        }
        try decoder.expectKey(14, in: &map)
        rest.opening = EpochOpening(
            epoch: epoch, keyCommitment: hashes[0], splitKeyCommitment: hashes[1], historyHash: hashes[2],
            checkpointEpoch: try decoder.readUnsigned(as: UInt32.self))
        return rest
    }

    /// One item or more, ascending by the bytes that `order` gives.
    static func readList<Item>(
        _ decoder: inout CBORDecoder, order: (Item) -> [UInt8],
        _ read: (inout CBORDecoder) throws(CBORError) -> Item
    ) throws(CBORError) -> [Item] {
        let start = decoder.byteOffset
        let count = try decoder.readArrayHeader()
        guard 1...countMax ~= count else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var items: [Item] = []
        for _ in 0..<count {
            let item = try read(&decoder)
            if let last = items.last, !order(last).lexicographicallyPrecedes(order(item)) {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            items.append(item)
        }
        return items
    }

    static func readAccount(_ decoder: inout CBORDecoder) throws(CBORError) -> ChainID {
        guard let id = ChainID(try decoder.readBytes(count: ChainID.byteCount)) else {
            preconditionFailure("an id has 32 bytes")
        }
        return id
    }

    static func readHash(_ decoder: inout CBORDecoder) throws(CBORError) -> Bytes32 {
        guard let hash = Bytes32(try decoder.readBytes(count: 32)) else { preconditionFailure("a hash has 32 bytes") }
        return hash
    }

    private static func readHashOrEmpty(_ decoder: inout CBORDecoder) throws(CBORError) -> Bytes32? {
        let start = decoder.byteOffset
        let bytes = try decoder.readBytes(countMax: 32)
        guard bytes.isEmpty || bytes.count == 32 else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return Bytes32(bytes)
    }
}
