// Drives the engine: asks the server and the vault in turn. The one thing to keep true: it decides nothing.

package import CoffretBase
package import CoffretWire

/// Carries requests about one zone to the server and back. Blocks until there is an answer.
package protocol SyncTransport: AnyObject {
    /// - Parameter frame: called with each frame of a stream; throwing ends the stream.
    /// - Returns: the reply; for a stream `.streamEnd`, or `.unreachable` if it broke off.
    func send(_ request: ServerRequest, frame: (ChangeFrame) throws -> Void) -> ServerReply
}

/// Takes files to the server.
package protocol SyncFiles: AnyObject {
    func send(_ files: [UniqueID], known: [WaitingFile]) throws(SyncError) -> FileTally
}

extension FileExchange: SyncFiles {}

/// One sync of one vault.
package struct SyncSession {
    private let transport: any SyncTransport
    private let vault: any SyncVault
    private let files: (any SyncFiles)?
    private let progress: (SyncProgress) -> Void

    /// - Parameter files: nil where there are none, as in a vault that is nothing but facts.
    package init(
        transport: any SyncTransport, vault: any SyncVault, files: (any SyncFiles)? = nil,
        progress: @escaping (SyncProgress) -> Void = { _ in }
    ) {
        self.transport = transport
        self.vault = vault
        self.files = files
        self.progress = progress
    }

    /// Runs an engine to its end.
    package func run(_ engine: SyncEngine) throws(SyncError) -> (report: SyncReport, memory: SyncMemory) {
        var run = Run(engine: engine, vault: vault, transport: transport, files: files, progress: progress)
        return try run.perform()
    }
}

private struct Run {
    var engine: SyncEngine
    let vault: any SyncVault
    let transport: any SyncTransport
    let files: (any SyncFiles)?
    let progress: (SyncProgress) -> Void
    private var result: Result<(SyncReport, SyncMemory), SyncError>?
    private var waiting: [ServerRequest] = []

    init(
        engine: SyncEngine, vault: any SyncVault, transport: any SyncTransport, files: (any SyncFiles)?,
        progress: @escaping (SyncProgress) -> Void
    ) {
        self.engine = engine
        self.vault = vault
        self.transport = transport
        self.files = files
        self.progress = progress
    }

    mutating func perform() throws(SyncError) -> (report: SyncReport, memory: SyncMemory) {
        let transport = transport
        act(on: .begin)
        while result == nil, let request = waiting.popLast() {
            let reply = transport.send(request) { frame in
                act(on: .server(.frame(frame)))
                if result != nil { throw SyncError(.answerMalformed) }
            }
            if result == nil { act(on: .server(reply)) }
        }
        switch result {
        case .success(let done): return (done.0, done.1)
        case .failure(let error): throw error
        case nil: throw SyncError(.answerMalformed)
        }
    }

    /// Does what an event leads to, up to the next request to the server.
    private mutating func act(on event: SyncEngine.Event) {
        var events = [event]
        while result == nil, !events.isEmpty {
            for action in engine.handle(events.removeFirst()) {
                switch action {
                case .server(let request): waiting.append(request)
                case .vault(let request): events.append(.vault(vault.perform(request)))
                case .sendFiles(let ids, let known):
                    do throws(SyncError) {
                        events.append(.filesSent(try files?.send(ids, known: known) ?? FileTally()))
                    } catch {
                        result = .failure(error)
                    }
                case .progress(let state): progress(state)
                case .finished(let report, let memory): result = .success((report, memory))
                case .failed(let error): result = .failure(error)
                }
            }
        }
    }
}
