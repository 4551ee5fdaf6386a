// Bitwarden's exports under a password. Invariant: nothing is decrypted whose code was not checked, and nothing is derived
// whose costs are above the limits.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto

/// Opens `{"encrypted": true, "passwordProtected": true, …}`.
///
/// Source: Bitwarden's help pages "Encrypted exports" and the white paper's description of cipher strings: type 2 is
/// AES-256 in cipher block chaining, then HMAC-SHA-256 over vector and ciphertext.
enum BitwardenSeal {
    /// The opened export; nil if it is in clear, or under the key of an account.
    static func open(_ source: ForeignSource, _ keys: SourceKeys) throws(ImportExportError) -> ForeignPayload? {
        let list = try ForeignObject.parse(source.bytes(), limits: source.limits)
        guard list.flag("encrypted") == true, list.flag("passwordProtected") == true else { return nil }
        guard let salt = list.text("salt"), let data = list.text("data").flatMap(Sealed.init),
            let check = list.text("encKeyValidation_DO_NOT_EDIT").flatMap(Sealed.init),
            let kdf = list.integer("kdfType"), let passes = list.integer("kdfIterations").flatMap(UInt64.init(exactly:))
        else { throw ImportExportError(.formatInvalid, at: "protected export") }
        let memory = list.integer("kdfMemory").flatMap(UInt64.init(exactly:))
        let lanes = list.integer("kdfParallelism").flatMap(UInt64.init(exactly:))
        return try keys.withPassword(of: source.path.printable) { (password) throws(ImportExportError) in
            var key: [UInt8]
            switch kdf {
            case 0: key = try ForeignKeys.pbkdf2(password, salt: Array(salt.utf8), passes: passes, source.limits)
            case 1:
                guard let memory, let lanes else { throw ImportExportError(.formatInvalid, at: "argon2id") }
                let digest = HashAlgorithm.sha256.hash(Array(salt.utf8))
                key = try ForeignKeys.argon2(
                    .id, password, salt: digest, memoryKibibytes: memory.multipliedOrMax(by: 1_024), passes: passes,
                    lanes: lanes, source.limits)
            default: throw ImportExportError(.sourceUnsupported, subject: "key derivation \(kdf) of Bitwarden")
            }
            defer { key.zero() }
            var (cipherKey, codeKey) = (expanded(key, "enc"), expanded(key, "mac"))
            defer {
                cipherKey.zero()
                codeKey.zero()
            }
            _ = try check.opened(cipherKey, codeKey, subject: source.path.printable)
            return ForeignPayload(try data.opened(cipherKey, codeKey, subject: source.path.printable))
        }
    }

    /// HKDF-Expand of RFC 5869 for one block.
    private static func expanded(_ key: [UInt8], _ info: String) -> [UInt8] {
        HMAC.authenticationCode(.sha256, key: key, message: Array(info.utf8) + [1])
    }

    /// `2.vector|ciphertext|code` in base64.
    private struct Sealed {
        let vector: [UInt8]
        let ciphertext: [UInt8]
        let code: [UInt8]

        init?(_ text: String) {
            guard text.hasPrefix("2.") else { return nil }
            let parts = text.dropFirst(2).split(separator: "|").map { try? Base64.standard.decode(String($0)) }
            guard parts.count == 3, let vector = parts[0], let ciphertext = parts[1], let code = parts[2] else {
                return nil
            }
            (self.vector, self.ciphertext, self.code) = (vector, ciphertext, code)
        }

        func opened(
            _ cipherKey: [UInt8], _ codeKey: [UInt8], subject: String
        ) throws(ImportExportError) -> [UInt8] {
            let expected = HMAC.authenticationCode(
                .sha256, key: codeKey, message: vector + ciphertext)
            guard ConstantTime.isEqual(expected, code) else {
                throw ImportExportError(.passwordWrong, subject: subject)
            }
            return try ForeignKeys.wrapping(subject) { () throws(CryptoError) in
                try ForeignCBC.open(ciphertext, key: cipherKey, vector: vector)
            }
        }
    }
}

/// Keys of other programs' files, inside the limits of an import.
enum ForeignKeys {
    static func pbkdf2(
        _ password: [UInt8], salt: [UInt8], passes: UInt64, byteCount: Int = 32,
        algorithm: HashAlgorithm = .sha256, _ limits: ImportLimits
    ) throws(ImportExportError) -> [UInt8] {
        guard passes > 0, passes <= min(limits.keyRoundCountMax / 10, UInt64(Int32.max)) else {
            throw ImportExportError(.keyDerivationTooCostly, at: "pbkdf2 \(passes)")
        }
        return try wrapping("pbkdf2") { () throws(CryptoError) in
            try unsafe makeBytes(byteCount: byteCount) { (output) throws(CryptoError) in
                try unsafe PBKDF2.derive(
                    algorithm, password: password.span.bytes, salt: salt.span.bytes, iterationCount: Int(passes),
                    into: output)
            }
        }
    }

    static func argon2(
        _ variant: ForeignStretching.Argon2, _ password: [UInt8], salt: [UInt8], memoryKibibytes: UInt64,
        passes: UInt64, lanes: UInt64, _ limits: ImportLimits
    ) throws(ImportExportError) -> [UInt8] {
        let work = memoryKibibytes.multipliedOrMax(by: passes)
        guard memoryKibibytes <= limits.keyMemoryKibibytesMax, passes <= limits.keyPassCountMax, lanes <= 64,
            work <= limits.keyMemoryKibibytesMax.multipliedOrMax(by: 16), passes > 0, lanes > 0,
            memoryKibibytes >= 8 * lanes
        else {
            throw ImportExportError(.keyDerivationTooCostly, at: "argon2 \(memoryKibibytes) KiB, \(passes), \(lanes)")
        }
        return try wrapping("argon2") { () throws(CryptoError) in
            try ForeignStretching.argon2(
                variant, password: password, salt: salt, memoryKibibytes: memoryKibibytes, passCount: passes,
                laneCount: lanes)
        }
    }

    static func aes(
        _ secret: [UInt8], seed: [UInt8], rounds: UInt64, _ limits: ImportLimits
    ) throws(ImportExportError) -> [UInt8] {
        guard rounds <= limits.keyRoundCountMax else {
            throw ImportExportError(.keyDerivationTooCostly, at: "aes-kdf \(rounds)")
        }
        return try wrapping("aes-kdf") { () throws(CryptoError) in
            try ForeignStretching.aes(secret: secret, seed: seed, roundCount: rounds)
        }
    }

    static func scrypt(
        _ password: [UInt8], salt: [UInt8], cost: UInt64, blockSize: UInt64, lanes: UInt64, _ limits: ImportLimits
    ) throws(ImportExportError) -> [UInt8] {
        let byteCount = cost.multipliedOrMax(by: blockSize).multipliedOrMax(by: 128).multipliedOrMax(by: lanes)
        guard byteCount / 1_024 <= limits.keyMemoryKibibytesMax, cost.nonzeroBitCount == 1, cost > 1,
            (1...64).contains(blockSize), (1...64).contains(lanes)
        else { throw ImportExportError(.keyDerivationTooCostly, at: "scrypt \(cost)") }
        return try wrapping("scrypt") { () throws(CryptoError) in
            try ForeignStretching.scrypt(
                password: password, salt: salt, cost: cost, blockSize: UInt32(blockSize), lanes: UInt32(lanes))
        }
    }

    /// Opens a message of AES-256-GCM.
    static func gcm(
        _ ciphertext: [UInt8], tag: [UInt8], key: [UInt8], nonce: [UInt8], subject: String
    ) throws(ImportExportError) -> [UInt8] {
        try wrapping(subject) { () throws(CryptoError) in
            guard tag.count == AESGCM.tagByteCount else { throw CryptoError(.invalidParameter, at: "tag size") }
            return try unsafe makeBytes(byteCount: ciphertext.count) { (output) throws(CryptoError) in
                var failure: CryptoError?
                unsafe ciphertext.withUnsafeBytes { input in
                    unsafe tag.withUnsafeBytes { tag in
                        do throws(CryptoError) {
                            try unsafe AESGCM.open(
                                input, tag: tag, key: key.span.bytes, nonce: nonce.span.bytes,
                                additionalData: [UInt8]().span.bytes, plaintext: output)
                        } catch { failure = error }
                    }
                }
                if let failure { throw failure }
            }
        }
    }

    /// Crypto's errors as those of an import.
    static func wrapping<Result>(
        _ subject: String, _ body: () throws(CryptoError) -> Result
    ) throws(ImportExportError) -> Result {
        do throws(CryptoError) {
            return try body()
        } catch {
            switch error.code {
            case .authenticationFailed: throw ImportExportError(.passwordWrong, subject: subject)
            case .unavailable: throw ImportExportError(.libraryMissing, at: error.place)
            default: throw ImportExportError(.formatInvalid, at: error.place, subject: subject)
            }
        }
    }
}

extension UInt64 {
    func multipliedOrMax(by other: UInt64) -> UInt64 {
        let (product, isOverflow) = multipliedReportingOverflow(by: other)
        return isOverflow ? .max : product
    }
}
