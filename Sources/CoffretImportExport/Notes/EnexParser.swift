// Evernote's export, taken apart on a thread of its own: its files may be larger than memory. Invariant: what is on the way
// to the importer is bounded, and so is every text that is held.

internal import CExpat
internal import CoffretBase
internal import CoffretCrypto
internal import Glibc

/// A piece of an export.
enum EnexEvent: Sendable {
    case noteStart
    /// A text below the note: its path, `note-attributes/author`, and its attribute `key`.
    case value(path: String, key: String?, text: String)
    case taskStart
    case resourceStart
    /// Bytes of the resource's content.
    case data([UInt8])
    /// MD5 of the content in hexadecimal digits.
    case resourceEnd(digest: String)
    case noteEnd
    /// BLAKE2b-256 of the file.
    case fileEnd([UInt8])
    case failure(ImportExportError)
}

/// Hands out the pieces of one file.
final class EnexStream {
    private static let waitingByteCountMax = 8 << 20

    private let messages = Handoff<EnexEvent>(costMax: EnexStream.waitingByteCountMax)
    private let worker: WorkerThread
    private var taken: [EnexEvent] = []
    private var position = 0

    /// Begins to read; nobody else may read the source until this object is gone.
    init(_ source: any ImportSource, entry: Int) {
        let task = Task(source: source, entry: entry, messages: messages)
        worker = WorkerThread { task.run() }
    }

    deinit {
        messages.stop()
        worker.join()
    }

    /// The next piece; nil at the end.
    ///
    /// - Throws: what reading the source throws; `.formatInvalid`, `.formatTruncated`, `.noteTooLarge`, `.libraryMissing`.
    func next() throws(ImportExportError) -> EnexEvent? {
        if position == taken.count {
            taken = messages.take() ?? []
            position = 0
            guard !taken.isEmpty else { return nil }
        }
        defer { position += 1 }
        let event = taken[position]
        // Handed over, so that the bytes do not live longer than needed.
        taken[position] = .noteEnd
        if case .failure(let error) = event { throw error }
        return event
    }

    private struct Task: @unchecked Sendable {
        // SAFETY: the source is read by this thread alone while it runs; its listing does not change.
        let source: any ImportSource
        let entry: Int
        let messages: Handoff<EnexEvent>

        func run() {
            do throws(ImportExportError) {
                let path = source.listing.entries[entry].path
                let parser = try EnexParser(subject: path.printable, limits: source.limits) { event, cost in
                    messages.put(event, cost: cost)
                }
                var hasher = BLAKE2bHasher(byteCount: 32)
                try source.visit({ $0 == entry }) { (_, reader) throws(ImportExportError) in
                    try reader.forEachPiece(byteCountMax: source.limits.fileByteCountMax) {
                        (piece) throws(ImportExportError) in
                        unsafe piece.withUnsafeBytes { unsafe hasher.update($0) }
                        try parser.read(piece, isLast: false)
                    }
                }
                try parser.read([], isLast: true)
                messages.put(.fileEnd(hasher.finish()), cost: 0)
            } catch {
                messages.put(.failure(error), cost: 0)
            }
            messages.end()
        }
    }
}

/// The parser: bytes in, pieces out.
@safe final class EnexParser {
    private let subject: String
    private let limits: ImportLimits
    /// Takes a piece and what it costs in bytes; false to stop.
    private let emit: (EnexEvent, Int) -> Bool
    // SAFETY: owned by this object alone, and freed in `deinit`.
    private var xml: OpaquePointer?
    private var failure: ImportExportError?
    private var open: [String] = []
    private var text: [UInt8] = []
    private var key: String?
    private var decoder = Base64Pieces()
    private var digest = HashContext(.md5)

    private static let depthMax = 64
    private static let valueByteCountMax = 1 << 20

    init(
        subject: String, limits: ImportLimits, emit: @escaping (EnexEvent, Int) -> Bool
    ) throws(ImportExportError) {
        self.subject = subject
        self.limits = limits
        self.emit = emit
        var visitor = unsafe coffret_xml_visitor(
            start: { context, name, attributes in
                unsafe EnexParser.of(context).start(name, attributes)
            },
            end: { context, _ in unsafe EnexParser.of(context).end() },
            text: { context, bytes, count in
                unsafe EnexParser.of(context).add(UnsafeBufferPointer(start: unsafe bytes, count: count))
            })
        // SAFETY: the parser is freed in `deinit`, and calls back only within `read`.
        unsafe xml = unsafe coffret_xml_create(&visitor, Unmanaged.passUnretained(self).toOpaque())
        guard unsafe xml != nil else { throw ImportExportError(.libraryMissing, at: "libexpat1") }
    }

    deinit { unsafe coffret_xml_free(xml) }

    private static func of(_ context: UnsafeMutableRawPointer?) -> EnexParser {
        guard let context = unsafe context else { preconditionFailure("a parser is given") }
        return unsafe Unmanaged<EnexParser>.fromOpaque(context).takeUnretainedValue()
    }

    /// Reads the next piece of the file.
    func read(_ piece: ArraySlice<UInt8>, isLast: Bool) throws(ImportExportError) {
        let result = unsafe piece.withUnsafeBufferPointer { bytes in
            unsafe coffret_xml_read(xml, bytes.baseAddress, bytes.count, isLast ? 1 : 0)
        }
        let place = unsafe "line \(coffret_xml_line(xml))"
        switch result {
        case COFFRET_XML_READ: return
        case COFFRET_XML_STOPPED: throw failure ?? ImportExportError(.stopped)
        case COFFRET_XML_ENTITY:
            throw ImportExportError(.formatInvalid, at: "\(place): an entity is declared", subject: subject)
        case COFFRET_XML_TRUNCATED: throw ImportExportError(.formatTruncated, at: place, subject: subject)
        default: throw ImportExportError(.formatInvalid, at: place, subject: subject)
        }
    }

    private func send(_ event: EnexEvent, cost: Int = 64) -> Int32 { emit(event, cost) ? 0 : 1 }

    private func fail(_ code: ImportExportError.Code, _ place: String) -> Int32 {
        failure = ImportExportError(code, at: place, subject: subject)
        return 1
    }

    // MARK: Elements

    private func start(_ name: UnsafePointer<CChar>?, _ list: UnsafePointer<UnsafePointer<CChar>?>?) -> Int32 {
        guard open.count < Self.depthMax else { return fail(.formatInvalid, "deeper than \(Self.depthMax)") }
        open.append(unsafe name.map { unsafe String(cString: $0) } ?? "")
        guard open.count > 1 || open[0] == "en-export" else { return fail(.formatInvalid, "no en-export") }
        text = []
        key = nil
        if let list = unsafe list {
            var index = 0
            while let attribute = unsafe list[index] {
                if unsafe strcmp(attribute, "key") == 0 {
                    key = unsafe list[index + 1].map { unsafe String(cString: $0) }
                }
                index += 2
            }
        }
        switch path {
        case "": return open.count == 2 && open[1] == "note" ? send(.noteStart) : 0
        case "task": return send(.taskStart)
        case "resource":
            decoder = Base64Pieces()
            digest.restart()
            return send(.resourceStart)
        default: return 0
        }
    }

    /// The path below the note; empty outside and for the note itself.
    private var path: String {
        open.count > 2 && open[1] == "note" ? open[2...].joined(separator: "/") : ""
    }

    private var isData: Bool { open.count == 4 && open[3] == "data" && open[2] == "resource" }

    private func add(_ bytes: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard open.count > 2 else { return 0 }
        if isData { return data(unsafe Array(bytes)) }
        let isContent = open.count == 3 && open[2] == "content"
        let max = isContent ? limits.noteByteCountMax : Self.valueByteCountMax
        unsafe text.append(contentsOf: bytes)
        guard text.count <= max else { return fail(.noteTooLarge, "bytes \(text.count)") }
        return 0
    }

    private func data(_ bytes: [UInt8]) -> Int32 {
        guard let decoded = decoder.take(bytes) else { return fail(.formatInvalid, "base64 of a resource") }
        guard !decoded.isEmpty else { return 0 }
        unsafe digest.update(decoded.span.bytes)
        return send(.data(decoded), cost: decoded.count)
    }

    private func end() -> Int32 {
        let path = path
        defer {
            if open.count > 0 { open.removeLast() }
            text = []
        }
        if path.isEmpty { return open.count == 2 && open[1] == "note" ? send(.noteEnd) : 0 }
        if isData {
            guard let rest = decoder.finish() else { return fail(.formatInvalid, "base64 of a resource") }
            unsafe digest.update(rest.span.bytes)
            return rest.isEmpty ? 0 : send(.data(rest), cost: rest.count)
        }
        if path == "resource" { return send(.resourceEnd(digest: Hex.encode(digest.finalize()))) }
        guard !text.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) else { return 0 }
        let value = String(decoding: text, as: UTF8.self)
        return send(.value(path: path, key: key, text: value), cost: text.count + 64)
    }
}

/// Base64 that comes in pieces, with line breaks in it.
private struct Base64Pieces {
    private var waiting: [UInt8] = []
    private var isPadded = false

    /// The bytes that can be decoded now; nil for what is no base64.
    mutating func take(_ bytes: [UInt8]) -> [UInt8]? {
        for byte in bytes {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: continue
            default: waiting.append(byte)
            }
        }
        guard waiting.count >= 64 << 10 else { return [] }
        // A last group with padding comes with `finish`.
        return decode(waiting.count / 4 * 4 - 4)
    }

    mutating func finish() -> [UInt8]? {
        while waiting.count % 4 != 0, !waiting.isEmpty, waiting.count % 4 != 1 { waiting.append(UInt8(ascii: "=")) }
        return decode(waiting.count)
    }

    private mutating func decode(_ count: Int) -> [UInt8]? {
        defer { waiting.removeFirst(count) }
        return try? Base64.standard.decode(String(decoding: waiting[..<count], as: UTF8.self))
    }
}
