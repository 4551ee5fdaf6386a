// Values of pairings that another implementation computed.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretPairing

@Suite("Pairing vectors")
struct PairingVectorTests {
    @Test("identities, commitments, proofs, codes and messages")
    func vectors() throws {
        struct Vector: Decodable {
            let comment, name, firstCode, secondCode, seed, requester, approver, handshakeHash: String
            let requesterNonce, approverNonce, secret, commitment, signature: String
            let scannedApprover, scannedRequester, commitMessage, challengeMessage, revealMessage: String
        }
        let vectors = try VectorFile.decode([Vector].self, from: "pairing/pairing.json")
        #expect(vectors.count == 4)
        for vector in vectors {
            let requester = try Hex.decode(vector.requester)
            let approver = try Hex.decode(vector.approver)
            let hash = try Hex.decode(vector.handshakeHash)
            let (requesterNonce, approverNonce) = (
                try Hex.decode(vector.requesterNonce), try Hex.decode(vector.approverNonce)
            )
            let identity = try RequesterIdentity(decoding: requester)
            #expect(identity.name == vector.name)
            #expect(identity.encoded == requester)
            let account = try ApproverIdentity(decoding: approver)
            #expect(account.encoded == approver)
            let commitment = PairingTranscript.commitment(
                handshakeHash: hash, requester: requester, nonce: requesterNonce)
            #expect(Hex.encode(commitment) == vector.commitment)
            let seed = try Hex.decode(vector.seed)
            let key = SigningKey(seed: unsafe SecretBytes(byteCount: 32) { unsafe $0.copyBytes(from: seed) })
            let signature = key.sign(
                .pairingPossession, scope: account.accountID.bytes,
                message: PairingTranscript.possession(
                    handshakeHash: hash, requester: requester, approver: approver, approverNonce: approverNonce,
                    requesterNonce: requesterNonce))
            #expect(Hex.encode(signature) == vector.signature)
            let codes = PairingTranscript.codes(
                handshakeHash: hash, commitment: commitment, requester: requester, approver: approver,
                approverNonce: approverNonce, requesterNonce: requesterNonce)
            #expect(codes.first.isEqual(to: vector.firstCode) && codes.second.isEqual(to: vector.secondCode))
            let secret = try Hex.decode(vector.secret)
            let proofs = [PairingTranscript.Scanned.approver, .requester].map {
                Hex.encode(PairingTranscript.scannedProof($0, secret: secret, handshakeHash: hash))
            }
            #expect(proofs == [vector.scannedApprover, vector.scannedRequester])
            let messages: [(PairingMessage, String)] = [
                (.commit(commitment: commitment, requester: requester), vector.commitMessage),
                (.challenge(nonce: approverNonce, approver: approver, proof: []), vector.challengeMessage),
                (
                    .reveal(
                        nonce: requesterNonce, signature: signature, proof: try Hex.decode(vector.scannedRequester)),
                    vector.revealMessage
                ),
            ]
            for (message, bytes) in messages { #expect(Hex.encode(message.encoded) == bytes) }
        }
    }
}
