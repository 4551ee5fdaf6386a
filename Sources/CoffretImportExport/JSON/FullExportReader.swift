// Reads a full export, piece by piece. Invariant: nothing is believed: the check value of the whole file is compared
// first, then every value is read once without writing, then the vault is written.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage
internal import Glibc

/// Takes what the reader finds, in the order of the file.
protocol FullExportHandler {
    /// A file; `content` must be called once and hands over its pieces.
    ///
    /// - Parameter sealedFile: the id of a locked note's file, whose content is what lies on the disk; nil for any other.
    mutating func attachment(
        byteCount: Int, hash: [UInt8], sealedFile: UniqueID?,
        content: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError)
    mutating func beginCommit(time: Milliseconds) throws(ImportExportError)
    mutating func change(_ key: FactKey, _ value: ExportValue) throws(ImportExportError)
    mutating func endCommit() throws(ImportExportError)
}

/// A full export, open for reading, more than once.
final class FullExportFile {
    private let file: OwnedDescriptor
    private let subject: String
    let byteCount: UInt64

    init(path: String, file: OwnedDescriptor, byteCount: UInt64) {
        self.file = file
        self.byteCount = byteCount
        subject = printableText(path.utf8)
    }

    /// Bytes from `offset` on, at most `count`.
    func read(at offset: UInt64, count: Int) throws(ImportExportError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe pread(file.number, buffer.baseAddress, buffer.count, Int(offset))
        }
        guard result >= 0 else { throw ImportExportError(.sourceUnreadable, at: "errno \(errno)", subject: subject) }
        bytes.removeLast(count - result)
        return bytes
    }

    /// Compares the check value at the end with the bytes before it.
    ///
    /// - Throws: `.formatTruncated` if the file does not end with a check value, `.checkMismatch`.
    func verifyCheck() throws(ImportExportError) {
        let trailerByteCount = UInt64(FullExport.trailerByteCount)
        guard byteCount > trailerByteCount else { throw ImportExportError(.formatTruncated, subject: subject) }
        let trailer = try read(at: byteCount - trailerByteCount, count: Int(trailerByteCount))
        let digits = String(decoding: trailer.dropFirst(10).prefix(FullExport.checkDigitCount), as: UTF8.self)
        guard let stated = try? Hex.decode(digits), trailer == FullExport.trailer(check: Hex.encode(stated)) else {
            throw ImportExportError(.formatTruncated, at: "no check value at the end", subject: subject)
        }
        let hasher = CheckHasher()
        var offset: UInt64 = 0
        while offset < byteCount - trailerByteCount {
            let piece = try read(at: offset, count: Int(min(1 << 20, byteCount - trailerByteCount - offset)))
            guard !piece.isEmpty else { throw ImportExportError(.sourceChanged, subject: subject) }
            hasher.update(piece)
            offset += UInt64(piece.count)
        }
        guard hasher.value() == stated else { throw ImportExportError(.checkMismatch, subject: subject) }
    }

    /// Reads the whole file into a handler.
    ///
    /// - Returns: the state hash that the file states.
    func parse<Handler: FullExportHandler>(
        into handler: inout Handler, limits: ImportLimits
    ) throws(ImportExportError) -> [UInt8] {
        var offset: UInt64 = 0
        return try FullExportParser.parse(into: &handler, limits: limits) { [self] in
            let piece = try read(at: offset, count: 1 << 20)
            offset += UInt64(piece.count)
            return piece.isEmpty ? nil : piece
        }
    }
}

/// The grammar of a full export.
struct FullExportParser {
    private var reader: JSONReader
    private let limits: ImportLimits
    private var attachmentCount = 0

    /// The longest string: a value of a fact as base64.
    private static let stringByteCountMax = (FactLimits.valueByteCountMax + 64) / 3 * 4 + 4

    static func parse<Handler: FullExportHandler>(
        into handler: inout Handler, limits: ImportLimits, from source: @escaping () throws -> [UInt8]?
    ) throws(ImportExportError) -> [UInt8] {
        var parser = FullExportParser(
            reader: JSONReader(depthMax: limits.nestingDepthMax, stringByteCountMax: stringByteCountMax, from: source),
            limits: limits)
        do {
            return try parser.run(&handler)
        } catch let error as JSONError {
            if let cause = error.cause as? ImportExportError { throw cause }
            throw ImportExportError(formatError: error)
        } catch let error as ImportExportError {
            throw error
        } catch {
            throw ImportExportError(.formatInvalid, cause: error)
        }
    }

    private init(reader: JSONReader, limits: ImportLimits) {
        self.reader = reader
        self.limits = limits
    }

    private mutating func expect(_ token: JSONToken) throws {
        guard try reader.next() == token else { throw reader.error(.unexpectedValue) }
    }

    private mutating func text() throws -> String {
        guard case .string(let text) = try reader.next() else { throw reader.error(.unexpectedValue) }
        return text
    }

    private mutating func integer() throws -> Int64 {
        guard case .number(let digits) = try reader.next(), let number = Int64(digits) else {
            throw reader.error(.unexpectedValue)
        }
        return number
    }

    private mutating func hex(_ byteCount: Int) throws -> [UInt8] {
        guard let bytes = try? Hex.decode(try text()), bytes.count == byteCount else {
            throw reader.error(.unexpectedValue)
        }
        return bytes
    }

    private mutating func run<Handler: FullExportHandler>(_ handler: inout Handler) throws -> [UInt8] {
        try expect(.beginObject)
        try expect(.name("format"))
        try expect(.string(FullExport.format))
        try expect(.name("version"))
        let version = try integer()
        guard version == FullExport.version else {
            throw ImportExportError(.formatVersionUnknown, at: "version \(version)")
        }
        try expect(.name("exported"))
        guard (try? CivilTime.parse(try text())) != nil else { throw reader.error(.unexpectedValue) }
        try expect(.name("vault"))
        _ = try text()
        try expect(.name("items"))
        try expect(.beginArray)
        try reader.skipRest(of: .beginArray)
        try expect(.name("attachments"))
        try expect(.beginArray)
        while try attachment(&handler) {}
        try expect(.name("history"))
        try expect(.beginArray)
        while try commit(&handler) {}
        try expect(.name("stateHash"))
        let stateHash = try hex(32)
        try expect(.name("check"))
        _ = try hex(FullExport.checkDigitCount / 2)
        try expect(.endObject)
        try expect(.end)
        return stateHash
    }

    /// One element of the list of attachments; false at its end.
    private mutating func attachment<Handler: FullExportHandler>(_ handler: inout Handler) throws -> Bool {
        switch try reader.next() {
        case .endArray: return false
        case .beginObject: break
        default: throw reader.error(.unexpectedValue)
        }
        guard attachmentCount < limits.entryCountMax else { throw ImportExportError(.tooManyEntries) }
        attachmentCount += 1
        try expect(.name("byteCount"))
        let stated = try integer()
        guard stated >= 0, UInt64(stated) <= limits.fileByteCountMax else { throw ImportExportError(.fileTooLarge) }
        try expect(.name("hash"))
        let hash = try hex(32)
        var sealedFile: UniqueID?
        switch try reader.next() {
        case .name("sealed"):
            sealedFile = UniqueID(bytes: try hex(UniqueID.byteCount))
            try expect(.name("chunks"))
        case .name("chunks"): break
        default: throw reader.error(.unexpectedValue)
        }
        try expect(.beginArray)
        try handler.attachment(byteCount: Int(stated), hash: hash, sealedFile: sealedFile) {
            (write) throws(ImportExportError) in
            let hasher = CheckHasher()
            var byteCount: Int64 = 0
            try chunks { (piece) throws(ImportExportError) in
                byteCount += Int64(piece.count)
                guard byteCount <= stated else {
                    throw ImportExportError(.formatInvalid, at: "attachment longer than stated")
                }
                hasher.update(piece)
                try write(piece[...])
            }
            guard byteCount == stated, hasher.value() == hash else {
                throw ImportExportError(.formatInvalid, at: "attachment \(attachmentCount) is not what it states")
            }
        }
        try expect(.endObject)
        return true
    }

    private mutating func chunks(
        _ body: ([UInt8]) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        do {
            while true {
                let token = try reader.next()
                if token == .endArray { return }
                guard case .string(let text) = token, let piece = try? Base64.standard.decode(text),
                    piece.count <= FullExport.chunkByteCount
                else { throw reader.error(.unexpectedValue) }
                try body(piece)
            }
        } catch let error as JSONError {
            if let cause = error.cause as? ImportExportError { throw cause }
            throw ImportExportError(formatError: error)
        } catch let error as ImportExportError {
            throw error
        } catch {
            throw ImportExportError(.formatInvalid, cause: error)
        }
    }

    /// One element of the history; false at its end.
    private mutating func commit<Handler: FullExportHandler>(_ handler: inout Handler) throws -> Bool {
        switch try reader.next() {
        case .endArray: return false
        case .beginObject: break
        default: throw reader.error(.unexpectedValue)
        }
        try expect(.name("time"))
        try handler.beginCommit(time: try integer())
        try expect(.name("instance"))
        _ = try hex(UniqueID.byteCount)
        try expect(.name("changes"))
        try expect(.beginArray)
        var count = 0
        while true {
            let token = try reader.next()
            if token == .endArray { break }
            guard token == .beginArray else { throw reader.error(.unexpectedValue) }
            try change(&handler)
            count += 1
        }
        guard count > 0 else { throw reader.error(.unexpectedValue) }
        try expect(.endObject)
        try handler.endCommit()
        return true
    }

    private mutating func change<Handler: FullExportHandler>(_ handler: inout Handler) throws {
        guard let entity = ExportEntity.parse(try text()), let attribute = Attribute(try text()) else {
            throw reader.error(.unexpectedValue)
        }
        var element: [UInt8] = []
        switch try reader.next() {
        case .null: break
        case .string(let digits):
            guard let bytes = try? Hex.decode(digits), bytes.count == FactKey.elementByteCount else {
                throw reader.error(.unexpectedValue)
            }
            element = bytes
        default: throw reader.error(.unexpectedValue)
        }
        let value = try ExportValue(startingWith: try reader.next(), from: &reader)
        if let bytes = value.bytes, bytes.count > FactLimits.valueByteCountMax { throw reader.error(.stringTooLong) }
        if case .attachment(let index) = value, index >= attachmentCount { throw reader.error(.unexpectedValue) }
        try expect(.endArray)
        try handler.change(FactKey(entity: entity, attribute: attribute, element: element), value)
    }
}
