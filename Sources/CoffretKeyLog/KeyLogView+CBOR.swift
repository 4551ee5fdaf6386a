// What a device keeps of a log, as bytes. Invariant: what does not read back whole is not there.

internal import CoffretBase

extension KeyLogView {
    private static let version: UInt64 = 3
    private static let chainCountMax = 1 << 16
    private static let aheadCountMax = 1 << 12
    package static let byteCountMax = 16 << 20

    /// Layout, deterministic CBOR: [3, key, note / empty, size, [* hash], time / null, [* [label, count, [* [number, hash]],
    /// time / null]], [* note], begun at]. Spec: Spec/log.md section 5.
    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 9)
            encoder.encode(unsigned: Self.version)
            encoder.encode(text: verifier.text)
            encoder.encode(bytes: checkpoint?.note ?? [])
            encoder.encode(unsigned: range.size)
            encoder.encodeArrayHeader(count: range.hashes.count)
            for hash in range.hashes { encoder.encode(bytes: hash.bytes) }
            Self.encode(checkedAt, to: &encoder)
            encoder.encodeArrayHeader(count: chains.count)
            for (label, chain) in chains.sorted(by: { $0.key < $1.key }) {
                encoder.encodeArrayHeader(count: 4)
                encoder.encode(bytes: label.bytes)
                encoder.encode(unsigned: chain.count)
                encoder.encodeArrayHeader(count: chain.ahead.count)
                for (number, hash) in chain.ahead.sorted(by: { $0.key < $1.key }) {
                    encoder.encodeArrayHeader(count: 2)
                    encoder.encode(unsigned: number)
                    encoder.encode(bytes: hash.bytes)
                }
                Self.encode(chain.missingSince, to: &encoder)
            }
            encoder.encodeArrayHeader(count: stated.count)
            for note in stated { encoder.encode(bytes: note) }
            encoder.encode(signed: begunAt)
        }
    }

    private static func encode(_ time: Milliseconds?, to encoder: inout CBOREncoder) {
        if let time { encoder.encode(signed: time) } else { encoder.encodeNull() }
    }

    /// Nil for anything else.
    package init?(decoding bytes: [UInt8]) {
        let view = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in try Self.read(from: &decoder) }
        guard let view else { return nil }
        self = view
    }

    private static func read(from decoder: inout CBORDecoder) throws(CBORError) -> KeyLogView {
        let malformed = CBORError(.unexpectedItem, byteOffset: 0)
        try decoder.readArrayHeader(count: 9)
        guard try decoder.readUnsigned() == version,
            let verifier = try? KeyLogVerifier(text: decoder.readText(byteCountMax: KeyLogVerifier.byteCountMax))
        else { throw malformed }
        var view = KeyLogView(verifier: verifier, begunAt: 0)
        let note = try decoder.readBytes(countMax: KeyLogCheckpoint.byteCountMax)
        if !note.isEmpty {
            guard let checkpoint = try? KeyLogCheckpoint(verifying: note, by: verifier) else { throw malformed }
            view.checkpoint = checkpoint
        }
        let size = try decoder.readUnsigned()
        var hashes: [Bytes32] = []
        for _ in 0..<(try count(from: &decoder, max: 64)) { hashes.append(try hash(from: &decoder)) }
        guard let range = KeyLogRange(size: size, hashes: hashes), range.size == view.checkpoint?.size ?? 0,
            range.root == view.checkpoint?.root ?? KeyLogTree.emptyRoot
        else { throw malformed }
        view.range = range
        view.checkedAt = try time(from: &decoder)
        for _ in 0..<(try count(from: &decoder, max: chainCountMax)) {
            try decoder.readArrayHeader(count: 4)
            let label = try hash(from: &decoder)
            var chain = Chain(count: try decoder.readUnsigned())
            for _ in 0..<(try count(from: &decoder, max: aheadCountMax)) {
                try decoder.readArrayHeader(count: 2)
                let number = try decoder.readUnsigned()
                chain.ahead[number] = try hash(from: &decoder)
            }
            chain.missingSince = try time(from: &decoder)
            view.chains[label] = chain
        }
        for _ in 0..<(try count(from: &decoder, max: statedCountMax)) {
            view.keep(stated: try decoder.readBytes(countMax: KeyLogCheckpoint.byteCountMax))
        }
        view.begunAt = try decoder.readSigned()
        return view
    }

    private static func count(from decoder: inout CBORDecoder, max: Int) throws(CBORError) -> Int {
        let count = try decoder.readArrayHeader()
        guard count <= max else { throw CBORError(.unexpectedItem, byteOffset: 0) }
        return count
    }

    private static func hash(from decoder: inout CBORDecoder) throws(CBORError) -> Bytes32 {
        guard let hash = Bytes32(try decoder.readBytes(count: 32)) else {
            throw CBORError(.unexpectedItem, byteOffset: 0)
        }
        return hash
    }

    private static func time(from decoder: inout CBORDecoder) throws(CBORError) -> Milliseconds? {
        guard decoder.isNextNull else { return try decoder.readSigned() }
        try decoder.readNull()
        return nil
    }
}
