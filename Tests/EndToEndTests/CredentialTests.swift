// docker, Cargo, pip, npm, the AWS command line, kubectl and systemd-creds ask the vault. Invariant: each is the real program,
// and a server of the test decides whether it was told the right thing.

import CoffretBase
import CoffretTestSupport
import Foundation
import Glibc
import Testing

/// A store, and a folder of programs as an installation has it.
struct CredentialWorld {
    let runner: CoffretRunner
    var programs: String { runner.folder.file("bin") }

    init() throws {
        runner = try CoffretRunner()
        try runner.makeStore()
        let packaged = SharedData.packageRoot.path + "/Packaging/credentials"
        try FileManager.default.copyItem(atPath: packaged, toPath: programs)
        try FileManager.default.createSymbolicLink(
            atPath: programs + "/coffret", withDestinationPath: CoffretRunner.executable)
        try write("bin/keyring", "#!/bin/sh\nexec coffret credential pip \"$@\"\n", mode: 0o755)
    }

    func write(_ name: String, _ text: String, mode: Int = 0o600) throws {
        let path = runner.folder.file(name)
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    func makeLogin(_ title: String, _ user: String, _ url: String, _ password: String) throws {
        try GitHelperTests.makeLogin(runner, title, user, url, password)
    }

    func makeToken(_ title: String, _ url: String, _ token: String) throws {
        try runner.succeed(
            "new", "--type", "api-token", title, "--set", "url=\(url)", "--secret", "token", input: token)
    }

    /// Runs a program of others, which finds ours first.
    func run(_ program: String, _ arguments: [String], input: String = "", _ changes: [String: String?] = [:]) throws
        -> ProcessResult
    {
        let path = try #require(RealPrograms.find(program))
        let own = "\(programs):\((path as NSString).deletingLastPathComponent):/usr/local/bin:/usr/bin:/bin"
        return try ProcessRunner.run(
            path, arguments, input: Array(input.utf8),
            environment: runner.environment(["PATH": own].merging(changes) { $1 }), directory: runner.workPath,
            timeoutSeconds: 300)
    }

    func logins() throws -> [String] {
        try runner.succeed("ls").split(separator: "\n").map(String.init)
    }
}

@Suite("Credentials for other programs")
struct CredentialTests {
    // MARK: docker

    @Test(
        "docker logs in, is known afterwards, lists and logs out",
        .enabled(if: RealPrograms.find("docker") != nil, "needs docker"))
    func docker() throws {
        let world = try CredentialWorld()
        let server = try RegistryServer()
        try world.write("home/.docker/config.json", #"{"credsStore":"coffret"}"#)
        func docker(_ words: String..., input: String = "") throws -> ProcessResult {
            // Without a daemon, docker asks the registry itself.
            try world.run(
                "docker", words, input: input, ["DOCKER_HOST": "unix://\(world.runner.folder.file("none"))"])
        }
        try world.makeLogin("Web page", "ada", "https://\(server.host)/admin", "other")
        let refused = try docker("login", "-u", "ada", "--password-stdin", server.host, input: "wrong")
        #expect(refused.exitCode != 0)
        let made = try docker(
            "login", "-u", "ada", "--password-stdin", server.host, input: RegistryServer.password)
        #expect(made.exitCode == 0, "\(made.text) \(made.errorText)")
        let shown = try world.runner.succeed("show", server.host, "--reveal")
        #expect(shown.contains("Username: ada") && shown.contains(RegistryServer.password), "\(shown)")
        #expect(try world.runner.succeed("ls", "--tag", "docker-credential").contains(server.host))
        // It says whom it would log in as, and then needs its daemon.
        let again = try docker("login", server.host)
        #expect((again.text + again.errorText).contains("Username: ada"), "\(again.text) \(again.errorText)")
        let list = try world.runner.succeed("credential", "docker", "list")
        #expect(list == "{\"\(server.host)\":\"ada\"}\n")
        let out = try docker("logout", server.host)
        #expect(out.exitCode == 0 && !out.errorText.contains("Web page"), "\(out.errorText)")
        #expect(try world.logins().count == 1, "the person's own login stays")
        let last = try docker("login", server.host)
        #expect(!(last.text + last.errorText).contains("Username: ada"), "nothing is known any more")
    }

    @Test("docker's own login goes before those of the person, and is one for each registry")
    func dockerRules() throws {
        let world = try CredentialWorld()
        let ask = { (words: [String], input: String) in
            try world.runner.run(["credential", "docker"] + words, input: Array(input.utf8))
        }
        func store(_ server: String, _ user: String, _ secret: String) throws {
            let stored = try ask(
                ["store"], #"{"ServerURL":"\#(server)","Username":"\#(user)","Secret":"\#(secret)"}"#)
            #expect(stored.exitCode == 0, "\(stored.errorText)")
        }
        func known(_ server: String) throws -> String? {
            let result = try ask(["get"], server)
            if result.text == "credentials not found in native keychain\n" {
                #expect(result.exitCode == 1)
                return nil
            }
            let value = try JSONValue(parsing: result.standardOutput)
            #expect(value["ServerURL"]?.string == server)
            return "\(value["Username"]?.string ?? ""):\(value["Secret"]?.string ?? "")"
        }
        #expect(try known("ghcr.example") == nil)
        try world.makeLogin("Mine", "ada", "https://ghcr.example", "one")
        #expect(try known("ghcr.example") == "ada:one")
        try world.makeLogin("Of the team", "bot", "https://ghcr.example", "two")
        let several = try ask(["get"], "ghcr.example")
        #expect(several.exitCode == 65 && several.text.isEmpty && several.errorText.contains("Of the team (bot)"))
        // A login that docker kept decides, and the next one takes its place.
        try store("ghcr.example", "bot", "two")
        #expect(try known("ghcr.example") == "bot:two")
        try store("ghcr.example", "carol", "three")
        #expect(try known("ghcr.example") == "carol:three")
        #expect(try world.logins().count == 3)
        // Another place of the same host is another place.
        #expect(try known("http://ghcr.example") == nil && known("ghcr.example:5000") == nil)
        try store("https://index.docker.example/v1/", "ada", "hub")
        #expect(try known("https://index.docker.example/v1/") == "ada:hub")
        #expect(try known("https://index.docker.example/v2/") == nil && known("index.docker.example") == nil)
        #expect(
            try JSONValue(parsing: ask(["list"], "").standardOutput)
                == .object([
                    .init("https://index.docker.example/v1/", .string("ada")), .init("ghcr.example", .string("carol")),
                ]))
        // Of other logins for the same place nothing is said, and nothing is changed.
        let erased = try ask(["erase"], "ghcr.example")
        #expect(erased.exitCode == 0 && erased.text.isEmpty && erased.errorText.isEmpty)
        #expect(try world.logins().count == 3 && known("https://index.docker.example/v1/") == "ada:hub")
        #expect(try ask(["get"], "ghcr.example").exitCode == 65)
        #expect(try ask(["erase"], "nobody.example").exitCode == 0)
        for bad in ["", "not json", #"{"ServerURL":"x"}"#, #"{"ServerURL":"a b","Username":"x","Secret":"y"}"#] {
            #expect(try ask(["store"], bad).exitCode == 80, "\(bad)")
        }
    }

    // MARK: Cargo

    @Test(
        "Cargo logs in, uses the token, and logs out", .enabled(if: RealPrograms.find("cargo") != nil, "needs cargo"))
    func cargo() throws {
        let world = try CredentialWorld()
        let server = try RegistryServer()
        try world.write(
            "cargo/config.toml",
            """
            [registry]
            global-credential-providers = ["cargo-credential-coffret"]
            [registries.local]
            index = "sparse+http://\(server.host)/index/"
            """)
        // The home folder is another one; the toolchain stays where it is.
        let toolchains =
            ProcessInfo.processInfo.environment["RUSTUP_HOME"] ?? NSHomeDirectory() + "/.rustup"
        func cargo(_ words: String..., input: String = "") throws -> ProcessResult {
            try world.run(
                "cargo", words + ["--registry", "local"], input: input,
                ["CARGO_HOME": world.runner.folder.file("cargo"), "RUSTUP_HOME": toolchains])
        }
        let unknown = try cargo("owner", "--list", "demo")
        #expect(unknown.exitCode != 0 && unknown.errorText.contains("token"), "\(unknown.errorText)")
        // A password for the site is no token, and a token for the site is none for a registry below it.
        try world.makeLogin("Site", "ada", "http://\(server.host)/index", RegistryServer.token)
        try world.makeToken("Site's token", "http://\(server.host)/", RegistryServer.token)
        #expect(try cargo("owner", "--list", "demo").exitCode != 0)
        let login = try cargo("login", input: RegistryServer.token + "\n")
        #expect(login.exitCode == 0, "\(login.errorText)")
        let listed = try cargo("owner", "--list", "demo")
        #expect(listed.exitCode == 0 && listed.text.contains("grace"), "\(listed.errorText)")
        #expect(try world.runner.succeed("ls", "--tag", "cargo-credential").contains("127.0.0.1"))
        let logout = try cargo("logout")
        #expect(logout.exitCode == 0, "\(logout.errorText)")
        #expect(try cargo("owner", "--list", "demo").exitCode != 0)
        #expect(try world.logins().count == 2)
    }

    @Test("each line of Cargo is answered by one line, also what is none of its protocol")
    func cargoLines() throws {
        let world = try CredentialWorld()
        try world.makeToken("Registry", "https://index.example/a", "tok")
        func ask(_ lines: String...) throws -> [JSONValue] {
            let result = try world.runner.run(
                "credential", "cargo", "--cargo-plugin", input: lines.map { $0 + "\n" }.joined())
            #expect(result.exitCode == 0, "\(result.errorText)")
            return try result.text.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        }
        func request(_ kind: String, _ index: String) -> String {
            #"{"v":1,"registry":{"index-url":"\#(index)"},"kind":"\#(kind)","operation":"read"}"#
        }
        let answers = try ask(
            request("get", "sparse+https://index.example/a/"), request("get", "sparse+https://index.example/"),
            request("rotate", "sparse+https://index.example/a/"), #"{"v":2}"#, "nonsense", request("get", ""),
            request("login", "sparse+https://index.example/a/"))
        try #require(answers.count == 8)
        #expect(answers[0]["v"]?.elements == [.integer(1)])
        #expect(answers[1]["Ok"]?["token"]?.string == "tok" && answers[1]["Ok"]?["cache"]?.string == "session")
        #expect(answers[2]["Err"]?["kind"]?.string == "not-found")
        #expect(answers[3]["Err"]?["kind"]?.string == "operation-not-supported")
        for answer in answers[4...] { #expect(answer["Err"]?["kind"]?.string == "other", "\(answer)") }
        // Several for one place: Cargo shows who they are.
        try world.makeToken("Other", "https://index.example/a", "tok2")
        let several = try ask(request("get", "sparse+https://index.example/a/"))
        #expect(several.last?["Err"]?["message"]?.string?.contains("Other") == true, "\(several)")
    }

    /// pip knows the keyring program since 23.1.
    private static let hasPip: Bool = {
        guard let python = RealPrograms.find("python3"),
            let help = try? ProcessRunner.run(python, ["-m", "pip", "help", "install"])
        else { return false }
        return help.text.contains("--keyring-provider")
    }()

    @Test("pip gets the password of the user that the address names", .enabled(if: hasPip, "needs pip 23.1"))
    func pip() throws {
        let world = try CredentialWorld()
        let server = try RegistryServer()
        func versions() throws -> ProcessResult {
            try world.run(
                "python3",
                [
                    "-m", "pip", "--disable-pip-version-check", "--no-input", "--no-cache-dir", "index", "versions",
                    "demo",
                    "--keyring-provider", "subprocess", "--index-url", "http://ada@\(server.host)/simple/",
                ], ["PIP_CONFIG_FILE": "/dev/null"])
        }
        #expect(try versions().exitCode != 0)
        try world.makeLogin("Of bob", "bob", "http://\(server.host)/", "wrong")
        try world.makeLogin("Packages", "ada", "http://\(server.host)/", RegistryServer.password)
        let listed = try versions()
        #expect(listed.exitCode == 0 && listed.text.contains("1.5"), "\(listed.errorText)")
    }

    @Test("pip's program keeps passwords and removes those that it kept")
    func pipRules() throws {
        let world = try CredentialWorld()
        let index = "https://pypi.example/simple"
        func pip(_ words: String..., input: String = "") throws -> ProcessResult {
            try world.runner.run(["credential", "pip"] + words, input: Array(input.utf8))
        }
        let missing = try pip("get", index, "ada")
        #expect(missing.exitCode == 1 && missing.text.isEmpty && missing.errorText.isEmpty)
        #expect(try pip("set", index, "ada", input: "one\n").exitCode == 0)
        #expect(try pip("get", index, "ada").text == "one\n" && pip("get", index, "bob").exitCode == 1)
        #expect(try pip("set", index, "ada", input: "two\n").exitCode == 0)
        #expect(try pip("get", index, "ada").text == "two\n" && world.logins().count == 1)
        #expect(try pip("set", index, "ada").exitCode == 80)
        try world.makeLogin("Mine", "bob", index, "three")
        #expect(try pip("del", index, "bob").exitCode == 0 && pip("get", index, "bob").text == "three\n")
        #expect(try pip("del", index, "ada").exitCode == 0 && pip("get", index, "ada").exitCode == 1)
        #expect(try pip("get", "a b", "ada").exitCode == 80)
    }

    @Test("npm gets its token by coffret run", .enabled(if: RealPrograms.find("npm") != nil, "needs npm"))
    func npm() throws {
        let world = try CredentialWorld()
        let server = try RegistryServer()
        try world.makeToken("npm", "http://\(server.host)/", RegistryServer.token)
        try world.write("home/.npmrc", "//\(server.host)/:_authToken=${NPM_TOKEN}\n")
        let npm = try #require(RealPrograms.find("npm"))
        let asked = [npm, "whoami", "--no-update-notifier", "--registry", "http://\(server.host)/"]
        let who = try world.run(
            "env", ["coffret", "run", "--env", "NPM_TOKEN=coffret://Personal/npm/token", "--"] + asked)
        #expect(who.exitCode == 0 && who.text.contains("grace"), "\(who.errorText)")
        #expect(try world.run("env", ["NPM_TOKEN=wrong"] + asked).exitCode != 0)
    }

    // MARK: AWS, kubectl, systemd

    @Test(
        "the AWS command line takes its keys from an item",
        .enabled(if: RealPrograms.find("aws") != nil, "needs the AWS command line"))
    func aws() throws {
        let world = try CredentialWorld()
        try world.runner.succeed(
            "new", "--type", "api-token", "AWS of the team", "--set", "username=AKIAEXAMPLEWXYZ", "--secret", "token",
            input: "secret/with+signs7890")
        try world.write(
            "home/.aws/config",
            "[default]\nregion = eu-central-1\ncredential_process = \(world.programs)/coffret credential aws \"AWS of the team\"\n"
        )
        // It asks nobody on the network, and shows the last four characters.
        let listed = try world.run("aws", ["configure", "list"], ["AWS_EC2_METADATA_DISABLED": "true"])
        #expect(listed.text.contains("WXYZ") && listed.text.contains("7890"), "\(listed.text) \(listed.errorText)")
        #expect(listed.text.contains("custom-process"))
    }

    @Test("AWS's answer has the fields that there are, and an item without keys is refused")
    func awsRules() throws {
        let world = try CredentialWorld()
        try world.makeLogin("Console", "AKIA1", "https://aws.example", "s3cret")
        let answer = try JSONValue(parsing: Array(world.runner.succeed("credential", "aws", "Console").utf8))
        #expect(
            answer
                == .object([
                    .init("Version", .integer(1)), .init("AccessKeyId", .string("AKIA1")),
                    .init("SecretAccessKey", .string("s3cret")),
                ]))
        try world.runner.succeed("edit", "Console", "--set", "session-token=later")
        #expect(try world.runner.succeed("credential", "aws", "Console").contains(#""SessionToken":"later""#))
        try world.runner.makeNote("# Only text\n")
        let refused = try world.runner.run("credential", "aws", "Only text")
        #expect(refused.exitCode == 66 && refused.text.isEmpty && refused.errorText.contains("access key"))
        #expect(try world.runner.run("credential", "aws", "Nothing").exitCode == 66)
    }

    @Test(
        "kubectl gets the token for its cluster",
        .enabled(if: RealPrograms.find("kubectl") != nil && RealPrograms.hasOpenSSL, "needs kubectl and openssl"))
    func kubectl() throws {
        let world = try CredentialWorld()
        let (key, both) = (world.runner.folder.file("key.pem"), world.runner.folder.file("both.pem"))
        let made = try ProcessRunner.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                "-days",
                "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
            ])
        try Data((made.text + String(contentsOfFile: key, encoding: .utf8)).utf8).write(to: URL(fileURLWithPath: both))
        let server = try RegistryServer(certificate: both)
        try world.write(
            "home/.kube/config",
            """
            apiVersion: v1
            kind: Config
            current-context: c
            clusters: [{name: c, cluster: {server: "https://\(server.host)", insecure-skip-tls-verify: true}}]
            contexts: [{name: c, context: {cluster: c, user: u}}]
            users:
            - name: u
              user:
                exec:
                  apiVersion: client.authentication.k8s.io/v1
                  command: coffret
                  args: [credential, kubectl]
                  provideClusterInfo: true
                  interactiveMode: IfAvailable
            """)
        let ask = { try world.run("kubectl", ["get", "--raw", "/whoami"]) }
        try world.makeLogin("Dashboard", "ada", "https://\(server.host)", RegistryServer.token)
        let unknown = try ask()
        #expect(unknown.exitCode != 0 && unknown.errorText.contains("no token is for"), "\(unknown.errorText)")
        try world.makeToken("Cluster", "https://\(server.host)", RegistryServer.token)
        let known = try ask()
        #expect(known.exitCode == 0 && known.text.contains("grace"), "\(known.errorText)")
        // Without the cluster it is not known which token is meant.
        let blind = try world.runner.run("credential", "kubectl")
        #expect(blind.exitCode == 80 && blind.errorText.contains("provideClusterInfo"))
    }

    @Test(
        "a secret becomes a credential of systemd without lying on a disk",
        .enabled(if: RealPrograms.find("systemd-creds") != nil, "needs systemd-creds"))
    func systemd() throws {
        let world = try CredentialWorld()
        try world.makeLogin("Database", "ada", "https://db.example", "s3cret\u{E9}")
        // The key of no machine.
        let script = #"printf %s "$DB" | systemd-creds encrypt --with-key=tpm2-absent --name=db - x; "#
        func seal(_ item: String) throws -> ProcessResult {
            let reference = "DB=coffret://Personal/\(item)/password"
            let words = ["coffret", "run", "--no-masking", "--env", reference, "--", "sh", "-c"]
            return try world.run("env", words + [script + "systemd-creds decrypt --name=db x -"])
        }
        #expect(try seal("Missing").exitCode == 66)
        let file = world.runner.workPath + "/x"
        #expect(!FileManager.default.fileExists(atPath: file), "nothing is sealed")
        let opened = try seal("Database")
        #expect(opened.exitCode == 0 && opened.text == "s3cret\u{E9}", "\(opened.errorText)")
        #expect(try !String(contentsOfFile: file, encoding: .utf8).contains("s3cret"))
    }

    // MARK: Hidden items and tokens

    @Test("hidden, archived and removed items are given to no program")
    func hidden() throws {
        for words in [["note", "hide"], ["archive"], ["rm"]] {
            let world = try CredentialWorld()
            try world.makeLogin("Login", "ada", "https://a.example", "xylophone")
            try world.makeToken("Token", "https://b.example", "xylophone")
            for title in ["Login", "Token"] {
                let done = try world.runner.run(words + [title], input: [])
                #expect(done.exitCode == 0, "\(done.errorText)")
            }
            let cargo = #"{"v":1,"registry":{"index-url":"https://b.example"},"kind":"get"}"#
            let cluster = #"{"apiVersion":"v1","spec":{"cluster":{"server":"https://b.example"}}}"#
            for (program, input) in [
                (["docker", "get"], "a.example"), (["docker", "list"], ""), (["pip", "get", "a.example", "ada"], ""),
                (["cargo"], cargo), (["kubectl"], ""), (["aws", "Login"], ""),
            ] where program[0] != "aws" || words[0] == "note" {
                let result = try world.runner.run(
                    ["credential"] + program, input: Array(input.utf8), environment: ["KUBERNETES_EXEC_INFO": cluster])
                #expect(!(result.text + result.errorText).contains("xylophone"), "\(words) \(program)")
            }
        }
    }

    @Test(
        "with a token a program finds what lies within its limits, keeps there, and stands in the log",
        .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
    func tokens() throws {
        let world = try TokenTests.unlocked()
        defer { try? world.agent.stop() }
        let secret = try world.token("docker", "--allow", "write", "--tag", "docker-credential")
        let file = world.agent.runner.folder.file("home/token")
        try Data((secret + "\n").utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        try world.agent.succeed(
            "new", "--type", "login", "Mine", "--set", "username=ada", "--set", "url=https://reg.example", "--secret",
            "password", input: "xylophone")
        func docker(_ action: String, _ input: String, isLimited: Bool = true) throws -> ProcessResult {
            try world.agent.runner.run(
                ["credential", "docker", action] + (isLimited ? ["--token-file", file] : []), input: Array(input.utf8),
                environment: world.agent.environment())
        }
        #expect(try docker("get", "reg.example", isLimited: false).text.contains("xylophone"))
        #expect(try docker("get", "reg.example").text == "credentials not found in native keychain\n")
        let stored = try docker("store", #"{"ServerURL":"reg.example","Username":"bob","Secret":"new"}"#)
        #expect(stored.exitCode == 0, "\(stored.errorText)")
        #expect(try docker("get", "reg.example").text.contains("\"bob\""))
        #expect(try docker("list", "").text == "{\"reg.example\":\"bob\"}\n")
        #expect(try docker("erase", "reg.example").exitCode == 0)
        #expect(try docker("get", "reg.example").exitCode == 1)
        let aws = try world.agent.run("credential", "aws", "Mine", "--token-file", file)
        #expect(aws.exitCode == 66 && !aws.errorText.contains("xylophone"), "\(aws.errorText)")
        for (more, isFound) in [([], true), (["--token-file", file], false)] {
            let git = try world.agent.runner.run(
                ["git-credential", "get"] + more, input: Array("protocol=https\nhost=reg.example\n\n".utf8),
                environment: world.agent.environment())
            #expect(git.text.contains("xylophone") == isFound && git.exitCode == 0, "\(git.errorText)")
        }
        let log = try world.agent.succeed("agent", "log")
        #expect(log.contains("docker") && log.contains("login.match"), "\(log)")
        try world.agent.succeed("token", "rm", "docker")
        #expect(try docker("get", "reg.example").errorText.contains("token.invalid"))
        try world.agent.succeed("lock")
        #expect(try docker("get", "reg.example").exitCode == 86)
    }
}
