// Vectors as values. The one thing to keep true: a vector file that cannot be read fails its test.

internal import Foundation

/// Vectors that belong to the project: `Tests/Vectors`.
package enum VectorFile {
    /// Decodes a JSON file of `Tests/Vectors`, such as `cbor/reject.json`.
    package static func decode<Value: Decodable>(_ type: Value.Type, from name: String) throws -> Value {
        try JSONDecoder().decode(type, from: Data(contentsOf: SharedData.ownVectors(name)))
    }

    package static func read(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: SharedData.ownVectors(name)))
    }
}
