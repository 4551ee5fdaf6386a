// Whether files of a store are others than before, in a few characters.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import Glibc

/// Short hashes over which files lie at some paths, and how they were when they were looked at.
enum FileStamps {
    static func journal(of vault: VaultID, _ layout: StoreLayout) -> String {
        hash(files(of: PathText.join(layout.vaultPath(vault), "journal")))
    }

    static func files(of folder: String) -> [String] {
        let names = ((try? PosixFileSystem().list(folder)) ?? []).map(\.name).sorted()
        return names.map { PathText.join(folder, $0) }
    }

    static func hash(_ paths: [String]) -> String {
        var text = ""
        for path in paths {
            var information = stat()
            guard unsafe stat(path, &information) == 0 else { continue }
            let time = information.st_mtim
            text += "\(path) \(information.st_ino) \(information.st_size) \(time.tv_sec).\(time.tv_nsec)\n"
        }
        return Hex.encode(BLAKE2b.hash(Array(text.utf8), byteCount: 16).prefix(6))
    }
}
