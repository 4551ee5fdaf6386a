// `coffret ecies` and `coffret themis`, as scripts use them: by pipe and by file, against vectors of the
// real programs and against another implementation. No store is ever made here.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

@Suite("Formats of other programs")
struct ForeignFormatTests {
    private static let secret = Array("for your eyes only: \u{0}\u{FF}é\n".utf8)
    private static let notAuthentic: Int32 = 84

    private static func vectors(_ name: String) throws -> [VectorObject] {
        let folder = SharedData.packageRoot.appendingPathComponent("Tests/Vectors")
        return try VectorObject(contentsOf: folder.appendingPathComponent(name)).objects("cases")
    }

    private func write(_ runner: CoffretRunner, _ name: String, _ bytes: [UInt8], mode: Int = 0o600) throws {
        let path = runner.workPath + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func read(_ runner: CoffretRunner, _ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: runner.workPath + "/" + name)))
    }

    private func exists(_ runner: CoffretRunner, _ name: String) -> Bool {
        FileManager.default.fileExists(atPath: runner.workPath + "/" + name)
    }

    private func mode(_ runner: CoffretRunner, _ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: runner.workPath + "/" + name)[.posixPermissions] as? Int
    }

    /// Runs a command that must succeed on bytes, and returns the bytes that it wrote.
    private func pipe(_ runner: CoffretRunner, _ line: String, _ input: [UInt8] = []) throws -> [UInt8] {
        let result = try runner.run(line.split(separator: " ").map(String.init), input: input)
        guard result.exitCode == 0 else { throw CoffretRunner.Failed(text: "\(line): \(result.errorText)") }
        return result.standardOutput
    }

    /// Runs a command that must fail with one error and write nothing to standard output.
    private func refusal(_ runner: CoffretRunner, _ line: String, _ input: [UInt8] = []) throws -> (Int32, String) {
        let result = try runner.run(line.split(separator: " ").map(String.init), input: input)
        #expect(result.standardOutput.isEmpty)
        #expect(result.errorText.split(separator: "\n").filter { $0.contains("error:") }.count == 1)
        return (result.exitCode, result.errorText)
    }

    // MARK: ECIES

    @Test(
        "a message sealed for a key of each curve opens, by pipe, by file and as text",
        arguments: ["p256", "p384", "p521"])
    func eciesRoundTrip(curve: String) throws {
        let runner = try CoffretRunner()
        let printed = try pipe(runner, "ecies keygen --curve \(curve) -o key.pem")
        try write(runner, "key.pub", printed, mode: 0o644)
        #expect(String(decoding: printed, as: UTF8.self).hasPrefix("-----BEGIN PUBLIC KEY-----\n"))
        #expect(try mode(runner, "key.pem") == 0o600)
        #expect(try pipe(runner, "ecies seal --key key.pub", Self.secret).count > Self.secret.count + 80)
        let sealed = try pipe(runner, "ecies seal --key key.pub", Self.secret)
        #expect(try pipe(runner, "ecies open --key key.pem", sealed) == Self.secret)
        let text = try pipe(runner, "ecies seal --key key.pub --base64", Self.secret)
        #expect(text.allSatisfy { (0x20..<0x7F).contains($0) || $0 == 0x0A })
        #expect(try pipe(runner, "ecies open --key key.pem --base64", text) == Self.secret)
        try write(runner, "plain", Self.secret)
        for algorithm in [
            "eciesEncryptionStandardX963SHA224AESGCM", "eciesEncryptionCofactorVariableIVX963SHA512AESGCM",
        ] {
            _ = try pipe(runner, "ecies seal -k key.pub -a \(algorithm) -i plain -o \(algorithm)")
            _ = try pipe(runner, "ecies open -k key.pem -a \(algorithm) -i \(algorithm) -o \(algorithm).out")
            #expect(try read(runner, "\(algorithm).out") == Self.secret)
            #expect(try mode(runner, "\(algorithm).out") == 0o600)
        }
        #expect(try pipe(runner, "ecies open -k key.pem", pipe(runner, "ecies seal -k key.pub")).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: runner.storePath))
    }

    @Test("messages that Apple's software made open with the private key in Apple's form")
    func appleVectors() throws {
        let runner = try CoffretRunner()
        let cases = try Self.vectors("apple-ecies/real-apple.json")
        #expect(!cases.isEmpty)
        for (index, test) in cases.enumerated() {
            try write(runner, "key\(index)", test.hex("public_key_hex") + test.hex("private_key_hex"))
            let line = try "ecies open -k key\(index) -a \(test.text("algorithm"))"
            #expect(try pipe(runner, line, test.hex("message_hex")) == test.hex("plaintext_hex"), "\(test)")
        }
    }

    @Test("an altered message, a wrong key and a wrong algorithm are one error, and nothing is written")
    func eciesRefusals() throws {
        let runner = try CoffretRunner()
        _ = try pipe(runner, "ecies keygen -o key.pem --public key.pub")
        _ = try pipe(runner, "ecies keygen -o other.pem --public other.pub")
        let sealed = try pipe(runner, "ecies seal -k key.pub", Self.secret)
        var messages: Set<String> = []
        for index in [0, 1, 64, 65, sealed.count - 1] {
            var altered = sealed
            altered[index] ^= 1
            let (code, text) = try refusal(runner, "ecies open -k key.pem -o out", altered)
            #expect(code == Self.notAuthentic)
            messages.insert(text)
        }
        for line in [
            "ecies open -k other.pem -o out", "ecies open -k key.pem -o out -a eciesEncryptionCofactorX963SHA256AESGCM",
        ] {
            let (code, text) = try refusal(runner, line, sealed)
            #expect(code == Self.notAuthentic)
            messages.insert(text)
        }
        messages.insert(try refusal(runner, "ecies open -k key.pem -o out", Array(sealed.dropLast(20))).1)
        messages.insert(try refusal(runner, "ecies open -k key.pem -o out").1)
        #expect(messages.count == 1)
        #expect(!exists(runner, "out"))
    }

    @Test("a key in each form is the same key")
    func keyForms() throws {
        let runner = try CoffretRunner()
        _ = try pipe(runner, "ecies keygen -o key.pem --public key.pub")
        let pem = try read(runner, "key.pub")
        for format in ["pem", "jwk", "der", "x963"] {
            let key = try pipe(runner, "ecies public key.pem --format \(format)")
            try write(runner, format, key, mode: 0o644)
            #expect(try pipe(runner, "ecies public \(format)") == pem)
            try write(runner, "\(format).64", pipe(runner, "ecies public key.pem --format \(format) --base64"))
            #expect(try pipe(runner, "ecies public \(format).64") == pem)
            let sealed = try pipe(runner, "ecies seal -k \(format)", Self.secret)
            #expect(try pipe(runner, "ecies open -k key.pem", sealed) == Self.secret)
        }
        #expect(try read(runner, "x963").count == 65)
    }

    @Test("a signature verifies; one of another message or key does not")
    func signatures() throws {
        let runner = try CoffretRunner()
        _ = try pipe(runner, "ecies keygen -o key.pem --public key.pub")
        _ = try pipe(runner, "ecies keygen -o other.pem --public other.pub")
        _ = try pipe(runner, "ecies sign -k key.pem -o sig", Self.secret)
        let text = try pipe(runner, "ecies verify -k key.pub --signature sig", Self.secret)
        #expect(String(decoding: text, as: UTF8.self) == "The signature is valid.\n")
        try write(runner, "sig64", pipe(runner, "ecies sign -k key.pem --base64", Self.secret))
        _ = try pipe(runner, "ecies verify -k key.pub --signature sig64 --base64", Self.secret)
        #expect(try refusal(runner, "ecies verify -k other.pub --signature sig", Self.secret).0 == Self.notAuthentic)
        #expect(try refusal(runner, "ecies verify -k key.pub --signature sig", [1]).0 == Self.notAuthentic)
        #expect(try refusal(runner, "ecies verify -k key.pub --signature sig64", Self.secret).0 == Self.notAuthentic)
        let digest = [UInt8](repeating: 7, count: 32)
        _ = try pipe(runner, "ecies sign -k key.pem -a ecdsaSignatureDigestX962SHA256 -o sig2", digest)
        _ = try pipe(runner, "ecies verify -k key.pub -a ecdsaSignatureDigestX962SHA256 --signature sig2", digest)
        #expect(try refusal(runner, "ecies sign -k key.pem -a ecdsaSignatureDigestX962SHA256", [1]).0 == 80)
    }

    private static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path
    private static let hasCryptography: Bool = {
        guard FileManager.default.isExecutableFile(atPath: python) else { return false }
        return (try? ProcessRunner.run(python, ["-c", "import cryptography"]))?.exitCode == 0
    }()

    @Test(
        "what coffret seals and signs, another implementation opens and verifies, and the other way round",
        .enabled(if: hasCryptography, "needs .build/venv with cryptography"))
    func anotherImplementation() throws {
        let runner = try CoffretRunner()
        _ = try pipe(runner, "ecies keygen -o key.pem --public key.pub")
        let name = "eciesEncryptionCofactorVariableIVX963SHA256AESGCM"
        let signing = "ecdsaSignatureMessageX962SHA256"
        func text(_ file: String) throws -> String { String(decoding: try read(runner, file), as: UTF8.self) }
        let jobs: [String: Any] = try [
            "open": [
                [
                    "algorithm": name, "private_pem": text("key.pem"),
                    "message_hex": Hex.encode(pipe(runner, "ecies seal -k key.pub", Self.secret)),
                ]
            ],
            "verify": [
                [
                    "algorithm": signing, "public_pem": text("key.pub"), "data_hex": Hex.encode(Self.secret),
                    "signature_hex": Hex.encode(pipe(runner, "ecies sign -k key.pem", Self.secret)),
                ]
            ],
            "seal": [
                [
                    "algorithm": name, "plaintext_hex": Hex.encode(Self.secret),
                    "public_hex": Hex.encode(pipe(runner, "ecies public key.pub --format x963")),
                ]
            ],
            "sign": [["algorithm": signing, "private_pem": text("key.pem"), "data_hex": Hex.encode(Self.secret)]],
        ]
        let script = SharedData.packageRoot.appendingPathComponent("Tests/Interop/ecies_peer.py").path
        let input = try JSONSerialization.data(withJSONObject: jobs)
        let result = try ProcessRunner.run(Self.python, [script], input: [UInt8](input))
        #expect(result.exitCode == 0, "\(result.errorText)")
        let answers = try #require(
            JSONSerialization.jsonObject(with: Data(result.standardOutput)) as? [String: [Any]])
        #expect(answers["open"] as? [String] == [Hex.encode(Self.secret)])
        #expect(answers["verify"] as? [String] == ["valid"])
        let sealed = try #require((answers["seal"] as? [String])?.first)
        #expect(try pipe(runner, "ecies open -k key.pem", Hex.decode(sealed)) == Self.secret)
        let signature = try #require((answers["sign"] as? [String])?.first)
        try write(runner, "sig", Hex.decode(signature))
        _ = try pipe(runner, "ecies verify -k key.pub --signature sig", Self.secret)
    }

    // MARK: Themis

    @Test("cells of each kind open again, and only with their key and context")
    func cells() throws {
        let runner = try CoffretRunner()
        _ = try pipe(runner, "themis keygen --symmetric -o key")
        _ = try pipe(runner, "themis keygen --symmetric -o other")
        #expect(try read(runner, "key").count == 32)
        #expect(try mode(runner, "key") == 0o600)
        for encoding in ["", " --base64", " --transport"] {
            let sealed = try pipe(runner, "themis seal -k key -c note-17" + encoding, Self.secret)
            #expect(try pipe(runner, "themis open -k key -c note-17" + encoding, sealed) == Self.secret)
            #expect(try refusal(runner, "themis open -k key -c note-18" + encoding, sealed).0 == Self.notAuthentic)
            #expect(try refusal(runner, "themis open -k other -c note-17" + encoding, sealed).0 == Self.notAuthentic)
        }
        let protected = try pipe(runner, "themis seal -k key --mode token --token token", Self.secret)
        #expect(protected.count == Self.secret.count)
        #expect(try pipe(runner, "themis open -k key --mode token --token token", protected) == Self.secret)
        let imprinted = try pipe(runner, "themis seal -k key --mode imprint -c row-1", Self.secret)
        #expect(imprinted.count == Self.secret.count)
        #expect(try pipe(runner, "themis open -k key --mode imprint -c row-1", imprinted) == Self.secret)
        for line in [
            "themis seal -k key --mode token", "themis seal -k key --mode imprint", "themis seal -k key --token x",
            "themis seal --mode imprint -c a", "themis seal -k key --base64 --transport",
            "themis seal -k key --passphrase-fd 0",
        ] {
            #expect(try refusal(runner, line, Self.secret).0 == 64, "\(line)")
        }
        #expect(try refusal(runner, "themis seal -k key").0 == 80)
    }

    @Test("a passphrase comes before the data on its descriptor, and never from the store's file")
    func passphraseCells() throws {
        let runner = try CoffretRunner()
        let words = Array("correct horse\n".utf8)
        let sealed = try pipe(runner, "themis seal --passphrase-fd 0", words + Self.secret)
        #expect(sealed.count == Self.secret.count + 70)
        #expect(try pipe(runner, "themis open --passphrase-fd 0", words + sealed) == Self.secret)
        let (code, _) = try refusal(runner, "themis open --passphrase-fd 0", Array("wrong\n".utf8) + sealed)
        #expect(code == Self.notAuthentic)
        #expect(try refusal(runner, "themis open --passphrase-fd 0", Array("\n".utf8) + sealed).0 == 80)
        // The runner names a passphrase file for the store; without a terminal there is none for a cell.
        let (unattended, text) = try refusal(runner, "themis open", sealed)
        #expect(unattended == 69 && text.contains("--key-file"))
    }

    @Test("cells and messages that Themis made open")
    func themisVectors() throws {
        let runner = try CoffretRunner()
        var count = 0
        for test in try Self.vectors("themis/secure_cell_seal.json").prefix(12) {
            // An argument is text without zero bytes; contexts that are not are for the library's own tests.
            let context = try String(validating: test.hexIfPresent("context_hex") ?? [], as: UTF8.self)
            guard let context, !context.contains("\u{0}") else { continue }
            count += 1
            try write(runner, "key\(count)", test.hex("key_hex"))
            let line = ["themis", "open", "-k", "key\(count)", "--context=\(context)"]
            let result = try runner.run(line, input: test.hex("sealed_hex"))
            #expect(try result.standardOutput == test.hex("plaintext_hex"), "\(test) \(result.errorText)")
        }
        #expect(count > 0)
        for (index, test) in try Self.vectors("themis/secure_message_encrypt.json").prefix(3).enumerated() {
            try write(runner, "own\(index)", test.hex("recipient_private_key_hex"))
            try write(runner, "peer\(index)", test.hex("sender_public_key_hex"))
            let line = "themis message decrypt --private own\(index) --public peer\(index)"
            #expect(try pipe(runner, line, test.hex("message_hex")) == test.hex("plaintext_hex"), "\(test)")
        }
        let post = try #require(try Self.vectors("themis/zka_sample.json").first)
        try write(runner, "post.key", Array(post.text("author_secret_key_utf8").utf8))
        let string = try Array(post.text("encrypted_post_transport").utf8)
        #expect(try pipe(runner, "themis open -k post.key --transport", string) == Array(post.text("post_utf8").utf8))
    }

    @Test("two holders of Themis keys exchange messages")
    func themisMessages() throws {
        let runner = try CoffretRunner()
        _ = try pipe(runner, "themis keygen -o a.key --public a.pub")
        // The public half printed as text is taken as well.
        try write(runner, "b.pub", pipe(runner, "themis keygen -o b.key"), mode: 0o644)
        for encoding in ["", " --base64", " --transport"] {
            let sealed = try pipe(
                runner, "themis message encrypt --private a.key --public b.pub" + encoding, Self.secret)
            let opened = try pipe(runner, "themis message decrypt --private b.key --public a.pub" + encoding, sealed)
            #expect(opened == Self.secret)
            let signed = try pipe(runner, "themis message sign --private a.key" + encoding, Self.secret)
            #expect(try pipe(runner, "themis message verify --public a.pub" + encoding, signed) == Self.secret)
            let (code, _) = try refusal(runner, "themis message verify --public b.pub" + encoding, signed)
            #expect(code == Self.notAuthentic)
            let line = "themis message decrypt --private b.key --public b.pub" + encoding
            #expect(try refusal(runner, line, sealed).0 == Self.notAuthentic)
        }
    }

    // MARK: Files and words

    @Test("files are never replaced, and key files that others read are refused")
    func files() throws {
        let runner = try CoffretRunner()
        _ = try pipe(runner, "ecies keygen -o key.pem --public key.pub")
        let key = try read(runner, "key.pem")
        #expect(try refusal(runner, "ecies keygen -o key.pem").0 == 73)
        #expect(try refusal(runner, "ecies keygen -o new.pem --public key.pub").0 == 73)
        #expect(try refusal(runner, "ecies keygen -o new.pem --public missing/key.pub").0 == 73)
        #expect(try refusal(runner, "ecies seal -k key.pub -o key.pem", Self.secret).0 == 73)
        #expect(!exists(runner, "new.pem"))
        #expect(try read(runner, "key.pem") == key)
        try write(runner, "open.pem", key, mode: 0o644)
        let (code, text) = try refusal(runner, "ecies sign -k open.pem", [1])
        #expect(code == 77 && text.contains("chmod 600"))
    }

    @Test("what is wrong with a key, an algorithm or an option is said as such")
    func wrongWords() throws {
        let runner = try CoffretRunner()
        _ = try pipe(runner, "ecies keygen -o key.pem --public key.pub")
        try write(runner, "nonsense", [1, 2, 3, 255])
        try write(runner, "empty", [])
        for name in ["nonsense", "empty"] {
            for line in [
                "ecies seal -k \(name)", "ecies open -k \(name)", "themis message sign --private \(name)",
                "themis message verify --public \(name)",
            ] {
                let (code, text) = try refusal(runner, line, Self.secret)
                #expect(code == 80 && text.contains("\(name) is no"), "\(line): \(text)")
            }
        }
        #expect(try refusal(runner, "ecies open -k key.pub", Self.secret).0 == 80)
        #expect(try refusal(runner, "ecies seal -k key.pem", Self.secret).0 == 80)
        // More than a pipe holds: the command ends before it has been read.
        #expect(try refusal(runner, "ecies seal -k missing", [UInt8](repeating: 1, count: 1 << 20)).0 == 66)
        #expect(try refusal(runner, "ecies seal", Self.secret).1.contains("--key FILE is missing"))
        #expect(try refusal(runner, "ecies open -k key.pem --base64", [0xFF]).1.contains("is not base64"))
        let (code, text) = try refusal(runner, "ecies seal -k key.pub -a eciesEncryptionCofactorX963SHA256AESGC")
        #expect(code == 64 && text.contains("did you mean eciesEncryptionCofactorX963SHA256AESGCM?"))
    }

    @Test("input and key files above their limits are refused as too large")
    func limits() throws {
        let runner = try CoffretRunner()
        _ = try pipe(runner, "ecies keygen -o key.pem --public key.pub")
        try write(runner, "large.pub", [UInt8](repeating: 0x20, count: 64 << 10 | 1))
        #expect(try refusal(runner, "ecies seal -k large.pub").1.contains("is larger than"))
        try write(runner, "large", [])
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: runner.workPath + "/large"))
        // A hole: no block of the disk is taken.
        try file.truncate(atOffset: 256 << 20 | 1)
        try file.close()
        let (code, text) = try refusal(runner, "ecies seal -k key.pub -i large -o out")
        #expect(code == 80 && text.contains("large is larger than"))
        #expect(!exists(runner, "out"))
    }

    @Test("bytes do not go to a terminal; text does")
    func terminal() throws {
        let runner = try CoffretRunner()
        _ = try pipe(runner, "ecies keygen -o key.pem --public key.pub")
        try write(runner, "plain", Array("just text\n".utf8))
        let refused = try runner.onTerminal("ecies", "seal", "-k", "key.pub", "-i", "plain")
        try refused.wait(for: "--base64")
        #expect(try refused.finish() == 64)
        let text = try runner.onTerminal("ecies", "seal", "-k", "key.pub", "-i", "plain", "--base64")
        #expect(try text.finish() == 0)
        _ = try pipe(runner, "ecies seal -k key.pub -i plain -o sealed")
        let opened = try runner.onTerminal("ecies", "open", "-k", "key.pem", "-i", "sealed")
        try opened.wait(for: "just text")
        #expect(try opened.finish() == 0)
        let asked = try runner.onTerminal("themis", "seal", "-i", "plain", "-o", "cell")
        try asked.answer("Passphrase of the cell: ", "correct horse")
        try asked.answer("Repeat: ", "correct horse")
        try asked.wait(for: "Wrote cell")
        #expect(try asked.finish() == 0)
        let cell = try read(runner, "cell")
        let plain = try pipe(runner, "themis open --passphrase-fd 0", Array("correct horse\n".utf8) + cell)
        #expect(plain == Array("just text\n".utf8))
    }
}
