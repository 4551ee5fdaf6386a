// What a field must be, looked at where it is typed. The one thing to keep true: only what is new is judged; a value that
// came with a sync or an import stays as it is until somebody changes it, and an import says what is wrong.

internal import CoffretBase

package enum FieldCheck {
    /// What is wrong with a value, in words for a person; nil if nothing is.
    package static func problem(_ value: String, kind: FieldKind, key: String) -> String? {
        guard !value.isEmpty else { return nil }
        if kind == .oneTimeCode { return oneTimeCodeProblem(value) }
        if key == "expiry" {
            return isExpiry(value) ? nil : "when a card expires is a month and a year, as 05/29 or 2029-05"
        }
        guard kind == .date else { return nil }
        return isDate(value) ? nil : "a date is year, month and day, as 2026-05-03 or 3 May 2026"
    }

    private static func oneTimeCodeProblem(_ value: String) -> String? {
        let dense = value.filter { $0 != " " && $0 != "-" }
        if (6...8).contains(dense.count), dense.allSatisfy(\.isNumber) {
            return "that is a code, which is good for half a minute; what is wanted is the key that makes codes"
        }
        if (try? OneTimeCode.parse(value)) != nil { return nil }
        return "the key of a one-time code is base32 (letters and the digits 2 to 7) or an otpauth:// address"
    }

    /// `2026-05-03`, `3.5.2026`, `05/03/2026`, `3 May 2026`: three parts, of which one is a year of four digits.
    private static func isDate(_ value: String) -> Bool {
        let parts = value.lowercased().split { " -./,".contains($0) }.map(String.init)
        guard parts.count == 3 else { return false }
        let years = parts.filter { $0.count == 4 && Int($0) != nil }
        let rest = parts.filter { !($0.count == 4 && Int($0) != nil) }
        guard years.count == 1, rest.count == 2 else { return false }
        let numbers = rest.compactMap { Int($0) }
        let names = rest.filter { word in
            word.count >= 3 && monthNames.contains { word.hasPrefix($0) }
        }
        guard numbers.allSatisfy({ (1...31).contains($0) }) else { return false }
        return names.count == 1 && numbers.count == 1 || numbers.count == 2 && numbers.contains { $0 <= 12 }
    }

    private static let monthNames = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// `05/29`, `05/2029`, `2029-05`.
    private static func isExpiry(_ value: String) -> Bool {
        let parts = value.split { "/-. ".contains($0) }.map(String.init)
        guard parts.count == 2, let first = Int(parts[0]), let second = Int(parts[1]) else { return isDate(value) }
        let isMonth = { (number: Int) in (1...12).contains(number) }
        return parts[0].count == 4 ? isMonth(second) : isMonth(first) && [2, 4].contains(parts[1].count)
    }
}
