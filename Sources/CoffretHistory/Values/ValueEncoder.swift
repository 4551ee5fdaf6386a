// Which form a text is stored in. The one thing to keep true: the author decides once, by sizes alone; nobody else has to
// come to the same (Z2).

internal import CZstd
internal import CoffretBase
internal import CoffretStorage

/// Writes stored values. Spec: Spec/history.md section 14, Z1 to Z4.
package enum ValueEncoder {
    /// A value that is no text: form 0.
    package static func plain(_ bytes: [UInt8]) -> [UInt8] { [ValueForm.plain.rawValue] + bytes }

    /// The stored value of a text.
    ///
    /// - Parameters:
    ///   - text: an attribute of shape text, and nothing else (Z1): no secret, no locked part, no file.
    ///   - base: the last whole version under the same key, if it is at hand.
    /// - Returns: a delta if it is short enough, else the text compressed if that is shorter by a tenth, else the text.
    /// - Complexity: one compression with a base where the text resembles it, a second one where the delta is too long; none for texts up to 256 bytes.
    package static func text(_ text: [UInt8], base: ValueBase? = nil) -> [UInt8] {
        guard text.count > ValueLimits.plainByteCountMax else { return plain(text) }
        if let base, let delta = delta(text, base: base), isShortEnough(delta.count, text.count, base.stored.count) {
            return delta
        }
        guard let whole = compress(text, prefix: [], head: head(.compressed, text)),
            isWorthwhile(whole.count, text.count)
        else {
            return plain(text)
        }
        return whole
    }

    /// Whether a text is stored compressed: a tenth shorter than plain, and no shorter than readers believe.
    static func isWorthwhile(_ compressedByteCount: Int, _ byteCount: Int) -> Bool {
        10 * compressedByteCount <= 9 * (byteCount + 1)
            && ValueLimits.allows(byteCount, ofStored: compressedByteCount)
    }

    /// Whether a text is stored as a delta: at most an eighth of its base, and no shorter than readers believe.
    static func isShortEnough(_ deltaByteCount: Int, _ byteCount: Int, _ baseByteCount: Int) -> Bool {
        8 * deltaByteCount <= baseByteCount
            && ValueLimits.allows(byteCount, ofStored: deltaByteCount + baseByteCount)
    }

    private static func delta(_ text: [UInt8], base: ValueBase) -> [UInt8]? {
        guard text.count <= ValueLimits.deltaByteCountMax,
            let prefix = try? ValueDecoder.decode(base.stored, place: "", base: { _ in nil }),
            resembles(text, prefix)
        else { return nil }
        return compress(text, prefix: prefix, head: head(.delta, text) + base.name.bytes)
    }

    /// Whether a delta may be short. It must not be made to find that out: most of a text that is another one.
    private static func resembles(_ text: [UInt8], _ prefix: [UInt8]) -> Bool {
        unsafe text.withUnsafeBufferPointer { text in
            unsafe prefix.withUnsafeBufferPointer { prefix in
                unsafe coffret_zstd_resembles(text.baseAddress, text.count, prefix.baseAddress, prefix.count) != 0
            }
        }
    }

    /// form ‖ v size.
    private static func head(_ form: ValueForm, _ text: [UInt8]) -> [UInt8] {
        var head = [form.rawValue]
        Varint.append(UInt64(text.count), to: &head)
        return head
    }

    /// - Returns: nil without libzstd: then values are plain.
    private static func compress(_ text: [UInt8], prefix: [UInt8], head: [UInt8]) -> [UInt8]? {
        let capacity = coffret_zstd_bound(text.count)
        guard capacity > 0 else { return nil }
        var written = 0
        let stored = unsafe [UInt8](unsafeUninitializedCapacity: head.count + capacity) { output, count in
            _ = unsafe output.update(fromContentsOf: head)
            written = unsafe text.withUnsafeBufferPointer { text in
                unsafe prefix.withUnsafeBufferPointer { prefix in
                    unsafe coffret_zstd_compress(
                        text.baseAddress, text.count, prefix.isEmpty ? nil : prefix.baseAddress, prefix.count,
                        output.baseAddress! + head.count, capacity)
                }
            }
            count = written > 0 ? head.count + written : 0
        }
        // The room was for the worst case.
        return written > 0 ? Array(stored[...]) : nil
    }
}
