// Contents in and out by descriptors that a client sent. Invariant: a client that lets its descriptor wait, or goes away,
// keeps nothing but its own request waiting, and that one can be cancelled.

internal import CPlatform
internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

extension StoreDesk {
    /// The kinds of descriptors that operations take.
    enum DescriptorKind {
        /// Anything that can be read or written.
        case stream
        case file
        case folder
        case folderOrFile
    }

    /// The one descriptor that came with the request.
    ///
    /// - Throws: `OperationError.descriptorInvalid`, and what came: `none`, `few`, `several`, `folder`, `file`, `stream`.
    func takeDescriptor(_ wanted: DescriptorKind = .stream) throws -> OwnedDescriptor {
        OwnedDescriptor(try takeDescriptors([wanted]).take()[0])
    }

    /// The descriptors that came with the request, of these kinds.
    ///
    /// - Throws: as `takeDescriptor`.
    func takeDescriptors(_ wanted: [DescriptorKind]) throws -> BroughtFiles {
        let brought = BroughtFiles(work.takeDescriptors())
        guard brought.numbers.count == wanted.count else {
            let came = brought.numbers.isEmpty ? "none" : brought.numbers.count < wanted.count ? "few" : "several"
            throw OperationError(.descriptorInvalid, at: came)
        }
        for (number, wanted) in zip(brought.numbers, wanted) { try Self.check(number, wanted) }
        return brought
    }

    private static func check(_ number: Int32, _ wanted: DescriptorKind) throws {
        var information = stat()
        guard unsafe fstat(number, &information) == 0 else { throw SystemFailure.last }
        let came: (isFolder: Bool, isFile: Bool) = (
            information.st_mode & S_IFMT == S_IFDIR, information.st_mode & S_IFMT == S_IFREG
        )
        let fits =
            switch wanted {
            case .stream: !came.isFolder
            case .file: came.isFile
            case .folder: came.isFolder
            case .folderOrFile: came.isFolder || came.isFile
            }
        guard fits else {
            throw OperationError(.descriptorInvalid, at: came.isFolder ? "folder" : came.isFile ? "file" : "stream")
        }
    }
}

/// Descriptors of a request; closed with this object.
final class BroughtFiles {
    private(set) var numbers: [Int32]

    fileprivate init(_ numbers: [Int32]) { self.numbers = numbers }

    deinit { for number in numbers { close(number) } }

    /// Hands over all of them.
    fileprivate func take() -> [Int32] {
        defer { numbers = [] }
        return numbers
    }
}

enum DescriptorTransfer {
    /// How long a look at the descriptor waits until the client is asked whether it still wants it.
    private static let lookMilliseconds: Int32 = 200
    /// So much can be written to a pipe that has room without waiting.
    private static let pipeByteCount = 4_096

    /// The size of a file; nil for what has none.
    static func byteCount(of descriptor: Int32) -> Int? {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(information.st_size)
    }

    /// - Returns: how many bytes; 0 at the end.
    static func read(
        into buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, _ work: OperationWork
    ) throws -> Int {
        while true {
            try wait(for: POLLIN, on: descriptor, work)
            let count = unsafe Glibc.read(descriptor, buffer.baseAddress!, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR || errno == EAGAIN else { throw SystemFailure.last }
        }
    }

    /// All bytes of a short file.
    ///
    /// - Throws: `CommandFailure` `.inputTooLarge`.
    static func bytes(
        from descriptor: Int32, byteCountMax: Int, _ what: String, _ work: OperationWork
    ) throws -> [UInt8] {
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        defer { buffer.zero() }
        while true {
            let count = try unsafe buffer.withUnsafeMutableBytes { try unsafe read(into: $0, from: descriptor, work) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= byteCountMax else {
                bytes.zero()
                throw CommandFailure(
                    .badInput, .inputTooLarge, "\(what) is larger than \(NumberText.bytes(byteCountMax))")
            }
        }
    }

    /// The name that an open file has now; nil if that cannot be told.
    static func name(of descriptor: Int32) -> String? {
        guard let path = unsafe realpath("/proc/self/fd/\(descriptor)", nil) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(validatingCString: path).map(PathText.name)
    }

    /// A file in memory, which is read from its beginning.
    static func memoryFile(_ bytes: [UInt8]) throws -> OwnedDescriptor {
        let number = coffret_memory_file()
        guard number >= 0 else { throw SystemFailure.last }
        let file = OwnedDescriptor(number)
        try DescriptorIO.write(bytes, to: number)
        guard lseek(number, 0, SEEK_SET) == 0 else { throw SystemFailure.last }
        return file
    }

    /// A secret: what comes before the first line end, or before the end.
    static func secret(from descriptor: Int32, _ work: OperationWork) throws -> SecretBytes {
        var line = SecretLine(byteCountMax: Limits.passphraseByteCountMax + 1)
        var byte: UInt8 = 0
        while true {
            let count = try unsafe withUnsafeMutableBytes(of: &byte) {
                try unsafe read(into: $0, from: descriptor, work)
            }
            if count == 0 || byte == 0x0A || !line.append(byte) { break }
        }
        byte = 0
        return line.take()
    }

    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ work: OperationWork) throws {
        let pieceByteCount = byteCount(of: descriptor) == nil ? pipeByteCount : bytes.count
        var done = 0
        while done < bytes.count {
            try wait(for: POLLOUT, on: descriptor, work)
            let count = unsafe Glibc.write(
                descriptor, bytes.baseAddress! + done, min(pieceByteCount, bytes.count - done))
            guard count >= 0 || errno == EINTR || errno == EAGAIN else { throw SystemFailure.last }
            done += max(0, count)
        }
    }

    private static func wait(for event: Int32, on descriptor: Int32, _ work: OperationWork) throws {
        var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        while unsafe poll(&entry, 1, lookMilliseconds) <= 0 { try work.checkCancelled() }
    }

    /// A failure of the client's descriptor in words.
    static func told<Value: ~Copyable>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let failure as SystemFailure {
            throw CommandFailure(
                .inputOutput, .fileUnreadable, "the descriptor of the request fails: \(failure.message)")
        }
    }

    /// Why a stream ended early: storage knows only that it did.
    final class Failure {
        private(set) var error: (any Error)?

        /// Runs a step of the stream.
        func note<Value>(at place: String, _ step: () throws -> Value) throws(StorageError) -> Value {
            do {
                return try step()
            } catch {
                self.error = error
                throw StorageError(.fileFailed, place: place, cause: error)
            }
        }
    }

    /// Runs a stream; throws what ended it instead of what storage made of that.
    static func naming<Value>(_ body: (Failure) throws -> Value) throws -> Value {
        let failure = Failure()
        do {
            return try body(failure)
        } catch {
            throw failure.error ?? error
        }
    }
}
