// What new users met in their first hour, each in the way that they met it.

import CoffretTestSupport
import Foundation
import Testing

@Suite("First hour")
struct FirstHourTests {
    @Test("use 3: tag rm and tag rename change tags, never words, and say when a text was changed")
    func tagsAndWords() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("other\nF# and #dotnet C# code")
        #expect(try runner.run("tag", "rm", "other", "dotnet C").exitCode != 0)
        let removed = try runner.succeed("tag", "rm", "other", "dotnet")
        #expect(removed.contains("Its text was changed where the tag stood."))
        #expect(try runner.succeed("show", "other") == "other\nF# and dotnet C# code\n")

        try runner.makeNote("more\nuse #hashtag C# .NET here")
        let renamed = try runner.succeed("tag", "rename", "hashtag", "code")
        #expect(renamed.contains("It stood in 1 text, and was changed there."))
        #expect(try runner.succeed("show", "more") == "more\nuse #code C# .NET here\n")
    }
}
