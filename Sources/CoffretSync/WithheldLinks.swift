// Links that somebody states and the server does not give. The one thing to keep true: only a sync that followed the chains
// since says that they are withheld, and what has come is nobody's lack any more.

internal import CoffretBase
internal import CoffretHistory
internal import CoffretTrust

/// What devices of members stated, by their signatures, and what is not here.
struct WithheldLinks: Equatable, Sendable {
    /// Devices of one account, so that nobody's claims push out those of others.
    static let accountCountMax = 4
    static let countMax = accountCountMax * VerifiedMemberRights.memberCountMax

    struct Claim: Equatable, Sendable {
        /// Numbers in the member chain, and in the chain of the account's devices.
        let link: UInt64
        let deviceLink: UInt64
        /// The chains were followed since.
        var isOld: Bool
    }

    private(set) var stated: [MemberDevice: Claim] = [:]
    /// The newest epoch under which something was sealed and that no link here opens.
    private(set) var epoch: UInt32?
    private var isEpochOld = false

    init() {}

    var isEmpty: Bool { stated.isEmpty && epoch == nil }

    /// An entry or a word states links that are not here.
    mutating func note(_ context: EntryContext) {
        let known = stated[context.author]
        guard known != nil || hasRoom(for: context.accountID) else { return }
        stated[context.author] = Claim(
            link: max(known?.link ?? 0, context.memberHead.number),
            deviceLink: max(known?.deviceLink ?? 0, context.deviceHead.number), isOld: known?.isOld ?? false)
    }

    private func hasRoom(for account: ChainID) -> Bool {
        stated.count < Self.countMax && stated.keys.count { $0.account == account } < Self.accountCountMax
    }

    mutating func note(epoch new: UInt32) { epoch = max(epoch ?? 0, new) }

    /// The chains were followed: who is no member any more, or no device of one, has nothing to say.
    mutating func followed(linkCount: Int, epoch known: UInt32, members: MemberView) {
        stated = stated.filter { device, stated in
            guard members.newestState.members[device.account] != nil,
                !members.isRevoked(device.device, of: device.account), let devices = members.accounts[device.account]
            else { return false }
            return stated.link >= UInt64(linkCount) || stated.deviceLink > UInt64(devices.newest.number)
        }.mapValues { Claim(link: $0.link, deviceLink: $0.deviceLink, isOld: true) }
        if let epoch, epoch > known { isEpochOld = true } else { (epoch, isEpochOld) = (nil, false) }
    }

    /// What a sync that followed the chains still lacks. Who stated it may have made it up.
    var findings: [SyncFinding] {
        let named = stated.filter(\.value.isOld).keys.sorted()
        if named.isEmpty, isEpochOld { return [SyncFinding(.membersWithheld, by: nil, mayBeServer: true)] }
        return named.map { SyncFinding(.membersWithheld, by: $0, mayBeServer: true) }
    }
}

// MARK: - The record

extension WithheldLinks {
    /// `[[* [account ‖ device (48), link, device link, old]], epoch / null, old]`.
    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 3)
        encoder.encodeArrayHeader(count: stated.count)
        for (device, stated) in stated.sorted(by: { $0.key < $1.key }) {
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(bytes: device.bytes)
            encoder.encode(unsigned: stated.link)
            encoder.encode(unsigned: stated.deviceLink)
            encoder.encode(bool: stated.isOld)
        }
        if let epoch { encoder.encode(unsigned: UInt64(epoch)) } else { encoder.encodeNull() }
        encoder.encode(bool: isEpochOld)
    }

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 3)
        for _ in 0..<(try decoder.readArrayHeader()) {
            try decoder.readArrayHeader(count: 4)
            let device = try decoder.readMemberDevice()
            stated[device] = Claim(
                link: try decoder.readUnsigned(), deviceLink: try decoder.readUnsigned(),
                isOld: try decoder.readBool())
        }
        if decoder.isNextNull { try decoder.readNull() } else { epoch = try decoder.readUnsigned(as: UInt32.self) }
        isEpochOld = try decoder.readBool()
    }
}

extension CBORDecoder {
    mutating func readMemberDevice() throws(CBORError) -> MemberDevice {
        let start = byteOffset
        guard let device = MemberDevice(bytes: try readBytes(count: MemberDevice.byteCount)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return device
    }
}
