// From text to query. Invariant: any input gives a query or a named error with a place, in time and depth that the
// limits bound.

internal import CoffretBase

extension SearchQuery {
    /// Reads what a person typed (`Spec/search.md`, "Queries").
    ///
    /// - Throws: `SearchError` with a `query…` code and the byte offset of what was not understood.
    package static func parse(
        _ text: String, options: SearchQueryOptions = SearchQueryOptions()
    ) throws(SearchError) -> SearchQuery {
        guard text.utf8.count <= QueryLimits.byteCountMax else {
            throw SearchError(.queryTooLong, at: QueryLimits.byteCountMax)
        }
        var parser = QueryParser(text, options: options)
        return try parser.parse()
    }
}

/// Recursive descent: alternatives of sequences of terms.
struct QueryParser {
    private enum Field: String, CaseIterable {
        case tag, type, kind, `in`, `is`, has, after, before, on, title, body, text, field, fields
        case createdAfter = "created-after"
        case createdBefore = "created-before"
    }
    private static let fieldNames = Set(Field.allCases.map(\.rawValue))

    private let lexemes: [QueryLexeme]
    private let options: SearchQueryOptions
    private var index = 0
    private var depth = 0
    private var termCount = 0
    private var columns: Set<SearchColumn> = []
    private var includesTrashed = false
    private var isNegated = false

    init(_ text: String, options: SearchQueryOptions) {
        lexemes = QueryLexer.lexemes(of: text, fieldNames: Self.fieldNames)
        self.options = options
    }

    mutating func parse() throws(SearchError) -> SearchQuery {
        let root = try parseAlternatives()
        if index < lexemes.count {
            // Only a closing parenthesis ends the alternatives early.
            throw SearchError(.queryUnbalanced, at: lexemes[index].byteOffset)
        }
        guard let root else {
            // `in:trash` alone is a filter; `in:title` alone looks for nothing.
            throw SearchError(.queryEmpty, at: 0)
        }
        return SearchQuery(root: root, columns: columns, includesTrashed: includesTrashed)
    }

    private mutating func parseAlternatives() throws(SearchError) -> QueryNode? {
        var alternatives: [QueryNode] = []
        while true {
            if let sequence = try parseSequence() { alternatives.append(sequence) }
            guard index < lexemes.count, lexemes[index].kind == .or else { break }
            index += 1
        }
        return alternatives.count > 1 ? .any(alternatives) : alternatives.first
    }

    private mutating func parseSequence() throws(SearchError) -> QueryNode? {
        var terms: [QueryNode] = []
        while index < lexemes.count {
            switch lexemes[index].kind {
            case .or, .close: return Self.sequence(terms)
            case .and: index += 1
            default: if let term = try parseTerm() { terms.append(term) }
            }
        }
        return Self.sequence(terms)
    }

    private static func sequence(_ terms: [QueryNode]) -> QueryNode? {
        terms.count > 1 ? .all(terms) : terms.first
    }

    private mutating func parseTerm() throws(SearchError) -> QueryNode? {
        let lexeme = lexemes[index]
        index += 1
        switch lexeme.kind {
        case .not:
            // A run of negations is one loop, not one level each.
            var isNegative = true
            while index < lexemes.count, lexemes[index].kind == .not {
                isNegative.toggle()
                index += 1
            }
            guard index < lexemes.count, lexemes[index].kind != .or, lexemes[index].kind != .close,
                lexemes[index].kind != .and
            else { return nil }
            let wasNegated = isNegated
            isNegated = isNegated != isNegative
            defer { isNegated = wasNegated }
            guard let term = try parseTerm() else { return nil }
            return isNegative ? .not(term) : term
        case .open:
            guard depth < QueryLimits.depthMax else { throw SearchError(.queryTooDeep, at: lexeme.byteOffset) }
            depth += 1
            let inner = try parseAlternatives()
            depth -= 1
            guard index < lexemes.count, lexemes[index].kind == .close else {
                throw SearchError(.queryUnbalanced, at: lexeme.byteOffset)
            }
            index += 1
            return inner
        case .word(let text, let isPrefix):
            return try textTerm(text, isPrefix, goesOn: lexeme.isLast, column: nil, lexeme)
        case .phrase(let text, let isPrefix):
            return try textTerm(text, isPrefix, column: nil, lexeme)
        case .field(let name, let hasValue):
            guard hasValue, let field = Field(rawValue: name) else {
                throw SearchError(.queryMissingValue, at: lexeme.byteOffset)
            }
            return try parseField(field, lexeme)
        case .or, .and, .close:
            preconditionFailure("a sequence ends before these")
        }
    }

    private mutating func countTerm(_ lexeme: QueryLexeme) throws(SearchError) {
        termCount += 1
        guard termCount <= QueryLimits.termCountMax else {
            throw SearchError(.queryTooManyTerms, at: lexeme.byteOffset)
        }
    }

    private static let beginningCharacterCountMin = 3

    private mutating func textTerm(
        _ text: String, _ isPrefix: Bool, goesOn: Bool = false, column: SearchColumn?, _ lexeme: QueryLexeme
    ) throws(SearchError) -> QueryNode? {
        guard text.utf8.contains(where: { $0 != 0x20 }) else { return nil }
        try countTerm(lexeme)
        let isBeginning =
            goesOn && options.lastWordIsPrefix && !isPrefix && !isNegated
            && text.unicodeScalars.count >= Self.beginningCharacterCountMin
        return .text(TextTerm(text: text, isPrefix: isPrefix, column: column, goesOn: isBeginning))
    }

    // MARK: Fields

    private mutating func parseField(_ field: Field, _ name: QueryLexeme) throws(SearchError) -> QueryNode? {
        let valueLexeme = lexemes[index]
        index += 1
        let value: String
        let isPrefix: Bool
        var goesOn = false
        switch valueLexeme.kind {
        case .word(let text, let star):
            (value, isPrefix) = (text, star)
            goesOn = valueLexeme.isLast
        case .phrase(let text, let star): (value, isPrefix) = (text, star)
        // A value that looks like a sign or a field is taken by its letters.
        case .or: (value, isPrefix) = ("OR", false)
        case .and: (value, isPrefix) = ("AND", false)
        case .field(let text, _): (value, isPrefix) = (text, false)
        case .not, .open, .close: throw SearchError(.queryMissingValue, at: name.byteOffset)
        }
        let column: SearchColumn? =
            switch field {
            case .title: .title
            case .body, .text: .body
            case .field, .fields: .fields
            default: nil
            }
        if let column { return try textTerm(value, isPrefix, goesOn: goesOn, column: column, name) }
        try countTerm(name)
        guard value.utf8.contains(where: { $0 != 0x20 }) else {
            throw SearchError(.queryMissingValue, at: name.byteOffset)
        }
        return try parseFilter(field, foldASCII(value), at: valueLexeme.byteOffset)
    }

    private mutating func parseFilter(
        _ field: Field, _ value: String, at byteOffset: Int
    ) throws(SearchError) -> QueryNode? {
        switch field {
        case .tag:
            let path = Self.tagPath(value)
            guard !path.isEmpty else { throw SearchError(.queryMissingValue, at: byteOffset) }
            return .filter(.tag(path))
        case .type, .kind:
            guard let kind = options.vocabulary.kinds[value] else {
                throw SearchError(.queryUnknownType, at: byteOffset)
            }
            return .filter(.kind(kind))
        case .in:
            return try parsePlace(value, at: byteOffset)
        case .is, .has:
            guard let filter = property(value) else { throw SearchError(.queryUnknownProperty, at: byteOffset) }
            return .filter(filter)
        case .after:
            return .filter(.modified(try dates(value, at: byteOffset).lowerBound..<Milliseconds.max))
        case .before:
            return .filter(.modified(Milliseconds.min..<(try dates(value, at: byteOffset).lowerBound)))
        case .on:
            return .filter(.modified(try dates(value, at: byteOffset)))
        case .createdAfter:
            return .filter(.created(try dates(value, at: byteOffset).lowerBound..<Milliseconds.max))
        case .createdBefore:
            return .filter(.created(Milliseconds.min..<(try dates(value, at: byteOffset).lowerBound)))
        case .title, .body, .text, .field, .fields:
            preconditionFailure("these look for words")
        }
    }

    private mutating func parsePlace(_ value: String, at byteOffset: Int) throws(SearchError) -> QueryNode? {
        if let flag = Flag.allCases.first(where: { $0.place == value }) {
            includesTrashed = includesTrashed || flag == .trashed
            return .filter(.flag(flag))
        }
        switch value {
        case "title", "tags", "fields", "body", "all":
            guard depth == 0, !isNegated else { throw SearchError(.queryMisplacedScope, at: byteOffset) }
            if value == "all" { includesTrashed = true }
            if let column = SearchColumn.allCases.first(where: { $0.name == value }) { columns.insert(column) }
            return nil
        default:
            throw SearchError(.queryUnknownPlace, at: byteOffset)
        }
    }

    private mutating func property(_ value: String) -> QueryFilter? {
        if let flag = Flag(rawValue: value) {
            includesTrashed = includesTrashed || flag == .trashed
            return .flag(flag)
        }
        switch value {
        case "locked": return .locked
        case "conflicted": return .conflicted
        case "untagged": return .untagged
        case "attachment", "attachments": return .hasAttachments
        default: return nil
        }
    }

    /// `#garden/beds/` and `garden/beds` are the same tag.
    private static func tagPath(_ value: String) -> String {
        var path = value.utf8[...]
        while let first = path.first, first == UInt8(ascii: "#") || first == UInt8(ascii: "/") { path.removeFirst() }
        while let last = path.last, last == UInt8(ascii: "#") || last == UInt8(ascii: "/") { path.removeLast() }
        return String(decoding: path, as: UTF8.self)
    }

    /// The year, month or day that `value` names, in the reader's time.
    private func dates(_ value: String, at byteOffset: Int) throws(SearchError) -> Range<Milliseconds> {
        let parts = value.split(separator: "-", omittingEmptySubsequences: false)
        let widths = [4, 2, 2]
        var numbers: [Int] = []
        for (part, width) in zip(parts, widths) {
            guard part.utf8.count == width, part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(part)
            else { throw SearchError(.queryInvalidDate, at: byteOffset) }
            numbers.append(number)
        }
        let year = numbers[0]
        let month = numbers.count > 1 ? numbers[1] : 1
        let day = numbers.count > 2 ? numbers[2] : 1
        guard parts.count <= 3, (1...9_998).contains(year), (1...12).contains(month),
            (1...CivilTime.dayCount(year: year, month: month)).contains(day)
        else { throw SearchError(.queryInvalidDate, at: byteOffset) }
        let start = Self.midnight(year, month, day)
        let end =
            switch numbers.count {
            case 1: Self.midnight(year + 1, 1, 1)
            case 2: month == 12 ? Self.midnight(year + 1, 1, 1) : Self.midnight(year, month + 1, 1)
            default: start + CivilTime.millisecondsPerDay
            }
        return (start - options.utcOffsetMilliseconds)..<(end - options.utcOffsetMilliseconds)
    }

    private static func midnight(_ year: Int, _ month: Int, _ day: Int) -> Milliseconds {
        var time = CivilTime(milliseconds: 0)
        time.year = year
        time.month = month
        time.day = day
        return time.milliseconds
    }
}
