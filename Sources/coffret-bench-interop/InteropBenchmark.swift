// How fast CoffretInterop is, as ratios to bare OpenSSL calls measured in the same run. Rounds of all
// candidates are interleaved and the thread's own processor time is counted, so that a busy machine slows
// all of them alike; medians are compared.

internal import CoffretInterop
internal import Glibc

/// Something that is timed.
struct Candidate {
    let name: String
    let callCount: Int
    let body: () throws -> Void
}

/// A candidate beside its yardsticks; the first of `candidates` is ours.
struct Comparison {
    let name: String
    let goal: Double
    let candidates: [Candidate]
}

@main
struct InteropBenchmark {
    static func main() throws { try run() }

    nonisolated static func run() throws {
        let comparisons = try secureCell() + ecies() + noise()
        print("| what | ours | yardstick | ours µs | yardstick µs | ratio | goal | calls per round |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for comparison in comparisons {
            let medians = try measure(comparison.candidates, roundCount: 41)
            for index in 1..<comparison.candidates.count {
                let ratio = medians[index] / medians[0]
                let cells = [
                    comparison.name, comparison.candidates[0].name, comparison.candidates[index].name,
                    rounded(medians[0]), rounded(medians[index]), rounded(ratio), rounded(comparison.goal),
                    String(comparison.candidates[0].callCount),
                ]
                print("| " + cells.joined(separator: " | ") + " |")
            }
        }
    }

    /// The median time of a call in microseconds, for each candidate.
    static func measure(_ candidates: [Candidate], roundCount: Int) throws -> [Double] {
        var times = candidates.map { _ in [Double]() }
        for _ in 0..<roundCount {
            for (index, candidate) in candidates.enumerated() {
                let start = processorMicroseconds()
                for _ in 0..<candidate.callCount { try candidate.body() }
                times[index].append((processorMicroseconds() - start) / Double(candidate.callCount))
            }
        }
        return times.map { $0.sorted()[roundCount / 2] }
    }

    private static func processorMicroseconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    private static func rounded(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }

    private static func secureCell() throws -> [Comparison] {
        try [(1 << 10, "1 KiB", 1_000, 0.3), (1 << 20, "1 MiB", 10, 0.9)].flatMap { byteCount, size, callCount, goal in
            let cell = try SecureCell(key: SecureCell.generateKey())
            let plaintext = [UInt8](repeating: 3, count: byteCount)
            var output = [UInt8](repeating: 0, count: byteCount + SecureCell.overheadByteCount)
            let sealed = try cell.seal(plaintext)
            let bare = BareAEAD("AES-256-GCM", byteCount: byteCount)
            let yardsticks = [
                Candidate(name: "AES-256-GCM, key and nonce", callCount: callCount) { bare.seal(withNewKey: true) },
                Candidate(name: "AES-256-GCM, nonce only", callCount: callCount) { bare.seal(withNewKey: false) },
            ]
            return [
                Comparison(
                    name: "Secure Cell Seal, \(size)", goal: goal,
                    candidates: [
                        Candidate(name: "seal, new array", callCount: callCount) { _ = try cell.seal(plaintext) }
                    ] + yardsticks),
                Comparison(
                    name: "Secure Cell Seal, \(size)", goal: goal,
                    candidates: [
                        Candidate(name: "seal into a buffer", callCount: callCount) {
                            var elements = output.mutableSpan
                            var span = unsafe elements.mutableBytes
                            try unsafe cell.seal(plaintext.span.bytes, context: RawSpan(), into: &span)
                        }
                    ] + yardsticks),
                Comparison(
                    name: "Secure Cell Seal, \(size)", goal: goal,
                    candidates: [
                        Candidate(name: "open", callCount: callCount) { _ = try cell.open(sealed) }
                    ] + yardsticks),
            ]
        }
    }

    private static func ecies() throws -> [Comparison] {
        try [(Curve.p256, 40), (.p384, 4), (.p521, 10)].flatMap { curve, callCount in
            let key = try SoftwareCurveKey.generate(curve)
            let plaintext = [UInt8](repeating: 3, count: 100)
            let message = try key.publicKey.encrypt(plaintext)
            let point = key.publicKey.x963Representation
            let bare = BareCurve(curve.rawValue)
            return [
                Comparison(
                    name: "ECIES, \(curve.rawValue)", goal: 0.9,
                    candidates: [
                        Candidate(name: "import and seal 100 B", callCount: callCount) {
                            _ = try CurvePublicKey(x963Representation: point).encrypt(plaintext)
                        },
                        Candidate(name: "generate, import, ECDH", callCount: callCount) {
                            bare.sealing(isPeerChecked: true)
                        },
                        Candidate(name: "the same, point checked once", callCount: callCount) {
                            bare.sealing(isPeerChecked: false)
                        },
                    ]),
                Comparison(
                    name: "ECIES, \(curve.rawValue)", goal: 0.9,
                    candidates: [
                        Candidate(name: "open 100 B", callCount: callCount) { _ = try key.decrypt(message) },
                        Candidate(name: "import, ECDH", callCount: callCount) { bare.opening(isPeerChecked: true) },
                        Candidate(name: "the same, point checked once", callCount: callCount) {
                            bare.opening(isPeerChecked: false)
                        },
                    ]),
            ]
        }
    }

    private static func noise() throws -> [Comparison] {
        try NoiseCipher.allCases.flatMap { cipher in
            let session = try makeSession(cipher)
            let byteCount = NoiseSender.plaintextByteCountMax
            let plaintext = [UInt8](repeating: 3, count: byteCount)
            var buffer = [UInt8](repeating: 3, count: NoiseHandshake.messageByteCountMax)
            let bare = BareAEAD(
                cipher == .aesGCM ? "AES-256-GCM" : "ChaCha20-Poly1305", byteCount: byteCount)
            let yardstick = Candidate(name: "bare AEAD, nonce only", callCount: 50) { bare.seal(withNewKey: false) }
            return [
                Comparison(
                    name: "Noise \(cipher.rawValue), 65,519 B", goal: 0.9,
                    candidates: [
                        Candidate(name: "encrypt, new array", callCount: 50) {
                            _ = try session.sender.encrypt(plaintext)
                        }, yardstick,
                    ]),
                Comparison(
                    name: "Noise \(cipher.rawValue), 65,519 B", goal: 0.9,
                    candidates: [
                        Candidate(name: "encrypt in place", callCount: 50) {
                            var elements = buffer.mutableSpan
                            var span = unsafe elements.mutableBytes
                            try session.sender.encryptInPlace(&span)
                        }, yardstick,
                    ]),
            ]
        }
    }

    private static func makeSession(_ cipher: NoiseCipher) throws -> NoiseSession {
        let noiseProtocol = NoiseProtocol(.nnPSK0, cipher)
        let psk = [UInt8](repeating: 1, count: 32)
        let initiator = try NoiseHandshake(noiseProtocol, role: .initiator, preSharedKey: psk)
        let responder = try NoiseHandshake(noiseProtocol, role: .responder, preSharedKey: psk)
        _ = try responder.readMessage(initiator.writeMessage())
        _ = try initiator.readMessage(responder.writeMessage())
        return try initiator.makeSession()
    }
}
