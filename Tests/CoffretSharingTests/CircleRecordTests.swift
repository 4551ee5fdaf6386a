// Shares at rest and messages of recovery, against bytes that another program wrote.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretSharing

@Suite("Records of circles")
struct CircleRecordTests {
    private struct Vectors: Decodable {
        struct Record: Decodable {
            let kind: String
            let bytes: String
            let isGood: Bool
        }
        let records: [Record]
    }

    @Test("what is read is written the same, byte for byte; all else is refused")
    func vectors() throws {
        let records = try VectorFile.decode(Vectors.self, from: "trust/circles.json").records
        #expect(records.count == 40 && Set(records.map(\.kind)) == ["share", "word", "wish"])
        for record in records {
            let bytes = try Hex.decode(record.bytes)
            let written: [UInt8]? =
                switch record.kind {
                case "share": CircleShare(decoding: bytes)?.encoded
                case "word": CircleWord(decoding: bytes)?.encoded
                default: CircleWish(decoding: bytes)?.encoded
                }
            #expect(written == (record.isGood ? bytes : nil), "\(record.kind) \(record.bytes)")
            // Not one byte less, whatever it is.
            let shorter = Array(bytes.dropLast())
            let read =
                CircleShare(decoding: shorter) != nil || CircleWord(decoding: shorter) != nil
                || CircleWish(decoding: shorter) != nil
            #expect(!read || !record.isGood, "\(record.kind) \(record.bytes)")
        }
    }
}
