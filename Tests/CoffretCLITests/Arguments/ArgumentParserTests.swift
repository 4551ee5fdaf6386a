// The command line as people type it, right and wrong.

import Testing

@testable import CoffretCLI
@testable import CoffretMessages

@Suite("Argument parser")
struct ArgumentParserTests {
    static let tag = OptionDescription.value("tag", short: "t", "TAG", repeats: true, "a tag")
    static let limit = OptionDescription.value("limit", short: "n", "N", .number(1...100), "how many")
    static let order = OptionDescription.value("order", "ORDER", .choice(["title", "created"]), "order")
    static let all = OptionDescription.flag("all", short: "a", "all of them")
    static let long = OptionDescription.flag("long", short: "l", "more of each")
    static let item = ArgumentDescription.required("ITEM", "an item")
    static let files = ArgumentDescription.optional("FILE", .file, repeats: true, "files")

    static let root = CommandDescription(
        "coffret", "test",
        subcommands: [
            CommandDescription(
                "list", "list", arguments: [files], options: [tag, limit, order, all, long], run: { _ in }),
            CommandDescription("show", "show", arguments: [item], run: { _ in }),
            CommandDescription(
                "new", "new", arguments: [item], options: [.value("set", "NAME=VALUE", repeats: true, "set")],
                run: { _ in }),
            CommandDescription(
                "key", "keys",
                subcommands: ["ls", "rm"].map { CommandDescription($0, $0, run: { _ in }) }),
            CommandDescription(
                "tag", "tags",
                subcommands: [CommandDescription("add", "add", arguments: [item, files], run: { _ in })]),
        ])

    static func parse(_ words: String...) throws(UsageError) -> ParsedArguments {
        guard
            case .run(let arguments) = try ArgumentParser.parse(words, root: root, globalOptions: GlobalOptions.all)
        else {
            throw UsageError(code: .missingCommand, message: "not a run", hint: nil, path: [])
        }
        return arguments
    }

    @Test("options may stand before, between and after arguments, in every way of writing")
    func optionForms() throws {
        let parsed = try Self.parse("list", "-t", "a", "one", "--tag=b", "-tc", "-t=d", "two", "--limit", "5", "-la")
        #expect(parsed.values(Self.tag) == ["a", "b", "c", "d"])
        #expect(parsed.values(Self.files) == ["one", "two"])
        #expect(parsed.number(Self.limit) == 5)
        #expect(parsed.isSet(Self.all) && parsed.isSet(Self.long))
        #expect(!parsed.isSet(Self.order))
    }

    @Test("a cluster of short flags may end in an option with a value")
    func clusterWithValue() throws {
        let parsed = try Self.parse("list", "-aln7")
        #expect(parsed.number(Self.limit) == 7)
        #expect(parsed.isSet(Self.all) && parsed.isSet(Self.long))
    }

    @Test("after -- everything is an argument, and - is one everywhere")
    func terminator() throws {
        #expect(try Self.parse("list", "--", "--all", "-t").values(Self.files) == ["--all", "-t"])
        #expect(try Self.parse("show", "-").required(Self.item) == "-")
    }

    @Test("an empty value is a value")
    func emptyValue() throws {
        #expect(try Self.parse("list", "--tag=").values(Self.tag) == [""])
        #expect(try Self.parse("show", "").required(Self.item) == "")
    }

    @Test("options of every command are understood before and after the command")
    func globalOptions() throws {
        #expect(try Self.parse("--json", "show", "x").isSet(GlobalOptions.json))
        #expect(try Self.parse("show", "x", "-q").isSet(GlobalOptions.quiet))
        #expect(try Self.parse("tag", "--store", "/s", "add", "x").value(GlobalOptions.store) == "/s")
    }

    @Test("nested commands are found, and their path is kept")
    func nested() throws {
        let parsed = try Self.parse("tag", "add", "x", "y", "z")
        #expect(parsed.path == ["tag", "add"])
        #expect(parsed.values(Self.files) == ["y", "z"])
    }

    @Test(
        "mistakes have a code and a hint that helps",
        arguments: [
            (["lsit"], UsageError.Code.unknownCommand, "did you mean coffret list?"),
            (["find"], .unknownCommand, "coffret help lists the commands"),
            (["list", "--lmit", "3"], .unknownOption, "did you mean --limit?"),
            (
                ["--limit", "3", "list"], .unknownOption,
                "options of a command come after its name: coffret list --limit"
            ),
            (["list", "-x"], .unknownOption, nil),
            (["list", "--limit"], .missingValue, nil),
            (["list", "--tag", "-a"], .missingValue, "a value that begins with - is written --tag=VALUE"),
            (["list", "--all=yes"], .unexpectedValue, nil),
            (["list", "--limit", "0"], .invalidValue, nil),
            (["list", "--limit", "many"], .invalidValue, nil),
            (["list", "--order", "titel"], .invalidValue, "did you mean title?"),
            (["list", "--limit", "1", "--limit", "2"], .repeatedOption, "give it once"),
            (["show"], .missingArgument, nil),
            (["show", "a", "b"], .unexpectedArgument, "text with spaces stands in quotes"),
            (["show", "a", "b=c"], .unexpectedArgument, "text with spaces stands in quotes"),
            (["new", "a", "b=c"], .unexpectedArgument, "fields are set by --set b=c"),
            (["key", "path/file"], .unknownCommand, "coffret key has ls or rm"),
            (["tag"], .missingCommand, nil),
            ([], .missingCommand, nil),
        ] as [([String], UsageError.Code, String?)])
    func mistakes(words: [String], code: UsageError.Code, hint: String?) throws {
        let failure = #expect(throws: UsageError.self) {
            try ArgumentParser.parse(words, root: Self.root, globalOptions: GlobalOptions.all)
        }
        #expect(failure?.code == code)
        #expect(failure?.hint == hint)
    }

    @Test("--help anywhere explains the command that the words name")
    func help() throws {
        for (words, expected) in [
            (["--help"], []), (["show", "--help"], ["show"]), (["--help", "tag", "add"], ["tag", "add"]),
            (["tag", "add", "-h"], ["tag", "add"]), (["show", "x", "--help"], ["show"]),
        ] as [([String], [String])] {
            guard
                case .help(let path) = try ArgumentParser.parse(
                    words, root: Self.root, globalOptions: GlobalOptions.all)
            else {
                Issue.record("\(words) is not a request for help")
                continue
            }
            #expect(path == expected)
        }
    }

    @Test("a missing ITEM is not asked for when --version is there")
    func version() throws {
        guard
            case .version = try ArgumentParser.parse(
                ["show", "--version"], root: Self.root, globalOptions: GlobalOptions.all)
        else {
            Issue.record("not a request for the version")
            return
        }
    }

    @Test("edit distance counts swapped neighbours once")
    func distance() {
        func distance(_ left: String, _ right: String) -> Int {
            Suggestion.editDistance(Array(left), Array(right))
        }
        #expect(distance("lsit", "list") == 1)
        #expect(distance("", "abc") == 3)
        #expect(distance("kitten", "sitting") == 3)
        #expect(distance("same", "same") == 0)
    }
}
