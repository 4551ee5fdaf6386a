// The one key derivation of Themis. Parts are fed without separators or lengths, as the format has it;
// what keeps them apart is that each use has one part of variable size, and has it last.

internal import CoffretCrypto

/// `HMAC-SHA-256(key, 00 00 00 01 ‖ label ‖ 00 ‖ parts)`, cut to size: one block, never more.
///
/// Spec: Spec/interop-themis.md §2. Vectors: primitives.json.
enum SoterKDF {
    /// The purpose of a derived key.
    struct Label: Sendable {
        /// The counter of the one block, the text, and the separator: what is hashed in one piece.
        let framedBytes: [UInt8]

        init(_ text: String) { framedBytes = [0, 0, 0, 1] + text.utf8 + [0] }

        static let messageKey = Label("Themis secure cell message key")
        static let initializationVector = Label("Themis secure cell message iv")
    }

    /// Derives 32 bytes into `output`; callers take as many of the first ones as they need.
    static func derive(
        key: RawSpan, label: Label, messageByteCount: UInt32? = nil, context: RawSpan,
        into output: UnsafeMutableRawBufferPointer
    ) {
        unsafe HMAC.authenticate(.sha256, key: key, into: output) { hash in
            unsafe hash.update(label.framedBytes.span.bytes)
            if let messageByteCount {
                let number: InlineArray<1, UInt32> = [messageByteCount.littleEndian]
                unsafe hash.update(number.span.bytes)
            }
            hash.update(context)
        }
    }
}
