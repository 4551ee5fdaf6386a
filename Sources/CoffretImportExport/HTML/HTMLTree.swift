// HTML and its kin as a tree. Invariant: the depth and the number of nodes are bounded, whatever the text.

internal import CHTML

/// An element or a text.
indirect enum HTMLNode: Equatable {
    case element(HTMLElement)
    case text(String)

    /// All text below.
    var text: String {
        switch self {
        case .text(let text): text
        case .element(let element): element.text
        }
    }
}

/// An element with all that it contains.
struct HTMLElement: Equatable {
    /// In lower case.
    let name: String
    /// By their names in lower case.
    let attributes: [String: String]
    var children: [HTMLNode] = []

    /// All text below.
    var text: String { children.map(\.text).joined() }

    /// The first element of a name, this one included, in the order of the text.
    func first(_ wanted: String) -> HTMLElement? {
        if name == wanted { return self }
        for case .element(let child) in children {
            if let found = child.first(wanted) { return found }
        }
        return nil
    }

    /// Values of the attribute `style` by their names in lower case.
    var styles: [String: String] {
        var styles: [String: String] = [:]
        for part in attributes["style"]?.split(separator: ";") ?? [] {
            let pair = part.split(separator: ":", maxSplits: 1).map { String($0).trimmedBlanks().asciiLowercased() }
            if pair.count == 2 { styles[pair[0]] = pair[1] }
        }
        return styles
    }
}

extension HTMLElement {
    /// The most elements in each other.
    static let depthMax = 256
    /// The most elements and texts.
    static let nodeCountMax = 4_000_000

    /// Reads a text, which is closed where it leaves elements open, as the element `html`.
    ///
    /// - Throws: `.formatInvalid` for more than `depthMax` or `nodeCountMax`, or for bytes that are not UTF-8;
    ///   `.libraryMissing`.
    /// - Complexity: linear in time; some twenty times the text in memory for texts of many elements.
    static func parse(_ bytes: [UInt8], subject: String) throws(ImportExportError) -> HTMLElement {
        guard isValidUTF8(bytes) else { throw ImportExportError(.formatInvalid, at: "not UTF-8", subject: subject) }
        var builder = HTMLTreeBuilder()
        var visitor = unsafe coffret_html_visitor(
            start: { context, name, attributes in
                // SAFETY: the context is the builder of this call; the names live until the callback returns.
                unsafe HTMLTreeBuilder.of(context).pointee.start(name, attributes)
            },
            end: { context, _ in
                unsafe HTMLTreeBuilder.of(context).pointee.end()
                return 0
            },
            text: { context, bytes, count in
                let buffer = unsafe UnsafeBufferPointer(start: bytes, count: count)
                return unsafe HTMLTreeBuilder.of(context).pointee.add(
                    text: unsafe String(decoding: buffer, as: UTF8.self))
            })
        let result = unsafe withUnsafeMutablePointer(to: &builder) { builder in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe coffret_html_read(bytes.baseAddress, bytes.count, &visitor, builder)
            }
        }
        switch result {
        case COFFRET_HTML_READ: return builder.finish()
        case COFFRET_HTML_STOPPED:
            throw ImportExportError(.formatInvalid, at: "deeper or longer than HTML may be here", subject: subject)
        default: throw ImportExportError(.libraryMissing, at: "libxml2")
        }
    }
}

private struct HTMLTreeBuilder {
    private var open = [HTMLElement(name: "html", attributes: [:])]
    private var nodeCount = 0

    static func of(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<HTMLTreeBuilder> {
        guard let context = unsafe context else { preconditionFailure("a builder is given") }
        return unsafe context.assumingMemoryBound(to: HTMLTreeBuilder.self)
    }

    /// - Returns: nonzero at the limit.
    mutating func start(_ name: UnsafePointer<CChar>?, _ list: UnsafePointer<UnsafePointer<CChar>?>?) -> Int32 {
        var attributes: [String: String] = [:]
        if let list = unsafe list {
            var index = 0
            while let key = unsafe list[index] {
                let value = unsafe list[index + 1].map { unsafe String(cString: $0) } ?? ""
                attributes[unsafe String(cString: key).asciiLowercased()] = value
                index += 2
            }
        }
        open.append(
            HTMLElement(
                name: unsafe name.map { unsafe String(cString: $0).asciiLowercased() } ?? "", attributes: attributes))
        return count()
    }

    mutating func end() {
        guard open.count > 1, let element = open.popLast() else { return }
        open[open.count - 1].children.append(.element(element))
    }

    mutating func add(text: String) -> Int32 {
        let last = open.count - 1
        if case .text(let before)? = open[last].children.last {
            open[last].children[open[last].children.count - 1] = .text(before + text)
            return 0
        }
        open[last].children.append(.text(text))
        return count()
    }

    private mutating func count() -> Int32 {
        nodeCount += 1
        return open.count > HTMLElement.depthMax || nodeCount > HTMLElement.nodeCountMax ? 1 : 0
    }

    mutating func finish() -> HTMLElement {
        while open.count > 1 { end() }
        return open[0]
    }
}
