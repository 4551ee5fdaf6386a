// Moments as people write them, and as git understands them: `yesterday`, `3 May`, `2026-05-03 14:00`, `2 weeks ago`,
// `noon`, `last month`. Invariant: what is not understood is refused; a date is never guessed.

internal import CoffretBase

/// Reads a moment relative to now, in the local time zone unless one is named.
package struct MomentParser {
    package let nowMilliseconds: Int64

    package init(nowMilliseconds: Int64) { self.nowMilliseconds = nowMilliseconds }

    private typealias Day = (year: Int, month: Int, day: Int)
    private typealias Clock = (hour: Int, minute: Int, second: Int)

    /// A day without a clock time means its end: "as of 3 May" includes what was written that day.
    ///
    /// - Returns: milliseconds since 1970; `nil` when the text is not a moment.
    package func parse(_ text: String) -> Int64? {
        let lowered = text.lowercased()
        if lowered == "now" { return nowMilliseconds }
        if lowered.hasPrefix("@"), let seconds = Int64(lowered.dropFirst()), (0..<253_402_300_800).contains(seconds) {
            return seconds * 1000 + 999
        }
        var words = words(of: lowered)
        if words.last == "ago" { return parseAgo(words.dropLast()) }
        let zone = takeZone(&words)
        let clock = takeClock(&words)
        guard zone == nil || clock != nil, let day = parseDay(words, clock: clock) else { return nil }
        guard let clock else {
            return LocalTime.milliseconds(
                year: day.year, month: day.month, day: day.day, hour: 23, minute: 59, second: 59
            ).map { min($0 + 999, max(nowMilliseconds, $0 - 86_399_000)) }
        }
        guard
            let local = LocalTime.milliseconds(
                year: day.year, month: day.month, day: day.day, hour: clock.hour, minute: clock.minute,
                second: clock.second)
        else { return nil }
        guard let zone else { return local + 999 }
        return Self.universal(day, clock) - zone + 999
    }

    /// Without words that say nothing. `2.weeks.ago` is three words, and `2026-05-03t14:00` two; `22.11.2026` is one.
    private func words(of text: String) -> [String] {
        text.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init).flatMap { word -> [String] in
            if word.contains("-"), word.contains(":") {
                return word.split(separator: "t", maxSplits: 1).map(String.init)
            }
            guard word.contains("."), word.contains(where: \.isLetter) else { return [word] }
            return word.split(separator: ".").map(String.init)
        }.filter { !["at", "of", "on", "the"].contains($0) }
    }

    // MARK: Clock

    /// `z`, `+0100` or `+01:00`, as a word or at the end of a clock time: milliseconds east of Greenwich.
    private func takeZone(_ words: inout [String]) -> Int64? {
        guard let last = words.last else { return nil }
        if last == "z" || last == "utc" || last == "gmt" {
            words.removeLast()
            return 0
        }
        if last.hasSuffix("z"), last.contains(":") {
            words[words.count - 1] = String(last.dropLast())
            return 0
        }
        guard let sign = last.lastIndex(where: { $0 == "+" || $0 == "-" }),
            sign == last.startIndex && last.count >= 5 || last[..<sign].contains(":")
        else { return nil }
        let digits = last[last.index(after: sign)...].filter { $0 != ":" }
        guard digits.count == 4, let number = Int64(digits), number % 100 < 60, number / 100 < 15 else { return nil }
        if sign == last.startIndex { words.removeLast() } else { words[words.count - 1] = String(last[..<sign]) }
        return (number / 100 * 60 + number % 100) * 60_000 * (last[sign] == "-" ? -1 : 1)
    }

    /// Takes the clock time out of the words, wherever it stands.
    private func takeClock(_ words: inout [String]) -> Clock? {
        for index in words.indices {
            // "8 pm" is two words.
            if index + 1 < words.count, ["am", "pm"].contains(words[index + 1]),
                let clock = parseClock(words[index] + words[index + 1])
            {
                words.removeSubrange(index...(index + 1))
                return clock
            }
            guard let clock = parseClock(words[index]) else { continue }
            words.remove(at: index)
            return clock
        }
        return nil
    }

    private func parseClock(_ word: String) -> Clock? {
        switch word {
        case "noon": return (12, 0, 0)
        case "midnight": return (0, 0, 0)
        default: break
        }
        let half = word.hasSuffix("am") ? 0 : word.hasSuffix("pm") ? 12 : nil
        let digits = half == nil ? word : String(word.dropLast(2))
        let parts = digits.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard (half == nil ? 2 : 1)...3 ~= parts.count, let first = parts[0] else { return nil }
        guard !parts.contains(nil), parts.dropFirst().allSatisfy({ (0...59).contains($0 ?? -1) }) else { return nil }
        guard (half == nil ? 0...23 : 1...12).contains(first) else { return nil }
        let hour = half.map { first % 12 + $0 } ?? first
        return (hour, parts.count > 1 ? parts[1] ?? 0 : 0, parts.count > 2 ? parts[2] ?? 0 : 0)
    }

    // MARK: Days

    private func parseDay(_ words: [String], clock: Clock?) -> Day? {
        switch words.count {
        case 0: return clock.map { isToCome($0) ? dayBefore(1) : dayBefore(0) }
        case 1: return parseDayWord(words[0])
        case 2 where words[0] == "last":
            switch words[1] {
            case "week": return dayBefore(7)
            case "month": return monthsBefore(1)
            case "year": return monthsBefore(12)
            default: return parseWeekday(words[1])
            }
        case 2, 3: return parseDate(words)
        // "Sun Nov 22 2026": the name of the day is said besides.
        case 4: return parseWeekday(words[0]) == nil ? nil : parseDate(Array(words.dropFirst()))
        default: return nil
        }
    }

    /// Whether a clock time is still to come today; then yesterday's is meant.
    private func isToCome(_ clock: Clock) -> Bool {
        let today = dayBefore(0)
        return LocalTime.milliseconds(
            year: today.year, month: today.month, day: today.day, hour: clock.hour, minute: clock.minute,
            second: clock.second
        ).map { $0 > nowMilliseconds } ?? false
    }

    private func parseDayWord(_ word: String) -> Day? {
        switch word {
        case "today": return dayBefore(0)
        case "yesterday": return dayBefore(1)
        default: break
        }
        if let weekday = parseWeekday(word) { return weekday }
        for separator: Character in ["-", "/", "."] where word.contains(separator) {
            let parts = word.split(separator: separator).map { Int($0) }
            guard !parts.contains(nil) else { return nil }
            let numbers = parts.compactMap { $0 }
            if numbers.count == 3, numbers[0] >= 1000 { return checked((numbers[0], numbers[1], numbers[2])) }
            // Day and month in this order are only certain with dots.
            guard separator == "." else { return nil }
            if numbers.count == 3, numbers[2] >= 1000 { return checked((numbers[2], numbers[1], numbers[0])) }
            return numbers.count == 2 ? latest(month: numbers[1], day: numbers[0]) : nil
        }
        return nil
    }

    private func parseWeekday(_ word: String) -> Day? {
        guard word.count >= 3, let index = LocalTime.weekdayNames.firstIndex(where: { $0.lowercased().hasPrefix(word) })
        else { return nil }
        let today = LocalTime(milliseconds: nowMilliseconds).weekday
        let back = (today - index + 7) % 7
        return dayBefore(back == 0 ? 7 : back)
    }

    /// `3 may`, `may 3rd`, `3 may 2024`; without a year the latest such day that is not in the future.
    private func parseDate(_ words: [String]) -> Day? {
        var words = words
        if words.count == 3, month(words[0]) == nil, month(words[1]) == nil, parseWeekday(words[0]) != nil {
            words.removeFirst()
        }
        guard let monthIndex = words.firstIndex(where: { month($0) != nil }), monthIndex < 2,
            let month = month(words[monthIndex]), words.count >= 2, let day = dayNumber(words[1 - monthIndex])
        else {
            // "sunday 2026-11-22"
            return words.count == 2 && parseWeekday(words[0]) != nil ? parseDayWord(words[1]) : nil
        }
        guard words.count == 3 else { return latest(month: month, day: day) }
        guard let year = Int(words[2]), year >= 1000 else { return nil }
        return checked((year, month, day))
    }

    /// `3`, `3.`, `3rd`.
    private func dayNumber(_ word: String) -> Int? {
        let digits = word.prefix(while: \.isNumber)
        guard ["", ".", "st", "nd", "rd", "th"].contains(String(word[digits.endIndex...])) else { return nil }
        return Int(digits)
    }

    private func latest(month: Int, day: Int) -> Day? {
        let thisYear = LocalTime(milliseconds: nowMilliseconds).year
        for year in stride(from: thisYear, to: thisYear - 8, by: -1) {
            if let start = LocalTime.milliseconds(year: year, month: month, day: day), start <= nowMilliseconds {
                return (year, month, day)
            }
        }
        return nil
    }

    private func checked(_ day: Day) -> Day? {
        LocalTime.milliseconds(year: day.year, month: day.month, day: day.day) == nil ? nil : day
    }

    private func month(_ word: String) -> Int? {
        guard word.count >= 3 else { return nil }
        let full = [
            "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november", "december",
        ]
        return full.firstIndex { $0.hasPrefix(word) }.map { $0 + 1 }
    }

    /// The same day so many months ago; the last of the month where it has no such day.
    private func monthsBefore(_ count: Int) -> Day? {
        let today = dayBefore(0)
        let months = today.year * 12 + today.month - 1 - count
        for day in stride(from: today.day, to: 27, by: -1) {
            if let found = checked((months / 12, months % 12 + 1, day)) { return found }
        }
        return checked((months / 12, months % 12 + 1, min(today.day, 28)))
    }

    private func dayBefore(_ days: Int) -> Day {
        let today = LocalTime(milliseconds: nowMilliseconds)
        // Noon is far from every change of summer time.
        let noon =
            LocalTime.milliseconds(year: today.year, month: today.month, day: today.day, hour: 12) ?? nowMilliseconds
        let then = LocalTime(milliseconds: noon - Int64(days) * 86_400_000)
        return (then.year, then.month, then.day)
    }

    /// Milliseconds since 1970 of a moment in Greenwich.
    ///
    /// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
    private static func universal(_ day: Day, _ clock: Clock) -> Int64 {
        let year = day.month <= 2 ? day.year - 1 : day.year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (day.month + (day.month > 2 ? -3 : 9)) + 2) / 5 + day.day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return Int64(days * 86_400 + clock.hour * 3600 + clock.minute * 60 + clock.second) * 1000
    }

    // MARK: Ago

    /// `2 weeks`, `2h`, `5 min`, `1 hour 30 minutes`, `a month`.
    private func parseAgo(_ words: ArraySlice<String>) -> Int64? {
        var parts: [String] = []
        for word in words {
            var rest = word[...]
            while let first = rest.first {
                let part = rest.prefix { $0.isNumber == first.isNumber }
                parts.append(String(part))
                rest = rest[part.endIndex...]
            }
        }
        guard !parts.isEmpty, parts.count.isMultiple(of: 2), parts.count <= 8 else { return nil }
        var seconds: Int64 = 0
        for index in stride(from: 0, to: parts.count, by: 2) {
            guard let count = Self.count(parts[index]), let unit = Self.unit(parts[index + 1]) else { return nil }
            seconds += count * unit
        }
        return nowMilliseconds - seconds * 1000
    }

    private static func count(_ word: String) -> Int64? {
        if word == "a" || word == "an" { return 1 }
        let names = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
        if let index = names.firstIndex(of: word) { return Int64(index + 1) }
        return Int64(word).flatMap { (0...100_000).contains($0) ? $0 : nil }
    }

    private static func unit(_ word: String) -> Int64? {
        switch word {
        case "s", "sec", "secs", "second", "seconds": 1
        case "m", "min", "mins", "minute", "minutes": 60
        case "h", "hr", "hrs", "hour", "hours": 3600
        case "d", "day", "days": 86_400
        case "w", "week", "weeks": 604_800
        case "month", "months": 2_629_800
        case "y", "year", "years": 31_557_600
        default: nil
        }
    }
}
