// Entry functions for fuzzing: each takes any bytes and must return. The value says whether they were accepted.

import CoffretCore

/// `otpauth` addresses and base32.
func fuzzOneTimeCodeAddress(_ bytes: [UInt8]) -> Bool {
    (try? OneTimeCode.parse(String(decoding: bytes, as: UTF8.self))) != nil
}

/// Markdown; the positions found must lie inside the text and hold what they say.
func fuzzMarkdownScan(_ bytes: [UInt8]) -> Bool {
    let scan = MarkdownScan(bytes: bytes)
    for mention in scan.tags {
        precondition(bytes[mention.range].first == UInt8(ascii: "#"), "a tag begins with its mark")
    }
    for link in scan.links {
        precondition(bytes[link.destinationRange].elementsEqual(link.destination.utf8), "a link is where it says")
    }
    return !scan.tags.isEmpty || !scan.links.isEmpty
}
