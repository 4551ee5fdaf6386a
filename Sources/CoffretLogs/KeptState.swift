// What a repository stores at a local checkpoint. The one thing to keep true: it is checked when it is read; what does not
// fit is computed anew from the entries, and nothing is believed because it was written here.

package import CoffretBase
package import CoffretHistory
package import CoffretStorage

/// The log that this copy of the store writes.
package struct OwnLog: Equatable, Sendable {
    package let instance: InstanceID
    /// Of its contexts.
    package let nonce: UniqueID
    package let firstLink: UInt32
    /// Of each other instance the newest mark that this log has told (E2).
    package internal(set) var said: Frontier

    package init(_ context: EntryContext, said: Frontier = Frontier()) {
        self.init(instance: context.instance, nonce: context.nonce, firstLink: context.firstLink, said: said)
    }

    init(instance: InstanceID, nonce: UniqueID, firstLink: UInt32, said: Frontier) {
        self.instance = instance
        self.nonce = nonce
        self.firstLink = firstLink
        self.said = said
    }
}

/// The state of a vault's history at a local checkpoint. Spec: Spec/history.md section 15, L1.
package struct KeptState: Equatable, Sendable {
    package var machine: MachineState
    /// Roots of trees that are stored with it.
    package var facts: BlobName
    package var index: BlobName
    package var items: BlobName
    /// Nil: no entry was written here, or the log was left.
    package var own: OwnLog?
    /// Links whose purge a person at this device refused.
    package var refusedPurges: Set<Int>
    /// The tree with which history begins, where what was deleted for good was taken out of it.
    package var start: BlobName?

    package init(
        machine: MachineState, facts: BlobName, index: BlobName, items: BlobName, own: OwnLog?,
        refusedPurges: Set<Int>, start: BlobName? = nil
    ) {
        self.machine = machine
        self.facts = facts
        self.index = index
        self.items = items
        self.own = own
        self.refusedPurges = refusedPurges
        self.start = start
    }

    func start(in machine: HistoryMachine<DiskHistoryStore>) -> HistoryStart? {
        guard let start, let link = machine.droppedBelow else { return nil }
        return HistoryStart(link: link, root: start)
    }

    /// [machine, facts, index, items, own / null, [* link number], ? start].
    package var encoded: [UInt8] {
        let machine = machine.encoded
        return CBOREncoder.encode(reservingByteCount: machine.count + 256) { encoder in
            encoder.encodeArrayHeader(count: start == nil ? 6 : 7)
            encoder.encode(bytes: machine)
            for name in [facts, index, items] { encoder.encode(name: name) }
            if let own {
                encoder.encodeArrayHeader(count: 4)
                encoder.encode(id: own.instance)
                encoder.encode(id: own.nonce)
                encoder.encode(unsigned: UInt64(own.firstLink))
                encoder.encode(frontier: own.said)
            } else {
                encoder.encodeNull()
            }
            encoder.encodeArrayHeader(count: refusedPurges.count)
            for link in refusedPurges.sorted() { encoder.encode(unsigned: UInt64(link)) }
            if let start { encoder.encode(name: start) }
        }
    }

    /// - Throws: `.stateMalformed`.
    package init(decoding bytes: [UInt8]) throws(HistoryError) {
        let parts: Parts
        do throws(CBORError) {
            parts = try withCBORDecoder(bytes) { (decoder) throws(CBORError) in try Parts(from: &decoder) }
        } catch {
            throw HistoryError(.stateMalformed, cause: error)
        }
        self.init(
            machine: try MachineState(decoding: parts.machine), facts: parts.names[0], index: parts.names[1],
            items: parts.names[2], own: parts.own, refusedPurges: Set(parts.refused), start: parts.start)
    }

    private struct Parts {
        let machine: [UInt8]
        var names: [BlobName] = []
        let own: OwnLog?
        var refused: [Int] = []
        let start: BlobName?

        init(from decoder: inout CBORDecoder) throws(CBORError) {
            let first = decoder.byteOffset
            let count = try decoder.readArrayHeader()
            guard count == 6 || count == 7 else { throw CBORError(.unexpectedItem, byteOffset: first) }
            machine = try decoder.readBytes()
            for _ in 0..<3 { names.append(try decoder.readName()) }
            if decoder.isNextNull {
                try decoder.readNull()
                own = nil
            } else {
                try decoder.readArrayHeader(count: 4)
                own = OwnLog(
                    instance: try decoder.readID(), nonce: try decoder.readID(),
                    firstLink: try decoder.readUnsigned(as: UInt32.self), said: try decoder.readFrontier())
            }
            let place = decoder.byteOffset
            for _ in 0..<(try decoder.readArrayHeader()) {
                let link = Int(try decoder.readUnsigned(as: UInt32.self))
                guard refused.last.map({ $0 < link }) ?? true else {
                    throw CBORError(.unexpectedItem, byteOffset: place)
                }
                refused.append(link)
            }
            self.start = count == 7 ? try decoder.readName() : nil
        }
    }
}
