// The checks before anything else is done with a request. Invariant: a refusal tells nothing but its status.

internal import CoffretBase

/// The place of this launch: an origin of its own, a code that opens it once, and the token that the code is changed for.
struct Gate {
    /// A request as its head says it.
    struct Head {
        var method = ""
        var path = ""
        var hostCount = 0
        var host: String?
        var origin: String?
        var fetchSite: String?
        var contentType: String?
        var contentLength: String?
        var hasTransferEncoding = false
        var hasArguments = false
        var token: String?
    }

    enum Wanted: Equatable {
        case file(String)
        case open
        case ask
    }

    enum Verdict: Equatable {
        case wanted(Wanted, bodyByteCount: Int)
        case refused(status: Int)
    }

    private static let codeSeconds: Double = 60

    let host: String
    let code: String
    private let token: String
    private let codeDeadline: Double
    private var isCodeUsed = false
    private let files: Set<String>
    private let bodyByteCountMax: Int

    /// - Parameter now: seconds on a clock that does not stop.
    init(port: UInt16, files: Set<String>, bodyByteCountMax: Int, random: any RandomSource, now: Double) {
        let letters = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        // 32 letters: five bits of a random byte each.
        let name = random.bytes(count: 26).map { letters[Int($0 & 31)] }
        host = "\(String(decoding: name, as: UTF8.self)).localhost:\(port)"
        code = Hex.encode(random.bytes(count: 16))
        token = Hex.encode(random.bytes(count: 32))
        codeDeadline = now + Self.codeSeconds
        self.files = files
        self.bodyByteCountMax = bodyByteCountMax
    }

    var origin: String { "http://\(host)" }
    var address: String { "\(origin)/#\(code)" }

    /// In the order of `Spec/page.md` section 5.
    func judge(_ head: Head) -> Verdict {
        guard head.hostCount == 1, head.host == host else { return .refused(status: 421) }
        guard let wanted = wanted(head) else { return .refused(status: 403) }
        let isGet = head.method == "GET"
        guard head.origin == origin || isGet && head.origin == nil else { return .refused(status: 403) }
        let isShell = wanted == .file("index.html")
        switch head.fetchSite {
        case nil, "same-origin": break
        case "none" where isShell: break
        default: return .refused(status: 403)
        }
        guard !head.hasTransferEncoding else { return .refused(status: 403) }
        if isGet {
            guard head.contentLength ?? "0" == "0" else { return .refused(status: 403) }
            return .wanted(wanted, bodyByteCount: 0)
        }
        guard head.contentType == "application/json", let text = head.contentLength,
            text.utf8.allSatisfy({ (48...57).contains($0) }), let count = Int(text), count <= bodyByteCountMax
        else { return .refused(status: 403) }
        guard wanted == .open || isToken(head.token) else { return .refused(status: 403) }
        return .wanted(wanted, bodyByteCount: count)
    }

    private func wanted(_ head: Head) -> Wanted? {
        guard !head.hasArguments, head.path.hasPrefix("/") else { return nil }
        let name = String(head.path.dropFirst())
        switch (head.method, name) {
        case ("GET", ""): return .file("index.html")
        case ("GET", _): return files.contains(name) ? .file(name) : nil
        case ("POST", "open"): return .open
        case ("POST", "do"): return .ask
        default: return nil
        }
    }

    private func isToken(_ given: String?) -> Bool {
        guard let given else { return false }
        return ConstantTime.isEqual(Array(given.utf8), Array(token.utf8))
    }

    /// Changes the code for the token, once and in time.
    ///
    /// - Returns: nil for anything else; a wrong code uses the right one up too.
    mutating func open(_ body: [UInt8], now: Double) -> [UInt8]? {
        guard !isCodeUsed, now <= codeDeadline else { return nil }
        isCodeUsed = true
        guard case .object(let members)? = try? JSONValue(parsing: body), members.count == 1,
            let given = members.first?.value.string, members.first?.name == "code",
            ConstantTime.isEqual(Array(given.utf8), Array(code.utf8))
        else { return nil }
        return Array(JSONValue.object([JSONValue.Member("token", .string(token))]).text().utf8)
    }
}
