// Circles in the account vault. The one thing to keep true: a share lies nowhere else, and every own device finds the
// circles that the account is in, whatever a server says.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretSharing
internal import CoffretStorage
internal import CoffretTrust

private enum CircleAttribute {
    /// The id of a circle that the account founded or has accepted.
    static let circle: Attribute = "circle"
    /// The share that this person keeps for another.
    static let share: Attribute = "share"
    /// When the contacts of an own circle were asked last whether they have their shares.
    static let asked: Attribute = "asked"
}

extension AccountVault {
    private func entity(_ circle: VaultID) -> EntityID {
        guard let uuid = UniqueID(bytes: Array(circle.bytes.prefix(UniqueID.byteCount))) else {
            preconditionFailure("an id of a circle has 32 bytes")
        }
        return EntityID(kind: EntityKind.circle, uuid: uuid)
    }

    private func values(_ circle: VaultID) throws -> Registers {
        try facts(kind: EntityKind.circle).first { $0.entity == entity(circle) }?.values ?? [:]
    }

    /// Circles that the account founded or has accepted.
    func circles() throws -> [VaultID] {
        try facts(kind: EntityKind.circle).compactMap { entity, values in
            values[CircleAttribute.circle].flatMap(ContactFacts.bytes).flatMap { VaultID($0) }
        }
    }

    func addCircle(_ circle: VaultID) throws {
        try write(entity(circle), [CircleAttribute.circle: ContactFacts.encode(circle.bytes)])
    }

    func removeCircle(_ circle: VaultID) throws { try retract(entity(circle)) }

    /// The share of a circle; nil: none came, or it is no share of that circle.
    func share(of circle: VaultID) throws -> CircleShare? {
        guard var bytes = try values(circle)[CircleAttribute.share] else { return nil }
        defer { bytes.zero() }
        return CircleShare(decoding: bytes).flatMap { $0.circleID == circle ? $0 : nil }
    }

    func keep(_ share: CircleShare) throws {
        var bytes = share.encoded
        defer { bytes.zero() }
        try write(
            entity(share.circleID),
            [CircleAttribute.circle: ContactFacts.encode(share.circleID.bytes), CircleAttribute.share: bytes])
    }

    func asked(in circle: VaultID) throws -> Milliseconds? {
        try values(circle)[CircleAttribute.asked].flatMap(ContactFacts.time)
    }

    func setAsked(in circle: VaultID, at time: Milliseconds) throws {
        try write(entity(circle), [CircleAttribute.asked: ContactFacts.encode(time)])
    }
}
