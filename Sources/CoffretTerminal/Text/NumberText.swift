// Numbers as people read them.

package enum NumberText {
    /// `7425` as `7,425`.
    package static func grouped(_ number: Int) -> String {
        let digits = String(number.magnitude)
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { result.append(",") }
            result.append(digit)
        }
        return number < 0 ? "-" + result : result
    }

    /// `counted(1, "note")` is "1 note", `counted(1204, "note")` is "1,204 notes".
    package static func counted(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? singular : plural ?? singular + "s")"
    }

    /// Bytes in powers of a thousand: `999 B`, `1.5 kB`, `41 MB`.
    package static func bytes(_ byteCount: Int) -> String {
        guard byteCount >= 1000 else { return "\(byteCount) B" }
        var value = Double(byteCount)
        for unit in ["kB", "MB", "GB", "TB", "PB", "EB"] {
            value /= 1000
            // 999.5 would round up to a fourth digit, which belongs to the next unit.
            if value < 999.5 || unit == "EB" {
                return value < 9.95 ? "\(oneDecimal(value)) \(unit)" : "\(Int(value.rounded())) \(unit)"
            }
        }
        return "\(byteCount) B"
    }

    /// `3 s`, `4 min`, `2 h`: for what is left to wait.
    package static func duration(milliseconds: Int) -> String {
        let seconds = (milliseconds + 500) / 1000
        if seconds < 90 { return "\(max(seconds, 1)) s" }
        if seconds < 5400 { return "\((seconds + 30) / 60) min" }
        return "\((seconds + 1800) / 3600) h"
    }

    private static func oneDecimal(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
