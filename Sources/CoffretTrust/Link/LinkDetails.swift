// The part of a link that only its people may read: names, models, times. Invariant: the server sees a padded
// ciphertext, and the link's hash covers it.

package import CoffretBase
package import CoffretCrypto

/// Names and times in a link, sealed for the people concerned.
///
/// Layout, deterministic CBOR: {0: name, 1: model, 2: milliseconds since 1970, 3: notification address},
/// the last only if there is one; sealed as ENV(details key, "link-details", ad = chain kind (1) ‖ subject id,
/// details).
package struct LinkDetails: Equatable, Sendable {
    package let name: String
    package let model: String
    package let time: Milliseconds
    /// The address for notifications of a device; empty if it has none.
    package let notificationAddress: String

    package init(name: String, model: String = "", time: Milliseconds, notificationAddress: String = "") {
        self.name = name
        self.model = model
        self.time = time
        self.notificationAddress = notificationAddress
    }

    /// Whether `open` reads what `seal` makes of it.
    package var isWithinLimits: Bool {
        [name, model, notificationAddress].allSatisfy { $0.utf8.count <= Limits.nameByteCountMax }
    }

    /// - Parameter subject: what the link is about, such as a device id: it is known before the chain's id.
    package func seal(
        kind: ChainKind, subject: [UInt8], key: LinkDetailsKey, random: any RandomSource
    ) -> [UInt8] {
        let plain = CBOREncoder.encode { encoder in
            encoder.encodeMapHeader(count: notificationAddress.isEmpty ? 3 : 4)
            encoder.encode(unsigned: 0)
            encoder.encode(text: name)
            encoder.encode(unsigned: 1)
            encoder.encode(text: model)
            encoder.encode(unsigned: 2)
            encoder.encode(signed: time)
            if !notificationAddress.isEmpty {
                encoder.encode(unsigned: 3)
                encoder.encode(text: notificationAddress)
            }
        }
        return Envelope.seal(
            plain, key: key, context: .linkDetails, associatedData: [kind.rawValue] + subject, random: random)
    }

    /// Throws `.detailsSealed` if the part does not open or is not what `seal` writes.
    package static func open(
        _ sealed: [UInt8], kind: ChainKind, subject: [UInt8], key: LinkDetailsKey
    ) throws(TrustError) -> LinkDetails {
        let plain = try? unsafe Envelope.open(
            sealed, key: key, context: .linkDetails, associatedData: [kind.rawValue] + subject
        ) { unsafe [UInt8]($0) }
        guard let plain else { throw TrustError(.detailsSealed) }
        return try withCBORDecoder(plain, convert: { _ in TrustError(.detailsSealed) }) {
            (decoder) throws(CBORError) in
            var map = try decoder.readMapHeader()
            try decoder.expectKey(0, in: &map)
            let name = try decoder.readText(byteCountMax: Limits.nameByteCountMax)
            try decoder.expectKey(1, in: &map)
            let model = try decoder.readText(byteCountMax: Limits.nameByteCountMax)
            try decoder.expectKey(2, in: &map)
            let time = try decoder.readSigned()
            guard map.remaining > 0 else { return LinkDetails(name: name, model: model, time: time) }
            try decoder.expectKey(3, in: &map)
            let address = try decoder.readText(byteCountMax: Limits.nameByteCountMax)
            guard !address.isEmpty, map.remaining == 0 else {
                throw CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
            }
            return LinkDetails(name: name, model: model, time: time, notificationAddress: address)
        }
    }
}
