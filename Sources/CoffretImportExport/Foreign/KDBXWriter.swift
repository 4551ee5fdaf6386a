// A KeePass database on its way to a file: KDBX 4.0 with Argon2id and ChaCha20. Invariant: nothing but the header leaves
// unencrypted, and each block goes out with its code.

internal import CoffretBase
internal import CoffretCrypto

/// How much work opening the database is.
package struct KDBXCosts: Sendable {
    package var memoryByteCount: Int
    package var passCount: UInt64

    /// Half a second on a computer; programs on phones have so much memory.
    package static let usual = KDBXCosts(memoryByteCount: 64 << 20, passCount: 10)

    package init(memoryByteCount: Int, passCount: UInt64) {
        (self.memoryByteCount, self.passCount) = (memoryByteCount, passCount)
    }
}

/// Encrypts what it is given, block by block.
///
/// Source: https://keepass.info/help/kb/kdbx.html. The payload is not compressed: files of a vault mostly are already.
final class KDBXSink {
    typealias Output = (ArraySlice<UInt8>) throws(ImportExportError) -> Void

    private static let blockByteCount = 1 << 20
    private static let endOfHeader = Array("\r\n\r\n".utf8)

    private let output: Output
    private var codeBase: [UInt8]
    private var stream: ForeignStream
    private var buffer: [UInt8] = []
    private var blockIndex: UInt64 = 0
    private(set) var byteCount: UInt64 = 0

    /// Derives the keys, and writes the header.
    ///
    /// - Throws: `.vaultFailed` if the memory for Argon2 cannot be had.
    init(
        password: borrowing SecretBytes, costs: KDBXCosts, random: any RandomSource, output: @escaping Output
    ) throws(ImportExportError) {
        self.output = output
        let (seed, salt, nonce) = (random.bytes(count: 32), random.bytes(count: 16), random.bytes(count: 12))
        // EXPOSE: the hash of the password is the format's key, and is zeroed below.
        var first = unsafe password.withUnsafeBytes { HashAlgorithm.sha256.hash(unsafe Array($0)) }
        var composite = HashAlgorithm.sha256.hash(first)
        var stretched = try ForeignKeys.wrapping("the new database") { () throws(CryptoError) in
            try SodiumFormats.stretch(
                .id, password: composite, salt: salt, memoryByteCount: costs.memoryByteCount,
                passCount: costs.passCount, byteCount: 32)
        }
        var key = HashAlgorithm.sha256.hash(seed + stretched)
        defer {
            first.zero()
            composite.zero()
            stretched.zero()
            key.zero()
        }
        codeBase = HashAlgorithm.sha512.hash(seed + stretched + [1])
        stream = try ForeignKeys.wrapping("the new database") { () throws(CryptoError) in
            try ForeignStream(.chaCha20, key: key, nonce: nonce)
        }
        let header = Self.header(seed: seed, salt: salt, nonce: nonce, costs)
        let code = HMAC.authenticationCode(
            .sha256, key: HashAlgorithm.sha512.hash(littleEndian(.max) + codeBase), message: header)
        try put(header + HashAlgorithm.sha256.hash(header) + code)
    }

    deinit {
        codeBase.zero()
        buffer.zero()
    }

    private static func header(seed: [UInt8], salt: [UInt8], nonce: [UInt8], _ costs: KDBXCosts) -> [UInt8] {
        func field(_ id: UInt8, _ value: [UInt8]) -> [UInt8] { [id] + number(value.count, 4) + value }
        func entry(_ type: UInt8, _ name: String, _ value: [UInt8]) -> [UInt8] {
            [type] + number(name.utf8.count, 4) + Array(name.utf8) + number(value.count, 4) + value
        }
        let (uint32, uint64, bytes): (UInt8, UInt8, UInt8) = (0x04, 0x05, 0x42)
        let derivation =
            [0x00, 0x01] + entry(bytes, "$UUID", KDBXFile.argon2id) + entry(bytes, "S", salt)
            + entry(uint64, "I", littleEndian(costs.passCount)) + entry(uint64, "M", number(costs.memoryByteCount, 8))
            + entry(uint32, "P", number(1, 4)) + entry(uint32, "V", number(0x13, 4)) + [0]
        return KDBXFile.signature + [0, 0, 4, 0] + field(2, KDBXFile.chaCha20) + field(3, number(0, 4))
            + field(4, seed) + field(7, nonce) + field(11, derivation) + field(0, endOfHeader)
    }

    /// The lowest byte first.
    static func number(_ value: Int, _ byteCount: Int) -> [UInt8] {
        Array(littleEndian(UInt64(value)).prefix(byteCount))
    }

    func write(_ bytes: some Collection<UInt8>) throws(ImportExportError) {
        buffer += bytes
        while buffer.count >= Self.blockByteCount { try writeBlock(Self.blockByteCount) }
    }

    /// Writes what is left, and the block that ends the file.
    func finish() throws(ImportExportError) {
        if !buffer.isEmpty { try writeBlock(buffer.count) }
        try writeBlock(0)
    }

    private func writeBlock(_ count: Int) throws(ImportExportError) {
        var plain = Array(buffer[..<count])
        defer { plain.zero() }
        var rest = Array(buffer[count...])
        swap(&buffer, &rest)
        rest.zero()
        let data = try ForeignKeys.wrapping("the new database") { () throws(CryptoError) in
            count == 0 ? [] : try stream.apply(to: plain)
        }
        let index = littleEndian(blockIndex)
        let size = Self.number(count, 4)
        let code = HMAC.authenticationCode(
            .sha256, key: HashAlgorithm.sha512.hash(index + codeBase), message: index + size + data)
        try put(code + size + data)
        blockIndex += 1
    }

    private func put(_ bytes: [UInt8]) throws(ImportExportError) {
        byteCount += UInt64(bytes.count)
        try output(bytes[...])
    }
}

/// KeePass's XML in the making, with its protected values.
struct KDBXDocument {
    private(set) var bytes: [UInt8] = []
    private var stream: ForeignStream
    private var open: [String] = []

    /// - Parameter key: 64 random bytes.
    init(streamKey key: [UInt8]) throws(ImportExportError) {
        var digest = HashAlgorithm.sha512.hash(key)
        defer { digest.zero() }
        stream = try ForeignKeys.wrapping("the new database") { () throws(CryptoError) in
            try ForeignStream(.chaCha20, key: Array(digest[..<32]), nonce: Array(digest[32..<44]))
        }
    }

    /// The bytes written since the last time.
    mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    mutating func begin(_ name: String, _ attributes: String = "") {
        bytes += Array("<\(name)\(attributes)>".utf8)
        open.append(name)
    }

    mutating func end() { bytes += Array("</\(open.removeLast())>".utf8) }

    mutating func element(_ name: String, _ text: String) {
        begin(name)
        append(text)
        end()
    }

    /// The value of a string of an entry; protected also if XML cannot hold it.
    mutating func value(_ text: String, isProtected: Bool) throws(ImportExportError) {
        guard isProtected || !Self.canHold(text) else { return element("Value", text) }
        var plain = Array(text.utf8)
        defer { plain.zero() }
        begin("Value", " Protected=\"True\"")
        if !plain.isEmpty {
            var stream = stream
            let sealed = try ForeignKeys.wrapping("the new database") { () throws(CryptoError) in
                try stream.apply(to: plain)
            }
            self.stream = stream
            bytes += Array(Base64.standard.encode(sealed).utf8)
        }
        end()
    }

    /// Controls and the last two characters of the plane are no characters of XML 1.0.
    static func canHold(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            scalar.value >= 0x20 && scalar.value != 0xFFFE && scalar.value != 0xFFFF
                || [0x09, 0x0A, 0x0D].contains(scalar.value)
        }
    }

    private mutating func append(_ text: String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes += Array("&amp;".utf8)
            case "<": bytes += Array("&lt;".utf8)
            case ">": bytes += Array("&gt;".utf8)
            // A reader of XML takes a bare one for a line end.
            case "\r": bytes += Array("&#13;".utf8)
            case _ where !Self.canHold(String(scalar)): bytes += Array("\u{FFFD}".utf8)
            default: bytes += Array(String(scalar).utf8)
            }
        }
    }
}
