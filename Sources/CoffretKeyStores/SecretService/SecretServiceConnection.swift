// Secrets in the desktop's keyring, through libsecret. Invariant: an entry is found by its tag alone, and two entries
// with one tag are an error, never a choice.

internal import CSecret
package import CoffretBase
package import CoffretKeys

/// Cancels a call that waits for a person, from any thread.
@safe package final class SecretServiceCancellation: @unchecked Sendable {
    // SAFETY: GCancellable is thread-safe by its documentation, and this object owns one reference to it.
    fileprivate let pointer: UnsafeMutablePointer<GCancellable>

    package init() {
        guard let pointer = unsafe g_cancellable_new() else { fatalError("no memory for a cancellable") }
        unsafe self.pointer = unsafe pointer
    }

    deinit { unsafe g_object_unref(pointer) }

    package func cancel() { unsafe g_cancellable_cancel(pointer) }
}

/// Blocking calls to the Secret Service of the session bus.
///
/// Each call may wait for a person to unlock the keyring, so this runs on a thread of its own, and every call
/// takes a cancellation. An entry's label, which other programs show, is random and says nothing of the store.
///
/// Source: Secret Service API 0.2 (freedesktop.org), libsecret 0.20.
package enum SecretServiceConnection {
    private static let schemaName = "io.coffret.Key"
    private static let tagAttribute = "application-tag"
    /// The name on the bus by which Coffret says that it provides the service itself. A keyring in a store opens no store.
    private static let ownProvider = "io.coffret.SecretService"

    /// Keeps `secret` under `tag`, which must be free.
    ///
    /// - Throws: `.duplicate` when the tag is taken, `.locked`, `.unavailable`, `.cancelled`.
    package static func add(
        _ secret: borrowing SecretBytes, tag: String, label: String, cancellation: SecretServiceCancellation
    ) throws(KeyStoreError) {
        guard try countEntries(tag: tag, cancellation: cancellation) == 0 else {
            throw KeyStoreError(.duplicate, place: "keyring")
        }
        try store(secret, tag: tag, label: label, cancellation: cancellation)
    }

    /// Keeps `secret` under `tag` in the place of what is there.
    ///
    /// - Throws: `.duplicate` when there are several already, `.locked`, `.unavailable`, `.cancelled`.
    package static func replace(
        _ secret: borrowing SecretBytes, tag: String, label: String, cancellation: SecretServiceCancellation
    ) throws(KeyStoreError) {
        guard try countEntries(tag: tag, cancellation: cancellation) <= 1 else {
            throw KeyStoreError(.duplicate, place: "keyring")
        }
        try store(secret, tag: tag, label: label, cancellation: cancellation)
    }

    /// Whether there is a default keyring, and it is open. Asks nobody.
    package static func isUnlocked(cancellation: SecretServiceCancellation) throws(KeyStoreError) -> Bool {
        try isDefaultLocked(cancellation) == false
    }

    /// Whether there is a default keyring, and it is locked. Asks nobody.
    private static func isLocked(cancellation: SecretServiceCancellation) throws(KeyStoreError) -> Bool {
        try isDefaultLocked(cancellation) == true
    }

    /// nil where there is no default keyring.
    private static func isDefaultLocked(_ cancellation: SecretServiceCancellation) throws(KeyStoreError) -> Bool? {
        try unsafe withAttributes(tag: "", cancellation: cancellation) { _, _ throws(KeyStoreError) in
            var error: UnsafeMutablePointer<GError>?
            let service = unsafe secret_service_get_sync(SECRET_SERVICE_NONE, cancellation.pointer, &error)
            try unsafe check(error)
            guard let service = unsafe service else { throw KeyStoreError(.unavailable, place: "keyring") }
            defer { unsafe g_object_unref(service) }
            let collection = unsafe secret_collection_for_alias_sync(
                service, SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE, cancellation.pointer, &error)
            try unsafe check(error)
            guard let collection = unsafe collection else { return nil }
            defer { unsafe g_object_unref(collection) }
            return unsafe secret_collection_get_locked(collection) != 0
        }
    }

    private static func store(
        _ secret: borrowing SecretBytes, tag: String, label: String, cancellation: SecretServiceCancellation
    ) throws(KeyStoreError) {
        // EXPOSE: into libsecret, which keeps it in memory of its own that it locks and zeroes.
        let value = unsafe secret.withUnsafeBytes { bytes in
            unsafe secret_value_new(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self), gssize(bytes.count), "application/octet-stream")
        }
        defer { unsafe secret_value_unref(UnsafeMutableRawPointer(value)) }
        try unsafe withAttributes(tag: tag, cancellation: cancellation) { schema, attributes throws(KeyStoreError) in
            var error: UnsafeMutablePointer<GError>?
            let stored = unsafe secret_password_storev_binary_sync(
                schema, attributes, SECRET_COLLECTION_DEFAULT, label, value, cancellation.pointer, &error)
            try unsafe check(error)
            guard stored != 0 else { throw KeyStoreError(.failed, place: "keyring store") }
        }
    }

    /// The secret under `tag`; nil when there is none.
    ///
    /// - Throws: `.duplicate` when there are several, `.locked`, `.unavailable`, `.cancelled`.
    package static func find(
        tag: String, cancellation: SecretServiceCancellation
    ) throws(KeyStoreError) -> SecretBytes? {
        switch try countEntries(tag: tag, cancellation: cancellation) {
        case 0:
            // A keyring that nobody unlocked since it was started says that it has nothing.
            guard try !isLocked(cancellation: cancellation) else { throw KeyStoreError(.locked, place: "keyring") }
            return nil
        case 1: break
        default: throw KeyStoreError(.duplicate, place: "keyring")
        }
        return try unsafe withAttributes(tag: tag, cancellation: cancellation) {
            schema, attributes throws(KeyStoreError) -> SecretBytes? in
            var error: UnsafeMutablePointer<GError>?
            let value = unsafe secret_password_lookupv_binary_sync(schema, attributes, cancellation.pointer, &error)
            try unsafe check(error)
            // The entry is there, and yet the service gives nothing: nobody unlocked the keyring.
            guard let value = unsafe value else { throw KeyStoreError(.locked, place: "keyring") }
            defer { unsafe secret_value_unref(UnsafeMutableRawPointer(value)) }
            var byteCount: gsize = 0
            let bytes = unsafe secret_value_get(value, &byteCount)
            // EXPOSE: from libsecret's locked memory into ours.
            return unsafe SecretBytes(copying: UnsafeRawBufferPointer(start: bytes, count: Int(byteCount)))
        }
    }

    /// Removes what is under `tag`.
    ///
    /// - Returns: whether there was anything.
    @discardableResult
    package static func remove(tag: String, cancellation: SecretServiceCancellation) throws(KeyStoreError) -> Bool {
        try unsafe withAttributes(tag: tag, cancellation: cancellation) { schema, attributes throws(KeyStoreError) in
            var error: UnsafeMutablePointer<GError>?
            let removed = unsafe secret_password_clearv_sync(schema, attributes, cancellation.pointer, &error)
            try unsafe check(error)
            return removed != 0
        }
    }

    private static func countEntries(
        tag: String, cancellation: SecretServiceCancellation
    ) throws(KeyStoreError) -> Int {
        try unsafe withAttributes(tag: tag, cancellation: cancellation) { schema, attributes throws(KeyStoreError) in
            var error: UnsafeMutablePointer<GError>?
            let list = unsafe secret_password_searchv_sync(
                schema, attributes, SECRET_SEARCH_ALL, cancellation.pointer, &error)
            try unsafe check(error)
            let count = unsafe Int(g_list_length(list))
            unsafe g_list_free_full(list) { unsafe g_object_unref($0) }
            return count
        }
    }

    /// Lends the schema and the attributes that name an entry.
    private static func withAttributes<Result: ~Copyable>(
        tag: String, cancellation: SecretServiceCancellation,
        _ body: (UnsafePointer<SecretSchema>, OpaquePointer) throws(KeyStoreError) -> Result
    ) throws(KeyStoreError) -> Result {
        // libsecret remembers a session with the service, which one that was restarted has forgotten.
        secret_service_disconnect()
        let bus = try unsafe sessionBus(cancellation)
        defer { unsafe g_object_unref(bus) }
        guard unsafe coffret_bus_name_is_taken(bus, ownProvider, cancellation.pointer) == 0 else {
            throw KeyStoreError(.circular, place: "keyring")
        }
        guard let attributes = unsafe g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free) else {
            throw KeyStoreError(.failed, place: "keyring attributes")
        }
        defer { unsafe g_hash_table_unref(attributes) }
        unsafe g_hash_table_insert(attributes, g_strdup(tagAttribute), g_strdup(tag))
        // The schema's strings have to outlive the call.
        let name = unsafe g_strdup(schemaName)
        let attributeName = unsafe g_strdup(tagAttribute)
        defer {
            unsafe g_free(name)
            unsafe g_free(attributeName)
        }
        var schema = unsafe SecretSchema()
        unsafe schema.name = unsafe UnsafePointer(name)
        unsafe schema.flags = SECRET_SCHEMA_NONE
        unsafe schema.attributes.0 = unsafe SecretSchemaAttribute(
            name: UnsafePointer(attributeName), type: SECRET_SCHEMA_ATTRIBUTE_STRING)
        return try unsafe body(&schema, attributes)
    }

    /// The session bus, which must not end this program when it goes away, as GLib's default is.
    private static func sessionBus(
        _ cancellation: SecretServiceCancellation
    ) throws(KeyStoreError) -> UnsafeMutableRawPointer {
        var error: UnsafeMutablePointer<GError>?
        let bus = unsafe g_bus_get_sync(G_BUS_TYPE_SESSION, cancellation.pointer, &error)
        try unsafe check(error)
        guard let bus = unsafe bus else { throw KeyStoreError(.unavailable, place: "session bus") }
        unsafe g_dbus_connection_set_exit_on_close(bus, 0)
        return unsafe UnsafeMutableRawPointer(bus)
    }

    private static func check(_ error: UnsafeMutablePointer<GError>?) throws(KeyStoreError) {
        guard let error = unsafe error else { return }
        defer { unsafe g_error_free(error) }
        let (domain, code) = unsafe (error.pointee.domain, error.pointee.code)
        if domain == g_io_error_quark(), code == Int32(G_IO_ERROR_CANCELLED.rawValue) {
            throw KeyStoreError(.cancelled)
        }
        if domain == secret_error_get_quark(), code == Int32(SECRET_ERROR_IS_LOCKED.rawValue) {
            throw KeyStoreError(.locked, place: "keyring")
        }
        // Everything else (no bus, no service, a service that went away) has one meaning for the person.
        throw KeyStoreError(.unavailable, place: "keyring, \(domain)/\(code)")
    }
}
