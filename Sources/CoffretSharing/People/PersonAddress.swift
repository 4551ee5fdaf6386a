// Addresses and codes of people. The one thing to keep true: all of them follow from the account id, so nobody gives them out
// and nobody can take one.

package import CoffretBase
internal import CoffretCrypto
package import CoffretTrust

/// An address as a person types or reads it.
///
/// NAME "#" 28 characters of Crockford's base32 in groups of 4: the first 130 bits of the account id, and 10 bits of
/// BLAKE2b-256("coffret/address/1" ‖ those bits in 17 bytes, zeros behind). A short one has the first 8 characters. Spaces,
/// hyphens and case do not matter. Spec: Spec/people.md section 2.
package struct PersonAddress: Equatable, Sendable {
    /// Bytes of what a person calls himself.
    package static let nameByteCountMax = 64
    private static let idByteCount = 17
    private static let shortByteCount = 5

    /// How much of an account id an address has.
    package enum Finding: Equatable, Sendable {
        /// 130 bits in 17 bytes: the last 6 are zero.
        case full([UInt8])
        /// 40 bits: it finds and proves nothing.
        case short([UInt8])
    }

    /// What stands before the `#`; empty for none. It is a claim.
    package let name: String
    package let finding: Finding

    /// The address of an account.
    package init(name: String, accountID: ChainID) {
        self.name = name
        finding = .full(Self.prefix(of: accountID))
    }

    private init(name: String, finding: Finding) {
        self.name = name
        self.finding = finding
    }

    private static func prefix(of accountID: ChainID) -> [UInt8] {
        var bytes = Array(accountID.bytes.prefix(idByteCount))
        bytes[idByteCount - 1] &= 0xC0
        return bytes
    }

    /// Whether the account is one that the address can mean.
    package func fits(_ accountID: ChainID) -> Bool {
        switch finding {
        case .full(let bytes): Self.prefix(of: accountID) == bytes
        case .short(let bytes): accountID.bytes.starts(with: bytes)
        }
    }

    /// 130 bits and 10 bits of check, in 18 bytes, the last 4 bits zero.
    private static func checked(_ prefix: [UInt8]) -> [UInt8] {
        let check = BLAKE2b.hash(Array("coffret/address/1".utf8), prefix)
        return prefix.dropLast() + [prefix[idByteCount - 1] | check[0] >> 2, check[0] << 6 | (check[1] >> 6) << 4]
    }

    /// The address with `#`, in groups of four characters.
    package var text: String {
        let characters: Substring
        switch finding {
        case .full(let bytes): characters = Base32.crockford.encode(Self.checked(bytes)).prefix(28)
        case .short(let bytes): characters = Base32.crockford.encode(bytes)[...]
        }
        return name + "#" + PersonCode.grouped(characters)
    }

    /// The first 8 characters, for lists.
    package var shortText: String {
        switch finding {
        case .full(let bytes), .short(let bytes):
            name + "#" + PersonCode.grouped(Base32.crockford.encode(bytes.prefix(Self.shortByteCount))[...])
        }
    }

    /// Reads an address.
    ///
    /// - Throws: `.addressInvalid` for another number of characters, a character that the alphabet lacks, a wrong check, or a
    ///   name above 64 bytes.
    package init(parsing text: String) throws(SharingError) {
        guard let mark = text.lastIndex(of: "#") else { throw SharingError(.addressInvalid, at: "#") }
        let name = String(text[..<mark])
        let characters = text[text.index(after: mark)...].filter { $0 != "-" && $0 != " " }
        guard name.utf8.count <= Self.nameByteCountMax else { throw SharingError(.addressInvalid, at: "name") }
        let invalid = SharingError(.addressInvalid, at: "characters")
        switch characters.utf8.count {
        case 8:
            guard let bytes = try? Base32.crockford.decode(characters) else { throw invalid }
            self.init(name: name, finding: .short(bytes))
        case 28:
            // 140 bits end in the middle of a byte: one more character makes 145, of which the last byte holds one bit.
            guard let bytes = try? Base32.crockford.decode(characters + "0"), bytes.count == 18 else { throw invalid }
            var prefix = Array(bytes.prefix(Self.idByteCount))
            prefix[Self.idByteCount - 1] &= 0xC0
            guard Self.checked(prefix) == bytes else { throw invalid }
            self.init(name: name, finding: .full(prefix))
        default: throw invalid
        }
    }
}

/// Codes that two people compare.
package enum PersonCode {
    private static let byteCount = 10

    /// Two rows of 16 characters; the person code never changes.
    package static func person(_ accountID: ChainID) -> String {
        code(of: BLAKE2b.hash(Array("coffret/person-code/1".utf8), accountID.bytes))
    }

    /// What one person knows of another, or of himself.
    package struct Known: Equatable, Sendable {
        package let accountID: ChainID
        /// Hashes of the newest links of the device chain and of the identity chain.
        package let deviceHead: Bytes32
        package let identityHead: Bytes32

        package init(accountID: ChainID, deviceHead: Bytes32, identityHead: Bytes32) {
            self.accountID = accountID
            self.deviceHead = deviceHead
            self.identityHead = identityHead
        }
    }

    /// The code that is equal at both when both know the newest links of both.
    package static func state(_ one: Known, _ other: Known) -> String {
        let isFirst = one.accountID.bytes.lexicographicallyPrecedes(other.accountID.bytes)
        var bytes = Array("coffret/person-state/1".utf8)
        for known in isFirst ? [one, other] : [other, one] {
            bytes += known.accountID.bytes + known.deviceHead.bytes + known.identityHead.bytes
        }
        return code(of: BLAKE2b.hash(bytes))
    }

    private static func code(of hash: [UInt8]) -> String {
        grouped(Base32.crockford.encode(hash.prefix(byteCount))[...])
    }

    static func grouped(_ characters: Substring) -> String {
        var text = ""
        for (offset, character) in characters.enumerated() {
            if offset > 0, offset % 4 == 0 { text.append("-") }
            text.append(character)
        }
        return text
    }
}
