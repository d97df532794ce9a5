/*
 * A number does not say whose entry it is, so the entries of all sessions are read; a damaged file
 * hides only its own. An errand is on disk before its process begins, and a timer that cannot be
 * made is a warning. Whoever waits for an errand reads its entry again whenever the workspace
 * changes: the process may be killed and begin anew meanwhile.
 */

#include "cli/errand/entries.h"

#include "cli/print.h"
#include "cli/table.h"
#include "cli/words.h"
#include "model/message.h"
#include "model/target.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/watch.h"
#include "session/env.h"
#include "session/errand/errand.h"
#include "session/errand/tick.h"
#include "session/errand/timer.h"
#include "session/launch.h"
#include "store/session.h"

/* ---- one that there is */

int entries_find(const struct call *call, const char *option, bool errands, int64_t *ret,
                 char ret_id[ID_TEXT], struct err *err)
{
    _cleanup_strv_ char **ids = NULL;
    uint64_t number = 0;

    if (!number_parse_count(call_opt(call, option), INT64_MAX, &number) || number == 0)
        return call_bad_value(call, option, "the number of an entry", err);
    if (every_sessions(&call->root, &ids, err) == -1)
        return -1;
    for (char **id = ids; id != NULL && *id != NULL; id++) {
        _cleanup_close_ int dir = workspace_open(&call->root, *id);
        _cleanup_every_ struct every every = EVERY_INIT;
        struct err ignored = ERR_INIT; /* --list tells it */
        if (dir == -1 || every_read(dir, &every, &ignored) == -1)
            continue;
        const struct every_entry *entry = every_find(&every, (int64_t)number);
        if (entry == NULL || (errands && !every_is_errand(entry)))
            continue;
        *ret = (int64_t)number;
        (void)snprintf(ret_id, ID_TEXT, "%s", *id);
        return 0;
    }
    (void)err_set(err, MAS_NOT_FOUND, "there is no %s %s", errands ? "errand" : "entry",
                  call_opt(call, option));
    return err_hint(err, "list them with: mas %s --list", call->cmd->name);
}

int entries_drop(const struct call *call, const char *exe, bool errands, struct err *err)
{
    struct every_entry entry = {.number = 0};
    char id[ID_TEXT];
    enum timer timer;

    if (entries_find(call, "off", errands, &entry.number, id, err) == -1)
        return -1;
    _cleanup_close_ int dir = workspace_open(&call->root, id);
    if (dir == -1)
        return err_set(err, MAS_NOT_FOUND, "its session was removed");
    if (every_change(&call->root, dir, &entry, true, err) == -1)
        return -1;
    errand_end(&call->root, entry.number);
    return timer_settle(&call->root, exe, &timer, err);
}

/* ---- the list */

void entries_show_time(int64_t ms, char ret[64])
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm;

    if (ms == 0 || localtime_r(&t, &tm) == NULL || strftime(ret, 64, "%a %F %R %Z", &tm) == 0)
        (void)snprintf(ret, 64, "-");
}

/* Returns WHEN as it was typed, with the session that it follows by its name now. */
static char *show_when(const struct root *root, const struct every_entry *entry)
{
    static const char *const before[] = {"", "", "at ", "after ", "goal ", "watch "};
    size_t len = entry->kind == EVERY_AFTER ? strcspn(entry->when, "/") : 0;
    _cleanup_free_ char *id = mem_dupn(entry->when, len);

    return mem_printf("%s%s%s", before[entry->kind],
                      id_is_valid(id) ? session_label(root, id).text : id, entry->when + len);
}

static void add_row(struct table *table, const struct root *root, const struct session_label *label,
                    const struct every_entry *entry)
{
    _cleanup_free_ char *number = mem_printf("%" PRId64, entry->number);
    _cleanup_free_ char *to = mem_printf("%s/%s", label->text, entry->agent);
    _cleanup_free_ char *runs = mem_printf("%" PRId64, entry->runs);
    _cleanup_free_ char *shown = show_when(root, entry);
    _cleanup_str_ struct str last = STR_INIT;
    char next[64], ran[64];

    entries_show_time(entry->next_ms, next);
    entries_show_time(entry->ran_ms, ran);
    str_add(&last, ran);
    if (entry->late > 0)
        str_addf(&last, ", %" PRId64 " min late", entry->late / 60);
    if (entry->skipped > 0)
        str_addf(&last, ", %" PRId64 " skipped", entry->skipped);
    if (entry->why[0] != '\0')
        str_addf(&last, "; %s", entry->why);
    table_add(table, number, NULL);
    table_add(table, shown, NULL);
    table_add(table, to, NULL);
    table_add(table,
              entry->over[0] != '\0'   ? entry->over
              : entry->paused          ? "paused"
              : every_is_errand(entry) ? "goes on"
                                       : next,
              NULL);
    table_add(table, runs, NULL);
    table_add(table, last.data, NULL);
    table_add(table, entry->text, NULL);
}

void entries_put(struct json_out *out, const struct session_label *label, const char *id,
                 const struct every_entry *entry)
{
    json_open(out, NULL, '{');
    json_put(out, "sessionId", id);
    json_put(out, "session", label->text);
    members_put_all(every_members, entry, out);
    json_put_bool(out, "start", entry->start);
    json_put_bool(out, "paused", entry->paused);
    json_close(out, '}');
}

static void say_timer(const struct root *root, enum timer timer)
{
    static const char *const words[] = {
        [TIMER_NONE] = "no timer runs them: mas doctor --fix",
        [TIMER_SYSTEMD] = "a timer of systemd runs them",
        [TIMER_CRONTAB] = "the crontab runs them",
    };
    bool ends = timer == TIMER_SYSTEMD && !timer_lingers();
    struct err ignored = ERR_INIT;
    bool needed = false;

    if (timer == TIMER_NONE && timer_is_needed(root, &needed, &ignored) == 0 && !needed)
        return;
    printf("%s%s\n", words[timer],
           ends ? "; it stops when you log out (so that it goes on: loginctl enable-linger)" : "");
}

int entries_list(const struct call *call, const char *exe, bool errands, struct err *err)
{
    static const char *const heads[] = {"N", "WHEN", "AGENT", "NEXT", "RUNS", "LAST", "TEXT"};
    static const char *const spare[] = {"RUNS", "LAST", NULL};
    _cleanup_strv_ char **ids = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct table table = {.columns = ARRAY_LEN(heads), .spare = spare};
    enum timer timer = timer_look(&call->root, exe);
    int rc = 0;

    if (every_sessions(&call->root, &ids, err) == -1)
        return -1;
    json_open(&out, NULL, '{');
    json_put(&out, "timer", timer_name(timer));
    json_put_bool(&out, "lingers", timer_lingers());
    json_put_int(&out, "tickedMs", (int64_t)tick_last(&call->root) * 1000);
    json_open(&out, "entries", '[');
    table_heads(&table, heads);
    for (char **id = ids; id != NULL && *id != NULL; id++) {
        _cleanup_close_ int dir = workspace_open(&call->root, *id);
        _cleanup_every_ struct every every = EVERY_INIT;
        const struct session_label label = session_label(&call->root, *id);
        struct err why = ERR_INIT;
        if (dir != -1 && every_read(dir, &every, &why) == -1) {
            err_warn("session '%s': %s", label.text, why.text);
            rc = err_set(err, why.code, "the entries of a session cannot be read");
        }
        for (size_t i = 0; i < every.count; i++) {
            if (errands && !every_is_errand(&every.at[i]))
                continue;
            add_row(&table, &call->root, &label, &every.at[i]);
            entries_put(&out, &label, *id, &every.at[i]);
        }
    }
    json_close(&out, ']');
    json_close(&out, '}');
    if (call->json)
        print_line(&text);
    else if (ids != NULL) {
        table_print(&table);
        say_timer(&call->root, timer);
    }
    table_free(&table);
    return rc;
}

/* ---- a new one */

int entries_agent(const struct call *call, const char *session, const char *agent,
                  struct roster_team *ret, struct err *err)
{
    char id[ID_TEXT];

    if (call_select(call, session, id, err) == -1 || roster_open(&call->root, id, ret, err) == -1)
        return -1;
    if (team_agent(&ret->team, agent) != NULL)
        return 0;
    (void)err_set(err, MAS_NOT_FOUND, "cannot find agent '%s': the team has no such agent", agent);
    (void)target_hint(&ret->team, agent, false, err);
    roster_close(ret);
    return -1;
}

int entries_tells(const struct config *config, const struct team *team, const char *agent,
                  struct err *err)
{
    const struct preset *preset = NULL;
    _cleanup_strv_ char **argv = NULL;

    if (launch_command(config, team, team_agent(team, agent), "sh", &argv, &preset, err) == -1)
        return -1;
    if (preset != NULL && (preset->protocol == PROTOCOL_ACP || preset_tells(preset)))
        return 0;
    return err_set(err, MAS_CONFLICT, "agent '%s' does not tell when its turns end", agent);
}

int entries_fill(struct call *call, struct every_entry *entry, struct roster_team *ret,
                 struct err *err)
{
    size_t len = 0;
    bool input = false;

    if (call->operand_count < 2) {
        (void)err_set(err, MAS_USAGE, "cannot add an entry: missing %s",
                      call->operand_count == 0 ? "SESSION" : "AGENT");
        return call_usage(call, err);
    }
    const char *session = call->operands[0], *agent = call->operands[1];
    call->operands += 2;
    call->operand_count -= 2;
    if (words_message(call, &entry->text, &len, &input, err) == -1)
        return -1;
    const char *wrong = len > EVERY_TEXT_MAX                 ? "is longer than 16 KiB"
                        : message_is_blank(entry->text, len) ? "is empty"
                                                             : message_check(entry->text, len);
    if (wrong != NULL)
        return err_set(err, MAS_USAGE, "cannot add an entry: its text %s", wrong);
    if (entries_agent(call, session, agent, ret, err) == -1)
        return -1;
    (void)snprintf(entry->agent, sizeof entry->agent, "%s", agent);
    return 0;
}

int entries_begin(const struct call *call, const struct roster_team *team,
                  struct every_entry *entry, struct err *err)
{
    _cleanup_free_ char *exe = path_exe();
    _cleanup_strv_ char **env = env_handed_on(&call->config);
    const struct tick tick = {.root = &call->root, .config = &call->config, .exe = exe};
    struct err why = ERR_INIT;
    enum timer timer;
    bool live = true;

    if (exe == NULL)
        return err_errno(err, "cannot find the program of mas");
    if (every_add(&call->root, team->dir, entry, env, err) == -1 ||
        errand_begin(&tick, team->dir, team->id, entry, err) == -1)
        return -1;
    if (timer_settle(&call->root, exe, &timer, &why) == -1)
        err_warn("if mas is killed, it goes on with the next 'mas start': %s", why.text);
    if (hosts_live(team->dir, &live, &why) == 0 && !live)
        err_warn("the session does not run: it begins with 'mas start'");
    return 0;
}

/* Reads the entry. *ret is empty if it is gone. */
static int read_one(int dir, int64_t number, struct every_entry *ret, struct err *err)
{
    _cleanup_every_ struct every every = EVERY_INIT;

    if (every_read(dir, &every, err) == -1)
        return -1;
    struct every_entry *entry = every_find(&every, number);
    every_entry_free(ret);
    *ret = entry != NULL ? *entry : (struct every_entry){.number = 0};
    if (entry != NULL)
        *entry = (struct every_entry){.number = 0};
    return 0;
}

int entries_await(const struct call *call, const char *id, int64_t number,
                  bool (*done)(const struct every_entry *entry), struct every_entry *ret,
                  struct err *err)
{
    enum { LOOK_MS = 60000 }; /* where the kernel does not tell */
    _cleanup_close_ int dir = workspace_open(&call->root, id);
    _cleanup_close_ int watch = watch_open();
    _cleanup_free_ char *said = mem_dup("");

    if (dir == -1)
        return err_set(err, MAS_NOT_FOUND, "its session was removed");
    if (watch != -1)
        (void)watch_add(watch, dir, WATCH_CAME | WATCH_DELETED);
    for (;;) {
        _cleanup_session_ struct session session = SESSION_INIT;
        if (session_load(&call->root, dir, id, &session, err) == -1 ||
            read_one(dir, number, ret, err) == -1)
            return -1;
        if (ret->number == 0)
            return err_set(err, MAS_CANCELLED, "it was ended with --off");
        if (ret->over[0] != '\0' || (done != NULL && done(ret)))
            return 0;
        if (session.status != STATUS_ACTIVE)
            return err_set(err, MAS_CONFLICT,
                           "the session was stopped: it goes on with 'mas start'");
        if (ret->why[0] != '\0' && strcmp(ret->why, said) != 0)
            err_warn("%s %" PRId64 " waits: %s", every_kind_name(ret), number, ret->why);
        free(said);
        said = mem_dup(ret->why);
        (void)loop_wait_for(watch, POLLIN, LOOK_MS);
        (void)watch_read(watch, NULL, NULL);
    }
}
