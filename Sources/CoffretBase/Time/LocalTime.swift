// Moments as a person's calendar shows them. Invariant: the system's time zone rules are used for every moment
// separately, so summer time never shifts an old date.

internal import Glibc

/// A moment taken apart in the local time zone.
package struct LocalTime: Equatable {
    package let year: Int
    /// 1...12
    package let month: Int
    /// 1...31
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int
    /// Days since 1 January 1970 in the local calendar; differences count midnights.
    package let dayNumber: Int
    /// Seconds east of Greenwich.
    package let offsetSeconds: Int

    package init(milliseconds: Int64) {
        // Flooring keeps moments before 1970 on the right second.
        var time = time_t(milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000)
        var parts = unsafe tm()
        unsafe localtime_r(&time, &parts)
        year = Int(unsafe parts.tm_year) + 1900
        month = Int(unsafe parts.tm_mon) + 1
        day = Int(unsafe parts.tm_mday)
        hour = Int(unsafe parts.tm_hour)
        minute = Int(unsafe parts.tm_min)
        second = Int(unsafe parts.tm_sec)
        offsetSeconds = unsafe parts.tm_gmtoff
        var midnight = CivilTime(milliseconds: 0)
        (midnight.year, midnight.month, midnight.day) = (year, month, day)
        dayNumber = Int(midnight.milliseconds / CivilTime.millisecondsPerDay)
    }

    /// The moment in milliseconds since 1970 when local clocks show this; `nil` for a date that no
    /// calendar has, such as 30 February.
    package static func milliseconds(
        year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0
    ) -> Int64? {
        guard (1...9999).contains(year), (1...12).contains(month), (1...31).contains(day), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        var parts = unsafe tm()
        unsafe parts.tm_year = Int32(year - 1900)
        unsafe parts.tm_mon = Int32(month - 1)
        unsafe parts.tm_mday = Int32(day)
        unsafe parts.tm_hour = Int32(hour)
        unsafe parts.tm_min = Int32(minute)
        unsafe parts.tm_sec = Int32(second)
        unsafe parts.tm_isdst = -1
        let time = unsafe mktime(&parts)
        guard unsafe parts.tm_mday == Int32(day), unsafe parts.tm_mon == Int32(month - 1) else { return nil }
        return Int64(time) * 1000
    }

    package static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    package static let weekdayNames = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

    /// 0 for Monday; 1 January 1970 was a Thursday.
    package var weekday: Int { ((dayNumber + 3) % 7 + 7) % 7 }

    package var clock: String { "\(two(hour)):\(two(minute))" }

    /// RFC 3339 with the local offset, for JSON and for people who ask for exact times.
    package var exact: String {
        let sign = offsetSeconds < 0 ? "-" : "+"
        let minutes = abs(offsetSeconds) / 60
        return "\(year)-\(two(month))-\(two(day))T\(two(hour)):\(two(minute)):\(two(second))"
            + "\(sign)\(two(minutes / 60)):\(two(minutes % 60))"
    }

    private func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
