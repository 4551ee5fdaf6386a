// Search over many notes, beside plain SQLite FTS5 in a file of its own. Invariant: both hold the same notes, use the
// same library and answer the same questions in turn.

import CoffretBase
import CoffretCrypto
import CoffretSQLite
import CoffretSearch
import Glibc

enum SearchBench {
    /// Our index in a directory, under a constant key: the figures do not depend on it, and a second process has to have it.
    static func openIndex(_ directory: String) throws -> SearchIndex { try Comparison.openIndex(directory) }

    /// `search DIRECTORY [COUNT]`: builds both indexes and measures; `search-once DIRECTORY WORD ...`: one
    /// query in a fresh process.
    static func run(_ arguments: [String]) throws {
        guard let directory = arguments.first else {
            print("usage: coffret-bench search DIRECTORY [COUNT]")
            exit(64)
        }
        let count = arguments.count > 1 ? Int(arguments[1]) ?? 100_000 : 100_000
        var bench = try Comparison(directory: directory, count: count)
        try bench.build()
        try bench.compareQueries()
        try bench.compareEdits()
        try bench.measureFreshProcess()
    }

    static func runOnce(_ arguments: [String]) throws {
        guard let directory = arguments.first else { exit(64) }
        let index = try Comparison.openIndex(directory)
        let query = try SearchQuery.parse(arguments.dropFirst().joined(separator: " "))
        print(try index.search(query).totalCount)
    }
}

private struct Comparison {
    static let seed: UInt64 = 20_260_101
    static let plainSchema = """
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = NORMAL;
        PRAGMA cache_size = -65536;
        CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT, tags TEXT, fields TEXT, body TEXT);
        CREATE VIRTUAL TABLE search USING fts5 (
            title, tags, fields, body, content = 'note', content_rowid = 'id',
            tokenize = 'unicode61 remove_diacritics 2'
        );
        """

    let directory: String
    let count: Int
    var generator = NoteGenerator(seed: seed)
    var notes: [NoteGenerator.Note] = []
    let plain: Connection
    let ours: SearchIndex

    init(directory: String, count: Int) throws {
        self.directory = directory
        self.count = count
        let fileSystem = PosixFileSystem()
        try fileSystem.makeDirectories(directory)
        for name in ["plain.db", "plain.db-wal", "plain.db-shm", "ours"] {
            try fileSystem.removeTree(PathText.join(directory, name))
        }
        plain = try Connection(path: PathText.join(directory, "plain.db"), .createIfAbsent)
        ours = try Self.openIndex(directory)
        notes = (0..<count).map { _ in generator.next() }
    }

    /// The key is a constant: the figures do not depend on it, and a second process has to have it.
    static func openIndex(_ directory: String) throws -> SearchIndex {
        var key = [UInt8](repeating: 0x42, count: 32)
        guard let vaultID = VaultID([UInt8](repeating: 1, count: 32)) else { preconditionFailure("32 bytes") }
        return try SearchIndex(
            directory: PathText.join(directory, "ours"), key: SearchKey(SecretBytes(consuming: &key)),
            vaultID: vaultID, fileSystem: PosixFileSystem(), random: SystemRandomSource())
    }

    func document(_ number: Int, body: String? = nil) -> SearchDocument {
        let note = notes[number]
        return SearchDocument(
            entity: [UInt8(ascii: "N")] + UInt64(number).bigEndianBytes + UInt64(number).bigEndianBytes,
            title: note.title, body: body ?? note.body, tags: [note.tag], createdMilliseconds: Int64(number),
            modifiedMilliseconds: Int64(number))
    }

    private func number(of document: DocumentSummary) -> Int { Int(document.modifiedMilliseconds) }

    // MARK: Building

    func build() throws {
        let plainSeconds = try measureSeconds {
            try plain.execute(Self.plainSchema)
            try plain.transaction { () throws(SQLiteError) in
                for (number, note) in notes.enumerated() {
                    try plain.run(
                        "INSERT INTO note VALUES (?1, ?2, ?3, '', ?4)", number, note.title, note.tag, note.body)
                    try plain.run(
                        "INSERT INTO search (rowid, title, tags, fields, body) VALUES (?1, ?2, ?3, '', ?4)", number,
                        note.title, note.tag, note.body)
                }
                try plain.run("INSERT INTO search (search) VALUES ('optimize')")
            }
            try plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        let ourSeconds = try measureSeconds {
            try ours.rebuild(newState: [1]) { add in
                for number in notes.indices { try add(document(number)) }
            }
        }
        let textByteCount = notes.reduce(0) { $0 + $1.title.utf8.count + $1.body.utf8.count + $1.tag.utf8.count }
        print("\(count) notes, \(decimal(Double(textByteCount) / 1e6, 1)) MB of text, seed \(Self.seed)\n")
        print(row(["", "plain FTS5", "Coffret", "ratio"]))
        print(row(["---", "---", "---", "---"]))
        print(
            row([
                "build, durable", "\(decimal(plainSeconds)) s", "\(decimal(ourSeconds)) s",
                decimal(ourSeconds / plainSeconds),
            ]))
        let plainSize = try size("plain.db")
        let ourSize = try size("ours/index")
        print(
            row([
                "size", "\(decimal(plainSize / 1e6, 1)) MB", "\(decimal(ourSize / 1e6, 1)) MB",
                decimal(ourSize / plainSize),
            ]))
    }

    private func size(_ name: String) throws -> Double {
        Double(try PosixFileSystem().status(PathText.join(directory, name))?.byteCount ?? 0)
    }

    // MARK: Queries

    mutating func compareQueries() throws {
        var pairs: [(String, String)] = []
        for _ in 0..<400 { pairs.append(generator.wordPair(of: notes[generator.index(below: count)])) }
        try compare("two words", pairs.map { "\($0.0) \($0.1)" })
        // As `coffret search` asks: the last word may go on, and a word that is nowhere is looked for by the nearest ones.
        try compare("two words as they are typed", pairs.map { "\($0.0) \($0.1)" }, options: Self.typed)
        try compare(
            "two words, the second without its last two letters",
            pairs.map { "\($0.0) \($0.1.dropLast($0.1.count > 5 ? 2 : 0))" }, options: Self.typed)
        try compare("two words, the second misspelt", pairs.map { "\($0.0) \(misspelt($0.1))" }, options: Self.typed)
        try compare("one word", pairs.map(\.0))
        try compare("phrase of two words", (0..<200).map { _ in phrase() })
        try compare("prefix of four letters", pairs.prefix(200).map { $0.0.prefix(4) + "*" })
        try compare("prefix of two letters", pairs.prefix(40).map { $0.0.prefix(2) + "*" })
        try compare(
            "two words and a tag", pairs.prefix(200).map { "\($0.0) \($0.1) tag:area3" }, isPlainUnfiltered: true)
    }

    private mutating func phrase() -> String {
        let words = notes[generator.index(below: count)].body.split { !$0.isLetter }
        let start = generator.index(below: words.count - 1)
        return "\"\(words[start]) \(words[start + 1])\""
    }

    private static let typed = SearchQueryOptions(lastWordIsPrefix: true)

    /// The word with its third letter taken for another.
    private func misspelt(_ word: String) -> String {
        word.prefix(2) + (word.dropFirst(2).first == "x" ? "q" : "x") + word.dropFirst(3)
    }

    /// Twenty best with snippets, from both, in turn; ours counts all matches besides.
    ///
    /// - Parameter options: what ours reads queries with; nil where both are to find the same.
    private func compare(
        _ name: String, _ queries: [String], isPlainUnfiltered: Bool = false, options: SearchQueryOptions? = nil
    ) throws {
        let sql = """
            SELECT rowid, title, snippet(search, 3, '[', ']', '…', 24) FROM search
            WHERE search MATCH ?1 ORDER BY rank LIMIT 20
            """
        var plainTimes: [Double] = []
        var ourTimes: [Double] = []
        for round in 0..<2 {
            for query in queries {
                let match = isPlainUnfiltered ? query.split(separator: " ").dropLast().joined(separator: " ") : query
                var plainCount = 0
                let plainSeconds = try measureSeconds {
                    try plain.forEachRow(sql, Self.quoted(match)) { row throws(SQLiteError) in
                        plainCount += row.string(at: 1).isEmpty && row.string(at: 2).isEmpty ? 0 : 1
                    }
                }
                var ourCount = 0
                let ourSeconds = try measureSeconds {
                    let results = try ours.search(SearchQuery.parse(query, options: options ?? .init()))
                    // The texts are in memory here; of a vault they are read besides.
                    for hit in results.hits {
                        let number = number(of: hit.document)
                        _ = results.snippet(ofBody: notes[number].body, of: document(number))
                    }
                    ourCount = results.hits.count
                }
                let isAlike = options == nil && !isPlainUnfiltered
                precondition(isAlike ? plainCount == ourCount : isPlainUnfiltered || plainCount <= ourCount, query)
                // The first round warms both.
                if round == 1 {
                    plainTimes.append(plainSeconds)
                    ourTimes.append(ourSeconds)
                }
            }
        }
        report(name, plainTimes, ourTimes)
    }

    private func report(_ name: String, _ plainTimes: [Double], _ ourTimes: [Double]) {
        for percent in [50.0, 95.0] {
            let values = (Samples(plainTimes).percentile(percent) * 1e3, Samples(ourTimes).percentile(percent) * 1e3)
            print(
                row([
                    "\(name), p\(Int(percent))", "\(decimal(values.0)) ms", "\(decimal(values.1)) ms",
                    decimal(values.1 / values.0),
                ]))
        }
    }

    private static func quoted(_ query: String) -> String {
        if query.hasPrefix("\"") { return query }
        return query.split(separator: " ").map { word in
            word.hasSuffix("*") ? "\"\(word.dropLast())\" *" : "\"\(word)\""
        }.joined(separator: " AND ")
    }

    // MARK: Edits

    /// One more word in one note, a transaction each, as somebody types; then the same, each followed by a search for it.
    mutating func compareEdits() throws {
        try compareEdits("one edit", searchesEach: false)
        try compareEdits("one edit and a search for it", searchesEach: true)
    }

    private mutating func compareEdits(_ name: String, searchesEach: Bool) throws {
        var plainTimes: [Double] = []
        var ourTimes: [Double] = []
        var plainBytes = 0
        var ourBytes = 0
        let edits = (0..<300).map { _ in generator.index(below: count) }
        for (index, number) in edits.enumerated() {
            let note = notes[number]
            let word = "\(searchesEach ? "sought" : "added")\(index)"
            let body = note.body + " " + word
            let query = try SearchQuery.parse(word)
            var before = try Self.writtenByteCount()
            plainTimes.append(
                try measureSeconds {
                    try plain.transaction { () throws(SQLiteError) in
                        try plain.run(
                            "INSERT INTO search (search, rowid, title, tags, fields, body) VALUES ('delete', ?1, ?2, ?3, '', ?4)",
                            number, note.title, note.tag, note.body)
                        try plain.run("UPDATE note SET body = ?2 WHERE id = ?1", number, body)
                        try plain.run(
                            "INSERT INTO search (rowid, title, tags, fields, body) VALUES (?1, ?2, ?3, '', ?4)", number,
                            note.title, note.tag, body)
                    }
                    if searchesEach {
                        try plain.run("SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rank LIMIT 20", word)
                    }
                })
            plainBytes += try Self.writtenByteCount() - before
            before = try Self.writtenByteCount()
            ourTimes.append(
                try measureSeconds {
                    try ours.update(
                        [.put(document(number, body: body))], newState: [2], bringsInWords: searchesEach)
                    if searchesEach { _ = try ours.search(query) }
                })
            ourBytes += try Self.writtenByteCount() - before
            notes[number] = NoteGenerator.Note(title: note.title, body: body, tag: note.tag)
        }
        report(name, plainTimes, ourTimes)
        func mean(_ times: [Double]) -> Double { times.reduce(0, +) / Double(times.count) }
        let (plainMean, ourMean) = (mean(plainTimes), mean(ourTimes))
        print(
            row([
                "the same, mean of \(edits.count)", "\(decimal(plainMean * 1e3, 2)) ms",
                "\(decimal(ourMean * 1e3, 2)) ms",
                decimal(ourMean / plainMean),
            ]))
        let bytes = (Double(plainBytes) / Double(edits.count), Double(ourBytes) / Double(edits.count))
        print(
            row([
                "bytes written for it, mean of \(edits.count)", "\(decimal(bytes.0 / 1e3, 1)) kB",
                "\(decimal(bytes.1 / 1e3, 1)) kB", decimal(bytes.1 / bytes.0),
            ]))
    }

    /// The bytes that this process has handed to the kernel for writing, from `/proc/self/io`.
    private static func writtenByteCount() throws -> Int {
        let file = try PosixFileSystem().open("/proc/self/io", .read)
        let text = try unsafe [UInt8](unsafeUninitializedCapacity: 512) { buffer, count in
            count = try unsafe file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
        let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("wchar") }
        return line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
    }

    // MARK: A fresh process

    mutating func measureFreshProcess() throws {
        var times: [Double] = []
        for _ in 0..<40 {
            let pair = generator.wordPair(of: notes[generator.index(below: count)])
            times.append(try measureSeconds { try Self.spawn(["search-once", directory, pair.0, pair.1]) })
        }
        var idle: [Double] = []
        for _ in 0..<20 { idle.append(try measureSeconds { try Self.spawn(["search-once"]) }) }
        let samples = Samples(times)
        print(
            row([
                "two words in a fresh process, p50 (p95)", "-",
                "\(decimal(samples.median * 1e3)) ms (\(decimal(samples.percentile(95) * 1e3)) ms)", "-",
            ]))
        print(row(["of it, starting a process", "-", "\(decimal(Samples(idle).median * 1e3)) ms", "-"]))
    }

    /// Runs this program again and waits for it; its output goes nowhere.
    private static func spawn(_ arguments: [String]) throws {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var pointers = unsafe (["coffret-bench"] + arguments).map { unsafe strdup($0) }
        defer { unsafe pointers.forEach { unsafe free($0) } }
        unsafe pointers.append(nil)
        var process: pid_t = 0
        let status = unsafe posix_spawn(&process, "/proc/self/exe", &actions, nil, pointers, environ)
        guard status == 0 else { throw FileSystemError(.inputOutput, place: "/proc/self/exe", errorNumber: status) }
        var result: Int32 = 0
        unsafe waitpid(process, &result, 0)
    }
}

/// Raises to a power, as `pow` does.
func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

/// e raised to a power, as `exp` does.
func exponential(_ exponent: Double) -> Double { exp(exponent) }
