// Hosts that look like another one. Invariant: the same host never looks like itself, and a warning fills nothing.

/// Finds out whether a person could take one host for another.
///
/// Three signs: the letters look alike (a small table), one letter is different, missing, too many or swapped with its neighbour,
/// or the host begins with the other one and a dot. Spec: Spec/bridge.md section 4.
package enum LookAlike {
    /// Hosts that are shorter differ from each other by one letter all the time.
    private static let byteCountMin = 7

    /// - Parameter hosts: of saved addresses, without ports.
    /// - Returns: the one that `host` looks like, if any.
    package static func find(_ host: String, among hosts: some Sequence<String>) -> String? {
        let own = skeleton(host)
        return hosts.first { known in
            guard known != host, known.utf8.count >= byteCountMin, known.contains(".") else { return false }
            if host.hasPrefix(known + ".") { return true }
            return !isOneSite(host, known) && (own == skeleton(known) || isOneAway(Array(host), Array(known)))
        }
    }

    /// Whether two hosts belong to one owner as far as their ends tell: `www1.example.org` and `www2.example.org`.
    private static func isOneSite(_ first: String, _ second: String) -> Bool {
        let ends = zip(first.split(separator: ".").reversed(), second.split(separator: ".").reversed())
        let shared = ends.prefix { $0 == $1 }.map(\.0)
        // `co.uk` has two labels and many owners.
        return shared.count > 2 || shared.count == 2 && shared[1].utf8.count > 3
    }

    /// The look of a host: look-alikes have the same.
    static func skeleton(_ host: String) -> String {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false).map { label in
            label.hasPrefix("xn--") ? Punycode.decode(label.dropFirst(4)) ?? String(label) : String(label)
        }
        var text = String(labels.joined(separator: ".").map { shapes[$0] ?? $0 })
        for (pair, letter) in pairs { text = text.split(pair: pair).joined(separator: letter) }
        return text
    }

    /// Letters that look like one of a to z, and digits that do.
    private static let shapes: [Character: Character] = {
        let rows: [(Character, String)] = [
            ("a", "аàáâãäåαɑ"), ("b", "ьβ"), ("c", "сçϲ"), ("d", "ԁ"), ("e", "еёéèêëε"), ("g", "ɡğ"), ("h", "һ"),
            ("i", "іïíîìι"), ("j", "ј"), ("k", "κк"), ("l", "1ӏł"), ("m", "м"), ("n", "ոñη"), ("o", "0оοöóòôõøσ"),
            ("p", "рρ"), ("q", "ԛ"), ("r", "г"), ("s", "5ѕşš"), ("t", "τт"), ("u", "υüúùûս"), ("v", "ѵν"),
            ("w", "ѡԝω"), ("x", "хχ"), ("y", "уýÿγ"), ("z", "ʐžź"),
        ]
        return Dictionary(uniqueKeysWithValues: rows.flatMap { letter, others in others.map { ($0, letter) } })
    }()

    /// Two letters that look like one; `i` and `l` look alike too.
    private static let pairs = [("rn", "m"), ("vv", "w"), ("cl", "d"), ("i", "l")]

    /// Whether one letter was changed, put in, left out, or swapped with its neighbour.
    private static func isOneAway(_ first: [Character], _ second: [Character]) -> Bool {
        let (short, long) = first.count <= second.count ? (first, second) : (second, first)
        guard long.count - short.count <= 1 else { return false }
        guard let index = short.indices.first(where: { short[$0] != long[$0] }) else {
            return short.count != long.count
        }
        if short.count < long.count { return short[index...].elementsEqual(long[(index + 1)...]) }
        if short[(index + 1)...].elementsEqual(long[(index + 1)...]) { return true }
        return index + 1 < short.count && short[index] == long[index + 1] && short[index + 1] == long[index]
            && short[(index + 2)...].elementsEqual(long[(index + 2)...])
    }
}

extension String {
    fileprivate func split(pair: String) -> [String] {
        var (parts, rest) = ([String](), Substring(self))
        while let start = rest.indices.first(where: { rest[$0...].hasPrefix(pair) }) {
            parts.append(String(rest[..<start]))
            rest = rest[rest.index(start, offsetBy: pair.count)...]
        }
        return parts + [String(rest)]
    }
}

/// Labels of hosts in other scripts. Source: RFC 3492.
enum Punycode {
    /// - Parameter label: without its prefix.
    /// - Returns: nil for what is none.
    static func decode(_ label: Substring) -> String? {
        var output = label.lastIndex(of: "-").map { Array(label[..<$0].unicodeScalars) } ?? []
        let rest = label.lastIndex(of: "-").map { label[label.index(after: $0)...] } ?? label
        guard label.utf8.count <= 59 else { return nil }
        var (code, index, bias, isFirst) = (128, 0, 72, true)
        var digits = rest.utf8.makeIterator()
        while let leading = digits.next() {
            let before = index
            var (weight, base, digit) = (1, 36, leading)
            while true {
                guard let value = self.value(digit) else { return nil }
                index += value * weight
                let threshold = base <= bias ? 1 : base >= bias + 26 ? 26 : base - bias
                if value < threshold { break }
                weight *= 36 - threshold
                base += 36
                guard weight < 1 << 40, index < 1 << 40, let next = digits.next() else { return nil }
                digit = next
            }
            let count = output.count + 1
            bias = adapted(index - before, count, isFirst)
            isFirst = false
            code += index / count
            index %= count
            guard code <= 0x10FFFF, let scalar = Unicode.Scalar(UInt32(code)) else { return nil }
            output.insert(scalar, at: index)
            index += 1
        }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: output)
        return String(text)
    }

    private static func value(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x61...0x7A: Int(byte) - 0x61
        case 0x30...0x39: Int(byte) - 0x30 + 26
        default: nil
        }
    }

    private static func adapted(_ delta: Int, _ count: Int, _ isFirst: Bool) -> Int {
        var (delta, steps) = (isFirst ? delta / 700 : delta / 2, 0)
        delta += delta / count
        while delta > 455 {
            delta /= 35
            steps += 36
        }
        return steps + 36 * delta / (delta + 38)
    }
}
