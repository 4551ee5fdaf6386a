// What storage asks who knows what values mean. The one thing to keep true: the answer depends on the
// arguments alone, or devices that merge the same would disagree.

/// Merges values that two devices wrote at the same time, where more can be done than to keep both.
package protocol ValueMergeRule {
    /// Whether values under the key are put together by `merge`.
    func mergesValues(under key: FactKey) -> Bool

    /// The value that has both changes, or nil if they contradict each other: then both are kept.
    ///
    /// - Parameters:
    ///   - base: what both grew from.
    ///   - first: of the commit with the lower name.
    func merge(base: [UInt8], _ first: [UInt8], _ second: [UInt8]) -> [UInt8]?
}

/// Keeps both values always.
package struct NoValueMerge: ValueMergeRule {
    package init() {}

    package func mergesValues(under key: FactKey) -> Bool { false }
    package func merge(base: [UInt8], _ first: [UInt8], _ second: [UInt8]) -> [UInt8]? { nil }
}
