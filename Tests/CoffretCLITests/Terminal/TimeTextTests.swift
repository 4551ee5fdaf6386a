// Moments and numbers in words, and moments read from words.

import CoffretBase
import Foundation
import Testing

@testable import CoffretCLI
@testable import CoffretTerminal

/// One time zone for the whole process, with summer time: set before any test of this target runs.
enum TestZone {
    static let isSet: Bool = {
        unsafe setenv("TZ", "Europe/Berlin", 1)
        tzset()
        return true
    }()
}

@Suite("Times and numbers")
struct TimeTextTests {
    init() { #expect(TestZone.isSet) }

    static func at(_ text: String) throws -> Int64 {
        let parts = text.split(whereSeparator: { "- :".contains($0) }).compactMap { Int($0) }
        return try #require(
            LocalTime.milliseconds(
                year: parts[0], month: parts[1], day: parts[2], hour: parts[3], minute: parts[4]))
    }

    @Test(
        "relative up to a week, then dates",
        arguments: [
            ("2026-05-20 08:12", "today 08:12"), ("2026-05-20 00:00", "today 00:00"),
            ("2026-05-19 23:59", "yesterday 23:59"), ("2026-05-18 21:40", "Monday 21:40"),
            ("2026-05-14 21:40", "Thursday 21:40"), ("2026-05-13 21:40", "13 May"), ("2026-01-01 00:00", "1 Jan"),
            ("2025-12-31 23:59", "31 Dec 2025"), ("2026-05-21 10:00", "21 May"),
        ])
    func relative(then: String, expected: String) throws {
        let time = RelativeTime(nowMilliseconds: try Self.at("2026-05-20 12:00"))
        #expect(time.moment(try Self.at(then)) == expected)
    }

    @Test("a day of 23 hours is one day")
    func summerTime() throws {
        let time = RelativeTime(nowMilliseconds: try Self.at("2026-03-29 04:00"))
        #expect(time.moment(try Self.at("2026-03-28 23:30")) == "yesterday 23:30")
        #expect(LocalTime(milliseconds: try Self.at("2026-03-29 04:00")).exact == "2026-03-29T04:00:00+02:00")
        #expect(LocalTime(milliseconds: try Self.at("2026-03-28 04:00")).exact == "2026-03-28T04:00:00+01:00")
        #expect(LocalTime(milliseconds: -1).exact == "1970-01-01T00:59:59+01:00")
    }

    @Test(
        "moments are read as people write them; a day means its end",
        arguments: [
            ("now", "2026-05-20 12:00"), ("today 08:12", "2026-05-20 08:12"), ("08:12", "2026-05-20 08:12"),
            ("yesterday", "2026-05-19 23:59"), ("yesterday 21:40", "2026-05-19 21:40"), ("3 May", "2026-05-03 23:59"),
            ("May 3", "2026-05-03 23:59"), ("3 June", "2025-06-03 23:59"), ("3 May 2024", "2024-05-03 23:59"),
            ("3 may 14:00", "2026-05-03 14:00"), ("2026-05-03", "2026-05-03 23:59"),
            ("2026-05-03 14:00", "2026-05-03 14:00"), ("2026-05-03T14:00", "2026-05-03 14:00"),
            ("monday", "2026-05-18 23:59"), ("wednesday", "2026-05-13 23:59"), ("last friday", "2026-05-15 23:59"),
            ("last week", "2026-05-13 23:59"), ("2 days ago", "2026-05-18 12:00"), ("an hour ago", "2026-05-20 11:00"),
            ("2 weeks ago", "2026-05-06 12:00"), ("29 february", "2024-02-29 23:59"),
            // use 23: what git understands as well.
            ("5 min ago", "2026-05-20 11:55"), ("2h ago", "2026-05-20 10:00"), ("2.weeks.ago", "2026-05-06 12:00"),
            ("1 hour 30 minutes ago", "2026-05-20 10:30"), ("1h30m ago", "2026-05-20 10:30"),
            ("last month", "2026-04-20 23:59"), ("last year", "2025-05-20 23:59"), ("8am", "2026-05-20 08:00"),
            ("8pm", "2026-05-19 20:00"), ("noon yesterday", "2026-05-19 12:00"),
            ("yesterday 8:30 pm", "2026-05-19 20:30"),
            ("22.11.2025", "2025-11-22 23:59"), ("2025/11/22", "2025-11-22 23:59"), ("22.11.", "2025-11-22 23:59"),
            ("3rd of May", "2026-05-03 23:59"), ("the 3rd of May at 9:15", "2026-05-03 09:15"),
            ("Sat Nov 22 20:18:00 2025", "2025-11-22 20:18"),
        ])
    func moments(text: String, expected: String) throws {
        let parser = MomentParser(nowMilliseconds: try Self.at("2026-05-20 12:00"))
        let moment = try #require(parser.parse(text), "\(text) is not understood")
        #expect(moment / 60_000 == (try Self.at(expected)) / 60_000)
    }

    @Test(
        "use 23: a moment that names its zone is the same everywhere",
        arguments: [
            "Sat Nov 22 20:18:00 2025 +0000", "2025-11-22T20:18:00Z", "@1763842680", "2025-11-22 21:18 +0100",
            "2025-11-22T21:18:00+01:00", "22 Nov 2025 15:18 -0500",
        ])
    func zones(text: String) throws {
        let parser = MomentParser(nowMilliseconds: try Self.at("2026-05-20 12:00"))
        #expect(try #require(parser.parse(text)) / 60_000 == 1_763_842_680 / 60)
    }

    @Test("today means now, not the end of a day that has not ended")
    func today() throws {
        let now = try Self.at("2026-05-20 12:00")
        #expect(MomentParser(nowMilliseconds: now).parse("today") == now)
    }

    @Test(
        "what is no moment is refused",
        arguments: [
            "", "soon", "31 feb", "2026-02-30", "2026-13-01", "25:00", "12:60", "3", "3 4", "may may", "days ago",
            "x days ago", "last", "5 fortnights ago", "-3 days ago", "2026-05", "03/05/2026", "2m", "14:00 15:00 16:00",
            "8 xm", "13pm", "3 May 14:00 extra", "99999-01-01",
        ])
    func noMoment(text: String) throws {
        #expect(MomentParser(nowMilliseconds: try Self.at("2026-05-20 12:00")).parse(text) == nil)
    }

    @Test("what the clock shows is read back as the same minute, through a whole year")
    func roundTrip() throws {
        let now = try Self.at("2026-12-31 23:00")
        for step in 0..<730 {
            let moment = now - Int64(step) * 43_210_000
            let text = LocalTime(milliseconds: moment).exact.prefix(16)
            // The hour that autumn repeats has two moments for one clock time.
            let read = try #require(MomentParser(nowMilliseconds: now).parse(String(text)))
            let distance = abs(read / 60_000 - moment / 60_000)
            #expect(distance == 0 || distance == 60, "\(text)")
        }
    }

    @Test("numbers and bytes")
    func numbers() {
        #expect(NumberText.grouped(0) == "0")
        #expect(NumberText.grouped(7425) == "7,425")
        #expect(NumberText.grouped(-1_234_567) == "-1,234,567")
        #expect(NumberText.counted(1, "note") == "1 note")
        #expect(NumberText.counted(1204, "entry", "entries") == "1,204 entries")
        #expect(NumberText.bytes(999) == "999 B")
        #expect(NumberText.bytes(1000) == "1 kB")
        #expect(NumberText.bytes(1500) == "1.5 kB")
        #expect(NumberText.bytes(41_400_000) == "41 MB")
        #expect(NumberText.bytes(999_999) == "1 MB")
        #expect(NumberText.bytes(1 << 62) == "4.6 EB")
        #expect(NumberText.duration(milliseconds: 20) == "1 s")
        #expect(NumberText.duration(milliseconds: 240_000) == "4 min")
        #expect(NumberText.duration(milliseconds: 7_200_000) == "2 h")
    }

    @Test("the progress bar shows what is done, of how much, and fits")
    func bar() {
        let line = ProgressReporter.bar(
            stage: "Reading", unit: "note", done: 5940, total: 7425, byteCount: 41_000_000, elapsedMilliseconds: 12_000,
            width: 80)
        #expect(line == "Reading   ██████████████████████░░░░░░  5,940 of 7,425 notes · 41 MB · 3 s left")
        for width in 40...120 {
            let narrow = ProgressReporter.bar(
                stage: "Reading", unit: "note", done: 1, total: 7425, byteCount: 41_000_000,
                elapsedMilliseconds: 5000, width: width)
            #expect(TextWidth.columns(of: narrow) < width)
        }
        #expect(
            ProgressReporter.bar(
                stage: "Checking", unit: "object", done: 3, total: nil, byteCount: nil, elapsedMilliseconds: 0,
                width: 80) == "Checking   3 objects")
    }
}
