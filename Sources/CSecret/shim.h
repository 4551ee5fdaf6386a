#define SECRET_API_SUBJECT_TO_CHANGE
#include <libsecret/secret.h>

/* Whether a name on the bus belongs to somebody; not if the bus does not say. The arguments need a function with a format. */
static inline int coffret_bus_name_is_taken(void *bus, const char *name, GCancellable *cancellable) {
    GVariant *answer = g_dbus_connection_call_sync(
        (GDBusConnection *)bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner",
        g_variant_new("(s)", name), G_VARIANT_TYPE("(b)"), G_DBUS_CALL_FLAGS_NONE, 5000, cancellable, NULL);
    gboolean taken = FALSE;
    if (!answer) return 0;
    g_variant_get(answer, "(b)", &taken);
    g_variant_unref(answer);
    return taken;
}
