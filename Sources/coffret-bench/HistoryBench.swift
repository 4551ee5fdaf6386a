// Entries, digests, stored values and merged texts, one by one: what they cost in processor time, and what an edit of a
// note stores. Times are medians of rounds; bytes are counted.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretStorage
import CoffretTrust

enum HistoryBench {
    /// `history [FILE ...]`: texts of the files are cut into notes of 9 KiB for the second part.
    static func run(_ arguments: [String]) throws {
        try entries()
        guard !arguments.isEmpty else { return }
        var text: [UInt8] = []
        for path in arguments {
            text += try PosixFileSystem().readFile(path, byteCountMax: 1 << 24)
        }
        try edits(text)
    }

    /// Processor time of one call in microseconds: the median of 15 rounds.
    private static func microseconds(_ count: Int, _ body: () throws -> Void) rethrows -> Double {
        var samples: [Double] = []
        for _ in 0..<15 { samples.append(try measureCPUSeconds { for _ in 0..<count { try body() } }) }
        return Samples(samples).median * 1e6 / Double(count)
    }

    private struct Authority: EntryAuthority {
        let key: VerifyingKey

        func signerKey(for context: EntryContext, of entry: BlobName) throws(HistoryError) -> VerifyingKey { key }
        func isHead(_ later: ChainPosition, atOrAfter earlier: ChainPosition, of context: EntryContext) -> Bool { true }
        func checkEpoch(of context: EntryContext, of entry: BlobName) throws(HistoryError) {}
    }

    private static func context(_ random: any RandomSource) -> EntryContext {
        guard let vaultID = VaultID(random.bytes(count: 32)), let account = ChainID(random.bytes(count: 32)),
            let hash = Bytes32(random.bytes(count: 32))
        else { preconditionFailure("ids have 32 bytes") }
        let position = ChainPosition(number: 1, hash: hash)
        return EntryContext(
            vaultID: vaultID, accountID: account, deviceID: .generate(from: random), nonce: .generate(from: random),
            firstLink: 1, deviceHead: position, memberHead: position, epoch: 1)
    }

    private static func entries() throws {
        let random = SystemRandomSource()
        let (context, key) = (context(random), SigningKey.generate(from: random))
        let name = context.name
        let fact = FactKey(entity: EntityID(kind: 78, uuid: .generate(from: random)), attribute: "text")
        let body = EntryBody(
            context: name, number: 2, before: name, height: 5, time: 1_800_000_000_000,
            changes: .list(
                [
                    Change(
                        key: fact, content: .inPlace([0] + random.bytes(count: 40)),
                        replaces: [Dot(context.instance, 1)])
                ],
                salt: random.bytes(count: 16)))
        let written = body.sign(in: context, with: key)
        let entryName = BlobName.derive(type: .entry, content: written.content.span)
        let verifier = EntryVerifier(
            vaultID: context.vaultID, authority: Authority(key: key.verifyingKey))
        let read = try UnverifiedEntry.decode(written.content, name: entryName) { _ in context }
        var terms = DigestTerms(splitKey: .generate(from: random), vaultID: context.vaultID)
        var digest = StateDigest()
        let standing = Fact(
            key: fact, content: .inline([0] + random.bytes(count: 40)), dot: Dot(context.instance, 2), height: 5)
        print(row(["one fact in place", "µs"]))
        print(row(["---", "---"]))
        let parts: [(String, () throws -> Void)] = [
            ("write: encode, hash and sign", { _ = body.sign(in: context, with: key) }),
            ("of it the signature", { _ = key.sign(.entry, scope: context.vaultID.bytes, message: read.message) }),
            ("decode and hash", { _ = try UnverifiedEntry.decode(written.content, name: entryName) { _ in context } }),
            ("verify the signature", { _ = try verifier.verifySignature(of: read) }),
            ("a term of the digest", { digest.add(terms.term(of: standing)) }),
        ]
        for (what, part) in parts { print(row([what, decimal(try microseconds(500, part), 2)])) }
        print("entry: \(written.content.count) bytes; its blob: \(SealedBytes.blob(written.content.count))")
    }

    /// Bytes of a blob as it is stored and sent: padded content, epoch and tag.
    private enum SealedBytes {
        static func blob(_ contentByteCount: Int) -> Int { 20 + Padding.paddedByteCount(6 + contentByteCount) }
    }

    /// 1,200 edits of 30 notes: a word, a line, a paragraph, at random places; the words come from elsewhere in the text.
    private static func edits(_ text: [UInt8]) throws {
        let noteByteCount = 9 << 10
        var generator = BenchGenerator(state: 42)
        guard text.count > 40 * noteByteCount else {
            print("the files have too little text for 30 notes")
            return
        }
        let context = context(SystemRandomSource())
        let key = SigningKey.generate(from: SystemRandomSource())
        var (sent, plainSent, withBlobs, deltas): ([Int], [Int], [Int], Int) = ([], [], [], 0)
        for note in 0..<30 {
            var value = Array(text[note * noteByteCount..<(note + 1) * noteByteCount])
            var current = ValueEncoder.text(value)
            var base = ValueBase(name: BlobName(Bytes32(UInt64(note), 0, 0, 0)), stored: current)
            for edit in 0..<40 {
                let length = [8, 60, 400][generator.next(below: 3)]
                let from = 30 * noteByteCount + generator.next(below: text.count - 31 * noteByteCount)
                let at = generator.next(below: value.count)
                value.replaceSubrange(at..<min(value.count, at + length / 2), with: text[from..<from + length])
                let before = base
                current = ValueEncoder.text(value, base: base)
                if current.first == 2 {
                    deltas += 1
                } else {
                    base = ValueBase(name: BlobName(Bytes32(UInt64(note), UInt64(edit), 0, 0)), stored: current)
                }
                let read = try ValueDecoder.decode(current, place: "") { _ in before?.stored }
                precondition(read == value, "what is stored is read back")
                let (entry, blob) = sealed(current, context, key)
                sent.append(entry + (current.count > FactLimits.commitValueByteCountMax ? blob : 0))
                withBlobs.append(entry + blob)
                let plain = sealed([0] + value, context, key)
                plainSent.append(plain.entry + plain.blob)
            }
        }
        let mean = Samples(sent.map(Double.init)).mean
        print("\n1,200 edits of 30 notes of 9 KiB: sealed bytes an edit")
        print(row(["", "mean", "median", "95 %"]))
        print(row(["---", "---", "---", "---"]))
        for (what, counts) in [
            ("plain", plainSent), ("as chosen: entry, and value above 4,096 bytes", sent),
            ("the same with a checkpoint behind each edit", withBlobs),
        ] {
            let samples = Samples(counts.map(Double.init))
            print(row([what] + [samples.mean, samples.median, samples.percentile(95)].map { decimal($0, 0) }))
        }
        print(
            "\(deltas) of \(sent.count) are deltas; goal 1,200 bytes in the mean: \(mean <= 1_200 ? "met" : "MISSED")"
        )
        compression(text)
    }

    /// - Returns: the sealed bytes of the entry, and of the blob that the tree names, if the value does not lie in a leaf.
    private static func sealed(
        _ value: [UInt8], _ context: EntryContext, _ key: SigningKey
    ) -> (entry: Int, blob: Int) {
        let salt = [UInt8](repeating: 7, count: 16)
        let name = context.name
        let blob = value.count > FactLimits.inlineValueByteCountMax ? SealedBytes.blob(16 + value.count) : 0
        let content: ChangeContent
        switch value.count {
        case ...512: content = .inPlace(value)
        case ...4_096:
            content = .salted(salt: salt, bytes: value)
        default:
            content = .inBlobs(StoredValue(name: name, byteCount: value.count))
        }
        let change = Change(
            key: FactKey(entity: EntityID(kind: 78, uuid: context.nonce), attribute: "text"), content: content,
            replaces: [Dot(context.instance, 2)])
        let body = EntryBody(
            context: name, number: 3, before: name, height: 9, time: 1_800_000_000_000,
            changes: .list([change], salt: salt))
        return (SealedBytes.blob(body.sign(in: context, with: key).content.count), blob)
    }

    private static func compression(_ text: [UInt8]) {
        print(
            "\n"
                + row([
                    "bytes of the text", "whole: stored", "write, µs", "read, µs", "delta: stored", "write, µs",
                    "read, µs",
                ]))
        print(row([String](repeating: "---", count: 7)))
        for size in [1 << 10, 9 << 10, 64 << 10, 256 << 10] where size <= text.count {
            let value = Array(text[..<size])
            var edited = value
            edited.insert(contentsOf: Array(" a few more words ".utf8), at: size / 2)
            let whole = ValueEncoder.text(value)
            let count = max(10, 400_000 / size)
            var cells = [String(size), String(whole.count)]
            cells.append(decimal(microseconds(count) { _ = ValueEncoder.text(value) }, 1))
            cells.append(
                decimal(microseconds(count) { _ = try? ValueDecoder.decode(whole, place: "") { _ in nil } }, 1))
            if let base = ValueBase(name: BlobName(Bytes32(1, 2, 3, 4)), stored: whole) {
                let delta = ValueEncoder.text(edited, base: base)
                cells.append(String(delta.count))
                cells.append(decimal(microseconds(count) { _ = ValueEncoder.text(edited, base: base) }, 1))
                cells.append(
                    decimal(microseconds(count) { _ = try? ValueDecoder.decode(delta, place: "") { _ in whole } }, 1))
            }
            print(row(cells))
        }
    }
}
