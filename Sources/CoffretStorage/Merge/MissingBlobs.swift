// What a head from elsewhere still needs. The one thing to keep true: if it finds nothing, verifying and storing the
// head meets no missing blob.

/// Walks from heads to all that they need, over what was offered and what is here.
struct MissingBlobs {
    let adoption: Adoption

    func find(
        _ heads: [BlobName], known: KnownCommits, beginnings: HistoryBeginnings
    ) throws(StorageError) -> [BlobName] {
        var missing: [BlobName] = []
        var seen: Set<BlobName> = []
        var stack = heads.sorted()
        while let name = stack.popLast() {
            guard seen.insert(name).inserted else { continue }
            guard try contains(name) else {
                missing.append(name)
                continue
            }
            // The context of a commit that is here is asked for first, since reading the commit needs it.
            let unverified = try UnverifiedCommit.decode(
                adoption.incoming.blobBytes(name, type: .commit), name: name)
            let parents = unverified.commit.parents.filter { !beginnings.isRemoved($0, of: name) }
            guard try contains(unverified.commit.context) else {
                missing.append(unverified.commit.context)
                stack += parents
                continue
            }
            guard try !known.contains(name) else { continue }
            try findChanges(of: unverified.commit, &missing, &seen)
            if beginnings.roots.contains(name) {
                try find(node: unverified.commit.root, type: .treeInner, &missing, &seen)
            }
            stack += parents
        }
        return missing
    }

    /// What the state of a commit needs: itself, its context, and the tree that it states.
    func find(treeOf head: BlobName) throws(StorageError) -> [BlobName] {
        guard try contains(head) else { return [head] }
        let commit = try UnverifiedCommit.decode(adoption.incoming.blobBytes(head, type: .commit), name: head).commit
        var missing: [BlobName] = []
        var seen: Set<BlobName> = []
        if try !contains(commit.context) { missing.append(commit.context) }
        try find(node: commit.root, type: .treeInner, &missing, &seen)
        return missing
    }

    private func contains(_ name: BlobName) throws(StorageError) -> Bool {
        try adoption.incoming.containsBlob(name)
    }

    private func findChanges(
        of commit: Commit, _ missing: inout [BlobName], _ seen: inout Set<BlobName>
    ) throws(StorageError) {
        switch commit.changes {
        case .list(let changes):
            for change in changes {
                if case .stored(let value) = change.content { try find(value, &missing, &seen) }
            }
        case .tree(let root): try find(node: root, type: .treeInner, &missing, &seen)
        }
    }

    private func find(
        _ value: StoredValue, _ missing: inout [BlobName], _ seen: inout Set<BlobName>
    ) throws(StorageError) {
        guard seen.insert(value.name).inserted else { return }
        guard try contains(value.name) else { return missing.append(value.name) }
        guard value.isList else { return }
        let list = try ValueReader(reader: adoption.incoming, unstored: [:]).list(value)
        for piece in list.pieces where seen.insert(piece.name).inserted {
            if try !contains(piece.name) { missing.append(piece.name) }
        }
    }

    private func find(
        node name: BlobName, type: BlobType, _ missing: inout [BlobName], _ seen: inout Set<BlobName>
    ) throws(StorageError) {
        guard seen.insert(name).inserted else { return }
        guard try contains(name) else { return missing.append(name) }
        if type == .treeLeaf {
            let facts = try adoption.incoming.readBlob(name, type: .treeLeaf) { (content) throws(StorageError) in
                LeafCodec.decode(content, allowsRetractions: true)
            }
            guard let facts else { throw StorageError(.treeMalformedNode, place: name.description) }
            for index in 0..<facts.count {
                if let value = facts.storedValue(at: index) { try find(value, &missing, &seen) }
            }
            return
        }
        let inner = try adoption.incoming.readBlob(name, type: .treeInner) { (content) throws(StorageError) in
            InnerCodec.decode(content)
        }
        guard let inner else { throw StorageError(.treeMalformedNode, place: name.description) }
        for index in 0..<inner.children.count {
            try find(
                node: inner.children.name(at: index), type: inner.level == 1 ? .treeLeaf : .treeInner, &missing, &seen)
        }
    }
}
