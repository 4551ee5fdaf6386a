// Lines as numbers. The one thing to keep true: two lines have one number if and only if their bytes are equal.

/// Gives each different line of the texts of one merge a number, so that comparing lines is comparing numbers.
///
/// A line ends behind its LF; a last line without LF differs from one with it (T8).
struct LineTable {
    /// A line where it lies. Its hash takes all bytes at once: an array would hash them one by one.
    private struct Line: Hashable {
        let bytes: ArraySlice<UInt8>

        func hash(into hasher: inout Hasher) {
            unsafe bytes.withUnsafeBytes { bytes in unsafe hasher.combine(bytes: bytes) }
        }
    }

    private var numbers: [Line: Int32] = [:]
    private var lines: [Line] = []

    mutating func lines(of text: [UInt8]) -> [Int32] {
        var result: [Int32] = []
        var start = 0
        while start < text.count {
            let end = text[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? text.count
            let line = Line(bytes: text[start..<end])
            if let number = numbers[line] {
                result.append(number)
            } else {
                let number = Int32(lines.count)
                numbers[line] = number
                lines.append(line)
                result.append(number)
            }
            start = end
        }
        return result
    }

    /// The text of these lines.
    func text(of numbers: [Int32]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(numbers.reduce(0) { $0 + lines[Int($1)].bytes.count })
        for number in numbers { text += lines[Int(number)].bytes }
        return text
    }
}
