// Names as keyrings and links keep them. Invariant: no name is longer than its reader takes, whatever number it was
// given.

internal import CoffretBase

enum KeyringName {
    /// - Throws: `.nameTooLong`.
    static func check(_ name: String) throws(KeyError) {
        guard name.utf8.count <= Limits.nameByteCountMax else {
            throw KeyError(.nameTooLong, at: "\(name.utf8.count) bytes")
        }
    }

    /// `name`, or `name` with the first free number from 2 on; cut at a character so that the number fits.
    ///
    /// - Parameter taken: names in lowercase.
    static func free(_ name: String, among taken: Set<String>) -> String {
        let name = cut(name, toByteCount: Limits.nameByteCountMax)
        guard taken.contains(name.lowercased()) else { return name }
        var number = 2
        while true {
            let suffix = " \(number)"
            let numbered = cut(name, toByteCount: Limits.nameByteCountMax - suffix.utf8.count) + suffix
            if !taken.contains(numbered.lowercased()) { return numbered }
            number += 1
        }
    }

    /// The characters of `name` that fit.
    private static func cut(_ name: String, toByteCount byteCountMax: Int) -> String {
        guard name.utf8.count > byteCountMax else { return name }
        var byteCount = 0
        return String(
            name.prefix { character in
                byteCount += character.utf8.count
                return byteCount <= byteCountMax
            })
    }
}
