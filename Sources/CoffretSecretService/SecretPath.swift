// The objects of the Secret Service, by their paths.

/// An object that a client names.
enum SecretPath: Equatable {
    case service
    case collection
    /// With the id of an item.
    case item(String)
    /// A search that was made while the store was locked.
    case search(String)
    case session(String)
    case prompt(String)

    static let servicePath = "/org/freedesktop/secrets"
    static let collectionPath = servicePath + "/collection/login"
    static let aliases: Set<String> = ["default", "login"]

    /// - Returns: nil for a path at which nothing can be.
    init?(_ path: String) {
        if path == Self.servicePath {
            self = .service
        } else if path == Self.collectionPath
            || Self.aliases.contains(where: { path == Self.servicePath + "/aliases/" + $0 })
        {
            self = .collection
        } else if path.hasPrefix(Self.collectionPath + "/search") {
            self = .search(path)
        } else if let id = Self.last(path, after: Self.collectionPath + "/"), id.utf8.count == 32,
            id.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        {
            self = .item(id)
        } else if path.hasPrefix(Self.servicePath + "/session/") {
            self = .session(path)
        } else if path.hasPrefix(Self.servicePath + "/prompt/") {
            self = .prompt(path)
        } else {
            return nil
        }
    }

    private static func last(_ path: String, after prefix: String) -> String? {
        path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
    }

    static func path(ofItem id: String) -> String { collectionPath + "/" + id }
    static func path(ofSearch number: Int) -> String { collectionPath + "/search\(number)" }
    static func path(ofSession number: Int) -> String { servicePath + "/session/s\(number)" }
    static func path(ofPrompt number: Int) -> String { servicePath + "/prompt/p\(number)" }
}

/// A call that is not done, in the bus's terms.
struct BusRefusal: Error, Equatable {
    let name: String
    let words: String

    static let locked = BusRefusal(name: "org.freedesktop.Secret.Error.IsLocked", words: "the store is locked")
    static let noSession = BusRefusal(name: "org.freedesktop.Secret.Error.NoSession", words: "there is no such session")
    static let noObject = BusRefusal(
        name: "org.freedesktop.Secret.Error.NoSuchObject", words: "there is no such object")
    static let unknown = BusRefusal(name: "org.freedesktop.DBus.Error.UnknownMethod", words: "there is no such method")
    static let arguments = BusRefusal(
        name: "org.freedesktop.DBus.Error.InvalidArgs", words: "these are not the arguments of the method")
    static let unnamed = BusRefusal(
        name: "org.freedesktop.DBus.Error.Failed", words: "the bus does not say which program asks")
    static let limits = BusRefusal(name: "org.freedesktop.DBus.Error.LimitsExceeded", words: "that is too much")

    static func unsupported(_ words: String) -> BusRefusal {
        BusRefusal(name: "org.freedesktop.DBus.Error.NotSupported", words: words)
    }

    init(name: String, words: String) { (self.name, self.words) = (name, words) }

    init(_ error: SecretVaultError) {
        switch error {
        case .locked: self = .locked
        case .unasked(let code):
            self.init(name: "org.freedesktop.DBus.Error.Failed", words: "the agent cannot be asked   [\(code)]")
        case .missing: self = .noObject
        case .tooLarge: self = .limits
        case .failed(let code):
            self.init(name: "org.freedesktop.DBus.Error.Failed", words: "the store refused it   [\(code)]")
        }
    }
}

/// Runs `body`, and says what it throws in the bus's terms.
func inBus<Result>(_ body: () throws(SecretVaultError) -> Result) throws(BusRefusal) -> Result {
    do {
        return try body()
    } catch { throw BusRefusal(error) }
}
