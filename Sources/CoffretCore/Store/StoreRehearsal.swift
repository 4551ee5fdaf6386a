// Opening a store that is nobody's.

package import CoffretBase
internal import CoffretKeys
internal import CoffretSearch
internal import CoffretStorage

extension Store {
    /// Does with made-up keys what opening a store does, as far as it needs no files: for a process that forks, so that
    /// its children find done what is done once in a process. That is more than half of what a short command takes.
    package static func rehearse(random: any RandomSource) {
        if let keys = Keyring.rehearse(random: random) { BlobStore.rehearse(keys) }
        SearchIndex.rehearse()
    }
}
