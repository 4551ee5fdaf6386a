// Sealing and hashing through the Swift layer, against loops in C over the same libraries, in turn.

import CBenchPeers
import CoffretBase
import CoffretCrypto

enum CryptoBench {
    private static let roundCount = 15
    /// Bytes that one round pushes through, so that short and long messages get the same time.
    private static let roundByteCount = 32 << 20

    static func run(_ arguments: [String]) {
        print(row(["what", "message", "C MB/s", "Swift MB/s", "Swift / C, median of rounds"]))
        print(row(["---", "---", "---", "---", "---"]))
        for byteCount in [1 << 10, 4 << 10, 64 << 10, 1 << 20] {
            secretBox(byteCount)
            xchacha(byteCount)
            blake2b(byteCount)
        }
        address()
    }

    /// Buffers at the same alignment for both sides: libsodium's speed depends on it by a third.
    @safe private final class Buffers {
        let message: UnsafeMutableRawBufferPointer
        let output: UnsafeMutableRawBufferPointer

        init(_ byteCount: Int) {
            unsafe message = .allocate(byteCount: byteCount, alignment: 64)
            unsafe output = .allocate(byteCount: byteCount + 64, alignment: 64)
            for index in 0..<byteCount { unsafe message[index] = UInt8(truncatingIfNeeded: index &* 31) }
        }

        deinit {
            unsafe message.deallocate()
            unsafe output.deallocate()
        }
    }

    private static func compare(_ name: String, _ byteCount: Int, c: (Int) -> Void, swift: (Int) -> Void) {
        let count = max(1, roundByteCount / byteCount)
        c(count / 8 + 1)
        swift(count / 8 + 1)
        var ratios: [Double] = []
        var cSpeeds: [Double] = []
        var swiftSpeeds: [Double] = []
        for round in 0..<roundCount {
            // The order alternates, so that a drift of the machine does not favour one side.
            let first = measureSeconds { if round % 2 == 0 { c(count) } else { swift(count) } }
            let second = measureSeconds { if round % 2 == 0 { swift(count) } else { c(count) } }
            let (cSeconds, swiftSeconds) = round % 2 == 0 ? (first, second) : (second, first)
            ratios.append(cSeconds / swiftSeconds)
            cSpeeds.append(Double(count * byteCount) / cSeconds / 1e6)
            swiftSpeeds.append(Double(count * byteCount) / swiftSeconds / 1e6)
        }
        print(
            row([
                name, "\(byteCount) B", decimal(Samples(cSpeeds).median, 0), decimal(Samples(swiftSpeeds).median, 0),
                decimal(Samples(ratios).median, 3),
            ]))
    }

    private static func secretBox(_ byteCount: Int) {
        let buffers = Buffers(byteCount)
        let key = BlobKey.generate(from: SystemRandomSource())
        compare("secretbox seal", byteCount) { count in
            // EXPOSE: to the C loop, which keeps no copy.
            unsafe key.withUnsafeBytes { key in
                let status = unsafe bench_secretbox(
                    buffers.output.baseAddress!, buffers.message.baseAddress!, byteCount, count, key.baseAddress!)
                precondition(status == 0, "the peer failed")
            }
        } swift: { count in
            var nonce: (UInt64, UInt64, UInt64) = (0, 0, 0)
            for index in 0..<count {
                nonce.0 = UInt64(index)
                unsafe withUnsafeBytes(of: &nonce) { nonce in
                    unsafe SecretBox.seal(
                        UnsafeRawBufferPointer(buffers.message), key: key, nonce: nonce,
                        into: UnsafeMutableRawBufferPointer(rebasing: buffers.output[..<(byteCount + 16)]))
                }
            }
        }
    }

    private static func xchacha(_ byteCount: Int) {
        let buffers = Buffers(byteCount)
        let key = BlobKey.generate(from: SystemRandomSource())
        compare("XChaCha20-Poly1305 seal", byteCount) { count in
            // EXPOSE: to the C loop, which keeps no copy.
            unsafe key.withUnsafeBytes { key in
                let status = unsafe bench_xchacha20poly1305(
                    buffers.output.baseAddress!, buffers.message.baseAddress!, byteCount, count, key.baseAddress!)
                precondition(status == 0, "the peer failed")
            }
        } swift: { count in
            var nonce: (UInt64, UInt64, UInt64) = (0, 0, 0)
            // EXPOSE: to the cipher.
            unsafe key.withUnsafeBytes { key in
                for index in 0..<count {
                    nonce.0 = UInt64(index)
                    unsafe withUnsafeBytes(of: &nonce) { nonce in
                        unsafe XChaCha20Poly1305.seal(
                            UnsafeRawBufferPointer(buffers.message), key: key, nonce: nonce,
                            associatedData: UnsafeRawBufferPointer(start: nil, count: 0),
                            ciphertext: UnsafeMutableRawBufferPointer(rebasing: buffers.output[..<byteCount]),
                            tag: UnsafeMutableRawBufferPointer(rebasing: buffers.output[byteCount..<(byteCount + 16)]))
                    }
                }
            }
        }
    }

    private static func blake2b(_ byteCount: Int) {
        let buffers = Buffers(byteCount)
        compare("BLAKE2b-256", byteCount) { count in
            let status = unsafe bench_blake2b(
                buffers.output.baseAddress!, buffers.message.baseAddress!, byteCount, count)
            precondition(status == 0, "the peer failed")
        } swift: { count in
            for _ in 0..<count {
                unsafe BLAKE2b.hash(
                    UnsafeRawBufferPointer(buffers.message),
                    into: UnsafeMutableRawBufferPointer(rebasing: buffers.output[..<32]))
            }
        }
    }

    private static func address() {
        let cipher = AddressCipher(AddressKey.generate(from: SystemRandomSource()))
        let buffers = Buffers(32)
        let count = 200_000
        let samples = Samples(
            (0..<roundCount).map { _ in
                measureSeconds {
                    for _ in 0..<count {
                        unsafe cipher.encipher(
                            UnsafeRawBufferPointer(buffers.message),
                            into: UnsafeMutableRawBufferPointer(rebasing: buffers.output[..<32]))
                    }
                }
            })
        print(
            row([
                "address (AES-128-CBC)", "32 B", "-", "\(decimal(samples.median / Double(count) * 1e9, 0)) ns each",
                "-",
            ]))
    }
}
