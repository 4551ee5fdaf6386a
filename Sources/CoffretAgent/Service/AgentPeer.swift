// One client's connection, as the agent's loop sees it.

internal import CoffretMessages
internal import CoffretNet
internal import CoffretWire
internal import Glibc

final class AgentPeer {
    let connection: UnixConnection
    let credentials: PeerCredentials
    /// Whether it came in where programs with tokens do: nothing is done for it but that.
    let isLimited: Bool
    let receiver = MessageReceiver()
    /// The process that works for the client; until it has ended nothing more is read here, because the child and
    /// the client talk over the same socket.
    var child: AgentChild?

    init(connection: UnixConnection, credentials: PeerCredentials, isLimited: Bool = false) {
        self.connection = connection
        self.credentials = credentials
        self.isLimited = isLimited
    }

    var descriptor: Int32 { connection.descriptor }

    /// Answers; a client that does not read its answers is not waited for.
    func answer(_ response: AgentResponse) {
        do throws(NetError) {
            try connection.send(response.encoded(), waits: false)
        } catch {
            connection.shutDown()
        }
    }

    func refuse(_ code: AgentErrorCode) {
        answer(.failed(code: code.rawValue, waitSeconds: nil))
    }
}
