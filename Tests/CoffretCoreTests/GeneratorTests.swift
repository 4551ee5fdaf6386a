// Generated secrets have what the recipe says and nothing is more likely than anything else.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@Suite("Generator")
struct GeneratorTests {
    let random = SeededGenerator.fromEnvironment()

    @Test("a password has its length, every class asked for, and no other characters")
    func classes() throws {
        let generator = PasswordGenerator(random: random)
        for _ in 0..<300 {
            let password = try generator.password(PasswordRecipe(characterCount: 4)).text
            #expect(password.utf8.count == 4)
            #expect(password.contains { $0.isLowercase })
            #expect(password.contains { $0.isUppercase })
            #expect(password.contains { $0.isNumber })
            let digits = try generator.password(PasswordRecipe(characterCount: 8, classes: [.digits])).text
            #expect(digits.allSatisfy { $0.isNumber })
        }
    }

    @Test("ambiguous characters stay out when asked")
    func ambiguous() throws {
        let generator = PasswordGenerator(random: random)
        let recipe = PasswordRecipe(characterCount: 1_000, excludesAmbiguous: true)
        let password = try generator.password(recipe).text
        #expect(!password.contains { "0O1lI|5S2Z8B".contains($0) })
    }

    @Test("impossible recipes are refused")
    func refusals() {
        let generator = PasswordGenerator(random: random)
        let recipes = [
            PasswordRecipe(characterCount: 3, classes: [.digits]), PasswordRecipe(classes: []),
            PasswordRecipe(characterCount: 1_025),
        ]
        for recipe in recipes {
            #expect(throws: CoreError.self) { try generator.password(recipe) }
        }
        #expect(throws: CoreError.self) { try generator.passphrase(wordCount: 2) }
        #expect(throws: CoreError.self) { try generator.passphrase(separator: "a separator that is long") }
        #expect(throws: CoreError.self) { try generator.pin(digitCount: 3) }
    }

    @Test("each character is as likely as the others (chi-squared)")
    func uniformity() throws {
        let generator = PasswordGenerator(random: SeededGenerator(seed: 7))
        let recipe = PasswordRecipe(characterCount: 1_000, classes: [.lowercase])
        var counts: [Character: Double] = [:]
        for _ in 0..<100 {
            for character in try generator.password(recipe).text { counts[character, default: 0] += 1 }
        }
        let expected = 100_000.0 / 26
        let statistic = counts.values.reduce(0) { $0 + ($1 - expected) * ($1 - expected) / expected }
        #expect(counts.count == 26)
        // 25 degrees of freedom: 52.6 is passed once in a thousand; the seed is fixed.
        #expect(statistic < 52.6)
    }

    @Test("the entropy stated is the logarithm of the number of outcomes")
    func entropy() throws {
        let generator = PasswordGenerator(random: random)
        #expect(abs(try generator.pin(digitCount: 4).entropyBits - log2(10_000)) < 1e-9)
        #expect(abs(try generator.passphrase(wordCount: 5).entropyBits - 5 * log2(7_776)) < 1e-9)
        // Two classes in four characters: (26 + 10)^4 - 26^4 - 10^4 passwords.
        let recipe = PasswordRecipe(characterCount: 4, classes: [.lowercase, .digits])
        let count = pow(36, 4) - pow(26, 4) - pow(10, 4.0)
        #expect(abs(try generator.password(recipe).entropyBits - log2(count)) < 1e-9)
    }

    @Test("the list has 7,776 distinct words of three to nine letters")
    func wordList() {
        #expect(WordList.words.count == WordList.wordCount)
        #expect(Set(WordList.words).count == WordList.wordCount)
        #expect(WordList.words.allSatisfy { (3...9).contains($0.utf8.count) })
        #expect(WordList.words == WordList.words.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    }

    @Test("a passphrase is made of words of the list")
    func passphrase() throws {
        let made = try PasswordGenerator(random: random).passphrase(wordCount: 6, separator: ".", capitalises: true)
        let words = made.text.split(separator: ".")
        #expect(words.count == 6)
        #expect(words.allSatisfy { WordList.words.contains($0.lowercased()) && $0.first?.isUppercase == true })
    }
}

@Suite("Strength")
struct StrengthTests {
    func bits(_ passphrase: String) throws -> Double {
        try #require(StrengthEstimate(utf8: Array(passphrase.utf8)), "libzxcvbn0 is missing").guessBits
    }

    @Test("use 2: what people choose first, and phrases that everybody knows, are questioned")
    func weak() throws {
        for passphrase in [
            "password", "P@ssw0rd", "qwertyuiop", "abcdefgh", "aaaaaaaaaaaa", "14071989", "zoom", "1", "",
            "correct horse battery staple", "CorrectHorseBatteryStaple", "correct-horse-battery-staple",
            "to be or not to be that is the question", "Tr0ub4dor&3", "пароль", "Пароль123", "qwerty пароль",
        ] {
            #expect(try bits(passphrase) < StrengthEstimate.leastBits, "\(passphrase)")
        }
    }

    @Test("random words and passwords count as what they are worth and not more, and pass")
    func strong() throws {
        let random = SeededGenerator.fromEnvironment()
        for count in 5...7 {
            let made = try PasswordGenerator(random: random).passphrase(wordCount: count)
            // Where one word ends and the next begins counts a little too.
            #expect(try bits(made.text) <= made.entropyBits + 3 * Double(count), "\(made.text)")
            #expect(try bits(made.text) > StrengthEstimate.leastBits, "\(made.text)")
        }
        let made = try PasswordGenerator(random: random).password()
        #expect(try bits(made.text) > StrengthEstimate.strongBits)
    }

    @Test("more memory for Argon2id makes guessing slower in proportion")
    func hardware() throws {
        let estimate = try #require(StrengthEstimate(utf8: Array("correct mule".utf8)))
        let standard = estimate.secondsOnRentedHardware()
        #expect(estimate.secondsOnRentedHardware(memoryByteCount: 512 << 20) == 2 * standard)
        #expect(estimate.secondsOnRentedHardware(memoryByteCount: 64 << 20) == standard / 4)
    }

    @Test("nothing typed makes the estimate crash or take long")
    func odd() throws {
        for passphrase in ["", " ", "ü", "🦊🦊🦊", String(repeating: "ab1!", count: 10_000), "\u{0}\u{1}"] {
            #expect(try bits(passphrase) >= 0)
        }
        forAll(count: 20) { random in
            let bytes = random.bytes(count: 0...60)
            try require(StrengthEstimate(utf8: bytes)?.guessBits.isFinite == true)
        }
    }
}
