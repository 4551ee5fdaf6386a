// Keys that a TPM keeps while nobody uses them. Invariant: they are sealed under a root that the TPM forgets when the
// machine starts anew, so that an image of the memory opens with this machine, as it runs, alone.

package import CoffretBase
package import CoffretKeys

/// Seals a key in the TPM's null hierarchy, whose seed is new after every start.
///
/// Spec: Spec/agent.md. Source: TPM 2.0 Library part 1, section 14.5 (null hierarchy).
package struct TPMIdleWrapping: IdleWrapping {
    private let transport: TPMTransport
    private let limit: Duration?

    /// - Parameter limit: how long a call may take; the person waits for it. Without one no thread is started.
    package init(transport: TPMTransport, limit: Duration? = .seconds(10)) {
        self.transport = transport
        self.limit = limit
    }

    package func wrap(_ secret: borrowing SecretBytes) throws(KeyStoreError) -> [UInt8] {
        let secret = Lent(secret.duplicate())
        return try perform { connection throws(KeyStoreError) in try connection.sealOpen(secret.bytes).bytes }
    }

    package func unwrap(_ wrapped: [UInt8]) throws(KeyStoreError) -> SecretBytes {
        let opened = try perform { connection throws(KeyStoreError) in
            let nothing = unsafe SecretBytes(byteCount: 0) { _ in }
            return Lent(try connection.unseal(TPMKeyBlob(bytes: wrapped), authorization: nothing))
        }
        return opened.bytes.duplicate()
    }

    package var onCallingThread: any IdleWrapping { TPMIdleWrapping(transport: transport, limit: nil) }

    /// For closures, which cannot own what cannot be copied.
    private final class Lent: Sendable {
        let bytes: SecretBytes

        init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
    }

    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (TPMConnection) throws(KeyStoreError) -> Value
    ) throws(KeyStoreError) -> Value {
        let transport = transport
        guard let limit else { return try body(TPMConnection(transport: transport, hierarchy: .untilRestart)) }
        return try LimitedCall.run(limit: limit) { () throws(KeyStoreError) in
            try body(TPMConnection(transport: transport, hierarchy: .untilRestart))
        }
    }
}
