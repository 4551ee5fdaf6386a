// Every call of CoffretKit that the samples leave out, as a program of others makes it. It prints what came back; the test
// compares that. It sees the library's public part only.
//
// usage: KitCalls FOLDER

import CoffretKit
import Glibc

func opened(_ path: String, _ flags: Int32) -> Int32 {
    let descriptor = unsafe open(path, flags, 0o600)
    guard descriptor >= 0 else {
        print("cannot open \(path)")
        exit(74)
    }
    return descriptor
}

/// The code with which a call is refused.
func refusal(_ body: () throws(CoffretError) -> Void) -> String {
    do throws(CoffretError) {
        try body()
        return "done"
    } catch {
        return error.code
    }
}

func versions(_ session: CoffretSession) throws(CoffretError) {
    let made = try session.create(ItemDraft(note: "# Leeks\n\nSow in March."), vault: "Personal")
    var edit = ItemEdit()
    edit.text = "# Leeks\n\nSow in April."
    try session.edit(made.id, edit)
    let history = try session.history(of: made.id)
    print("versions:", history.count, history.map { $0.summary.isEmpty }.contains(true) ? "unsaid" : "said")
    print("first:", try session.item(made.id, version: history.last?.name).text.contains("March"))
    print("restored:", try session.restore(made.id, version: history.last?.name).text.contains("March"))
    let flagged = try session.setFlags(of: [made.id], isPinned: true, isArchived: true)
    print("flags:", flagged.map { [$0.isPinned, $0.isArchived] })
    try session.trash([made.id])
    print("out of the trash:", try !session.restore(made.id).isTrashed)
    print("removed:", try session.remove([made.id]) == [made.id])
    print("gone:", refusal { () throws(CoffretError) in _ = try session.item(made.id) })
}

func files(_ session: CoffretSession, _ folder: String) throws(CoffretError) {
    let source = opened(folder + "/map.bin", O_RDONLY)
    let added = try session.addFile("map.bin", to: "Tomatoes", reading: source)
    print("added:", added.name, added.byteCount)
    try session.renameFile("map.bin", of: "Tomatoes", to: "plan.bin")
    print("files:", try session.files(of: "Tomatoes").map { "\($0.name) \($0.isHere ?? true)" })
    let target = opened(folder + "/out.bin", O_WRONLY | O_CREAT | O_EXCL)
    print("read:", try session.readFile("plan.bin", of: "Tomatoes", writingTo: target).byteCount)
    try session.removeFile("plan.bin", of: "Tomatoes")
    print("left:", try session.files(of: "Tomatoes").count)
    print("again:", refusal { () throws(CoffretError) in try session.removeFile("plan.bin", of: "Tomatoes") })
}

func links(_ session: CoffretSession) throws(CoffretError) {
    let note = try session.create(ItemDraft(note: "# Soup\n\nOf [[Tomatoes]] and [[Nothing]]."), vault: "Personal")
    let found = try session.links(of: note.id)
    print("links:", found.links.map { "\($0.target) \($0.items.count)" })
    print("backlinks:", try session.links(of: "Tomatoes").backlinks.map(\.title))
    print("linked:", try session.link("Tomatoes", to: "Soup"), try session.link("Tomatoes", to: "Soup"))
    print("conflicts:", try session.conflicts().count, try session.settleConflicts(of: "Tomatoes"))
}

func secrets(_ session: CoffretSession) throws(CoffretError) {
    var draft = ItemDraft(kind: "login", title: "Forge")
    draft.set("password", to: "hush")
    try session.create(draft, vault: "Work")
    let values = try session.values(of: ["coffret://Work/Forge/password", "coffret://Work/Forge/title"])
    print("values:", values.map { String(decoding: $0, as: UTF8.self) })
    print("made:", try session.generatePassword(length: 30, excludesSymbols: true).secret.count)
}

func transfer(_ session: CoffretSession, _ folder: String) throws(CoffretError) {
    let notes = opened(folder + "/notes", O_RDONLY | O_DIRECTORY)
    print("would import:", try session.importItems(reading: notes, vault: "Work", isDryRun: true).importedCount)
    print("imported:", try session.importItems(reading: notes, vault: "Work").importedCount)
    print("again:", try session.importItems(reading: notes, vault: "Work").unchangedCount)
    let cancelled = refusal { () throws(CoffretError) in
        _ = try session.importItems(reading: notes, vault: "Personal") { _ in false }
    }
    print("cancelled:", cancelled == CoffretError.cancelled || cancelled == "done")
    let place = opened(folder, O_RDONLY | O_DIRECTORY)
    print("exported:", try session.export(as: "out", into: place, vault: "Work") > 0)
    print("whole:", try session.export(as: "all.json", into: place, vault: "Work", format: .json) > 0)
}

let folder = CommandLine.arguments.dropFirst().first ?? "."
do {
    let session = try CoffretSession.open()
    try versions(session)
    try files(session, folder)
    try links(session)
    try secrets(session)
    try transfer(session, folder)
    try session.lock()
    print("locked:", refusal { () throws(CoffretError) in _ = try session.vaults() } == CoffretError.ended)
} catch {
    print("KitCalls: \(error)")
    exit(1)
}
