// Scheme 1 as another program would do it: with nothing but the public library of foreign formats.

import CoffretBase
import CoffretInterop

enum SchemeOnePeer {
    private static func noteID(_ id: UniqueID) -> [UInt8] { Array(id.description.uppercased().utf8) }

    static func open(_ cell: [UInt8], passphrase: String, noteID id: UniqueID) throws -> [UInt8] {
        let key = try BearKeyChain.coffretScheme1.deriveApplicationKey(passphrase: Array(passphrase.utf8))
        return try key.open(cell, noteID: noteID(id))
    }

    static func seal(_ text: String, passphrase: String, noteID id: UniqueID) throws -> [UInt8] {
        let key = try BearKeyChain.coffretScheme1.deriveApplicationKey(passphrase: Array(passphrase.utf8))
        return try key.seal(Array(text.utf8), noteID: noteID(id))
    }
}
