#include "session/outside/outside_rows.h"

#include "base/time.h"
#include "memory/db.h"
#include "protocol/hook.h"

enum {
    STEPS = 100000, /* of SQLite between two looks at the clock */
    YEARS = 8000, /* since 1970 that a time may be in */
};

static int is_late(void *arg)
{
    const int64_t *until = arg;

    return time_monotonic_ms() > *until;
}

/* Takes the row that the statement is at. */
typedef bool each_step(sqlite3_stmt *stmt, void *arg);

static int read_rows(const char *path, const char *sql, const char *id, int64_t until,
                     each_step *each, void *arg, struct err *err)
{
    const char *name = strrchr(path, '/') + 1;
    _cleanup_free_ char *top = mem_dupn(path, (size_t)(name - path));
    _cleanup_close_ int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_db_ struct db *db = NULL;
    int rc;

    if (dir == -1)
        return err_errno(err, "cannot open '%s'", top);
    if (db_open(dir, name, DB_LOOK, &db, err) == -1)
        return -1;
    sqlite3_progress_handler(db_handle(db), STEPS, is_late, &until);
    sqlite3_stmt *stmt = db_query(db, err, sql, id != NULL ? "t" : "", id);
    while ((rc = db_step(db, stmt, err)) == 1 && each(stmt, arg))
        if (is_late(&until))
            return err_set(err, MAS_TIMEOUT, "cannot read '%s': it takes too long", path);
    if (rc == 1)
        db_reset(stmt);
    if (rc == -1 && is_late(&until))
        return err_set(err, MAS_TIMEOUT, "cannot read '%s': it takes too long", path);
    return rc == -1 ? -1 : 0;
}

struct row_reading {
    outside_each_row *row;
    outside_each_line *line;
    void *arg;
};

static bool take_session(sqlite3_stmt *stmt, void *arg)
{
    const struct row_reading *reading = arg;
    int64_t changed = sqlite3_column_int64(stmt, 2);
    const struct outside_row row = {
        .id = hook_id(db_text_null(stmt, 0)),
        .directory = db_text_null(stmt, 1),
        .changed = changed >= 0 && changed < YEARS * 365 * INT64_C(86400) ? (time_t)changed : 0};

    return row.id == NULL || reading->row(&row, reading->arg);
}

int outside_rows(const struct preset_told *told, const char *path, int64_t until,
                 outside_each_row *each, void *arg, struct err *err)
{
    struct row_reading reading = {.row = each, .arg = arg};

    return read_rows(path, told->session_rows, NULL, until, take_session, &reading, err);
}

static bool take_text(sqlite3_stmt *stmt, void *arg)
{
    const struct row_reading *reading = arg;

    return reading->line(db_text(stmt, 0), db_len(stmt, 0), reading->arg);
}

int outside_row_lines(const struct preset_told *told, const char *path, const char *id,
                      int64_t until, outside_each_line *each, void *arg, struct err *err)
{
    struct row_reading reading = {.line = each, .arg = arg};

    return read_rows(path, told->line_rows, id, until, take_text, &reading, err);
}
