// What many members cost the device of one: processor time without the server's, requests, bytes. The one thing to keep true: the
// server's store is in this process, and its share is measured and taken off.

import CoffretBase
import CoffretHistory
import CoffretLogs
import CoffretSimulation
import CoffretSync
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Glibc

enum Members {
    /// `--members`: a removal from vaults of several sizes, opening a long chain, and a first read among many devices.
    static func run() throws {
        try removals()
        try chains()
        try firstReads()
    }

    private static func host(notes: Int) throws -> LogPerson {
        let random = SeededGenerator(seed: 1)
        let host = try LogPerson(random, server: LogServer(random: random))
        let one = host.devices[0]
        let changes = (0..<notes).map { LogChange(key: LogDevice.text($0), value: random.bytes(count: 200)) }
        if !changes.isEmpty { try one.repository.commit(changes, time: one.now) }
        try one.sync()
        var options = LogSync.Options()
        options.writesCheckpoint = true
        try one.sync(options)
        return host
    }

    /// What a device needs beside the server, in milliseconds of processor time, with requests and the bytes of its links.
    private static func cost(_ device: LogDevice, _ body: () throws -> Void) throws -> (
        milliseconds: Double, requests: Int, bytes: Int
    ) {
        var (served, requests, bytes) = (0.0, 0, 0)
        device.intercept = { request in
            requests += 1
            switch request {
            case .changes, .fetch: return nil
            case .members(let post): bytes += post.encoded().count
            default: break
            }
            let (reply, seconds) = try ProcessorTime.measure { try device.person.ask(request, by: device) }
            served += seconds
            return reply
        }
        defer { device.intercept = nil }
        let (_, seconds) = try ProcessorTime.measure(body)
        return ((seconds - served) * 1_000, requests, bytes)
    }

    private static func removals() throws {
        print(
            "| removing one of | processor, ms | a sync with nothing new, ms | requests | bytes of link, letters, history |"
        )
        print("| --- | --- | --- | --- | --- |")
        for count in [10, 100, 255] {
            let circle = try LogCircle(host(notes: 100))
            let one = circle.people[0].devices[0]
            _ = try circle.fill(count - 1)
            try one.sync()
            let idle = try (0..<5).map { _ in try cost(one) { try one.sync() }.milliseconds }.sorted()[2]
            var found: [(milliseconds: Double, requests: Int, bytes: Int)] = []
            for index in 1...3 {
                let change = MemberOperation.RoleChange(circle.people[index].account, nil)
                found.append(
                    try cost(one) {
                        guard try one.change(.changeRoles([change], confirming: [])) != nil else {
                            throw SimulationFailure("not removed")
                        }
                    })
            }
            let middle = found.sorted { $0.milliseconds < $1.milliseconds }[1]
            print("| \(count) | \(text(middle.milliseconds)) | \(text(idle)) | \(middle.requests) | \(middle.bytes) |")
        }
    }

    private static func chains() throws {
        print("\n| member links | opening: read and verified, ms | bytes kept | a sync with nothing new, ms |")
        print("| --- | --- | --- | --- |")
        for count in [10, 100, 1_000] {
            let circle = try LogCircle(host(notes: 10))
            let one = circle.people[0].devices[0]
            var links = try circle.fill(2)
            try links.pad(to: count, with: circle.people[1])
            try one.sync()
            guard let chains = one.chains else { throw SimulationFailure("no chains") }
            let record = chains.encoded
            let opening = try (0..<7).map { _ in
                try ProcessorTime.measure {
                    guard var read = FollowedChains(decoding: record), try read.finish(keys: one) == nil,
                        read.members?.state.count == count
                    else { throw SimulationFailure("not read") }
                }.seconds * 1_000
            }.sorted()[3]
            let idle = try (0..<5).map { _ in try cost(one) { try one.sync() }.milliseconds }.sorted()[2]
            print("| \(count) | \(text(opening)) | \(record.count) | \(text(idle)) |")
        }
    }

    private static func firstReads() throws {
        print("\n| first read of 10,000 notes | processor, ms | requests | bytes of objects | bytes of chains |")
        print("| --- | --- | --- | --- | --- |")
        for (members, deviceCount) in [(1, 1), (10, 3), (100, 1)] {
            let host = try host(notes: 10_000)
            let circle = try LogCircle(host)
            if members > 1 { _ = try circle.fill(members - 1, deviceCount: deviceCount) }
            try host.devices[0].sync()
            let new = try host.addDevice()
            var report = LogReport()
            let spent = try cost(new) { report = try new.sync() }
            let chains = new.chains?.encoded.count ?? 0
            let what = members == 1 ? "own vault" : "\(members) members, \(deviceCount) devices each"
            print(
                "| \(what) | \(text(spent.milliseconds)) | \(spent.requests) | \(report.receivedByteCount) | \(chains) |"
            )
        }
    }

    private static func text(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(abs(tenths % 10))"
    }
}
