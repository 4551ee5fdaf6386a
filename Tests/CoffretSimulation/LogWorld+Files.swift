// Files of attachments, and notes that get locked. The one thing to keep true: a file that was acknowledged is read whole at the
// end, and what was deleted for good is nowhere that a device may look.

internal import CoffretBase
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTestSupport

/// A note whose text was written in clear, and is to go for good.
struct LockedNote {
    let key: FactKey
    /// The entry that has the text in clear.
    let entry: BlobName
    let dot: Dot
    var isLocked = false

    /// Where the note stands once it is locked: a value that nobody merges.
    var sealedKey: FactKey { FactKey(entity: LogDevice.text(keyNumber + 1_000).entity, attribute: "sealed") }
    let keyNumber: Int
}

extension LogWorld {
    static let fileCount = 2
    private static let lockedNumber = 2_000

    // MARK: Files

    /// A file is attached under a number, or put in the place of the one there.
    func attach(_ device: LogDevice) throws {
        guard try device.repository.ask({ (machine) in machine.mayWrite }) else { return }
        let bytes = random.bytes(count: 0...3_000)
        let key = LogDevice.file(random.int(in: 1...Self.fileCount))
        do {
            let id = try device.attach(bytes, as: key)
            tell("\(name(device)) attaches \(bytes.count) bytes")
            attached[id] = (bytes, device.id)
        } catch let error as StorageError {
            guard error.code == .readOnly else { throw error }
        }
    }

    /// For one request about chunks after some there is no answer, if `fault` says so.
    func cutChunks(of device: LogDevice, _ fault: Int) {
        guard fault == 2 else { return }
        var left = random.int(in: 0...4)
        device.chunksPass = {
            left -= 1
            return left >= 0
        }
    }

    func checkFiles() throws {
        for device in trusted {
            for number in 1...Self.fileCount {
                for fact in try device.repository.present().facts(under: LogDevice.file(number)) {
                    try checkFile(fact, on: device)
                }
            }
        }
    }

    private func checkFile(_ fact: Fact, on device: LogDevice) throws {
        let reference = try AttachmentReference.parse(device.repository.present().value(of: fact))
        guard let written = attached[reference.fileID] else { throw SimulationFailure("a file of nobody") }
        let found: (id: UniqueID, bytes: [UInt8])
        do { found = try device.contents(of: fact) } catch {
            // A revoked device may name a file that it did not deliver.
            if revoked.contains(written.device) { return }
            throw SimulationFailure("\(name(device)) has no file under \(fact.key): \(error)")
        }
        guard found.bytes == written.bytes else { throw SimulationFailure("another file under \(fact.key)") }
    }

    // MARK: Locked notes

    /// A note in clear is written; one that was written before is locked: the text goes for good.
    func lock(_ device: LogDevice) throws {
        guard try device.repository.ask({ (machine) in machine.mayWrite && machine.isSure }) else { return }
        runs[ObjectIdentifier(device)] = nil
        guard let place = locked.indices.first(where: { !locked[$0].isLocked }) else { return try writeClear(device) }
        let note = locked[place]
        // Whoever has not seen it would not know what to delete.
        guard try !device.repository.present().facts(under: note.key).isEmpty else { return }
        lineCount += 1
        let sealed = "sealed \(lineCount)\n"
        do {
            try device.repository.commit(
                [LogChange(key: note.sealedKey, value: Array(sealed.utf8)), LogChange(key: note.key, value: nil)],
                time: device.now)
        } catch {
            guard error.code == .readOnly else { throw error }
            return
        }
        lines.append((note.sealedKey, sealed, device.id))
        tell("\(name(device)) locks \(note.key)")
        try checkpoint(device, purges: rules.fault == .keepsClearText ? [] : [note.key.entity])
        locked[place].isLocked = true
    }

    private func writeClear(_ device: LogDevice) throws {
        let number = Self.lockedNumber + locked.count
        let key = LogDevice.text(number)
        do {
            let clear = Array("in clear \(random.next())\n".utf8)
            guard let entry = try device.repository.commit([LogChange(key: key, value: clear)], time: device.now)
            else { return }
            locked.append(LockedNote(key: key, entry: entry.name, dot: entry.dot, keyNumber: number))
            tell("\(name(device)) writes \(key) in clear")
        } catch {
            guard error.code == .readOnly else { throw error }
        }
    }

    /// P3: all devices have waited, and nobody said no.
    func checkLocked() throws {
        let going = locked.filter(\.isLocked)
        guard !going.isEmpty else { return }
        // Seven days of use, of which each sync counts eight hours (N1).
        for _ in 0..<24 {
            person.server.clock.now += 9 * 3_600_000
            for device in trusted { try device.sync() }
        }
        for device in trusted {
            try device.repository.compact()
            for note in going where try isPurged(note, on: device) {
                guard (try? device.repository.exchange.sealedBlob(note.entry)) == nil else {
                    tell("\(name(device)): \(try device.summary())")
                    throw SimulationFailure("\(name(device)) keeps the text of \(note.key) in clear")
                }
            }
        }
        goneCount = going.count
    }

    /// Whether a link deletes the entry for good, and this device has gone by it.
    private func isPurged(_ note: LockedNote, on device: LogDevice) throws -> Bool {
        let (repository, now) = (device.repository, device.now)
        if rules.fault == .keepsClearText { return true }
        let refused = try repository.refusedPurges()
        return try repository.ask { (machine) throws(StorageError) in
            let members = machine.members
            for link in 0..<members.takenCount {
                // Words above the limit of a closed log are set aside, and go by a rule of their own.
                guard members.chain.links[link].checkpoint?.purges.contains(note.key.entity) == true,
                    members.chain.states[link].accepted.covers(note.dot),
                    case .done? = machine.purgeState(of: link, refused: refused, now: now)
                else { continue }
                return true
            }
            return false
        }
    }
}
