// Context Imprint on bare bytes. It authenticates nothing, which its callers must say wherever they offer it.

internal import CoffretBase
internal import CoffretCrypto

/// `AES-256-CTR` under a key and a counter block that are both derived. Spec: Spec/interop-themis.md §5.
enum ContextImprint {
    /// Encrypts or decrypts, which is the same. Key, context and data must not be empty.
    static func apply(to data: RawSpan, key: RawSpan, context: RawSpan) throws(InteropError) -> [UInt8] {
        try unsafe makeBytes(byteCount: data.byteCount) { (output) throws(InteropError) in
            try unsafe withSecretScratch(byteCount: 64) { (scratch) throws(InteropError) in
                let aesKey = unsafe scratch.part(0..<32)
                let counterBlock = unsafe scratch.part(32..<64)
                // The context is no part of the first derivation, and the second is keyed with its result.
                unsafe SoterKDF.derive(
                    key: key, label: .messageKey, messageByteCount: UInt32(data.byteCount), context: RawSpan(),
                    into: aesKey)
                unsafe SoterKDF.derive(
                    key: UnsafeRawBufferPointer(aesKey).bytes, label: .initializationVector, context: context,
                    into: counterBlock)
                try translatingErrors(
                    unsafe data.withUnsafeBytes { (data) throws(CryptoError) in
                        try unsafe AESCTR.apply(
                            to: data, key: UnsafeRawBufferPointer(aesKey).bytes,
                            counterBlock: UnsafeRawBufferPointer(counterBlock).part(0..<16).bytes, into: output)
                    })
            }
        }
    }
}
