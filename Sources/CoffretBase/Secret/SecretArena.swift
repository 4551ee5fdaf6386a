// Where secrets lie: many in each locked page. Invariant: a piece is zeroed before it is anybody else's, and the bytes
// behind a secret are looked at before its piece is given back.

internal import CSodium
internal import Glibc

/// The locked memory of this process.
///
/// Pieces of one size share regions of pages, so that many secrets take few mappings, of which the system gives a process
/// some 65,000. Each region is locked against swapping, as far as the process may lock memory, left out of core dumps, and
/// lies between two pages that nobody can touch. Behind each secret, up to the end of its piece, stand bytes that nobody
/// outside knows; who wrote over them is found out when the secret goes, and ends the process.
enum SecretArena {
    private struct State {
        var regions: [ObjectIdentifier: SecretRegion] = [:]
        /// Those with room, by size of their pieces.
        var open: [[SecretRegion]] = Array(repeating: [], count: roomsByteCounts.count)
    }

    /// How many bytes of a secret fit into a piece. Longer secrets have a region of their own.
    private static let roomsByteCounts = [32, 64, 128, 256, 512, 1024, 2048, 4096]
    static let sealByteCount = 16
    /// The first region of a size, and the others.
    private static let firstByteCount = 16 << 10
    private static let nextByteCount = 256 << 10

    private static let state = ForkSafeLock(State())

    /// A piece for a secret, zeroed.
    ///
    /// - Returns: nil if the system has no memory left.
    static func take(byteCount: Int) -> SecretPiece? {
        state.withLock { state in
            guard let size = roomsByteCounts.firstIndex(where: { byteCount <= $0 }) else {
                let whole = (byteCount + sealByteCount + 15) & ~15
                guard let region = SecretRegion(pieceByteCount: whole, byteCount: whole) else { return nil }
                state.regions[ObjectIdentifier(region)] = region
                return region.take(byteCount: byteCount, size: nil)
            }
            if state.open[size].isEmpty {
                let piece = roomsByteCounts[size] + sealByteCount
                let isFirst = !state.regions.values.contains { $0.pieceByteCount == piece }
                guard
                    let region = SecretRegion(
                        pieceByteCount: piece, byteCount: isFirst ? firstByteCount : nextByteCount)
                else { return nil }
                state.regions[ObjectIdentifier(region)] = region
                state.open[size].append(region)
            }
            let last = state.open[size].count - 1
            let region = state.open[size][last]
            let piece = region.take(byteCount: byteCount, size: size)
            if region.isFull { state.open[size].removeLast() }
            return piece
        }
    }

    /// Zeroes a piece for its next owner.
    static func giveBack(_ piece: SecretPiece) {
        state.withLock { state in
            let region = piece.region
            let wasFull = region.isFull
            region.giveBack(piece)
            guard let size = piece.size else {
                state.regions[ObjectIdentifier(region)] = nil
                return
            }
            if wasFull { state.open[size].append(region) }
            guard region.isEmpty, state.open[size].count > 1 else { return }
            state.open[size].removeAll { $0 === region }
            state.regions[ObjectIdentifier(region)] = nil
        }
    }

    /// Locks again what a process has from the one that forked it: locks are not inherited.
    static func lockAgain() {
        state.withLock { state in
            for region in state.regions.values { region.lock() }
        }
    }
}

/// A piece of a region, and its owner's until it is given back.
@safe struct SecretPiece {
    let start: UnsafeMutableRawPointer
    let byteCount: Int
    fileprivate let region: SecretRegion
    fileprivate let index: Int
    fileprivate let size: Int?
}

/// Locked pages between two that nobody can touch.
///
/// SAFETY: the lists are touched while the arena's mutex is held; each piece is its owner's alone.
@safe private final class SecretRegion: @unchecked Sendable {
    let pieceByteCount: Int
    private let count: Int
    private let pages: UnsafeMutableRawPointer
    private let byteCount: Int
    private let pageByteCount: Int
    /// Against the upper end, so that what runs over the last piece meets the page behind it.
    private let first: UnsafeMutableRawPointer
    private var free: [Int]

    /// The bytes that stand behind secrets, the same all over this process.
    private static let seal: [UInt8] = {
        var bytes = [UInt8](repeating: 0, count: SecretArena.sealByteCount)
        unsafe randombytes_buf(&bytes, bytes.count)
        return bytes
    }()

    /// - Parameter byteCount: is filled up to whole pages.
    init?(pieceByteCount: Int, byteCount: Int) {
        precondition(sodium_init() >= 0, "libsodium cannot be initialised")
        let page = sysconf(Int32(_SC_PAGESIZE))
        let inner = (byteCount + page - 1) / page * page
        guard
            let start = unsafe mmap(nil, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            unsafe start != MAP_FAILED
        else { return nil }
        guard unsafe mprotect(start + page, inner, PROT_READ | PROT_WRITE) == 0 else {
            unsafe munmap(start, inner + 2 * page)
            return nil
        }
        unsafe pages = start + page
        self.byteCount = inner
        self.pieceByteCount = pieceByteCount
        pageByteCount = page
        count = inner / pieceByteCount
        unsafe first = pages + (inner - count * pieceByteCount)
        free = Array((0..<count).reversed())
        lock()
    }

    deinit {
        unsafe sodium_munlock(pages, byteCount)
        unsafe munmap(pages - pageByteCount, byteCount + 2 * pageByteCount)
    }

    var isFull: Bool { free.isEmpty }
    var isEmpty: Bool { free.count == count }

    /// Also keeps the pages out of core dumps. A refusal is no reason to keep no secrets; `coffret doctor` tells of it.
    func lock() { _ = unsafe sodium_mlock(pages, byteCount) }

    func take(byteCount: Int, size: Int?) -> SecretPiece {
        let index = free.removeLast()
        let start = unsafe first + index * pieceByteCount
        for offset in byteCount..<pieceByteCount {
            unsafe start.storeBytes(of: Self.seal[offset % Self.seal.count], toByteOffset: offset, as: UInt8.self)
        }
        return unsafe SecretPiece(start: start, byteCount: byteCount, region: self, index: index, size: size)
    }

    func giveBack(_ piece: SecretPiece) {
        for offset in piece.byteCount..<pieceByteCount {
            let byte = unsafe piece.start.load(fromByteOffset: offset, as: UInt8.self)
            precondition(byte == Self.seal[offset % Self.seal.count], "something wrote behind a secret")
        }
        unsafe sodium_memzero(piece.start, pieceByteCount)
        free.append(piece.index)
    }
}
