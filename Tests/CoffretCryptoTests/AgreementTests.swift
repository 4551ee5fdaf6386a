// The agreement and the cipher of the desktop's Secret Service. Other programs' own implementations are met in the tests of the
// service; here are numbers that nobody may offer.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretCrypto

@Suite("Agreement in the second Oakley group")
struct AgreementTests {
    @Test("both sides have the same number, at full width, and keys of it")
    func agreement() throws {
        for _ in 0..<20 {
            let (ada, bob) = (try OakleyAgreement(), try OakleyAgreement())
            #expect(ada.publicNumber.count == 128 && ada.publicNumber != bob.publicNumber)
            let shared = try ada.sharedNumber(with: bob.publicNumber)
            #expect(try shared.count == 128 && shared == bob.sharedNumber(with: ada.publicNumber))
            #expect(
                try ada.key(with: bob.publicNumber, byteCount: 16) == bob.key(with: ada.publicNumber, byteCount: 16))
        }
    }

    @Test("a number that tells the result beforehand, or is none of the group's, is refused")
    func refused() throws {
        let ada = try OakleyAgreement()
        let prime = try Hex.decode(
            "ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b22514a08798e3404dd"
                + "ef9519b3cd3a431b302b0a6df25f14374fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed"
                + "ee386bfb5a899fa5ae9f24117c4b1fe649286651ece65381ffffffffffffffff")
        let last = UInt8(prime[127])
        let bad: [[UInt8]] = [
            [], [0], [UInt8](repeating: 0, count: 128), [1], [UInt8](repeating: 0, count: 127) + [1], prime,
            prime.dropLast() + [last - 1], [UInt8](repeating: 0xFF, count: 128), [1] + prime,
        ]
        for bad in bad {
            let error = #expect(throws: CryptoError.self, "\(bad.count)") { try ada.sharedNumber(with: bad) }
            #expect(error?.code == .invalidKey)
        }
        // An honest number with zeros before it is that number.
        let bob = try OakleyAgreement()
        #expect(try ada.sharedNumber(with: [0, 0] + bob.publicNumber) == ada.sharedNumber(with: bob.publicNumber))
    }

    @Test("AES-128-CBC with the padding of PKCS 7, by the vector of NIST SP 800-38A, F.2.1")
    func cipher() throws {
        let key = try Hex.decode("2b7e151628aed2a6abf7158809cf4f3c")
        let vector = [UInt8](0..<16)
        let plain = try Hex.decode("6bc1bee22e409f96e93d7e117393172a")
        let sealed = try ForeignCBC.seal(plain, key: key, vector: vector)
        #expect(sealed.count == 32 && Hex.encode(sealed.prefix(16)) == "7649abac8119b246cee98e9b12e9197d")
        #expect(try ForeignCBC.open(sealed, .aes128, key: key, vector: vector) == plain)
        for count in [0, 1, 15, 17, 4_096] {
            let bytes = [UInt8](repeating: 7, count: count)
            let sealed = try ForeignCBC.seal(bytes, key: key, vector: vector)
            #expect(sealed.count == (count / 16 + 1) * 16)
            #expect(try ForeignCBC.open(sealed, .aes128, key: key, vector: vector) == bytes)
        }
        #expect(throws: CryptoError.self) { try ForeignCBC.seal(plain, key: key, vector: [1]) }
        #expect(throws: CryptoError.self) { try ForeignCBC.seal(plain, key: [1], vector: vector) }
        #expect(throws: CryptoError.self) {
            try ForeignCBC.open(Array(sealed.prefix(16)), .aes128, key: key, vector: vector)
        }
        #expect(throws: CryptoError.self) { try ForeignCBC.open(sealed, key: key, vector: vector) }
    }
}
