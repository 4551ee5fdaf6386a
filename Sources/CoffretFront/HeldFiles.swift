// Files that a front holds between its page and a session. Invariant: a page writes files in memory alone, and reads those and what was
// dropped on it; one that the person has chosen it can only have carried by an operation.

internal import CPlatform
internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// A file or folder, for as long as somebody has it.
final class HeldFile {
    let descriptor: OwnedDescriptor
    /// In memory, or dropped on the page and open for reading alone.
    let isOfPage: Bool
    fileprivate(set) var byteCount = 0

    fileprivate init(_ descriptor: consuming OwnedDescriptor, isOfPage: Bool) {
        self.descriptor = descriptor
        self.isOfPage = isOfPage
    }

    /// Counts what an operation has written.
    func measure() {
        var information = stat()
        if isOfPage, unsafe fstat(descriptor.number, &information) == 0 { byteCount = Int(information.st_size) }
    }

    /// Whoever takes the descriptor reads from the beginning.
    func rewind() {
        // Of a folder there is none.
        _ = lseek(descriptor.number, 0, SEEK_SET)
    }
}

/// The files that a front holds for its page, by tickets.
struct HeldFiles {
    static let countMax = 16
    /// Of all together, as they lie in memory.
    static let byteCountMax = 256 << 20

    private var files: [String: HeldFile] = [:]
    private let random: any RandomSource = SystemRandomSource()

    /// - Throws: `.busy`.
    mutating func hold() throws(FrontError) -> String {
        let number = coffret_memory_file()
        guard number >= 0 else { throw FrontError(.busy) }
        return try add(HeldFile(OwnedDescriptor(number), isOfPage: true))
    }

    /// - Throws: `.busy`.
    mutating func hold(chosen descriptor: consuming OwnedDescriptor, isOfPage: Bool = false) throws(FrontError)
        -> String
    {
        try add(HeldFile(descriptor, isOfPage: isOfPage))
    }

    private mutating func add(_ file: HeldFile) throws(FrontError) -> String {
        guard files.count < Self.countMax else { throw FrontError(.busy) }
        let ticket = Hex.encode(random.bytes(count: 16))
        files[ticket] = file
        return ticket
    }

    /// - Throws: `.requestInvalid`.
    func file(_ ticket: String, ofPage isOfPage: Bool = false) throws(FrontError) -> HeldFile {
        guard let file = files[ticket], file.isOfPage || !isOfPage else {
            throw FrontError(.requestInvalid, at: "ticket")
        }
        return file
    }

    /// - Returns: the bytes of the file after that.
    /// - Throws: `.requestInvalid`, `.contentTooLarge`.
    func put(_ bytes: [UInt8], to ticket: String) throws(FrontError) -> Int {
        let file = try file(ticket, ofPage: true)
        let held = files.values.reduce(0) { $0 + $1.byteCount }
        guard held + bytes.count <= Self.byteCountMax else { throw FrontError(.contentTooLarge) }
        do {
            try DescriptorIO.write(bytes, to: file.descriptor.number)
        } catch {
            throw FrontError(.contentTooLarge)
        }
        file.byteCount += bytes.count
        return file.byteCount
    }

    /// - Throws: `.requestInvalid`.
    func get(_ ticket: String, from offset: Int) throws(FrontError) -> [UInt8] {
        let number = try file(ticket, ofPage: true).descriptor.number
        var count = 0
        var bytes = unsafe [UInt8](unsafeUninitializedCapacity: FrontRequest.pieceByteCountMax) { buffer, used in
            count = unsafe pread(number, buffer.baseAddress, buffer.count, offset)
            used = max(0, count)
        }
        if count < 0 { bytes = [] }
        return bytes
    }

    mutating func drop(_ ticket: String) { files[ticket] = nil }
    mutating func dropAll() { files = [:] }
}
