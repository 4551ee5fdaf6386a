// Refusals of a front. Invariant: none of them says more of the store than the request did.

package import CoffretBase
package import CoffretTerminal
internal import CoffretWire

/// The reason why a front refused its page, or the person who started it.
package struct FrontError: Error, Equatable, Sendable {
    package enum Code: String, Sendable {
        /// It is no request of `Spec/page.md`; the place names the member or field.
        case requestInvalid = "front.request.invalid"
        /// The front does not pass on this operation, or not with this field.
        case requestRefused = "front.request.refused"
        /// Its page has asked too much at once.
        case busy = "front.busy"
        /// A file of the page's, or all together, would take more memory than a front gives.
        case contentTooLarge = "front.content.too-large"
        /// The person chose no file or folder, or it cannot be opened; the place names it.
        case nothingChosen = "front.choice.none"
        /// The page has shown or copied many secrets in a short time, and no person wants more.
        case revealMany = "front.reveal.many"
        /// A file of the page is missing, or others can write it; the place names it.
        case pageUntrusted = "front.page.untrusted"
        /// The clipboard did not take the value, or its program was not found.
        case copyFailed = "front.copy.failed"
    }

    package let code: Code
    package let place: String?

    package init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }

    package static func == (left: FrontError, right: FrontError) -> Bool { left.code == right.code }

    /// The words for a person.
    package var message: String {
        let place = place.map { ": \($0)" } ?? ""
        return switch code {
        case .requestInvalid: "this is no request of the page\(place)"
        case .requestRefused: "this is not done here\(place)"
        case .busy: "the page has asked too much at once"
        case .nothingChosen: place.isEmpty ? "nothing was chosen" : "this cannot be opened\(place)"
        case .revealMany: "20 secrets were shown or copied within a minute; another one is given after that"
        case .contentTooLarge: "a file of more than 256 MiB goes in and out by commands alone"
        case .pageUntrusted: "a file of the page is missing, or others can write it\(place)"
        case .copyFailed: "the clipboard did not take it"
        }
    }
}

/// Replies that a front makes itself, in the form of `Spec/operations.md` section 2.
package enum FrontReply {
    package static func ok(_ members: [(String, JSONValue)]) -> [UInt8] {
        ok(JSONValue.object(members.map { JSONValue.Member($0.0, $0.1) }))
    }

    package static func ok(_ answer: JSONValue) -> [UInt8] {
        Array(JSONValue.object([JSONValue.Member("ok", answer)]).text().utf8)
    }

    package static func error(code: String, _ message: String, waitSeconds: UInt64? = nil) -> [UInt8] {
        var failure = OperationFailure()
        (failure.code, failure.message, failure.waitSeconds) = (code, message, waitSeconds.map { Int(clamping: $0) })
        return Array(JSONValue.object([JSONValue.Member("error", failure.json)]).text().utf8)
    }

    /// The answer to `front.copy` and `front.copyCode` once their command has ended.
    package static func copied(_ outcome: ChildOutcome) -> [UInt8] {
        outcome.isSuccess ? ok([("seconds", .integer(FrontRequest.clipboardSeconds))]) : error(FrontError(.copyFailed))
    }

    package static func error(_ error: FrontError) -> [UInt8] { self.error(code: error.code.rawValue, error.message) }
}
