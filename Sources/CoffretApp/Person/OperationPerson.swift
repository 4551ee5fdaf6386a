// The person for whom an operation works. Invariant: an operation asks by a typed question, and knows neither terminal nor socket.

package import CoffretBase
package import CoffretTerminal
package import CoffretWire

/// Takes what an operation has to say and to ask beside its answer.
package protocol OperationPerson: AnyObject {
    /// Whether a question has somebody to answer it.
    var canAnswer: Bool { get }
    func tell(_ notice: SessionNotice)
    /// - Throws: what keeps the person from answering; `OperationError.unanswered`.
    func secret(_ question: SessionQuestion) throws -> SecretBytes
    /// - Returns: nil where nobody can be asked.
    /// - Throws: as `secret`.
    func confirm(_ question: SessionQuestion) throws -> Bool?
    /// - Parameter idle: called again and again meanwhile; what it throws ends the question.
    /// - Throws: as `secret`.
    func code(_ question: SessionQuestion, idle: () throws -> Void) throws -> String
    /// Opens a file under OpenPGP with the person's own keys. Both are read from their beginning.
    ///
    /// - Returns: nil if the keys do not open it.
    func opened(_ file: borrowing OwnedDescriptor) throws -> OwnedDescriptor?
    /// Takes a second, during which nothing that is typed is shown.
    func deriving<Value>(_ body: () throws -> Value) throws -> Value
}

extension OperationPerson {
    package func note(_ text: String) { tell(SessionNotice(.note, text)) }
    package func warn(_ text: String) { tell(SessionNotice(.warning, text)) }
}
