// Entries for fuzzing: the files of a sealed database as somebody else may have left them.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretSQLite

/// Any bytes as the main file, beside an empty log.
func fuzzSealedMainFile(_ bytes: [UInt8]) {
    fuzzSealedFiles(main: bytes, log: [])
}

/// Opens the two files and reads every page that they claim to have; only named errors may come of it.
func fuzzSealedFiles(main: [UInt8], log: [UInt8]) {
    let disk = SimulatedFileSystem()
    do {
        let mainFile = try disk.open("/index", .createNew)
        try mainFile.write(main, at: 0)
        let logFile = try disk.open("/index.log", .createNew)
        try logFile.write(log, at: 0)
        var key = [UInt8](repeating: 3, count: 32)
        let file = try SealedFile(
            main: mainFile, log: logFile, key: SealedDatabaseKey(SecretBytes(consuming: &key), context: [1]),
            random: SeededGenerator(seed: 1))
        var page = [UInt8](repeating: 0, count: PageSealer.pageByteCount)
        for number in 1...max(1, min(file.pageCount, 64)) {
            _ = unsafe page.withUnsafeMutableBytes { unsafe file.readPage(number, into: $0.baseAddress!) }
        }
    } catch {
        precondition(error is SQLiteError)
    }
}

@Suite("Sealed files, fuzzed")
struct SealedFuzzTests {
    @Test("mutated files of a sealed database give named errors")
    func mutations() throws {
        let disk = SimulatedFileSystem()
        var key = [UInt8](repeating: 3, count: 32)
        let database = try SealedDatabase(
            directory: "/search", key: SealedDatabaseKey(SecretBytes(consuming: &key), context: [1]),
            fileSystem: disk, random: SeededGenerator(seed: 2))
        try database.rebuild { connection throws(SQLiteError) in try connection.execute("CREATE TABLE t (a)") }
        for value in 0..<3 {
            try database.write { connection throws(SQLiteError) in
                try connection.run("INSERT INTO t VALUES (?1)", value)
            }
        }
        let main = try disk.readFile("/search/index", byteCountMax: 1 << 20)
        let log = try disk.readFile("/search/index.log", byteCountMax: 1 << 20)
        #expect(main.count >= 3 * 4_096 && log.count >= 3 * 4_096)
        fuzz([main, Array(main[..<512]), []], rounds: 300, fuzzSealedMainFile)
        fuzz([log, Array(log[..<100])], rounds: 300) { fuzzSealedFiles(main: main, log: $0) }
    }
}
