// The stored state in CBOR. The one thing to keep true: one state has one encoding, and lists that do not ascend are none.

internal import CoffretBase
internal import CoffretStorage
internal import CoffretTrust

extension MachineState {
    private static let version: UInt64 = 2

    package var encoded: [UInt8] { CBOREncoder.encode { encode(to: &$0) } }

    /// Layout: `machine` of Spec/history.md section 15.
    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 16)
        encoder.encode(unsigned: Self.version)
        encoder.encode(unsigned: UInt64(takenCount))
        encoder.encode(base) { $1.encode(unsigned: UInt64($0)) }
        encoder.encode(unsigned: UInt64(baseTrust.rawValue))
        encoder.encode(passedOver) { $1.encode(unsigned: UInt64($0)) }
        encoder.encode(logs) { log, encoder in log.encode(to: &encoder) }
        encoder.encode(replacedEarly) { early, encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: early.key.bytes)
            encoder.encode(early.dots) { $1.encode(dot: $0) }
        }
        encoder.encode(contested) { $1.encode(bytes: $0.bytes) }
        encoder.encode(bytes32: summary.digest.bytes32)
        encoder.encode(unsigned: summary.factCount)
        encoder.encode(droppedBelow) { $1.encode(unsigned: UInt64($0)) }
        encoder.encode(lackedEnds) { end, encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: UInt64(end.link))
            encoder.encode(id: end.instance)
        }
        for links in [refuted, believed, purged] { encoder.encode(links) { $1.encode(unsigned: UInt64($0)) } }
        encoder.encode(waits.waits.map(StoredWait.init).sorted()) { wait, encoder in wait.encode(to: &encoder) }
    }

    /// - Throws: `.stateMalformed`.
    package init(decoding bytes: [UInt8]) throws(HistoryError) {
        self = try withCBORDecoder(bytes, convert: { HistoryError(.stateMalformed, cause: $0) }) {
            (decoder) throws(CBORError) in try MachineState(from: &decoder)
        }
    }

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 16)
        let start = decoder.byteOffset
        guard try decoder.readUnsigned() == Self.version else { throw CBORError(.unexpectedItem, byteOffset: start) }
        takenCount = try decoder.readUnsigned(as: UInt32.self)
        base = try decoder.readIfNotNull { (decoder) throws(CBORError) in try decoder.readUnsigned(as: UInt32.self) }
        guard let trust = BaseTrust(rawValue: try decoder.readUnsigned(as: UInt8.self)),
            base != nil || trust == .verified
        else { throw CBORError(.unexpectedItem, byteOffset: start) }
        baseTrust = trust
        passedOver = try decoder.readIfNotNull { (decoder) throws(CBORError) in
            try decoder.readUnsigned(as: UInt32.self)
        }
        logs = try decoder.readList(by: \.instance) { (decoder) throws(CBORError) in try LogState(from: &decoder) }
        replacedEarly = try decoder.readList(by: \.key) { (decoder) throws(CBORError) in
            try EarlyReplacements(from: &decoder)
        }
        contested = try decoder.readList(by: \.self) { (decoder) throws(CBORError) in try decoder.readFactKey() }
        summary = StateSummary(digest: StateDigest(try decoder.readBytes32()), factCount: try decoder.readUnsigned())
        droppedBelow = try decoder.readIfNotNull { (decoder) throws(CBORError) in
            try decoder.readUnsigned(as: UInt32.self)
        }
        lackedEnds = try decoder.readList(by: \.self) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            return EndPlace(link: Int(try decoder.readUnsigned(as: UInt32.self)), instance: try decoder.readID())
        }
        refuted = try decoder.readLinks()
        believed = try decoder.readLinks()
        purged = try decoder.readLinks()
        let stored = try decoder.readList(by: \.self) { (decoder) throws(CBORError) in try StoredWait(from: &decoder) }
        var waits: [Waits.Subject: Waits.Wait] = [:]
        for wait in stored {
            guard let subject = wait.subject else { throw CBORError(.unexpectedItem, byteOffset: decoder.byteOffset) }
            waits[subject] = Waits.Wait(passed: wait.passed, lastClock: wait.lastClock)
        }
        self.waits = Waits(waits)
    }
}

extension LogState {
    fileprivate func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 7)
        encoder.encode(id: instance)
        encoder.encode(owner) { owner, encoder in
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(bytes: owner.accountID.bytes)
            encoder.encode(id: owner.deviceID)
            encoder.encode(unsigned: UInt64(owner.firstLink))
        }
        encoder.encode(applied) { $1.encode(mark: $0) }
        encoder.encode(limitLink) { $1.encode(unsigned: UInt64($0)) }
        encoder.encode(limitMark) { $1.encode(mark: $0) }
        encoder.encode(bool: isPending)
        encoder.encode(bool: isForked)
    }

    fileprivate init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 7)
        instance = try decoder.readID()
        owner = try decoder.readIfNotNull { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 3)
            let start = decoder.byteOffset
            guard let account = ChainID(try decoder.readBytes(count: 32)) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            return InstanceOwner(
                accountID: account, deviceID: try decoder.readID(), firstLink: try decoder.readUnsigned(as: UInt32.self)
            )
        }
        applied = try decoder.readIfNotNull { (decoder) throws(CBORError) in try decoder.readMark() }
        limitLink = try decoder.readIfNotNull { (decoder) throws(CBORError) in
            try decoder.readUnsigned(as: UInt32.self)
        }
        let start = decoder.byteOffset
        limitMark = try decoder.readIfNotNull { (decoder) throws(CBORError) in try decoder.readMark() }
        guard limitLink != nil || limitMark == nil else { throw CBORError(.unexpectedItem, byteOffset: start) }
        isPending = try decoder.readBool()
        isForked = try decoder.readBool()
    }
}

extension EarlyReplacements {
    fileprivate init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        let start = decoder.byteOffset
        let key = try decoder.readFactKey()
        let dots = try decoder.readList(by: \.self) { (decoder) throws(CBORError) in try decoder.readDot() }
        guard !dots.isEmpty else { throw CBORError(.unexpectedItem, byteOffset: start) }
        self.init(key: key, dots: dots)
    }
}

/// A wait by rule and by what is waited for.
private struct StoredWait: Comparable {
    /// A rule's number, then a link or an epoch, or 0, then account and device, or nobody.
    let rule: UInt64
    let number: UInt32
    let device: MemberDevice?
    let passed: Milliseconds
    let lastClock: Milliseconds

    init(_ subject: Waits.Subject, _ wait: Waits.Wait) {
        (rule, number, device) =
            switch subject {
            case .base(let link): (0, UInt32(link), nil)
            case .leftOut(let link): (1, UInt32(link), nil)
            case .unverified(let link): (2, UInt32(link), nil)
            case .purge(let link): (3, UInt32(link), nil)
            case .closedLogs: (4, 0, nil)
            case .key(let epoch): (5, epoch, nil)
            case .head: (6, 0, nil)
            case .ends(let device): (7, 0, device)
            case .proof(let link): (8, UInt32(link), nil)
            case .seen(let link): (9, UInt32(link), nil)
            case .setAside(let link): (10, UInt32(link), nil)
            }
        (passed, lastClock) = (wait.passed, wait.lastClock)
    }

    var subject: Waits.Subject? {
        guard passed >= 0 else { return nil }
        return switch (rule, device, number) {
        case (0, nil, _): .base(link: Int(number))
        case (1, nil, _): .leftOut(link: Int(number))
        case (2, nil, _): .unverified(link: Int(number))
        case (3, nil, _): .purge(link: Int(number))
        case (4, nil, 0): .closedLogs
        case (5, nil, _): .key(epoch: number)
        case (6, nil, 0): .head
        case (7, let device?, 0): .ends(device: device)
        case (8, nil, _): .proof(link: Int(number))
        case (9, nil, _): .seen(link: Int(number))
        case (10, nil, _): .setAside(link: Int(number))
        default: nil
        }
    }

    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 5)
        encoder.encode(unsigned: rule)
        encoder.encode(unsigned: UInt64(number))
        encoder.encode(bytes: device?.bytes ?? [])
        encoder.encode(signed: passed)
        encoder.encode(signed: lastClock)
    }

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 5)
        rule = try decoder.readUnsigned()
        number = try decoder.readUnsigned(as: UInt32.self)
        let start = decoder.byteOffset
        let bytes = try decoder.readBytes(countMax: MemberDevice.byteCount)
        device = MemberDevice(bytes: bytes)
        guard device != nil || bytes.isEmpty else { throw CBORError(.unexpectedItem, byteOffset: start) }
        passed = try decoder.readSigned()
        lastClock = try decoder.readSigned()
    }

    static func < (left: StoredWait, right: StoredWait) -> Bool {
        if left.rule != right.rule { return left.rule < right.rule }
        if left.number != right.number { return left.number < right.number }
        return (left.device?.bytes ?? []).lexicographicallyPrecedes(right.device?.bytes ?? [])
    }
}

// MARK: - Lists and null

extension CBOREncoder {
    fileprivate mutating func encode<Value>(_ value: Value?, _ write: (Value, inout CBOREncoder) -> Void) {
        if let value { write(value, &self) } else { encodeNull() }
    }

    fileprivate mutating func encode<Value>(_ values: [Value], _ write: (Value, inout CBOREncoder) -> Void) {
        encodeArrayHeader(count: values.count)
        for value in values { write(value, &self) }
    }
}

extension CBORDecoder {
    fileprivate mutating func readIfNotNull<Value>(
        _ read: (inout CBORDecoder) throws(CBORError) -> Value
    ) throws(CBORError) -> Value? {
        guard isNextNull else { return try read(&self) }
        try readNull()
        return nil
    }

    /// A list that ascends.
    fileprivate mutating func readList<Value, Order: Comparable>(
        by order: KeyPath<Value, Order>, _ read: (inout CBORDecoder) throws(CBORError) -> Value
    ) throws(CBORError) -> [Value] {
        let start = byteOffset
        var values: [Value] = []
        for _ in 0..<(try readArrayHeader()) {
            let value = try read(&self)
            if let last = values.last, last[keyPath: order] >= value[keyPath: order] {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            values.append(value)
        }
        return values
    }

    fileprivate mutating func readFactKey() throws(CBORError) -> FactKey {
        let start = byteOffset
        guard let key = FactKey(encoded: try readBytes(countMax: FactKey.byteCountMax)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return key
    }

    fileprivate mutating func readLinks() throws(CBORError) -> [UInt32] {
        try readList(by: \.self) { (decoder) throws(CBORError) in try decoder.readUnsigned(as: UInt32.self) }
    }
}
