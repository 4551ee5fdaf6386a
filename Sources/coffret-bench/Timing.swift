// Clocks and medians for the benchmarks. Invariant: things that are compared are run in turn, in one process, so that
// the machine's drift meets both.

import Glibc

/// Seconds of the monotonic clock.
func nowSeconds() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The wall time of one run of `body`, in seconds.
func measureSeconds<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
    let start = nowSeconds()
    try body()
    return nowSeconds() - start
}

/// The processor time that one run of `body` takes, in seconds: what is left of wall time when other
/// processes and the disk are taken out.
func measureCPUSeconds<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
    var start = timespec()
    var end = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start)
    try body()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end)
    return Double(end.tv_sec - start.tv_sec) + Double(end.tv_nsec - start.tv_nsec) / 1e9
}

/// Sorted samples that answer for percentiles.
struct Samples {
    private(set) var sorted: [Double]

    init(_ values: [Double]) {
        sorted = values.sorted()
    }

    func percentile(_ percent: Double) -> Double {
        guard !sorted.isEmpty else { return .nan }
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * percent / 100))]
    }

    var median: Double { percentile(50) }
    var mean: Double { sorted.isEmpty ? .nan : sorted.reduce(0, +) / Double(sorted.count) }
}

/// A value with a fixed number of decimals, without Foundation.
func decimal(_ value: Double, _ places: Int = 2) -> String {
    guard value.isFinite else { return "-" }
    var scale = 1.0
    for _ in 0..<places { scale *= 10 }
    let scaled = Int((value.magnitude * scale).rounded())
    let whole = scaled / Int(scale)
    let rest = String(scaled % Int(scale))
    let sign = value < 0 ? "-" : ""
    if places == 0 { return "\(sign)\(whole)" }
    return "\(sign)\(whole)." + String(repeating: "0", count: places - rest.count) + rest
}

/// One line of a Markdown table.
func row(_ cells: [String]) -> String {
    "| " + cells.joined(separator: " | ") + " |"
}
