// The `otpauth` address, which QR codes for one-time codes hold. Nothing that an address asks for may be
// ignored if it would change the codes.
//
// Source: the "Key URI Format" of Google Authenticator, the only description that all programs follow.

extension OneTimeCode {
    /// The longest address that is read, in UTF-8 bytes.
    package static let addressByteCountMax = 8_192

    /// Reads an `otpauth` address, or a bare base32 secret, which stands for TOTP with SHA-1, six digits and
    /// thirty seconds.
    ///
    /// Parameters without influence on the codes (`image`, `color` and the like) are passed over. An issuer
    /// given as parameter wins over one in the label.
    ///
    /// - Throws: `CoreError.oneTimeCodeInvalid` if the address is none, names a type other than `totp` and
    ///   `hotp`, repeats a parameter, holds a broken percent escape, or asks for an encoder that no standard
    ///   describes (Steam's); `CoreError.base32Invalid` if the secret cannot be read.
    package static func parse(_ text: String) throws -> OneTimeCode {
        guard text.utf8.count <= addressByteCountMax else { throw CoreError(.oneTimeCodeInvalid, at: "too long") }
        let bytes = Array(text.utf8)
        let scheme = Array("otpauth://".utf8)
        guard bytes.count >= scheme.count, lowercased(bytes.prefix(scheme.count)) == scheme else {
            return try OneTimeCode(secret: Base32Text.decode(text))
        }
        let rest = bytes.dropFirst(scheme.count)
        let pathEnd = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let queryEnd = rest.firstIndex(of: UInt8(ascii: "#")) ?? rest.endIndex
        guard pathEnd < queryEnd else { throw CoreError(.base32Invalid, at: "secret") }
        let path = rest[..<pathEnd]
        let typeEnd = path.firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
        let label = try percentDecoded(path[typeEnd...].dropFirst())
        let parameters = try Self.parameters(of: rest[(pathEnd + 1)..<queryEnd])
        if let encoder = parameters["encoder"] {
            throw CoreError(.oneTimeCodeInvalid, at: "encoder \(encoder.prefix(16))")
        }
        guard let secretText = parameters["secret"] else { throw CoreError(.base32Invalid, at: "secret") }
        let (labelIssuer, account) = split(label: label)
        return try OneTimeCode(
            secret: Base32Text.decode(secretText),
            hash: hash(named: parameters["algorithm"]),
            digitCount: number(parameters["digits"], default: 6, at: "digits"),
            movement: movement(ofType: lowercased(path[..<typeEnd]), parameters: parameters),
            issuer: parameters["issuer"] ?? labelIssuer,
            account: account)
    }

    /// The address of this generator, with every parameter written out, so that no reader has to know defaults.
    package var address: String {
        var text = "otpauth://"
        switch movement {
        case .time: text += "totp/"
        case .counter: text += "hotp/"
        }
        if !issuer.isEmpty { text += PercentCoding.encode(issuer) + ":" }
        text += PercentCoding.encode(account)
        text += "?secret=" + Base32Text.encode(secret)
        if !issuer.isEmpty { text += "&issuer=" + PercentCoding.encode(issuer) }
        text += "&algorithm=\(hash.rawValue)&digits=\(digitCount)"
        switch movement {
        case .time(let periodSeconds): text += "&period=\(periodSeconds)"
        case .counter(let counter): text += "&counter=\(counter)"
        }
        return text
    }

    private static func movement(
        ofType type: [UInt8], parameters: [String: String]
    ) throws -> Movement {
        if type == Array("totp".utf8) {
            return .time(periodSeconds: try number(parameters["period"], default: 30, at: "period"))
        }
        guard type == Array("hotp".utf8) else { throw CoreError(.oneTimeCodeInvalid, at: "type") }
        guard let counter = parameters["counter"] else { throw CoreError(.oneTimeCodeInvalid, at: "counter") }
        return .counter(try number(counter, default: 0, at: "counter"))
    }

    private static func hash(named name: String?) throws -> Hash {
        // "HmacSHA1" and "SHA-1" are what some issuers write for the same thing.
        guard let name else { return .sha1 }
        switch name.uppercased() {
        case "SHA1", "SHA-1", "HMACSHA1": return .sha1
        case "SHA256", "SHA-256", "HMACSHA256": return .sha256
        case "SHA512", "SHA-512", "HMACSHA512": return .sha512
        default: throw CoreError(.oneTimeCodeInvalid, at: "algorithm")
        }
    }

    private static func number<Number: FixedWidthInteger>(
        _ text: String?, default standard: Number, at place: String
    ) throws -> Number {
        guard let text else { return standard }
        // Swift would read a leading "+", which no address may have.
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Number(text) else {
            throw CoreError(.oneTimeCodeInvalid, at: place)
        }
        return number
    }

    private static func parameters(of query: ArraySlice<UInt8>) throws -> [String: String] {
        var parameters: [String: String] = [:]
        for pair in query.split(separator: UInt8(ascii: "&")) {
            let nameEnd = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let name = try percentDecoded(pair[..<nameEnd]).lowercased()
            let value = try percentDecoded(pair[nameEnd...].dropFirst())
            guard parameters.updateValue(value, forKey: name) == nil else {
                throw CoreError(.oneTimeCodeInvalid, at: "repeated parameter")
            }
        }
        return parameters
    }

    /// Parts a label at its first colon: "Issuer: account".
    private static func split(label: String) -> (issuer: String, account: String) {
        guard let colon = label.firstIndex(of: ":") else { return ("", label) }
        let account = label[label.index(after: colon)...].drop { $0 == " " }
        return (String(label[..<colon]), String(account))
    }

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        bytes.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
    }

    private static func percentDecoded(_ bytes: ArraySlice<UInt8>) throws -> String {
        guard let text = PercentCoding.decode(bytes) else { throw CoreError(.oneTimeCodeInvalid, at: "percent escape") }
        return text
    }
}
