// What all error types of the package have in common: a stable code, a place, a cause. The one thing
// to keep true: nothing of what a layer knows is lost on the way to `--verbose`.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretImportExport
internal import CoffretInterop
internal import CoffretKeys
internal import CoffretNet
internal import CoffretPairing
internal import CoffretSQLite
internal import CoffretSSH
internal import CoffretSearch
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTrust
internal import CoffretWire

/// An error of one of the layers, seen from the command line.
protocol CodedError: Error {
    /// The stable code, as Spec/errors.md lists it.
    var codeText: String { get }
    var placeText: String? { get }
    var underlying: (any Error)? { get }
}

extension CoreError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { cause }
}

extension StorageError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { cause }
}

extension FileSystemError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { errorNumber == 0 ? nil : SystemFailure(number: errorNumber) }
}

extension CryptoError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { nil }
}

extension SystemFailure: CodedError {
    var codeText: String { message }
    var placeText: String? { nil }
    var underlying: (any Error)? { nil }
}

extension CodedError {
    /// This error and those below it, outermost first.
    var chain: [any CodedError] {
        var chain: [any CodedError] = [self]
        while let next = chain.last?.underlying as? any CodedError, chain.count < 8 { chain.append(next) }
        return chain
    }

    /// `core.storage at 4f7a… < storage.file.failed < input/output error`.
    var causeText: String {
        chain.map { error in error.placeText.map { "\(error.codeText) at \($0)" } ?? error.codeText }
            .joined(separator: " < ")
    }
}

extension KeyError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { cause }
}

extension KeyStoreError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { nil }
}

extension ImportExportError: CodedError {
    var codeText: String { code.rawValue }
    /// The file at fault, as the person knows it, says more than a technical place.
    var placeText: String? { subject ?? place }
    var underlying: (any Error)? { cause }
}

extension SearchError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { byteOffset.map { "byte \($0)" } ?? reason?.rawValue }
    var underlying: (any Error)? { cause }
}

extension SQLiteError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { nil }
    var underlying: (any Error)? { nil }
}

extension NetError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { nil }
}

extension WireError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { byteOffset.map { "byte \($0)" } }
    var underlying: (any Error)? { nil }
}

extension InteropError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { nil }
}

extension SSHError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { nil }
}

extension TrustError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { sequenceNumber.map { "link \($0)" } }
    var underlying: (any Error)? { nil }
}

extension HTTPError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { nil }
}

extension PairingError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { nil }
    var underlying: (any Error)? { nil }
}

extension AccountError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { cause }
}

extension SyncError: CodedError {
    var codeText: String { code.rawValue }
    var placeText: String? { place }
    var underlying: (any Error)? { cause }
}
