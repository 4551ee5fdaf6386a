// Wrong tokens that programs offer. Invariant: a right token ends the pause only after it has waited for it.

internal import CoffretBase

/// How often tokens of a store were wrong, in a row.
///
/// The pause after wrong tokens: a token of 256 bits is not found by trying, but each try would start a process.
struct TokenTries {
    private static let freeCount = 3
    private static let secondsMax: UInt64 = 60

    private var count = 0
    private var pauseEnd: BootInstant?

    /// - Returns: nil if a token may be offered now.
    func secondsToWait(at now: BootInstant) -> UInt64? {
        guard let pauseEnd, now < pauseEnd else { return nil }
        return UInt64(max(1, now.duration(to: pauseEnd).components.seconds))
    }

    mutating func noteWrong(at now: BootInstant) {
        count = min(count + 1, 64)
        guard count >= Self.freeCount else { return }
        let seconds = min(Self.secondsMax, 5 << UInt64(min(count - Self.freeCount, 4)))
        pauseEnd = now.advanced(by: .seconds(Int64(seconds)))
    }

    mutating func forget() { self = TokenTries() }
}
