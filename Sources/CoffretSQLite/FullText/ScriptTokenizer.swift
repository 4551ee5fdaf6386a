// Words of a text. The one thing to keep true: what is indexed, what is searched for and what a
// snippet marks are cut into words by this one function.

internal import CSQLite

/// Cuts text into words: SQLite's `unicode61` without diacritics, and single characters for scripts
/// that write without spaces.
///
/// `unicode61` would take a whole Chinese sentence for one word. Here every character of such a
/// script is a word of its own, and a run of them in a query is a phrase, so that any part of a
/// sentence is found. Upper case and diacritics do not count.
@safe package final class ScriptTokenizer {
    /// A word: its folded form in UTF-8 and where it stands in the text, as byte offsets.
    package struct Word {
        package let folded: [UInt8]
        package let range: Range<Int>
    }

    private let base: fts5_tokenizer
    private let instance: OpaquePointer

    /// - Parameter api: of a connection that outlives the tokenizer.
    init(api: UnsafeMutablePointer<fts5_api>) throws(SQLiteError) {
        var base = fts5_tokenizer()
        var context: UnsafeMutableRawPointer?
        guard let find = unsafe api.pointee.xFindTokenizer, let create = unsafe Self.created(find, api, &context, &base)
        else { throw SQLiteError(.failed, place: "unicode61") }
        self.base = base
        unsafe instance = unsafe create
    }

    private static func created(
        _ find:
            @convention(c) (
                UnsafeMutablePointer<fts5_api>?, UnsafePointer<CChar>?,
                UnsafeMutablePointer<UnsafeMutableRawPointer?>?, UnsafeMutablePointer<fts5_tokenizer>?
            ) -> Int32,
        _ api: UnsafeMutablePointer<fts5_api>, _ context: inout UnsafeMutableRawPointer?, _ base: inout fts5_tokenizer
    ) -> OpaquePointer? {
        guard unsafe find(api, "unicode61", &context, &base) == SQLITE_OK, let create = unsafe base.xCreate else {
            return nil
        }
        var instance: OpaquePointer?
        let context = unsafe context
        // Diacritics are removed wherever a letter carries them (mode 2), not only in the mode 1 subset.
        let status = unsafe "remove_diacritics".withCString { name in
            unsafe "2".withCString { value in
                var arguments: [UnsafePointer<CChar>?] = unsafe [name, value]
                return unsafe create(context, &arguments, 2, &instance)
            }
        }
        return unsafe status == SQLITE_OK ? instance : nil
    }

    deinit {
        unsafe base.xDelete(instance)
    }

    typealias TokenCallback =
        @convention(c) (
            UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, Int32, Int32, Int32
        ) -> Int32

    /// Calls back for every word, in FTS5's own form; returns its status.
    func tokenize(
        _ text: UnsafePointer<CChar>?, byteCount: Int32, context: UnsafeMutableRawPointer?, flags: Int32,
        callback: TokenCallback
    ) -> Int32 {
        guard let text = unsafe text, byteCount > 0 else { return SQLITE_OK }
        let bytes = unsafe UnsafeBufferPointer(
            start: UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), count: Int(byteCount))
        var runStart = 0
        var offset = 0
        while offset < bytes.count {
            // Only characters of three and four bytes can be of a script without spaces.
            guard unsafe bytes[offset] >= 0xE0 else {
                offset += 1
                continue
            }
            let (scalar, length) = unsafe Self.scalar(at: offset, of: bytes)
            guard Self.standsAlone(scalar) else {
                offset += length
                continue
            }
            let status = unsafe tokenizeRun(runStart..<offset, of: text, context, flags, callback)
            guard status == SQLITE_OK else { return status }
            let own = unsafe callback(
                context, 0, text + offset, Int32(length), Int32(offset), Int32(offset + length))
            guard own == SQLITE_OK else { return own }
            offset += length
            runStart = offset
        }
        return unsafe tokenizeRun(runStart..<bytes.count, of: text, context, flags, callback)
    }

    /// Where the words of a run start in the whole text.
    @unsafe private struct RunContext {
        let context: UnsafeMutableRawPointer?
        let callback: TokenCallback
        let byteOffset: Int32
    }

    private func tokenizeRun(
        _ run: Range<Int>, of text: UnsafePointer<CChar>, _ context: UnsafeMutableRawPointer?, _ flags: Int32,
        _ callback: TokenCallback
    ) -> Int32 {
        guard !run.isEmpty else { return SQLITE_OK }
        if run.lowerBound == 0 {
            return unsafe base.xTokenize(instance, context, flags, text, Int32(run.count), callback)
        }
        var runContext = unsafe RunContext(
            context: context, callback: callback, byteOffset: Int32(run.lowerBound))
        return unsafe withUnsafeMutablePointer(to: &runContext) { pointer in
            unsafe base.xTokenize(
                instance, pointer, flags, text + run.lowerBound, Int32(run.count)
            ) { pointer, flags, token, count, start, end in
                let run = unsafe pointer!.assumingMemoryBound(to: RunContext.self).pointee
                return unsafe run.callback(
                    run.context, flags, token, count, start + run.byteOffset, end + run.byteOffset)
            }
        }
    }

    /// The words of `text` in order.
    package func words(of text: String) -> [Word] {
        var words: [Word] = []
        forEachWord(of: text) { folded, range in
            words.append(Word(folded: unsafe folded.withUnsafeBytes { unsafe Array($0) }, range: range))
            return true
        }
        return words
    }

    /// Calls `body` with each word's folded form and its byte offsets, until it returns false.
    package func forEachWord(of text: String, _ body: (RawSpan, Range<Int>) -> Bool) {
        var text = text
        withoutActuallyEscaping(body) { body in
            var visitor = WordVisitor(body: body)
            unsafe withUnsafeMutablePointer(to: &visitor) { visitor in
                text.withUTF8 { bytes in
                    let start = unsafe UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
                    _ = unsafe tokenize(
                        start, byteCount: Int32(clamping: bytes.count), context: visitor,
                        flags: Int32(FTS5_TOKENIZE_AUX)
                    ) { visitor, _, token, count, start, end in
                        let visitor = unsafe visitor!.assumingMemoryBound(to: WordVisitor.self)
                        // After the end of one run the next begins; it has to be refused as well.
                        guard unsafe !visitor.pointee.isDone else { return SQLITE_DONE }
                        let folded = unsafe RawSpan(
                            _unsafeStart: UnsafeRawPointer(token!), byteCount: Int(count))
                        let goesOn = unsafe visitor.pointee.body(folded, Int(start)..<Int(end))
                        unsafe visitor.pointee.isDone = !goesOn
                        return goesOn ? SQLITE_OK : SQLITE_DONE
                    }
                }
            }
        }
    }

    private struct WordVisitor {
        let body: (RawSpan, Range<Int>) -> Bool
        var isDone = false
    }

    // MARK: Scripts

    /// Decodes a character of three or four bytes; anything malformed is one byte of nothing.
    private static func scalar(at offset: Int, of bytes: UnsafeBufferPointer<UInt8>) -> (UInt32, Int) {
        let length = unsafe bytes[offset] >= 0xF0 ? 4 : 3
        guard offset + length <= bytes.count else { return (0, 1) }
        var scalar = unsafe UInt32(bytes[offset]) & (length == 4 ? 0x07 : 0x0F)
        for index in 1..<length {
            let byte = unsafe bytes[offset + index]
            guard byte & 0xC0 == 0x80 else { return (0, 1) }
            scalar = scalar << 6 | UInt32(byte & 0x3F)
        }
        return (scalar, length)
    }

    /// Whether a character is a word of its own: Thai, Lao, Burmese, Khmer, Hangul, kana, bopomofo, Han.
    ///
    /// Hangul is among them although Korean has spaces: particles are written onto the word.
    private static func standsAlone(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1100...0x11FF, 0x1780...0x17DD, 0x17E0...0x17F9,
            0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x3029, 0x3031...0x3035, 0x3041...0x309A,
            0x309D...0x309F, 0x30A1...0x30FA, 0x30FC...0x318E, 0x31A0...0x31BF, 0x31F0...0x31FF,
            0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA960...0xA97F, 0xAC00...0xD7FB, 0xF900...0xFAFF,
            0xFF66...0xFFDC, 0x1B000...0x1B16F, 0x20000...0x3FFFD:
            true
        default:
            false
        }
    }
}
