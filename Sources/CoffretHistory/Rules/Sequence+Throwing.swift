// Questions about sequences whose answer may fail, with the failure's type. The standard library's forget it.

extension Sequence {
    func all<Failure: Error>(fit fits: (Element) throws(Failure) -> Bool) throws(Failure) -> Bool {
        for element in self {
            guard try fits(element) else { return false }
        }
        return true
    }

    func keeping<Failure: Error>(_ fits: (Element) throws(Failure) -> Bool) throws(Failure) -> [Element] {
        var kept: [Element] = []
        for element in self {
            if try fits(element) { kept.append(element) }
        }
        return kept
    }

    /// The values of those elements that have one.
    func known<Value, Failure: Error>(_ value: (Element) throws(Failure) -> Value?) throws(Failure) -> [Value] {
        var values: [Value] = []
        for element in self {
            if let value = try value(element) { values.append(value) }
        }
        return values
    }
}
