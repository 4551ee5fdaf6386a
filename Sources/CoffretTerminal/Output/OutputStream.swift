// Standard output and standard error. Invariant: what is written is gathered and leaves in large pieces, and a reader
// that went away is noticed, not reported.

internal import CoffretBase
internal import Glibc

/// A buffered stream to a descriptor.
package final class OutputStream {
    package let descriptor: Int32
    private var buffer: [UInt8] = []
    private static let byteCountMax = 65_536

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    package func write(_ text: String) throws {
        buffer += text.utf8
        if buffer.count >= Self.byteCountMax { try flush() }
    }

    package func write(bytes: some Sequence<UInt8>) throws {
        buffer += bytes
        if buffer.count >= Self.byteCountMax { try flush() }
    }

    package func line(_ text: String = "") throws {
        try write(text)
        try write("\n")
    }

    /// - Throws: `BrokenPipe` when the reader went away, `CommandFailure` otherwise.
    package func flush() throws {
        guard !buffer.isEmpty else { return }
        defer {
            // The output may be a secret that the person asked for; it does not stay behind.
            buffer.zero()
            buffer.removeAll(keepingCapacity: true)
        }
        do throws(SystemFailure) {
            try DescriptorIO.write(buffer, to: descriptor)
        } catch {
            if error.number == EPIPE { throw BrokenPipe() }
            if error.number == ENOSPC {
                throw CommandFailure(.diskFull, .diskFull, "the output could not be written: the disk is full")
            }
            throw CommandFailure(.inputOutput, .fileUnwritable, "the output could not be written: \(error.message)")
        }
    }
}
