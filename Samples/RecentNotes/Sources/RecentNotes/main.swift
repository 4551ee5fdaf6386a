// A command of one's own: prints the notes of a tag that were changed last, with their first lines.
//
// usage: RecentNotes TAG [COUNT]
// COFFRET_TOKEN_FILE names a file with a token; without it the session may ask for everything.

import CoffretKit
import Glibc

func tokenFromFile() -> String? {
    guard let path = unsafe getenv("COFFRET_TOKEN_FILE"), let file = unsafe fopen(path, "r") else { return nil }
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard unsafe fgets(&line, 256, file) != nil else { return nil }
    return String(decoding: line.prefix { $0 > 32 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

CoffretSession.hardenProcess()
let arguments = CommandLine.arguments.dropFirst()
guard let tag = arguments.first else {
    print("usage: RecentNotes TAG [COUNT]")
    exit(64)
}
do {
    let session = try CoffretSession.open(token: tokenFromFile())
    let page = try session.items(tags: [tag], limit: arguments.dropFirst().first.flatMap { Int($0) } ?? 10)
    for summary in page.items {
        let item = try session.item(summary.id)
        let line = item.text.split(separator: "\n").dropFirst().first { !$0.isEmpty } ?? ""
        print("\(item.title): \(line)")
    }
    print("\(page.items.count) of \(page.totalCount)")
} catch {
    print("RecentNotes: \(error)")
    exit(1)
}
