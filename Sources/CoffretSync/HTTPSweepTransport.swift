// Sweeps over HTTP. The one thing to keep true: what a server answers about its addresses is believed only as far as
// asking it to forget some.

internal import CoffretBase
internal import CoffretHTTP
package import CoffretWire

extension HTTPZoneTransport: SweepTransport {
    package func storedObjects(after: [UInt8]) throws(SyncError) -> AddressPage { try page("/objects", after) }

    package func storedChunks(after: [UInt8]) throws(SyncError) -> AddressPage { try page("/chunks", after) }

    private func page(_ path: String, _ after: [UInt8]) throws(SyncError) -> AddressPage {
        let query = after.isEmpty ? "" : "?after=" + Hex.encode(after)
        let response = try exchange { request("GET", path + query, body: nil, type: "") }
        guard response.status == 200 else { throw refusedFile(response.status, response.body) }
        guard let page = try? AddressPage(decoding: response.body) else { throw SyncError(.answerMalformed) }
        return page
    }

    package func sweep(_ sweep: ZoneSweep) throws(SyncError) -> SweepReceipt? {
        let response = try exchange { request("POST", "/sweep", body: sweep.encoded(), type: "application/cbor") }
        if response.status == 412 { return nil }
        guard response.status == 200 else { throw refusedFile(response.status, response.body) }
        guard let receipt = try? SweepReceipt(decoding: response.body) else { throw SyncError(.answerMalformed) }
        return receipt
    }
}
