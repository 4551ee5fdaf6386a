// Entry functions for fuzzing: each takes any bytes and must return. The value says whether they were accepted.

import CoffretBase

@testable import CoffretCore

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

/// Password records; one that is accepted is the one that its id stands for, and is written as it was read.
func fuzzPasswordRecord(_ bytes: [UInt8], id: UniqueID) -> Bool {
    guard let record = try? PasswordRecord.parse(bytes, id: id) else { return false }
    precondition(record.id == id && record.encode() == bytes, "a record is its bytes")
    return true
}

/// Sealed parts; what is accepted is written as it was read.
func fuzzSealedValue(_ bytes: [UInt8]) -> Bool {
    guard let value = try? SealedValue.parse(bytes) else { return false }
    precondition(value.encode() == bytes, "a sealed part is its bytes")
    return true
}

/// What is inside sealed parts, once opened: whoever knows the passphrase may have written anything.
func fuzzLockedContents(_ bytes: [UInt8]) -> Bool {
    let fields = try? LockedContent.fields(bytes)
    let tags = try? LockedContent.tags(bytes)
    let file = try? SealedFileContent.parse(bytes)
    return fields != nil || tags != nil || file != nil
}
