// Keys of other programs, told apart by what the file holds. The one thing to keep true: a file is
// imported in the one form that its content shows, and never tried in one form after another.

internal import CoffretBase
internal import CoffretInterop
internal import CoffretMessages
internal import CoffretTerminal

/// The forms in which a key on a NIST curve comes.
enum CurveKeyFile {
    /// What the first bytes of a key file say.
    private enum Form {
        case pem(String)
        case jwk(String)
        case der
        case external
    }

    static let formNames = "PEM, JWK, DER, Apple's external form, or base64 of the last two"

    /// Imports a public key.
    static func publicKey(_ path: String) throws -> CurvePublicKey {
        let bytes = try ForeignFile.read(path, byteCountMax: ForeignFile.keyByteCountMax)
        return try explaining(path, "public") { try publicKey(from: bytes) }
    }

    /// Imports a private key.
    static func privateKey(_ path: String) throws -> SoftwareCurveKey {
        var bytes = try ForeignFile.readSecretKey(path)
        defer { bytes.zero() }
        return try explaining(path, "private") { try privateKey(from: bytes) }
    }

    /// The public key in a file of either half.
    static func eitherPublicKey(_ path: String) throws -> CurvePublicKey {
        var bytes = try ForeignFile.read(path, byteCountMax: ForeignFile.keyByteCountMax)
        defer { bytes.zero() }
        return try explaining(path, "public or private") {
            if let key = try? publicKey(from: bytes) { return key }
            return try privateKey(from: bytes).publicKey
        }
    }

    private static func publicKey(from bytes: [UInt8]) throws -> CurvePublicKey {
        var (form, content) = form(of: bytes)
        defer { content.zero() }
        return switch form {
        case .pem(let text): try CurvePublicKey(pemRepresentation: text)
        case .jwk(let text): try CurvePublicKey(jwkRepresentation: text)
        case .der: try CurvePublicKey(derRepresentation: content)
        case .external: try CurvePublicKey(x963Representation: content)
        }
    }

    private static func privateKey(from bytes: [UInt8]) throws -> SoftwareCurveKey {
        var (form, content) = form(of: bytes)
        defer { content.zero() }
        return switch form {
        case .pem(let text): try SoftwareCurveKey(pemRepresentation: text)
        case .jwk(let text): try SoftwareCurveKey(jwkRepresentation: text)
        case .der: try SoftwareCurveKey(derRepresentation: content)
        case .external: try SoftwareCurveKey(x963Representation: content)
        }
    }

    /// The form of a key file, and its bytes in binary form.
    private static func form(of bytes: [UInt8]) -> (form: Form, content: [UInt8]) {
        if let form = binaryForm(of: bytes) { return (form, bytes) }
        guard let text = String(validating: bytes, as: UTF8.self) else { return (.external, bytes) }
        if text.drop(while: \.isWhitespace).hasPrefix("{") { return (.jwk(text), bytes) }
        // What a phone shows of a key is base64 of one of the binary forms.
        if let decoded = ForeignData.base64(bytes), let form = binaryForm(of: decoded) { return (form, decoded) }
        return (.pem(text), bytes)
    }

    /// DER begins with a sequence that fills the file, the external forms with 4 and their size.
    private static func binaryForm(of bytes: [UInt8]) -> Form? {
        let isExternal = Curve.allCases.contains { curve in
            [1 + 2 * curve.coordinateByteCount, 1 + 3 * curve.coordinateByteCount].contains(bytes.count)
        }
        if bytes.first == 0x04, isExternal { return .external }
        return bytes.first == 0x30 && bytes.count > 40 && !bytes.allSatisfy { $0 < 0x80 } ? .der : nil
    }

    private static func explaining<Value>(_ path: String, _ half: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as InteropError where error.code == .invalidKey || error.code == .invalidText {
            throw CommandFailure(
                .badInput, code: InteropError.Code.invalidKey.rawValue,
                "\(TextWidth.displaySafe(path)) is no \(half) key on P-256, P-384 or P-521",
                hint: "keys come as \(formNames), not encrypted; coffret ecies public KEY gives the public half",
                cause: error.description)
        }
    }
}

/// Themis key containers, binary or as text.
enum ThemisKeyFile {
    static func publicKey(_ path: String) throws -> ThemisPublicKey {
        let bytes = try ForeignFile.read(path, byteCountMax: ForeignFile.keyByteCountMax)
        return try explaining(path, "public") { try ThemisPublicKey(container: container(bytes, "UEC2")) }
    }

    static func privateKey(_ path: String) throws -> ThemisPrivateKey {
        var bytes = try ForeignFile.readSecretKey(path)
        defer { bytes.zero() }
        return try explaining(path, "private") {
            var container = try container(bytes, "REC2")
            defer { container.zero() }
            return try ThemisPrivateKey(container: container)
        }
    }

    /// The container itself, or what its text stands for: base64, with percent escapes or without.
    private static func container(_ bytes: [UInt8], _ tag: String) throws -> [UInt8] {
        if bytes.starts(with: tag.utf8) { return bytes }
        guard let text = String(validating: bytes, as: UTF8.self) else { return bytes }
        return try TransportString.decode(text)
    }

    private static func explaining<Value>(_ path: String, _ half: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as InteropError where error.code == .invalidKey || error.code == .invalidText {
            throw CommandFailure(
                .badInput, code: InteropError.Code.invalidKey.rawValue,
                "\(TextWidth.displaySafe(path)) is no \(half) Themis key on P-256",
                hint: "RSA keys are not read; coffret themis keygen makes a pair on P-256", cause: error.description)
        }
    }
}
