// SSH keys against OpenSSH's own program: what ssh-keygen writes is read, what is written here ssh-keygen reads.

import CoffretBase
import CoffretCrypto
import CoffretSSH
import CoffretTestSupport
import Foundation
import Testing

/// Private key files; a key that is accepted signs what its public half verifies.
func fuzzOpenSSHKeyFile(_ bytes: [UInt8]) -> Bool {
    guard let contents = try? OpenSSHKeyFile.parse(bytes, passphrase: OpenSSHKeyFile.noPassphrase)
    else { return false }
    let key = contents.key
    if let algorithm = try? key.algorithm(flags: 2), let signature = try? key.signature(of: [1], algorithm) {
        precondition(key.publicKey.isValid(signature, of: [1]), "a key that was read is a key")
    }
    return true
}

/// Public key blobs and lines.
func fuzzSSHPublicKey(_ bytes: [UInt8]) -> Bool {
    _ = try? SSHPublicKey.parse(line: String(decoding: bytes, as: UTF8.self))
    guard let key = try? SSHPublicKey(blob: bytes) else { return false }
    precondition((try? SSHPublicKey.parse(line: key.line(comment: "x")).key) == key, "a key survives its line")
    return true
}

/// OpenSSH's own program, and whether the library for its passphrases is there.
enum Keygen {
    static let path = "/usr/bin/ssh-keygen"
    static let isHere = FileManager.default.isExecutableFile(atPath: path)
    static let hasBcrypt: Bool = {
        var passphrase: [UInt8] = [1]
        let salt = [UInt8](repeating: 1, count: 16)
        return
            (try? BcryptPBKDF.derive(
                passphrase: SecretBytes(consuming: &passphrase), salt: salt, roundCount: 1, byteCount: 8)) != nil
    }()

    static let kinds: [[String]] = [
        ["-t", "ed25519"], ["-t", "ecdsa", "-b", "256"], ["-t", "ecdsa", "-b", "384"], ["-t", "ecdsa", "-b", "521"],
        ["-t", "rsa", "-b", "2048"], ["-t", "rsa", "-b", "4096"],
    ]
}

@Suite("SSH keys")
struct KeyFileTests {
    static func secret(_ text: String) -> SecretBytes {
        var bytes = Array(text.utf8)
        return SecretBytes(consuming: &bytes)
    }

    /// A key of ssh-keygen's: the private file, the line of the public one.
    static func makeKey(_ options: [String], passphrase: String = "") throws -> (file: [UInt8], line: String) {
        let folder = try TemporaryDirectory("ssh")
        let result = try ProcessRunner.run(
            Keygen.path, ["-q", "-N", passphrase, "-C", "me@here", "-f", folder.file("key")] + options)
        try #require(result.exitCode == 0, "\(result.errorText)")
        let line = try String(contentsOfFile: folder.file("key.pub"), encoding: .utf8)
        return (Array(try Data(contentsOf: URL(fileURLWithPath: folder.file("key")))), String(line.dropLast()))
    }

    @Test(
        "keys of ssh-keygen are read, sign, and are written so that ssh-keygen reads them",
        .enabled(if: Keygen.isHere, "needs ssh-keygen of Debian's openssh-client"), arguments: Keygen.kinds)
    func keygen(options: [String]) throws {
        let made = try Self.makeKey(options)
        let contents = try OpenSSHKeyFile.parse(made.file, passphrase: Self.secret(""))
        let key = contents.key
        #expect(contents.comment == "me@here")
        #expect(key.publicKey.line(comment: contents.comment) == made.line)
        #expect(try SSHPublicKey.parse(line: made.line).key == key.publicKey)
        for flags in key.publicKey.kind == .rsa ? [2, 4, 6] as [UInt32] : [0] {
            let message = Array("what is signed".utf8)
            let signature = try key.signature(of: message, key.algorithm(flags: flags))
            #expect(key.publicKey.isValid(signature, of: message))
            #expect(!key.publicKey.isValid(signature, of: message + [0]))
            var altered = signature
            altered[altered.count - 1] ^= 1
            #expect(!key.publicKey.isValid(altered, of: message))
        }
        if key.publicKey.kind == .rsa { #expect(throws: SSHError.self) { try key.algorithm(flags: 0) } }

        let folder = try TemporaryDirectory("ssh")
        let path = folder.file("written")
        let text = OpenSSHKeyFile.text(of: key, comment: "you@there", random: SystemRandomSource())
        try Data(text).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let derived = try ProcessRunner.run(Keygen.path, ["-y", "-f", path])
        #expect(derived.text == key.publicKey.line(comment: "you@there") + "\n", "\(derived.errorText)")
        let fingerprint = try ProcessRunner.run(Keygen.path, ["-l", "-f", path])
        #expect(fingerprint.text.contains(" \(key.publicKey.fingerprint) "))
        let again = try OpenSSHKeyFile.parse(text, passphrase: Self.secret(""))
        #expect(again.key.publicKey == key.publicKey)
    }

    @Test(
        "keys with a passphrase open with it and no other",
        .enabled(if: Keygen.isHere && Keygen.hasBcrypt, "needs ssh-keygen, and Botan for bcrypt_pbkdf"))
    func passphrase() throws {
        let made = try Self.makeKey(["-t", "ed25519", "-a", "4"], passphrase: "correct horse")
        let contents = try OpenSSHKeyFile.parse(made.file, passphrase: Self.secret("correct horse"))
        #expect(contents.key.publicKey.line(comment: contents.comment) == made.line)
        #expect(throws: SSHError(.passphraseWrong)) {
            try OpenSSHKeyFile.parse(made.file, passphrase: Self.secret("incorrect horse"))
        }
    }

    @Test(
        "without a passphrase, or in another cipher or format, the refusal says so",
        .enabled(if: Keygen.isHere, "needs ssh-keygen of Debian's openssh-client"))
    func refusals() throws {
        let sealed = try Self.makeKey(["-t", "ed25519", "-a", "1"], passphrase: "correct horse").file
        #expect(throws: SSHError(.passphraseNeeded)) { try OpenSSHKeyFile.parse(sealed, passphrase: Self.secret("")) }
        let other = try Self.makeKey(["-t", "ed25519", "-Z", "aes256-gcm@openssh.com"], passphrase: "correct horse")
            .file
        #expect(throws: SSHError.self) { try OpenSSHKeyFile.parse(other, passphrase: Self.secret("correct horse")) }
        let old = try Self.makeKey(["-t", "rsa", "-b", "2048", "-m", "PEM"]).file
        #expect(!OpenSSHKeyFile.isMeant(by: old))
        #expect(throws: SSHError.self) { try OpenSSHKeyFile.parse(old, passphrase: Self.secret("")) }
        // Too short a modulus is refused as a key, whoever made it.
        let short = try Self.makeKey(["-t", "rsa", "-b", "1024"]).file
        #expect(throws: SSHError.self) { try OpenSSHKeyFile.parse(short, passphrase: Self.secret("")) }
    }

    @Test("a generated key is read back, and a file whose halves differ is refused")
    func halves() throws {
        let random = SeededGenerator.fromEnvironment()
        let keys = [SSHPrivateKey.generate(from: random), SSHPrivateKey.generate(from: random)]
        let texts = keys.map { OpenSSHKeyFile.text(of: $0, comment: "", random: random) }
        #expect(try OpenSSHKeyFile.parse(texts[0], passphrase: Self.secret("")).key.publicKey == keys[0].publicKey)
        // The public key of the other in front of the private one.
        func body(_ text: [UInt8]) -> [UInt8] {
            let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").dropFirst().dropLast()
            return Array(Data(base64Encoded: lines.joined()) ?? Data())
        }
        var mixed = body(texts[0])
        let place = mixed.firstRange(of: keys[0].publicKey.blob)
        try mixed.replaceSubrange(#require(place), with: keys[1].publicKey.blob)
        let text = """
            -----BEGIN OPENSSH PRIVATE KEY-----
            \(Data(mixed).base64EncodedString())
            -----END OPENSSH PRIVATE KEY-----
            """
        #expect(throws: SSHError(.invalidKey, at: "public half")) {
            try OpenSSHKeyFile.parse(Array(text.utf8), passphrase: Self.secret(""))
        }
    }

    @Test("no file and no blob makes the parsers crash")
    func fuzzed() throws {
        let random = SeededGenerator.fromEnvironment()
        let key = SSHPrivateKey.generate(from: random)
        let text = OpenSSHKeyFile.text(of: key, comment: "c", random: random)
        #expect(fuzzOpenSSHKeyFile(text) && fuzzSSHPublicKey(key.publicKey.blob))
        fuzz([text], rounds: 1_000) { _ = fuzzOpenSSHKeyFile($0) }
        var writer = SSHWriter()
        writer.text("ecdsa-sha2-nistp256")
        writer.text("nistp256")
        writer.string([4] + [UInt8](repeating: 1, count: 64))
        fuzz([key.publicKey.blob, writer.bytes, Array(key.publicKey.line(comment: "x").utf8)]) {
            _ = fuzzSSHPublicKey($0)
        }
        // Behind the armour: the binary form itself, changed and wrapped again.
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").dropFirst().dropLast()
        let binary = Array(Data(base64Encoded: lines.joined()) ?? Data())
        fuzz([binary], rounds: 1_000) { bytes in
            let wrapped =
                "-----BEGIN OPENSSH PRIVATE KEY-----\n\(Data(bytes).base64EncodedString())\n-----END OPENSSH PRIVATE KEY-----\n"
            _ = fuzzOpenSSHKeyFile(Array(wrapped.utf8))
        }
    }
}
