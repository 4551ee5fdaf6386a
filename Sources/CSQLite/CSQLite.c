#include "CSQLite.h"

#include "CoffretOnDemand.h"

static void *find(const char *name) { return coffret_function("libsqlite3.so.0", name); }

/* Every function of SQLite that Coffret calls. The compiler compares each line with SQLite's header. */
#define CALL(result, name, parameters, arguments)                                                                     \
    COFFRET_ON_DEMAND(find, result, name, parameters, arguments)

CALL(
    int, sqlite3_bind_blob64,
    (sqlite3_stmt *a, int b, const void *c, sqlite3_uint64 d, void (*e)(void *)),
    (a, b, c, d, e))
CALL(int, sqlite3_bind_double, (sqlite3_stmt *a, int b, double c), (a, b, c))
CALL(int, sqlite3_bind_int64, (sqlite3_stmt *a, int b, sqlite3_int64 c), (a, b, c))
CALL(int, sqlite3_bind_null, (sqlite3_stmt *a, int b), (a, b))
CALL(int, sqlite3_bind_pointer, (sqlite3_stmt *a, int b, void *c, const char *d, void (*e)(void *)), (a, b, c, d, e))
CALL(int, sqlite3_bind_text, (sqlite3_stmt *a, int b, const char *c, int d, void (*e)(void *)), (a, b, c, d, e))
CALL(
    int, sqlite3_bind_text64,
    (sqlite3_stmt *a, int b, const char *c, sqlite3_uint64 d, void (*e)(void *), unsigned char f),
    (a, b, c, d, e, f))
CALL(int, sqlite3_bind_zeroblob, (sqlite3_stmt *a, int b, int c), (a, b, c))
CALL(int, sqlite3_busy_timeout, (sqlite3 *a, int b), (a, b))
CALL(sqlite3_int64, sqlite3_changes64, (sqlite3 *a), (a))
CALL(int, sqlite3_close_v2, (sqlite3 *a), (a))
CALL(const void *, sqlite3_column_blob, (sqlite3_stmt *a, int b), (a, b))
CALL(int, sqlite3_column_bytes, (sqlite3_stmt *a, int b), (a, b))
CALL(int, sqlite3_column_count, (sqlite3_stmt *a), (a))
CALL(double, sqlite3_column_double, (sqlite3_stmt *a, int b), (a, b))
CALL(sqlite3_int64, sqlite3_column_int64, (sqlite3_stmt *a, int b), (a, b))
CALL(int, sqlite3_column_type, (sqlite3_stmt *a, int b), (a, b))
CALL(
    int, sqlite3_exec,
    (sqlite3 *a, const char *b, int (*c)(void *,int,char **,char **), void *d, char **e),
    (a, b, c, d, e))
CALL(int, sqlite3_file_control, (sqlite3 *a, const char *b, int c, void *d), (a, b, c, d))
CALL(int, sqlite3_finalize, (sqlite3_stmt *a), (a))
CALL(int, sqlite3_get_autocommit, (sqlite3 *a), (a))
CALL(void, sqlite3_interrupt, (sqlite3 *a), (a))
CALL(sqlite3_int64, sqlite3_last_insert_rowid, (sqlite3 *a), (a))
CALL(int, sqlite3_open_v2, (const char *a, sqlite3 **b, int c, const char *d), (a, b, c, d))
CALL(int, sqlite3_prepare_v2, (sqlite3 *a, const char *b, int c, sqlite3_stmt **d, const char **e), (a, b, c, d, e))
CALL(
    int, sqlite3_prepare_v3,
    (sqlite3 *a, const char *b, int c, unsigned int d, sqlite3_stmt **e, const char **f),
    (a, b, c, d, e, f))
CALL(int, sqlite3_reset, (sqlite3_stmt *a), (a))
CALL(void, sqlite3_result_int, (sqlite3_context *a, int b), (a, b))
CALL(int, sqlite3_step, (sqlite3_stmt *a), (a))
CALL(int, sqlite3_vfs_register, (sqlite3_vfs *a, int b), (a, b))
