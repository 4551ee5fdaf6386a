// What a hostile program writes by hand with the real keys of a device that it has. The one thing to keep true: all of it is
// sealed and signed as the product seals and signs, so that a refusal is one of content.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretSimulation
import CoffretStorage
import CoffretSync
import CoffretTestSupport
import CoffretTrust
import CoffretWire

@testable import CoffretLogs

/// A device whose program keeps to no rule.
struct HostileDevice {
    let device: LogDevice
    let random: SeededGenerator

    init(_ device: LogDevice) {
        self.device = device
        random = device.person.random
    }

    private var repository: LogRepository { device.repository }
    private var vaultID: VaultID { device.person.vaultID }
    var chains: FollowedChains {
        get throws { try device.chains.orFail("never synced") }
    }

    // MARK: Entries

    /// The context of a log of this device, or of one that it claims.
    func context(
        in vault: VaultID? = nil, account: ChainID? = nil, device id: UniqueID? = nil, nonce: UniqueID? = nil,
        firstLink: UInt32? = nil, at link: ChainPosition? = nil, headed: ChainPosition? = nil, epoch: UInt32? = nil,
        floor: UInt64 = EntryContext.formatVersion
    ) throws -> EntryContext {
        let members = repository.chains.members
        let newest = try members.links.last.orFail("no links")
        let head = try headed ?? ChainPosition(device.person.chain.head).orFail("no head")
        let place = link ?? ChainPosition(number: UInt64(newest.number), hash: newest.hash)
        return EntryContext(
            vaultID: vault ?? vaultID, accountID: account ?? device.person.account, deviceID: id ?? device.id,
            nonce: nonce ?? .generate(from: random), firstLink: firstLink ?? UInt32(place.number), deviceHead: head,
            memberHead: place, epoch: epoch ?? repository.keys.currentEpoch, formatFloor: floor)
    }

    /// A signed entry, and its blobs.
    struct Written {
        let name: BlobName
        let number: EntryNumber
        let objects: [ZoneObject]
        let content: [UInt8]
        let context: EntryContext
        var mark: EntryMark { EntryMark(number: number, name: name) }
    }

    func entry(
        _ context: EntryContext, _ number: EntryNumber = 1, after before: Written? = nil, height: Height = 50,
        seen: Frontier = Frontier(), replacing: [Dot] = [], put text: String, at key: FactKey,
        signedBy key2: SigningKey? = nil
    ) throws -> Written {
        var body = EntryBody(
            context: context.name, number: number, before: before?.name, height: height, time: device.now, seen: seen)
        body.changes = EntryChanges.list(
            [Change(key: key, content: .inPlace([0] + Array(text.utf8)), replaces: replacing)],
            salt: random.bytes(count: HistoryLimits.saltByteCount))
        let signed = body.sign(in: context, with: key2 ?? device.secrets.signing)
        let (blobs, names) = try seal([(context.encode(), .entryContext), (signed.content, .entry)])
        return Written(
            name: names[1], number: number, objects: blobs, content: signed.content, context: context)
    }

    /// The code with which a reader refuses an entry by itself; nil: it takes it.
    func refusal(of entry: Written, on reader: LogDevice) throws -> HistoryError.Code? {
        let members = try reader.repository.ask { (machine) in machine.members }
        do throws(HistoryError) {
            let read = try UnverifiedEntry.decode(entry.content, name: entry.name) { _ in entry.context }
            _ = try EntryVerifier(vaultID: vaultID, authority: members).verifySignature(of: read)
            return nil
        } catch {
            return error.code
        }
    }

    func seal(_ contents: [([UInt8], BlobType)]) throws -> (objects: [ZoneObject], names: [BlobName]) {
        var (objects, names) = ([ZoneObject](), [BlobName]())
        for (content, type) in contents {
            let blob = try repository.blobs.seal(content, type: type)
            objects.append(ZoneObject(address: blob.sealed.address.bytes, ciphertext: blob.sealed.bytes))
            names.append(blob.name)
        }
        return (objects, names)
    }

    // MARK: Heads and pushes

    /// A head that says what this device likes.
    func head(_ context: EntryContext, _ marks: Frontier) throws -> (address: [UInt8], objects: [ZoneObject]) {
        let body = ZoneFrontier(
            context: context.name, base: nil, marks: marks, digest: StateDigest(Bytes32(0, 0, 0, 0)), time: device.now)
        let signed = body.sign(in: context, with: device.secrets.signing)
        let (objects, _) = try seal([(context.encode(), .entryContext), (signed, .frontier)])
        return (objects[1].address, objects)
    }

    /// Pushes to the real server, over the head that is there.
    @discardableResult
    func push(_ objects: [ZoneObject], to new: [UInt8]? = nil) throws -> LogReply {
        let zone = try device.person.head().orFail("no head")
        var hasher = PushedObjectsHasher()
        for object in objects { hasher.add(address: object.address, ciphertext: object.ciphertext) }
        let target = new ?? zone.address
        let epoch = repository.keys.currentEpoch
        let proof = ZoneProof.push(
            expectedHead: zone.address, newHead: target, epoch: epoch, hash: hasher.finish())
        let push = ZonePush(
            expectedHead: zone.address, newHead: target, epoch: epoch, objects: objects,
            signature: proof.sign(zone: vaultID.bytes, with: device.secrets.signing))
        return try device.person.ask(.push(push), by: device)
    }

    // MARK: Links

    /// The next link of the member chain, as this device writes it.
    func link(
        _ kind: MemberOperation.Kind = .state, checkpoint: Checkpoint? = nil, cursor: [UInt8]? = nil,
        confirms: [ChainID] = [], time: Milliseconds? = nil, headed head: Bytes32? = nil, opening: EpochOpening? = nil
    ) throws -> UnverifiedLink {
        let chains = try chains
        let own = try Bytes32(device.person.chain.head.linkHash).orFail("no head")
        let operation = MemberOperation(
            kind, by: device.person.account, deviceHead: head ?? own, confirms: confirms, opening: opening)
        let state = try chains.members.orFail("no members").state
        let epoch = try state.states.last.orFail("no state").epoch
        let key = try device.vaultKeys[epoch].orFail("no key")
        let sealed = MemberSealing.seal(
            MemberDetails(time: time ?? device.now, checkpoint: checkpoint, cursor: cursor),
            number: UInt64(chains.links.count), in: vaultID, epoch: epoch, key: key, random: random)
        return UnverifiedLink.sign(
            kind: .member, chainID: ChainID(vaultID.bytes), sequenceNumber: UInt64(chains.links.count),
            publicPart: operation.encoded, sealedPart: sealed,
            previousLinkHash: try chains.links.last.orFail("no links").hash(
                inChain: chains.links.count == 1 ? nil : ChainID(vaultID.bytes)), with: device.secrets.signing)
    }

    /// Gives a link to the real server, on the head that the zone has.
    @discardableResult
    func post(_ link: UnverifiedLink) throws -> LogReply {
        let head = try device.person.head()?.address
        return try device.person.ask(.members(MemberPost(link: link.encoded, expectedHead: head)), by: device)
    }

    // MARK: Words

    /// A word about what this device has, as the zone keeps it.
    func acknowledgement(
        _ numbers: [InstanceID: EntryNumber], counter: UInt64, context: EntryContext? = nil
    ) throws -> [UInt8] {
        let context = try context ?? self.context()
        let word = AppliedWord(base: nil, numbers: numbers, digest: StateDigest(Bytes32(0, 0, 0, 0)))
        let message = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 7)
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: context.encode())
            word.encode(to: &encoder)
            encoder.encode(unsigned: counter)
            encoder.encode(signed: device.now)
        }
        let signature = device.secrets.signing.sign(.acknowledgement, scope: vaultID.bytes, message: message)
        var content = UInt32(message.count).bigEndianBytes + message + signature
        content += [UInt8](repeating: 0, count: 2_048 - content.count)
        let keys = repository.keys
        let sealed = unsafe content.withUnsafeBytes { bytes in
            unsafe Envelope.seal(
                bytes, key: keys.current.acknowledgementKey, context: .acknowledgementSeal,
                associatedData: vaultID.bytes + device.id.bytes, fill: .none, random: random)
        }
        return keys.currentEpoch.bigEndianBytes + sealed
    }
}

extension Optional {
    func orFail(_ what: String) throws -> Wrapped {
        guard let self else { throw SimulationFailure(what) }
        return self
    }
}
