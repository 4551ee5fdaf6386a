// Words of a text. Invariant: what is indexed, what is searched for and what a snippet marks are cut into words by
// this one function.

internal import CSQLite

/// Cuts text into words: SQLite's `unicode61` without diacritics, and single characters for scripts
/// that write without spaces.
///
/// `unicode61` would take a whole Chinese sentence for one word. Here every character of such a
/// script is a word of its own, and a run of them in a query is a phrase, so that any part of a
/// sentence is found. Upper case, diacritics and the widths of kana do not count (`LetterFolding`), an emoji is a word,
/// and a word in camel case is found by its parts as well.
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
            let (folded, end) = unsafe Self.folded(scalar, upTo: offset + length, of: bytes)
            let own = unsafe folded.withUnsafeBufferPointer { folded in
                unsafe UnsafeRawBufferPointer(folded).withMemoryRebound(to: CChar.self) { folded in
                    unsafe callback(
                        context, 0, folded.baseAddress, Int32(folded.count), Int32(offset), Int32(end))
                }
            }
            guard own == SQLITE_OK else { return own }
            offset = end
            runStart = end
        }
        return unsafe tokenizeRun(runStart..<bytes.count, of: text, context, flags, callback)
    }

    /// A character that stands alone as it is indexed, and where it ends: kana in one form, with the voicing mark behind.
    private static func folded(
        _ scalar: UInt32, upTo end: Int, of bytes: UnsafeBufferPointer<UInt8>
    ) -> ([UInt8], Int) {
        var folded = LetterFolding.hiragana(scalar)
        var end = end
        if (0x3041...0x309F).contains(folded), end < bytes.count, unsafe bytes[end] >= 0xE0 {
            let (mark, length) = unsafe Self.scalar(at: end, of: bytes)
            if let voiced = LetterFolding.voiced(folded, mark: mark) { (folded, end) = (voiced, end + length) }
        }
        guard let character = Unicode.Scalar(folded) else { return ([], end) }
        return (Array(String(character).utf8), end)
    }

    /// Where the words of a run start in the whole text, and who hears of them.
    @unsafe private struct RunContext {
        let context: UnsafeMutableRawPointer?
        let callback: TokenCallback
        let byteOffset: Int32
        /// The run itself.
        let text: UnsafePointer<CChar>
        let splitsCase: Bool

        /// Passes a word on, folded; a word in camel case in parts.
        func pass(_ token: UnsafePointer<CChar>?, _ count: Int32, _ start: Int32, _ end: Int32) -> Int32 {
            let word = unsafe UnsafeRawBufferPointer(start: token, count: Int(count))
            guard unsafe word.allSatisfy({ $0 < 0x80 }) else {
                let folded = unsafe LetterFolding.fold(word)
                return unsafe folded.withUnsafeBytes { folded in
                    unsafe pass(folded, flags: 0, start, end)
                }
            }
            if unsafe splitsCase, end - start == count {
                let original = unsafe UnsafeRawBufferPointer(start: text + Int(start), count: Int(count))
                let starts = unsafe ScriptTokenizer.partStarts(of: original)
                if starts.count > 1 { return unsafe pass(word, inPartsAt: starts, start) }
            }
            return unsafe pass(word, flags: 0, start, end)
        }

        private func pass(_ word: UnsafeRawBufferPointer, flags: Int32, _ start: Int32, _ end: Int32) -> Int32 {
            unsafe word.withMemoryRebound(to: CChar.self) { word in
                unsafe callback(
                    context, flags, word.baseAddress, Int32(word.count), start + byteOffset, end + byteOffset)
            }
        }

        /// Every part is a word; with the first and the last one stands the whole, with each between all from it on.
        private func pass(_ word: UnsafeRawBufferPointer, inPartsAt starts: [Int], _ start: Int32) -> Int32 {
            let ends = starts.dropFirst() + [word.count]
            for (index, (lower, upper)) in zip(starts, ends).enumerated() {
                let (from, to) = (start + Int32(lower), start + Int32(upper))
                let part = unsafe UnsafeRawBufferPointer(rebasing: word[lower..<upper])
                var status = unsafe pass(part, flags: 0, from, to)
                guard status == SQLITE_OK else { return status }
                let isAtEdge = index == 0 || index == starts.count - 1
                let rest = unsafe isAtEdge ? word : UnsafeRawBufferPointer(rebasing: word[lower...])
                status = unsafe pass(
                    rest, flags: FTS5_TOKEN_COLOCATED, isAtEdge ? start : from, start + Int32(word.count))
                guard status == SQLITE_OK else { return status }
            }
            return SQLITE_OK
        }
    }

    /// Where the parts of a word in camel case begin; one for any other word. A part has two letters or more, and there
    /// are at most six: keys and codes are no camel case.
    private static func partStarts(of word: UnsafeRawBufferPointer) -> [Int] {
        var starts = [0]
        for index in word.indices.dropFirst() {
            guard unsafe (0x61...0x7A).contains(word[index - 1]), unsafe (0x41...0x5A).contains(word[index]) else {
                continue
            }
            guard index - (starts.last ?? 0) >= 2, starts.count < 6 else { return [0] }
            starts.append(index)
        }
        return word.count - (starts.last ?? 0) >= 2 ? starts : [0]
    }

    private func tokenizeRun(
        _ run: Range<Int>, of text: UnsafePointer<CChar>, _ context: UnsafeMutableRawPointer?, _ flags: Int32,
        _ callback: TokenCallback
    ) -> Int32 {
        guard !run.isEmpty else { return SQLITE_OK }
        var runContext = unsafe RunContext(
            context: context, callback: callback, byteOffset: Int32(run.lowerBound), text: text + run.lowerBound,
            splitsCase: flags & FTS5_TOKENIZE_AUX == 0)
        return unsafe withUnsafeMutablePointer(to: &runContext) { pointer in
            unsafe base.xTokenize(
                instance, pointer, flags, text + run.lowerBound, Int32(run.count)
            ) { pointer, _, token, count, start, end in
                unsafe pointer!.assumingMemoryBound(to: RunContext.self).pointee.pass(token, count, start, end)
            }
        }
    }

    /// The words of `text` in order.
    package func words(of text: String, splitsCase: Bool = false) -> [Word] {
        var words: [Word] = []
        forEachWord(of: text, splitsCase: splitsCase) { folded, range in
            words.append(Word(folded: unsafe folded.withUnsafeBytes { unsafe Array($0) }, range: range))
            return true
        }
        return words
    }

    /// Calls `body` with each word's folded form and its byte offsets, until it returns false.
    ///
    /// - Parameter splitsCase: whether a word in camel case counts as its parts.
    package func forEachWord(of text: String, splitsCase: Bool = false, _ body: (RawSpan, Range<Int>) -> Bool) {
        var text = text
        withoutActuallyEscaping(body) { body in
            var visitor = WordVisitor(body: body)
            unsafe withUnsafeMutablePointer(to: &visitor) { visitor in
                text.withUTF8 { bytes in
                    let start = unsafe UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
                    _ = unsafe tokenize(
                        start, byteCount: Int32(clamping: bytes.count), context: visitor,
                        flags: Int32(splitsCase ? FTS5_TOKENIZE_DOCUMENT : FTS5_TOKENIZE_AUX)
                    ) { visitor, flags, token, count, start, end in
                        guard flags & FTS5_TOKEN_COLOCATED == 0 else { return SQLITE_OK }
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

    /// Whether a character is a word of its own: Thai, Lao, Burmese, Khmer, Hangul, kana, bopomofo, Han, emoji.
    ///
    /// Hangul is among them although Korean has spaces: particles are written onto the word.
    private static func standsAlone(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1100...0x11FF, 0x1780...0x17DD, 0x17E0...0x17F9,
            0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x3029, 0x3031...0x3035, 0x3041...0x309A,
            0x309D...0x309F, 0x30A1...0x30FA, 0x30FC...0x318E, 0x31A0...0x31BF, 0x31F0...0x31FF,
            0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA960...0xA97F, 0xAC00...0xD7FB, 0xF900...0xFAFF,
            0xFF66...0xFFDC, 0x1B000...0x1B16F, 0x20000...0x3FFFD,
            0x231A...0x231B, 0x23E9...0x23FA, 0x2600...0x27BF, 0x2B1B...0x2B1C, 0x2B50...0x2B55, 0x1F000...0x1FAFF:
            true
        default:
            false
        }
    }
}
