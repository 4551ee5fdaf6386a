// Shamir's scheme against shares that another program made, in all subsets.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@Suite("Secret sharing")
struct SecretSharingTests {
    private struct Vectors: Decodable {
        struct Sharing: Decodable {
            let threshold: Int
            let count: Int
            let seed: String
            /// That of x first.
            let coefficients: [String]
            let shares: [String]
        }
        let sharings: [Sharing]
    }

    /// Gives out one sequence of bytes, once.
    private final class GivenSource: RandomSource, @unchecked Sendable {
        private var bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func fill(_ target: UnsafeMutableRawBufferPointer) {
            unsafe target.copyBytes(from: bytes.prefix(target.count))
            bytes.removeFirst(target.count)
        }
    }

    private let generator = SeededGenerator.fromEnvironment()

    private func sharings() throws -> [Vectors.Sharing] {
        try VectorFile.decode(Vectors.self, from: "trust/circles.json").sharings
    }

    private func secret(_ hex: String) throws -> SecretBytes {
        var bytes = try Hex.decode(hex)
        return SecretBytes(consuming: &bytes)
    }

    private func text(_ secret: borrowing SecretBytes) -> String {
        unsafe secret.withUnsafeBytes { Hex.encode(unsafe [UInt8]($0)) }
    }

    private func subsets(of numbers: [Int], count: Int) -> [[Int]] {
        guard count > 0 else { return [[]] }
        guard numbers.count >= count else { return [] }
        let rest = Array(numbers.dropFirst())
        return subsets(of: rest, count: count - 1).map { [numbers[0]] + $0 } + subsets(of: rest, count: count)
    }

    @Test("the same coefficients give the shares that another program made")
    func splits() throws {
        let sharings = try sharings()
        #expect(sharings.count == 6)
        for sharing in sharings {
            let drawn = try sharing.coefficients.reversed().flatMap { try Hex.decode($0) }
            let shares = try SecretSharing.split(
                try secret(sharing.seed), threshold: sharing.threshold, count: sharing.count, random: GivenSource(drawn)
            )
            #expect(
                shares.map { text($0.duplicateSecret()) } == sharing.shares, "\(sharing.threshold) of \(sharing.count)")
        }
    }

    @Test("every subset of the threshold's size gives the secret, in any order, and no smaller one does")
    func joins() throws {
        for sharing in try sharings() {
            var shares: [(x: UInt8, share: AuthenticationKey)] = []
            for (index, share) in sharing.shares.enumerated() {
                shares.append((x: UInt8(index + 1), share: AuthenticationKey(try secret(share))))
            }
            for subset in subsets(of: Array(shares.indices), count: sharing.threshold) {
                for order in [subset, subset.reversed()] {
                    let joined = text(try SecretSharing.join(order.map { shares[$0] }))
                    #expect(joined == sharing.seed, "\(order)")
                }
            }
            guard sharing.threshold > 2 else { continue }
            for subset in subsets(of: Array(shares.indices), count: sharing.threshold - 1) {
                let joined = text(try SecretSharing.join(subset.map { shares[$0] }))
                #expect(joined != sharing.seed, "\(subset)")
            }
        }
    }

    @Test("shares of fresh coefficients join, and differ from one time to the next")
    func freshCoefficients() throws {
        let seed = generator.secret(byteCount: 32)
        let first = try SecretSharing.split(seed, threshold: 3, count: 5, random: generator)
        let second = try SecretSharing.split(seed, threshold: 3, count: 5, random: generator)
        for (one, other) in zip(first, second) { #expect(!one.isEqual(to: other)) }
        let whole = text(seed)
        let joined = text(try SecretSharing.join([(5, first[4]), (1, first[0]), (3, first[2])]))
        #expect(joined == whole)
        let mixed = text(try SecretSharing.join([(5, first[4]), (1, second[0]), (3, first[2])]))
        #expect(mixed != whole)
    }

    @Test("numbers outside the bounds are refused")
    func bounds() throws {
        func refusal(_ body: () throws -> Void) -> CryptoError? {
            do {
                try body()
                return nil
            } catch { return error as? CryptoError }
        }
        let refused = CryptoError(.invalidParameter, at: "shares")
        for (threshold, count) in [(1, 3), (0, 2), (4, 3), (2, 17), (17, 17), (2, 1)] {
            let found = refusal {
                _ = try SecretSharing.split(
                    generator.secret(byteCount: 32), threshold: threshold, count: count, random: generator)
            }
            #expect(found == refused, "\(threshold) of \(count)")
        }
        let short = refusal {
            _ = try SecretSharing.split(
                generator.secret(byteCount: 31), threshold: 2, count: 3, random: generator)
        }
        #expect(short == refused)
        let shares = try SecretSharing.split(
            generator.secret(byteCount: 32), threshold: 2, count: 3, random: generator)
        for numbers in [[0, 1], [2, 2], [1]] as [[UInt8]] {
            let found = refusal {
                _ = try SecretSharing.join(numbers.enumerated().map { (x: $0.element, share: shares[$0.offset]) })
            }
            #expect(found == refused, "\(numbers)")
        }
    }
}
