// Variables of who unlocked a store, while it is unlocked. The one thing to keep true: the agent itself never reads them;
// a proxy's address may hold a password, and goes when the store locks.

internal import CoffretBase

/// A few variables, by name, in locked memory.
final class KeptVariables: Sendable {
    /// What a process needs that works for the store and for no client.
    static let names: Set<String> = [
        "HOME", "PATH", "LANG", "TZ", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
        "DBUS_SESSION_BUS_ADDRESS", "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
        "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
    ]
    private static let byteCountMax = 32 << 10

    /// Deterministic CBOR: [name, value, …].
    private let encoded: SecretBytes

    /// Keeps those of `variables` that are of use.
    init(_ variables: [String: String]) {
        let kept = variables.filter { Self.names.contains($0.key) }.sorted { $0.key < $1.key }
        var bytes = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: kept.count * 2)
            for (name, value) in kept {
                encoder.encode(text: name)
                encoder.encode(text: value)
            }
        }
        encoded = SecretBytes(consuming: &bytes)
    }

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        encoded = try decoder.readSecret(counts: 0...Self.byteCountMax)
    }

    func encode(to encoder: inout CBOREncoder) {
        // EXPOSE: into the message to the parent process, which is zeroed once it is sent.
        unsafe encoded.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
    }

    /// For a process that ends with the store's time.
    var values: [String: String] {
        // EXPOSE: as text, in a process that works for this store alone and is ended when it locks.
        let read = try? unsafe encoded.withUnsafeBytes { bytes in
            try unsafe withCBORDecoder(over: bytes) { (decoder) throws(CBORError) in
                var values: [String: String] = [:]
                for _ in 0..<(try decoder.readArrayHeader() / 2) {
                    let name = try decoder.readText()
                    values[name] = try decoder.readText()
                }
                return values
            }
        }
        return read ?? [:]
    }
}
