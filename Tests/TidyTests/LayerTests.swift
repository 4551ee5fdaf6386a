// Imports point inwards. The build refuses undeclared imports; these tests hold the sources against
// the table in ARCHITECTURE.md, so that the manifest cannot drift from the page that people read.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Layers")
struct LayerTests {
    /// Layer of each target, read from the table in ARCHITECTURE.md: `| 3 | `CoffretTrust` | …`.
    static func layers() throws -> [String: Int] {
        var result: [String: Int] = [:]
        for line in try SourceTree.text("ARCHITECTURE.md").split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count >= 3, let layer = Int(cells[0]) else { continue }
            for name in cells[1].split(separator: "`") where name.contains(where: \.isLetter) {
                result[String(name)] = layer
            }
        }
        return result
    }

    /// The modules that a file imports. Words, not a regular expression: this reads every line there is.
    static func imports(of file: SourceFile) -> [String] {
        file.lines.compactMap { line in
            guard line.contains("import ") else { return nil }
            var words = line.split(separator: " ").drop { $0.hasPrefix("@") || accessWords.contains(String($0)) }
            guard words.popFirst() == "import", let name = words.last else { return nil }
            return name.split(separator: ".").first.map(String.init)
        }
    }

    private static let accessWords: Set<String> = ["package", "internal", "public", "private", "fileprivate"]

    @Test("a target imports lower layers only")
    func importsPointInwards() throws {
        let layers = try Self.layers()
        #expect(layers.count >= 14, "ARCHITECTURE.md lost its table of layers")
        for file in SourceTree.sources {
            guard let own = layers[file.target] else { continue }
            for name in Self.imports(of: file) {
                guard let other = layers[name] else { continue }
                #expect(other < own, "\(file.path) (layer \(own)) imports \(name) (layer \(other))")
            }
        }
    }

    @Test("every library target stands in the table of ARCHITECTURE.md")
    func everyTargetHasALayer() throws {
        let layers = try Self.layers()
        for target in Set(SourceTree.sources.map(\.target)) where target.hasPrefix("Coffret") {
            #expect(layers[target] != nil, "\(target) has no layer in ARCHITECTURE.md")
        }
    }

    @Test("libsodium and OpenSSL are called by the crypto layer and the secret memory only")
    func cryptoLibrariesStayInside() {
        let allowed = [
            "CSodium": ["Sources/CoffretCrypto/", "Sources/CoffretBase/"], "COpenSSL": ["Sources/CoffretCrypto/"],
        ]
        for file in SourceTree.sources where !file.path.contains("bench") {
            for name in Self.imports(of: file) {
                guard let places = allowed[name] else { continue }
                #expect(places.contains { file.path.hasPrefix($0) }, "\(file.path) imports \(name)")
            }
        }
    }

    @Test("the product imports no Foundation, which would slow its start")
    func noFoundation() {
        // Apple's frameworks speak in Foundation's types; those files are empty on Linux.
        for file in SourceTree.sources where !file.path.contains("/Apple/") {
            for name in Self.imports(of: file) {
                #expect(!name.hasPrefix("Foundation"), "\(file.path) imports \(name)")
            }
        }
    }

    /// What each target of the manifest depends on.
    static func dependencies() throws -> [String: Set<String>] {
        var result: [String: Set<String>] = [:]
        let manifest = try SourceTree.text("Package.swift")
        let call = /(?:library\(|executableTarget\(\s*name:)\s*"([\w-]+)",\s*(?:dependencies:\s*)?\[([^\]]*)\]/
        for match in manifest.matches(of: call) {
            result[String(match.1)] = Set(match.2.matches(of: /"(\w+)"/).map { String($0.1) })
        }
        return result
    }

    /// A target and all that it depends on, by the manifest.
    static func reach(of target: String) throws -> Set<String> {
        let dependencies = try Self.dependencies()
        var (reached, waiting): (Set<String>, [String]) = ([], [target])
        while let name = waiting.popLast() {
            guard reached.insert(name).inserted else { continue }
            waiting += dependencies[name] ?? []
        }
        return reached
    }

    @Test("only the program coffret imports the commands")
    func commandsLieOnTop() throws {
        let above = Set(SourceTree.sources.filter { Self.imports(of: $0).contains("CoffretCLI") }.map(\.target))
        #expect(above == ["coffret"])
        #expect(try !Self.reach(of: "coffret-agent").contains("CoffretCLI"))
        #expect(try Self.reach(of: "CoffretAgent").contains("CoffretApp"), "the manifest is read wrongly")
    }

    @Test("a program that asks the agent, and each front (R156), links no code that holds keys or opens vaults")
    func frontsHoldNoKeys() throws {
        let reached = try Self.reach(of: "CoffretKit")
        #expect(
            reached.isSuperset(of: ["CoffretClient", "CoffretTerminal", "CoffretWire"]), "the manifest is read wrongly")
        let holding: Set<String> = [
            "CoffretKeys", "CoffretStorage", "CoffretCore", "CoffretSync", "CoffretAccount", "CoffretApp",
        ]
        #expect(reached.intersection(holding).sorted() == [])
        let service = try Self.reach(of: "coffret-secret-service")
        #expect(
            service.isSuperset(of: ["CoffretSecretService", "CoffretBus", "CSystemd"]), "the manifest is read wrongly")
        #expect(service.intersection(holding).sorted() == [])
        // R143: the host of a browser passes on what it cannot open.
        let host = try Self.reach(of: "coffret-bridge")
        #expect(host.contains("CoffretClient"), "the manifest is read wrongly")
        #expect(host.intersection(holding.union(["CoffretBridge", "CoffretInterop"])).sorted() == [])
        // R148: who reads what strangers send to the security key has nothing that signs.
        let key = try Self.reach(of: "coffret-authenticator")
        #expect(key.contains("CoffretClient"), "the manifest is read wrongly")
        #expect(key.intersection(holding.union(["CoffretBridge", "CoffretInterop"])).sorted() == [])
        let helper = try Self.reach(of: "coffret-helper")
        #expect(helper.isSuperset(of: ["CoffretBus", "CoffretClient"]), "the manifest is read wrongly")
        #expect(helper.intersection(holding).sorted() == [])
        let quick = try Self.reach(of: "coffret-quick")
        #expect(quick.isSuperset(of: ["CoffretWidgets", "CoffretClient"]), "the manifest is read wrongly")
        #expect(quick.intersection(holding).sorted() == [])
        let front = try Self.reach(of: "coffret-web")
        #expect(front.isSuperset(of: ["CoffretFront", "CMicroHTTPD"]), "the manifest is read wrongly")
        #expect(front.intersection(holding).sorted() == [])
    }

    @Test("the page has no sink for markup or code, and no style in its nodes")
    func pageHasNoSink() {
        let files =
            SourceTree.files(below: "Web/page", suffix: ".js") + SourceTree.files(below: "Web/page", suffix: ".html")
        #expect(files.count > 10)
        let sinks = [
            "innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc", "eval(", "Function(", "document.write",
            "setAttribute(\"on", "setTimeout(\"", "localStorage", "indexedDB", "serviceWorker", "document.cookie",
            " style=", "onclick=\"", "javascript:", "createContextualFragment", "DOMParser",
        ]
        for file in files {
            for sink in sinks { #expect(!file.text.contains(sink), "\(file.path) has \(sink)") }
        }
    }

    @Test("R40: no page and no extension takes code from anywhere, and the server sends none")
    func noCodeFromElsewhere() throws {
        let extensionFiles =
            SourceTree.files(below: "Web/extension", suffix: ".js")
            + SourceTree.files(below: "Web/extension", suffix: ".html")
        #expect(extensionFiles.count > 10)
        let sinks = [
            "innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc", "eval(", "Function(", "document.write",
            "fetch(", "XMLHttpRequest", "WebSocket", "importScripts", "http:", "https:", "localStorage", "api.storage",
            "sendBeacon", "DOMParser",
        ]
        // Addresses of pages are compared, and not opened.
        let allowed = [
            "Web/extension/popup.js": ["http:", "https:"], "Web/extension/offers.js": ["https:"],
            "Web/extension/options.js": ["https:"],
            // Messages of a device, through the relay of its server.
            "Web/extension/remote.js": ["WebSocket"],
        ]
        for file in extensionFiles {
            for sink in sinks where allowed[file.path]?.contains(sink) != true {
                #expect(!file.text.contains(sink), "\(file.path) has \(sink)")
            }
        }
        let manifest = try SourceTree.text("Web/extension/manifest.json")
        #expect(
            manifest.contains(
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src wss:"))
        // One page is served, whole as it lies in the program, where the operator switched it on; no program of Coffret opens it.
        let pages = ["Sources/CoffretServer/HTTP/HTTPExchange.swift": ["text/html"]]
        var served: [String] = []
        for file in SourceTree.sources where ["CoffretServer", "coffret-server"].contains(file.target) {
            for kind in ["text/html", "javascript", "application/wasm", "Web/extension", "Web/page"]
            where pages[file.path]?.contains(kind) != true {
                #expect(!file.text.contains(kind), "\(file.path) has \(kind)")
            }
            served += file.text.matches(of: /\.page\(\w[^)]*\)/).map { String($0.output) }
        }
        #expect(served.filter { !$0.contains("let ") } == [".page(AskPage.content)"])
    }

    @Test("the extension's id in Chromium follows from its key, and the host and the packages name it")
    func extensionIDs() throws {
        let manifest = try SourceTree.text("Web/extension/manifest.json")
        let key = try #require(manifest.firstMatch(of: /"key": "([^"]+)"/).map { String($0.1) })
        let digest = try #require(
            ProcessRunner.run("/bin/sh", ["-c", "printf %s '\(key)' | base64 -d | sha256sum"]).text.split(
                separator: " "
            )
            .first)
        let letters = Array("abcdefghijklmnop")
        let id = String(digest.prefix(32).compactMap { $0.hexDigitValue.map { letters[$0] } })
        let source = try SourceTree.text("Sources/CoffretClient/BrowserExtension.swift")
        #expect(source.contains("chrome-extension://\(id)/"))
        #expect(manifest.contains("coffret@coffret.example") && source.contains("coffret@coffret.example"))
        #expect(try SourceTree.text("Scripts/install").contains("coffret@coffret.example"))
    }

    /// Programs with windows, and the C libraries that each may have.
    private static let windowed: [String: Set<String>] = [
        "coffret-prompt": ["CGTK"], "coffret-desktop": ["CGTK", "CWebKit"],
    ]

    @Test("a program with windows reaches no key, and its own C libraries beside the seams to the world")
    func windowsHoldNoKeys() throws {
        for (program, own) in Self.windowed {
            let reached = try Self.reach(of: program)
            let allowed: Set<String> = own.union([
                program, "CoffretBase", "CoffretWidgets", "CoffretNet", "CoffretWire", "CoffretTerminal",
                "CoffretClient", "CoffretFront", "CoffretCrypto", "CSodium", "CPlatform", "COpenSSL", "CGcrypt",
                "CGFShare",
            ])
            #expect(reached.isSuperset(of: own.union(["CoffretBase", "CSodium"])), "the manifest is read wrongly")
            #expect(reached.subtracting(allowed).sorted() == [], "\(program) may not reach these")
        }
    }

    @Test("coffret-server reaches no target that holds keys or opens blobs")
    func serverHoldsNoKeys() throws {
        let reached = try Self.reach(of: "coffret-server")
        let allowed: Set<String> = [
            "coffret-server", "CoffretServer", "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretNet",
            "CoffretWire",
            // Signs the log of links, and nothing else.
            "CoffretKeyLog",
            "CoffretSQLite", "CSodium", "COpenSSL", "CSQLite", "CPlatform", "CMicroHTTPD", "CPostgreSQL",
            // Loaded where a file of another program is opened, which a server never does.
            "CGcrypt",
            // Loaded where a recovery key is shared.
            "CGFShare",
        ]
        #expect(reached.isSuperset(of: ["CoffretServer", "CoffretTrust", "CSodium"]), "the manifest is read wrongly")
        #expect(reached.subtracting(allowed).sorted() == [], "the server may not reach these")
        // Of the ciphers it reaches, the server's own sources call hashes and signature checks alone.
        let secrets = [
            "SecretBox", "SecretBytes", "SigningKey", "Envelope", "VaultKey", "BlobKey", "AgreementKey(", "XChaCha",
        ]
        for file in SourceTree.sources where file.target == "CoffretServer" || file.target == "coffret-server" {
            for word in secrets { #expect(!file.text.contains(word), "\(file.path) names \(word)") }
        }
    }
}
