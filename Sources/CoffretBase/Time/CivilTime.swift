// Moments as text. Invariant: the text of a moment reads back as the same millisecond, for every moment of the years
// 0000 to 9999.

/// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds; negative before.
package typealias Milliseconds = Int64

/// A moment in the proleptic Gregorian calendar, in UTC.
///
/// Day arithmetic counts from 1 March, so that the leap day is the last of its year.
package struct CivilTime: Equatable, Sendable {
    package var year: Int
    /// 1 to 12.
    package var month: Int
    /// 1 to 31.
    package var day: Int
    package var hour: Int
    package var minute: Int
    package var second: Int
    package var millisecond: Int

    package static let millisecondsPerDay: Int64 = 86_400_000
    /// 0000-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z.
    package static let range: ClosedRange<Milliseconds> = -62_167_219_200_000...253_402_300_799_999

    package init(milliseconds: Milliseconds) {
        let (days, rest) = Self.floorDivide(milliseconds, Self.millisecondsPerDay)
        // Days since 0000-03-01, in eras of 400 years = 146097 days.
        let (era, dayOfEra) = Self.floorDivide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
        month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
        hour = Int(rest / 3_600_000)
        minute = Int(rest / 60_000 % 60)
        second = Int(rest / 1_000 % 60)
        millisecond = Int(rest % 1_000)
    }

    package var milliseconds: Milliseconds {
        let shiftedYear = Int64(month <= 2 ? year - 1 : year)
        let (era, yearOfEra) = Self.floorDivide(shiftedYear, 400)
        let shiftedMonth = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        let seconds = Int64(hour) * 3_600 + Int64(minute) * 60 + Int64(second)
        return days * Self.millisecondsPerDay + seconds * 1_000 + Int64(millisecond)
    }

    /// RFC 3339 in UTC, with milliseconds only where there are any: `2024-02-29T12:00:00Z`.
    ///
    /// A moment outside the years 0000 to 9999 is written as the nearest one inside.
    package static func format(_ milliseconds: Milliseconds) -> String {
        let time = CivilTime(milliseconds: min(max(milliseconds, range.lowerBound), range.upperBound))
        var text = "\(padded(time.year, 4))-\(padded(time.month, 2))-\(padded(time.day, 2))T"
        text += "\(padded(time.hour, 2)):\(padded(time.minute, 2)):\(padded(time.second, 2))"
        if time.millisecond != 0 { text += ".\(padded(time.millisecond, 3))" }
        return text + "Z"
    }

    /// Reads a date (midnight UTC) or a date and time of RFC 3339 with `Z` or an offset.
    ///
    /// A space may stand for the `T`; a time without an offset is taken as UTC; fractions are cut to
    /// milliseconds; the leap second 60 is read as 59.
    package static func parse(_ text: String) throws(TextCodingError) -> Milliseconds {
        var scanner = Scanner(text: Array(text.utf8))
        var time = CivilTime(milliseconds: 0)
        time.year = try scanner.number(digitCount: 4, in: 0...9999)
        try scanner.skip("-")
        time.month = try scanner.number(digitCount: 2, in: 1...12)
        try scanner.skip("-")
        time.day = try scanner.number(digitCount: 2, in: 1...dayCount(year: time.year, month: time.month))
        if scanner.isAtEnd { return time.milliseconds }
        guard scanner.accept("T") || scanner.accept("t") || scanner.accept(" ") else { throw scanner.error }
        time.hour = try scanner.number(digitCount: 2, in: 0...23)
        try scanner.skip(":")
        time.minute = try scanner.number(digitCount: 2, in: 0...59)
        if scanner.accept(":") {
            time.second = min(try scanner.number(digitCount: 2, in: 0...60), 59)
            if scanner.accept(".") { time.millisecond = try scanner.fraction() }
        }
        if scanner.isAtEnd || ((scanner.accept("Z") || scanner.accept("z")) && scanner.isAtEnd) {
            return time.milliseconds
        }
        let isBehind = scanner.accept("-")
        if !isBehind { try scanner.skip("+") }
        let hours = try scanner.number(digitCount: 2, in: 0...23)
        try scanner.skip(":")
        let minutes = try scanner.number(digitCount: 2, in: 0...59)
        guard scanner.isAtEnd else { throw scanner.error }
        let offset = Int64(hours * 60 + minutes) * 60_000
        let milliseconds = time.milliseconds + (isBehind ? offset : -offset)
        guard range.contains(milliseconds) else { throw TextCodingError(.invalidTime) }
        return milliseconds
    }

    package static func dayCount(year: Int, month: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func floorDivide(_ dividend: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let quotient = dividend >= 0 ? dividend / divisor : (dividend + 1) / divisor - 1
        return (quotient, dividend - quotient * divisor)
    }

    private static func padded(_ value: Int, _ digitCount: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    }

    private struct Scanner {
        let text: [UInt8]
        var byteOffset = 0

        var isAtEnd: Bool { byteOffset == text.count }
        var error: TextCodingError { TextCodingError(.invalidTime, byteOffset: byteOffset) }

        mutating func accept(_ character: Unicode.Scalar) -> Bool {
            guard !isAtEnd, text[byteOffset] == UInt8(ascii: character) else { return false }
            byteOffset += 1
            return true
        }

        mutating func skip(_ character: Unicode.Scalar) throws(TextCodingError) {
            guard accept(character) else { throw error }
        }

        mutating func digit() -> Int? {
            guard !isAtEnd, UInt8(ascii: "0")...UInt8(ascii: "9") ~= text[byteOffset] else { return nil }
            byteOffset += 1
            return Int(text[byteOffset - 1] - UInt8(ascii: "0"))
        }

        mutating func number(digitCount: Int, in range: ClosedRange<Int>) throws(TextCodingError) -> Int {
            let start = self
            var value = 0
            for _ in 0..<digitCount {
                guard let digit = digit() else { throw error }
                value = value * 10 + digit
            }
            guard range.contains(value) else { throw start.error }
            return value
        }

        mutating func fraction() throws(TextCodingError) -> Int {
            guard var value = digit() else { throw error }
            var digitCount = 1
            while let digit = digit() {
                if digitCount < 3 {
                    value = value * 10 + digit
                    digitCount += 1
                }
            }
            while digitCount < 3 {
                value *= 10
                digitCount += 1
            }
            return value
        }
    }
}
