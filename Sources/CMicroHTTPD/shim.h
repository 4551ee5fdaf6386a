/* libmicrohttpd, with its variadic calls typed: Swift's importer cannot see them. */
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <strings.h>

static inline struct MHD_Daemon *coffret_mhd_start(
    unsigned int flags, MHD_AccessHandlerCallback handler, void *context, MHD_RequestCompletedCallback completed,
    MHD_AcceptPolicyCallback accepts, MHD_NotifyConnectionCallback connected, const struct MHD_OptionItem *options)
{
    return MHD_start_daemon(
        flags, 0, accepts, context, handler, context, MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, connected, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static inline int coffret_mhd_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static inline const struct sockaddr *coffret_mhd_peer(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

/* A descriptor of our own for the same socket; -1 and errno on failure. */
static inline int coffret_mhd_own_descriptor(int socket) { return fcntl(socket, F_DUPFD_CLOEXEC, 0); }

/* What is readable when a daemon has something to do. */
static inline int coffret_mhd_epoll(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

/* How many connections a daemon has, those that left HTTP with TLS included. */
static inline unsigned int coffret_mhd_connection_count(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

/* What the connection's callback left with it. */
static inline void *coffret_mhd_state(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static inline void coffret_mhd_close_upgraded(struct MHD_UpgradeResponseHandle *handle)
{
    MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

struct coffret_mhd_count {
    const char *name;
    unsigned int count;
};

static inline enum MHD_Result coffret_mhd_count_one(
    void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct coffret_mhd_count *wanted = (struct coffret_mhd_count *)context;
    (void)kind;
    (void)value;
    if (strcasecmp(name, wanted->name) == 0) wanted->count++;
    return MHD_YES;
}

/* How many header fields of a request have this name. */
static inline unsigned int coffret_mhd_header_count(struct MHD_Connection *connection, const char *name)
{
    struct coffret_mhd_count wanted = {name, 0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, coffret_mhd_count_one, &wanted);
    return wanted.count;
}

/* How many arguments stand behind the question mark. */
static inline int coffret_mhd_argument_count(struct MHD_Connection *connection)
{
    return MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, NULL, NULL);
}
