// Errors of the layers below, told in the words of a person. The one thing to keep true: each error
// keeps its stable code, and technical causes appear only with `--verbose`.

/// Turns any error into what the person sees.
enum FailureTranslation {
    static func failure(from error: any Error) -> CommandFailure {
        switch error {
        case let failure as CommandFailure: failure
        default:
            CommandFailure(
                .internalError, .unexpected, "something unexpected happened; nothing acknowledged is lost",
                hint: "run it again with --verbose and report what it says", cause: String(describing: error))
        }
    }
}
