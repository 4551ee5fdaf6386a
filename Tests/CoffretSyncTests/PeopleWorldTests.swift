// Worlds of people who share vaults, a few; `Scripts/simulate --people` plays as many as one likes. And faults that are planted
// in worlds of both kinds: each has to be found.

import CoffretSimulation
import CoffretTestSupport
import Testing

@Suite("Simulated worlds of people, and planted faults")
struct PeopleWorldTests {
    @Test(
        "people who share vaults come to one state each, and nobody who is out reads or writes on",
        arguments: [1, 2, 3, 4])
    func worlds(seed: UInt64) throws { try PeopleWorld.run(SeededGenerator(seed: seed)) }

    /// A member who had come back was shown in advance by a list of the server, which did not give the same by address. In the
    /// second a member opened the letter of one epoch while that of the next came, and deleted both. In the third the founder was
    /// gone, and links of his that nobody could confirm had been taken long before the one that waited. In the fourth an epoch was
    /// opened by who lacked the key of the one before, and what had been sealed under that stayed closed to others. In the fifth
    /// somebody left while a person decided about it.
    @Test(
        "a world that failed once does so no more",
        arguments: [
            7_766_419_129_900_547_835, 3_310_313_491_629_317_689, 7_673_486_271_583_686_521, 6_511_387_926_221_558_903,
            7_951_906_996_728_344_713,
        ])
    func mended(seed: UInt64) throws { try PeopleWorld.run(SeededGenerator(seed: seed)) }

    /// What the world says of a fault, in the first of some worlds that meets it.
    private static let complaints: [(LogWorldFault, String)] = [
        (.diskForgets, "is lost"), (.losesChunks, "has no file"), (.keepsClearText, "in clear"),
        (.servesStrangers, "a stranger is answered"),
    ]

    @Test("a fault that is planted in a world of one person is found", arguments: complaints)
    func planted(fault: LogWorldFault, complaint: String) throws {
        var rules = LogWorldRules()
        rules.fault = fault
        try Self.expect(complaint) { try LogWorld.run($0, rules: rules) }
    }

    @Test(
        "a fault that is planted in a world of people is found",
        arguments: [
            (PeopleWorldFault.tellsFormerMembers, "is out, and has the key"), (.losesEntries, "other"),
            (.inventsRoles, "other roles than people gave"),
        ])
    func plantedAmongPeople(fault: PeopleWorldFault, complaint: String) throws {
        try Self.expect(complaint) { try PeopleWorld.run($0, fault: fault) }
    }

    /// Not each world comes to the step that a fault spoils.
    private static func expect(_ complaint: String, _ run: (SeededGenerator) throws -> Void) throws {
        var heard: [String] = []
        for seed in 1...UInt64(24) {
            do { try run(SeededGenerator(seed: seed)) } catch {
                heard.append("\(error)")
                if "\(error)".contains(complaint) { return }
            }
        }
        Issue.record("nobody says \(complaint); \(heard)")
    }
}
