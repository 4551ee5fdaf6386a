// A list of passwords that became known, on this disk. Invariant: no byte of a password or of its hash leaves the machine (R45).

internal import CoffretBase
internal import Glibc

/// A sorted file of SHA-1 hashes of passwords, as the downloader of Have I Been Pwned writes it: lines of 40 hexadecimal digits,
/// a colon and how often the password was met. The colon and the number may be missing, and lines may end with CR LF.
///
/// Nothing of the file is kept: a look-up halves what is left of it, some 25 reads for 40 GB.
package struct BreachList {
    private static let digitCount = 40
    private static let lineByteCountMax = 64
    /// What is left is read at once.
    private static let pieceByteCount = 4_096

    /// The caller's, open for reading as long as the list is used.
    private let descriptor: Int32
    private let byteCount: Int

    /// - Parameter descriptor: of a file; stays the caller's.
    /// - Throws: `CoreError.breachListInvalid` if its first lines and its last are no such lines in ascending order.
    package init(descriptor: Int32) throws(CoreError) {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            throw CoreError(.breachListInvalid, at: "it is not a file")
        }
        self.descriptor = descriptor
        byteCount = Int(information.st_size)
        let first = try entries(in: 0..<min(byteCount, Self.pieceByteCount), isCut: byteCount > Self.pieceByteCount)
        let tail = max(0, byteCount - Self.pieceByteCount)
        let start = try tail == 0 ? 0 : lineStart(after: tail)
        let last = try entries(in: start..<byteCount, isCut: false)
        guard !first.isEmpty, !last.isEmpty else { throw CoreError(.breachListInvalid, at: "it is empty") }
        try checkOrder(first)
        try checkOrder(last)
        if tail > 0, !Self.isBefore(first[0].digest, last[0].digest) { throw Self.unsorted }
    }

    /// How often a password occurs in breaches; nil if it is not in the list.
    ///
    /// - Parameter digest: the SHA-1 of the password.
    /// - Throws: `CoreError.breachListInvalid` where the file turns out not to be sorted, or no such list.
    package func count(of digest: [UInt8]) throws(CoreError) -> Int? {
        // Starts of lines, or the end: the hash is at `low` or later, and before `high`.
        var (low, high) = (0, byteCount)
        var bounds: (low: [UInt8]?, high: [UInt8]?) = (nil, nil)
        while high - low > Self.pieceByteCount {
            let start = try lineStart(after: low + (high - low) / 2)
            guard start < high,
                let entry = try entries(in: start..<min(high, start + Self.lineByteCountMax), isCut: true).first
            else { throw CoreError(.breachListInvalid, at: "byte \(start)") }
            // A file that is sorted otherwise would say of a known password that it is not.
            let isInOrder =
                (bounds.low.map { Self.isBefore($0, entry.digest) } ?? true)
                && (bounds.high.map { Self.isBefore(entry.digest, $0) } ?? true)
            guard isInOrder else { throw Self.unsorted }
            if entry.digest == digest { return entry.count }
            if Self.isBefore(digest, entry.digest) {
                (high, bounds.high) = (start, entry.digest)
            } else {
                (low, bounds.low) = (start, entry.digest)
            }
        }
        let rest = try entries(in: low..<high, isCut: false)
        try checkOrder(rest)
        return rest.first { $0.digest == digest }?.count
    }

    private static let unsorted = CoreError(.breachListInvalid, at: "it is not sorted by hash")

    private struct Entry {
        let digest: [UInt8]
        let count: Int
    }

    private func checkOrder(_ entries: [Entry]) throws(CoreError) {
        for (left, right) in zip(entries, entries.dropFirst()) where !Self.isBefore(left.digest, right.digest) {
            throw Self.unsorted
        }
    }

    private static func isBefore(_ left: [UInt8], _ right: [UInt8]) -> Bool { left.lexicographicallyPrecedes(right) }

    /// Where the line begins that follows the one at a place.
    private func lineStart(after place: Int) throws(CoreError) -> Int {
        let bytes = try read(place..<min(byteCount, place + Self.lineByteCountMax))
        if let end = bytes.firstIndex(of: 0x0A) { return place + end + 1 }
        guard place + Self.lineByteCountMax >= byteCount else {
            throw CoreError(.breachListInvalid, at: "byte \(place)")
        }
        return byteCount
    }

    /// The entries of whole lines.
    ///
    /// - Parameter isCut: whether the last line may go on behind the range; it is left out then.
    private func entries(in range: Range<Int>, isCut: Bool) throws(CoreError) -> [Entry] {
        var lines = try read(range).split(separator: 0x0A, omittingEmptySubsequences: false)
        let rest = lines.removeLast()
        if !isCut, !rest.isEmpty { lines.append(rest) }
        var entries: [Entry] = []
        for line in lines {
            guard let entry = Self.entry(line) else {
                throw CoreError(
                    .breachListInvalid, at: "it has other lines than hashes, from byte \(range.lowerBound) on")
            }
            entries.append(entry)
        }
        return entries
    }

    private static func entry(_ line: ArraySlice<UInt8>) -> Entry? {
        let line = line.last == 0x0D ? line.dropLast() : line
        let hash = line.prefix(digitCount)
        guard hash.count == digitCount, let digest = try? Hex.decode(String(decoding: hash, as: UTF8.self).lowercased())
        else { return nil }
        let rest = line.dropFirst(digitCount)
        if rest.isEmpty { return Entry(digest: digest, count: 1) }
        guard rest.first == 0x3A, let count = Int(String(decoding: rest.dropFirst(), as: UTF8.self)), count >= 0 else {
            return nil
        }
        return Entry(digest: digest, count: count)
    }

    private func read(_ range: Range<Int>) throws(CoreError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe pread(
                    descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(range.lowerBound + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw CoreError(.inputOutput, at: "the list of breached passwords") }
            done += count
        }
        return bytes
    }
}
