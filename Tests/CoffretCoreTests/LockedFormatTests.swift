// Records and sealed parts as bytes: nothing about them can be changed, moved or lowered.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretCore

@Suite("Formats of locked notes")
struct LockedFormatTests {
    private let random = SeededGenerator.fromEnvironment()

    private func makeRecord(_ scheme: LockScheme = .argon2id) throws -> (record: PasswordRecord, key: RecordKey) {
        let home = try #require(VaultID(random.bytes(count: 32)))
        return try PasswordRecord.make(
            scheme: scheme, passphrase: notePassphrase("p"), effort: quickRecord("p").effort, home: home, time: 7,
            random: random)
    }

    @Test("no bit of a record can be changed unnoticed, and no scheme, salt or effort swapped (R14)")
    func recordBits() throws {
        for scheme in LockScheme.allCases {
            let (record, key) = try makeRecord(scheme)
            let bytes = record.encode()
            #expect(try PasswordRecord.parse(bytes, id: record.id) == record)
            for bit in 0..<bytes.count * 8 {
                var changed = bytes
                changed[bit / 8] ^= 1 << (bit % 8)
                guard let parsed = try? PasswordRecord.parse(changed, id: record.id) else { continue }
                // Only the check value is not in the id; it is sealed itself. Themis leaves some bits of a cell open.
                #expect(parsed.identity == record.identity && parsed.previous.isEmpty)
                #expect(scheme == .bear || !key.opensCheck(parsed.check))
            }
        }
    }

    @Test("effort outside the bounds is refused before anything is derived (R13)")
    func bounds() throws {
        let (record, _) = try makeRecord()
        for effort in [(1, 3), (65_535, 3), (1_048_577, 3), (65_536, 2), (65_536, 17), (4_294_967_295, 4_294_967_295)] {
            let identity = PasswordRecord.Identity(
                scheme: .argon2id, created: 0, home: record.identity.home, salt: record.identity.salt,
                effort: LockEffort(memoryKibibytes: UInt32(effort.0), passCount: UInt32(effort.1)))
            let hostile = PasswordRecord(identity: identity, check: record.check, previous: [])
            #expect(throws: CoreError(.recordPolicy, at: hostile.id.hex)) { try hostile.open(notePassphrase("p")) }
        }
    }

    @Test("a newer scheme or format is told apart from damage (R18)")
    func newer() throws {
        let identity = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 3)
            encoder.encode(text: "whatever")
        }
        let id = PasswordRecord.id(of: identity)
        let bytes = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: identity)
            encoder.encode(bytes: [])
            encoder.encodeArrayHeader(count: 0)
        }
        #expect(throws: CoreError(.recordUnsupported, at: id.hex)) { try PasswordRecord.parse(bytes, id: id) }
        let value = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 2)
            encoder.encodeNull()
        }
        #expect(throws: CoreError(.recordUnsupported)) { try SealedValue.parse(value) }
    }

    @Test("a sealed part opens in its place only: not in another note, attribute, vault or record (R15, R16)")
    func places() throws {
        let (record, key) = try makeRecord()
        let (_, otherKey) = try makeRecord()
        let entity = EntityID(kind: ItemKind.note.rawValue, uuid: UniqueID.generate(from: random))
        let place = RecordKey.Place(
            home: record.identity.home, entity: entity, attribute: LockedPart.text.attribute,
            encryptionID: UniqueID.generate(from: random))
        let (body, tag) = try key.seal(Array("text".utf8), at: place, random: random)
        func value(_ body: [UInt8], _ tag: [UInt8]) -> SealedValue {
            SealedValue(
                record: record.id, encryptionID: place.encryptionID, tag: tag, ancestors: [], resealCount: 0, body: body
            )
        }
        #expect(try key.open(value(body, tag), at: place) == Array("text".utf8))
        let others = [
            RecordKey.Place(
                home: place.home, entity: EntityID(kind: entity.kind, uuid: UniqueID.generate(from: random)),
                attribute: place.attribute, encryptionID: place.encryptionID),
            RecordKey.Place(
                home: place.home, entity: entity, attribute: LockedPart.title.attribute,
                encryptionID: place.encryptionID),
            RecordKey.Place(
                home: try #require(VaultID(random.bytes(count: 32))), entity: entity, attribute: place.attribute,
                encryptionID: place.encryptionID),
        ]
        for other in others {
            #expect(throws: CoreError(.noteDamaged, at: other.entity.uuid.hex)) {
                try key.open(value(body, tag), at: other)
            }
        }
        #expect(throws: CoreError.self) { try otherKey.open(value(body, tag), at: place) }
        #expect(throws: CoreError.self) { try key.open(value(body, random.bytes(count: 16)), at: place) }
        for byte in body.indices {
            var changed = body
            changed[byte] ^= 1
            #expect(throws: CoreError.self) { try key.open(value(changed, tag), at: place) }
        }
        // One content under one record has one tag, whoever seals it.
        #expect(try key.seal(Array("text".utf8), at: place, random: random).tag == tag)
        #expect(try key.seal(Array("text".utf8), at: place, random: random).body != body)
    }

    private struct Vectors: Decodable {
        struct Record: Decodable {
            let passphrase: String
            let id_hex: String
            let value_hex: String
        }
        struct Part: Decodable {
            let attribute: String
            let text: String
            let value_hex: String
            let resealed_hex: String
        }
        let entity_hex: String
        let records: [Record]
        let parts: [Part]
    }

    @Test("records, ladder and parts written by an independent implementation open")
    func vectors() throws {
        let vectors = try VectorFile.decode(Vectors.self, from: "locked/locked.json")
        let records = try vectors.records.map { record in
            try PasswordRecord.parse(
                Hex.decode(record.value_hex), id: #require(UniqueID(bytes: Hex.decode(record.id_hex))))
        }
        let keys = UnlockedNoteKeys()
        let opener = NoteOpener(records: RecordTable(records), keys: keys)
        let entity = try #require(EntityID(bytes: Hex.decode(vectors.entity_hex)))
        func check() throws {
            for part in vectors.parts {
                let attribute = try #require(LockedPart(rawValue: part.attribute)).attribute
                for hex in [part.value_hex, part.resealed_hex] {
                    let value = try SealedValue.parse(Hex.decode(hex))
                    #expect(try opener.open(value, entity, attribute) == Array(part.text.utf8))
                }
                let pair = try [part.value_hex, part.resealed_hex].map { try SealedValue.parse(Hex.decode($0)) }
                let outcome = LockedMerge.resolve(pair, preferred: 0, records: opener.records)
                #expect(outcome.shown == 1 && outcome.conflicting.isEmpty && outcome.record == records[1].id)
            }
        }
        // The new passphrase opens both through the ladder; each opens its own.
        keys.add(try records[1].open(notePassphrase(vectors.records[1].passphrase)))
        try check()
        keys.lock()
        keys.add(try records[0].open(notePassphrase(vectors.records[0].passphrase)))
        #expect(throws: CoreError(.noteLocked, at: records[1].id.hex)) { try opener.key(of: records[1].id) }
        keys.add(try records[1].open(notePassphrase(vectors.records[1].passphrase)))
        try check()
    }

    @Test("scheme 1 is the chain of the article, byte for byte")
    func schemeOne() throws {
        let (record, key) = try makeRecord(.bear)
        let place = RecordKey.Place(
            home: record.identity.home, entity: EntityID(kind: 0x4E, uuid: UniqueID.generate(from: random)),
            attribute: LockedPart.text.attribute, encryptionID: UniqueID.generate(from: random))
        let (body, tag) = try key.seal(Array("Bear with us".utf8), at: place, random: random)
        #expect(try SchemeOnePeer.open(body, passphrase: "p", noteID: place.encryptionID) == Array("Bear with us".utf8))
        let foreign = try SchemeOnePeer.seal("from elsewhere", passphrase: "p", noteID: place.encryptionID)
        let value = SealedValue(
            record: record.id, encryptionID: place.encryptionID, tag: tag, ancestors: [], resealCount: 0, body: foreign)
        #expect(try key.open(value, at: place) == Array("from elsewhere".utf8))
        #expect(throws: CoreError(.fieldInvalid, at: "a text of one zero byte")) {
            try key.seal([0], at: place, random: random)
        }
    }

    @Test("keys that wait elsewhere come back; others do not", arguments: LockScheme.allCases)
    func heldKeys(scheme: LockScheme) throws {
        let (record, key) = try makeRecord(scheme)
        let keys = UnlockedNoteKeys()
        keys.add(key)
        let elsewhere = UnlockedNoteKeys()
        for held in keys.held() { #expect(elsewhere.add(held)) }
        #expect(elsewhere.key(of: record.id)?.opensCheck(record.check) == true)
        let wrong = HeldNoteKey(record: record.id, scheme: .argon2id, secret: SecretBytes.random(byteCount: 31))
        #expect(!elsewhere.add(wrong))
    }

    @Test("parsers of records and sealed parts stand any bytes (R14, fuzz)")
    func fuzzing() throws {
        let (record, key) = try makeRecord()
        let older = try makeRecord().record
        let ladder = PasswordRecord(
            identity: record.identity, check: record.check,
            previous: [PasswordRecord.Previous(id: older.id, sealedKey: [1, 2]), .init(id: record.id, sealedKey: nil)])
        fuzz([record.encode(), ladder.encode()], rounds: 3_000) { _ = fuzzPasswordRecord($0, id: record.id) }
        let value = SealedValue(
            record: record.id, encryptionID: older.id, tag: random.bytes(count: 16),
            ancestors: [random.bytes(count: 16)], resealCount: 1, body: [1, 2, 3])
        fuzz([value.encode()], rounds: 3_000) { _ = fuzzSealedValue($0) }
        var contents = try #require(try LockedContents.samples(random))
        contents.append(
            SealedFileContent(
                name: "a", mediaType: "b", byteCount: 3, reference: [4], path: nil, home: key.id.bytes + key.id.bytes
            ).encode())
        fuzz(contents, rounds: 3_000) { _ = fuzzLockedContents($0) }
    }
}

extension LockedContents {
    fileprivate static func samples(_ random: SeededGenerator) throws -> [[UInt8]]? {
        var item = Item(id: EntityID(kind: 0x4E, uuid: UniqueID.generate(from: random)), kind: .note, created: 0)
        item.givenTags = [try TagPath("a/b"), try TagPath("c")]
        guard let key = FieldKey("x-1") else { return nil }
        item.fields = [ItemField(key: key, label: "l", kind: .secret, value: "v", position: 1)]
        let contents = LockedContents(item, hidesTitle: true)
        return [contents.bytes(.tags), contents.bytes(.fields)].compactMap(\.self)
    }
}
