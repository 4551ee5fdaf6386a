// `coffret import` against what people really have: files of the same name from several places, and backups of
// other programs.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Imports harm nobody")
struct ImportTests {
    let runner: CoffretRunner

    init() throws {
        runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
    }

    private func write(_ text: String, to path: String) throws {
        let url = URL(fileURLWithPath: runner.folder.file("work/" + path))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    @Test("R118, formats 4.1: a second README.md from elsewhere replaces nothing, nor does a folder of the same name")
    func sameName() throws {
        try write("# Garden plan\n", to: "a/README.md")
        try write("# Tax return\n", to: "b/README.md")
        for place in ["a", "b"] {
            let text = try runner.succeed("import", place + "/README.md")
            #expect(text.contains("Imported 1 item."), "\(text)")
        }
        let titles = try runner.succeed("ls")
        #expect(titles.contains("Garden plan") && titles.contains("Tax return"))

        for (place, text) in [("c", "one"), ("d", "other")] {
            for name in ["index.md", "todo.md", "done.md"] {
                try write("# \(name) \(text)\n", to: "\(place)/x/\(name)")
            }
        }
        try runner.succeed("import", "c/x")
        #expect(try runner.json("import", "d/x")["imported"] as? Int == 3)
        // The first place may even be gone: no content agrees, so it is another source.
        try FileManager.default.removeItem(atPath: runner.folder.file("work/a"))
        try write("# Third\n", to: "e/README.md")
        #expect(try runner.json("import", "e/README.md")["updated"] as? Int == 0)
        #expect(try runner.succeed("ls").contains("Garden plan"))
    }

    @Test("formats 4.1: another archive unpacked at the same place replaces nothing; an edited file there is an update")
    func samePlace() throws {
        for name in ["index.md", "todo.md", "done.md"] { try write("# first \(name)\n", to: "export/\(name)") }
        try runner.succeed("import", "export")
        try write("# first index.md, edited\n", to: "export/index.md")
        #expect(try runner.json("import", "export")["updated"] as? Int == 1)
        for name in ["index.md", "todo.md", "done.md"] { try write("# second \(name)\n", to: "export/\(name)") }
        let report = try runner.json("import", "export")
        #expect(report["updated"] as? Int == 0 && report["imported"] as? Int == 3)
        #expect(try runner.succeed("ls").contains("first todo.md"))
    }

    @Test("formats 4.2: backups of other programs come in as what they are, or are refused by their name")
    func backupsByName() throws {
        let script = """
            import os, sys, zipfile, json, io, tarfile
            os.chdir(sys.argv[1])
            z = zipfile.ZipFile('b.bear2bk', 'w')
            z.writestr('Notes.bear2bk/One.textbundle/text.md', '# One\\n')
            z.writestr('Notes.bear2bk/One.textbundle/info.json', json.dumps({'version': 2, 'net.shinyfrog.bear': {
                'uniqueIdentifier': 'X', 'trashed': 1, 'creationDate': '2020-01-02T03:04:05Z'}}))
            z.close()
            t = tarfile.open('j.jex', 'w')
            for k in range(3):
                data = b'Title %d\\n\\nsee [it](:/%032x)\\n\\nid: %032x\\ntype_: 1' % (k, 1, k)
                info = tarfile.TarInfo('%032x.md' % k); info.size = len(data)
                t.addfile(info, io.BytesIO(data))
            t.close()
            open('v.kdb', 'wb').write(bytes.fromhex('03d9a29a65fb4bb5') + bytes(100))
            open('cut.enex', 'w').write('<?xml version="1.0"?><en-export><note><title>a')
            """
        let python = try ProcessRunner.run("/usr/bin/python3", ["-c", script, runner.folder.file("work")])
        #expect(python.exitCode == 0, "\(python.errorText)")
        for (file, code) in [("v.kdb", "a database of KeePass 1"), ("cut.enex", "import.format.truncated")] {
            let result = try runner.run(["import", file], input: [])
            #expect(result.exitCode != 0 && result.errorText.contains(code), "\(file): \(result.errorText)")
        }
        #expect(try runner.json("ls")["items"] as? [String] == [])
        #expect(try runner.succeed("import", "b.bear2bk").contains("Imported 1 item"))
        #expect(try runner.succeed("import", "j.jex").contains("Imported 3 items"))
        #expect(try runner.succeed("ls", "--trash").contains("One"))
        #expect(try runner.succeed("link", "Title 0").contains("Title 1"))
        #expect(try runner.succeed("import", "j.jex").contains("Nothing new"))
        #expect(try runner.succeed("help", "import").contains("a Bear backup"))
    }

    @Test("formats 5: links resolve as in the program that wrote them; what leads nowhere or is hidden is said")
    func links() throws {
        try write("# Deep\n", to: "v/sub/att/C.md")
        try write("# Tool\n", to: "v/pages/Whiteboard___Tool.md")
        try write("---\naliases: [Second name, Third]\n---\n# Named\n", to: "v/named.md")
        try write("alias:: logseq page\n\n# Logseq\n", to: "v/logseq.md")
        try write("x", to: "v/img/pic.png")
        try write("hidden", to: "v/.obsidian/app.json")
        try write(
            """
            # Hub
            [[att/C]] [[att/C|again]] [[Whiteboard/Tool]] [[second name]] [[Logseq Page]] [root](/sub/att/C.md)
            | a | b |
            | --- | --- |
            | ![[pic.png\\|100]] | [[Third\\|x]] |
            [[Nowhere]]

            """, to: "v/deep/Hub.md")
        let text = try runner.succeed("import", "v")
        #expect(text.contains("1 link without a target"), "\(text)")
        #expect(text.contains("Left out by rule: 1 hidden file or folder."), "\(text)")
        let links = try runner.succeed("link", "Hub")
        for title in ["Deep", "Tool", "Named", "logseq"] {
            #expect(links.split(separator: "\n").count { $0.contains(title) } == 1, "\(title): \(links)")
        }
        #expect(links.contains("nothing named \"Nowhere\""))
        #expect(!links.contains("pic.png"))
        #expect(try runner.succeed("link", "Deep").contains("Hub"))
        #expect(try runner.succeed("attach", "ls", "Hub").contains("pic.png"))
        #expect(try runner.succeed("import", "v").contains("Nothing new"))
    }

    @Test("a protected export is opened with a password from a descriptor, reported item by item, and refused without")
    func protectedExport() throws {
        let script = """
            import sys, json, base64, hashlib, hmac, os
            os.chdir(sys.argv[1])
            inner = {'encrypted': False, 'folders': [{'id': 'f', 'name': 'Home'}], 'items': [
              {'id': 'i', 'type': 1, 'name': 'Shop', 'folderId': 'f', 'novelty': 'kept',
               'login': {'username': 'ada', 'password': 'pw', 'uris': []}}]}
            open('plain.json', 'w').write(json.dumps(inner))
            from subprocess import run
            salt, words = 'c2FsdA==', b'open sesame'
            key = hashlib.pbkdf2_hmac('sha256', words, salt.encode(), 5000)
            expand = lambda info: hmac.new(key, info + bytes([1]), 'sha256').digest()
            enc, mac = expand(b'enc'), expand(b'mac')
            def seal(data):
                iv = os.urandom(16)
                data = run(['openssl', 'enc', '-aes-256-cbc', '-K', enc.hex(), '-iv', iv.hex()], input=data,
                           capture_output=True, check=True).stdout
                code = hmac.new(mac, iv + data, 'sha256').digest()
                return '2.' + '|'.join(base64.b64encode(part).decode() for part in (iv, data, code))
            open('sealed.json', 'w').write(json.dumps({'encrypted': True, 'passwordProtected': True, 'salt': salt,
              'kdfType': 0, 'kdfIterations': 5000, 'kdfMemory': None, 'kdfParallelism': None,
              'encKeyValidation_DO_NOT_EDIT': seal(b'check'), 'data': seal(json.dumps(inner).encode())}))
            """
        let python = try ProcessRunner.run("/usr/bin/python3", ["-c", script, runner.folder.file("work")])
        #expect(python.exitCode == 0, "\(python.errorText)")
        let command = ["import", "sealed.json", "--source-password-fd", "0"]
        let wrong = try runner.run(command, input: Array("open barley\n".utf8))
        #expect(wrong.exitCode == 84 && wrong.errorText.contains("import.source.password-wrong"), "\(wrong.errorText)")
        let unasked = try runner.run(["import", "sealed.json"], input: [])
        #expect(unasked.exitCode == 69 && unasked.errorText.contains("--source-password-fd"), "\(unasked.errorText)")
        #expect(try runner.json("ls")["items"] as? [String] == [])
        let trial = try runner.run(command + ["--dry-run"], input: Array("open sesame\n".utf8))
        #expect(trial.exitCode == 0 && trial.text.contains("Would import 1 item, 1 tag."), "\(trial.text)")
        #expect(try runner.json("ls")["items"] as? [String] == [])
        let done = try runner.run(command + ["--json", "--report"], input: Array("open sesame\n".utf8))
        let last = try #require(done.text.split(separator: "\n").last)
        let report = try #require(JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any])
        #expect(report["format"] as? String == "bitwarden" && report["dropped"] as? Int == 0)
        let line = try #require((report["perItem"] as? [[String: Any]])?.first)
        #expect(line["name"] as? String == "Shop" && line["raw"] as? [String] == ["novelty"])
        #expect(try runner.succeed("read", "coffret://Personal/Shop/password").contains("pw"))
        let again = try runner.run(command, input: Array("open sesame\n".utf8))
        #expect(again.text.contains("Nothing new"), "\(again.text)")

        // The export asks first; without an answer it writes nothing.
        let unanswered = try runner.run(["export", "--format", "bitwarden", "out.json"], input: [])
        #expect(unanswered.exitCode != 0 && unanswered.errorText.contains("unencrypted"), "\(unanswered.errorText)")
        #expect(!FileManager.default.fileExists(atPath: runner.folder.file("work/out.json")))
        #expect(try runner.succeed("export", "--format", "bitwarden", "out.json", "--yes").contains("1 other item"))
        let out = try Data(contentsOf: URL(fileURLWithPath: runner.folder.file("work/out.json")))
        let list = try #require(JSONSerialization.jsonObject(with: out) as? [String: Any])
        let login = try #require((list["items"] as? [[String: Any]])?.first?["login"] as? [String: Any])
        #expect(login["username"] as? String == "ada" && login["password"] as? String == "pw")
    }

    private static let hasGPG = FileManager.default.isExecutableFile(atPath: "/usr/bin/gpg")

    @Test("a password store comes in through gpg, and not without its key", .enabled(if: hasGPG, "needs gpg"))
    func passwordStore() throws {
        let home = runner.folder.file("gnupg")
        let script = """
            set -e
            mkdir -m 700 "$GNUPGHOME"; cd "$1"; mkdir -p store/Mail/Work
            gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key test@example.org rsa2048 encr never
            seal() { gpg --batch --quiet --trust-model always -r test@example.org -e -o "$1"; }
            printf 'first line\\nuser: ada\\nurl: https://a.example\\nPIN: 4711\\n\\nfree words\\n' | seal store/Mail/Work/site.gpg
            printf 'lone' | seal store/lone.gpg
            printf 'test@example.org' > store/.gpg-id
            """
        let variables = ["GNUPGHOME": home, "PATH": "/usr/bin:/bin"]
        let made = try ProcessRunner.run(
            "/bin/sh", ["-c", script, "sh", runner.folder.file("work")], environment: variables)
        defer { _ = try? ProcessRunner.run("/usr/bin/gpgconf", ["--kill", "all"], environment: variables) }
        #expect(made.exitCode == 0, "\(made.errorText)")
        let done = try runner.run(["import", "store"], input: [], environment: ["GNUPGHOME": home])
        #expect(done.exitCode == 0 && done.text.contains("Imported 2 items"), "\(done.text)\(done.errorText)")
        #expect(try runner.succeed("read", "coffret://Personal/site/password").contains("first line"))
        let shown = try runner.succeed("show", "site")
        #expect(shown.contains("free words") && !shown.contains("4711"), "\(shown)")
        #expect(try runner.succeed("show", "site", "--json").contains("Mail/Work"))
        let again = try runner.run(["import", "store"], input: [], environment: ["GNUPGHOME": home])
        #expect(again.text.contains("Nothing new"), "\(again.text)")
        let foreign = try runner.run(["import", "store"], input: [], environment: ["GNUPGHOME": home + "-none"])
        #expect(foreign.exitCode == 84, "\(foreign.errorText)")
    }

    @Test(
        "a Proton Pass export under OpenPGP comes in through gpg, and not without its key",
        .enabled(if: hasGPG, "needs gpg"))
    func protonPass() throws {
        let home = runner.folder.file("gnupg")
        let script = """
            set -e
            mkdir -m 700 "$GNUPGHOME"; cd "$1"; mkdir -p "export/Proton Pass"
            gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key test@example.org rsa2048 encr never
            gpg --batch --quiet --trust-model always -r test@example.org --armor -e -o "export/Proton Pass/data.pgp"
            """
        let data = """
            {"version": "1.33.3", "userId": "u1", "encrypted": true, "vaults": {"v1": {"name": "Own", "items": [{
            "itemId": "i1", "shareId": "s1", "state": 1, "pinned": false, "createTime": 1600000000, "modifyTime": 1600000001,
            "data": {"type": "login", "metadata": {"name": "Shop", "note": "by the harbour"}, "extraFields": [],
            "content": {"itemUsername": "ada", "password": "hush", "urls": ["https://shop.example"], "totpUri": ""}}}]}}}
            """
        let variables = ["GNUPGHOME": home, "PATH": "/usr/bin:/bin"]
        let made = try ProcessRunner.run(
            "/bin/sh", ["-c", script, "sh", runner.folder.file("work")], input: Array(data.utf8),
            environment: variables)
        defer { _ = try? ProcessRunner.run("/usr/bin/gpgconf", ["--kill", "all"], environment: variables) }
        #expect(made.exitCode == 0, "\(made.errorText)")
        let foreign = try runner.run(["import", "export"], input: [], environment: ["GNUPGHOME": home + "-none"])
        #expect(foreign.exitCode == 84, "\(foreign.text)\(foreign.errorText)")
        let done = try runner.run(["import", "export"], input: [], environment: ["GNUPGHOME": home])
        #expect(done.exitCode == 0 && done.text.contains("Imported 1 item"), "\(done.text)\(done.errorText)")
        #expect(try runner.succeed("read", "coffret://Personal/Shop/password").contains("hush"))
        let again = try runner.run(["import", "export"], input: [], environment: ["GNUPGHOME": home])
        #expect(again.text.contains("Nothing new"), "\(again.text)")
    }

    static let recognised = [
        "bear", "bitwarden", "1password", "keepass", "lastpass", "dashlane", "evernote", "firefox", "chrome",
        "standardnotes", "simplenote", "protonpass", "notesnook", "apple-passwords", "googlekeep",
    ]

    @Test(
        "no real backup of another program passes as Markdown, and each names its program",
        .enabled(if: SharedData.isAvailable), arguments: recognised)
    func realBackups(_ program: String) throws {
        let root = try #require(SharedData.root).appendingPathComponent("data/imports/\(program)")
        for file in FileManager.default.enumerator(atPath: root.path)?.compactMap({ $0 as? String }) ?? [] {
            let path = root.appendingPathComponent(file).path
            guard try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType == .typeRegular
            else { continue }
            let result = try runner.run(["import", path, "--dry-run", "--json"], input: [])
            guard result.exitCode == 0 else {
                // Not read yet, damaged, or under a password that nobody is there to give.
                #expect([69, 81].contains(result.exitCode), "\(file): \(result.text)")
                continue
            }
            #expect(
                result.text.contains("\"format\"") && !result.text.contains("\"markdown\""), "\(file): \(result.text)")
        }
    }
}
