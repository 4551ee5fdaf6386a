// An importer of one's own: makes a login of each line "title<tab>address<tab>user<tab>password" of standard input, and passes over
// titles that are there already.
//
// usage: ImportBookmarks [VAULT] < bookmarks.tsv

import CoffretKit
import Glibc

CoffretSession.hardenProcess()
let vault = CommandLine.arguments.dropFirst().first
do {
    let session = try CoffretSession.open()
    let present = Set(try session.items(vault: vault, kind: "login").items.map(\.title))
    var counts = (made: 0, passedOver: 0, refused: 0)
    while let line = readLine() {
        let columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard columns.count == 4, !columns[0].isEmpty, !present.contains(columns[0]) else {
            counts.passedOver += 1
            continue
        }
        var draft = ItemDraft(kind: "login", title: columns[0], tags: ["imported"])
        draft.set("url", to: columns[1])
        draft.set("username", to: columns[2])
        draft.set("password", to: columns[3])
        do {
            try session.create(draft, vault: vault)
            counts.made += 1
        } catch let error where error.code.hasPrefix("core.field") {
            print("\(columns[0]): \(error.message)")
            counts.refused += 1
        }
    }
    print("\(counts.made) made, \(counts.passedOver) passed over, \(counts.refused) refused")
} catch {
    print("ImportBookmarks: \(error)")
    exit(1)
}
