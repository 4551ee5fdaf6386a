// A small export of each program, with one item that has everything the program has. Invariant: the names and values are those of
// `ImportedTableTests`, and the shape is that of the program's own exports.

/// One export as files of a folder.
struct ImportedSample {
    /// The name of its format.
    let format: String
    /// The program, in the table.
    let program: String
    /// The file or folder that is imported.
    var place = "source"
    /// The title of the item with everything.
    var main = "Main"
    /// The contents by their paths; of a single file by its name.
    let files: [String: String]

    /// A table of one row for each item.
    static func table(_ format: String, _ program: String, main: String = "Main", _ rows: String...) -> ImportedSample {
        ImportedSample(
            format: format, program: program, place: "table.csv", main: main,
            files: ["table.csv": rows.joined(separator: "\n") + "\n"])
    }

    static func file(
        _ format: String, _ program: String, _ name: String, main: String = "Main", _ text: String
    ) -> ImportedSample {
        ImportedSample(format: format, program: program, place: name, main: main, files: [name: text])
    }

    private static let code = "otpauth://totp/Main:ada?secret=JBSWY3DPEHPK3PXP&issuer=Main"
    private static let (created, modified) = ("2020-01-02T03:04:05Z", "2021-01-02T03:04:05Z")
    private static let (createdSeconds, modifiedSeconds) = ("1577934245", "1609556645")

    static let all = passwords + tables + codes + notes

    // MARK: Password managers

    private static let passwords: [ImportedSample] = [
        .file(
            "bitwarden", "Bitwarden", "bitwarden.json",
            """
            {"encrypted":false,"folders":[{"id":"f","name":"Folder/Inner"}],"items":[
            {"id":"i1","folderId":"f","type":1,"name":"Main","notes":"words","creationDate":"\(created)",
             "revisionDate":"\(modified)","fields":[{"name":"Shelf","value":"left","type":0},{"name":"Door","value":"4711","type":1}],
             "passwordHistory":[{"lastUsedDate":"\(created)","password":"older"}],"odd":"odd value",
             "login":{"uris":[{"uri":"https://a.example"}],"username":"ada","password":"pw","totp":"JBSWY3DPEHPK3PXP",
             "fido2Credentials":[{"credentialId":"c","rpId":"a.example","keyValue":"k"}]}},
            {"id":"i2","type":2,"name":"Fav","favorite":true},{"id":"i3","type":2,"name":"Arch","archivedDate":"\(modified)"},
            {"id":"i4","type":2,"name":"Gone","deletedDate":"\(modified)"}]}
            """),
        ImportedSample(
            format: "1pux", program: "1Password (1PUX)",
            files: [
                "export.attributes": "{\"version\":3}", "files/DOC1__paper.txt": "paper",
                "export.data": """
                {"accounts":[{"attrs":{"name":"a"},"vaults":[{"attrs":{"name":"Folder"},"items":[
                {"uuid":"i1","categoryUuid":"001","createdAt":\(createdSeconds),"updatedAt":\(modifiedSeconds),"odd":"odd value",
                 "overview":{"title":"Main","url":"https://a.example","tags":["kitchen"]},
                 "details":{"notesPlain":"words","passwordHistory":[{"value":"older","time":\(createdSeconds)}],
                 "loginFields":[{"value":"ada","designation":"username"},{"value":"pw","designation":"password"}],
                 "sections":[{"title":"s","fields":[{"title":"Shelf","id":"1","value":{"string":"left"}},
                 {"title":"Door","id":"2","value":{"concealed":"4711"}},{"title":"c","id":"3","value":{"totp":"JBSWY3DPEHPK3PXP"}},
                 {"title":"Other","id":"4","value":{"reference":"i2"}},
                 {"title":"p","id":"5","value":{"file":{"fileName":"paper.txt","documentId":"DOC1"}}}]}]}},
                {"uuid":"i2","categoryUuid":"003","overview":{"title":"Other"}},
                {"uuid":"i3","categoryUuid":"003","favIndex":1,"overview":{"title":"Fav"}},
                {"uuid":"i4","categoryUuid":"003","state":"archived","overview":{"title":"Arch"}},
                {"uuid":"i5","categoryUuid":"003","trashed":true,"overview":{"title":"Gone"}}]},
                {"attrs":{"name":"Second"},"items":[]}]}]}
                """,
            ]),
        .file(
            "1pif", "1Password (1PIF)", "data.1pif",
            [
                #"{"uuid":"f1","typeName":"system.folder.Regular","title":"Folder"}"#,
                #"{"uuid":"f2","typeName":"system.folder.Regular","title":"Inner","folderUuid":"f1"}"#,
                #"{"uuid":"i1","keyID":"k","typeName":"webforms.WebForm","title":"Main","folderUuid":"f2","createdAt":\#(createdSeconds),"#
                    + #""updatedAt":\#(modifiedSeconds),"odd":"odd value","openContents":{"tags":["kitchen"]},"location":"https://a.example","#
                    + #""secureContents":{"notesPlain":"words","passwordHistory":[{"value":"older","time":\#(createdSeconds)}],"fields":["#
                    + #"{"value":"ada","designation":"username","type":"T"},{"value":"pw","designation":"password","type":"P"}],"#
                    + #""sections":[{"fields":[{"n":"x","t":"Shelf","k":"string","v":"left"},{"n":"y","t":"Door","k":"concealed","v":"4711"},"#
                    + #"{"n":"TOTP_1","t":"c","k":"concealed","v":"JBSWY3DPEHPK3PXP"}]}]}}"#,
                #"{"uuid":"i2","typeName":"securenotes.SecureNote","title":"Fav","openContents":{"faveIndex":1}}"#,
                #"{"uuid":"i3","typeName":"securenotes.SecureNote","title":"Gone","trashed":true}"#,
            ].joined(separator: "\n***5642bee8-a5ff-11dc-8314-0800200c9a66***\n")),
        .file(
            "keepass-xml", "KeePass (KDBX, XML)", "keepass.xml",
            """
            <?xml version="1.0" encoding="utf-8"?><KeePassFile><Meta><DatabaseName>D</DatabaseName>
            <RecycleBinUUID>QklOQklOQklOQklOQklOQg==</RecycleBinUUID><Binaries><Binary ID="0">cGFwZXI=</Binary></Binaries></Meta>
            <Root><Group><UUID>AAAAAAAAAAAAAAAAAAAAAA==</UUID><Name>Root</Name>
            <Group><UUID>BQEBAQEBAQEBAQEBAQEBAQ==</UUID><Name>Folder</Name><Group><UUID>BgEBAQEBAQEBAQEBAQEBAQ==</UUID><Name>Inner</Name>
            <Entry><UUID>AQEBAQEBAQEBAQEBAQEBAQ==</UUID><Tags>kitchen</Tags><Times><CreationTime>\(created)</CreationTime>
             <LastModificationTime>\(modified)</LastModificationTime></Times>
             <String><Key>Title</Key><Value>Main</Value></String><String><Key>UserName</Key><Value>ada</Value></String>
             <String><Key>Password</Key><Value ProtectInMemory="True">pw</Value></String>
             <String><Key>URL</Key><Value>https://a.example</Value></String><String><Key>Notes</Key><Value>words</Value></String>
             <String><Key>otp</Key><Value>otpauth://totp/x?secret=JBSWY3DPEHPK3PXP</Value></String>
             <String><Key>Shelf</Key><Value>left</Value></String>
             <String><Key>Door</Key><Value ProtectInMemory="True">4711</Value></String>
             <String><Key>KPEX_PASSKEY_RELYING_PARTY</Key><Value>a.example</Value></String>
             <Binary><Key>paper.txt</Key><Value Ref="0"/></Binary>
             <CustomData><Item><Key>odd</Key><Value>odd value</Value></Item></CustomData>
             <History><Entry><UUID>AQEBAQEBAQEBAQEBAQEBAQ==</UUID><Times><LastModificationTime>\(created)</LastModificationTime></Times>
              <String><Key>Title</Key><Value>Main</Value></String>
              <String><Key>Password</Key><Value ProtectInMemory="True">older</Value></String></Entry></History></Entry></Group></Group>
            <Group><UUID>QklOQklOQklOQklOQklOQg==</UUID><Name>Recycle Bin</Name>
             <Entry><UUID>AwEBAQEBAQEBAQEBAQEBAQ==</UUID><String><Key>Title</Key><Value>Gone</Value></String></Entry></Group>
            </Group></Root></KeePassFile>
            """),
        ImportedSample(
            format: "proton-pass", program: "Proton Pass",
            files: [
                "Proton Pass/files/paper.txt": "paper",
                "Proton Pass/data.json": """
                {"version":"1","userId":"u","vaults":{"a":{"name":"Folder","items":[
                {"itemId":"i1","state":1,"createTime":\(createdSeconds),"modifyTime":\(modifiedSeconds),"files":["paper.txt"],"odd":"odd value",
                 "data":{"type":"login","metadata":{"name":"Main","note":"words"},"extraFields":[
                 {"fieldName":"Shelf","type":"text","data":{"content":"left"}},{"fieldName":"Door","type":"hidden","data":{"content":"4711"}}],
                 "content":{"itemUsername":"ada","password":"pw","urls":["https://a.example"],"totpUri":"JBSWY3DPEHPK3PXP",
                 "passkeys":[{"keyId":"k","rpId":"a.example","content":"c"}]}}},
                {"itemId":"i2","state":1,"pinned":true,"data":{"type":"note","metadata":{"name":"Fav"}}},
                {"itemId":"i3","state":2,"data":{"type":"note","metadata":{"name":"Gone"}}}]},"b":{"name":"Second","items":[]}}}
                """,
            ]),
        .file(
            "dashlane-json", "Dashlane (JSON)", "dashlane.json",
            """
            {"AUTHENTIFIANT":[{"id":"1","title":"Main","login":"ada","password":"pw","domain":"https://a.example","note":"words",
            "otpSecret":"JBSWY3DPEHPK3PXP","category":"Folder/Inner","odd":"odd value"}]}
            """),
        ImportedSample(
            format: "pass", program: "pass",
            files: [
                "Folder/Inner/Main.gpg":
                    "pw\nuser: ada\nurl: https://a.example\nShelf: left\nDoor PIN: 4711\n\(code)\n\nwords\n",
                "Folder/Inner/paper.txt.gpg": "paper\u{0}",
            ]),
    ]

    // MARK: Tables

    private static let tables: [ImportedSample] = [
        .table(
            "bitwarden-csv", "Bitwarden (CSV)",
            "folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password,login_totp,archivedDate,odd",
            "Folder/Inner,,login,Main,words,Shelf: left,0,https://a.example,ada,pw,JBSWY3DPEHPK3PXP,,odd value",
            ",1,note,Fav,,,0,,,,,,", ",,note,Arch,,,0,,,,,\(modified),"),
        .table(
            "1password-csv", "1Password (CSV)", "Title,Url,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes,odd",
            "Main,https://a.example,ada,pw,\(code),false,false,kitchen,words,odd value", "Fav,,,,,true,false,,,",
            "Arch,,,,,false,true,,,"),
        .table(
            "lastpass", "LastPass (CSV)", "url,username,password,totp,extra,name,grouping,fav,odd",
            "https://a.example,ada,pw,JBSWY3DPEHPK3PXP,words,Main,Folder\\Inner,0,odd value",
            "https://b.example,,,,,Fav,,1,"),
        .table(
            "nordpass", "NordPass (CSV)",
            "name,url,username,password,note,cardholdername,cardnumber,folder,type,custom_fields,odd",
            "Main,https://a.example,ada,pw,words,,,Folder,password,"
                + "\"[{\"\"type\"\":\"\"text\"\",\"\"label\"\":\"\"Shelf\"\",\"\"value\"\":\"\"left\"\"},"
                + "{\"\"type\"\":\"\"hidden\"\",\"\"label\"\":\"\"Door\"\",\"\"value\"\":\"\"4711\"\"}]\",odd value"),
        .table(
            "dashlane", "Dashlane (CSV)", "username,username2,username3,title,password,note,url,category,otpSecret,odd",
            "ada,,,Main,pw,words,https://a.example,Folder,JBSWY3DPEHPK3PXP,odd value"),
        .table(
            "keepassxc-csv", "KeePassXC (CSV)",
            "Group,Title,Username,Password,URL,Notes,TOTP,Icon,Last Modified,Created,odd",
            "Root/Folder/Inner,Main,ada,pw,https://a.example,words,\(code),0,\(modified),\(created),odd value"),
        .table(
            "keepassx-csv", "KeePassX (CSV)", "Group,Title,Username,Password,URL,Notes,odd",
            "Root/Folder/Inner,Main,ada,pw,https://a.example,words,odd value"),
        .table(
            "keepass-csv", "KeePass 1 (CSV)", "Account,Login Name,Password,Web Site,Comments,odd",
            "Main,ada,pw,https://a.example,words,odd value"),
        .table(
            "strongbox", "Strongbox (CSV)", "Title,Username,Email,Password,URL,OTPAuth,Notes,odd",
            "Main,ada,a@b.example,pw,https://a.example,\(code),words,odd value"),
        .table(
            "apple-passwords", "Apple Passwords (CSV)", "Title,URL,Username,Password,Notes,OTPAuth,odd",
            "Main,https://a.example,ada,pw,words,\(code),odd value"),
        .table(
            "firefox", "Firefox (CSV)", main: "a.example",
            "url,username,password,httpRealm,formActionOrigin,guid,timeCreated,timeLastUsed,timePasswordChanged,odd",
            "https://a.example,ada,pw,,,{1},\(createdSeconds)000,\(modifiedSeconds)000,\(modifiedSeconds)000,odd value"),
        .table(
            "browser", "Chrome, Edge (CSV)", "name,url,username,password,note,odd",
            "Main,https://a.example,ada,pw,words,odd value"),
    ]

    // MARK: One-time codes

    private static let codes: [ImportedSample] = [
        .file("otpauth", "otpauth list", "codes.txt", code + "\n"),
        .file(
            "google-authenticator", "Google Authenticator", "google.txt", main: "pi@raspberrypi",
            "otpauth-migration://offline?data=CigKEPqlBekzoNEukL7qlsjBCDYSDnBpQHJhc3BiZXJyeXBpIAEoATACEAEYASAAKLzjp5n4%2F%2F%2F%2F%2FwE%3D\n"
        ),
        .file(
            "aegis", "Aegis", "aegis.json",
            """
            {"version":1,"header":{"slots":null,"params":null},"db":{"version":3,"groups":[{"uuid":"g","name":"Folder"}],"entries":[
            {"type":"totp","uuid":"1","name":"ada","issuer":"Main","note":"words","groups":["g"],"odd":"odd value",
             "info":{"secret":"JBSWY3DPEHPK3PXP","algo":"SHA1","digits":6,"period":30}},
            {"type":"totp","uuid":"2","name":"a","issuer":"Fav","favorite":true,"info":{"secret":"JBSWY3DPEHPK3PXP"}}]}}
            """),
        .file(
            "2fas", "2FAS", "codes.2fas",
            """
            {"schemaVersion":4,"groups":[{"id":"g","name":"Folder"}],"services":[{"name":"Main","secret":"JBSWY3DPEHPK3PXP","groupId":"g",
            "updatedAt":\(modifiedSeconds)000,"odd":"odd value","otp":{"account":"ada","issuer":"Main","digits":6,"tokenType":"TOTP"}}]}
            """),
        .file(
            "andotp", "andOTP", "andotp.json",
            """
            [{"secret":"JBSWY3DPEHPK3PXP","issuer":"Main","label":"ada","digits":6,"type":"TOTP","algorithm":"SHA1","period":30,
            "tags":["kitchen"],"odd":"odd value"}]
            """),
        .file(
            "proton-authenticator", "Proton Authenticator", "proton.json",
            """
            {"version":1,"entries":[{"id":"1","note":"words","content":{"uri":"\(code)","entry_type":"Totp","name":"ada"}}]}
            """),
    ]

    // MARK: Notes

    private static let notes: [ImportedSample] = [
        ImportedSample(
            format: "bear", program: "Bear", place: "notes.bear2bk",
            files: [
                "Main.textbundle/text.md":
                    "# Main\n\nwords #kitchen #Folder/Inner [x](bear://x-callback-url/open-note?id=O)\n"
                    + "![](assets/paper.txt)\n- [x] done\n",
                "Main.textbundle/assets/paper.txt": "paper",
                "Main.textbundle/info.json": bear("M", "\"odd\":\"odd value\""),
                "Other.textbundle/text.md": "# Other\n", "Other.textbundle/info.json": bear("O"),
                "Fav.textbundle/text.md": "# Fav\n", "Fav.textbundle/info.json": bear("F", "\"pinned\":1"),
                "Arch.textbundle/text.md": "# Arch\n", "Arch.textbundle/info.json": bear("A", "\"archived\":1"),
                "Gone.textbundle/text.md": "# Gone\n", "Gone.textbundle/info.json": bear("G", "\"trashed\":1"),
            ]),
        ImportedSample(
            format: "textbundle", program: "TextBundle",
            files: [
                "Folder/Inner/Main.textbundle/text.md":
                    "# Main\n\nwords #kitchen [[Other]]\n![](assets/paper.txt)\n- [x] done\n",
                "Folder/Inner/Main.textbundle/assets/paper.txt": "paper",
                "Folder/Inner/Main.textbundle/info.json": "{\"version\":2,\"odd\":\"odd value\"}",
                "Other.textbundle/text.md": "# Other\n", "Other.textbundle/info.json": "{\"version\":2}",
            ]),
        ImportedSample(
            format: "joplin", program: "Joplin",
            files: [
                "\(id(1)).md": joplin(
                    "Main", "words [x](:/\(id(2))) ![](:/\(id(5)))\n- [x] done", 1, parent: 4, 1,
                    more: "\nsource_url: odd value\nuser_created_time: \(created)\nuser_updated_time: \(modified)"),
                "\(id(2)).md": joplin("Other", "", 2, parent: 4, 1), "\(id(3)).md": joplin("Folder", nil, 3, 2),
                "\(id(4)).md": joplin("Inner", nil, 4, parent: 3, 2), "\(id(5)).md": joplin("paper.txt", nil, 5, 4),
                "\(id(6)).md": joplin("kitchen", nil, 6, 5),
                "\(id(7)).md": "id: \(id(7))\nnote_id: \(id(1))\ntag_id: \(id(6))\ntype_: 6",
                "\(id(8)).md": joplin("Gone", "", 8, parent: 4, 1, more: "\ndeleted_time: \(modifiedSeconds)000"),
                "resources/\(id(5)).txt": "paper",
            ]),
        .file(
            "enex", "Evernote", "notes.enex",
            """
            <?xml version="1.0"?><en-export><note><title>Main</title><created>20200102T030405Z</created><updated>20210102T030405Z</updated>
            <tag>kitchen</tag><note-attributes><author>odd value</author></note-attributes>
            <content><![CDATA[<en-note><div>words</div><div><en-todo checked="true"/>done</div>
            <a href="evernote:///view/1/s1/a/a/">Other</a><en-media type="text/plain" hash="4ee3679892e6ac5a5b513eba7fd529d4"/></en-note>]]></content>
            <resource><data encoding="base64">cGFwZXI=</data><mime>text/plain</mime>
            <resource-attributes><file-name>paper.txt</file-name></resource-attributes></resource></note>
            <note><title>Other</title><content><![CDATA[<en-note>o</en-note>]]></content></note></en-export>
            """),
        .file(
            "standard-notes", "Standard Notes", "notes.txt",
            """
            {"version":"004","items":[{"content_type":"Note","uuid":"1","created_at":"\(created)","updated_at":"\(modified)","odd":"odd value",
            "content":{"title":"Main","text":"words\\n- [x] done","references":[{"uuid":"2","content_type":"Note"}]}},
            {"content_type":"Note","uuid":"2","content":{"title":"Other","text":"","references":[]}},
            {"content_type":"Note","uuid":"3","content":{"title":"Fav","text":"","references":[],"appData":{"org.standardnotes.sn":{"pinned":true}}}},
            {"content_type":"Note","uuid":"4","content":{"title":"Arch","text":"","references":[],"appData":{"org.standardnotes.sn":{"archived":true}}}},
            {"content_type":"Note","uuid":"5","content":{"title":"Gone","text":"","references":[],"trashed":true}},
            {"content_type":"Tag","uuid":"6","content":{"title":"Folder","references":[]}},
            {"content_type":"Tag","uuid":"7","content":{"title":"Inner","references":[{"uuid":"1","content_type":"Note"},
            {"uuid":"6","content_type":"Tag","reference_type":"TagToParentTag"}]}},
            {"content_type":"Tag","uuid":"8","content":{"title":"kitchen","references":[{"uuid":"1","content_type":"Note"}]}}]}
            """),
        .file(
            "notesnook", "Notesnook", "notes.nnbackup",
            """
            {"version":5.8,"type":"web","date":1,"data":[{"id":"1","type":"note","title":"Main","contentId":"c","odd":"odd value",
            "dateCreated":\(createdSeconds)000,"dateEdited":\(modifiedSeconds)000,"tags":["kitchen"],"notebooks":[{"id":"b","topics":["t"]}]},
            {"id":"c","type":"tiptap","data":"<p>words <a href='nn://note/2'>x</a></p><ul class='checklist'><li class='checked'>done</li></ul>"},
            {"id":"b","type":"notebook","title":"Folder","topics":[{"id":"t","title":"Inner"}]},{"id":"2","type":"note","title":"Other"},
            {"id":"3","type":"note","title":"Fav","pinned":true},{"id":"4","type":"note","title":"Arch","archived":true},
            {"id":"5","type":"trash","itemType":"note","title":"Gone"}]}
            """),
        ImportedSample(
            format: "google-keep", program: "Google Keep",
            files: [
                "Takeout/Keep/paper.txt": "paper",
                "Takeout/Keep/Main.json": keep(
                    "Main",
                    "\"labels\":[{\"name\":\"kitchen\"}],\"attachments\":[{\"filePath\":\"paper.txt\"}],\"odd\":\"odd value\",\"textContent\":\"words\","
                        + "\"createdTimestampUsec\":\(createdSeconds)000000,\"userEditedTimestampUsec\":\(modifiedSeconds)000000"
                ),
                "Takeout/Keep/List.json": keep("List", "\"listContent\":[{\"text\":\"done\",\"isChecked\":true}]"),
                "Takeout/Keep/Fav.json": keep("Fav", "\"textContent\":\"f\"", pinned: true),
                "Takeout/Keep/Arch.json": keep("Arch", "\"textContent\":\"a\"", archived: true),
                "Takeout/Keep/Gone.json": keep("Gone", "\"textContent\":\"g\"", trashed: true),
            ]),
        .file(
            "simplenote", "Simplenote", "notes.json",
            """
            {"activeNotes":[{"id":"1","content":"Main\\nwords\\n- [x] done","creationDate":"\(created)","lastModified":"\(modified)",
            "tags":["kitchen"],"odd":"odd value"},{"id":"2","content":"Fav","pinned":true}],"trashedNotes":[{"id":"3","content":"Gone"}]}
            """),
        ImportedSample(
            format: "html", program: "HTML (Apple Notes)",
            files: [
                "Folder/Inner/Main.html": "<html><head><title>Main</title><meta name=keywords content=kitchen>"
                    + "<meta name=odd content='odd value'><meta name=created content=\(created)><meta name=modified content=\(modified)></head>"
                    + "<body><p>words <a href='../../Other.html'>x</a> <a href='paper.txt'>p</a></p>"
                    + "<ul><li><input type=checkbox checked>done</li></ul></body></html>",
                "Folder/Inner/paper.txt": "paper", "Other.html": "<title>Other</title><p>o</p>",
            ]),
        ImportedSample(
            format: "markdown", program: "Markdown (Obsidian, Logseq)",
            files: [
                "Folder/Inner/Main.md":
                    "---\ncreated: \(created)\nupdated: \(modified)\nodd: odd value\n---\n# Main\n\nwords #kitchen [[Other]]\n"
                    + "![[paper.txt]]\n- [x] done\n",
                "paper.txt": "paper", "Other.md": "# Other\n", "Fav.md": "---\npinned: true\n---\n# Fav\n",
                "Arch.md": "---\narchived: true\n---\n# Arch\n",
            ]),
    ]

    private static func bear(_ id: String, _ more: String...) -> String {
        let members =
            [
                "\"uniqueIdentifier\":\"\(id)\"", "\"creationDate\":\"\(created)\"",
                "\"modificationDate\":\"\(modified)\"",
            ] + more
        return "{\"version\":2,\"net.shinyfrog.bear\":{\(members.joined(separator: ","))}}"
    }

    /// An id of Joplin.
    private static func id(_ number: Int) -> String { String(repeating: "0", count: 31) + String(number) }

    private static func joplin(
        _ title: String, _ body: String?, _ number: Int, parent: Int? = nil, _ type: Int, more: String = ""
    ) -> String {
        title + "\n\n" + (body.map { $0 + "\n\n" } ?? "")
            + "id: \(id(number))\nparent_id: \(parent.map(id) ?? "")\(more)\ntype_: \(type)"
    }

    private static func keep(
        _ title: String, _ more: String, pinned: Bool = false, archived: Bool = false, trashed: Bool = false
    ) -> String {
        "{\"isTrashed\":\(trashed),\"isPinned\":\(pinned),\"isArchived\":\(archived),\"title\":\"\(title)\",\(more)}"
    }
}
