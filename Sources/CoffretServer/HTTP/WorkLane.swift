// Work that may take longer than a look-up, away from the threads that serve connections. The one thing to keep true: one
// account has one piece of work under way, and whoever needs much time waits for those who need little.

internal import CMicroHTTPD
internal import CPlatform
internal import Glibc
internal import Synchronization

/// Threads that do work for accounts in turn.
final class WorkLane: Sendable {
    typealias Job = @Sendable () -> Void

    private struct State {
        /// What each account wants, in order; and whose turn is next.
        var jobs: [[UInt8]: [(isLarge: Bool, body: Job)]] = [:]
        var turns: [[UInt8]] = []
        var underWay: Set<[UInt8]> = []
        /// When the time that an account took will have been made good.
        var evenAt: [[UInt8]: Int64] = [:]
        /// Until when those who need much wait, if others are there.
        var pauseEnd: Int64 = 0
        var lightAt: Int64 = 0
        var isEnding = false
    }

    /// An account that takes more than this part of a thread's time needs much.
    private static let shareDivisor: Int64 = 4
    private static let allowance: Int64 = 200_000_000
    /// Of those who need much, all together get a third of the time while somebody who needs little came within a second.
    private static let pauseFactor: Int64 = 2
    private static let lightNanoseconds: Int64 = 1_000_000_000
    static let jobCountMaxPerAccount = 256

    private let state = Mutex(State())
    private let wake: Int32
    private let threads = Mutex<[ServerThread]>([])

    init(threadCount: Int) {
        wake = coffret_wake_descriptor()
        precondition(wake >= 0, "an event descriptor cannot be made")
        threads.withLock { $0 = (0..<threadCount).map { _ in ServerThread { [self] in run() } } }
    }

    deinit { close(wake) }

    /// - Parameter isLarge: whether it will take much time, as far as can be known before.
    /// - Returns: false if the account has too much waiting.
    func submit(for account: [UInt8], isLarge: Bool, _ job: @escaping Job) -> Bool {
        let isTaken = state.withLock { state -> Bool in
            let count = state.jobs[account]?.count ?? 0
            guard count < Self.jobCountMaxPerAccount, !state.isEnding else { return false }
            if count == 0 { state.turns.append(account) }
            state.jobs[account, default: []].append((isLarge, job))
            return true
        }
        if isTaken { signal() }
        return isTaken
    }

    /// Does what is waiting, and ends the threads.
    func stop() {
        state.withLock { $0.isEnding = true }
        threads.withLock { threads in
            for _ in threads { signal() }
            for thread in threads { thread.join() }
            threads = []
        }
    }

    private func signal() {
        var one: UInt64 = 1
        _ = unsafe write(wake, &one, 8)
    }

    private func run() {
        while true {
            var wait: Int64 = 1_000_000_000
            let next = state.withLock { Self.next(&$0, &wait) }
            if let next {
                if next.isMore { signal() }
                let start = Monotonic.nanoseconds
                next.job()
                let end = Monotonic.nanoseconds
                state.withLock { Self.ended(&$0, next.account, next.isLight, start, end) }
                continue
            }
            if state.withLock({ $0.isEnding && $0.jobs.isEmpty }) { return }
            var polled = pollfd(fd: wake, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&polled, 1, Int32(max(1, wait / 1_000_000)))
            var count: UInt64 = 0
            _ = unsafe read(wake, &count, 8)
        }
    }

    private static func next(
        _ state: inout State, _ wait: inout Int64
    ) -> (account: [UInt8], job: Job, isLight: Bool, isMore: Bool)? {
        let now = Monotonic.nanoseconds
        let mayBeHeavy = state.isEnding || now >= state.pauseEnd || now - state.lightAt > lightNanoseconds
        func find(light: Bool) -> Int? {
            state.turns.firstIndex { account in
                guard !state.underWay.contains(account) else { return false }
                let isLarge = state.jobs[account]?.first?.isLarge ?? false
                return (!isLarge && state.evenAt[account, default: 0] - now <= allowance) == light
            }
        }
        // Those who need much have waited for their pause: their turn is before others'.
        let heavy = mayBeHeavy ? find(light: false) : nil
        guard let place = heavy ?? find(light: true) else {
            if !mayBeHeavy { wait = min(wait, max(state.pauseEnd - now, 0)) }
            return nil
        }
        let account = state.turns.remove(at: place)
        guard var jobs = state.jobs.removeValue(forKey: account), !jobs.isEmpty else { return nil }
        let job = jobs.removeFirst()
        if !jobs.isEmpty {
            state.jobs[account] = jobs
            state.turns.append(account)
        }
        state.underWay.insert(account)
        if heavy == nil { state.lightAt = now }
        return (account, job.body, heavy == nil, !state.turns.isEmpty)
    }

    private static func ended(_ state: inout State, _ account: [UInt8], _ isLight: Bool, _ start: Int64, _ end: Int64) {
        state.underWay.remove(account)
        state.evenAt[account] = max(state.evenAt[account, default: 0], start) + (end - start) * shareDivisor
        if !isLight { state.pauseEnd = end + (end - start) * pauseFactor }
        if state.evenAt.count > 4_096 { state.evenAt = state.evenAt.filter { $0.value > end } }
    }
}

/// A connection that waits for a lane.
// SAFETY: the library keeps a suspended connection until it is resumed, once, on the thread of its loop.
@safe struct SuspendedConnection: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// From the library's call for it, which ends with the request neither answered nor refused.
    init(_ connection: HTTPConnection) {
        unsafe pointer = connection.pointer
        unsafe MHD_suspend_connection(pointer)
    }

    /// On the thread of its loop: `HTTPLoop.resume`.
    func resume() { unsafe MHD_resume_connection(pointer) }
}

/// The lanes of a server: what writes, and what reads much.
final class WorkLanes: Sendable {
    private let reading = WorkLane(threadCount: 2)
    private let writing: WorkLane

    /// - Parameter hasOneWriter: whether the database takes one transaction at a time.
    init(hasOneWriter: Bool) { writing = WorkLane(threadCount: hasOneWriter ? 1 : 4) }

    func lane(of row: Route?) -> WorkLane? {
        switch row?.lane {
        case .reading?: reading
        case .writing?: writing
        case .here?, nil: nil
        }
    }

    func stop() {
        reading.stop()
        writing.stop()
    }
}
