// Reads notes on a second thread, while the key is derived or the notes before them are put into the vault. The one
// thing to keep true: while it runs, nobody else reads the source.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto

/// One Markdown file, read and taken apart.
struct ReadNote: Sendable {
    /// Its index in the listing.
    let entry: Int
    let byteCount: Int
    /// BLAKE2b-256 of the file.
    let contentHash: [UInt8]
    /// The note, or why it is none.
    let content: Result<NoteFile, NoteFile.RefusalError>
}

/// The Markdown files of a source, in the order that suits the source.
final class NoteReadAhead: Sendable {
    /// How many bytes of notes may be read and not yet taken.
    private static let waitingByteCountMax = 32 << 20

    private enum Message: Sendable {
        case note(ReadNote)
        case failure(ImportExportError)
    }

    private let messages = Handoff<Message>(costMax: waitingByteCountMax)
    private let worker: Worker

    /// Begins to read.
    ///
    /// - Parameter source: not to be read by anybody else until `forEachNote` has returned.
    init(_ source: any ImportSource) {
        let task = Task(source: source, messages: messages)
        worker = Worker(thread: WorkerThread { task.run() })
    }

    deinit {
        messages.stop()
        worker.thread.join()
    }

    /// Hands out all notes, once; the source is free again when this returns or throws.
    ///
    /// - Throws: what reading the source throws, `.noteTooLarge`, `.lineTooLong`.
    func forEachNote(_ body: (ReadNote) throws(ImportExportError) -> Void) throws(ImportExportError) {
        defer {
            messages.stop()
            worker.thread.join()
        }
        while let list = messages.take() {
            for message in list {
                switch message {
                case .note(let note): try body(note)
                case .failure(let error): throw error
                }
            }
        }
    }

    private struct Worker: @unchecked Sendable {
        // SAFETY: joined by the taker of the notes, or at the end; never by two at once.
        let thread: WorkerThread
    }

    private struct Task: @unchecked Sendable {
        // SAFETY: the source is read by this thread alone while it runs; what others look at meanwhile, its name and
        // listing, does not change.
        let source: any ImportSource
        let messages: Handoff<Message>

        func run() {
            do throws(ImportExportError) {
                let entries = source.listing.entries
                let byteCountMax = min(source.limits.noteByteCountMax, Item.textByteCountMax)
                var isWanted = true
                try source.visit({ isWanted && entries[$0].path.isMarkdown }) {
                    (entry, reader) throws(ImportExportError) in
                    let note = try Self.read(reader, entry, entries[entry].path, source.limits, byteCountMax)
                    isWanted = messages.put(.note(note), cost: note.byteCount + 1_024)
                }
            } catch {
                messages.put(.failure(error), cost: 0)
            }
            messages.end()
        }

        private static func read(
            _ reader: any SourceEntryReader, _ entry: Int, _ path: SourcePath, _ limits: ImportLimits,
            _ byteCountMax: Int
        ) throws(ImportExportError) -> ReadNote {
            let bytes: [UInt8]
            do throws(ImportExportError) {
                bytes = try reader.readAll(byteCountMax: byteCountMax)
            } catch {
                guard error.code == .fileTooLarge else { throw error }
                throw ImportExportError(.noteTooLarge, at: error.place, subject: error.subject)
            }
            return ReadNote(
                entry: entry, byteCount: bytes.count, contentHash: BLAKE2b.hash(bytes),
                content: try NoteFile.parse(bytes, path: path, limits: limits))
        }
    }
}
