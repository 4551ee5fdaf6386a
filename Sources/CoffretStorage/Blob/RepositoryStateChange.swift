// What a transaction changes in the state, where that is little (`Spec/journal.md`). The one thing to keep true: applied
// to the state of the transaction before, it gives exactly the state that the writer had.

internal import CoffretBase

/// Commits that the tail gains, and the places of the annotation that change.
///
/// Layout: version 2 (1) ‖ count (4) ‖ commits ‖ count (2) ‖ edits, ascending; edit = offset in the annotation of before
/// (2) ‖ removed bytes (2) ‖ inserted bytes (2) ‖ these. The last commit, if there is one, is the only head from then on.
struct RepositoryStateChange: Equatable, Sendable {
    struct Edit: Equatable, Sendable {
        let byteOffset: Int
        let removedByteCount: Int
        let inserted: ArraySlice<UInt8>
    }

    static let formatVersion: UInt8 = 2
    /// Equal bytes between two edits, up to this many, cost less than another edit.
    private static let joinedByteCount = 6

    let appended: [BlobName]
    let edits: [Edit]

    private init(appended: [BlobName], edits: [Edit]) {
        self.appended = appended
        self.edits = edits
    }

    /// The difference, if nothing else has changed and telling it is shorter than the whole.
    init?(from earlier: RepositoryState, to state: RepositoryState) {
        guard state.goesOn(from: earlier), state.keyringGeneration == earlier.keyringGeneration,
            max(state.annotation.count, earlier.annotation.count) <= Int(UInt16.max)
        else { return nil }
        appended = Array(state.tailCommits.dropFirst(earlier.tailCommits.count))
        edits = Self.edits(from: earlier.annotation, to: state.annotation)
        guard edits.count <= Int(UInt16.max) else { return nil }
    }

    private static func edits(from old: [UInt8], to new: [UInt8]) -> [Edit] {
        let shorter = min(old.count, new.count)
        var prefix = 0
        while prefix < shorter, old[prefix] == new[prefix] { prefix += 1 }
        if prefix == old.count, prefix == new.count { return [] }
        var suffix = 0
        while suffix < shorter - prefix, old[old.count - 1 - suffix] == new[new.count - 1 - suffix] { suffix += 1 }
        guard old.count == new.count else {
            return [
                Edit(
                    byteOffset: prefix, removedByteCount: old.count - suffix - prefix,
                    inserted: new[prefix..<new.count - suffix])
            ]
        }
        var edits: [Edit] = []
        var index = prefix
        while index < old.count - suffix {
            guard old[index] != new[index] else {
                index += 1
                continue
            }
            var end = index + 1
            var next = end
            while next < old.count - suffix, next - end <= joinedByteCount {
                if old[next] != new[next] { end = next + 1 }
                next += 1
            }
            edits.append(Edit(byteOffset: index, removedByteCount: end - index, inserted: new[index..<end]))
            index = end
        }
        return edits
    }

    func encode() -> [UInt8] {
        var bytes: [UInt8] = [Self.formatVersion]
        bytes.appendBigEndian(UInt32(appended.count))
        for name in appended { bytes += name.bytes }
        bytes.appendBigEndian(UInt16(edits.count))
        for edit in edits {
            bytes.appendBigEndian(UInt16(edit.byteOffset))
            bytes.appendBigEndian(UInt16(edit.removedByteCount))
            bytes.appendBigEndian(UInt16(edit.inserted.count))
            bytes += edit.inserted
        }
        return bytes
    }

    /// Reads an encoding; nil if it is none.
    static func parse(_ content: Span<UInt8>) -> RepositoryStateChange? {
        var reader = StateReader(bytes: unsafe content.withUnsafeBufferPointer { unsafe Array($0) })
        guard reader.take(1) == [formatVersion], let appended = reader.names(), let count = reader.number() else {
            return nil
        }
        var edits: [Edit] = []
        for _ in 0..<count {
            guard let offset = reader.number(), let removed = reader.number(), let inserted = reader.number(),
                let bytes = reader.take(inserted)
            else { return nil }
            edits.append(Edit(byteOffset: offset, removedByteCount: removed, inserted: bytes[...]))
        }
        return reader.isAtEnd ? RepositoryStateChange(appended: appended, edits: edits) : nil
    }

    /// The state after the change; nil if it does not fit the one before.
    func applied(to state: RepositoryState) -> RepositoryState? {
        var next = state
        for name in appended { next.append(head: name) }
        var annotation: [UInt8] = []
        var position = 0
        for edit in edits {
            guard edit.byteOffset >= position, edit.byteOffset + edit.removedByteCount <= state.annotation.count else {
                return nil
            }
            annotation += state.annotation[position..<edit.byteOffset]
            annotation += edit.inserted
            position = edit.byteOffset + edit.removedByteCount
        }
        annotation += state.annotation[position...]
        next.annotation = annotation
        return annotation.count <= RepositoryState.annotationByteCountMax ? next : nil
    }
}
