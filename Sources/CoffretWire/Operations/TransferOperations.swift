// Requests that bring a store's contents in and out. Folders and files are descriptors that the client opened: what it may not
// open itself, it cannot have read or written for it.

package struct ImportRun: StoreOperation {
    package static let name = "import.run"
    package static let access = OperationAccess.write
    package static let meaning =
        "Brings in a folder, an archive or a file: the request brings its descriptor, then those of the keys that it "
        + "names. All of it is one commit; a second time only what is new or has changed comes in. It asks for the "
        + "password of a protected export, has the client open files under OpenPGP, and reports progress."

    package var vault: String?
    package var format: String?
    package var isDryRun: Bool?
    package var listsItems: Bool?
    package var bringsKeyFile: Bool?
    package var bringsConstants: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .vaultOrDefault(\.vault),
        RecordField("format", \.format, "the name of a format; without it the content tells"),
        RecordField("isDryRun", \.isDryRun, "says what would come in, and changes nothing"),
        RecordField("listsItems", \.listsItems, "lists what became of each item, the first 100,000"),
        RecordField("bringsKeyFile", \.bringsKeyFile, "the next descriptor is the key file of a KeePass database"),
        RecordField("bringsConstants", \.bringsConstants, "the last one has the constants of Bear's encryption"))

    package struct Answer: Record {
        package static let recordName = "import-result"
        package static let refusesUnknownFields = false
        package var items: ImportMessage?
        package var everything: FullExportMessage?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("items", \.items, "what came of a source of items"),
            RecordField("everything", \.everything, "what came of a full export, which goes into an empty vault only"))
    }
}

/// What came of an import.
package struct ImportMessage: Record {
    package static let recordName = "import-report"
    package static let refusesUnknownFields = false

    package var isDryRun = false
    package var format = ""
    package var imported = 0
    package var updated = 0
    package var unchanged = 0
    package var conflicts = 0
    package var attachments = 0
    package var tags = 0
    package var mapped = 0
    package var keptAsRaw = 0
    package var dropped = 0
    package var hidden = 0
    package var missing = 0
    package var danglingLinks = 0
    package var byteCount = 0
    package var warningCount = 0
    package var warnings: [String] = []
    package var rawFields: [RawFieldMessage] = []
    package var perItem: [ImportedItemMessage] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("isDryRun", \.isDryRun, "nothing was changed"),
        RecordField("format", \.format, "the name of the format that the source was read as"),
        RecordField("imported", \.imported, "items made"),
        RecordField("updated", \.updated, "items whose source has changed since an earlier import"),
        RecordField("unchanged", \.unchanged, "items whose source is as it was"),
        RecordField("conflicts", \.conflicts, "items changed here and there: the other came in beside"),
        RecordField("attachments", \.attachments, "files attached"), RecordField("tags", \.tags, "different tags"),
        RecordField(
            "mapped", \.mapped, "values with a place of their own in items: titles, texts, tags, fields, times"),
        RecordField("keptAsRaw", \.keptAsRaw, "values without a place of their own, kept as fields"),
        RecordField("dropped", \.dropped, "things of the source that are not in the vault"),
        RecordField("hidden", \.hidden, "hidden files left out by rule"),
        RecordField("missing", \.missing, "items of an earlier import that the source has no more; they stay"),
        RecordField("danglingLinks", \.danglingLinks, "links to no file of the source"),
        RecordField("byteCount", \.byteCount, "bytes read"),
        RecordField("warningCount", \.warningCount, "all remarks, listed or not"),
        RecordField("warnings", \.warnings, "remarks for a person, at most 1,000"),
        RecordField("rawFields", \.rawFields, "labels of raw fields, most frequent first"),
        RecordField("perItem", \.perItem, "what became of each item, where it was asked for"))
}

/// What became of one item of a source.
package struct ImportedItemMessage: Record {
    package static let recordName = "imported-item"
    package static let refusesUnknownFields = false

    package var name = ""
    package var outcome = ""
    package var mapped = 0
    package var raw: [String] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "its title, or its path in the source"),
        RecordField("outcome", \.outcome, "`imported`, `updated`, `unchanged` or `conflict`"),
        RecordField("mapped", \.mapped, "values with a place of their own"),
        RecordField("raw", \.raw, "labels of values without one, kept as fields"))
}

/// A label under which values were kept that have no place of their own.
package struct RawFieldMessage: Record {
    package static let recordName = "raw-field"
    package static let refusesUnknownFields = false

    package var label = ""
    package var count = 0
    package var example = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("label", \.label, "of the field"), RecordField("count", \.count, "items that have one"),
        RecordField("example", \.example, "path or title of the first of them"))
}

package struct ExportRun: StoreOperation {
    package static let name = "export.run"
    package static let access = OperationAccess.read
    package static let meaning =
        "Writes a vault into a new folder or file below the one folder whose descriptor the request brings, or into a pipe. "
        + "All but a KeePass database is in clear. "
        + "It reports progress; when it is cancelled, a folder stays with what was written."

    package enum Format: String, RecordChoice {
        case markdown, textbundle, textpack, html, json, bitwarden, csv, kdbx

        /// What the name of its file ends with; nil for a folder.
        package var fileExtension: String? {
            switch self {
            case .markdown, .textbundle, .html: nil
            case .textpack: ".textpack"
            case .json, .bitwarden: ".json"
            case .csv: ".csv"
            case .kdbx: ".kdbx"
            }
        }
        /// Whether it writes one file, and not a folder.
        package var isFile: Bool { fileExtension != nil }
    }

    package var vault: String?
    package var format = Format.markdown
    package var name: String?
    package var onlyUnsent: Bool?
    package var bringsPassword: Bool?
    package var bringsStream: Bool?
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .vaultOrDefault(\.vault),
        RecordField(
            "format", \.format,
            "a folder of Markdown, TextBundles or HTML pages, a zip file of TextBundles (TextPack), one JSON file with every item, "
                + "attachment and earlier version, Bitwarden's JSON, its table (CSV), or a KeePass database"),
        RecordField("name", \.name, "of the new folder or file, without a path"),
        RecordField("onlyUnsent", \.onlyUnsent, "of Markdown: items changed here since the server last had them"),
        RecordField(
            "bringsPassword", \.bringsPassword,
            "of a KeePass database: the request brings a second descriptor, from which its password is read up to the first "
                + "line end"),
        RecordField(
            "bringsStream", \.bringsStream,
            "of JSON: the request brings a pipe or file that is open for writing in the place of the folder, and no name"
        ),
        RecordField("isTrial", \.isTrial, "writes nothing, and says what would be written; it brings no folder"))

    package struct Answer: Record {
        package static let recordName = "export-result"
        package static let refusesUnknownFields = false
        package var trial: ExportTrialMessage?
        package var items: ExportMessage?
        package var everything: FullExportMessage?
        package var faulty: [FaultyFileMessage] = []
        package var unreadable: [UnreadableValueMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("trial", \.trial, "of a trial: what would be written"),
            RecordField("items", \.items, "what came of any other format"),
            RecordField("everything", \.everything, "what came of JSON"),
            RecordField("faulty", \.faulty, "files that were left out, because they are not here or damaged"),
            RecordField("unreadable", \.unreadable, "values that were left out, because no writer may store them"))
    }
}

/// Values of an item that nobody can read.
package struct UnreadableValueMessage: Record {
    package static let recordName = "unreadable-value"
    package static let refusesUnknownFields = false

    package var item = ""
    package var title: String?
    package var attributes: [String] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "id of the item"), RecordField("title", \.title, "its title"),
        RecordField(
            "attributes", \.attributes, "`text`, `title`, `field.` and the key of a field, and others of `items.md`"))
}

/// The files that an export would write.
package struct ExportTrialMessage: Record {
    package static let recordName = "export-trial"
    package static let refusesUnknownFields = false

    package var vault = ""
    package var name = ""
    package var isSynced = false
    package var itemCount = 0
    package var secretCount = 0
    package var hasHidden = false

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "id of the vault"), RecordField("name", \.name, "its name"),
        RecordField("synced", \.isSynced, "whether it lies at a server too"),
        RecordField("itemCount", \.itemCount, "items"),
        RecordField("secretCount", \.secretCount, "of these, items other than notes"),
        RecordField("hasHidden", \.hasHidden, "whether a person has to show to be there first"))
}

/// What came of an export as Markdown.
package struct ExportMessage: Record {
    package static let recordName = "export-report"
    package static let refusesUnknownFields = false

    package var notes = 0
    package var identical = 0
    package var otherItems = 0
    package var attachments = 0
    package var locked = 0
    package var trashed = 0
    package var byteCount = 0
    package var warnings: [String] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("notes", \.notes, "notes written"),
        RecordField("identical", \.identical, "of these, with exactly the bytes that were imported"),
        RecordField("otherItems", \.otherItems, "items in one file beside, with their secrets"),
        RecordField("attachments", \.attachments, "files written"),
        RecordField("locked", \.locked, "locked notes, which were left out"),
        RecordField("trashed", \.trashed, "items in the trash, which were left out"),
        RecordField("byteCount", \.byteCount, "bytes written"),
        RecordField("warnings", \.warnings, "remarks for a person"))
}

/// What came of a full export or its import.
package struct FullExportMessage: Record {
    package static let recordName = "full-export-report"
    package static let refusesUnknownFields = false

    package var items = 0
    package var commits = 0
    package var attachments = 0
    package var missingAttachments = 0
    package var conflicts = 0
    package var byteCount = 0
    package var stateHash = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("items", \.items, "items"), RecordField("commits", \.commits, "changes of the history"),
        RecordField("attachments", \.attachments, "files"),
        RecordField("missingAttachments", \.missingAttachments, "files that the history names and that are not there"),
        RecordField("conflicts", \.conflicts, "items with values that await a decision"),
        RecordField("byteCount", \.byteCount, "bytes of the file"),
        RecordField("stateHash", \.stateHash, "the portable hash of the state, in hexadecimal digits"))
}

/// A file of an item that is not whole.
package struct FaultyFileMessage: Record {
    package static let recordName = "faulty-file"
    package static let refusesUnknownFields = false

    package var item = ""
    package var title: String?
    package var attachment = ""
    package var fault = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "id of the item"), RecordField("title", \.title, "its title"),
        RecordField("attachment", \.attachment, "name of the file"),
        RecordField("fault", \.fault, "`missing`, `cut` or `altered`"))
}
