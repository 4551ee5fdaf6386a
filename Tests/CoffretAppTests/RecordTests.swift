// Records in both encodings.

import CoffretBase
import CoffretWire
import Testing

@Suite("Records")
struct RecordTests {
    private var list: ItemList {
        var list = ItemList()
        list.tags = ["garden", "garden/beds"]
        list.isPinned = true
        list.order = .title
        list.limit = 20
        list.at = WireMoment(1_767_225_600_000)
        return list
    }

    @Test("a record reads back equal from CBOR and from JSON, and both leave out what is not there")
    func roundTrip() throws {
        #expect(try ItemList(decoding: list.encoded) == list)
        #expect(try ItemList(json: list.json) == list)
        #expect(list.json["vault"] == nil && list.json["limit"]?.integer == 20)
        guard case .map(let pairs) = try CBORValue(decoding: list.encoded) else {
            Issue.record("no map")
            return
        }
        let names = ["at", "tags", "limit", "order", "isPinned"]
        #expect(pairs.map(\.key) == names.map { .text($0) }, "in the order of their encodings")
    }

    @Test("a request with an unknown field, a missing one or a wrong value is refused, and the field is named")
    func refused() throws {
        func place(_ json: String) -> String? {
            do {
                _ = try ItemRead(json: JSONValue(parsing: Array(json.utf8)))
                return "accepted"
            } catch {
                return (error as? WireError)?.place
            }
        }
        #expect(place(#"{"item":"a"}"#) == "accepted")
        #expect(place(#"{"item":"a","vaults":"b"}"#) == "vaults")
        #expect(place(#"{"vault":"b"}"#) == "item")
        #expect(place(#"{"item":7}"#) == "item")
        #expect(place(#"{"item":"a","revealsSecrets":null}"#) == "revealsSecrets")
        for (fields, name) in [(["item": 1, "vault": 2], "item"), (["vault": 2], "vault"), (["zzz": 1], "zzz")] {
            let bytes = CBOREncoder.encode { encoder in
                encoder.encodeMap { map in
                    for (name, number) in fields { map.put(name) { $0.encode(unsigned: UInt64(number)) } }
                }
            }
            do {
                _ = try ItemRead(decoding: bytes)
                Issue.record("accepted")
            } catch {
                #expect(error.place == name)
            }
        }
        var order = try JSONValue(parsing: Array(#"{"order":"size"}"#.utf8))
        #expect(throws: WireError(.malformed)) { try ItemList(json: order) }
        order = try JSONValue(parsing: Array(#"{"order":"title"}"#.utf8))
        #expect(try ItemList(json: order).order == .title)
    }

    @Test("an answer may have fields that are not known here")
    func newerAnswer() throws {
        let json = try JSONValue(parsing: Array(#"{"tags":[{"tag":"garden","count":2,"color":"red"}],"more":1}"#.utf8))
        let answer = try TagList.Answer(json: json)
        #expect(answer.tags.first?.tag == "garden" && answer.tags.first?.count == 2)
        let bytes = CBOREncoder.encode { encoder in
            encoder.encodeMap { map in
                map.put("tags") { $0.encodeArrayHeader(count: 0) }
                map.put("new") { $0.encode(text: "x") }
            }
        }
        #expect(try TagList.Answer(decoding: bytes).tags.isEmpty)
    }

    @Test("a request is read in the form in which it was written, and every cut of it is refused")
    func envelope() throws {
        for isJSON in [false, true] {
            let bytes = OperationRequest(list, by: .program, isJSON: isJSON).encoded
            let request = try OperationRequest(decoding: bytes, isJSON: isJSON)
            #expect(request.name == "item.list" && request.asker == .program && request.isJSON == isJSON)
            #expect(try request.read(as: ItemList.self) == list)
            for count in bytes.indices {
                #expect(throws: WireError.self) {
                    let cut = try OperationRequest(decoding: Array(bytes[..<count]), isJSON: isJSON)
                    _ = try cut.read(as: ItemList.self)
                }
            }
        }
        #expect(throws: WireError.self) {
            try OperationRequest(decoding: Array(#"{"do":"hello","dp":1}"#.utf8), isJSON: true)
        }
    }

    @Test("a reply is an answer or a failure")
    func reply() throws {
        var failure = OperationFailure()
        (failure.code, failure.message, failure.waitSeconds) = ("core.item.not-found", "there is no such item", 3)
        for isJSON in [false, true] {
            let refused = OperationReply<TagList.Answer>.failure(failure)
            #expect(try OperationReply(decoding: refused.encoded(isJSON: isJSON), isJSON: isJSON) == refused)
            let answered = OperationReply<TagList.Answer>.answer(TagList.Answer())
            #expect(try OperationReply(decoding: answered.encoded(isJSON: isJSON), isJSON: isJSON) == answered)
        }
    }
}
