// Operations on links between the items of a vault.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
package import CoffretWire

extension LinkList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let place = try desk.find(item, vault: vault)
        let shown = try place.vault.item(place.id)
        if shown.isVeiled { try desk.surroundings.requirePresence(desk.store, shown) }
        var links = try place.vault.links(of: place.id)
        for index in links.indices { links[index].items = desk.within(links[index].items) }
        let backlinks = desk.within(try place.vault.backlinks(of: place.id))
        let shortIDs =
            desk.givesShortIDs(givesShortIDs)
            ? try place.vault.shortIDs((links.flatMap(\.items) + backlinks).map(\.id)) : [:]
        let summary = { (item: ItemSummary) in
            var message = SummaryMessage(item)
            message.shortID = shortIDs[item.id]
            return message
        }
        var answer = Answer()
        answer.links = links.map { link in
            var message = LinkMessage()
            message.target = link.link.destination
            message.items = link.items.map(summary)
            return message
        }
        answer.backlinks = backlinks.map(summary)
        return answer
    }
}

extension LinkAdd: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let place = try desk.find(item, vault: vault)
        let target = try desk.resolve(target, in: place.vault)
        _ = try desk.readable(place)
        let isLinked = try place.vault.links(of: place.id).contains { $0.items.map(\.id) == [target] }
        var answer =
            try isLinked
            ? Answer(place.vault.item(place.id), isChanged: false)
            : desk.writing(place.record) { vault in
                try vault.batch { batch in try batch.addLink(from: place.id, to: target) }
                return Answer(try vault.item(place.id), isChanged: true)
            }
        answer.target = target.uuid.hex
        return answer
    }
}
