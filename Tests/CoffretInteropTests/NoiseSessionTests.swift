// Noise beyond its vectors: turns, limits, nonces, bad keys, and every protocol with itself.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretCrypto
@testable import CoffretInterop

/// Two sides of a protocol, with random keys.
struct NoisePair {
    let initiator: NoiseHandshake
    let responder: NoiseHandshake

    init(_ noiseProtocol: NoiseProtocol, prologue: [UInt8] = []) throws {
        let pattern = noiseProtocol.pattern
        let keys = [NoiseStaticKey.generate(), NoiseStaticKey.generate()]
        let psk = pattern.needsPreSharedKey ? SystemRandomSource().bytes(count: 32) : nil
        func side(_ role: NoiseRole, _ own: Int) throws -> NoiseHandshake {
            try NoiseHandshake(
                noiseProtocol, role: role, prologue: prologue,
                staticKey: pattern.needsStaticKey(role) ? keys[own] : nil,
                remoteStaticKey: pattern.needsRemoteStaticKey(role) ? keys[1 - own].publicKey : nil, preSharedKey: psk)
        }
        initiator = try side(.initiator, 0)
        responder = try side(.responder, 1)
    }

    /// Carries all handshake messages across.
    func run() throws -> (initiator: NoiseSession, responder: NoiseSession) {
        while initiator.nextStep != .split {
            let (sender, receiver) = initiator.nextStep == .write ? (initiator, responder) : (responder, initiator)
            let payload = SystemRandomSource().bytes(count: 5)
            #expect(try receiver.readMessage(sender.writeMessage(payload)) == payload)
        }
        return (try initiator.makeSession(), try responder.makeSession())
    }
}

@Suite("Noise sessions")
struct NoiseSessionTests {
    static let protocols = NoisePattern.allCases.flatMap { pattern in
        NoiseCipher.allCases.map { NoiseProtocol(pattern, $0) }
    }

    @Test("two sides reach a session, rekey, and know each other", arguments: protocols)
    func session(noiseProtocol: NoiseProtocol) throws {
        #expect(NoiseProtocol(name: noiseProtocol.name) == noiseProtocol)
        let pair = try NoisePair(noiseProtocol, prologue: [1, 2])
        let (one, other) = try pair.run()
        #expect(one.handshakeHash == other.handshakeHash && one.handshakeHash == pair.initiator.handshakeHash)
        #expect((one.remoteStaticKey != nil) == noiseProtocol.pattern.needsStaticKey(.responder))
        #expect((other.remoteStaticKey != nil) == noiseProtocol.pattern.needsStaticKey(.initiator))
        for round in 0..<3 {
            for (sender, receiver) in [(one.sender, other.receiver), (other.sender, one.receiver)] {
                let first = try sender.encrypt([1], additionalData: [9])
                let second = try sender.encrypt([1], additionalData: [9])
                #expect(first != second)
                #expect(throws: InteropError(.authenticationFailed)) {
                    try receiver.decrypt(second, additionalData: [9])
                }
                #expect(throws: InteropError(.authenticationFailed)) { try receiver.decrypt(first) }
                #expect(try receiver.decrypt(first, additionalData: [9]) == [1])
                #expect(throws: InteropError(.authenticationFailed)) {
                    try receiver.decrypt(first, additionalData: [9])
                }
                #expect(try receiver.decrypt(second, additionalData: [9]) == [1])
                try sender.rekey()
                if round == 1 {
                    let unheard = try sender.encrypt([2])
                    #expect(throws: InteropError(.authenticationFailed)) { try receiver.decrypt(unheard) }
                    try receiver.rekey()
                    #expect(try receiver.decrypt(unheard) == [2])
                } else {
                    try receiver.rekey()
                }
            }
        }
    }

    @Test("R14: every flipped bit of a handshake fails, at once or at the next message", arguments: protocols)
    func flippedBits(noiseProtocol: NoiseProtocol) throws {
        let messageCount = noiseProtocol.pattern.messages.count
        let generator = SeededGenerator.fromEnvironment()
        for damaged in 0..<messageCount {
            // A sample of the bits, another one in every run.
            var bitOffset = generator.int(in: 0...12)
            var bitCount = Int.max
            while bitOffset < bitCount {
                let pair = try NoisePair(noiseProtocol)
                let failure = #expect(
                    throws: InteropError.self, "seed \(generator.seed), message \(damaged), bit \(bitOffset)"
                ) {
                    for index in 0..<messageCount {
                        let sides =
                            index % 2 == 0 ? (pair.initiator, pair.responder) : (pair.responder, pair.initiator)
                        var message = try sides.0.writeMessage([7])
                        if index == damaged {
                            bitCount = message.count * 8
                            message[bitOffset / 8] ^= 1 << UInt8(bitOffset % 8)
                        }
                        _ = try sides.1.readMessage(message)
                    }
                    // A change that both sides overlook would have to show here.
                    let first = try pair.initiator.makeSession()
                    let second = try pair.responder.makeSession()
                    _ = try second.receiver.decrypt(first.sender.encrypt([1]))
                }
                #expect(failure?.code == .authenticationFailed)
                bitOffset += 13
            }
        }
    }

    @Test("R14: every flipped bit of a session message fails and the session stands", arguments: NoiseCipher.allCases)
    func flippedSessionBits(cipher: NoiseCipher) throws {
        let (one, other) = try NoisePair(NoiseProtocol(.kk, cipher)).run()
        let message = try one.sender.encrypt([1, 2, 3])
        withEveryFlippedBit(message) { changed, bit in
            #expect(throws: InteropError(.authenticationFailed), "bit \(bit)") { try other.receiver.decrypt(changed) }
        }
        for byteCount in 0..<message.count {
            #expect(throws: InteropError(.authenticationFailed)) {
                try other.receiver.decrypt(Array(message[..<byteCount]))
            }
        }
        #expect(other.receiver.messageCount == 0)
        #expect(try other.receiver.decrypt(message) == [1, 2, 3])
    }

    @Test("steps out of turn are refused and change nothing")
    func turns() throws {
        let pair = try NoisePair(NoiseProtocol(.xx))
        #expect(throws: InteropError(.outOfOrder, at: "read")) { try pair.initiator.readMessage([1]) }
        #expect(throws: InteropError(.outOfOrder, at: "write")) { try pair.responder.writeMessage() }
        #expect(throws: InteropError(.outOfOrder, at: "split")) { try pair.initiator.makeSession() }
        #expect(pair.initiator.handshakeHash == nil)
        let (one, other) = try pair.run()
        #expect(try other.receiver.decrypt(one.sender.encrypt([1])) == [1])
        #expect(throws: InteropError(.outOfOrder, at: "split")) { try pair.initiator.makeSession() }
        #expect(throws: InteropError(.outOfOrder, at: "write")) { try pair.initiator.writeMessage() }
    }

    @Test("after a failed step the handshake is over and shows no key it was sent")
    func afterFailure() throws {
        let pair = try NoisePair(NoiseProtocol(.nx))
        _ = try pair.responder.readMessage(pair.initiator.writeMessage())
        var answer = try pair.responder.writeMessage()
        answer[answer.count - 1] ^= 1
        #expect(throws: InteropError(.authenticationFailed)) { try pair.initiator.readMessage(answer) }
        #expect(pair.initiator.nextStep == .over && pair.initiator.remoteStaticKey == nil)
        answer[answer.count - 1] ^= 1
        #expect(throws: InteropError(.outOfOrder, at: "read")) { try pair.initiator.readMessage(answer) }
    }

    @Test("another prologue or pre-shared key makes the handshake fail")
    func binding() throws {
        for pattern in [NoisePattern.nnPSK0, .nkPSK0, .oldPSKNN] {
            let noiseProtocol = NoiseProtocol(pattern)
            let one = try NoisePair(noiseProtocol)
            let other = try NoisePair(noiseProtocol)
            #expect(throws: InteropError(.authenticationFailed)) {
                try other.responder.readMessage(one.initiator.writeMessage())
            }
        }
        let key = NoiseStaticKey.generate()
        let initiator = try NoiseHandshake(NoiseProtocol(.nx), role: .initiator, prologue: [1])
        let responder = try NoiseHandshake(NoiseProtocol(.nx), role: .responder, prologue: [2], staticKey: key)
        _ = try responder.readMessage(initiator.writeMessage())
        #expect(throws: InteropError(.authenticationFailed)) { try initiator.readMessage(responder.writeMessage()) }
    }

    @Test("keys that are missing, or not needed, or of another size are refused", arguments: protocols)
    func wrongKeys(noiseProtocol: NoiseProtocol) throws {
        let pattern = noiseProtocol.pattern
        let key = NoiseStaticKey.generate()
        for role in [NoiseRole.initiator, .responder] {
            for mask in 0..<8 {
                let hasStatic = mask & 1 != 0
                let hasRemote = mask & 2 != 0
                let hasShared = mask & 4 != 0
                let isRight =
                    hasStatic == pattern.needsStaticKey(role) && hasRemote == pattern.needsRemoteStaticKey(role)
                    && hasShared == pattern.needsPreSharedKey
                let handshake = try? NoiseHandshake(
                    noiseProtocol, role: role, staticKey: hasStatic ? key : nil,
                    remoteStaticKey: hasRemote ? key.publicKey : nil,
                    preSharedKey: hasShared ? [UInt8](repeating: 1, count: 32) : nil)
                #expect((handshake != nil) == isRight)
            }
        }
        if pattern.needsPreSharedKey {
            #expect(throws: InteropError(.invalidKey, at: "pre-shared key size")) {
                try NoiseHandshake(
                    noiseProtocol, role: .initiator,
                    remoteStaticKey: pattern.needsRemoteStaticKey(.initiator) ? key.publicKey : nil, preSharedKey: [1])
            }
        }
        #expect(throws: InteropError.self) { try NoisePublicKey([1]) }
        #expect(throws: InteropError(.invalidKey, at: "x25519 key size")) { try NoiseStaticKey(privateKey: [1]) }
    }

    @Test("public keys of small order are refused: their shared secret is zero")
    func smallOrder() throws {
        let zero = [UInt8](repeating: 0, count: 32)
        // Read: an ephemeral key of zeros.
        let responder = try NoiseHandshake(NoiseProtocol(.xk), role: .responder, staticKey: .generate())
        #expect(throws: InteropError(.authenticationFailed)) {
            try responder.readMessage(zero + [UInt8](repeating: 0, count: 16))
        }
        // Written to: a static key of zeros.
        let initiator = try NoiseHandshake(
            NoiseProtocol(.ik), role: .initiator, staticKey: .generate(), remoteStaticKey: NoisePublicKey(zero))
        let error = #expect(throws: InteropError.self) { try initiator.writeMessage() }
        #expect(error?.code == .invalidKey && initiator.nextStep == .over)
    }

    @Test("messages of 65,535 bytes pass and longer ones are refused", arguments: NoiseCipher.allCases)
    func sizes(cipher: NoiseCipher) throws {
        let (one, other) = try NoisePair(NoiseProtocol(.nnPSK0, cipher)).run()
        let largest = [UInt8](repeating: 5, count: NoiseSender.plaintextByteCountMax)
        let message = try one.sender.encrypt(largest)
        #expect(message.count == 65_535)
        #expect(try other.receiver.decrypt(message) == largest)
        #expect(throws: InteropError(.limitExceeded, at: "plaintext")) { try one.sender.encrypt(largest + [1]) }
        #expect(throws: InteropError(.limitExceeded, at: "message")) { try other.receiver.decrypt(message + [1]) }
        let pair = try NoisePair(NoiseProtocol(.nx, cipher))
        #expect(throws: InteropError(.limitExceeded, at: "handshake payload")) {
            try pair.initiator.writeMessage([UInt8](repeating: 0, count: 65_535))
        }
        // The refusal changed nothing.
        _ = try pair.run()
        let over = try NoisePair(NoiseProtocol(.nx, cipher))
        #expect(throws: InteropError(.limitExceeded, at: "handshake message")) {
            try over.responder.readMessage([UInt8](repeating: 0, count: 65_536))
        }
    }

    @Test("in place gives the same bytes as apart", arguments: NoiseCipher.allCases)
    func inPlace(cipher: NoiseCipher) throws {
        func sender() throws -> NoiseSender {
            let key = unsafe SecretBytes(byteCount: 32) { unsafe $0.copyBytes(from: [UInt8](repeating: 3, count: 32)) }
            return NoiseSender(try NoiseCipherState(cipher, .seal, key: key))
        }
        let key = unsafe SecretBytes(byteCount: 32) { unsafe $0.copyBytes(from: [UInt8](repeating: 3, count: 32)) }
        let receiver = NoiseReceiver(try NoiseCipherState(cipher, .open, key: key))
        let plaintext = SystemRandomSource().bytes(count: 1_000)
        let apart = try sender().encrypt(plaintext)
        var buffer = plaintext + [UInt8](repeating: 0, count: 16)
        try unsafe buffer.withUnsafeMutableBytes { bytes in
            var span = unsafe bytes.mutableBytes
            try sender().encryptInPlace(&span)
        }
        #expect(buffer == apart)
        try unsafe buffer.withUnsafeMutableBytes { bytes in
            var span = unsafe bytes.mutableBytes
            try receiver.decryptInPlace(&span)
        }
        #expect(buffer.dropLast(16) == plaintext[...])
    }

    @Test("the last nonce is never used", arguments: NoiseCipher.allCases)
    func exhaustion(cipher: NoiseCipher) throws {
        func state(_ direction: CipherDirection) throws -> NoiseCipherState {
            let key = unsafe SecretBytes(byteCount: 32) { unsafe $0.copyBytes(from: [UInt8](repeating: 3, count: 32)) }
            return try NoiseCipherState(cipher, direction, key: key, nonce: UInt64.max - 1)
        }
        let sender = NoiseSender(try state(.seal))
        let receiver = NoiseReceiver(try state(.open))
        let last = try sender.encrypt([1])
        #expect(try receiver.decrypt(last) == [1])
        #expect(throws: InteropError(.nonceExhausted)) { try sender.encrypt([1]) }
        #expect(throws: InteropError(.nonceExhausted)) { try receiver.decrypt(last) }
        // Rekeying does not start the count anew.
        try sender.rekey()
        #expect(throws: InteropError(.nonceExhausted)) { try sender.encrypt([1]) }
    }

    @Test("messages sent from many tasks at once never share a nonce")
    func concurrency() async throws {
        let (one, other) = try NoisePair(NoiseProtocol(.kk)).run()
        let messages = try await withThrowingTaskGroup(of: [[UInt8]].self) { group in
            for _ in 0..<4 {
                group.addTask { try (0..<50).map { _ in try one.sender.encrypt([1]) } }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(messages).count == 200 && one.sender.messageCount == 200)
        // Each opens under exactly one nonce; sorted out by trying, all of them do.
        var rest = Set(messages)
        while !rest.isEmpty {
            let next = rest.first { (try? other.receiver.decrypt($0)) != nil }
            rest.remove(try #require(next))
        }
    }
}
