// Between the errors of hardware and those of keys.

internal import CoffretKeys

/// Why a key store's call failed, on its way to the `KeyError` that callers branch on.
struct KeyStoreFailure: Error {
    let keyError: KeyError

    init(_ error: KeyError) {
        keyError = error
    }

    /// A wrong PIN is what a wrong passphrase is; everything else keeps its cause.
    init(_ error: KeyStoreError) {
        keyError =
            error.code == .wrongPIN ? KeyError(.unlockFailed, cause: error) : KeyError(.keyStoreFailed, cause: error)
    }

    static func from<Value: ~Copyable>(_ value: @autoclosure () throws(KeyStoreError) -> Value) throws(KeyStoreFailure)
        -> Value
    {
        do throws(KeyStoreError) {
            return try value()
        } catch {
            throw KeyStoreFailure(error)
        }
    }

    /// The same for several statements.
    static func from<Value: ~Copyable>(_ body: () throws(KeyStoreError) -> Value) throws(KeyStoreFailure) -> Value {
        try from(body())
    }

    static func fromKeys<Value: ~Copyable>(_ value: @autoclosure () throws(KeyError) -> Value) throws(KeyStoreFailure)
        -> Value
    {
        do throws(KeyError) {
            return try value()
        } catch {
            throw KeyStoreFailure(error)
        }
    }

    /// The same for several statements.
    static func fromKeys<Value: ~Copyable>(_ body: () throws(KeyError) -> Value) throws(KeyStoreFailure) -> Value {
        try fromKeys(body())
    }

    /// For data that no PIN protects: a refusal means that the TPM is not the one that sealed them.
    static func unsealing<Value: ~Copyable>(_ value: @autoclosure () throws(KeyStoreError) -> Value)
        throws(KeyStoreFailure) -> Value
    {
        do throws(KeyStoreError) {
            return try value()
        } catch {
            throw KeyStoreFailure(error.code == .wrongPIN ? KeyStoreError(.keyUnusable) : error)
        }
    }
}
