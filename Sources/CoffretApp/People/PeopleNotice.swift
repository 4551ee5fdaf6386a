// News of people, as a sync finds them. The one thing to keep true: they rest on chains that were verified, and on a server only where
// it says that somebody waits.

package import CoffretBase
package import CoffretCore

/// Something about people that a person should hear of.
package struct PeopleNotice: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case letter = 1
        case vault
        /// Somebody asks for help as a recovery contact.
        case help
        /// Recovery contacts are asked for an account. It cannot wait, and is told again each hour.
        case request
        case circle
        /// The members of a vault, and their roles.
        case members
        /// A member's account was recovered.
        case recovery
    }

    package let kind: Kind
    /// Its subject: the same one is told once.
    package let subject: [UInt8]
    package let words: String
    package let isLoud: Bool

    package init(_ kind: Kind, _ subject: [UInt8], isLoud: Bool = false, _ words: String = "") {
        (self.kind, self.subject, self.words, self.isLoud) = (kind, subject, words, isLoud)
    }
}

extension AccountSync {
    /// It asks and tells nobody.
    var desk: StoreDesk {
        StoreDesk(store, DeskSurroundings(stateDirectory: store.environment.stateDirectory))
    }

    /// As `CircleDesk.look`.
    package func lookAtCircles() throws -> [PeopleNotice] { try CircleDesk(desk: desk, sync: self).look() }

    /// Whether the account remembers a circle.
    package func hasCircles() throws -> Bool { try !desk.accountVault.circles().isEmpty }

    /// Whether this device remembers a circle; no key is needed for that.
    package static func remembersCircles(in layout: StoreLayout, _ fileSystem: any FileSystem) -> Bool {
        !CircleFile.circles(in: layout, fileSystem).isEmpty
    }
}
