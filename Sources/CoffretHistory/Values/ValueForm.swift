// How values are stored. The one thing to keep true: the form is the first stored byte, and everybody keeps the bytes of
// who wrote first (Z2).

/// The first byte of a stored value. Spec: Spec/history.md section 14.
package enum ValueForm {
    /// The bytes.
    static let plain: UInt8 = 0
    /// v size ‖ zstd frame.
    static let compressed: UInt8 = 1
    /// v size ‖ name of the base ‖ zstd frame with the base as prefix.
    static let delta: UInt8 = 2
    static let greatest = delta
}
