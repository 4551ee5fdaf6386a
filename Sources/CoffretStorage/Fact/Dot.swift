// Who wrote a fact, and which facts somebody has seen. The one thing to keep true: a dot belongs to
// one commit for ever, so that "was this seen" needs neither a clock nor a common ancestor.

package import CoffretBase

/// The commit that wrote a fact: the writing instance and the commit's number in it (protocol 11).
///
/// An instance is 16 random bytes, made anew whenever a device starts to write from a copied state,
/// so an instance belongs to one device and counts its commits without gaps from 1.
package struct Dot: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let instance: UniqueID
    package let sequence: UInt64

    package init(instance: UniqueID, sequence: UInt64) {
        self.instance = instance
        self.sequence = sequence
    }

    package var description: String { "\(instance.hex):\(sequence)" }

    /// The order in which siblings are stored.
    package static func < (left: Dot, right: Dot) -> Bool {
        left.instance != right.instance ? left.instance < right.instance : left.sequence < right.sequence
    }

    /// Whether a register with both values shows the one of `other`: greatest sequence first, then
    /// instance. No meaning but that all devices choose alike.
    func isShadowed(by other: Dot) -> Bool {
        sequence != other.sequence ? sequence < other.sequence : instance < other.instance
    }
}

/// For each instance, the number of its newest commit among a commit's ancestors and itself.
package struct VersionVector: Equatable, Sendable {
    package private(set) var sequences: [UniqueID: UInt64]

    package init(_ sequences: [UniqueID: UInt64] = [:]) {
        self.sequences = sequences.filter { $0.value > 0 }
    }

    package subscript(instance: UniqueID) -> UInt64 { sequences[instance] ?? 0 }

    package func covers(_ dot: Dot) -> Bool { dot.sequence <= self[dot.instance] }

    /// Whether every commit of `other` is covered.
    package func covers(_ other: VersionVector) -> Bool {
        other.sequences.allSatisfy { self[$0.key] >= $0.value }
    }

    package mutating func advance(_ dot: Dot) {
        sequences[dot.instance] = max(self[dot.instance], dot.sequence)
    }

    package mutating func merge(_ other: VersionVector) {
        sequences.merge(other.sequences) { max($0, $1) }
    }

    package func advanced(by dot: Dot) -> VersionVector {
        var result = self
        result.advance(dot)
        return result
    }

    /// With another number for one instance; 0 for none.
    func with(_ sequence: UInt64, of instance: UniqueID) -> VersionVector {
        var sequences = sequences
        sequences[instance] = sequence
        return VersionVector(sequences)
    }

    /// Instances ascending by their bytes.
    package var sorted: [(instance: UniqueID, sequence: UInt64)] {
        sequences.sorted { $0.key < $1.key }.map { (instance: $0.key, sequence: $0.value) }
    }
}

extension VersionVector {
    static let instanceCountMax = 65_536

    func encode(to encoder: inout CBOREncoder) {
        let sorted = sorted
        encoder.encodeMapHeader(count: sorted.count)
        for entry in sorted {
            encoder.encode(bytes: entry.instance.bytes)
            encoder.encode(unsigned: entry.sequence)
        }
    }

    static func decode(from decoder: inout CBORDecoder) throws(CBORError) -> VersionVector {
        let start = decoder.byteOffset
        var position = try decoder.readMapHeader()
        guard position.remaining <= instanceCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var sequences: [UniqueID: UInt64] = [:]
        while let key = try decoder.readKey(
            in: &position, { (decoder) throws(CBORError) in try decoder.readBytes(count: UniqueID.byteCount) })
        {
            let sequence = try decoder.readUnsigned()
            guard sequence > 0, let instance = UniqueID(bytes: key) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            sequences[instance] = sequence
        }
        return VersionVector(sequences)
    }
}
