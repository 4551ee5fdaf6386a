// The common parts of all error types of the package: a stable code, a place, a cause. Invariant: nothing that a layer
// knows is lost on the way to `--verbose`.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretBridge
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretHistory
internal import CoffretImportExport
internal import CoffretInterop
internal import CoffretKeyLog
internal import CoffretKeys
internal import CoffretNet
internal import CoffretPairing
internal import CoffretSQLite
internal import CoffretSSH
internal import CoffretSearch
internal import CoffretSharing
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

/// An error of one of the layers, seen from the command line.
package protocol CodedError: Error {
    /// The stable code, as Spec/errors.md lists it.
    var codeText: String { get }
    var placeText: String? { get }
    var underlying: (any Error)? { get }
}

extension CodedError {
    package var placeText: String? { nil }
    package var underlying: (any Error)? { nil }
}

extension CodedError {
    /// This error and those below it, outermost first.
    package var chain: [any CodedError] {
        var chain: [any CodedError] = [self]
        while let next = chain.last?.underlying as? any CodedError, chain.count < 8 { chain.append(next) }
        return chain
    }

    /// `core.storage at 4f7a… < storage.file.failed < input/output error`.
    package var causeText: String {
        chain.map { error in error.placeText.map { "\(error.codeText) at \($0)" } ?? error.codeText }
            .joined(separator: " < ")
    }
}

/// An error whose code is one of a list.
package protocol ListedError: CodedError {
    associatedtype Code: RawRepresentable<String>
    var code: Code { get }
}

extension ListedError {
    package var codeText: String { code.rawValue }
}

/// An error that says where.
package protocol PlacedError: ListedError {
    var place: String? { get }
}

extension PlacedError {
    package var placeText: String? { place }
}

/// An error that says what is behind it.
package protocol CausedError: ListedError {
    var cause: (any Error)? { get }
}

extension CausedError {
    package var underlying: (any Error)? { cause }
}

extension CoreError: PlacedError, CausedError {}
extension StorageError: PlacedError, CausedError {}
extension HistoryError: PlacedError, CausedError {}
extension CryptoError: PlacedError {}
extension KeyError: PlacedError, CausedError {}
extension KeyStoreError: PlacedError {}
extension SQLiteError: ListedError {}
extension NetError: PlacedError {}
extension InteropError: PlacedError {}
extension SSHError: PlacedError {}
extension HTTPError: PlacedError {}
extension PairingError: ListedError {}
extension RemoteError: PlacedError {}
extension AccountError: PlacedError, CausedError {}
extension SharingError: PlacedError {}
extension SyncError: PlacedError, CausedError {}
extension KeyLogError: PlacedError {}

extension FileSystemError: ListedError {
    package var placeText: String? { place }
    package var underlying: (any Error)? { errorNumber == 0 ? nil : SystemFailure(number: errorNumber) }
}

extension SystemFailure: CodedError {
    package var codeText: String { message }
}

extension ImportExportError: CausedError {
    /// The file at fault, as the person knows it, says more than a technical place.
    package var placeText: String? { subject ?? place }
}

extension SearchError: ListedError {
    package var underlying: (any Error)? { cause }
    package var placeText: String? { byteOffset.map { "byte \($0)" } ?? reason?.rawValue }
}

extension OperationError: PlacedError {}
extension BridgeError: PlacedError {}

extension WireError: ListedError {
    package var placeText: String? { place ?? byteOffset.map { "byte \($0)" } }
}

extension MemberError: ListedError {
    package var placeText: String? { "link \(sequenceNumber)" }
}

extension TrustError: ListedError {
    package var placeText: String? { sequenceNumber.map { "link \($0)" } }
}
