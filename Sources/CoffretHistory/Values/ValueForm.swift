// How values are stored. The one thing to keep true: the form is the first stored byte, and everybody keeps the bytes of
// who wrote first (Z2).

package import CoffretStorage

/// The first byte of a stored value.
///
///     0    the bytes
///     1    v size ‖ zstd frame
///     2    v size ‖ name of the base (32) ‖ zstd frame with the base as prefix
///
/// Spec: Spec/history.md section 14.
package enum ValueForm: UInt8, Sendable {
    case plain = 0
    case compressed = 1
    case delta = 2

    static let greatest = ValueForm.delta.rawValue
}

/// Bounds of section 14.
package enum ValueLimits {
    /// Bytes of a value, whatever its form.
    package static let byteCountMax = FactLimits.valueByteCountMax
    /// Bytes of a value of form 2, and of its base's value.
    package static let deltaByteCountMax = 1 << 20
    /// A value has at most so many bytes for each stored one, its base's included, and so many more.
    package static let ratioMax = 64
    package static let ratioAllowance = 4_096
    /// The window of a frame.
    static let windowLogMax: UInt8 = 24
    /// Stored bytes of a base; shorter values lie in leaves, where nobody finds them by a name.
    package static let baseByteCountMin = FactLimits.inlineValueByteCountMax + 1
    /// Texts up to this size stay as they are.
    package static let plainByteCountMax = 256

    /// Whether a value of `byteCount` bytes may come of so many stored ones.
    static func allows(_ byteCount: Int, ofStored storedByteCount: Int) -> Bool {
        byteCount <= ratioMax * storedByteCount + ratioAllowance
    }
}

/// An older value of the same key, stored whole, that a delta may refer to.
package struct ValueBase: Sendable {
    /// Of its blob, or of the list of its pieces, as facts name it.
    package let name: BlobName
    /// The stored value: form 0 or 1, at least 513 bytes, of a value of at most 1 MiB.
    package let stored: [UInt8]

    /// - Returns: nil for what is no base (Z3).
    package init?(name: BlobName, stored: [UInt8]) {
        guard stored.count >= ValueLimits.baseByteCountMin, let first = stored.first,
            first == ValueForm.plain.rawValue || first == ValueForm.compressed.rawValue,
            StoredValueHead(stored)?.byteCount ?? (stored.count - 1) <= ValueLimits.deltaByteCountMax
        else { return nil }
        self.name = name
        self.stored = stored
    }

    /// The name of the base for what follows a value under its key: the value's own, or that of the base which it has.
    ///
    /// - Parameter stored: the value that stands now.
    /// - Parameter name: of its blob or list; nil for a value in place.
    package static func name(behind stored: [UInt8], name: BlobName?) -> BlobName? {
        guard let first = stored.first, let form = ValueForm(rawValue: first) else { return nil }
        switch form {
        case .plain, .compressed: return stored.count >= ValueLimits.baseByteCountMin ? name : nil
        case .delta: return StoredValueHead(stored)?.base
        }
    }
}
