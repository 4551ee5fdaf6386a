// How long work shows that it goes on. Invariant: progress goes to standard error (with --json: to standard output,
// one object per line) and never mixes into results.

internal import CoffretBase
internal import Glibc

/// Shows the progress of one long command: a bar on a terminal, one plain line per stage otherwise,
/// one object per line with `--json`, nothing with `--quiet`.
package final class ProgressReporter {
    package enum Manner: Sendable {
        case bar, lines, json, silent
    }

    private let manner: Manner
    private let output: OutputStream
    private let style: TextStyler
    private let width: Int
    private var stage: String?
    private var unit = "item"
    private var stageStart = 0
    private var lastShown = 0
    private var last: (done: Int, total: Int?, byteCount: Int?) = (0, nil, nil)
    private var isBarVisible = false

    package init(manner: Manner, output: OutputStream, style: TextStyler, width: Int) {
        self.manner = manner
        self.output = output
        self.style = style
        self.width = width
    }

    /// Begins a stage, such as "Reading", that counts units such as "note".
    package func begin(_ stage: String, unit: String) {
        end()
        self.stage = stage
        self.unit = unit
        stageStart = Self.nowMilliseconds
        lastShown = 0
        last = (0, nil, nil)
    }

    /// Says how far the stage is. Cheap to call often: something is shown ten times a second.
    package func update(done: Int, total: Int? = nil, byteCount: Int? = nil) {
        guard manner != .silent, stage != nil else { return }
        last = (done, total, byteCount)
        let now = Self.nowMilliseconds
        let interval = manner == .json ? 500 : 100
        // Quick work shows no bar at all: it would only flicker.
        guard now - stageStart >= 150, now - lastShown >= interval else { return }
        lastShown = now
        switch manner {
        case .bar: showBar(now: now)
        case .json: showObject(event: "progress")
        case .lines, .silent: break
        }
    }

    /// Ends the stage: the bar vanishes; a plain line says what was done.
    package func end() {
        guard let stage else { return }
        self.stage = nil
        switch manner {
        case .bar:
            if isBarVisible { try? output.write("\r\u{1B}[K") }
            isBarVisible = false
            try? output.flush()
        case .lines:
            guard last.done > 0 else { return }
            let facts = Self.facts(unit: unit, done: last.done, total: nil, byteCount: last.byteCount)
            let text = "\(stage): \(facts.joined(separator: ", "))"
            try? output.line(text)
            try? output.flush()
        case .json:
            self.stage = stage
            showObject(event: "stage-done")
            self.stage = nil
        case .silent: break
        }
    }

    private func showObject(event: String) {
        let value = JSONValue.fields([
            "event": .string(event), "stage": stage.map { .string($0.lowercased()) }, "done": .integer(last.done),
            "total": last.total.map { .integer($0) }, "byteCount": last.byteCount.map { .integer($0) },
        ])
        try? output.line(value.line)
        try? output.flush()
    }

    private func showBar(now: Int) {
        let line = Self.bar(
            stage: stage ?? "", unit: unit, done: last.done, total: last.total, byteCount: last.byteCount,
            elapsedMilliseconds: now - stageStart, width: width)
        try? output.write("\r\u{1B}[K" + line)
        try? output.flush()
        isBarVisible = true
    }

    /// `Reading   ████████░░░░  5,940 of 7,425 notes · 41 MB · 3 s left`
    package static func bar(
        stage: String, unit: String, done: Int, total: Int?, byteCount: Int?, elapsedMilliseconds: Int, width: Int
    ) -> String {
        var words = [stage.count < 9 ? TextWidth.pad(stage, to: 9) : stage]
        var facts = facts(unit: unit, done: done, total: total, byteCount: byteCount)
        if let total, done > 0, done < total, elapsedMilliseconds > 1000 {
            let left = elapsedMilliseconds * (total - done) / done
            facts.append("\(NumberText.duration(milliseconds: left)) left")
        }
        let text = facts.joined(separator: " · ")
        if let total, total > 0 {
            let room = min(30, width - 1 - TextWidth.columns(of: words[0]) - TextWidth.columns(of: text) - 3)
            if room >= 8 {
                let filled = min(room, room * done / total)
                words.append(String(repeating: "█", count: filled) + String(repeating: "░", count: room - filled))
            }
        }
        words.append(" " + text)
        return TextWidth.truncate(words.joined(separator: " "), to: width - 1)
    }

    /// Work in bytes is shown as bytes; everything else as a number, and its bytes if known.
    private static func facts(unit: String, done: Int, total: Int?, byteCount: Int?) -> [String] {
        if unit == "byte" {
            return [total.map { "\(NumberText.bytes(done)) of \(NumberText.bytes($0))" } ?? NumberText.bytes(done)]
        }
        let count =
            total.map { "\(NumberText.grouped(done)) of \(NumberText.counted($0, unit))" }
            ?? NumberText.counted(done, unit)
        guard let byteCount, byteCount > 0 else { return [count] }
        return [count, NumberText.bytes(byteCount)]
    }

    private static var nowMilliseconds: Int {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }
}
