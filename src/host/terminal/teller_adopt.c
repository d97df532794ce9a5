/*
 * A session of the program that began without mas goes on in this agent:
 *
 * 1. Its file, or its rows in a database, are read once, as a whole; what is read is what counts.
 * 2. A copy of that, with an id of its own in place of the old one, is written to where the
 *    program looks in the agent's home, if its preset says that a copy is a session (told.copies).
 * 3. One transaction: the query ends, the next one begins with what was said, the copy is the
 *    agent's session, and its lines are read.
 * 4. The program is ended, and starts with the copy; without one it is told what was said.
 *
 * Killed before 3, a copy may be left that nothing names, as one that a person has made; behind it
 * the next start goes on with 4. The file of the user is never written, nor opened by the program.
 *
 * A note with the key "adopted:ID" says how far the file was read, so that the same session does
 * not come into the history twice.
 */
#include "base/time.h"
#include "host/server.h"
#include "host/talk/clear.h"
#include "host/talk/memory.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "host/wall.h"
#include "os/file.h"
#include "os/path.h"
#include "protocol/host.h"
#include "session/outside/outside.h"
#include "session/outside/outside_copy.h"
#include "session/outside/outside_rows.h"
#include "store/workspace.h"

enum {
    SAID_MAX = 65536, /* messages */
    TAIL = 256, /* bytes that are hashed, to know the file again */
};

struct adopting {
    const struct host *host;
    const char *id, *path;
    bool in_database; /* the file has all sessions; `text` is what its rows say of this one */
    char *text; /* whole lines of the file */
    size_t len;
    struct path_found found; /* points into `path` */
    struct store_adopted *said; /* their texts are owned; the first one is the note */
    size_t count;
    size_t prompt; /* the number of the newest one; 0: none */
    bool answered;
    char *directory; /* NULL: not known */
    bool too_many;
    struct outside_copied copied;
};

static void adopting_free(struct adopting *adopting)
{
    for (size_t i = 0; i < adopting->count; i++) {
        const struct store_message *message = &adopting->said[i].message;
        free((void *)(uintptr_t)message->text);
        free((void *)(uintptr_t)message->data);
        free((void *)(uintptr_t)message->key);
    }
    free(adopting->said);
    free(adopting->text);
    free(adopting->directory);
    outside_copied_free(&adopting->copied);
}
#define _cleanup_adopting_ __attribute__((cleanup(adopting_free)))

/* ---- 1. what was said */

/* Takes the texts. */
static void add(struct adopting *adopting, enum store_role role, char *text, char *data, char *key)
{
    adopting->too_many = adopting->too_many || adopting->count == SAID_MAX;
    if (adopting->too_many) {
        free(text);
        free(data);
        free(key);
        return;
    }
    adopting->said = mem_room(adopting->said, adopting->count, sizeof *adopting->said);
    adopting->said[adopting->count++] =
        (struct store_adopted){.message = {.role = role,
                                           .state = MESSAGE_DONE,
                                           .text = text,
                                           .len = strlen(text),
                                           .data = data,
                                           .key = key},
                               .prompt = role == ROLE_USER ? 0 : adopting->prompt};
}

/* Says how the turn of the newest prompt has ended, unless that is known. */
static void end_prompt(struct adopting *adopting, const char *stop_reason)
{
    struct store_adopted *prompt =
        adopting->prompt > 0 ? &adopting->said[adopting->prompt - 1] : NULL;

    if (prompt == NULL || prompt->stop_reason != NULL)
        return;
    prompt->stop_reason = stop_reason;
    prompt->message.state = memory_end_state(stop_reason);
}

static void take_answer(struct adopting *adopting, const char *text)
{
    const struct store_message *newest =
        adopting->count > 0 ? &adopting->said[adopting->count - 1].message : NULL;

    if (text == NULL || text[0] == '\0' ||
        (newest != NULL && newest->role == ROLE_AGENT && strcmp(newest->text, text) == 0))
        return;
    add(adopting, ROLE_AGENT, mem_dup(text), NULL, NULL);
    adopting->answered = true;
}

/* A prompt without an answer was cut off; not every program says how a turn ends. */
static void end_turn(struct adopting *adopting)
{
    end_prompt(adopting, adopting->answered ? "end_turn" : STORE_STOPPED);
}

static void take_prompt(struct adopting *adopting, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    end_turn(adopting);
    add(adopting, ROLE_USER, mem_dup(text), NULL, NULL);
    adopting->prompt = adopting->count;
    adopting->answered = false;
}

static void take_tool(struct adopting *adopting, const struct hook_told *told)
{
    _cleanup_str_ struct str data = STR_INIT;

    if (told->tool == NULL)
        return;
    char *line = teller_describe_tool(adopting->host, told, &data);
    add(adopting, ROLE_TOOL, line, str_steal(&data), mem_dup(told->tool_id));
}

static void take_fact(struct adopting *adopting, enum told_fact fact, const struct line_told *line)
{
    switch (fact) {
    case TOLD_SESSION:
        if (adopting->directory == NULL && line->directory != NULL)
            adopting->directory = mem_dupn(line->directory, str_fit(line->directory, PATH_MAX));
        break;
    case TOLD_PROMPT:
        take_prompt(adopting, line->told.prompt);
        break;
    case TOLD_SAYS:
        take_answer(adopting, line->told.answer);
        break;
    case TOLD_TOOL:
        take_tool(adopting, &line->told);
        break;
    case TOLD_DONE:
        take_answer(adopting, line->told.answer);
        end_prompt(adopting, "end_turn");
        break;
    case TOLD_FAILED:
        end_prompt(adopting, HOST_END_FAILED);
        break;
    case TOLD_STOPPED:
        end_prompt(adopting, "cancelled");
        break;
    default:
        break;
    }
}

static void take_line(struct adopting *adopting, const char *text, size_t len, bool is_new)
{
    const struct preset_told *told = &adopting->host->preset->told;
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;

    for (size_t i = 0; i < told->line_count; i++) {
        const struct line_rule *rule = &told->lines[i];
        _cleanup_line_ struct line_told line = {.owned = NULL};
        if ((!is_new && rule->fact != TOLD_SESSION) || !line_may_apply(rule, text, len))
            continue;
        if (json == NULL && (json_parse(text, len, TRANSCRIPT_LINE_MAX, &json, &ignored) == -1 ||
                             !json_is_object(json)))
            return;
        if (line_apply(rule, json, &line))
            take_fact(adopting, rule->fact, &line);
    }
}

/* Reads the lines; of those before `begin`, only what session it is. */
static void read_lines(struct adopting *adopting, size_t begin)
{
    for (size_t at = 0; at < adopting->len;) {
        const char *line = adopting->text + at;
        size_t len = strcspn(line, "\n"); /* a NUL ends the reading of its line, too */
        const char *end = memchr(line, '\n', adopting->len - at);
        take_line(adopting, line, len, at >= begin);
        at = (size_t)(end - adopting->text) + 1;
    }
    end_turn(adopting);
}

struct adopting_rows {
    struct str text;
    bool too_large;
};

static bool add_row(const char *line, size_t len, void *arg)
{
    struct adopting_rows *rows = arg;

    rows->too_large = rows->text.len + len >= OUTSIDE_COPIED_MAX;
    if (rows->too_large)
        return false;
    str_addn(&rows->text, line, len);
    str_addc(&rows->text, '\n');
    return true;
}

static int too_large(const struct adopting *adopting, struct err *err)
{
    return err_set(err, MAS_CONFLICT, "'%s' is too large: the limit is %d MiB", adopting->path,
                   OUTSIDE_COPIED_MAX >> 20);
}

static int read_rows(struct adopting *adopting, struct err *err)
{
    struct adopting_rows rows = {.text = STR_INIT};
    int rc = outside_row_lines(&adopting->host->preset->told, adopting->path, adopting->id,
                               time_monotonic_ms() + OUTSIDE_LOOK_MS, add_row, &rows, err);

    adopting->len = rows.text.len;
    adopting->text = str_steal(&rows.text);
    if (rc == 0 && rows.too_large)
        return too_large(adopting, err);
    return rc == 0 && adopting->len == 0
               ? err_set(err, MAS_NOT_FOUND, "'%s' has nothing of session %s", adopting->path,
                         adopting->id)
               : rc;
}

static int read_file(struct adopting *adopting, struct err *err)
{
    struct err why = ERR_INIT;
    const char *end;

    if (adopting->in_database)
        return read_rows(adopting, err);
    if (file_read(AT_FDCWD, adopting->path, OUTSIDE_COPIED_MAX, &adopting->text, &adopting->len,
                  &why) == -1)
        return why.number == EFBIG ? too_large(adopting, err)
                                   : err_set(err, why.code, "%s", why.text);
    end = memrchr(adopting->text, '\n', adopting->len);
    adopting->len = end != NULL ? (size_t)(end - adopting->text) + 1 : 0;
    return adopting->len > 0 ? 0 : err_set(err, MAS_CONFLICT, "'%s' has no line", adopting->path);
}

/* ---- what was adopted before */

struct earlier {
    const char *key;
    int64_t query; /* 0: it was not */
    int64_t offset, tail; /* how far its file was read, and what was there */
};

static bool find_note(const struct store_item *item, void *arg)
{
    struct earlier *earlier = arg;
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;

    if (item->key == NULL || strcmp(item->key, earlier->key) != 0 || item->data == NULL ||
        json_parse(item->data, strlen(item->data), STORE_TEXT_MAX, &json, &ignored) == -1)
        return true;
    earlier->query = item->query;
    earlier->offset = json_int(json_get(json, "offset"), 0);
    earlier->tail = strtoll(json_get_text_or(json, "tail", "0"), NULL, 10);
    return true;
}

static int64_t hash_tail(const struct adopting *adopting, size_t offset)
{
    size_t len = offset < TAIL ? offset : TAIL;

    return transcript_hash(adopting->text + offset - len, len);
}

static void add_note(struct adopting *adopting, const char *key)
{
    _cleanup_str_ struct str data = STR_INIT;
    _cleanup_free_ char *tail = mem_printf("%" PRId64, hash_tail(adopting, adopting->len));
    struct json_out out = {.to = &data};

    json_put_all(&out, JO(NULL), JI("offset", adopting->len), JT("tail", tail), JOE);
    add(adopting, ROLE_NOTE, mem_dup(""), str_steal(&data), mem_dup(key));
}

/* The words of the note come when all is read. */
static void say_note(struct adopting *adopting)
{
    struct store_message *note = &adopting->said[0].message;
    bool is_known = adopting->directory != NULL;

    free((void *)(uintptr_t)note->text);
    note->text = mem_printf("session %s, which began without mas%s%s, goes on here", adopting->id,
                            is_known ? " in " : "", is_known ? adopting->directory : "");
    note->len = strlen(note->text);
}

/* ---- 2. the copy */

static bool fits(struct adopting *adopting, char *const *pattern, const char *id)
{
    for (; pattern != NULL && *pattern != NULL; pattern++) {
        _cleanup_free_ char *name = NULL;
        const char *below = path_pattern_below(*pattern, &name);
        for (const char *path = adopting->path; path != NULL; path = strchr(path, '/')) {
            path += *path == '/' ? 1 : 0;
            if (path_pattern_match(below, path, id, &adopting->found))
                return true;
        }
    }
    return false;
}

/* Finds the pattern of the preset that stands for the file. */
static int find_pattern(struct adopting *adopting, struct err *err)
{
    const struct preset_told *told = &adopting->host->preset->told;

    if (fits(adopting, told->kept, adopting->id))
        return 0;
    adopting->in_database = fits(adopting, told->database, NULL);
    if (adopting->in_database)
        return 0;
    return err_set(err, MAS_CONFLICT, "'%s' is no session that preset '%s' keeps (told.kept)",
                   adopting->path, adopting->host->preset->name);
}

static bool copies(const struct adopting *adopting)
{
    return adopting->host->preset->told.copies && !adopting->in_database;
}

/* Writes the copy. *ret_at says that all of it is read; its texts belong to `adopting`. */
static int copy(struct adopting *adopting, struct store_transcript *ret_at, struct err *err)
{
    const struct host *host = adopting->host;
    bool walled =
        wall_level_of(&host->config, &host->team, host->agent, host->preset) != WALL_OFF &&
        (host_wall_is_up(host) || !host->wall.began);
    _cleanup_free_ char *part = mem_printf(WORKSPACE_HOME "/%s", host->agent->id);
    _cleanup_close_ int own = walled ? path_make_below(host->dir, part, 0700) : -1;
    const struct outside_home home = {.own = own, .env = host->env};
    struct outside_copied *copied = &adopting->copied;

    if (walled && own == -1)
        return err_errno(err, "cannot open '%s'", part);
    if (outside_copy(&home, &host->preset->told, &adopting->found, adopting->id, adopting->text,
                     adopting->len, copied, err) == -1)
        return -1;
    *ret_at = (struct store_transcript){.agent_session = copied->id,
                                        .file = copied->name,
                                        .offset = copied->offset,
                                        .tail = copied->tail,
                                        .mark = -1};
    return 0;
}

/* ---- 3. and 4. */

static int check(const struct host *host, struct err *err)
{
    const struct session_label label = session_label(&host->root, host->session.id);
    _cleanup_str_ struct str why = STR_INIT;

    if (host->talk->turn.on || teller_gives(host)) {
        (void)err_set(err, MAS_CONFLICT, "it is in the middle of a turn");
        return err_hint(err, "wait for its end, or end it with: mas cancel %s %s", label.text,
                        host->agent->id);
    }
    if (host->talk->queue.count > 0)
        return err_set(err, MAS_CONFLICT, "prompts wait for it");
    if (host->child.phase == CHILD_RUNS && teller_is_busy(host, &why))
        return err_set(err, MAS_CONFLICT, "%s", str_text(&why));
    return 0;
}

static void start(struct host *host)
{
    struct teller *teller = host->terminal->teller;

    free(host->talk->session);
    host->talk->session = NULL;
    host->child.failures = 0;
    if (host->child.phase == CHILD_NONE) {
        child_start(host, time_monotonic_ms());
        return;
    }
    teller->clears = host->child.phase == CHILD_RUNS; /* what it still tells is of the old one */
    child_end(host, child_times(host), 0, true);
}

static int enter(struct host *host, struct adopting *adopting, struct err *err)
{
    static const struct clear_options options = {.reason = "adopt", .from = "-"};
    struct teller *teller = host->terminal->teller;
    struct store_transcript at = {.offset = 0};
    struct store_agent_session session = {.id = adopting->copied.id,
                                          .home = teller_home(host),
                                          .program = host->preset->name,
                                          .outcome = OUTCOME_RESUMED};
    struct store_adoption adopts = {.said = adopting->said, .count = adopting->count};
    struct clear_options with = options;
    struct err why = ERR_INIT;
    int64_t then = 0;

    if (copies(adopting) && copy(adopting, &at, &why) == 0) {
        adopts.session = &session;
        adopts.at = &at;
    } else if (copies(adopting)) {
        _cleanup_free_ char *words =
            mem_printf("cannot copy session %s, so its words are told: %s", adopting->id, why.text);
        host_log(host, words);
    }
    with.adopts = &adopts;
    teller->follows = true; /* the program is not to clear */
    int rc = clear_context(host, &with, &then, err);
    teller->follows = false;
    if (rc == -1)
        outside_uncopy(&adopting->copied);
    return rc;
}

int teller_request_adopt(struct host *host, struct client *client, const struct frame *frame,
                         struct err *err)
{
    const struct conversation_memory *memory = &host->talk->memory;
    _cleanup_adopting_ struct adopting adopting = {
        .host = host,
        .id = hook_id(json_get_text(frame->head, "session")),
        .path = json_get_text(frame->head, "path"),
        .copied = OUTSIDE_COPIED_INIT,
    };
    const struct store_filter notes = {.agent = host->agent->id, .roles = 1U << ROLE_NOTE};

    if (adopting.id == NULL || adopting.path == NULL || adopting.path[0] != '/')
        return err_set(err, MAS_USAGE, "the request names no session");
    if (find_pattern(&adopting, err) == -1 || check(host, err) == -1 ||
        read_file(&adopting, err) == -1 || memory_need(host, err) == -1)
        return -1;
    lines_look(host); /* what belongs to the query that ends */
    _cleanup_free_ char *key = mem_printf("adopted:%s", adopting.id);
    struct earlier earlier = {.key = key};
    if (store_read(memory->store, &notes, find_note, &earlier, err) == -1)
        return -1;
    bool same = earlier.query != 0 && earlier.offset > 0 &&
                earlier.offset <= (int64_t)adopting.len &&
                hash_tail(&adopting, (size_t)earlier.offset) == earlier.tail;
    if (same && earlier.query == memory->place.query && earlier.offset == (int64_t)adopting.len) {
        if (host->child.phase == CHILD_NONE)
            child_start(host, time_monotonic_ms());
        status_answer(host, client);
        return 0;
    }
    add_note(&adopting, key);
    read_lines(&adopting, same && copies(&adopting) ? (size_t)earlier.offset : 0);
    if (adopting.too_many)
        return err_set(err, MAS_CONFLICT, "'%s' is too large: it has more than %d messages",
                       adopting.path, SAID_MAX);
    say_note(&adopting);
    if (enter(host, &adopting, err) == -1)
        return -1;
    client->kind = CLIENT_RESTARTS;
    start(host);
    return 0;
}
