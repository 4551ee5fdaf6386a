/* libmicrohttpd, with its variadic calls typed: Swift's importer cannot see them. */
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <stddef.h>

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
