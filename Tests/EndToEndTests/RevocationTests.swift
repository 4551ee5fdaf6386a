// Three stores and the real server: a device is thrown out, while others are there and while they are not.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Revocation", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct RevocationTests {
    /// Three devices of one person, with one synced vault that all have.
    private struct Three {
        let server: ServerRunner
        let first, lost, third: CoffretRunner

        init() throws {
            server = try ServerRunner()
            (first, lost, third) = (try CoffretRunner(), try CoffretRunner(), try CoffretRunner())
            try first.makeStore()
            try first.keepUnlocked()
            try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
            try first.makeNote("Base\nof all")
            try first.succeed("vault", "sync", "Personal")
            try DevicePairing.pair(lost, first, server, name: "Lost")
            try DevicePairing.pair(third, first, server, name: "Third")
            for runner in [lost, third, first] { try runner.succeed("sync") }
        }

        func version(_ runner: CoffretRunner) throws -> String {
            try #require(try runner.json("status")["version"] as? String)
        }
    }

    @Test(
        "R22, R27, R28: the others go on under a new key, what the lost device sent counts, what it writes later does not"
    )
    func life() throws {
        let three = try Three()
        let (first, lost, third) = (three.first, three.lost, three.third)
        try lost.makeNote("Sent in time")
        try lost.succeed("sync")
        try third.makeNote("Written while away")
        // The one who revokes fetches what was sent first, though nobody told it to.
        let revoked = try first.json("device", "revoke", "Lost", "--yes")
        #expect((revoked["renewed"] as? [String])?.count == 1 && revoked["complete"] as? Bool == true, "\(revoked)")
        #expect(try first.succeed("ls").contains("Sent in time"))
        try lost.makeNote("Written too late")
        let refused = try lost.run("sync")
        #expect(refused.exitCode == 77, "\(refused.errorText)")

        #expect(try third.succeed("sync").contains("sent"))
        try third.makeNote("Under the new key")
        try third.succeed("sync")
        try first.succeed("sync")
        #expect(try three.version(first) == three.version(third))
        for runner in [first, third] {
            let list = try runner.succeed("ls")
            for title in ["Base", "Sent in time", "Written while away", "Under the new key"] {
                #expect(list.contains(title), "\(list)")
            }
            #expect(!list.contains("too late"))
            try runner.succeed("fsck")
        }
        #expect(try first.run("device", "revoke", "Lost", "--yes").exitCode == 66, "nothing is left to do")
        #expect(try first.succeed("device", "rescue").contains("nothing"))
    }

    @Test("a vault that cannot be synced keeps nobody from revoking, is told of, and decides the exit code")
    func brokenVault() throws {
        let three = try Three()
        try three.first.succeed("vault", "new", "Garden")
        try three.first.makeNote("Beans", "--vault", "Garden")
        try three.first.succeed("vault", "sync", "Garden")
        try three.third.succeed("sync")
        // To the first device it is gone; the one that deleted it may bring it back.
        try three.third.succeed("vault", "unsync", "Garden", "--delete-from-server", "--yes")
        let revoked = try three.first.run("device", "revoke", "Lost", "--yes", "--json")
        #expect(revoked.exitCode == 77 && revoked.text.contains("\"complete\":false"), "\(revoked.text)")
        #expect(revoked.errorText.contains("coffret: warning: \"Garden\": "), "\(revoked.errorText)")
        #expect(revoked.errorText.contains("coffret sync makes the revocation whole there"), "\(revoked.errorText)")
        #expect(try three.lost.run("sync").exitCode == 77, "revoked all the same")
        try three.third.succeed("vault", "sync", "Garden")
        try three.first.succeed("sync")
        try three.third.succeed("sync")
    }

    @Test(
        "R1, R22: work on top of what the lost device wrote above its limit counts; the rest is offered")
    func quarantine() throws {
        let three = try Three()
        let (first, lost, third) = (three.first, three.lost, three.third)
        // The server shows the first device nothing of what the other two do now.
        try three.server.keepData(as: "before")
        try lost.makeNote("By the thief")
        try lost.succeed("sync")
        try third.succeed("sync")
        try third.makeNote("Honest, on top of it")
        try third.succeed("sync")
        try three.server.putBack("before")
        try first.succeed("device", "revoke", "Lost", "--yes")

        // The server lost what it had acknowledged, whoever it was of.
        #expect(try third.run("sync").exitCode == 72)
        let synced = try third.run("sync", "--server-was-restored")
        #expect(synced.exitCode == 0, "\(synced.errorText)")
        #expect(synced.errorText.contains("device rescue"), "\(synced.errorText)")
        #expect(!(try third.run("sync").errorText.contains("device rescue")), "once")
        try first.succeed("sync")
        for runner in [first, third] {
            let list = try runner.succeed("ls")
            #expect(list.contains("Honest, on top of it") && !list.contains("By the thief"), "\(list)")
            try runner.succeed("fsck")
        }
        #expect(try three.version(first) == three.version(third))
        #expect(try third.succeed("device", "rescue").contains("By the thief"))
        #expect(try third.run("device", "rescue", "--take", "--drop").exitCode == 64)
        #expect(try third.succeed("device", "rescue", "--take", "--yes").contains("Took 1 item"))
        let settled = try third.run("sync")
        #expect(settled.exitCode == 0 && !settled.errorText.contains("device rescue"), "\(settled.errorText)")
        try first.succeed("sync")
        #expect(try first.succeed("show", "By the thief").contains("By the thief"))
        #expect(try third.succeed("device", "rescue").contains("nothing"))
    }

    @Test(
        "keys 11: what a revoked device had brought is listed, and revoked with it unless a person says otherwise (R99)"
    )
    func brought() throws {
        let three = try Three()
        let (first, lost, third) = (three.first, three.lost, three.third)
        let (tablet, phone) = (try CoffretRunner(), try CoffretRunner())
        try DevicePairing.pair(tablet, lost, three.server, name: "Tablet")
        try DevicePairing.pair(phone, tablet, three.server, name: "Phone")
        _ = try lost.json("recovery", "add", "--paper", "--name", "Sheet", "--print-only")
        for runner in [tablet, phone, first, third] { try runner.succeed("sync") }

        let asked = try first.run("device", "revoke", "Lost")
        #expect(asked.exitCode == 83, "\(asked.errorText)")
        for name in ["\"Tablet\"", "\"Phone\"", "\"Sheet\" (paper)", "--keep"] {
            #expect(asked.errorText.contains(name), "\(asked.errorText)")
        }
        #expect(!asked.errorText.contains("Third"), "\(asked.errorText)")
        #expect(try first.run("device", "revoke", "Lost", "--yes", "--keep", "Third").exitCode == 66)

        let done = try first.run("device", "revoke", "Lost", "--yes", "--keep", "Phone", "--json")
        #expect(done.exitCode == 0, "\(done.errorText)")
        #expect(done.errorText.contains("the paper device \"Sheet\", which came by it, counts for seven days"))
        let value = try #require(
            try JSONSerialization.jsonObject(with: Data((done.text.split(separator: "\n").last ?? "").utf8))
                as? [String: Any], "\(done.text)")
        for (member, count) in [("alsoRevoked", 1), ("announced", 1), ("kept", 1), ("renewed", 1)] {
            #expect((value[member] as? [String])?.count == count, "\(member): \(value)")
        }
        for runner in [lost, tablet] { #expect(try runner.run("sync").exitCode == 77) }
        try first.makeNote("Under the newest key")
        for runner in [first, third, phone] { try runner.succeed("sync") }
        for runner in [third, phone] {
            #expect(try runner.succeed("ls").contains("Under the newest key"))
            try runner.succeed("fsck")
        }
        // The sheet has no slot in any store but that of who made it, and cannot be taken in where nobody is asked.
        for runner in [first, third, phone] {
            #expect(try !runner.succeed("recovery", "ls").contains("made "))
            #expect(try runner.run("recovery", "accept", "Sheet").exitCode == 83)
        }
        let again = try first.run("device", "revoke", "Lost", "--yes")
        #expect(again.exitCode == 66 && again.errorText.contains("what came by it is still there: \"Phone\""))
        try first.succeed("device", "revoke", "Phone", "--yes")
        #expect(try phone.run("sync").exitCode == 77)
    }
}
