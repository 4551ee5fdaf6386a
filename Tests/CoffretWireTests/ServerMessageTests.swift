// Messages between devices and the server: one encoding each, bounded, and nothing believed that is not exactly one.

import CoffretBase
import CoffretTestSupport
import CoffretWire
import Foundation
import Testing

@Suite("Server messages")
struct ServerMessageTests {
    static let id = [UInt8](repeating: 0xA1, count: 32)
    static let other = [UInt8](repeating: 0xB2, count: 32)
    static let device = UniqueID.generate(from: SystemRandomSource())
    static let object = ZoneObject(address: id, ciphertext: [1, 2, 3])
    static let word = PushWord(
        accountID: id, deviceID: device, expectedHead: nil, objectsHash: other, signature: id + other)

    /// A message and a way to read it again: nil if it is refused, else its bytes.
    struct Sample: Sendable {
        let name: String
        let notation: String
        let bytes: [UInt8]
        let reread: @Sendable ([UInt8]) throws(WireError) -> [UInt8]
        let isEqualAfterReading: Bool

        init<Message: ServerMessage>(_ message: Message) {
            name = "\(Message.self)"
            notation = Message.notation
            bytes = message.encoded()
            reread = { (bytes: [UInt8]) throws(WireError) -> [UInt8] in try Message(decoding: bytes).encoded() }
            isEqualAfterReading = (try? Message(decoding: bytes)) == message
        }
    }

    static let samples: [Sample] = {
        let request = LoginChallengeRequest(accountID: id, deviceID: device, clientNonce: other)
        let challenge = LoginChallenge(serverName: "vault.example.org", serverNonce: id, expiry: 1_800_000_000_000)
        return [
            Sample(request), Sample(challenge),
            Sample(LoginRequest(challenge: challenge, request: request, signature: id + other)),
            Sample(LoginSession(token: other, expiry: .max)),
            Sample(AccountRegistration(link: [1, 2, 3])),
            Sample(AccountRegistration(link: [9], invitation: Array("invite".utf8))),
            Sample(ChainLinks([])), Sample(ChainLinks([[1], [], [3, 4]])), Sample(ChainAppend(link: [1])),
            Sample(ChainHead(sequenceNumber: 7, linkHash: id)),
            Sample(LinkPost([])), Sample(LinkReceipt([0, .max])),
            Sample(
                LinkPost([
                    LinkPost.Item(kind: 1, chainID: id, link: [1]),
                    LinkPost.Item(kind: 3, chainID: id, link: [], expectedHead: []),
                    LinkPost.Item(kind: 3, chainID: id, link: [2], expectedHead: other),
                ])),
            Sample(LinkConflict(index: 3, head: ChainHead(sequenceNumber: 7, linkHash: id))),
            Sample(LinkHeadMoved(index: 0, state: LogHead(address: nil, cursor: [1], epoch: 0, word: nil))),
            Sample(LogHead(address: id, cursor: [], epoch: 4, people: 7, word: word)),
            Sample(ChainUpdateRequest([.init(kind: 1, chainID: id, linkCount: 2, branchCount: 1)])),
            Sample(ChainUpdates([], hasMore: false)),
            Sample(
                ChainUpdates(
                    [
                        .init(
                            kind: 1, chainID: id, branches: [.init(start: 3, links: [[1], [2]])], start: 3,
                            links: [[4]])
                    ], hasMore: true)),
            Sample(CollectionRecords(next: [], statements: [])),
            Sample(
                CollectionRecords(
                    next: [1],
                    statements: [
                        .init(
                            accountID: id, deviceID: device, linkHash: other, objects: [id, other], chunks: [id],
                            signature: id + other)
                    ])),
            Sample(AccountMatches([])), Sample(AccountMatches([id])), Sample(Memberships([])),
            Sample(
                Memberships([
                    .init(zone: id, founder: other, role: 3, state: 1, adder: other, number: 4, epoch: 2)
                ])),
            Sample(ZoneHeads([])),
            Sample(ZoneHeads([.init(zone: id, head: nil, cursor: [], people: 0, words: 0)])),
            Sample(ZoneHeads([.init(zone: id, head: other, cursor: [1], people: 2, words: .max)])),
            Sample(AccountUsage(usedByteCount: 0, byteCountMax: .max)),
            Sample(AddressPage(next: [], addresses: [])), Sample(AddressPage(next: [1, 2], addresses: [id])),
            Sample(
                ZoneSweep(
                    linkHash: id, objects: [id], chunks: [], signature: [UInt8](repeating: 7, count: 64))),
            Sample(SweepReceipt(count: 1, byteCount: .max)),
            Sample(object),
            Sample(ZonePush(expectedHead: nil, newHead: id, epoch: 1, objects: [object, object])),
            Sample(ZonePush(expectedHead: id, newHead: id, epoch: 2, objects: [])),
            Sample(ZonePush(expectedHead: nil, newHead: nil, epoch: 2, objects: [object])),
            Sample(PushReceipt(cursor: [0, 1])), Sample(ZoneFetch(addresses: [id, other])),
            Sample(ChunkList([ChunkList.Chunk(address: id, digest: other)])),
            Sample(Acknowledgements([Acknowledgements.Entry(accountID: id, deviceID: device, bytes: [4])])),
            Sample(ChangeFrame.object(object, uploader: other)),
            Sample(ChangeFrame.mark(head: id, cursor: [1], hasMore: false)),
            Sample(ChangeFrame.mark(head: nil, cursor: [], hasMore: true)),
            Sample(MailboxPost(deviceID: nil, bytes: [1])), Sample(MailboxPost(deviceID: device, bytes: [])),
            Sample(
                MailboxEntries([
                    MailboxEntries.Entry(id: device, deviceID: nil, bytes: [1]),
                    MailboxEntries.Entry(id: device, deviceID: device, bytes: []),
                ])),
            Sample(ServerEvent.zone(id: id, head: other, cursor: [3])),
            Sample(ServerEvent.zone(id: id, head: nil, cursor: [])), Sample(ServerEvent.mailbox(accountID: id)),
            Sample(ServerEvent.chain(kind: 1, id: id, sequenceNumber: 12)), Sample(ServerEvent.pairing(accountID: id)),
            Sample(ServerEvent.membership(zone: id)), Sample(ServerEvent.letter),
            Sample(MemberPost(link: [1])),
            Sample(MemberPost(link: [1], history: [2, 3], letters: [[4], [5]], expectedHead: id)),
            Sample(MemberPost(link: [1], expectedHead: [])), Sample(LetterPost([])),
            Sample(LetterPost([[1], [2, 3]])),
            Sample(ZoneKeys(epoch: 3, history: [1], letter: [2], lacking: [id, other])),
            Sample(ZoneKeys(epoch: .max, history: [], letter: [], lacking: [])),
            Sample(PersonalLetter(letter: [1])), Sample(PersonalLetter(token: id, letter: [])),
            Sample(WaitingLetters([])), Sample(WaitingLetters([.init(id: id, sender: other, letter: [1])])),
            Sample(ContactList([])), Sample(ContactList([id, other])),
            Sample(ContactToken(hash: id, expiry: 7, useCount: 1)), Sample(GuestInvitation(invitation: [1, 2])),
            Sample(PairingRequests([])), Sample(PairingRequests([.init(relayID: device, age: 61_000)])),
            Sample(ServerRefusal(code: "server.zone.unknown", message: "there is no such zone")),
        ]
    }()

    @Test("what is encoded is decoded to the same, and encodes to the same bytes", arguments: samples.indices)
    func roundTrip(index: Int) throws {
        let sample = Self.samples[index]
        #expect(sample.isEqualAfterReading, "\(sample.name)")
        #expect(try sample.reread(sample.bytes) == sample.bytes, "\(sample.name)")
    }

    /// The whole page, each run of spaces one space.
    static let page: String = {
        let root = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let text = (try? String(contentsOf: root.appendingPathComponent("Spec/server.md"), encoding: .utf8)) ?? ""
        return text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }()

    @Test("Spec/server.md has every message as the program writes and reads it")
    func notations() {
        for sample in Self.samples {
            #expect(Self.page.contains(sample.notation), "\(sample.name): \(sample.notation)")
        }
        for (name, count) in [
            ("cursor", ServerLimits.cursorByteCountMax), ("link", ServerLimits.linkByteCountMax),
            ("ciphertext", ServerLimits.objectByteCountMax), ("letter", ServerLimits.letterByteCountMax),
            ("history", ServerLimits.historyByteCountMax),
        ] {
            #expect(Self.page.contains("\(name) = bstr .size (0..\(count))"))
        }
    }

    @Test("a message cut short or with a byte too many is refused", arguments: samples.indices)
    func truncated(index: Int) {
        let sample = Self.samples[index]
        for count in 0..<sample.bytes.count {
            #expect(throws: WireError(.malformed), "\(sample.name) cut to \(count)") {
                try sample.reread(Array(sample.bytes.prefix(count)))
            }
        }
        #expect(throws: WireError(.malformed)) { try sample.reread(sample.bytes + [0]) }
    }

    @Test("fuzz: whatever bytes come, what is accepted encodes to the same bytes (R14)")
    func fuzzMessages() {
        for sample in Self.samples {
            fuzz([sample.bytes], rounds: 200) { bytes in
                guard let again = try? sample.reread(bytes) else { return }
                #expect(again == bytes, "\(sample.name)")
            }
        }
    }

    @Test("R92: with any one bit another, a message is refused, or says what its bytes say")
    func flippedBits() {
        for sample in Self.samples where sample.bytes.count <= 256 {
            for bit in 0..<sample.bytes.count * 8 {
                var bytes = sample.bytes
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                guard let again = try? sample.reread(bytes) else { continue }
                #expect(again == bytes, "\(sample.name), bit \(bit)")
            }
        }
    }

    @Test("R92: messages between people are taken at their limits, and refused one above")
    func peopleLimits() {
        func check<Message: ServerMessage>(_ atLimit: Message, _ above: Message) {
            #expect((try? Message(decoding: atLimit.encoded())) == atLimit, "\(Message.self)")
            #expect(throws: WireError(.malformed), "\(Message.self)") { try Message(decoding: above.encoded()) }
        }
        func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }
        let (letter, longer) = (bytes(ServerLimits.letterByteCountMax), bytes(ServerLimits.letterByteCountMax + 1))
        let members = ServerLimits.memberCountMax
        check(PersonalLetter(letter: letter), PersonalLetter(letter: longer))
        check(PersonalLetter(token: bytes(32), letter: []), PersonalLetter(token: bytes(33), letter: []))
        check(PersonalLetter(token: bytes(32), letter: []), PersonalLetter(token: bytes(31), letter: []))
        check(LetterPost([letter]), LetterPost([longer]))
        check(LetterPost(Array(repeating: [], count: members)), LetterPost(Array(repeating: [], count: members + 1)))
        check(
            MemberPost(link: bytes(ServerLimits.linkByteCountMax)),
            MemberPost(link: bytes(ServerLimits.linkByteCountMax + 1)))
        check(
            MemberPost(link: [], history: bytes(ServerLimits.historyByteCountMax)),
            MemberPost(link: [], history: bytes(ServerLimits.historyByteCountMax + 1)))
        check(MemberPost(link: [], expectedHead: Self.id), MemberPost(link: [], expectedHead: bytes(33)))
        let keys = { (count: Int) in
            ZoneKeys(epoch: 1, history: [], letter: [], lacking: Array(repeating: Self.id, count: count))
        }
        check(keys(members), keys(members + 1))
        let entry = WaitingLetters.Entry(id: Self.id, sender: Self.id, letter: [1])
        let count = ServerLimits.letterCountMax
        check(
            WaitingLetters(Array(repeating: entry, count: count)),
            WaitingLetters(Array(repeating: entry, count: count + 1)))
        let contacts = Array(repeating: Self.id, count: ServerLimits.contactCountMax)
        check(ContactList(contacts), ContactList(contacts + [Self.id]))
        check(ContactToken(hash: Self.id, expiry: 0, useCount: 0), ContactToken(hash: [], expiry: 0, useCount: 0))
        let membership = { (role: UInt8, state: UInt8) in
            Memberships.Entry(
                zone: Self.id, founder: Self.id, role: role, state: state, adder: Self.id, number: 0, epoch: 1)
        }
        let many = Array(repeating: membership(1, 2), count: ServerLimits.membershipCountMax)
        check(Memberships(many), Memberships(many + [membership(1, 2)]))
        check(AccountMatches([Self.id]), AccountMatches([Self.id, Self.id]))
        check(
            GuestInvitation(invitation: bytes(ServerLimits.invitationByteCountMax)),
            GuestInvitation(invitation: bytes(ServerLimits.invitationByteCountMax + 1)))
    }

    @Test("ids, addresses and nonces of another size are refused")
    func sizes() {
        let short = [UInt8](repeating: 1, count: 31)
        func refused<Message: ServerMessage>(_ message: Message) {
            #expect(throws: WireError(.malformed), "\(Message.self)") { try Message(decoding: message.encoded()) }
        }
        refused(LoginChallengeRequest(accountID: short, deviceID: Self.device, clientNonce: Self.id))
        refused(LoginChallengeRequest(accountID: Self.id, deviceID: Self.device, clientNonce: short))
        refused(LoginSession(token: short, expiry: 0))
        refused(ZoneObject(address: short, ciphertext: []))
        refused(LogHead(address: Self.id, cursor: [], epoch: 1, word: nil))
        refused(LogHead(address: nil, cursor: [], epoch: 1, word: Self.word))
        refused(LinkPost([LinkPost.Item(kind: 3, chainID: Self.id, link: [], expectedHead: short)]))
        refused(ZoneFetch(addresses: [short]))
        refused(ChainHead(sequenceNumber: 0, linkHash: short))
        refused(ServerEvent.mailbox(accountID: short))
    }

    @Test("a push cannot take a head away")
    func headStays() {
        let push = ZonePush(expectedHead: Self.id, newHead: nil, epoch: 1, objects: [])
        #expect(throws: WireError(.malformed)) { try ZonePush(decoding: push.encoded()) }
    }

    @Test("what is above a limit is refused before it is read (R47)")
    func limits() {
        let large = [UInt8](repeating: 0, count: ServerLimits.objectByteCountMax + 1)
        #expect(throws: WireError(.malformed)) {
            try ZoneObject(decoding: ZoneObject(address: Self.id, ciphertext: large).encoded())
        }
        #expect(throws: WireError(.malformed)) {
            let post = MailboxPost(deviceID: nil, bytes: Array(large.prefix(ServerLimits.mailboxEntryByteCountMax + 1)))
            return try MailboxPost(decoding: post.encoded())
        }
        // An array header that promises four thousand million objects, and nothing behind it.
        #expect(throws: WireError(.malformed)) { try ZoneFetch(decoding: [0x9A, 0xFF, 0xFF, 0xFF, 0xFF]) }
    }

    @Test("frames are found again however the stream is cut")
    func framesInPieces() throws {
        let frames: [ChangeFrame] = [
            .object(Self.object, uploader: Self.other), .mark(head: nil, cursor: [1], hasMore: true),
            .object(
                ZoneObject(address: Self.other, ciphertext: [UInt8](repeating: 7, count: 5_000)), uploader: Self.id),
            .mark(head: Self.id, cursor: [2], hasMore: false),
        ]
        let stream = frames.flatMap { $0.framed() }
        for pieceByteCount in [1, 2, 3, 7, 100, stream.count] {
            var reader = ChangeFrameReader()
            var found: [ChangeFrame] = []
            var rest = stream[...]
            while !rest.isEmpty {
                reader.append(Array(rest.prefix(pieceByteCount)))
                rest = rest.dropFirst(pieceByteCount)
                while let frame = try reader.next() { found.append(frame) }
            }
            #expect(found == frames)
            #expect(reader.isBetweenFrames)
        }
    }

    @Test("a frame longer than any may be is refused by its length alone")
    func longFrame() {
        var reader = ChangeFrameReader()
        reader.append([0x7F, 0xFF, 0xFF, 0xFF])
        #expect(throws: WireError(.malformed)) { try reader.next() }
    }
}
