// The files of the page. Invariant: each served file was read once, from files that nobody but root and this user can change.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import Glibc

/// A file of the page.
package struct PageFile: Sendable {
    package let mediaType: String
    package let content: [UInt8]
}

/// The page as it was when the front started, by name.
package struct PageFiles: Sendable {
    package let files: [String: PageFile]

    private static let byteCountMax = 2 << 20

    /// All files of the page, and no others.
    package static let names = [
        "index.html", "icon.svg", "style.css", "editor.css", "main.js", "session.js", "state.js", "el.js", "icons.js",
        "words.js",
        "sidebar.js", "list.js", "item.js", "editor.js", "fields.js", "history.js", "conflicts.js", "dialogs.js",
        "keys.js", "files.js", "pictures.js", "screens.js", "transfer.js", "templates.js", "vendor/codemirror.js",
        "vendor/codemirror.css", "vendor/overlay.js", "vendor/xml.js",
        "vendor/markdown.js", "vendor/continuelist.js", "vendor/placeholder.js",
    ]

    /// Headers that go with every answer of a front. Spec: Spec/page.md section 4.
    package static let headers: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
                + "trusted-types 'none'"
        ),
        ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Embedder-Policy", "require-corp"),
        (
            "Permissions-Policy",
            [
                "accelerometer", "autoplay", "bluetooth", "camera", "clipboard-read", "clipboard-write",
                "display-capture", "fullscreen", "geolocation", "gyroscope", "hid", "magnetometer", "microphone",
                "midi", "payment", "picture-in-picture", "publickey-credentials-get", "screen-wake-lock", "serial",
                "usb", "xr-spatial-tracking",
            ].map { "\($0)=()" }.joined(separator: ", ")
        ),
    ]

    /// The folder of an installed page: beside the folder of the front's program.
    package static var installedFolder: String? {
        AgentLocation.canonical("/proc/self/exe").map { program in
            PathText.parent(of: PathText.parent(of: program)) + "/share/coffret/page"
        }
    }

    /// - Throws: `.pageUntrusted` with the name at fault.
    package init(folder: String) throws(FrontError) {
        var files: [String: PageFile] = [:]
        try Self.check(folder, isFolder: true, name: folder)
        try Self.check(folder + "/vendor", isFolder: true, name: "vendor")
        for name in Self.names {
            files[name] = PageFile(mediaType: Self.mediaType(of: name), content: try Self.read(folder, name))
        }
        self.files = files
    }

    private static func mediaType(of name: String) -> String {
        if name.hasSuffix(".html") { return "text/html; charset=utf-8" }
        if name.hasSuffix(".svg") { return "image/svg+xml" }
        return name.hasSuffix(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8"
    }

    private static func check(_ path: String, isFolder: Bool, name: String) throws(FrontError) {
        var information = stat()
        guard unsafe lstat(path, &information) == 0, isTrusted(information, isFolder: isFolder) else {
            throw FrontError(.pageUntrusted, at: name)
        }
    }

    private static func isTrusted(_ information: stat, isFolder: Bool) -> Bool {
        let kind = information.st_mode & S_IFMT
        return (information.st_uid == 0 || information.st_uid == geteuid())
            && information.st_mode & (S_IWGRP | S_IWOTH) == 0
            && (isFolder ? kind == S_IFDIR : kind == S_IFREG && information.st_nlink == 1)
    }

    private static func read(_ folder: String, _ name: String) throws(FrontError) -> [UInt8] {
        do throws(SystemFailure) {
            let file = try OwnedDescriptor.open("\(folder)/\(name)", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
            var information = stat()
            guard unsafe fstat(file.number, &information) == 0, isTrusted(information, isFolder: false),
                let bytes = try DescriptorIO.readAll(from: file.number, byteCountMax: byteCountMax)
            else { throw SystemFailure(number: EPERM) }
            return bytes
        } catch {
            throw FrontError(.pageUntrusted, at: name)
        }
    }
}
