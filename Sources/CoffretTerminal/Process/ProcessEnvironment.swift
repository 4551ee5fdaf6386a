// Variables of the process. Invariant: this list is everything that coffret takes from its surroundings; no file in
// the working directory is ever read for settings (R35).

internal import Glibc

/// The environment variables that mean something to coffret.
package struct ProcessEnvironment: Sendable {
    package enum Variable: String, CaseIterable, Sendable {
        case store = "COFFRET_STORE"
        case vault = "COFFRET_VAULT"
        case passphraseFile = "COFFRET_PASSPHRASE_FILE"
        /// Numbers of schemes that locked notes must not rely on any more, as a release could declare.
        case brokenSchemes = "COFFRET_BROKEN_SCHEMES"
        case dataHome = "XDG_DATA_HOME"
        case stateHome = "XDG_STATE_HOME"
        case configHome = "XDG_CONFIG_HOME"
        case runtimeDirectory = "XDG_RUNTIME_DIR"
        case home = "HOME"
        case visual = "VISUAL"
        case editor = "EDITOR"
        case pager = "PAGER"
        case ownPager = "COFFRET_PAGER"
        case terminal = "TERM"
        case noColor = "NO_COLOR"
        case columns = "COLUMNS"
        case path = "PATH"
        case waylandDisplay = "WAYLAND_DISPLAY"
        case display = "DISPLAY"
        case xAuthority = "XAUTHORITY"
        case sessionBus = "DBUS_SESSION_BUS_ADDRESS"
        case timeZone = "TZ"
        case agent = "COFFRET_AGENT"
        case sshAskpass = "SSH_ASKPASS"
        // How servers are reached; libcurl reads these.
        case httpsProxy = "https_proxy"
        case httpsProxyInCapitals = "HTTPS_PROXY"
        case httpProxy = "http_proxy"
        case allProxy = "all_proxy"
        case allProxyInCapitals = "ALL_PROXY"
        case noProxy = "no_proxy"
        case noProxyInCapitals = "NO_PROXY"
        case certificateFile = "SSL_CERT_FILE"
        case certificateFolder = "SSL_CERT_DIR"
        case profile = "COFFRET_PROFILE"
        case tpm = "COFFRET_TPM"
        /// The cluster that kubectl asks a credential for.
        case kubernetesExecution = "KUBERNETES_EXEC_INFO"

        /// Whether a client's value counts in the processes of the agent. Where the agent is, and which TPM it talks to,
        /// is no client's to say; a command alone reads kubectl's question.
        package var travels: Bool { ![.agent, .tpm, .kubernetesExecution].contains(self) }
    }

    /// Another process's; nil for this one's.
    private let given: [String: String]?

    /// - Parameter given: the variables of another process; nil for those of this one.
    package init(_ given: [String: String]? = nil) { self.given = given }

    /// The value of a variable; an empty one counts as not set.
    package func value(_ variable: Variable) -> String? {
        if let given { return given[variable.rawValue].flatMap { $0.isEmpty ? nil : $0 } }
        guard let pointer = unsafe getenv(variable.rawValue) else { return nil }
        let text = unsafe String(cString: pointer)
        return text.isEmpty ? nil : text
    }

    /// All variables of this process, `NAME=VALUE` each.
    package static var inherited: [[UInt8]] {
        var entries: [[UInt8]] = []
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            unsafe entries.append(Array(UnsafeRawBufferPointer(start: entry, count: strlen(entry))))
            unsafe next += 1
        }
        return entries
    }

    /// Those that are set, by name, and that go along with a command to another process.
    package var travelling: [String: String] {
        var values: [String: String] = [:]
        for variable in Variable.allCases where variable.travels { values[variable.rawValue] = value(variable) }
        return values
    }

    /// The home folder: from HOME, or from the user database where there is none.
    package var homeDirectory: String? {
        if let home = value(.home) { return home }
        guard let entry = unsafe getpwuid(getuid()), let directory = unsafe entry.pointee.pw_dir else { return nil }
        return unsafe String(cString: directory)
    }

    /// An XDG base folder. A relative one is ignored, as the specification demands: it would depend
    /// on the working directory.
    package func baseDirectory(_ variable: Variable, below homePath: String) -> String? {
        if let path = value(variable), path.hasPrefix("/") { return path }
        return homeDirectory.map { $0 + "/" + homePath }
    }
}
