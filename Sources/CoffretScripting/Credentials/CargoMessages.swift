// Cargo's credential-provider protocol, version 1 (The Cargo Book, "Credential Provider Protocol"): a line of JSON each
// way. Invariant: a request that is not understood is answered by a refusal of the protocol, never by a token.

internal import CoffretBase

/// A request of Cargo.
package struct CargoRequest: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        case get
        /// Nil if the person is to be asked for the token.
        case login(token: String?)
        case logout
    }

    package static let version: Int64 = 1
    package static let byteCountMax = 64 << 10

    package let action: Action
    /// The address of the registry's index.
    package let index: String
    /// The name that the person gave the registry, if any.
    package let name: String?
    /// Where a person gets a token.
    package let loginURL: String?

    /// - Throws: `CargoRefusal`.
    package init(_ line: String) throws(CargoRefusal) {
        guard let value = try? JSONValue(parsing: Array(line.utf8)), value["v"]?.integer == Self.version,
            let registry = value["registry"], let index = registry["index-url"]?.string
        else { throw .other("that is no request of version 1 of Cargo's protocol") }
        self.index = index
        name = registry["name"]?.string
        loginURL = value["login-url"]?.string
        switch value["kind"]?.string {
        case "get": action = .get
        case "login": action = .login(token: value["token"]?.string)
        case "logout": action = .logout
        default: throw .operationNotSupported
        }
    }
}

/// An answer to Cargo that is no success.
package enum CargoRefusal: Error, Equatable, Sendable {
    case notFound
    case operationNotSupported
    case other(String)
}

/// The lines that Cargo reads.
package enum CargoAnswer {
    package static let hello = line([("v", .array([.integer(CargoRequest.version)]))])

    /// The token may be used for the rest of this run, for any operation.
    package static func token(_ token: String) -> String {
        done([
            ("kind", .string("get")), ("token", .string(token)), ("cache", .string("session")),
            ("operation_independent", .bool(true)),
        ])
    }

    package static let loggedIn = done([("kind", .string("login"))])
    package static let loggedOut = done([("kind", .string("logout"))])

    package static func refusal(_ refusal: CargoRefusal) -> String {
        let fields: [(String, JSONValue)] =
            switch refusal {
            case .notFound: [("kind", .string("not-found"))]
            case .operationNotSupported: [("kind", .string("operation-not-supported"))]
            case .other(let words):
                [("kind", .string("other")), ("message", .string(words)), ("caused-by", .array([]))]
            }
        return line([("Err", object(fields))])
    }

    private static func done(_ fields: [(String, JSONValue)]) -> String { line([("Ok", object(fields))]) }

    private static func line(_ fields: [(String, JSONValue)]) -> String { object(fields).text() }

    private static func object(_ fields: [(String, JSONValue)]) -> JSONValue {
        .object(fields.map { JSONValue.Member($0, $1) })
    }
}
