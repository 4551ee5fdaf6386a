// Values that a statement takes. Invariant: a value is stored as SQLite's own type, never as text made from it.

/// A Swift value that can be bound to a parameter.
@usableFromInline package protocol StatementValue {
    func bind(to statement: Statement, at index: Int32) throws(SQLiteError)
}

extension Int64: StatementValue {
    @inlinable package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension Int: StatementValue {
    @inlinable package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(Int64(self), at: index)
    }
}

extension UInt32: StatementValue {
    @inlinable package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(Int64(self), at: index)
    }
}

extension UInt8: StatementValue {
    @inlinable package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(Int64(self), at: index)
    }
}

extension Bool: StatementValue {
    @inlinable package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(Int64(self ? 1 : 0), at: index)
    }
}

extension Double: StatementValue {
    @inlinable package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension String: StatementValue {
    @inlinable package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension Array: StatementValue where Element == UInt8 {
    @inlinable package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        try statement.bind(self, at: index)
    }
}

extension Optional: StatementValue where Wrapped: StatementValue {
    @inlinable package func bind(to statement: Statement, at index: Int32) throws(SQLiteError) {
        if let self {
            try self.bind(to: statement, at: index)
        } else {
            try statement.bindNull(at: index)
        }
    }
}
