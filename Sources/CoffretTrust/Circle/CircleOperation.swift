// What a link of a circle says beside who belongs to it. The one thing to keep true: a request is known by one hash, which
// says for which new machine it was made.

package import CoffretBase

/// The share of one contact, as the arming link commits to it.
package struct CircleShareRow: Equatable, Sendable {
    package let accountID: ChainID
    /// 1 to the number of contacts.
    package let x: UInt8
    /// Spec: Spec/recovery.md section 2.
    package let shareHash: Bytes32

    package init(accountID: ChainID, x: UInt8, shareHash: Bytes32) {
        (self.accountID, self.x, self.shareHash) = (accountID, x, shareHash)
    }
}

/// An operation that circles alone have.
///
/// Layout of the public part, deterministic CBOR, a and h as in all member links:
///
///     {0: 20, 1: a, 2: h, 3: request (32), 4: time}                              requests
///     {0: 21, 1: a, 2: h, 3: request}                                            forbids
///     {0: 22, 1: a, 2: h, 3: request, 4: time}                                   releases
///     {0: 23, 1: a, 2: h, 3: paper device id (16), 4: [+ [account, x, hash]]}    arms; ascending by account
///
/// Spec: Spec/recovery.md section 3.
package enum CircleOperation: Equatable, Sendable {
    case request(Bytes32, time: Milliseconds)
    case forbid(Bytes32)
    case release(Bytes32, time: Milliseconds)
    case arm(paper: UniqueID, shares: [CircleShareRow])

    static let codes: ClosedRange<UInt64> = 20...23

    var code: UInt64 {
        switch self {
        case .request: 20
        case .forbid: 21
        case .release: 22
        case .arm: 23
        }
    }

    /// Keys from 3 on.
    func encode(to map: inout CBORMapWriter) {
        switch self {
        case .request(let request, let time), .release(let request, let time):
            map.put(3) { $0.encode(bytes: request.bytes) }
            map.put(4) { $0.encode(signed: time) }
        case .forbid(let request):
            map.put(3) { $0.encode(bytes: request.bytes) }
        case .arm(let paper, let shares):
            map.put(3) { $0.encode(bytes: paper.bytes) }
            map.put(4) { encoder in
                encoder.encodeArrayHeader(count: shares.count)
                for share in shares {
                    encoder.encodeArrayHeader(count: 3)
                    encoder.encode(bytes: share.accountID.bytes)
                    encoder.encode(unsigned: UInt64(share.x))
                    encoder.encode(bytes: share.shareHash.bytes)
                }
            }
        }
    }

    init(code: UInt64, from decoder: inout CBORDecoder, _ map: inout CBORMapPosition) throws(CBORError) {
        try decoder.expectKey(3, in: &map)
        if code == 23 {
            guard let paper = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount)) else {
                preconditionFailure("an id has 16 bytes")
            }
            try decoder.expectKey(4, in: &map)
            let shares = try MemberOperation.readList(&decoder, order: \CircleShareRow.accountID.bytes) {
                (decoder) throws(CBORError) in
                try decoder.readArrayHeader(count: 3)
                return CircleShareRow(
                    accountID: try MemberOperation.readAccount(&decoder), x: try decoder.readUnsigned(as: UInt8.self),
                    shareHash: try MemberOperation.readHash(&decoder))
            }
            self = .arm(paper: paper, shares: shares)
            return
        }
        let request = try MemberOperation.readHash(&decoder)
        if code == 21 {
            self = .forbid(request)
            return
        }
        try decoder.expectKey(4, in: &map)
        let time = try decoder.readSigned()
        self = code == 20 ? .request(request, time: time) : .release(request, time: time)
    }
}
