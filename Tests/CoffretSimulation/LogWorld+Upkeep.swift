// History that goes, copies, backups, words and lies. The one thing to keep true: only what the product does is done here.

internal import CoffretBase
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTestSupport

extension LogWorld {
    func drop(_ device: LogDevice) throws {
        let link = try device.repository.ask { (machine) in machine.isSure ? machine.base : nil }
        guard let link else { return }
        runs[ObjectIdentifier(device)] = nil
        let own = try device.unacknowledged()
        guard let plan = try device.repository.droppingPlan(below: link, unacknowledged: own) else { return }
        tell("\(name(device)) drops \(plan.entries.count) entries below link \(link)")
        _ = try device.repository.drop(plan, unacknowledged: own)
        if random.bool() { try LogCollector.request(below: link, in: device.repository) }
        try compact(device)
    }

    func compact(_ device: LogDevice) throws {
        guard LogCollector.requested(in: device.repository) == nil, random.bool() else { return }
        tell("\(name(device)) compacts")
        try device.compact()
    }

    /// A copy of the store goes on beside it, on the same device.
    func copy(_ device: LogDevice) throws {
        guard person.devices.count < Self.deviceCountMax, !revoked.contains(device.id) else { return }
        let copy = try person.addCopy(of: device)
        tell("\(name(device)) is copied to \(name(copy))")
    }

    /// A backup is made, or an old one is put in the place of the store, if the server has all of both.
    func putBack(_ device: LogDevice) throws {
        guard try device.unacknowledged().isEmpty, runs[ObjectIdentifier(device)] == nil else { return }
        let old = saved.filter { $0.device == ObjectIdentifier(device) }
        if old.isEmpty || random.bool() {
            saved.append((ObjectIdentifier(device), device.save()))
        } else {
            tell("\(name(device)) is put back")
            try device.putBack(random.element(of: old).store)
        }
    }

    /// An item that nobody's lines count in is written, retracted and deleted for good.
    func purge(_ device: LogDevice) throws {
        guard try device.repository.ask({ (machine) in machine.mayWrite && machine.isSure }) else { return }
        runs[ObjectIdentifier(device)] = nil
        let key = LogDevice.text(Self.noteCount + 1)
        do {
            try device.put(key, "purged \(random.int(in: 0...1_000))\n")
            guard random.bool() else { return }
            try device.repository.commit([LogChange(key: key, value: nil)], time: device.now)
        } catch let error as StorageError {
            guard error.code == .readOnly else { throw error }
            return
        }
        try checkpoint(device, purges: [key.entity])
        let base = try device.repository.ask { (machine) in machine.base }
        if let base, random.bool() { try LogCollector.request(below: base, in: device.repository) }
    }

    /// A device says its word, reads those of others, and has the server collect.
    func audit(_ device: LogDevice) throws {
        runs[ObjectIdentifier(device)] = nil
        do {
            if LogCollector.requested(in: device.repository) != nil { try device.sync() }
            let audit = try device.audit()
            if audit.isCopy { try LogCopies.note(in: device.repository) }
            let outcome = try device.collect(audit) { [self] in
                // Others do not wait for this one.
                let other = random.element(of: trusted)
                guard other !== device, runs[ObjectIdentifier(other)] == nil, random.bool() else { return }
                try attach(other)
                _ = try? other.sync()
            }
            if outcome != .none { tell("\(name(device)) has the server collect: \(outcome)") }
            try compact(device)
        } catch let error as SyncError {
            guard error.code != .vaultFailed else { throw error }
        }
    }

    func checkpoint(_ device: LogDevice, purges: [EntityID] = []) throws {
        runs[ObjectIdentifier(device)] = nil
        var options = LogSync.Options()
        options.writesCheckpoint = true
        options.purges = purges
        do {
            let report = try device.sync(options)
            tell(
                "\(name(device)) asks for a checkpoint: links \(report.linkCount), \(report.obstacle.map { "\($0)" } ?? "")"
            )
        } catch let error as SyncError {
            guard error.code != .vaultFailed else { throw error }
        }
    }

    /// For one whole sync the server shows an old head, or keeps objects back.
    func lie(_ device: LogDevice) {
        runs[ObjectIdentifier(device)] = nil
        let old = heads.isEmpty ? nil : random.element(of: heads)
        let keeps = random.bool()
        let random = random
        device.lie = { reply in
            switch reply {
            case .head where !keeps: return old.map { .head($0) } ?? reply
            case .page(let page) where keeps:
                let objects = page.objects.filter { _ in random.int(in: 0...3) > 0 }
                return .page(LogPage(objects: objects, cursor: page.cursor, hasMore: page.hasMore))
            default: return reply
            }
        }
        let result = Result { try device.sync() }
        device.lie = { $0 }
        tell("\(name(device)) is lied to: \(result)")
    }
}
