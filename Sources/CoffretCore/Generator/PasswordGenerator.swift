// Passwords, passphrases and PINs. Invariant: every outcome that a recipe allows is exactly as likely as every other,
// and the entropy stated is the logarithm of their number.

package import CoffretBase
internal import Glibc

/// A generated secret, and how hard it is to guess for someone who knows the recipe.
package struct GeneratedSecret: Sendable {
    /// The secret.
    package let text: String
    /// Bits of entropy: the base-2 logarithm of the number of equally likely outcomes.
    package let entropyBits: Double
}

/// A set of characters that a password is to contain.
package enum CharacterClass: String, Sendable, CaseIterable {
    case lowercase
    case uppercase
    case digits
    case symbols

    /// The characters in ASCII order.
    var characters: [UInt8] {
        switch self {
        case .lowercase: Array(0x61...0x7A)
        case .uppercase: Array(0x41...0x5A)
        case .digits: Array(0x30...0x39)
        // No quotes, backslash, space or backtick: they break shells, forms and CSV files.
        case .symbols: Array("!#$%&()*+,-./:;<=>?@[]^_{|}~".utf8)
        }
    }

    /// Characters that look like another one in many typefaces.
    static let ambiguous = Set("0O1lI|5S2Z8B".utf8)
}

/// A recipe for passwords of random characters.
package struct PasswordRecipe: Equatable, Sendable {
    /// The shortest and the longest password.
    package static let characterCountRange = 4...1_024

    /// How many characters.
    package var characterCount: Int
    /// Which classes; each is present at least once.
    package var classes: Set<CharacterClass>
    /// Whether to leave out characters that are easily misread.
    package var excludesAmbiguous: Bool

    /// Makes a recipe; by default twenty characters of all classes, about 129 bits.
    package init(
        characterCount: Int = 20, classes: Set<CharacterClass> = Set(CharacterClass.allCases),
        excludesAmbiguous: Bool = false
    ) {
        self.characterCount = characterCount
        self.classes = classes
        self.excludesAmbiguous = excludesAmbiguous
    }
}

/// Makes secrets from a source of randomness.
package struct PasswordGenerator {
    private let random: any RandomSource

    /// - Parameter random: outside tests, the system's generator.
    package init(random: any RandomSource) {
        self.random = random
    }

    /// A password that contains each class of the recipe.
    ///
    /// Whole passwords are drawn until one has all classes, so that no position favours any class. A password
    /// of n characters that need not be drawn again is found after a handful of tries even for four classes in
    /// four characters (about one in 14).
    /// - Throws: `CoreError.generatorInvalid` if there is no class, if the length is out of
    ///   `PasswordRecipe.characterCountRange`, or if it is below the number of classes.
    package func password(_ recipe: PasswordRecipe = PasswordRecipe()) throws -> GeneratedSecret {
        let classes = CharacterClass.allCases.filter(recipe.classes.contains).map { characterClass in
            characterClass.characters.filter { !recipe.excludesAmbiguous || !CharacterClass.ambiguous.contains($0) }
        }
        guard !classes.isEmpty else { throw CoreError(.generatorInvalid, at: "no character class") }
        guard PasswordRecipe.characterCountRange.contains(recipe.characterCount),
            recipe.characterCount >= classes.count
        else { throw CoreError(.generatorInvalid, at: "length") }
        let alphabet = classes.flatMap { $0 }
        var password = [UInt8](repeating: 0, count: recipe.characterCount)
        defer { password.zero() }
        repeat {
            for index in password.indices {
                password[index] = alphabet[Int(random.uniform(below: UInt64(alphabet.count)))]
            }
        } while !classes.allSatisfy { characterClass in password.contains(where: characterClass.contains) }
        return GeneratedSecret(
            text: String(decoding: password, as: UTF8.self),
            entropyBits: Self.entropyBits(characterCount: recipe.characterCount, classSizes: classes.map(\.count)))
    }

    /// Words from the list, each equally likely.
    ///
    /// - Parameters:
    ///   - wordCount: 3 to 64; each word adds 12.9 bits, five make 64.6.
    ///   - separator: put between the words; at most sixteen bytes.
    ///   - capitalises: whether each word begins with a capital, which adds nothing to the entropy.
    /// - Throws: `CoreError.generatorInvalid` for other counts or a longer separator.
    package func passphrase(
        wordCount: Int = 5, separator: String = " ", capitalises: Bool = false
    ) throws -> GeneratedSecret {
        guard (3...64).contains(wordCount) else { throw CoreError(.generatorInvalid, at: "number of words") }
        guard separator.utf8.count <= 16 else { throw CoreError(.generatorInvalid, at: "separator") }
        let words = WordList.words
        var text = ""
        for index in 0..<wordCount {
            let word = words[Int(random.uniform(below: UInt64(words.count)))]
            if index > 0 { text += separator }
            text += capitalises ? word.prefix(1).uppercased() + word.dropFirst() : word
        }
        return GeneratedSecret(text: text, entropyBits: Double(wordCount) * log2(Double(words.count)))
    }

    /// Decimal digits, each equally likely.
    ///
    /// - Throws: `CoreError.generatorInvalid` below 4 or above 64 digits.
    package func pin(digitCount: Int = 6) throws -> GeneratedSecret {
        guard (4...64).contains(digitCount) else { throw CoreError(.generatorInvalid, at: "number of digits") }
        let digits = (0..<digitCount).map { _ in UInt8(ascii: "0") + UInt8(random.uniform(below: 10)) }
        return GeneratedSecret(
            text: String(decoding: digits, as: UTF8.self), entropyBits: Double(digitCount) * log2(10.0))
    }

    /// The logarithm of the number of passwords in which each class occurs.
    ///
    /// By inclusion and exclusion over the classes that are missing; as a fraction of all passwords, so that
    /// long ones do not overflow.
    static func entropyBits(characterCount: Int, classSizes: [Int]) -> Double {
        let total = Double(classSizes.reduce(0, +))
        var fraction = 0.0
        for subset in 0..<(1 << classSizes.count) {
            let missing = classSizes.indices.filter { subset >> $0 & 1 == 1 }
            let rest = total - Double(missing.reduce(0) { $0 + classSizes[$1] })
            let term = pow(rest / total, Double(characterCount))
            fraction += missing.count % 2 == 0 ? term : -term
        }
        return Double(characterCount) * log2(total) + log2(fraction)
    }
}
