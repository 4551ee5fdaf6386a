// How long ago something was. Invariant: relative up to a week, then dates, so a line in a log means the same
// tomorrow.

internal import CoffretBase

/// Moments in words, seen from one moment called now.
package struct RelativeTime {
    package let nowMilliseconds: Int64
    private let now: LocalTime

    package init(nowMilliseconds: Int64) {
        self.nowMilliseconds = nowMilliseconds
        now = LocalTime(milliseconds: nowMilliseconds)
    }

    /// `today`, `yesterday`, `Tuesday`, `12 May`, `12 May 2024`.
    package func day(_ milliseconds: Int64) -> String {
        let then = LocalTime(milliseconds: milliseconds)
        switch now.dayNumber - then.dayNumber {
        case 0: return "today"
        case 1: return "yesterday"
        case 2...6: return LocalTime.weekdayNames[then.weekday]
        default:
            let date = "\(then.day) \(LocalTime.monthNames[then.month - 1])"
            return then.year == now.year ? date : "\(date) \(then.year)"
        }
    }

    /// `today 08:12`, `yesterday 21:40`, `Tuesday 14:05`, `12 May`, `12 May 2024`.
    package func moment(_ milliseconds: Int64) -> String {
        let then = LocalTime(milliseconds: milliseconds)
        let days = now.dayNumber - then.dayNumber
        return (0...6).contains(days) ? "\(day(milliseconds)) \(then.clock)" : day(milliseconds)
    }
}
