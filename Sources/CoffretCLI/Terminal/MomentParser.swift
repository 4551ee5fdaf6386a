// Moments as people write them: `yesterday`, `3 May`, `2026-05-03 14:00`, `2 weeks ago`. The one
// thing to keep true: what is not understood is refused; a date is never guessed.

/// Reads a moment relative to now, in the local time zone.
struct MomentParser {
    let nowMilliseconds: Int64

    /// A day without a clock time means its end: "as of 3 May" includes what was written that day.
    ///
    /// - Returns: milliseconds since 1970; `nil` when the text is not a moment.
    func parse(_ text: String) -> Int64? {
        let lowered = text.lowercased()
        var words = lowered.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init)
        if words.count == 1 { words = splitStamp(words[0]) }
        if lowered == "now" { return nowMilliseconds }
        if words.last == "ago" { return parseAgo(words.dropLast()) }
        var clock: (hour: Int, minute: Int, second: Int)?
        if let last = words.last, let time = parseClock(last) {
            clock = time
            words.removeLast()
        }
        guard let day = parseDay(words, hasClock: clock != nil) else { return nil }
        guard let clock else {
            return LocalTime.milliseconds(
                year: day.year, month: day.month, day: day.day, hour: 23, minute: 59, second: 59
            ).map { min($0 + 999, max(nowMilliseconds, $0 - 86_399_000)) }
        }
        return LocalTime.milliseconds(
            year: day.year, month: day.month, day: day.day, hour: clock.hour, minute: clock.minute,
            second: clock.second
        ).map { $0 + 999 }
    }

    /// `2026-05-03t14:00` is a day and a clock time joined by a letter.
    private func splitStamp(_ word: String) -> [String] {
        guard word.contains("-"), word.contains(":") else { return [word] }
        return word.split(separator: "t", maxSplits: 1).map(String.init)
    }

    private typealias Day = (year: Int, month: Int, day: Int)

    private func parseDay(_ words: [String], hasClock: Bool) -> Day? {
        switch words.count {
        case 0: return hasClock ? dayBefore(0) : nil
        case 1: return parseDayWord(words[0])
        case 2 where words[0] == "last": return words[1] == "week" ? dayBefore(7) : parseWeekday(words[1], strict: true)
        case 2, 3: return parseDate(words)
        default: return nil
        }
    }

    private func parseDayWord(_ word: String) -> Day? {
        switch word {
        case "today": return dayBefore(0)
        case "yesterday": return dayBefore(1)
        default: break
        }
        if let weekday = parseWeekday(word, strict: false) { return weekday }
        let parts = word.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 3, let year = parts[0], let month = parts[1], let day = parts[2], year >= 1000 else {
            return nil
        }
        return LocalTime.milliseconds(year: year, month: month, day: day) == nil ? nil : (year, month, day)
    }

    private func parseWeekday(_ word: String, strict: Bool) -> Day? {
        guard word.count >= 3 || strict,
            let index = LocalTime.weekdayNames.firstIndex(where: { $0.lowercased().hasPrefix(word) }), word.count >= 3
        else { return nil }
        let today = LocalTime(milliseconds: nowMilliseconds).weekday
        let back = (today - index + 7) % 7
        return dayBefore(back == 0 ? 7 : back)
    }

    /// `3 may`, `may 3`, `3 may 2024`; without a year the latest such day that is not in the future.
    private func parseDate(_ words: [String]) -> Day? {
        guard let monthIndex = words.firstIndex(where: { month($0) != nil }), monthIndex < 2,
            let month = month(words[monthIndex]), let day = Int(words[1 - monthIndex])
        else { return nil }
        if words.count == 3 {
            guard let year = Int(words[2]), year >= 1000,
                LocalTime.milliseconds(year: year, month: month, day: day) != nil
            else { return nil }
            return (year, month, day)
        }
        let thisYear = LocalTime(milliseconds: nowMilliseconds).year
        for year in stride(from: thisYear, to: thisYear - 8, by: -1) {
            if let start = LocalTime.milliseconds(year: year, month: month, day: day), start <= nowMilliseconds {
                return (year, month, day)
            }
        }
        return nil
    }

    private func month(_ word: String) -> Int? {
        guard word.count >= 3 else { return nil }
        let full = [
            "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november", "december",
        ]
        return full.firstIndex { $0.hasPrefix(word) }.map { $0 + 1 }
    }

    private func parseClock(_ word: String) -> (hour: Int, minute: Int, second: Int)? {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2 || parts.count == 3, let hour = parts[0], let minute = parts[1],
            (0...23).contains(hour), (0...59).contains(minute)
        else { return nil }
        guard parts.count == 3 else { return (hour, minute, 0) }
        guard let second = parts[2], (0...59).contains(second) else { return nil }
        return (hour, minute, second)
    }

    private func parseAgo(_ words: ArraySlice<String>) -> Int64? {
        guard words.count == 2, let first = words.first, let unit = words.last else { return nil }
        guard let count = first == "a" || first == "an" || first == "one" ? 1 : Int64(first),
            (0...100_000).contains(count)
        else { return nil }
        let singular = unit.hasSuffix("s") ? String(unit.dropLast()) : unit
        let units: [String: Int64] = [
            "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "month": 2_629_800,
            "year": 31_557_600,
        ]
        return units[singular].map { nowMilliseconds - count * $0 * 1000 }
    }

    private func dayBefore(_ days: Int) -> Day {
        let today = LocalTime(milliseconds: nowMilliseconds)
        // Noon is far from every change of summer time.
        let noon =
            LocalTime.milliseconds(year: today.year, month: today.month, day: today.day, hour: 12) ?? nowMilliseconds
        let then = LocalTime(milliseconds: noon - Int64(days) * 86_400_000)
        return (then.year, then.month, then.day)
    }
}
