// What a browser asks of a security key, read strictly. Invariant: a request that is not canonical CBOR, lacks a member, or wants
// something that this key does not do, is an error of CTAP before anything of it is used.

internal import CoffretBase

/// The first byte of an answer.
package enum CTAPStatus: UInt8, Error, Equatable, Sendable {
    case done = 0x00
    case commandInvalid = 0x01
    case parameterInvalid = 0x02
    case lengthInvalid = 0x03
    case typeUnexpected = 0x11
    case encodingInvalid = 0x12
    case parameterMissing = 0x14
    case credentialExcluded = 0x19
    case algorithmUnsupported = 0x26
    case denied = 0x27
    case optionUnsupported = 0x2B
    case optionInvalid = 0x2C
    case cancelled = 0x2D
    case noCredentials = 0x2E
    case notAllowed = 0x30
    case pinInvalid = 0x33
    case other = 0x7F
}

/// A message to the key: a command's number, and its parameters.
///
/// Spec: Spec/authenticator.md section 3. Source: FIDO CTAP 2.0, section 5.
package enum CTAPRequest: Equatable, Sendable {
    case information
    case create(Creation)
    case sign(Signing)
    /// The next account, after an answer that has counted several.
    case next

    package struct Creation: Equatable, Sendable {
        /// SHA-256 of what the browser has put together.
        package let clientDataHash: [UInt8]
        /// The domain.
        package let site: String
        package let siteName: String?
        /// 1 to 64 bytes.
        package let userHandle: [UInt8]
        package let userName: String?
        package let displayName: String?
        /// None of these may be there.
        package let excluded: [[UInt8]]
    }

    package struct Signing: Equatable, Sendable {
        package let clientDataHash: [UInt8]
        package let site: String
        /// Nil for any of the site.
        package let credentials: [[UInt8]]?
        /// Whether the browser only looks which keys are there.
        package let isSilent: Bool
    }

    private static let clientDataHashByteCount = 32
    private static let siteByteCountMax = 253
    private static let nameByteCountMax = 1_024
    /// ES256, as COSE numbers it.
    private static let algorithm: Int64 = -7
    /// CTAP nests no deeper.
    private static let depthMax = 4

    /// - Throws: the status that answers it.
    package init(_ message: [UInt8]) throws(CTAPStatus) {
        switch message.first {
        case 0x01: self = .create(try Self.creation(try Parameters(message.dropFirst(), .create)))
        case 0x02: self = .sign(try Self.signing(try Parameters(message.dropFirst(), .sign)))
        case 0x04: self = .information
        case 0x08: self = .next
        default: throw .commandInvalid
        }
        if message.count > 1, self == .information || self == .next { throw .lengthInvalid }
    }

    private static func creation(_ given: Parameters) throws(CTAPStatus) -> Creation {
        guard !given.hasPIN else { throw .pinInvalid }
        guard let hash = given.clientDataHash, let site = given.site, let handle = given.userHandle,
            let algorithms = given.algorithms
        else { throw .parameterMissing }
        try check(hash, site)
        guard 1...64 ~= handle.count else { throw .lengthInvalid }
        guard algorithms.contains(algorithm) else { throw .algorithmUnsupported }
        guard given.options["up"] != false else { throw .optionInvalid }
        return Creation(
            clientDataHash: hash, site: site, siteName: given.siteName, userHandle: handle, userName: given.userName,
            displayName: given.displayName, excluded: given.credentials ?? [])
    }

    private static func signing(_ given: Parameters) throws(CTAPStatus) -> Signing {
        guard !given.hasPIN else { throw .pinInvalid }
        guard let hash = given.clientDataHash, let site = given.site else { throw .parameterMissing }
        try check(hash, site)
        guard given.options["rk"] == nil else { throw .optionUnsupported }
        let credentials = given.credentials.flatMap { $0.isEmpty ? nil : $0 }
        return Signing(
            clientDataHash: hash, site: site, credentials: credentials, isSilent: given.options["up"] == false)
    }

    private static func check(_ hash: [UInt8], _ site: String) throws(CTAPStatus) {
        guard hash.count == clientDataHashByteCount, 1...siteByteCountMax ~= site.utf8.count else {
            throw .lengthInvalid
        }
    }

    /// The members of both commands, as far as this key looks at them.
    private struct Parameters {
        enum Command { case create, sign }

        var clientDataHash: [UInt8]?
        var site: String?
        var siteName: String?
        var userHandle: [UInt8]?
        var userName: String?
        var displayName: String?
        var algorithms: [Int64]?
        var credentials: [[UInt8]]?
        var options: [String: Bool] = [:]
        var hasPIN = false

        init(_ bytes: ArraySlice<UInt8>, _ command: Command) throws(CTAPStatus) {
            func status(_ error: CBORError) -> CTAPStatus {
                error.code == .unexpectedItem ? .typeUnexpected : .encodingInvalid
            }
            var read = Self()
            try withCBORDecoder(Array(bytes), convert: status) { (decoder) throws(CBORError) in
                var map = try decoder.readMapHeader()
                while let key = try decoder.readUnsignedKey(in: &map) {
                    switch (command, key) {
                    case (.create, 1), (.sign, 2): read.clientDataHash = try decoder.readBytes()
                    case (.create, 2): try read.readSite(from: &decoder)
                    case (.sign, 1): read.site = try decoder.readText()
                    case (.create, 3): try read.readUser(from: &decoder)
                    case (.create, 4):
                        read.algorithms = try Self.readList(of: "alg", from: &decoder) { (decoder) throws(CBORError) in
                            try decoder.readSigned()
                        }
                    case (.create, 5), (.sign, 3):
                        read.credentials = try Self.readList(of: "id", from: &decoder) { (decoder) throws(CBORError) in
                            try decoder.readBytes()
                        }
                    case (.create, 7), (.sign, 5): try read.readOptions(from: &decoder)
                    case (.create, 8), (.sign, 6):
                        _ = try decoder.readBytes()
                        read.hasPIN = true
                    default: try decoder.skipItem(depthMax: depthMax)
                    }
                }
            }
            self = read
        }

        private init() {}

        private mutating func readSite(from decoder: inout CBORDecoder) throws(CBORError) {
            var map = try decoder.readMapHeader()
            while let key = try decoder.readTextKey(in: &map) {
                switch key {
                case "id": site = try decoder.readText()
                case "name": siteName = try decoder.readText(byteCountMax: nameByteCountMax)
                default: try decoder.skipItem(depthMax: depthMax)
                }
            }
        }

        private mutating func readUser(from decoder: inout CBORDecoder) throws(CBORError) {
            var map = try decoder.readMapHeader()
            while let key = try decoder.readTextKey(in: &map) {
                switch key {
                case "id": userHandle = try decoder.readBytes()
                case "name": userName = try decoder.readText(byteCountMax: nameByteCountMax)
                case "displayName": displayName = try decoder.readText(byteCountMax: nameByteCountMax)
                default: try decoder.skipItem(depthMax: depthMax)
                }
            }
        }

        private mutating func readOptions(from decoder: inout CBORDecoder) throws(CBORError) {
            var map = try decoder.readMapHeader()
            while let key = try decoder.readTextKey(in: &map) { options[key] = try decoder.readBool() }
        }

        /// Reads one member of each map of a list, of those that are about public keys.
        private static func readList<Value>(
            of name: String, from decoder: inout CBORDecoder,
            _ read: (inout CBORDecoder) throws(CBORError) -> Value
        ) throws(CBORError) -> [Value] {
            var values: [Value] = []
            for _ in 0..<(try decoder.readArrayHeader()) {
                var (value, type): (Value?, String?)
                var map = try decoder.readMapHeader()
                while let key = try decoder.readTextKey(in: &map) {
                    switch key {
                    case name: value = try read(&decoder)
                    case "type": type = try decoder.readText()
                    default: try decoder.skipItem(depthMax: depthMax)
                    }
                }
                if type == "public-key", let value { values.append(value) }
            }
            return values
        }
    }
}

/// Answers to a browser, whole: status ‖ canonical CBOR.
package enum CTAPReply {
    /// Spec: Spec/authenticator.md section 3.
    package static var information: [UInt8] {
        reply { encoder in
            encoder.encodeMapHeader(count: 4)
            encoder.encode(unsigned: 1)
            encoder.encodeArrayHeader(count: 1)
            encoder.encode(text: "FIDO_2_0")
            encoder.encode(unsigned: 3)
            // No model.
            encoder.encode(bytes: [UInt8](repeating: 0, count: 16))
            encoder.encode(unsigned: 4)
            let options = [("rk", true), ("up", true), ("uv", true), ("plat", false)]
            encoder.encodeMapHeader(count: options.count)
            for (name, value) in options {
                encoder.encode(text: name)
                encoder.encode(bool: value)
            }
            encoder.encode(unsigned: 5)
            encoder.encode(unsigned: UInt64(CTAPTransport.messageByteCountMax))
        }
    }

    package static func created(_ authenticatorData: [UInt8]) -> [UInt8] {
        reply { encoder in
            encoder.encodeMapHeader(count: 3)
            encoder.encode(unsigned: 1)
            encoder.encode(text: "none")
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: authenticatorData)
            encoder.encode(unsigned: 3)
            encoder.encodeMapHeader(count: 0)
        }
    }

    /// An account, as an answer names it.
    package struct Account: Sendable {
        package let handle: [UInt8]
        /// Only where there are several, so that the person can choose.
        package let names: (name: String, displayName: String)?

        package init(handle: [UInt8], names: (name: String, displayName: String)?) {
            (self.handle, self.names) = (handle, names)
        }
    }

    /// - Parameter count: how many accounts there are, in the first of several answers.
    package static func signed(
        _ credential: [UInt8], _ authenticatorData: [UInt8], signature: [UInt8], _ account: Account?, count: Int?
    ) -> [UInt8] {
        reply { encoder in
            encoder.encodeMapHeader(count: 3 + (account == nil ? 0 : 1) + (count == nil ? 0 : 1))
            encoder.encode(unsigned: 1)
            encoder.encodeMapHeader(count: 2)
            encoder.encode(text: "id")
            encoder.encode(bytes: credential)
            encoder.encode(text: "type")
            encoder.encode(text: "public-key")
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: authenticatorData)
            encoder.encode(unsigned: 3)
            encoder.encode(bytes: signature)
            if let account {
                encoder.encode(unsigned: 4)
                encoder.encodeMapHeader(count: account.names == nil ? 1 : 3)
                encoder.encode(text: "id")
                encoder.encode(bytes: account.handle)
                if let names = account.names {
                    encoder.encode(text: "name")
                    encoder.encode(text: names.name)
                    encoder.encode(text: "displayName")
                    encoder.encode(text: names.displayName)
                }
            }
            if let count {
                encoder.encode(unsigned: 5)
                encoder.encode(unsigned: UInt64(count))
            }
        }
    }

    private static func reply(_ body: (inout CBOREncoder) -> Void) -> [UInt8] {
        [CTAPStatus.done.rawValue] + CBOREncoder.encode(body)
    }
}
