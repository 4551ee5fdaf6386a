// Locked memory: many secrets in few mappings, zeroed when they go, and what writes past one is found out.

import CoffretBase
import CoffretTestSupport
import Glibc
import Testing

@Suite("Secret memory", .serialized)
struct SecretArenaTests {
    private final class Holder {
        let secret: SecretBytes
        init(_ secret: consuming SecretBytes) { self.secret = secret }
    }

    private static func mappingCount() throws -> Int { try ProcessFiles.lines("/proc/self/maps").count }

    private static func make(_ byteCount: Int, _ byte: UInt8) -> SecretBytes {
        unsafe SecretBytes(byteCount: byteCount) { target in
            for index in 0..<target.count { unsafe target[index] = byte }
        }
    }

    @Test("keys 7: R103: a hundred thousand secrets, of which the system gave mappings to 16,000")
    func many() throws {
        let before = try Self.mappingCount()
        var holders = (0..<100_000).map { Holder(Self.make(32, UInt8(truncatingIfNeeded: $0))) }
        #expect(try Self.mappingCount() - before < 200)
        for index in stride(from: 0, to: holders.count, by: 997) {
            let isWhole = unsafe holders[index].secret.withUnsafeBytes { bytes in
                unsafe bytes.allSatisfy { $0 == UInt8(truncatingIfNeeded: index) }
            }
            #expect(isWhole, "secret \(index)")
        }
        holders = []
        #expect(try Self.mappingCount() - before < 20, "what is free is given back")
    }

    @Test("a secret is zeroed when it goes, and the next in its place starts zeroed")
    func zeroed() async {
        // A process of its own: other tests would take the place meanwhile.
        await #expect(processExitsWith: .success) {
            for byteCount in [0, 1, 32, 33, 4096] {
                // Keeps the region.
                let other = Self.make(byteCount, 7)
                var place = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
                do {
                    let secret = Self.make(byteCount, 0xA5)
                    unsafe place = secret.withUnsafeBytes { unsafe $0 }
                }
                precondition(unsafe place.allSatisfy { $0 == 0 })
                let next = unsafe SecretBytes(byteCount: byteCount) { _ in }
                unsafe next.withUnsafeBytes { bytes in
                    precondition(unsafe bytes.baseAddress == place.baseAddress)
                    precondition(unsafe bytes.allSatisfy { $0 == 0 })
                }
                precondition(unsafe other.withUnsafeBytes { unsafe $0.allSatisfy { $0 == 7 } })
            }
        }
    }

    @Test("sizes around those of pieces, and secrets longer than any piece, keep what they hold apart")
    func sizes() {
        let sizes = [31, 32, 33, 64, 65, 1000, 4095, 4096, 4097, 32 << 10, 1 << 20]
        let holders = (0..<3).flatMap { round in sizes.map { Holder(Self.make($0, UInt8(round + 1))) } }
        for (index, holder) in holders.enumerated() {
            #expect(holder.secret.byteCount == sizes[index % sizes.count])
            #expect(unsafe holder.secret.withUnsafeBytes { unsafe $0.allSatisfy { $0 == index / sizes.count + 1 } })
            let copy = holder.secret.duplicate()
            let isEqual = copy.isEqual(to: holder.secret)
            #expect(isEqual)
        }
    }

    @Test("keys 7: one byte written behind a secret ends the process, wherever in its piece the secret ends")
    func overrun() async {
        await #expect(processExitsWith: .failure) {
            _ = unsafe SecretBytes(byteCount: 20) {
                unsafe $0.baseAddress!.storeBytes(of: 1, toByteOffset: 20, as: UInt8.self)
            }
        }
        await #expect(processExitsWith: .failure) {
            _ = unsafe SecretBytes(byteCount: 32) {
                unsafe $0.baseAddress!.storeBytes(of: 1, toByteOffset: 40, as: UInt8.self)
            }
        }
        // Behind the last piece lies a page that nobody can touch.
        await #expect(processExitsWith: .failure) {
            _ = unsafe SecretBytes(byteCount: 8192) {
                unsafe $0.baseAddress!.storeBytes(of: 1, toByteOffset: 8192 + 16, as: UInt8.self)
            }
        }
        await #expect(processExitsWith: .success) {
            _ = unsafe SecretBytes(byteCount: 20) {
                unsafe $0.baseAddress!.storeBytes(of: 1, toByteOffset: 19, as: UInt8.self)
            }
        }
    }

    @Test("threads take and give back secrets side by side")
    func threads() {
        let workers = (0..<4).map { number in
            WorkerThread {
                for round in 0..<5_000 {
                    let secret = Self.make(32, UInt8(number))
                    let longer = Self.make(round % 300, 0xFF)
                    let isOwn = unsafe secret.withUnsafeBytes { unsafe $0.allSatisfy { $0 == number } }
                    precondition(isOwn && longer.byteCount == round % 300)
                }
            }
        }
        for worker in workers { worker.join() }
    }
}
