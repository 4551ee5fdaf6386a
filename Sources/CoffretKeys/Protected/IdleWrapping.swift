// Keeping a key out of this machine's memory while nobody uses it. Invariant: what `wrap` gives opens on this machine
// and until it is started anew, and nowhere else.

package import CoffretBase

/// Something beside the memory that gives a small secret back: a TPM.
///
/// Calls block, end in time, and may start threads.
package protocol IdleWrapping: Sendable {
    /// - Parameter secret: 32 bytes.
    /// - Throws: `KeyStoreError`
    func wrap(_ secret: borrowing SecretBytes) throws(KeyStoreError) -> [UInt8]
    /// - Throws: `KeyStoreError`: `.unavailable` when nothing answers, `.keyUnusable` after a new start.
    func unwrap(_ wrapped: [UInt8]) throws(KeyStoreError) -> SecretBytes
    /// The same without threads, and so without an end if nothing ever answers.
    var onCallingThread: any IdleWrapping { get }
}
