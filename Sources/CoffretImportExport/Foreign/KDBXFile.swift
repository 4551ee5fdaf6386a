// KeePass databases, opened: KDBX 3 and 4. Invariant: nothing that a code covers is decrypted before the code was checked,
// and no key is derived whose costs are above the limits.

internal import CoffretBase
internal import CoffretCrypto

/// The outer form of a KDBX file.
///
/// Source: https://keepass.info/help/kb/kdbx.html. The opened payload has the form of KDBX 4: an inner header with the
/// inner stream and the files, then XML.
enum KDBXFile {
    static let signature: [UInt8] = [0x03, 0xD9, 0xA2, 0x9A, 0x67, 0xFB, 0x4B, 0xB5]

    // The names of ciphers and key derivations are UUIDs.
    static let argon2d = name("ef636ddf8c29444b91f7a9a403e30a0c")
    static let argon2id = name("9e298b1956db4773b23dfc3ec6f0a1e6")
    static let chaCha20 = name("d6038a2b8b6f4cb5a524339a31dbb59a")

    private static func name(_ digits: String) -> [UInt8] {
        guard let bytes = try? Hex.decode(digits) else { preconditionFailure("32 digits are a name") }
        return bytes
    }

    /// Opens a database with its password and key file.
    static func open(_ source: ForeignSource, _ keys: SourceKeys) throws(ImportExportError) -> ForeignPayload? {
        let subject = source.path.printable
        let file = try source.bytes()
        let header = try KDBXHeader(file, subject: subject)
        return try keys.withKeyFile { (keyFile) throws(ImportExportError) in
            let second = try keyFile.map { (file) throws(ImportExportError) in try KeePassKeyFile.key(of: file) }
            return try keys.withPassword(of: subject) { (password) throws(ImportExportError) in
                var first = HashAlgorithm.sha256.hash(password)
                defer { first.zero() }
                // A database may have a key file and no password at all.
                let candidates = second.map { password.isEmpty ? [$0, first + $0] : [first + $0] } ?? [first]
                for (number, candidate) in candidates.enumerated() {
                    do throws(ImportExportError) {
                        let composite = HashAlgorithm.sha256.hash(candidate)
                        return ForeignPayload(try header.opened(file, composite: composite, source.limits))
                    } catch {
                        guard error.code == .passwordWrong, number + 1 < candidates.count else { throw error }
                    }
                }
                throw ImportExportError(.passwordWrong, subject: subject)
            }
        }
    }
}

/// The header, which lies in clear in front of the ciphertext.
private struct KDBXHeader {
    private let subject: String
    private let major: UInt64
    /// Where the header ends.
    private let end: Int
    private var fields: [UInt8: [UInt8]] = [:]

    private enum Field {
        static let cipher: UInt8 = 2, compression: UInt8 = 3, masterSeed: UInt8 = 4, transformSeed: UInt8 = 5
        static let rounds: UInt8 = 6, vector: UInt8 = 7, streamKey: UInt8 = 8, startBytes: UInt8 = 9
        static let stream: UInt8 = 10, derivation: UInt8 = 11
    }

    init(_ file: [UInt8], subject: String) throws(ImportExportError) {
        self.subject = subject
        var cursor = ByteCursor(file[...], subject: subject)
        guard try cursor.take(8).elementsEqual(KDBXFile.signature) else {
            throw ImportExportError(.formatInvalid, at: "signature", subject: subject)
        }
        _ = try cursor.number(2)
        major = try cursor.number(2)
        guard major == 3 || major == 4 else {
            throw ImportExportError(.sourceUnsupported, subject: "\(subject) is a KeePass database of version \(major)")
        }
        while true {
            let id = UInt8(try cursor.number(1))
            let count = try cursor.number(major == 4 ? 4 : 2)
            let value = Array(try cursor.take(Int(count)))
            if id == 0 { break }
            guard fields[id] == nil else { throw ImportExportError(.formatInvalid, at: "header field \(id)") }
            fields[id] = value
        }
        end = cursor.position
    }

    private func field(_ id: UInt8, count: Int? = nil) throws(ImportExportError) -> [UInt8] {
        guard let value = fields[id], count.map({ $0 == value.count }) ?? true else {
            throw ImportExportError(.formatInvalid, at: "header field \(id)", subject: subject)
        }
        return value
    }

    private func number(_ id: UInt8) throws(ImportExportError) -> UInt64 {
        try field(id).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    // MARK: Opening

    func opened(
        _ file: [UInt8], composite: [UInt8], _ limits: ImportLimits
    ) throws(ImportExportError) -> [UInt8] {
        let seed = try field(Field.masterSeed, count: 32)
        var stretched = try derive(composite, limits)
        var key = HashAlgorithm.sha256.hash((seed + stretched))
        defer {
            stretched.zero()
            key.zero()
        }
        if major == 4 {
            let ciphertext = try checkedBlocks(file, HashAlgorithm.sha512.hash((seed + stretched + [1])))
            return try unpacked(decrypted(ciphertext, key), limits)
        }
        let plaintext = try decrypted(Array(file[end...]), key)
        let start = try field(Field.startBytes, count: 32)
        guard plaintext.starts(with: start) else { throw ImportExportError(.passwordWrong, subject: subject) }
        let xml = try unpacked(hashedBlocks(plaintext.dropFirst(32)), limits)
        return try innerHeader(forFile: file) + xml
    }

    private func derive(_ composite: [UInt8], _ limits: ImportLimits) throws(ImportExportError) -> [UInt8] {
        if major == 3 {
            return try ForeignKeys.aes(
                composite, seed: field(Field.transformSeed, count: 32), rounds: number(Field.rounds), limits)
        }
        let parameters = try KDBXDictionary(field(Field.derivation), subject: subject)
        let name = try parameters.bytes("$UUID")
        switch Hex.encode(name) {
        case "c9d9f39a628a4460bf740d08c18a4fea", "7c02bb8279a74ac0927d114a00648238":
            return try ForeignKeys.aes(
                composite, seed: parameters.bytes("S"), rounds: parameters.number("R"), limits)
        case _ where name == KDBXFile.argon2d || name == KDBXFile.argon2id:
            guard try parameters.number("V") == 0x13 else {
                throw ImportExportError(.sourceUnsupported, subject: "\(subject) has version 0x10 of Argon2")
            }
            return try ForeignKeys.argon2(
                name == KDBXFile.argon2d ? .d : .id, composite, salt: parameters.bytes("S"),
                memoryKibibytes: parameters.number("M") / 1_024, passes: parameters.number("I"),
                lanes: parameters.number("P"), limits)
        case let id: throw ImportExportError(.sourceUnsupported, subject: "\(subject) has the key derivation \(id)")
        }
    }

    private func decrypted(_ ciphertext: [UInt8], _ key: [UInt8]) throws(ImportExportError) -> [UInt8] {
        let vector = try field(Field.vector)
        let name = try field(Field.cipher)
        let cipher = Hex.encode(name)
        return try ForeignKeys.wrapping(subject) { () throws(CryptoError) in
            switch cipher {
            case "31c1f2e6bf714350be5805216afc5aff": return try ForeignCBC.open(ciphertext, key: key, vector: vector)
            case "ad68f29f576f4bb9a36ad47af965346c":
                return try ForeignCBC.open(ciphertext, .twofish256, key: key, vector: vector)
            case _ where name == KDBXFile.chaCha20:
                var stream = try ForeignStream(.chaCha20, key: key, nonce: vector)
                return try stream.apply(to: ciphertext)
            default: throw CryptoError(.invalidParameter, at: "cipher \(cipher)")
            }
        }
    }

    /// Blocks of KDBX 4, each behind its code; the header's hash and code come first.
    private func checkedBlocks(_ file: [UInt8], _ base: [UInt8]) throws(ImportExportError) -> [UInt8] {
        var cursor = ByteCursor(file[end...], subject: subject)
        let header = file[..<end]
        guard try cursor.take(32).elementsEqual(HashAlgorithm.sha256.hash(Array(header))) else {
            throw ImportExportError(.checkMismatch, at: "header", subject: subject)
        }
        let code = Array(try cursor.take(32))
        guard ConstantTime.isEqual(Self.code(.max, base, Array(header)), code) else {
            throw ImportExportError(.passwordWrong, subject: subject)
        }
        var result: [UInt8] = []
        for index: UInt64 in 0... {
            let code = Array(try cursor.take(32))
            let size = try cursor.take(4)
            let data = try cursor.take(Int(size.reversed().reduce(0) { $0 << 8 | UInt64($1) }))
            guard ConstantTime.isEqual(Self.code(index, base, littleEndian(index) + size + data), code) else {
                throw ImportExportError(.checkMismatch, at: "block \(index)", subject: subject)
            }
            if data.isEmpty { break }
            result += data
        }
        return result
    }

    private static func code(_ index: UInt64, _ base: [UInt8], _ message: [UInt8]) -> [UInt8] {
        let key = HashAlgorithm.sha512.hash((littleEndian(index) + base))
        return HMAC.authenticationCode(.sha256, key: key, message: message)
    }

    /// Blocks of KDBX 3, each behind its hash.
    private func hashedBlocks(_ bytes: ArraySlice<UInt8>) throws(ImportExportError) -> [UInt8] {
        var cursor = ByteCursor(bytes, subject: subject)
        var result: [UInt8] = []
        for index: UInt64 in 0... {
            guard try cursor.number(4) == index else {
                throw ImportExportError(.checkMismatch, at: "block \(index)", subject: subject)
            }
            let hash = try cursor.take(32)
            let data = Array(try cursor.take(Int(cursor.number(4))))
            if data.isEmpty {
                guard hash.allSatisfy({ $0 == 0 }) else {
                    throw ImportExportError(.checkMismatch, at: "last block", subject: subject)
                }
                break
            }
            guard HashAlgorithm.sha256.hash(data).elementsEqual(hash) else {
                throw ImportExportError(.checkMismatch, at: "block \(index)", subject: subject)
            }
            result += data
        }
        return result
    }

    private func unpacked(_ bytes: [UInt8], _ limits: ImportLimits) throws(ImportExportError) -> [UInt8] {
        try number(Field.compression) == 0 ? bytes : gunzipped(bytes, subject: subject, limits: limits)
    }

    /// The header that KDBX 4 has in front of its XML. The XML of KDBX 3 names the hash of the header; it goes along as field 240.
    private func innerHeader(forFile file: [UInt8]) throws(ImportExportError) -> [UInt8] {
        func field(_ id: UInt8, _ value: [UInt8]) -> [UInt8] {
            [id] + littleEndian(UInt64(value.count)).prefix(4) + value
        }
        return try field(1, self.field(Field.stream, count: 4)) + field(2, self.field(Field.streamKey))
            + field(240, HashAlgorithm.sha256.hash(Array(file[..<end]))) + field(0, [])
    }
}

/// A dictionary of KDBX 4: names with typed values.
private struct KDBXDictionary {
    private let subject: String
    private var values: [String: [UInt8]] = [:]

    init(_ bytes: [UInt8], subject: String) throws(ImportExportError) {
        self.subject = subject
        var cursor = ByteCursor(bytes[...], subject: subject)
        guard try cursor.number(2) >> 8 == 1 else { throw ImportExportError(.formatInvalid, at: "dictionary") }
        while try cursor.number(1) != 0 {
            let name = String(decoding: try cursor.take(Int(cursor.number(4))), as: UTF8.self)
            values[name] = Array(try cursor.take(Int(cursor.number(4))))
        }
    }

    func bytes(_ name: String) throws(ImportExportError) -> [UInt8] {
        guard let value = values[name] else {
            throw ImportExportError(.formatInvalid, at: "key derivation \(name)", subject: subject)
        }
        return value
    }

    func number(_ name: String) throws(ImportExportError) -> UInt64 {
        let value = try bytes(name)
        guard value.count <= 8 else { throw ImportExportError(.formatInvalid, at: name, subject: subject) }
        return value.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The key in a KeePass key file.
enum KeePassKeyFile {
    /// XML of version 1 or 2, 32 bytes, 64 hexadecimal digits, or the hash of any other file.
    static func key(of file: [UInt8]) throws(ImportExportError) -> [UInt8] {
        if let key = try keyOfXML(file) { return key }
        if file.count == 32 { return file }
        if file.count == 64, let key = try? Hex.decode(String(decoding: file, as: UTF8.self)) { return key }
        return HashAlgorithm.sha256.hash(file)
    }

    private static func keyOfXML(_ file: [UInt8]) throws(ImportExportError) -> [UInt8]? {
        guard file.count < 1 << 16, String(decoding: file, as: UTF8.self).contains("<KeyFile") else { return nil }
        var version = ""
        var data: (text: String, hash: String?)?
        let reader = try ForeignXMLReader(limits: ImportLimits()) { element, _ in
            if element.name == "Version" { version = element.text }
            if element.name == "Data" { data = (element.text, element.attribute("Hash")) }
            return false
        }
        try reader.read(withoutMark(file)[...])
        guard let data else { throw ImportExportError(.formatInvalid, at: "key file") }
        let text = String(data.text.filter { !$0.isWhitespace })
        if version.hasPrefix("2") {
            guard let key = try? Hex.decode(text.asciiLowercased()), key.count == 32,
                data.hash.map({ $0.asciiLowercased() == Hex.encode(HashAlgorithm.sha256.hash(key).prefix(4)) }) ?? true
            else { throw ImportExportError(.formatInvalid, at: "key file") }
            return key
        }
        guard let key = try? Base64.standard.decode(text) else {
            throw ImportExportError(.formatInvalid, at: "key file")
        }
        return key
    }
}

/// Takes bytes from the front of a slice.
struct ByteCursor {
    private var rest: ArraySlice<UInt8>
    private let subject: String

    init(_ bytes: ArraySlice<UInt8>, subject: String) {
        rest = bytes
        self.subject = subject
    }

    /// The index of the next byte.
    var position: Int { rest.startIndex }
    /// The bytes that are left.
    var remainder: ArraySlice<UInt8> { rest }

    /// - Throws: `.formatTruncated` with less than that left.
    mutating func take(_ count: Int) throws(ImportExportError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= rest.count else { throw ImportExportError(.formatTruncated, subject: subject) }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// A little-endian number of 1 to 8 bytes.
    mutating func number(_ byteCount: Int) throws(ImportExportError) -> UInt64 {
        try take(byteCount).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// Eight bytes, the lowest first.
func littleEndian(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) } }
