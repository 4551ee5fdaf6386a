// The cost of measuring itself.

enum ClockBench {
    static func run(_ arguments: [String]) {
        let samples = Samples((0..<10_000).map { _ in measureSeconds {} })
        print(row(["empty measurement", "\(decimal(samples.median * 1e9, 0)) ns median"]))
    }
}
