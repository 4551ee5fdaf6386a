// Reading and writing descriptors whole. Invariant: short reads and writes, and signals in between, are handled here
// and nowhere else.

internal import CPlatform
internal import CoffretBase
package import Glibc

/// Why a descriptor could not be read or written: the value of `errno`.
package struct SystemFailure: Error, Equatable, Sendable {
    package let number: Int32

    package init(number: Int32) { self.number = number }

    package static var last: SystemFailure { SystemFailure(number: errno) }

    /// The system's words, such as "permission denied".
    package var message: String {
        var buffer = [CChar](repeating: 0, count: 256)
        // The XSI form of strerror_r fills the buffer; 256 bytes hold every message of glibc.
        let status = unsafe buffer.withUnsafeMutableBufferPointer { area in
            unsafe strerror_r(number, area.baseAddress!, area.count)
        }
        guard status == 0 else { return "error \(number)" }
        let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

/// An open file descriptor that closes itself.
package struct OwnedDescriptor: ~Copyable {
    package let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    /// Opens a file; `O_CLOEXEC` is always set.
    package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o600) throws(SystemFailure)
        -> OwnedDescriptor
    {
        let descriptor = unsafe coffret_open(path, flags, mode)
        guard descriptor >= 0 else { throw SystemFailure.last }
        return OwnedDescriptor(descriptor)
    }

    deinit {
        close(number)
    }

    /// A second descriptor of the same file, which is the caller's to close; `FD_CLOEXEC` is set.
    package borrowing func duplicate() throws(SystemFailure) -> Int32 {
        let descriptor = fcntl(number, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SystemFailure.last }
        return descriptor
    }
}

package enum DescriptorIO {
    /// Writes all bytes.
    package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(SystemFailure) {
        var done = 0
        while done < bytes.count {
            let count = unsafe Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
            if count < 0 {
                if errno == EINTR { continue }
                throw SystemFailure.last
            }
            done += count
        }
    }

    package static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemFailure) {
        do {
            try unsafe bytes.withUnsafeBytes { buffer in try unsafe write(buffer, to: descriptor) }
        } catch let failure as SystemFailure {
            throw failure
        } catch {
            preconditionFailure("only system failures are thrown here")
        }
    }

    /// Reads once, at most `byteCountMax` bytes; an empty result is the end.
    package static func read(from descriptor: Int32, byteCountMax: Int) throws(SystemFailure) -> [UInt8] {
        var failure: SystemFailure?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCountMax) { buffer, count in
            repeat {
                count = unsafe Glibc.read(descriptor, buffer.baseAddress!, byteCountMax)
            } while count < 0 && errno == EINTR
            if count < 0 {
                failure = SystemFailure.last
                count = 0
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads to the end.
    ///
    /// - Returns: `nil` if there is more than `byteCountMax`.
    package static func readAll(from descriptor: Int32, byteCountMax: Int) throws(SystemFailure) -> [UInt8]? {
        var result: [UInt8] = []
        while true {
            let part = try read(from: descriptor, byteCountMax: 65_536)
            if part.isEmpty { return result }
            result += part
            if result.count > byteCountMax {
                result.zero()
                return nil
            }
        }
    }

    /// Whether reading would not wait: there is something, or the end.
    package static func isReadable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, 0) != 0
    }

    /// Reads a line byte by byte, so that what follows it stays; calls `idle` while there is nothing.
    ///
    /// - Returns: nil at the end of input.
    package static func readLine(from descriptor: Int32, byteCountMax: Int, idle: () throws -> Void) throws -> String? {
        var bytes: [UInt8] = []
        while bytes.count < byteCountMax {
            while !isReadable(descriptor) { try idle() }
            guard let byte = try read(from: descriptor, byteCountMax: 1).first else { break }
            if byte == 0x0A { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
