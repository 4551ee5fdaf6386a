// Shamir's secret sharing. The one thing to keep true: fewer shares than the threshold say nothing of the secret, since every
// coefficient is random.

internal import CGFShare
package import CoffretBase

/// A secret of 32 bytes in shares, by Shamir over GF(256), byte by byte, with the polynomial 0x11D.
///
/// libgfshare does the arithmetic. It multiplies by tables, and has the secret in ordinary memory, which it overwrites, while it
/// works. Spec: Spec/recovery.md section 2.
package enum SecretSharing {
    package static let countRange = 2...16

    /// Splits a secret into the shares x = 1 to `count`.
    ///
    /// - Parameters:
    ///   - threshold: how many of them give the secret, from 2 to `count`.
    ///   - count: at most 16.
    /// - Throws: `CryptoError`: `.invalidParameter`; `.unavailable` without libgfshare.
    package static func split(
        _ secret: borrowing SecretBytes, threshold: Int, count: Int, random: any RandomSource
    ) throws(CryptoError) -> [AuthenticationKey] {
        guard countRange ~= threshold, threshold...countRange.upperBound ~= count, secret.byteCount == byteCount else {
            throw CryptoError(.invalidParameter, at: "shares")
        }
        let coefficients = random.secret(byteCount: (threshold - 1) * byteCount)
        let shares = try unsafe SecretBytes(byteCount: count * byteCount) { (target) throws(CryptoError) in
            // EXPOSE: to libgfshare, which splits it; into locked memory.
            let result = unsafe secret.withUnsafeBytes { secret in
                unsafe coefficients.withUnsafeBytes { coefficients in
                    unsafe coffret_gfshare_split(
                        bytes(secret), byteCount, UInt32(threshold), UInt32(count), bytes(coefficients), bytes(target))
                }
            }
            try check(result)
        }
        // EXPOSE: each share into a key of its own.
        return unsafe shares.withUnsafeBytes { all in
            (0..<count).map { index in
                let share = unsafe UnsafeRawBufferPointer(
                    rebasing: all[index * byteCount..<(index + 1) * byteCount])
                return unsafe AuthenticationKey(SecretBytes(copying: share))
            }
        }
    }

    /// The secret out of shares, as many as its threshold. Other shares give other bytes, which nobody can tell from a secret.
    ///
    /// - Parameter shares: with numbers that are distinct and not 0.
    /// - Throws: `CryptoError`: `.invalidParameter`; `.unavailable` without libgfshare.
    package static func join(_ shares: [(x: UInt8, share: AuthenticationKey)]) throws(CryptoError) -> SecretBytes {
        let numbers = shares.map(\.x)
        guard countRange ~= shares.count, Set(numbers).count == numbers.count, !numbers.contains(0) else {
            throw CryptoError(.invalidParameter, at: "shares")
        }
        let all = unsafe SecretBytes(byteCount: shares.count * byteCount) { target in
            for (index, share) in shares.enumerated() {
                let part = unsafe UnsafeMutableRawBufferPointer(rebasing: target[(index * byteCount)...])
                // EXPOSE: from locked memory to locked memory.
                unsafe share.share.withUnsafeBytes { unsafe part.copyMemory(from: $0) }
            }
        }
        return try unsafe SecretBytes(byteCount: byteCount) { (target) throws(CryptoError) in
            // EXPOSE: to libgfshare, which joins them; into locked memory.
            let result = unsafe all.withUnsafeBytes { all in
                unsafe coffret_gfshare_join(numbers, UInt32(numbers.count), bytes(all), byteCount, bytes(target))
            }
            try check(result)
        }
    }

    private static let byteCount = AuthenticationKey.byteCount

    private static func bytes(_ buffer: UnsafeRawBufferPointer) -> UnsafePointer<UInt8>? {
        unsafe buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }

    private static func bytes(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutablePointer<UInt8>? {
        unsafe buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }

    private static func check(_ result: coffret_gfshare_result) throws(CryptoError) {
        switch result {
        case COFFRET_GFSHARE_DONE: return
        case COFFRET_GFSHARE_UNAVAILABLE: throw CryptoError(.unavailable, at: "libgfshare2")
        default: throw CryptoError(.unavailable, at: "libgfshare")
        }
    }
}
