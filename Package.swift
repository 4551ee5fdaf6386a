// swift-tools-version: 6.2

import Foundation
import PackageDescription

/// Every Swift target is held to the same rules: Swift 6 mode, strict memory safety, no implicit
/// re-exports, and no warning left standing.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
]

// A library imports lower layers only. `Scripts/check` builds with
// `--explicit-target-dependency-import-check error`, so an undeclared import fails the build.

/// Layer 0: C libraries of the system.
let systemLibraries: [Target] = [
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CTPM2", pkgConfig: "tss2-esys", providers: [.apt(["libtss2-dev"])]),
    .systemLibrary(name: "CSecret", pkgConfig: "libsecret-1", providers: [.apt(["libsecret-1-dev"])]),
    // libcurl's headers only: the library is loaded when it is first needed.
    .target(name: "CCurl"),
    .target(name: "CYAML"),
    .target(name: "CCSV"),
    .target(name: "CZstd"),
    .target(name: "CExpat"),
    .target(name: "CHTML"),
    .target(name: "CMarkdown"),
    .target(name: "CGcrypt"),
    .target(name: "CGFShare"),
    .target(name: "CPSL"),
    .target(name: "CICU"),
    // No pkg-config file comes with it on Debian.
    .systemLibrary(name: "CPAM", providers: [.apt(["libpam0g-dev"])]),
    .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .target(name: "CPlatform", cSettings: [.define("_GNU_SOURCE")]),
    // OpenSSL's and SQLite's headers, and their functions: each library is loaded when it is first called.
    .target(name: "COpenSSL", dependencies: ["CPlatform"]),
    .target(name: "CSQLite", dependencies: ["CPlatform"]),
    // What the C libraries do when they are called from C: the measure for `coffret-bench`.
    .target(
        name: "CBenchPeers", dependencies: ["CSodium", "COpenSSL"], linkerSettings: [.linkedLibrary("crypto")]),
]

/// How the programs that people start are linked for a release: relocations packed, so that the loader touches fewer
/// pages; the C++ library's few functions inside; no symbols. See Docs/decisions/0105-libraries-on-demand.md.
let linking: [LinkerSetting] = [
    .unsafeFlags(
        [
            "-use-ld=bfd", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xlinker", "--strip-all",
            "-L\(Context.packageDirectory)/Packaging/link", "-Xlinker", "--exclude-libs", "-Xlinker", "libstdc++.a",
            "-Xclang-linker", "-static-libgcc",
        ], .when(configuration: .release))
]

/// Libraries and the tests' support are optimized for tests too, with assertions: simulated worlds take a fraction of the time.
let optimized: [SwiftSetting] =
    settings + [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: optimized)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

let libraries: [Target] = [
    // 1. Bytes, secret memory, canonical CBOR, JSON, the seams to the world.
    library("CoffretBase", ["CSodium", "CPlatform"]),
    // 2. The cipher suites; the only importer of libsodium's and OpenSSL's ciphers.
    library("CoffretCrypto", ["CoffretBase", "CSodium", "COpenSSL", "CGcrypt", "CGFShare"]),
    // 3. SQLite: connections, prepared statements, and files that are sealed page by page.
    library("CoffretSQLite", ["CoffretBase", "CoffretCrypto", "CSQLite"]),
    // 3. Sockets between programs, and WebSocket framing without the socket.
    library("CoffretNet", ["CoffretBase", "CoffretCrypto", "CPlatform"]),
    // 3. Messages of D-Bus.
    library("CoffretBus", ["CSystemd"]),
    // 3. Formats and protocols that others specified: Themis, Apple's ECIES, Noise.
    library("CoffretInterop", ["CoffretBase", "CoffretCrypto"]),
    // 3. SSH: keys, their files, and the agent's protocol.
    library("CoffretSSH", ["CoffretBase", "CoffretCrypto"]),
    // 3. Trees over a server's links, and notes that sign them.
    library("CoffretKeyLog", ["CoffretBase", "CoffretCrypto"]),
    // 3. Signed chains in, verified membership out.
    library("CoffretTrust", ["CoffretBase", "CoffretCrypto"]),
    // 3. Encrypted, content-addressed facts with history; ignorant of items.
    library("CoffretStorage", ["CoffretBase", "CoffretCrypto"]),
    // 4. Histories: logs of signed entries, the state that they make, checkpoints; not used by stores yet.
    library("CoffretHistory", ["CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CZstd"]),
    // 5. Histories on disk: entries in the journal, their indexes, the trees of facts; not used by stores yet.
    library(
        "CoffretLogs", ["CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretHistory"]),
    // 4. Words, prefixes, phrases and fields over documents; ignorant of vaults.
    library("CoffretSearch", ["CoffretBase", "CoffretCrypto", "CoffretSQLite"]),
    // 4. Which key protects which: slots, the storage key, vault keys, recovery.
    library("CoffretKeys", ["CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretInterop"]),
    // 5. People: their cards and addresses, and letters between them.
    library("CoffretSharing", ["CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretKeys", "CICU"]),
    // 4. How a new device and a trusted one find out that nobody is in between.
    library("CoffretPairing", ["CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretInterop"]),
    // 4. A client for servers: HTTP and WebSocket over TLS with pinned keys.
    library("CoffretHTTP", ["CoffretBase", "CoffretCrypto", "CoffretNet", "CCurl"]),
    // 4. Every message between programs, and what may follow what.
    library("CoffretWire", ["CoffretBase"]),
    // 5. Stores and serves what it cannot read; has no key and nothing that could use one.
    library(
        "CoffretServer",
        [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretNet", "CoffretWire", "CoffretSQLite",
            "CoffretKeyLog",
            "CPlatform", "CMicroHTTPD", "CPostgreSQL",
        ]),
    // 5. What a vault means: facts read as items, their history, their attachments.
    library(
        "CoffretCore",
        [
            "CoffretBase", "CoffretCrypto", "CoffretInterop", "CoffretTrust", "CoffretStorage", "CoffretSearch",
            "CoffretKeys", "CoffretHistory", "CoffretLogs",
        ]),
    // 5. Key stores on real hardware and services: TPM 2.0, the desktop's keyring.
    library(
        "CoffretKeyStores",
        ["CoffretBase", "CoffretCrypto", "CoffretInterop", "CoffretKeys", "CTPM2", "CSecret", "CPAM"]),
    // 6. A store's account on its server: devices, pairing, keys on their way.
    library(
        "CoffretAccount",
        [
            "CoffretBase", "CoffretCrypto", "CoffretNet", "CoffretTrust", "CoffretKeys", "CoffretHTTP",
            "CoffretPairing", "CoffretHistory", "CoffretLogs", "CoffretWire", "CoffretCore", "CoffretKeyLog",
        ]),
    // 6. Foreign files to and from items.
    library(
        "CoffretImportExport",
        [
            "CoffretBase", "CoffretCrypto", "CoffretStorage", "CoffretCore", "CPlatform", "CYAML", "CCSV", "CExpat",
            "CHTML", "CMarkdown", "CoffretHistory", "CoffretLogs",
        ]),
    // 6. A vault and its place on a server, brought together.
    library(
        "CoffretSync",
        [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretHistory", "CoffretLogs",
            "CoffretWire", "CoffretHTTP", "CoffretKeys", "CoffretCore",
        ]),
    // 5. A program and its person: terminal, text, processes; knows no vault and no key.
    library("CoffretTerminal", ["CoffretBase", "CPlatform"]),
    // 5. What a browser's extension says, and how it is encrypted; without a socket and without a store.
    library("CoffretBridge", ["CoffretBase", "CoffretCrypto", "CoffretInterop", "CoffretWire"]),
    // 6. How a program without keys reaches the agent.
    library("CoffretClient", ["CoffretBase", "CoffretCrypto", "CoffretNet", "CoffretWire", "CoffretTerminal"]),
    // 7. What the page may ask of its front, and how that reaches a session; has no key.
    library(
        "CoffretFront", ["CPlatform", "CoffretBase", "CoffretNet", "CoffretWire", "CoffretTerminal", "CoffretClient"]),
    // 7. What a program in Swift asks of the store that the agent has unlocked; the one library for others.
    library("CoffretKit", ["CoffretBase", "CoffretNet", "CoffretWire", "CoffretTerminal", "CoffretClient"]),
    // 7. The desktop's Secret Service, out of one vault; has no key.
    library(
        "CoffretSecretService",
        [
            "CoffretBase", "CoffretCrypto", "CoffretNet", "CoffretBus", "CoffretWire", "CoffretTerminal",
            "CoffretClient",
        ]),
    // 7. Errors of all layers in the words of a person.
    library(
        "CoffretMessages",
        [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretSQLite", "CoffretSearch",
            "CoffretKeys", "CoffretCore", "CoffretImportExport", "CoffretInterop", "CoffretNet", "CoffretSSH",
            "CoffretWire", "CoffretHTTP", "CoffretPairing", "CoffretAccount", "CoffretSync", "CoffretTerminal",
            "CoffretClient", "CoffretHistory", "CoffretLogs", "CoffretBridge", "CoffretSharing", "CoffretKeyLog",
        ]),
    // 7. Secrets in scripts: references in files, masked output, git, ssh.
    library(
        "CoffretScripting",
        [
            "CoffretBase", "CoffretCrypto", "CoffretNet", "CoffretSSH", "CoffretStorage", "CoffretKeys", "CoffretCore",
            "CoffretTerminal", "CPlatform",
        ]),
    // 8. What a person does with a store; prints nothing and parses nothing.
    library(
        "CoffretApp",
        [
            "CoffretBase", "CoffretCrypto", "CoffretStorage", "CoffretSearch", "CoffretKeys", "CoffretNet",
            "CoffretWire", "CoffretHTTP", "CoffretCore", "CoffretAccount", "CoffretSync", "CoffretTerminal",
            "CoffretClient", "CoffretMessages", "CPlatform", "CoffretImportExport", "CoffretTrust", "CoffretSSH",
            "CoffretScripting", "CoffretPairing", "CoffretHistory", "CoffretLogs", "CoffretBridge", "CPSL",
            "CoffretSharing", "CoffretKeyLog",
        ]),
    // 9. Commands for people and scripts.
    library(
        "CoffretCLI",
        [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretSQLite", "CoffretSearch",
            "CoffretKeys", "CoffretCore", "CoffretImportExport", "CoffretInterop", "CoffretNet", "CoffretSSH",
            "CoffretWire", "CoffretHTTP", "CoffretPairing", "CoffretAccount", "CoffretSync", "CoffretTerminal",
            "CoffretClient", "CoffretMessages", "CoffretScripting", "CoffretApp", "CPlatform", "CoffretHistory",
            "CoffretLogs", "CoffretBridge",
        ]),
    // 9. Keeps a store unlocked for local clients, and locks it at the right moment.
    library(
        "CoffretAgent",
        [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretNet", "CoffretStorage", "CoffretKeys",
            "CoffretWire", "CoffretHTTP", "CoffretCore", "CoffretAccount", "CoffretSync", "CoffretTerminal",
            "CoffretClient", "CoffretMessages", "CoffretScripting", "CoffretApp", "CPlatform", "CoffretHistory",
            "CoffretLogs", "CoffretBridge",
        ]),
]

/// Whether pkg-config knows a library. The programs with windows are there where their libraries are; everything else builds
/// without them. See Docs/decisions/0123-programs-with-windows.md.
func isInstalled(_ library: String) -> Bool {
    let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
    let named = (Context.environment["PKG_CONFIG_PATH"] ?? "").split(separator: ":").map(String.init)
    let usual = (["/usr/lib", "/usr/share", "/usr/local/lib"] + folders.map { "/usr/lib/\($0)" }).map {
        $0 + "/pkgconfig"
    }
    return (named + usual).contains { FileManager.default.fileExists(atPath: "\($0)/\(library).pc") }
}

/// Programs that ask and show on a desktop. They hold no key.
let prompts: [Target] = [
    .systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
    library("CoffretWidgets", ["CGTK", "CoffretBase", "CoffretTerminal"]),
    .executableTarget(
        name: "coffret-quick",
        dependencies: ["CGTK", "CoffretBase", "CoffretWire", "CoffretTerminal", "CoffretClient", "CoffretWidgets"],
        swiftSettings: settings, linkerSettings: linking),
    .executableTarget(
        name: "coffret-prompt", dependencies: ["CGTK", "CoffretBase", "CoffretTerminal", "CoffretWidgets"],
        swiftSettings: settings, linkerSettings: linking),
]

/// The window around the page.
let windows: [Target] = [
    .systemLibrary(name: "CWebKit", pkgConfig: "webkitgtk-6.0", providers: [.apt(["libwebkitgtk-6.0-dev"])]),
    .executableTarget(
        name: "coffret-desktop",
        dependencies: [
            "CGTK", "CWebKit", "CoffretBase", "CoffretNet", "CoffretWire", "CoffretTerminal", "CoffretClient",
            "CoffretFront", "CoffretWidgets",
        ], swiftSettings: settings, linkerSettings: linking),
]

let desktopLibraries: [Target] = [
    // 10. What the desktop tells the agent: logind's sleep and screen lock.
    library("CoffretDesktop", ["CoffretAgent", "CoffretBus", "CoffretMessages"])
]

let executables: [Target] = [
    .executableTarget(
        name: "coffret", dependencies: ["CoffretBase", "CoffretCLI"], swiftSettings: settings,
        linkerSettings: linking),
    .executableTarget(
        name: "coffret-agent",
        dependencies: [
            "CoffretBase", "CoffretKeys", "CoffretClient", "CoffretAgent", "CoffretDesktop", "CoffretKeyStores",
        ],
        swiftSettings: settings, linkerSettings: linking),
    .executableTarget(
        name: "coffret-server", dependencies: ["CoffretServer"], swiftSettings: settings, linkerSettings: linking),
    .executableTarget(
        name: "coffret-web",
        dependencies: ["CoffretBase", "CoffretTerminal", "CoffretClient", "CoffretFront", "CMicroHTTPD"],
        swiftSettings: settings, linkerSettings: linking),
    .executableTarget(
        name: "coffret-secret-service",
        dependencies: ["CoffretBase", "CoffretTerminal", "CoffretClient", "CoffretSecretService"],
        swiftSettings: settings, linkerSettings: linking),
    .executableTarget(
        name: "coffret-helper",
        dependencies: ["CoffretBase", "CoffretBus", "CoffretTerminal", "CoffretClient", "CoffretWire"],
        swiftSettings: settings, linkerSettings: linking),
    // A browser starts it, and it passes sealed messages on.
    .executableTarget(
        name: "coffret-bridge",
        dependencies: ["CoffretBase", "CoffretNet", "CoffretWire", "CoffretTerminal", "CoffretClient"],
        swiftSettings: settings, linkerSettings: linking),
    // A security key out of passkeys: systemd starts it with the kernel's device for devices of programs.
    .executableTarget(
        name: "coffret-authenticator",
        dependencies: ["CoffretBase", "CoffretNet", "CoffretWire", "CoffretTerminal", "CoffretClient"],
        swiftSettings: settings, linkerSettings: linking),
    // Measures CoffretInterop against bare OpenSSL calls; not part of the product.
    .executableTarget(
        name: "coffret-bench-interop", dependencies: ["CoffretInterop", "COpenSSL"], swiftSettings: settings,
        linkerSettings: [.linkedLibrary("crypto")]),
    // Measures parts of Coffret in one process; not part of the product.
    .executableTarget(
        name: "coffret-bench",
        dependencies: [
            "CoffretBase", "CoffretCrypto", "CoffretSQLite", "CoffretInterop", "CoffretTrust", "CoffretStorage",
            "CoffretHistory", "CoffretLogs", "CoffretSearch", "CoffretKeys", "CoffretCore", "CoffretHTTP",
            "CoffretAccount",
            "CoffretSync", "CoffretServer", "CoffretWire", "CBenchPeers", "CPlatform",
        ],
        swiftSettings: settings),
]

/// Samples that have a package of their own each. They are built here too, with what others see of the library and no more.
let samples: [Target] = ["RecentNotes", "ImportBookmarks"].map { name in
    .executableTarget(
        name: name, dependencies: ["CoffretKit"], path: "Samples/\(name)/Sources/\(name)", packageAccess: false)
}

let testTargets: [Target] = [
    // Calls the library as a program of others does.
    .executableTarget(name: "KitCalls", dependencies: ["CoffretKit"], path: "Tests/KitCalls", packageAccess: false),
    // Vectors, seeded randomness, faulty file systems, manual clocks: shared by all tests.
    .target(name: "CTestProcess", path: "Tests/CTestProcess", cSettings: [.define("_GNU_SOURCE")]),
    .target(
        name: "CoffretTestSupport", dependencies: ["CoffretBase", "CTestProcess"], path: "Tests/CoffretTestSupport",
        swiftSettings: optimized),
    tests("CoffretBaseTests", ["CoffretBase", "CoffretTestSupport"]),
    tests("CoffretCryptoTests", ["CoffretBase", "CoffretCrypto", "CoffretTestSupport"]),
    tests("CoffretSQLiteTests", ["CoffretBase", "CoffretCrypto", "CoffretSQLite", "CoffretTestSupport"]),
    tests("CoffretInteropTests", ["CoffretBase", "CoffretCrypto", "CoffretInterop", "CoffretTestSupport"]),
    tests("CoffretSSHTests", ["CoffretBase", "CoffretCrypto", "CoffretSSH", "CoffretTestSupport"]),
    tests("CoffretKeyLogTests", ["CoffretBase", "CoffretCrypto", "CoffretKeyLog", "CoffretTestSupport"]),
    tests("CoffretTrustTests", ["CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretTestSupport"]),
    tests("CoffretStorageTests", ["CoffretBase", "CoffretCrypto", "CoffretStorage", "CoffretTestSupport"]),
    // A store of histories in memory, for tests.
    .target(
        name: "CoffretHistorySupport",
        dependencies: ["CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretHistory", "CoffretTestSupport"],
        path: "Tests/CoffretHistorySupport", swiftSettings: optimized),
    tests(
        "CoffretHistoryTests",
        [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretHistory", "CoffretHistorySupport",
            "CoffretTestSupport",
        ]),
    // An account with devices and a vault, without a keyring, for tests.
    .target(
        name: "CoffretVaultSupport",
        dependencies: [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretHistory", "CoffretLogs",
            "CoffretTestSupport",
        ], path: "Tests/CoffretVaultSupport", swiftSettings: optimized),
    tests(
        "CoffretLogsTests",
        [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretHistory", "CoffretHistorySupport",
            "CoffretLogs", "CoffretTestSupport",
        ]),
    tests(
        "CoffretSearchTests", ["CoffretBase", "CoffretCrypto", "CoffretSQLite", "CoffretSearch", "CoffretTestSupport"]),
    tests(
        "CoffretSharingTests",
        ["CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretKeys", "CoffretSharing", "CoffretTestSupport"]),
    tests("CoffretKeysTests", ["CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretKeys", "CoffretTestSupport"]),
    tests(
        "CoffretCoreTests",
        [
            "CoffretBase", "CoffretCrypto", "CoffretInterop", "CoffretTrust", "CoffretStorage", "CoffretSQLite",
            "CoffretSearch",
            "CoffretKeys", "CoffretCore", "CoffretTestSupport", "CoffretHistory", "CoffretLogs", "CoffretVaultSupport",
        ]),
    tests(
        "CoffretKeyStoresTests",
        ["CoffretBase", "CoffretCrypto", "CoffretInterop", "CoffretKeys", "CoffretKeyStores", "CoffretTestSupport"]),
    tests(
        "CoffretImportExportTests",
        [
            "CoffretBase", "CoffretCrypto", "CoffretInterop", "CoffretStorage", "CoffretSearch", "CoffretCore",
            "CoffretKeys", "CoffretImportExport", "CoffretTestSupport", "CoffretHistory", "CoffretLogs",
            "CoffretVaultSupport",
        ]),
    .testTarget(
        name: "CoffretCLITests",
        dependencies: [
            "CoffretBase", "CoffretCore", "CoffretTerminal", "CoffretMessages", "CoffretScripting", "CoffretCLI",
            "CoffretSync", "CoffretTestSupport",
        ],
        exclude: ["Snapshots"], swiftSettings: optimized),
    tests(
        "CoffretAppTests", ["CoffretBase", "CoffretNet", "CoffretWire", "CoffretApp", "CoffretTestSupport"]),
    tests(
        "CoffretAgentTests",
        [
            "CoffretBase", "CoffretCrypto", "CoffretPairing", "CoffretWire", "CoffretCore", "CoffretAccount",
            "CoffretAgent",
            "CoffretTestSupport",
        ]),
    tests(
        "CoffretBridgeTests",
        ["CoffretBase", "CoffretCrypto", "CoffretInterop", "CoffretWire", "CoffretBridge", "CoffretTestSupport"]),
    tests("CoffretNetTests", ["CoffretBase", "CoffretNet", "CoffretTestSupport"]),
    tests(
        "CoffretPairingTests",
        ["CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretInterop", "CoffretPairing", "CoffretTestSupport"]),
    tests("CoffretHTTPTests", ["CoffretBase", "CoffretHTTP", "CoffretNet", "CoffretTestSupport"]),
    tests("CoffretWireTests", ["CoffretBase", "CoffretWire", "CoffretTestSupport"]),
    tests(
        "CoffretServerTests",
        [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretHistory", "CoffretNet",
            "CoffretWire", "CoffretHTTP", "CoffretServer", "CoffretLogs", "CoffretSync", "CoffretTestSupport",
            "CoffretSimulation",
        ]),
    // Devices, and the server's store, in one process; thousands of seeds want an optimised build.
    .target(
        name: "CoffretSimulation",
        dependencies: [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretHistory", "CoffretLogs",
            "CoffretKeys", "CoffretSharing", "CoffretWire", "CoffretServer", "CoffretSync", "CoffretTestSupport",
        ], path: "Tests/CoffretSimulation", swiftSettings: optimized),
    .executableTarget(
        name: "coffret-simulator",
        dependencies: ["CoffretBase", "CoffretLogs", "CoffretSync", "CoffretSimulation", "CoffretTestSupport"],
        path: "Tests/coffret-simulator", swiftSettings: optimized),
    tests(
        "CoffretSyncTests",
        [
            "CoffretBase", "CoffretCrypto", "CoffretTrust", "CoffretStorage", "CoffretHistory", "CoffretLogs",
            "CoffretSharing", "CoffretWire", "CoffretServer", "CoffretSync", "CoffretTestSupport", "CoffretSimulation",
        ]),
    // The real executable, driven as a person or a script would.
    tests(
        "EndToEndTests",
        [
            "CoffretBase", "CoffretCrypto", "CoffretNet", "CoffretStorage", "CoffretKeys", "CoffretWire", "CoffretCore",
            "CoffretHistory", "CoffretLogs",
            "CoffretTerminal", "CoffretClient", "CoffretApp", "CoffretTestSupport", "CTestProcess", "CoffretAccount",
            "CoffretSharing", "CoffretSync", "CoffretTrust",
        ]),
    // Rules about the sources themselves: length, banned calls, error codes, contexts.
    tests("TidyTests", ["CoffretBase", "CoffretTestSupport"]),
]

let package = Package(
    name: "coffret",
    products: [
        .library(name: "CoffretKit", targets: ["CoffretKit"]),
        .library(name: "CoffretInterop", targets: ["CoffretInterop"]),
        .executable(name: "coffret", targets: ["coffret"]),
        .executable(name: "coffret-agent", targets: ["coffret-agent"]),
        .executable(name: "coffret-server", targets: ["coffret-server"]),
        .executable(name: "coffret-web", targets: ["coffret-web"]),
        .executable(name: "coffret-secret-service", targets: ["coffret-secret-service"]),
        .executable(name: "coffret-bridge", targets: ["coffret-bridge"]),
        .executable(name: "coffret-authenticator", targets: ["coffret-authenticator"]),
        .executable(name: "coffret-helper", targets: ["coffret-helper"]),
    ],
    targets: systemLibraries + libraries + desktopLibraries + executables + (isInstalled("gtk4") ? prompts : [])
        + (isInstalled("webkitgtk-6.0") ? windows : []) + samples + testTargets,
    cxxLanguageStandard: .cxx17
)
