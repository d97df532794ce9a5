/*
 * SQLite. It is loaded when the first database is opened: the dynamic linker then looks up the
 * 1,600 places where it refers to its own functions. That took a quarter of the time of a command
 * that opens none, which most do not (Debian 12, callgrind: 1.2 of the 1.7 million instructions of
 * `mas version`). Each process that opens a database calls sqlite_load() first; the functions have
 * their own names.
 *
 * Another function of SQLite is a row of SQLITE_FUNCTIONS and a macro below.
 */
#pragma once

#include <sqlite3.h>

/* Loads SQLite, once. Fails with MAS_FAILED if that cannot be done. Any thread may call it. */
int sqlite_load(struct err *err);

/* clang-format off */
#define SQLITE_FUNCTIONS(X) \
    X(backup_finish) X(backup_init) X(backup_pagecount) X(backup_remaining) X(backup_step) \
    X(bind_blob64) X(bind_double) X(bind_int64) X(bind_pointer) X(bind_text) X(bind_text64) \
    X(busy_handler) X(busy_timeout) X(changes) X(clear_bindings) X(close) X(column_blob) \
    X(column_bytes) X(column_double) X(column_int) X(column_int64) X(column_text) \
    X(column_type) X(db_config) X(errstr) X(exec) X(extended_errcode) \
    X(extended_result_codes) X(finalize) X(get_autocommit) \
    X(last_insert_rowid) X(limit) X(open_v2) X(prepare_v3) X(progress_handler) X(reset) X(result_error) \
    X(result_error_code) X(step) X(stmt_readonly) X(system_errno) X(value_pointer) X(vfs_find) X(vfs_register)
/* clang-format on */

struct sqlite_functions {
#define SQLITE_MEMBER(name) __typeof__ (&sqlite3_##name)(name);
    SQLITE_FUNCTIONS(SQLITE_MEMBER)
#undef SQLITE_MEMBER
};

/* Set by sqlite_load(). */
extern struct sqlite_functions sqlite;

#define sqlite3_backup_finish sqlite.backup_finish
#define sqlite3_backup_init sqlite.backup_init
#define sqlite3_backup_pagecount sqlite.backup_pagecount
#define sqlite3_backup_remaining sqlite.backup_remaining
#define sqlite3_backup_step sqlite.backup_step
#define sqlite3_bind_blob64 sqlite.bind_blob64
#define sqlite3_bind_double sqlite.bind_double
#define sqlite3_bind_int64 sqlite.bind_int64
#define sqlite3_bind_pointer sqlite.bind_pointer
#define sqlite3_bind_text sqlite.bind_text
#define sqlite3_bind_text64 sqlite.bind_text64
#define sqlite3_busy_handler sqlite.busy_handler
#define sqlite3_busy_timeout sqlite.busy_timeout
#define sqlite3_changes sqlite.changes
#define sqlite3_clear_bindings sqlite.clear_bindings
#define sqlite3_close sqlite.close
#define sqlite3_column_blob sqlite.column_blob
#define sqlite3_column_bytes sqlite.column_bytes
#define sqlite3_column_double sqlite.column_double
#define sqlite3_column_int sqlite.column_int
#define sqlite3_column_int64 sqlite.column_int64
#define sqlite3_column_text sqlite.column_text
#define sqlite3_column_type sqlite.column_type
#define sqlite3_db_config sqlite.db_config
#define sqlite3_errstr sqlite.errstr
#define sqlite3_exec sqlite.exec
#define sqlite3_extended_errcode sqlite.extended_errcode
#define sqlite3_extended_result_codes sqlite.extended_result_codes
#define sqlite3_finalize sqlite.finalize
#define sqlite3_get_autocommit sqlite.get_autocommit
#define sqlite3_last_insert_rowid sqlite.last_insert_rowid
#define sqlite3_limit sqlite.limit
#define sqlite3_open_v2 sqlite.open_v2
#define sqlite3_prepare_v3 sqlite.prepare_v3
#define sqlite3_progress_handler sqlite.progress_handler
#define sqlite3_reset sqlite.reset
#define sqlite3_result_error sqlite.result_error
#define sqlite3_result_error_code sqlite.result_error_code
#define sqlite3_step sqlite.step
#define sqlite3_stmt_readonly sqlite.stmt_readonly
#define sqlite3_system_errno sqlite.system_errno
#define sqlite3_value_pointer sqlite.value_pointer
#define sqlite3_vfs_find sqlite.vfs_find
#define sqlite3_vfs_register sqlite.vfs_register
