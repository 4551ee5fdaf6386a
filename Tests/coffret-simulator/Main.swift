// Runs simulated worlds, on all cores. The one thing to keep true: a world that fails is named by its seed, and that
// seed alone runs it again.

import CoffretSimulation
import CoffretTestSupport
import Dispatch
import Glibc

/// `coffret-simulator WORLDS`; `--seed SEED`, which also tells what happens; or `--authors`, which measures a first sync.
@main
enum Main {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "--seed", arguments.count == 2, let seed = arguments.last.flatMap({ UInt64($0) }) {
            exit(run(seed, isTold: true) ? 0 : 1)
        }
        if arguments.first == "--authors" {
            do { try Authors.run(Array(arguments.dropFirst())) } catch {
                print("coffret-simulator: error: \(error)")
                exit(1)
            }
            return
        }
        guard arguments.count == 1, let count = Int(arguments[0]), count > 0 else {
            print("usage: coffret-simulator WORLDS | --seed SEED | --authors FOLDER [COUNT ...]")
            exit(64)
        }
        play(count) { run($0, isTold: false) }
    }

    private static func run(_ seed: UInt64, isTold: Bool) -> Bool {
        do {
            try LogWorld.run(SeededGenerator(seed: seed)) { if isTold { print($0) } }
            return true
        } catch {
            print("FAILED: \(error)\nrun it again: Scripts/simulate --seed \(seed)")
            return false
        }
    }

    private static func play(_ count: Int, _ run: @Sendable (UInt64) -> Bool) {
        let first = SeededGenerator.fromEnvironment()
        let seeds = (0..<count).map { _ in first.next() }
        let start = seconds()
        let failures = Failures()
        DispatchQueue.concurrentPerform(iterations: count) { index in
            // One seed is enough to find the fault; more only hide it.
            if failures.count == 0, !run(seeds[index]) { failures.add() }
        }
        guard failures.count == 0 else { exit(1) }
        let spent = seconds() - start
        print("\(count) worlds came to one state each, nothing lost or doubled, in \(Int(spent)) s; seed \(first.seed)")
    }

    private static func seconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// How many worlds failed, for all threads.
private final class Failures: @unchecked Sendable {
    // SAFETY: `number` is read and written on `queue` only.
    private let queue = DispatchQueue(label: "failures")
    private var number = 0

    var count: Int { queue.sync { number } }
    func add() { queue.sync { number += 1 } }
}
