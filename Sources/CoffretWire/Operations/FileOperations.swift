// Requests about files of items. Contents travel through a descriptor that comes with the request, in no message.

package struct FileList: StoreOperation {
    package static let name = "file.list"
    package static let access = OperationAccess.read
    package static let meaning = "Lists the files of an item, by name."

    package var item = ""
    package var vault: String?
    package var names: [String]?
    package var givesFaults: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("names", \.names, "names, or ids by their beginnings: these only, in this order"),
        RecordField("givesFaults", \.givesFaults, "whether to say what is wrong with their contents"))

    package struct Answer: Record {
        package static let recordName = "file-list"
        package static let refusesUnknownFields = false
        package var files: [AttachmentMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("files", \.files, "by name"))
    }
}

package struct FileAdd: StoreOperation {
    package static let name = "file.add"
    package static let access = OperationAccess.write
    package static let meaning =
        "Attaches a file to an item. The request brings one descriptor, from which the content is read to its end."

    package var item = ""
    package var vault: String?
    package var name = ""
    package var mediaType: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("name", \.name, "file name without a path"),
        RecordField("mediaType", \.mediaType, "without it what the name tells"))

    package typealias Answer = AttachmentMessage
}

package struct FileRead: StoreOperation {
    package static let name = "file.read"
    package static let access = OperationAccess.read
    package static let meaning =
        "Writes the content of a file into the one descriptor that the request brings. "
        + "Only verified pieces are written; after a refusal they are not the whole."

    package var item = ""
    package var vault: String?
    package var name = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("name", \.name, "name of the file, or the beginning of its id"))

    package typealias Answer = AttachmentMessage
}

package struct FileRename: StoreOperation {
    package static let name = "file.rename"
    package static let access = OperationAccess.write
    package static let meaning = "Gives a file of an item another name. Links in texts stay as they are."

    package var item = ""
    package var vault: String?
    package var name = ""
    package var newName = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("name", \.name, "as in `file.read`"),
        RecordField("newName", \.newName, "file name without a path"))

    package typealias Answer = AttachmentMessage
}

package struct FileRemove: StoreOperation {
    package static let name = "file.remove"
    package static let access = OperationAccess.write
    package static let meaning = "Takes a file from an item. The history has it until it is compacted."

    package var item = ""
    package var vault: String?
    package var name = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item),
        .vaultOfItem(\.vault),
        RecordField("name", \.name, "as in `file.read`"))

    package typealias Answer = AttachmentMessage
}

package struct FileFetch: StoreOperation {
    package static let name = "file.fetch"
    package static let access = OperationAccess.control
    package static let meaning =
        "Fetches files of an item that are not on this device from the server. It says how far it is, and can be "
        + "cancelled; the next one goes on."

    package var item = ""
    package var vault: String?
    package var names: [String]?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .item(\.item), .vaultOfItem(\.vault),
        RecordField("names", \.names, "names or ids of files; without it all of the item"))

    package struct Answer: Record {
        package static let recordName = "file-fetched"
        package static let refusesUnknownFields = false
        package var files: [AttachmentMessage] = []
        package var wantedCount = 0
        package var receivedCount = 0
        package var receivedByteCount = 0
        package var problems: [String] = []
        package var failure: OperationFailure?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("files", \.files, "those that were asked for"),
            RecordField("wanted", \.wantedCount, "of these, those that were not here"),
            RecordField("receivedFiles", \.receivedCount, "files that came"),
            RecordField("receivedFileByteCount", \.receivedByteCount, "their size"),
            RecordField("fileProblems", \.problems, "codes of `errors.md`: why others did not come, one for each"),
            RecordField("failure", \.failure, "the first of these, in words"))
    }
}
