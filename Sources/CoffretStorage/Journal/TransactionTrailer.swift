// The end of a transaction. The one thing to keep true: a transaction exists if and only if its
// trailer verifies over all of its bytes; there is no other sign of completeness.

internal import CoffretBase
internal import CoffretCrypto

/// Ends a transaction, numbers it, and says what the repository's state is from then on.
///
/// Layout of the record: length (4) ‖ kind (1) ‖ sequence (8) ‖ byte count of the transaction's
/// records before this one (4) ‖ state form (1) ‖ record offset (4) ‖ code (16) = 38 bytes. The code
/// covers every byte from the transaction's first record to the record offset above.
struct TransactionTrailer: Equatable, Sendable {
    /// How the new state is told.
    enum State: UInt8, Sendable {
        /// The record at the offset is a blob of type `repositoryState`.
        case full = 1
        /// The record at the offset is a commit: the only head from now on, and the last of the tail. In a store of logs it
        /// is an entry, which is the last of the entries.
        /// This is what an ordinary commit costs: nothing but the reference.
        case appendedHead = 2
        /// The record at the offset is a blob of type `repositoryState` that says what changes in the state; in a store of
        /// logs, one of type `syncMemory` with the memory of the sync.
        case changed = 3
    }

    static let payloadByteCount = 33
    static let byteCount = RecordHeader.byteCount + payloadByteCount

    let sequence: UInt64
    let recordsByteCount: Int
    let state: State
    /// Of the record that `state` speaks of, from the start of the transaction.
    let stateRecordOffset: Int

    /// Appends the trailer to `transaction`, which holds all of its records from `start` on.
    static func append(
        to transaction: inout [UInt8], start: Int, sequence: UInt64, state: State, stateRecordOffset: Int,
        salt: [UInt8], authenticator: JournalAuthenticator
    ) {
        let recordsByteCount = transaction.count - start
        RecordHeader.append(.trailer, payloadByteCount: payloadByteCount, to: &transaction)
        transaction.appendBigEndian(sequence)
        transaction.appendBigEndian(UInt32(recordsByteCount))
        transaction.append(state.rawValue)
        transaction.appendBigEndian(UInt32(stateRecordOffset))
        let code = authenticator.code(ofArray: transaction[start...], salt: salt, purpose: .transaction)
        transaction.append(contentsOf: code)
    }

    /// Reads a trailer at `offset` without verifying its code; nil if the bytes are none.
    static func parse(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> TransactionTrailer? {
        guard offset >= 0, bytes.count - offset >= byteCount,
            unsafe bytes.loadBigEndian(UInt32.self, at: offset) == UInt32(payloadByteCount),
            unsafe bytes[offset + 4] == RecordKind.trailer.rawValue,
            let state = unsafe State(rawValue: bytes[offset + 17])
        else { return nil }
        return unsafe TransactionTrailer(
            sequence: bytes.loadBigEndian(UInt64.self, at: offset + 5),
            recordsByteCount: Int(bytes.loadBigEndian(UInt32.self, at: offset + 13)),
            state: state,
            stateRecordOffset: Int(bytes.loadBigEndian(UInt32.self, at: offset + 18)))
    }

    /// Whether the code of the trailer at `offset` is right for the `recordsByteCount` bytes before it.
    func isValid(
        in bytes: UnsafeRawBufferPointer, at offset: Int, salt: [UInt8], authenticator: JournalAuthenticator
    ) -> Bool {
        guard recordsByteCount <= offset, stateRecordOffset < recordsByteCount else { return false }
        let codeOffset = offset + Self.byteCount - JournalAuthenticator.codeByteCount
        return unsafe authenticator.isValid(
            UnsafeRawBufferPointer(rebasing: bytes[codeOffset..<codeOffset + JournalAuthenticator.codeByteCount]),
            of: UnsafeRawBufferPointer(rebasing: bytes[(offset - recordsByteCount)..<codeOffset]),
            salt: salt, purpose: .transaction)
    }
}
