// One-time codes against the values of the RFCs, and addresses that must and must not be read.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@Suite("One-time codes")
struct OneTimeCodeTests {
    struct TimeCases: Decodable {
        struct Case: Decodable {
            let hash: String, secret_hex: String, time_step_seconds: UInt32, unix_time: Int64, digits: Int, code: String
        }
        let cases: [Case]
    }

    struct CounterCases: Decodable {
        struct Case: Decodable { let secret_hex: String, counter: UInt64, digits: Int, code: String }
        let cases: [Case]
    }

    struct Base32Cases: Decodable {
        struct Case: Decodable { let bytes_hex: String, base32: String, base32_unpadded: String }
        let cases: [Case]
    }

    struct Addresses: Decodable {
        struct Valid: Decodable {
            let address: String, issuer: String, account: String, hash: String, digits: Int, secret_hex: String
            let period: UInt32?, counter: UInt64?
        }
        struct Invalid: Decodable { let address: String, error: String }
        let valid: [Valid], invalid: [Invalid]
    }

    func check(_ cases: [TimeCases.Case]) throws {
        for vector in cases {
            let hash = try #require(OneTimeCode.Hash(rawValue: vector.hash))
            let generator = try OneTimeCode(
                secret: Hex.decode(vector.secret_hex), hash: hash, digitCount: vector.digits,
                movement: .time(periodSeconds: vector.time_step_seconds))
            let code = try generator.code(unixMilliseconds: vector.unix_time * 1_000 + 999)
            #expect(code.digits == vector.code)
            let step = Int64(vector.time_step_seconds)
            #expect(code.remainingSeconds == UInt32(step - vector.unix_time % step))
        }
    }

    func check(_ cases: [CounterCases.Case]) throws {
        for vector in cases {
            let generator = try OneTimeCode(
                secret: Hex.decode(vector.secret_hex), digitCount: vector.digits, movement: .counter(vector.counter))
            #expect(try generator.code(unixMilliseconds: 0).digits == vector.code)
        }
    }

    func check(_ cases: [Base32Cases.Case]) throws {
        for vector in cases {
            let bytes = try Hex.decode(vector.bytes_hex)
            #expect(try Base32Text.decode(vector.base32) == bytes)
            #expect(try Base32Text.decode(vector.base32_unpadded.lowercased()) == bytes)
            #expect(Base32Text.encode(bytes) == vector.base32_unpadded)
        }
    }

    @Test("TOTP gives the codes of RFC 6238")
    func timeBased() throws {
        let vectors = try VectorFile.decode(TimeCases.self, from: "otp/totp.json")
        #expect(vectors.cases.count == 30)
        try check(vectors.cases)
    }

    @Test("HOTP gives the codes of RFC 4226")
    func counterBased() throws {
        let vectors = try VectorFile.decode(CounterCases.self, from: "otp/hotp.json")
        #expect(vectors.cases.count == 10)
        try check(vectors.cases)
    }

    @Test("base32 reads and writes the values of RFC 4648")
    func base32() throws {
        try check(VectorFile.decode(Base32Cases.self, from: "otp/base32.json").cases)
    }

    @Test("every shared vector for codes and base32 passes", .enabled(if: SharedData.isAvailable))
    func shared() throws {
        let folder = try #require(SharedData.fullVectors("rfc"))
        func read<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value {
            try JSONDecoder().decode(type, from: Data(contentsOf: folder.appendingPathComponent(name)))
        }
        try check(read(TimeCases.self, "rfc6238-totp.json").cases)
        try check(read(CounterCases.self, "rfc4226-hotp.json").cases)
        try check(read(Base32Cases.self, "rfc4648-base32.json").cases)
    }

    @Test("base32 forgives spaces, hyphens, case and missing padding, and nothing else")
    func leniency() throws {
        #expect(try Base32Text.decode("mzxw-6ytb oi") == Array("foobar".utf8))
        #expect(try Base32Text.decode("MZXW6YTBOI======") == Array("foobar".utf8))
        for text in ["M", "MZX", "MZXW6Y", "MZXW1", "MZXW8", "MZ=W", "MZ==", "MR", "=", "MZXW6YTBOI=", "ü"] {
            #expect(throws: CoreError.self) { try Base32Text.decode(text) }
        }
    }

    @Test("an otpauth address is read, and what is printed reads back as the same")
    func validAddresses() throws {
        for vector in try VectorFile.decode(Addresses.self, from: "otp/addresses.json").valid {
            let code = try OneTimeCode.parse(vector.address)
            #expect(code.issuer == vector.issuer, "\(vector.address)")
            #expect(code.account == vector.account, "\(vector.address)")
            #expect(code.hash.rawValue == vector.hash)
            #expect(code.digitCount == vector.digits)
            #expect(code.secret == (try Hex.decode(vector.secret_hex)))
            if let period = vector.period { #expect(code.movement == .time(periodSeconds: period)) }
            if let counter = vector.counter { #expect(code.movement == .counter(counter)) }
            #expect(try OneTimeCode.parse(code.address) == code)
        }
    }

    @Test("an address that asks for what no standard describes is refused by name")
    func invalidAddresses() throws {
        for vector in try VectorFile.decode(Addresses.self, from: "otp/addresses.json").invalid {
            do {
                let code = try OneTimeCode.parse(vector.address)
                Issue.record("\(vector.address) was read as \(code.movement)")
            } catch let error as CoreError {
                #expect(error.code.rawValue == vector.error, "\(vector.address)")
            }
        }
    }

    @Test("a counter moves on by one and time does not")
    func advancing() throws {
        let counting = try OneTimeCode(secret: [1], movement: .counter(41))
        #expect(try counting.advanced()?.movement == .counter(42))
        #expect(try OneTimeCode(secret: [1], movement: .counter(.max)).advanced() == nil)
        #expect(try OneTimeCode(secret: [1]).advanced() == nil)
    }

    @Test("no damage to an address makes reading it crash")
    func fuzzAddress() {
        let samples = [
            "otpauth://totp/A%20b:c?secret=GEZDGNBVGY&digits=6&period=30&algorithm=SHA1", "gezd gnbv gy======",
        ]
        var readCount = 0
        fuzz(samples.map { Array($0.utf8) }) { bytes in
            if fuzzOneTimeCodeAddress(bytes) { readCount += 1 }
        }
        #expect(readCount < 2_000)
    }
}
