// JSON of other programs. Invariant: what no reader asks for can be listed afterwards, so that it is kept and not lost.

internal import CoffretBase
internal import CoffretCore

/// An object of a JSON text whose members are taken one by one; `rest` has those that nobody took.
final class ForeignObject {
    private let members: [JSONValue.Member]
    private var isTaken: [Bool]
    private var children: [(name: String, object: ForeignObject)] = []

    /// An object; nil for another value.
    init?(_ value: JSONValue?) {
        guard case .object(let members)? = value else { return nil }
        self.members = members
        isTaken = [Bool](repeating: false, count: members.count)
    }

    /// Parses a whole text of one object.
    ///
    /// - Throws: `.formatInvalid`, `.formatTruncated`, `.tooManyEntries`; `place` says where.
    static func parse(_ bytes: [UInt8], limits: ImportLimits) throws(ImportExportError) -> ForeignObject {
        guard let object = ForeignObject(try parseForeignJSON(bytes, limits: limits)) else {
            throw ImportExportError(.formatInvalid, at: "no object")
        }
        return object
    }

    // MARK: Looking

    /// The value of a member, which is not taken by this.
    func peek(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }

    /// The names of all members.
    var names: [String] { members.map(\.name) }

    private func take<Value>(_ name: String, _ read: (JSONValue) -> Value?) -> Value? {
        guard let index = members.firstIndex(where: { $0.name == name }), let value = read(members[index].value) else {
            return nil
        }
        isTaken[index] = true
        return value
    }

    // MARK: Taking

    /// A text, or a number as text; nil, and left, for anything else. An empty text is nil.
    func text(_ name: String) -> String? {
        take(name) { value in
            switch value {
            case .string(let text): text
            case .number(let text): text
            default: nil
            }
        }
        .flatMap { $0.isEmpty ? nil : $0 }
    }

    func integer(_ name: String) -> Int64? { take(name) { $0.integer ?? $0.string.flatMap { Int64($0) } } }

    func flag(_ name: String) -> Bool? { take(name, \.bool) }

    /// A moment: RFC 3339, or a number in the unit that the format has.
    func time(_ name: String, _ form: ListFormat.Time) -> Milliseconds? {
        take(name) { value in
            switch value {
            case .string(let text): form.milliseconds(text)
            // Programs write whole seconds with a fraction.
            case .number(let text): form.milliseconds(String(text.prefix { $0 != "." }))
            default: nil
            }
        }
    }

    /// An object within, whose rest is part of this one's.
    func object(_ name: String) -> ForeignObject? {
        guard let object = take(name, { ForeignObject($0) }) else { return nil }
        children.append((name, object))
        return object
    }

    /// The objects of a list; nil, and left, if something else is among them.
    func objects(_ name: String) -> [ForeignObject]? {
        let objects = take(name) { value -> [ForeignObject]? in
            guard let elements = value.elements else { return nil }
            let objects = elements.compactMap { ForeignObject($0) }
            return objects.count == elements.count ? objects : nil
        }
        guard let objects else { return nil }
        for (number, object) in objects.enumerated() {
            children.append((objects.count == 1 ? name : "\(name) \(number + 1)", object))
        }
        return objects
    }

    /// The texts of a list, without nulls; nil, and left, if something else is among them.
    func texts(_ name: String) -> [String]? {
        take(name) { value in
            guard let elements = value.elements?.filter({ $0 != .null }) else { return nil }
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        }
    }

    /// Any value as it is.
    func value(_ name: String) -> JSONValue? { take(name) { $0 } }

    /// Says that members tell nothing of an item: what the program remembers for itself.
    func ignore(_ names: String...) {
        for name in names { _ = value(name) }
    }

    /// Says that all members that are left tell nothing of an item.
    func ignoreRest() {
        for index in isTaken.indices { isTaken[index] = true }
        for (_, object) in children { object.ignoreRest() }
    }

    // MARK: The rest

    /// The values that nobody took, by the path of its name: `login.fido2Credentials 1.rpId`. Nothing, empty texts, lists and objects
    /// hold no value; lists of objects stay one value each.
    var rest: [(name: String, value: String)] {
        var result: [(name: String, value: String)] = []
        for (index, member) in members.enumerated() where !isTaken[index] {
            Self.flatten(member.value, member.name, into: &result)
        }
        for (name, object) in children { result += object.rest.map { ("\(name).\($0.name)", $0.value) } }
        return result
    }

    private static func flatten(
        _ value: JSONValue, _ name: String, into result: inout [(name: String, value: String)]
    ) {
        switch value {
        case .null, .string(""), .array([]), .object([]): break
        case .string(let text), .number(let text): result.append((name, text))
        case .bool(let flag): result.append((name, flag ? "true" : "false"))
        case .array(let elements):
            if elements.contains(where: { $0 != .null }) { result.append((name, value.text())) }
        case .object(let members):
            for member in members { flatten(member.value, "\(name).\(member.name)", into: &result) }
        }
    }
}

extension ForeignItem {
    /// Takes the members of an object that a format knows, in the order in which they stand.
    mutating func take(_ object: ForeignObject, _ columns: [String: ListFormat.Column]) {
        for name in object.names {
            guard let column = columns[name] else { continue }
            if case .ignored = column {
                object.ignore(name)
            } else if let value = object.text(name) ?? object.flag(name).map({ $0 ? "true" : "false" }) {
                take(value, as: column, original: name)
            }
        }
    }

    /// Keeps what nobody took of an object as fields.
    ///
    /// - Parameter isSecret: whether a name sounds like a secret's; `soundsSecret` by default.
    mutating func keepRest(of object: ForeignObject, isSecret: (String) -> Bool = soundsSecret) {
        for (name, value) in object.rest { add(name, value, kind: isSecret(name) ? .secret : .text) }
        object.ignoreRest()
    }
}

/// Whether a name of a field sounds like that of a secret. A field that is hidden by mistake is shown at a word; a password
/// that is shown by mistake was seen.
func soundsSecret(_ name: String) -> Bool {
    let name = name.asciiLowercased()
    return [
        "password", "passwd", "passphrase", "secret", "token", "private", "pin", "cvv", "cvc", "seed", "credential",
        "recovery", "otp", "key", "iban", "account", "number", "ssn",
    ].contains { name.contains($0) }
}

/// Parses a whole foreign JSON text, a byte order mark at its start included.
///
/// - Throws: `.formatInvalid`, `.formatTruncated`, `.tooManyEntries` above `limits.valueCountMax` values.
func parseForeignJSON(_ bytes: [UInt8], limits: ImportLimits) throws(ImportExportError) -> JSONValue {
    var rest: [UInt8]? = withoutMark(bytes)
    var parser = ForeignJSONParser(
        reader: JSONReader(depthMax: limits.nestingDepthMax) {
            defer { rest = nil }
            return rest
        }, valueCountMax: limits.valueCountMax)
    return try parser.parse()
}

/// Reads a JSON tree whose size is bounded.
private struct ForeignJSONParser {
    var reader: JSONReader
    let valueCountMax: Int
    private var count = 0

    init(reader: JSONReader, valueCountMax: Int) {
        self.reader = reader
        self.valueCountMax = valueCountMax
    }

    mutating func parse() throws(ImportExportError) -> JSONValue {
        guard let value = try value(try next()) else { throw ImportExportError(.formatInvalid, at: "no value") }
        guard try next() == .end else { throw ImportExportError(.formatInvalid, at: "line \(reader.line)") }
        return value
    }

    private mutating func next() throws(ImportExportError) -> JSONToken {
        do throws(JSONError) {
            return try reader.next()
        } catch {
            throw ImportExportError(formatError: error)
        }
    }

    /// Reads the rest of a value; nil for the end of what is open.
    private mutating func value(_ token: JSONToken) throws(ImportExportError) -> JSONValue? {
        count += 1
        guard count <= valueCountMax else { throw ImportExportError(.tooManyEntries, at: "line \(reader.line)") }
        switch token {
        case .beginObject:
            var members: [JSONValue.Member] = []
            var names: Set<String> = []
            while case .name(let name) = try next() {
                guard names.insert(name).inserted, let value = try value(try next()) else {
                    throw ImportExportError(.formatInvalid, at: "line \(reader.line): a name twice")
                }
                members.append(JSONValue.Member(name, value))
            }
            return .object(members)
        case .beginArray:
            var elements: [JSONValue] = []
            while let element = try value(try next()) { elements.append(element) }
            return .array(elements)
        case .string(let text): return .string(text)
        case .number(let text): return .number(text)
        case .bool(let flag): return .bool(flag)
        case .null: return .null
        case .name, .endObject, .endArray, .end: return nil
        }
    }
}
