/*
 * A program that keeps its sessions in a database (told.database) tells all by events. What a kill
 * of the host has kept from being told is in the rows of the session, which are read when it goes
 * on, as lines of the past: those behind the newest prompt that the history has, and behind the
 * place up to which rows were read before.
 */
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"

#include "base/time.h"
#include "host/talk/memory.h"
#include "os/path.h"
#include "session/outside/outside_copy.h"
#include "session/outside/outside_rows.h"

enum { ROWS_MS = 4000 };

struct looking_rows {
    const struct preset_told *told;
    int64_t newest, number; /* a hash of the newest prompt of the history; 0: none */
    int64_t once; /* of what was counted last; 0: nothing */
    int64_t known; /* rows that were read before */
    size_t bytes;
    bool too_large;
    struct lines_rows found;
};

static void forget(struct looking_rows *rows)
{
    for (size_t i = 0; i < rows->found.count; i++)
        free(rows->found.row[i]);
    rows->found.count = rows->found.counted = rows->bytes = 0;
}

static void begin_behind(struct looking_rows *rows)
{
    forget(rows);
    rows->found.mark = rows->number - 1;
}

/* Returns true if the line says this, of a prompt or of what is counted once. */
static bool says(const struct looking_rows *rows, enum told_fact fact, const struct json *json,
                 int64_t hash)
{
    bool found = false;

    for (size_t i = 0; i < rows->told->line_count && hash != 0 && !found; i++) {
        _cleanup_line_ struct line_told line = {.owned = NULL};
        if (rows->told->lines[i].fact != fact || !line_apply(&rows->told->lines[i], json, &line))
            continue;
        const char *text = fact == TOLD_PROMPT ? line.told.prompt : line.usage.once;
        found = text != NULL && hash == (fact == TOLD_PROMPT ? lines_hash(text)
                                                             : transcript_hash(text, strlen(text)));
    }
    return found;
}

static bool add_row(const char *text, size_t len, void *arg)
{
    struct looking_rows *rows = arg;
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;

    if (++rows->found.end <= rows->known ||
        json_parse(text, len, TRANSCRIPT_LINE_MAX, &json, &ignored) == -1 || !json_is_object(json))
        return true;
    if (says(rows, TOLD_PROMPT, json, rows->newest))
        begin_behind(rows); /* the history has what was before */
    rows->bytes += len;
    rows->too_large = rows->bytes > OUTSIDE_COPIED_MAX;
    if (rows->too_large)
        return false;
    rows->found.row = mem_room(rows->found.row, rows->found.count, sizeof *rows->found.row);
    rows->found.row[rows->found.count++] = mem_dupn(text, len);
    if (says(rows, TOLD_USAGE, json, rows->once))
        rows->found.counted = rows->found.count;
    return true;
}

static bool take_newest(const struct store_item *item, void *arg)
{
    struct looking_rows *rows = arg;

    rows->newest = lines_hash(item->text);
    rows->number = item->number;
    return true;
}

/* Reads one database, in a directory that is opened as other files of the program are. */
static int read_database(struct host *host, const char *path, struct looking_rows *rows,
                         struct err *err)
{
    const char *name = strrchr(path, '/') + 1;
    _cleanup_free_ char *top = mem_dupn(path, (size_t)(name - path - 1));
    _cleanup_close_ int dir = teller_open_file(host, top);
    char of_dir[PATH_FD_TEXT];
    _cleanup_free_ char *opened = mem_printf("%s/%s", path_fd(dir, of_dir), name);

    return dir == -1 ? 0
                     : outside_row_lines(rows->told, opened, host->terminal->teller->id,
                                         time_monotonic_ms() + ROWS_MS, add_row, rows, err);
}

void rows_read(struct host *host)
{
    const struct lines_file *told = &host->terminal->teller->lines.told;
    const struct preset_told *preset = &host->preset->told;
    const struct store_filter newest = {
        .agent = host->agent->id, .roles = 1U << ROLE_USER, .newest = true, .limit = 1};
    struct looking_rows rows = {.told = preset,
                                .known = told->read.offset,
                                .once = told->once_count > 0 ? told->once[0].hash : 0};
    struct err err = ERR_INIT;

    if (preset->line_rows == NULL || host->talk->memory.store == NULL ||
        store_read(host->talk->memory.store, &newest, take_newest, &rows, &err) == -1)
        return;
    _cleanup_strv_ char **paths = teller_find_files(host, preset->database, "", 0);
    for (char **path = paths; path != NULL && *path != NULL && rows.found.end == 0; path++)
        if (read_database(host, *path, &rows, &err) == -1 || rows.too_large) {
            _cleanup_free_ char *words = mem_printf("cannot read what its program has written: %s",
                                                    rows.too_large ? "it is too much" : err.text);
            host_log(host, words);
            rows.found.end = 0;
            break;
        }
    if (rows.found.end > rows.known)
        lines_take_rows(host, &rows.found);
    forget(&rows);
    free(rows.found.row);
}
