// A fingerprint of what an import wrote, to tell later whether a person has changed it since.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto

/// Hashes the parts of an item that come from a file.
///
/// BLAKE2b-256 over length-prefixed parts: title (empty if the text says it), text, tags sorted, then label,
/// kind and value of each field by position and key, then one byte for each flag but the trash. Times, the trash and
/// attachments do not count: moving a note to the trash is no edit of it.
func itemStateHash(
    givenTitle: String?, text: String, tags: [TagPath], fields: [ItemField], flags: FlagSet
) -> [UInt8] {
    var hasher = BLAKE2bHasher(byteCount: 32)
    hasher.updateLengthPrefixed(Array((givenTitle ?? "").utf8))
    hasher.updateLengthPrefixed(Array(text.utf8))
    for tag in Set(tags.map(\.path)).sorted() { hasher.updateLengthPrefixed(Array(tag.utf8)) }
    hasher.updateLengthPrefixed([])
    for field in fields.sorted(by: { ($0.position, $0.key) < ($1.position, $1.key) }) {
        for part in [field.label, field.kind.rawValue, field.value] { hasher.updateLengthPrefixed(Array(part.utf8)) }
    }
    hasher.updateLengthPrefixed(Flag.allCases.filter { $0 != .trashed }.map { flags[$0] ? 1 : 0 })
    return hasher.finish()
}

/// The fingerprint of an item of the vault.
func itemStateHash(_ item: Item) -> [UInt8] {
    itemStateHash(
        givenTitle: item.givenTitle, text: item.text, tags: item.givenTags, fields: item.fields,
        flags: item.flags)
}
