// Checking every byte of the record files. The one thing to keep true: it trusts nothing that opening
// took on trust, and reports all it finds instead of stopping at the first.

internal import CoffretBase
internal import CoffretCrypto

/// What a check of all record files found.
package struct BlobCheckReport: Sendable {
    package internal(set) var fileCount = 0
    package internal(set) var blobCount = 0
    package internal(set) var transactionCount = 0
    package internal(set) var byteCount = 0
    /// Damage to what cannot be made again.
    package internal(set) var problems: [StorageError] = []
    /// Damage to derived data, and leftovers of a crash: harmless, and gone after the next compaction or
    /// opening for writing.
    package internal(set) var repairable: [StorageError] = []

    package var isClean: Bool { problems.isEmpty && repairable.isEmpty }

    package init() {}
}

extension BlobStore {
    /// Reads every file of records whole: each transaction's code, each blob's seal and name, each page
    /// of each index, and whether they agree.
    ///
    /// In a store opened for writing, bytes of an unfinished append are cleared away first, with a notice.
    /// - Parameter progress: called after each file with bytes done and bytes in all; an error that it
    ///   throws ends the check.
    package func check(progress: (_ done: Int, _ total: Int) throws -> Void) rethrows -> BlobCheckReport {
        var report = BlobCheckReport()
        let total = fileByteCount
        for entry in manifest.sealed {
            report.collect { (report) throws(StorageError) in try check(SealedFile(entry, context: context), &report) }
            report.byteCount += entry.byteCount
            try progress(report.byteCount, total)
        }
        report.collect { (report) throws(StorageError) in try checkActive(&report) }
        report.byteCount += active.capacityByteCount
        try progress(report.byteCount, total)
        report.collect { (report) throws(StorageError) in try checkOrphans(&report) }
        report.fileCount = manifest.sealed.count + 1
        return report
    }

    /// As above, in silence.
    package func check() -> BlobCheckReport { check { _, _ in } }

    /// Calls `body` with the name and the content of each blob of a type that lies here, in no order; one that lies twice
    /// comes twice. A blob that does not verify is left out: `check` tells of it.
    ///
    /// - Complexity: reads and opens all blobs.
    package func forEachBlob(
        type wanted: BlobType, _ body: (BlobName, [UInt8]) throws(StorageError) -> Void
    ) throws(StorageError) {
        func look(_ payload: UnsafeRawBufferPointer) throws(StorageError) {
            let address = unsafe BlobAddress(Bytes32(UnsafeRawBufferPointer(rebasing: payload[..<32])))
            let sealed = unsafe UnsafeRawBufferPointer(rebasing: payload[32...])
            guard let name = unsafe sealer.name(ofAddress: address, sealed: sealed) else { return }
            let content = try unsafe sealer.open(sealed, name: name, type: nil) { (type, content) -> [UInt8]? in
                type == wanted ? content.copy(0..<content.count) : nil
            }
            if let content = content.flatMap({ $0 }) { try body(name, content) }
        }
        for entry in manifest.sealed {
            let walker = try openFile(entry).recordWalker()
            while let record = try walker.next() {
                guard record.kind == .blob else { continue }
                try unsafe walker.withPayload(of: record) { (payload) throws(StorageError) in try unsafe look(payload) }
            }
        }
        let scanner = try active.makeScanner(
            offset: SegmentKind.journal.recordsOffset, nextSequence: active.header.firstSequence)
        while scanner.offset < active.endOffset, let transaction = try scanner.next() {
            for blob in transaction.blobs {
                let payload = try translatingFileErrors(
                    active.file.read(
                        byteCount: blob.location.recordByteCount - RecordHeader.byteCount,
                        at: blob.location.byteOffset + RecordHeader.byteCount))
                try unsafe payload.lending(0..<payload.count) { (bytes) throws(StorageError) in try unsafe look(bytes) }
            }
        }
    }

    private func check(_ file: SealedFile, _ report: inout BlobCheckReport) throws(StorageError) {
        let damagedIndex = StorageError(.indexDamaged, place: file.place)
        if let entries = try file.indexEntriesOnDisk() {
            // A blob may lie twice in a journal segment; one of the records is indexed then.
            let records = try file.recordEntries()
            if !Set(entries).isSubset(of: records) || Set(entries.map(\.prefix)) != Set(records.map(\.prefix)) {
                report.repairable.append(damagedIndex)
            }
        } else {
            report.repairable.append(damagedIndex)
        }
        if file.id.kind == .journal {
            let scanner = try SegmentScanner(
                file: file.file, salt: file.header.salt, authenticator: context.authenticator,
                offset: SegmentKind.journal.recordsOffset, nextSequence: file.header.firstSequence)
            while try scanner.next() != nil { report.transactionCount += 1 }
            if scanner.stop != .index {
                report.problems.append(
                    StorageError(.journalDamagedSegment, place: "\(file.place) offset \(scanner.offset)"))
            }
            try checkFirstPage(of: file.file, header: file.header, place: file.place, &report)
        }
        let walker = file.recordWalker()
        while let record = try walker.next() {
            guard record.kind == .blob else { continue }
            try unsafe walker.withPayload(of: record) { (payload) throws(StorageError) in
                try unsafe checkBlob(payload, place: "\(file.place) offset \(record.byteOffset)", &report)
            }
        }
        let room = file.byteCount - SealedFileFooter.byteCount - walker.offset - RecordHeader.byteCount
        if walker.indexByteCount != room, !report.repairable.contains(damagedIndex) {
            report.repairable.append(damagedIndex)
        }
    }

    private func checkActive(_ report: inout BlobCheckReport) throws(StorageError) {
        let segment = active
        if isWritable { try segment.ensureRoomIsEmpty(through: .max) }
        let scanner = try segment.makeScanner(
            offset: SegmentKind.journal.recordsOffset, nextSequence: segment.header.firstSequence)
        while let transaction = try scanner.next() {
            report.transactionCount += 1
            for blob in transaction.blobs {
                let place = "\(segment.place) offset \(blob.location.byteOffset)"
                let payload = try translatingFileErrors(
                    segment.file.read(
                        byteCount: blob.location.recordByteCount - RecordHeader.byteCount,
                        at: blob.location.byteOffset + RecordHeader.byteCount))
                try unsafe payload.lending(0..<payload.count) { (bytes) throws(StorageError) in
                    try unsafe checkBlob(bytes, place: place, &report)
                }
            }
        }
        if scanner.offset < segment.endOffset {
            report.problems.append(
                StorageError(.journalDamagedSegment, place: "\(segment.place) offset \(scanner.offset)"))
        } else if scanner.stop != .empty {
            report.repairable.append(StorageError(.journalTornTail, place: "\(segment.place) offset \(scanner.offset)"))
        } else if try !scanner.isRestEmpty() {
            report.repairable.append(StorageError(.journalTornTail, place: "\(segment.place) offset \(scanner.offset)"))
        }
        try checkFirstPage(of: segment.file, header: segment.header, place: segment.place, &report)
        for (_, reader) in segment.runs {
            do throws(StorageError) {
                _ = try reader.allEntries()
            } catch {
                guard error.code == .indexDamaged else { throw error }
                report.repairable.append(error)
            }
        }
    }

    /// The part of a journal's first page that nothing else verifies: the hint, and zeros.
    private func checkFirstPage(
        of file: any OpenFile, header: SegmentHeader, place: String, _ report: inout BlobCheckReport
    ) throws(StorageError) {
        let page = try translatingFileErrors(file.read(byteCount: SegmentKind.journal.recordsOffset, at: 0))
        if try SegmentHeader.parse(
            Array(page[..<SegmentHeader.byteCount]), place: place, authenticator: context.authenticator) != header
        {
            report.problems.append(StorageError(.journalDamagedSegment, place: place))
        }
        let hintEnd = PositionHint.fileOffset + PositionHint.byteCount
        let hint = Array(page[PositionHint.fileOffset..<hintEnd])
        let isHintUsable =
            PositionHint.parse(hint, salt: header.salt, authenticator: context.authenticator) != nil
        let isRoomEmpty =
            Array(page[SegmentHeader.byteCount..<PositionHint.fileOffset]).isAllZero
            && Array(page[hintEnd...]).isAllZero
        if !isHintUsable || !isRoomEmpty {
            report.repairable.append(StorageError(.indexDamaged, place: "\(place) first page"))
        }
    }

    /// - Parameter payload: address ‖ stored blob.
    private func checkBlob(
        _ payload: UnsafeRawBufferPointer, place: String, _ report: inout BlobCheckReport
    ) throws(StorageError) {
        report.blobCount += 1
        let address = unsafe BlobAddress(Bytes32(UnsafeRawBufferPointer(rebasing: payload[..<32])))
        let sealed = unsafe UnsafeRawBufferPointer(rebasing: payload[32...])
        if let name = unsafe sealer.name(ofAddress: address, sealed: sealed),
            try unsafe sealer.open(sealed, name: name, type: nil, { (_, _) in true }) != nil
        {
            return
        }
        report.problems.append(StorageError(.blobAuthenticationFailed, place: place))
    }

    private func checkOrphans(_ report: inout BlobCheckReport) throws(StorageError) {
        var paths = try orphanPaths()
        if paths.contains(where: { $0.hasSuffix(SealedRewrite.suffix) }) {
            // Whoever writes files anew has them unlisted until they count.
            let lock = try SealedRewrite.takeLock(context)
            if lock == nil { paths.removeAll { $0.hasSuffix(SealedRewrite.suffix) } }
            try? lock?.unlock()
        }
        for path in paths {
            report.repairable.append(StorageError(.packDamaged, place: "\(path): nothing refers to this file"))
        }
    }
}

extension BlobCheckReport {
    /// Runs one part of the check; what it throws becomes a finding.
    fileprivate mutating func collect(_ body: (inout BlobCheckReport) throws(StorageError) -> Void) {
        do throws(StorageError) { try body(&self) } catch { problems.append(error) }
    }
}
