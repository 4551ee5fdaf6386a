// The private halves of a person's identity, as one device has them. The one thing to keep true: a half is used only if its
// public half stands in a verified link of its number.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// Private keys of an identity chain; of one number there may be several, where two devices made a link at once.
package struct IdentityKeys: Sendable {
    /// What a link that sets brings.
    package struct LongTerm: Sendable {
        package let number: UInt64
        package let signing: SigningKey
        package let box: AgreementKey
        /// When this device got it, by its clock.
        package let since: Milliseconds

        package init(number: UInt64, signing: SigningKey, box: AgreementKey, since: Milliseconds) {
            self.number = number
            self.signing = signing
            self.box = box
            self.since = since
        }
    }

    /// What each link brings.
    package struct Transient: Sendable {
        package let number: UInt64
        package let key: AgreementKey
        package let since: Milliseconds

        package init(number: UInt64, key: AgreementKey, since: Milliseconds) {
            self.number = number
            self.key = key
            self.since = since
        }
    }

    package internal(set) var longTerm: [LongTerm]
    package internal(set) var transients: [Transient]

    package init(longTerm: [LongTerm] = [], transients: [Transient] = []) {
        self.longTerm = longTerm
        self.transients = transients
    }

    /// The key pair of a link that sets; nil: it is not here.
    package func longTerm(of link: VerifiedIdentityLink) -> LongTerm? {
        guard let keys = link.operation.longTerm else { return nil }
        return longTerm.first {
            $0.number == link.number && $0.signing.verifyingKey == keys.signing && $0.box.publicKey == keys.box
        }
    }

    /// The transient key of a link; nil: it is not here, or deleted.
    package func transient(of link: VerifiedIdentityLink) -> AgreementKey? {
        transients.first { $0.number == link.number && $0.key.publicKey == link.operation.transient.key }?.key
    }
}
