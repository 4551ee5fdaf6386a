// Phrases that everybody knows, and so everybody who guesses.

/// Phrases that count as one well-known word in an estimate.
enum KnownPhrases {
    /// With spaces and without.
    static let all: [String] = list.split(separator: "|").flatMap { phrase in
        let dense = phrase.filter { !" -_.,'".contains($0) }
        return dense == phrase ? [String(phrase)] : [String(phrase), dense]
    }

    private static let list = """
        correct horse battery staple|to be or not to be|that is the question|tr0ub4dor&3|the quick brown fox|\
        jumps over the lazy dog|lorem ipsum|dolor sit amet|open sesame|let me in|hello world|i love you|\
        may the force be with you|live long and prosper|winter is coming|once upon a time|in the beginning|\
        let there be light|our father who art in heaven|hallowed be thy name|the lord is my shepherd|\
        i shall not want|call me ishmael|it was the best of times|it was the worst of times|\
        all happy families are alike|it is a truth universally acknowledged|four score and seven years ago|\
        we the people|we hold these truths to be self evident|i have a dream|\
        ask not what your country can do for you|one small step for man|one giant leap for mankind|\
        cogito ergo sum|i think therefore i am|carpe diem|veni vidi vici|memento mori|et tu brute|\
        alea iacta est|in vino veritas|knowledge is power|time is money|practice makes perfect|\
        actions speak louder than words|a penny saved is a penny earned|an apple a day|keeps the doctor away|\
        all that glitters is not gold|all you need is love|let it be|here comes the sun|stairway to heaven|\
        hotel california|bohemian rhapsody|is this the real life|is this just fantasy|smells like teen spirit|\
        never gonna give you up|never gonna let you down|twinkle twinkle little star|how i wonder what you are|\
        mary had a little lamb|its fleece was white as snow|happy birthday to you|row row row your boat|\
        humpty dumpty|sat on a wall|romeo romeo|wherefore art thou romeo|a rose by any other name|\
        to thine own self be true|something wicked this way comes|double double toil and trouble|\
        friends romans countrymen|lend me your ears|a horse a horse|my kingdom for a horse|\
        the answer is forty two|dont panic|so long and thanks for all the fish|i am your father|\
        you shall not pass|one ring to rule them all|my precious|here is looking at you kid|frankly my dear|\
        i dont give a damn|elementary my dear watson|houston we have a problem|show me the money|ill be back|\
        hasta la vista baby|say hello to my little friend|you cant handle the truth|there is no place like home|\
        toto i have a feeling|were not in kansas anymore|after all tomorrow is another day|\
        the truth is out there|resistance is futile|beam me up scotty|god save the queen|god save the king|\
        god bless america|liberte egalite fraternite|allons enfants de la patrie|sein oder nicht sein|\
        das ist hier die frage|freude schoner gotterfunken|tochter aus elysium|alle meine entchen|\
        in a hole in the ground there lived a hobbit|it was a bright cold day in april|\
        the clocks were striking thirteen|big brother is watching you|war is peace|freedom is slavery|\
        ignorance is strength|no place like 127.0.0.1|all your base are belong to us|the cake is a lie|password|\
        passphrase|qwerty|letmein|iloveyou|coffret
        """
}
