// Overwrites traces of a secret on the stack and in registers. Invariant: the work has a frame of its own, below the
// one that overwrites it.

internal import CPlatform

/// Runs `body`, which handles secrets, and overwrites what it leaves behind on the stack and in vector registers.
///
/// For a process that lives on after the secret is to be gone, such as the agent; processes that end need none of
/// this. What `body` returns or keeps is its own business. Cost: about 3 µs.
@inline(never)
package func clearingTraces<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    defer { coffret_clear_traces() }
    return try inOwnFrame(body)
}

@inline(never)
private func inOwnFrame<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    try body()
}
