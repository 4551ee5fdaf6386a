// Vector files of foreign shape, read field by field. Must fail loudly on a missing field: a vector
// that is skipped in silence proves nothing.

internal import CoffretBase
package import Foundation
internal import Testing

/// One object of a vector file.
package struct VectorObject: CustomStringConvertible {
    private let values: [String: Any]

    /// A field that is missing or of another kind.
    package struct MissingField: Error, CustomStringConvertible {
        package let description: String
    }

    /// Reads a whole file, which must hold one object.
    package init(contentsOf url: URL) throws {
        guard let values = try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any] else {
            throw MissingField(description: "\(url.lastPathComponent) holds no object")
        }
        self.values = values
    }

    private init(_ values: [String: Any]) { self.values = values }

    /// Every `.json` file of a folder, by listing it, in the order of their names.
    package static func files(in folder: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "json" }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    /// Whether the field is there and not null.
    package func has(_ name: String) -> Bool { values[name].map { !($0 is NSNull) } ?? false }

    /// The bytes of a hexadecimal field.
    package func hex(_ name: String) throws -> [UInt8] { try Hex.decode(text(name)) }

    /// The bytes of a hexadecimal field, or nil where it is missing or null.
    package func hexIfPresent(_ name: String) throws -> [UInt8]? { has(name) ? try hex(name) : nil }

    /// A text field.
    package func text(_ name: String) throws -> String { try field(name) }

    /// Runs `body` over all cases; what one throws is recorded with the case, and the next one runs.
    package static func forEach(_ cases: [VectorObject], _ body: (VectorObject) throws -> Void) {
        for vector in cases {
            do {
                try body(vector)
            } catch {
                Issue.record("\(vector): \(error)")
            }
        }
    }

    /// A number field.
    package func int(_ name: String) throws -> Int { try field(name) }

    /// A truth value.
    package func bool(_ name: String) throws -> Bool { try field(name) }

    /// A field that holds objects; none where it is missing.
    package func objects(_ name: String) throws -> [VectorObject] {
        guard has(name) else { return [] }
        let list: [[String: Any]] = try field(name)
        return list.map { VectorObject($0) }
    }

    /// A field that holds one object.
    package func object(_ name: String) throws -> VectorObject { VectorObject(try field(name)) }

    /// A field that holds texts.
    package func texts(_ name: String) throws -> [String] { try field(name) }

    private func field<Value>(_ name: String) throws -> Value {
        guard let value = values[name] as? Value else {
            throw MissingField(description: "no field \(name) of kind \(Value.self) in \(self)")
        }
        return value
    }

    /// What names the object in a failure.
    package var description: String {
        for name in ["id", "tcId", "comment"] {
            if let value = values[name] { return "\(name) \(value)" }
        }
        return "a vector without a name"
    }
}
