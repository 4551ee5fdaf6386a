// Circles in worlds of random links, withheld links and wrong clocks: no honest contact gives early, unasked or against a word.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretSharing

@Suite("Worlds of recovery contacts")
struct CircleWorldTests {
    private static let hour: Milliseconds = 3_600_000
    private static let wait = 24 * hour

    /// A contact with an honest program, as the world knows it.
    private struct Contact {
        let number: Int
        var memory = CircleMemory()
        /// How far the server shows it the chain.
        var shown: Int
        /// What its clock shows beyond the true time.
        var skew: Milliseconds
        /// Jumps of that clock, by a look.
        var jumpCount = 0
        /// True times at which it was first shown requests and prohibitions.
        var requests: [Bytes32: Milliseconds] = [:]
        var prohibitions: [Bytes32: Milliseconds] = [:]
        var jumpsBefore: [Bytes32: Int] = [:]
        var released: Set<Bytes32> = []
    }

    /// Plays one world and counts what came of the attempts to release.
    private func play(_ generator: SeededGenerator, jumps: Bool, _ counts: inout [String: Int]) throws {
        var circle = try TestCircle(try (0..<4).map { _ in try Person(generator) }, generator)
        let armament = try circle.arm(generator)
        var snapshots = [circle.rights]
        func chance(_ percent: UInt64) -> Bool { generator.uniform(below: 100) < percent }
        func post(_ operation: CircleOperation, by number: Int) throws {
            guard (try? circle.append(operation, by: number)) != nil else { return }
            snapshots.append(circle.rights)
        }
        var sessions: [CircleSession] = []
        var contacts = [1, 2].map {
            Contact(number: $0, shown: 0, skew: Milliseconds(generator.uniform(below: 1_000)) * Self.hour)
        }
        var now: Milliseconds = 0
        for _ in 0..<120 {
            now += Milliseconds(generator.uniform(below: 5 * 3_600_000))
            if chance(6),
                let session = CircleSession(key: generator.bytes(count: 32), nonce: generator.bytes(count: 32))
            {
                sessions.append(session)
                // The third contact's program asks whenever it likes, and states any time.
                try post(
                    .request(
                        session.request(in: circle.rights.vaultID), time: Milliseconds(generator.uniform(below: 99))),
                    by: 3)
            }
            if chance(4), !sessions.isEmpty {
                let session = generator.element(of: sessions)
                try post(.forbid(session.request(in: circle.rights.vaultID)), by: 0)
            }
            for index in contacts.indices where chance(70) {
                if jumps, chance(10) {
                    contacts[index].skew += Milliseconds(generator.uniform(below: 900)) * Self.hour - 450 * Self.hour
                    contacts[index].jumpCount += 1
                }
                let behind = UInt64(snapshots.count - contacts[index].shown)
                if chance(60) { contacts[index].shown += Int(generator.uniform(below: behind)) }
                let view = try #require(snapshots[contacts[index].shown].circle(known: circle.known))
                let number = contacts[index].number
                let account = circle.people[number].accountID
                let share = armament.shares[account]
                for session in sessions {
                    let release = try look(&contacts[index], view, session, share, account, now: now, &counts)
                    if let release { try post(release, by: number) }
                }
            }
        }
    }

    /// One contact looks and tries to give its share; the world's own times say whether it may.
    private func look(
        _ contact: inout Contact, _ view: CircleView, _ session: CircleSession, _ share: CircleShare?,
        _ account: ChainID, now: Milliseconds, _ counts: inout [String: Int]
    ) throws -> CircleOperation? {
        let clock = now + contact.skew
        contact.memory.follow(view, now: clock)
        for request in view.requests {
            if contact.requests[request.request] == nil {
                contact.requests[request.request] = now
                contact.jumpsBefore[request.request] = contact.jumpCount
            }
            if request.forbiddenAt != nil, contact.prohibitions[request.request] == nil {
                contact.prohibitions[request.request] = now
            }
        }
        let hash = session.request(in: view.circleID)
        do {
            let operation = try contact.memory.release(
                try #require(share), to: session, in: view, by: account, now: clock)
            let request = try #require(view.state.request(hash), "given without a record")
            #expect(request.forbiddenAt == nil, "given against the person's word")
            let seen = try #require(contact.requests[hash])
            let jumped = Milliseconds(contact.jumpCount - (contact.jumpsBefore[hash] ?? 0)) * Self.wait / 4
            #expect(now - seen >= Self.wait - jumped, "given early")
            for other in view.requests where (other.forbiddenAt ?? .max) < request.link {
                let forbidden = try #require(contact.prohibitions[other.request])
                let all = Milliseconds(contact.jumpCount) * Self.wait / 4
                #expect(
                    now - forbidden >= CircleMemory.quietTime + Self.wait - 2 * all,
                    "given too soon after a prohibition")
            }
            counts["given", default: 0] += 1
            return contact.released.insert(hash).inserted ? operation : nil
        } catch let error as SharingError {
            counts[error.code.rawValue, default: 0] += 1
            return nil
        }
    }

    @Test(
        "R86, R25: whatever is recorded, withheld and stated, a share waits its time and heeds the person's word",
        arguments: [false, true])
    func circleRelease(jumps: Bool) throws {
        var counts: [String: Int] = [:]
        forAll(count: 25) { generator in try play(generator, jumps: jumps, &counts) }
        // The worlds have all of it.
        let names = [
            "given", "recovery.request.unrecorded", "recovery.request.too-early", "recovery.request.forbidden",
        ]
        if SeededGenerator.replayedSeed == nil { #expect(Set(counts.keys) == Set(names), "\(counts)") }
    }
}
