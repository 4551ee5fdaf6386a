// What a vault asks of the people whom its owners let in. The one thing to keep true: it is a fact in the vault, so that all owners'
// programs obey the same.

internal import CoffretBase
internal import CoffretCore
internal import CoffretSharing
internal import CoffretStorage
internal import CoffretWire

extension Vault {
    private static var settings: EntityID {
        guard let none = UniqueID(bytes: [UInt8](repeating: 0, count: UniqueID.byteCount)) else {
            preconditionFailure("an id has 16 bytes")
        }
        return EntityID(kind: EntityKind.vaultSettings, uuid: none)
    }
    private static let required: Attribute = "required"

    /// How sure it has to be who somebody is; `.linked` where nobody asked for more.
    var requiredState: ContactState {
        get throws {
            let values = try registers(ofKind: EntityKind.vaultSettings).first { $0.entity == Self.settings }?.values
            guard let value = values?[Self.required] else { return .linked }
            let read = try? withCBORDecoder(value) { (decoder) throws(CBORError) in
                try decoder.readUnsigned(as: UInt8.self)
            }
            // A value of a later program asks for the most that there is here.
            return read.map { max(ContactState(rawValue: $0) ?? .compared, .linked) } ?? .compared
        }
    }

    func require(_ state: ContactState) throws {
        let value = CBOREncoder.encode { $0.encode(unsigned: UInt64(state.rawValue)) }
        let key = FactKey(entity: Self.settings, attribute: Self.required)
        try writeRegisters([key: state <= .linked ? nil : value])
    }
}
