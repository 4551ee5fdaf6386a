// Errors as people see them. Invariant: first what happened to the person's thing, then the stable code, then one hint
// with a command that works.

package import CoffretBase

/// Turns failures into lines on standard error.
package struct FailurePrinter {
    package let isJSON: Bool
    package let isVerbose: Bool
    package let style: TextStyler
    /// Columns of the terminal; nil when nobody looks.
    package let width: Int?

    package init(isJSON: Bool, isVerbose: Bool, style: TextStyler, width: Int?) {
        self.isJSON = isJSON
        self.isVerbose = isVerbose
        self.style = style
        self.width = width
    }

    package func lines(for failure: CommandFailure) -> [String] {
        if isJSON { return [json(for: failure).line] }
        var lines = [
            "coffret: \(style.apply(.error, "error:")) \(failure.message)   "
                + style.apply(.faint, "[\(failure.code)]")
        ]
        lines += failure.details.map { "  " + $0 }
        if isVerbose, let cause = failure.cause { lines.append("  cause: " + cause) }
        if let hint = failure.hint { lines.append("coffret: \(style.apply(.hint, "hint:")) \(hint)") }
        return lines.map { TextWidth.broken($0, width: width, hanging: 2) }
    }

    package func json(for failure: CommandFailure) -> JSONValue {
        var fields: [JSONValue.Member] = [
            JSONValue.Member("code", .string(failure.code)),
            JSONValue.Member("exitCode", .integer(Int(failure.exitCode.rawValue))),
            JSONValue.Member("message", .string(failure.message)),
        ]
        fields += failure.jsonFields.map { JSONValue.Member($0.name, $0.value) }
        if let hint = failure.hint { fields.append(JSONValue.Member("hint", .string(hint))) }
        if isVerbose, let cause = failure.cause { fields.append(JSONValue.Member("cause", .string(cause))) }
        return .object([JSONValue.Member("error", .object(fields))])
    }
}
