// Tables of comma-separated values, by libcsv. Invariant: a table that is cut short or is none is refused as a whole.

internal import CCSV
internal import CoffretBase

/// A table whose first row names its columns.
struct CSVTable {
    /// A row: the values by their column, with those that have none.
    typealias Row = [(column: String, value: String)]

    /// The names of the columns as they are written.
    let columns: [String]
    let rows: [[String]]
    /// Whether a quote within a quoted cell was not doubled, so that cells may end elsewhere than their program meant.
    let isIrregular: Bool

    /// Reads all of a table. Rows without any value are left out.
    ///
    /// - Throws: `.formatInvalid`, `.formatTruncated`, `.tooManyEntries`, `.textTooLong` where the table has them.
    init(_ bytes: [UInt8], rowCountMax: Int) throws(ImportExportError) {
        var collector = Collector(rowCountMax: rowCountMax)
        var result = Self.read(bytes, isLoose: false, into: &collector)
        isIrregular = result == COFFRET_CSV_FAILED
        if isIrregular {
            collector = Collector(rowCountMax: rowCountMax)
            result = Self.read(bytes, isLoose: true, into: &collector)
        }
        if let failure = collector.failure { throw failure }
        switch result {
        case COFFRET_CSV_READ: break
        case COFFRET_CSV_TRUNCATED: throw ImportExportError(.formatTruncated, at: "row \(collector.rows.count + 1)")
        case COFFRET_CSV_UNAVAILABLE: throw ImportExportError(.libraryMissing, at: "libcsv3")
        default: throw ImportExportError(.formatInvalid, at: "row \(collector.rows.count + 1)")
        }
        guard let first = collector.rows.first else { throw ImportExportError(.formatInvalid, at: "row 1") }
        columns = first.map { $0.trimmedBlanks() }
        rows = collector.rows.dropFirst().filter { $0.contains { !$0.isEmpty } }
    }

    /// The first row of a table's beginning; nil if it has none.
    static func firstRow(_ prefix: [UInt8]) -> [String]? {
        var collector = Collector(rowCountMax: 1)
        collector.stopsAtFirst = true
        _ = read(prefix, isLoose: true, into: &collector)
        return collector.failure == nil ? collector.rows.first : nil
    }

    func row(_ index: Int) -> Row {
        rows[index].enumerated().map { number, value in
            (number < columns.count ? columns[number] : "column \(number + 1)", value)
        }
    }

    private static func read(_ bytes: [UInt8], isLoose: Bool, into collector: inout Collector) -> coffret_csv_result {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? bytes[mark.count...] : bytes[...]
        return unsafe withUnsafeMutablePointer(to: &collector) { collector in
            unsafe text.withUnsafeBufferPointer { text in
                unsafe coffret_csv_read(
                    text.baseAddress, text.count, CChar(UInt8(ascii: ",")), isLoose ? 1 : 0,
                    { context, bytes, byteCount in
                        // SAFETY: the context is the collector of this call, which outlives it.
                        unsafe context?.assumingMemoryBound(to: Collector.self).pointee
                            .take(UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : byteCount))
                    },
                    // SAFETY: as above.
                    { unsafe $0?.assumingMemoryBound(to: Collector.self).pointee.endRow() ?? 1 }, collector)
            }
        }
    }

    private struct Collector {
        let rowCountMax: Int
        var stopsAtFirst = false
        var rows: [[String]] = []
        var failure: ImportExportError?
        private var cells: [String] = []

        init(rowCountMax: Int) { self.rowCountMax = rowCountMax }

        mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) {
            guard cells.count < CSVTable.columnCountMax, let text = unsafe String(validating: bytes, as: UTF8.self),
                !text.utf8.contains(0)
            else {
                failure = ImportExportError(.formatInvalid, at: "row \(rows.count + 1)")
                return
            }
            cells.append(text)
        }

        /// - Returns: nonzero to stop.
        mutating func endRow() -> Int32 {
            // The first row names the columns and counts for none.
            if rows.count > rowCountMax { failure = ImportExportError(.tooManyEntries) }
            rows.append(cells)
            cells = []
            return failure != nil || stopsAtFirst ? 1 : 0
        }
    }

    private static let columnCountMax = 1_024
}
