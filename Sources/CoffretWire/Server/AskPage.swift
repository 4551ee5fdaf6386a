// The page of one-time requests, as it is in the programs. Invariant: what a server serves and what `coffret ask-page` writes are the
// same bytes, which nobody can exchange without exchanging the program.

internal import CoffretBase

/// `Web/ask/ask.html`: one file that refers to nothing outside. Spec: Spec/remote.md section 4.
package enum AskPage {
    /// UTF-8.
    package static let content: [UInt8] = (try? Base64.standard.decode(base64)) ?? []
}
