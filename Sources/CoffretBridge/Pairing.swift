// Browsers that are paired with a store. Invariant: a record that was altered counts for no browser.

package import CoffretBase

/// A browser that has shown six digits, and the key that it got.
package final class Pairing: Sendable {
    package static let idByteCount = 8
    package static let keyByteCount = 32
    package static let nameByteCountMax = 40
    /// A store has no more.
    package static let countMax = 16

    package let id: [UInt8]
    /// As `coffret browser ls` shows it; no other one of the store has it.
    package let name: String
    /// The program that started the host, as the kernel names it.
    package let program: String
    package let created: Milliseconds
    package let key: SecretBytes

    package init(id: [UInt8], name: String, program: String, created: Milliseconds, key: consuming SecretBytes) {
        self.id = id
        self.name = name
        self.program = program
        self.created = created
        self.key = key
    }
}

/// A browser on another machine, which may ask for a login over the relay.
///
/// Spec: Spec/remote.md section 5.
package struct RemoteBrowser: Sendable, Equatable {
    package static let idByteCount = 16
    static let keyByteCount = 32

    package let id: [UInt8]
    /// As `coffret browser ls` shows it; no other one of the store has it.
    package let name: String
    package let created: Milliseconds
    /// Public.
    package let key: [UInt8]
}

/// All browsers of a store, as the agent keeps them.
///
/// Record `<store id>.browsers`, deterministic CBOR: [tells: bool, * [id: bstr (8), name: tstr, program: tstr, created: uint, key: bstr (32)],
/// * [id: bstr (16), name: tstr, created: uint, key: bstr (32)]]. The latter are on other machines.
/// Spec: Spec/bridge.md section 3.
package struct Pairings: Sendable {
    package private(set) var all: [Pairing] = []
    package private(set) var remote: [RemoteBrowser] = []
    /// Whether the person is told of each value that a browser is given.
    package var tellsOfValues = false
    private static let programByteCountMax = 120

    package init() {}

    /// - Throws: `.recordAltered`.
    package init(decoding bytes: [UInt8]) throws(BridgeError) {
        do throws(CBORError) {
            (tellsOfValues, all, remote) = try withCBORDecoder(bytes) { (decoder) throws(CBORError) in
                let count = try decoder.readArrayHeader()
                guard (1...1 + Pairing.countMax).contains(count) else {
                    throw CBORError(.unexpectedItem, byteOffset: 0)
                }
                let tells = try decoder.readBool()
                var read: [Pairing] = []
                var remote: [RemoteBrowser] = []
                for _ in 1..<count {
                    let memberCount = try decoder.readArrayHeader()
                    guard memberCount == 4 || (memberCount == 5 && remote.isEmpty) else {
                        throw CBORError(.unexpectedItem, byteOffset: 0)
                    }
                    let isRemote = memberCount == 4
                    let id = try decoder.readBytes(
                        count: isRemote ? RemoteBrowser.idByteCount : Pairing.idByteCount)
                    let name = try decoder.readText(byteCountMax: Pairing.nameByteCountMax)
                    if isRemote {
                        let created = Milliseconds(try decoder.readUnsigned())
                        let key = try decoder.readBytes(count: RemoteBrowser.keyByteCount)
                        remote.append(RemoteBrowser(id: id, name: name, created: created, key: key))
                        continue
                    }
                    let program = try decoder.readText(byteCountMax: Self.programByteCountMax)
                    let created = try decoder.readUnsigned()
                    let key = try decoder.readSecret(counts: Pairing.keyByteCount...Pairing.keyByteCount)
                    read.append(
                        Pairing(id: id, name: name, program: program, created: Milliseconds(created), key: key))
                }
                return (tells, read, remote)
            }
        } catch {
            throw BridgeError(.recordAltered)
        }
    }

    /// The record; the caller zeroes the bytes.
    package var encoded: [UInt8] {
        var encoder = CBOREncoder(reservingByteCount: 4096)
        encoder.encodeArrayHeader(count: 1 + all.count + remote.count)
        encoder.encode(bool: tellsOfValues)
        for pairing in all {
            encoder.encodeArrayHeader(count: 5)
            encoder.encode(bytes: pairing.id)
            encoder.encode(text: pairing.name)
            encoder.encode(text: pairing.program)
            encoder.encode(unsigned: UInt64(max(0, pairing.created)))
            // EXPOSE: into the record, which its home seals; the bytes are zeroed.
            unsafe pairing.key.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
        }
        for browser in remote {
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(bytes: browser.id)
            encoder.encode(text: browser.name)
            encoder.encode(unsigned: UInt64(max(0, browser.created)))
            encoder.encode(bytes: browser.key)
        }
        defer { encoder.zero() }
        return Array(encoder.bytes)
    }

    package func find(_ id: [UInt8]) -> Pairing? { all.first { $0.id == id } }

    package func findRemote(_ id: [UInt8]) -> RemoteBrowser? { remote.first { $0.id == id } }

    /// Makes a pairing under a name that no other one has.
    ///
    /// - Parameter wanted: what the browser calls itself; any text.
    /// - Throws: `.pairingExhausted`.
    package mutating func add(
        wanted: String, program: String, now: Milliseconds, random: any RandomSource
    ) throws(BridgeError) -> Pairing {
        let name = try freeName(wanted)
        let pairing = Pairing(
            id: random.bytes(count: Pairing.idByteCount), name: name,
            program: String(decoding: program.utf8.suffix(Self.programByteCountMax), as: UTF8.self), created: now,
            key: SecretBytes.random(byteCount: Pairing.keyByteCount))
        all.append(pairing)
        return pairing
    }

    /// Lets a browser on another machine ask, under a name that no other one has.
    ///
    /// - Parameter key: its public key, of 32 bytes.
    /// - Throws: `.pairingExhausted`.
    package mutating func addRemote(
        wanted: String, key: [UInt8], now: Milliseconds, random: any RandomSource
    ) throws(BridgeError) -> RemoteBrowser {
        // An extension that is let in anew asks under its newest name alone.
        remote.removeAll { $0.key == key }
        let browser = RemoteBrowser(
            id: random.bytes(count: RemoteBrowser.idByteCount), name: try freeName(wanted), created: now, key: key)
        remote.append(browser)
        return browser
    }

    private func freeName(_ wanted: String) throws(BridgeError) -> String {
        let names = Set((all.map(\.name) + remote.map(\.name)).map { $0.lowercased() })
        guard names.count < Pairing.countMax else { throw BridgeError(.pairingExhausted) }
        let base = Self.cleaned(wanted)
        var (name, number) = (base, 2)
        while names.contains(name.lowercased()) {
            name = "\(base) \(number)"
            number += 1
        }
        return name
    }

    /// - Throws: `.pairingNotFound`.
    package mutating func remove(named name: String) throws(BridgeError) {
        let count = all.count + remote.count
        all.removeAll { $0.name.lowercased() == name.lowercased() }
        remote.removeAll { $0.name.lowercased() == name.lowercased() }
        guard all.count + remote.count < count else { throw BridgeError(.pairingNotFound, at: name) }
    }

    /// A name that a question to a person may hold: letters, digits and single spaces.
    package static func cleaned(_ name: String) -> String {
        let plain = name.unicodeScalars.map { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                ? Character(scalar) : " "
        }
        let words = String(plain).split(separator: " ").joined(separator: " ")
        return words.isEmpty ? "Browser" : String(words.prefix(Pairing.nameByteCountMax - 4))
    }
}
