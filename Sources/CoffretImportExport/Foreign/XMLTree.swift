// XML of other programs, by expat: each element is handed over when it closes, with those around it. Invariant: depth and
// count are bounded, entities are refused, and what its taker does not keep is not held.

internal import CExpat
internal import CoffretBase

/// An element that was read, with the children that its taker kept.
final class XMLElement {
    let name: String
    let attributes: [(name: String, value: String)]
    fileprivate(set) var children: [XMLElement] = []
    /// The text directly in it, as UTF-8.
    fileprivate(set) var bytes: [UInt8] = []

    fileprivate init(name: String, attributes: [(name: String, value: String)]) {
        self.name = name
        self.attributes = attributes
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Puts another text in the place of the one that was read.
    func replaceText(_ new: [UInt8]) {
        bytes.zero()
        bytes = new
    }

    func attribute(_ name: String) -> String? { attributes.first { $0.name == name }?.value }

    func child(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    /// The text of a child; nil without one, or if it is empty.
    func text(_ name: String) -> String? {
        guard let child = child(name), !child.bytes.isEmpty else { return nil }
        return child.text
    }

    deinit { bytes.zero() }
}

/// Reads one document.
@safe final class ForeignXMLReader {
    /// Takes an element that has closed.
    ///
    /// - Parameter around: the open elements, the outermost first.
    /// - Returns: whether its parent keeps it.
    typealias Taker = (_ element: XMLElement, _ around: [XMLElement]) throws(ImportExportError) -> Bool

    private let take: Taker
    private let limits: ImportLimits
    // SAFETY: owned by this object alone, and freed in `deinit`.
    private var parser: OpaquePointer?
    private var open: [XMLElement] = []
    private var count = 0
    private var failure: ImportExportError?

    /// Groups of KeePass nest as deep as people like.
    private static let depthMax = 128

    init(limits: ImportLimits, take: @escaping Taker) throws(ImportExportError) {
        self.limits = limits
        self.take = take
        var visitor = unsafe coffret_xml_visitor(
            start: { context, name, attributes in unsafe ForeignXMLReader.of(context).start(name, attributes) },
            end: { context, _ in unsafe ForeignXMLReader.of(context).end() },
            text: { context, bytes, count in
                unsafe ForeignXMLReader.of(context).add(UnsafeBufferPointer(start: unsafe bytes, count: count))
            })
        // SAFETY: the parser is freed in `deinit`, and calls back only within `read`.
        unsafe parser = unsafe coffret_xml_create(&visitor, Unmanaged.passUnretained(self).toOpaque())
        guard unsafe parser != nil else { throw ImportExportError(.libraryMissing, at: "libexpat1") }
    }

    deinit { unsafe coffret_xml_free(parser) }

    private static func of(_ context: UnsafeMutableRawPointer?) -> ForeignXMLReader {
        guard let context = unsafe context else { preconditionFailure("a reader is given") }
        return unsafe Unmanaged<ForeignXMLReader>.fromOpaque(context).takeUnretainedValue()
    }

    /// Reads the whole document.
    ///
    /// - Throws: `.formatInvalid`, `.formatTruncated`, `.tooManyEntries`, and what the taker throws.
    func read(_ bytes: ArraySlice<UInt8>) throws(ImportExportError) {
        let result = unsafe bytes.withUnsafeBufferPointer {
            unsafe coffret_xml_read(parser, $0.baseAddress, $0.count, 1)
        }
        let place = unsafe "line \(coffret_xml_line(parser))"
        switch result {
        case COFFRET_XML_READ: return
        case COFFRET_XML_STOPPED: throw failure ?? ImportExportError(.formatInvalid, at: place)
        case COFFRET_XML_ENTITY: throw ImportExportError(.formatInvalid, at: "\(place): an entity is declared")
        case COFFRET_XML_TRUNCATED: throw ImportExportError(.formatTruncated, at: place)
        default: throw ImportExportError(.formatInvalid, at: place)
        }
    }

    private func stop(_ error: ImportExportError) -> Int32 {
        failure = failure ?? error
        return 1
    }

    private func start(
        _ name: UnsafePointer<CChar>?, _ attributes: UnsafePointer<UnsafePointer<CChar>?>?
    ) -> Int32 {
        count += 1
        guard count <= limits.valueCountMax else { return stop(ImportExportError(.tooManyEntries)) }
        guard open.count < Self.depthMax else { return stop(ImportExportError(.formatInvalid, at: "depth")) }
        var pairs: [(name: String, value: String)] = []
        var index = 0
        while let attributes = unsafe attributes, let key = unsafe attributes[index],
            let value = unsafe attributes[index + 1],
            pairs.count < 64
        {
            unsafe pairs.append((String(cString: key), String(cString: value)))
            index += 2
        }
        open.append(XMLElement(name: unsafe name.map { unsafe String(cString: $0) } ?? "", attributes: pairs))
        return 0
    }

    private func end() -> Int32 {
        guard let element = open.popLast() else { return 1 }
        do throws(ImportExportError) {
            guard try take(element, open), let parent = open.last else { return 0 }
            parent.children.append(element)
            return 0
        } catch {
            return stop(error)
        }
    }

    private func add(_ text: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard let element = open.last else { return 0 }
        // Blanks between elements are no text.
        if element.bytes.isEmpty, unsafe text.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }),
            !element.children.isEmpty || !Self.mayBeBlank(element.name)
        {
            return 0
        }
        unsafe element.bytes.append(contentsOf: text)
        return 0
    }

    /// Values may begin with a blank.
    private static func mayBeBlank(_ name: String) -> Bool { name == "Value" || name == "Notes" || name == "Name" }
}
