// Messages and descriptors over real sockets, and who may not be at the other end (R32).

import CoffretNet
import CoffretTestSupport
import Foundation
import Testing

@Suite("Unix sockets")
struct UnixConnectionTests {
    static let userID = getuid()

    /// A listener in a folder of its own, and both ends of one connection to it.
    static func pair() throws -> (TemporaryDirectory, UnixListener, UnixConnection, UnixConnection) {
        let directory = try TemporaryDirectory("socket")
        let listener = try UnixListener(path: directory.file("s"), userID: userID)
        let client = try UnixConnection.connect(path: directory.file("s"), userID: userID)
        let server = try #require(listener.accept(userID: userID))
        return (directory, listener, client, server)
    }

    @Test("messages of any size up to the limit arrive whole, and one more byte is refused")
    func sizes() throws {
        let (_, listener, client, server) = try Self.pair()
        for byteCount in [0, 1, 4095, 300_000, UnixConnection.messageByteCountMax] {
            let message = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let sending = Thread { try? client.send(message) }
            sending.start()
            let received = try #require(try server.receive())
            #expect(received.message.bytes == message)
        }
        #expect(throws: NetError(.messageTooLarge)) {
            try client.send([UInt8](repeating: 0, count: UnixConnection.messageByteCountMax + 1))
        }
        withExtendedLifetime(listener) {}
    }

    @Test("descriptors travel with a message and work on the other side")
    func descriptors() throws {
        let (_, listener, client, server) = try Self.pair()
        let pipe = Pipe()
        try client.send([1], descriptors: [pipe.fileHandleForWriting.fileDescriptor])
        let received = try #require(try server.receive())
        let taken = received.descriptors.take()
        #expect(taken.count == 1)
        let writer = FileHandle(fileDescriptor: try #require(taken.first), closeOnDealloc: true)
        try writer.write(contentsOf: Data("through".utf8))
        try writer.close()
        try pipe.fileHandleForWriting.close()
        #expect(try pipe.fileHandleForReading.readToEnd() == Data("through".utf8))
        withExtendedLifetime(listener) {}
    }

    @Test("descriptors that nobody takes are closed")
    func untakenDescriptors() throws {
        let (_, listener, client, server) = try Self.pair()
        let pipe = Pipe()
        try client.send([1], descriptors: [pipe.fileHandleForWriting.fileDescriptor])
        _ = try server.receive()
        try pipe.fileHandleForWriting.close()
        // The end of the pipe shows only when every copy of the writing end is closed.
        #expect(try pipe.fileHandleForReading.readToEnd() ?? Data() == Data())
        withExtendedLifetime(listener) {}
    }

    @Test("the end of a connection is nil between messages and an error within one")
    func closing() throws {
        let (directory, listener, client, server) = try Self.pair()
        client.shutDown()
        #expect(try server.receive() == nil)
        let raw = try ProcessRunner.python(
            "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.sendall(b'\\0\\0\\0\\x09abc')",
            [directory.file("s")])
        #expect(raw.exitCode == 0)
        let cut = try #require(listener.accept(userID: Self.userID))
        #expect(throws: NetError(.closed)) { _ = try cut.receive() }
    }

    @Test("a length beyond the limit is refused before anything is allocated for it")
    func hostileLength() throws {
        let (directory, listener, _, _) = try Self.pair()
        let raw = try ProcessRunner.python(
            "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.sendall(b'\\xff\\xff\\xff\\xff')",
            [directory.file("s")])
        #expect(raw.exitCode == 0)
        let hostile = try #require(listener.accept(userID: Self.userID))
        #expect(throws: NetError(.messageTooLarge)) { _ = try hostile.receive() }
    }

    @Test("both sides see who the other is, and another user is refused (R32)")
    func peers() throws {
        let (directory, listener, client, server) = try Self.pair()
        #expect(try client.peer().userID == Self.userID)
        #expect(try server.peer().processID == getpid())
        #expect(throws: NetError(.directoryUntrusted)) {
            _ = try UnixConnection.connect(path: directory.file("s"), userID: Self.userID + 1)
        }
        withExtendedLifetime(listener) {}
    }

    @Test("a folder that others may look into, or that is a link, is refused (R32)")
    func untrustedFolder() throws {
        let (directory, listener, _, _) = try Self.pair()
        let link = try TemporaryDirectory("link")
        try FileManager.default.createSymbolicLink(atPath: link.file("l"), withDestinationPath: directory.path)
        #expect(throws: NetError(.directoryUntrusted)) {
            _ = try UnixConnection.connect(path: link.file("l") + "/s", userID: Self.userID)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        #expect(throws: NetError(.directoryUntrusted)) {
            _ = try UnixConnection.connect(path: directory.file("s"), userID: Self.userID)
        }
        withExtendedLifetime(listener) {}
    }

    @Test("a second listener is told so, and a dead socket is replaced")
    func secondListener() throws {
        let directory = try TemporaryDirectory("socket")
        var first: UnixListener? = try UnixListener(path: directory.file("s"), userID: Self.userID)
        #expect(throws: NetError(.addressTaken)) {
            _ = try UnixListener(path: directory.file("s"), userID: Self.userID)
        }
        first?.stop()
        first = nil
        try Data().write(to: URL(fileURLWithPath: directory.file("s")))
        let second = try UnixListener(path: directory.file("s"), userID: Self.userID)
        #expect(try UnixConnection.connect(path: second.path, userID: Self.userID).peer().userID == Self.userID)
    }
}
