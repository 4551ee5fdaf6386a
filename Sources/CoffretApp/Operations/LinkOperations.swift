// Operations on links between the items of a vault.

internal import CoffretBase
package import CoffretCore
internal import CoffretStorage
package import CoffretWire

/// What an item links to, and what links to it.
package struct ItemLinks {
    package let links: [ItemLink]
    package let backlinks: [ItemSummary]
    package let vault: Vault
}

extension LinkList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer { Answer(try listed(on: desk)) }

    package func listed(on desk: StoreDesk) throws -> ItemLinks {
        let place = try desk.find(item, vault: vault)
        let shown = try place.vault.item(place.id)
        if shown.isVeiled { try desk.surroundings.requirePresence(desk.store, shown) }
        var links = try place.vault.links(of: place.id)
        for index in links.indices { links[index].items = desk.within(links[index].items) }
        return ItemLinks(
            links: links, backlinks: desk.within(try place.vault.backlinks(of: place.id)), vault: place.vault)
    }
}

extension LinkList.Answer {
    package init(_ found: ItemLinks) {
        self.init()
        links = found.links.map { link in
            var message = LinkMessage()
            message.target = link.link.destination
            message.items = link.items.map { SummaryMessage($0) }
            return message
        }
        backlinks = found.backlinks.map { SummaryMessage($0) }
    }
}

extension LinkAdd: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let place = try desk.find(item, vault: vault)
        let target = try desk.resolve(target, in: place.vault)
        _ = try desk.readable(place)
        let isLinked = try place.vault.links(of: place.id).contains { $0.items.map(\.id) == [target] }
        guard !isLinked else { return Answer(try place.vault.item(place.id), isChanged: false) }
        return try desk.writing(place.record) { vault in
            try vault.batch { (batch) throws(CoreError) in try batch.addLink(from: place.id, to: target) }
            return Answer(try vault.item(place.id), isChanged: true)
        }
    }
}
