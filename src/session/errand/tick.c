/*
 * The comments name the steps of the header. Whether a prompt that may have arrived is given again
 * depends on the agent: one that talks takes it once by its tag; to another one it would be typed
 * twice, so it is not. tick_plan() also says what is wrong with a time that a person has typed. An
 * entry that fails says why, and does not keep the others.
 */

#include "session/errand/tick.h"

#include "base/time.h"
#include "memory/store.h"
#include "model/calendar.h"
#include "model/message.h"
#include "os/file.h"
#include "os/path.h"
#include "session/errand/errand.h"
#include "store/owner.h"
#include "store/workspace.h"

enum {
    LATE_S = 150, /* a timer may be so late without having missed a run */
    WRONG_MS = 3 * 3600 * 1000, /* a clock that is set back by less repeats no run */
    START_MS = 300000,
    LOCK_MS = 60000,
};

/* ---- when */

/* Finds the newest turn of the agent in "SESSION/AGENT". */
static int find_turn(const struct root *root, const char *when, struct store_turn *ret,
                     struct err *err)
{
    size_t len = strcspn(when, "/");
    _cleanup_free_ char *id = mem_dupn(when, len);
    _cleanup_close_ int dir = id_is_valid(id) ? workspace_open(root, id) : -1;
    _cleanup_store_ struct store *store = NULL;
    struct err why = ERR_INIT;

    *ret = (struct store_turn){.prompt = 0};
    if (dir == -1 || when[len] == '\0')
        return err_set(err, MAS_NOT_FOUND, "the session that it follows is gone");
    if (store_open(dir, id, NULL, false, &store, &why) == 0 &&
        store_newest_turn(store, when + len + 1, ret, &why) == 0)
        return 0;
    if (why.code == MAS_NOT_FOUND)
        return 0;
    *err = why;
    return -1;
}

/* Returns the number of the turn whose end has come; 0: the newest one is on. */
static int find_end(const struct root *root, const char *when, int64_t *ret, struct err *err)
{
    struct store_turn turn;

    if (find_turn(root, when, &turn, err) == -1)
        return -1;
    *ret = turn.over && !turn.stopped ? turn.prompt : 0;
    store_turn_free(&turn);
    return 0;
}

int tick_plan(const struct root *root, struct every_entry *entry, int64_t now_ms, struct err *err)
{
    struct calendar calendar;
    time_t now = (time_t)(now_ms / 1000), next = 0, span = 0;
    const char *want = NULL;

    switch (entry->kind) {
    case EVERY_AFTER:
        return find_end(root, entry->when, &entry->seen, err);
    case EVERY_SPAN:
        if (!time_parse_age(entry->when, &span) || span < 60)
            want = "a span of a minute or more, such as 2h";
        else /* the clock may have been ahead when it was made */
            next = now + span - ((now - (time_t)(entry->made_ms / 1000)) % span + span) % span;
        break;
    case EVERY_AT:
        want = calendar_parse_at(entry->when, now, &next);
        break;
    case EVERY_CALENDAR:
        want = calendar_parse(entry->when, &calendar);
        if (want == NULL && !calendar_next(&calendar, now, &next))
            want = "a calendar with a time to come";
        break;
    case EVERY_GOAL:
    case EVERY_WATCH:
        return 0; /* their processes know */
    }
    if (want != NULL)
        return err_set(err, MAS_USAGE, "'%s' is not %s", entry->when, want);
    entry->next_ms = (int64_t)next * 1000;
    return 0;
}

/* Returns 1 if the entry is due, and then when it was, 0 if not. */
static int is_due(const struct due *run, int64_t *ret_due, struct err *err)
{
    const struct every_entry *entry = run->entry;
    int64_t ended = 0;

    if (entry->paused)
        return 0;
    *ret_due = entry->given_ms != 0         ? entry->given_ms
               : entry->kind == EVERY_AFTER ? run->now_ms
                                            : entry->next_ms;
    if (entry->given_ms != 0)
        return 1; /* by whatever clock */
    if (entry->kind != EVERY_AFTER)
        return *ret_due != 0 && *ret_due <= run->now_ms;
    if (find_end(run->tick->root, entry->when, &ended, err) == -1)
        return -1;
    return ended != 0 && ended != entry->seen;
}

/* ---- the agent */

/* Brings up the session, if it does not run and the entry says so. */
static int need_host(struct due *run, struct err *err)
{
    bool runs = false;

    if (due_look(run, false, &runs, err) == -1)
        return -1;
    if (runs)
        return 0;
    if (!run->entry->start)
        return err_set(err, MAS_CONFLICT, "the session does not run");
    if (due_run_mas(run, (const char *const[]){"start", "--quiet", run->id, NULL}, START_MS, err) ==
            -1 ||
        due_look(run, true, &runs, err) == -1)
        return -1;
    return runs ? 0 : err_set(err, MAS_FAILED, "its host does not answer");
}

/* ---- a run */

/* Step 2. */
static int skip(const struct due *run, struct err *err)
{
    run->entry->skipped++;
    due_set_why(run->entry, EVERY_SKIPPED);
    if (due_keep(run, false, err) == -1)
        return -1;
    due_note(run, "skipped");
    return err_set(err, MAS_CONFLICT, "the run before still goes on");
}

/* Step 5. */
static int record(const struct due *run, struct err *err)
{
    struct every_entry *entry = run->entry;

    entry->given_ms = 0;
    entry->ran_ms = run->now_ms;
    entry->runs++;
    if (due_keep(run, entry->kind == EVERY_AT, err) == -1)
        return -1;
    _cleanup_free_ char *late = mem_printf("given %" PRId64 " s late", entry->late);
    due_note(run, entry->late > 0 ? late : "given");
    return 0;
}

/* Steps 3 to 5. */
static int give_run(const struct due *run, struct err *err)
{
    struct every_entry *entry = run->entry;
    bool talks = run->roster.agents[0].status.talks, unknown = false;
    int64_t next = entry->next_ms, seen = entry->seen;
    struct err ignored = ERR_INIT;

    if (entry->given_ms != 0 && !talks) {
        due_set_why(entry, "mas was killed while it gave the text, which may have arrived");
        return record(run, err);
    }
    if (entry->given_ms == 0) {
        struct err over = ERR_INIT; /* no time is to come */
        int64_t late = (run->now_ms - run->due_ms) / 1000;
        entry->late = late > LATE_S ? late : 0;
        entry->given_ms = run->due_ms;
        if (entry->kind == EVERY_AT || tick_plan(run->tick->root, entry, run->now_ms, &over) == -1)
            entry->next_ms = 0;
        if (due_keep(run, false, err) == -1)
            return -1;
    }
    if (due_give(run, entry->text, &unknown, err) == 0) {
        due_set_why(entry, "");
        return record(run, err);
    }
    if (!talks && unknown) {
        due_set_why(entry, "its host did not answer, and the text may have arrived");
        return record(run, err);
    }
    if (!talks) { /* it did not arrive: due as before */
        entry->given_ms = 0;
        entry->next_ms = next;
        entry->seen = seen;
        (void)due_keep(run, false, &ignored);
    }
    return -1;
}

/* The clock was wrong when the entry was made, or ran last, and was set back since. */
static void plan_anew(const struct due *run)
{
    struct every_entry *entry = run->entry;
    struct err ignored = ERR_INIT;
    int64_t next = entry->next_ms, right = run->now_ms + WRONG_MS;

    if (entry->kind > EVERY_SPAN || (entry->made_ms <= right && entry->ran_ms <= right))
        return;
    if (tick_plan(run->tick->root, entry, run->now_ms, &ignored) == 0 && entry->next_ms < next)
        (void)due_keep(run, false, &ignored);
    else
        entry->next_ms = next;
}

/* Steps 1 to 5. Returns 0 also if it is not due. */
static int run_entry(struct due *run, bool now, struct err *err)
{
    struct every_entry *entry = run->entry;
    struct err why = ERR_INIT, ignored = ERR_INIT;

    plan_anew(run);
    int due = is_due(run, &run->due_ms, &why);
    if (now) {
        if (entry->given_ms == 0)
            run->due_ms = run->now_ms;
        entry->paused = false;
        due = 1;
    }
    if (due == 0)
        return 0;
    if (due == 1 && need_host(run, &why) == 0) {
        if (entry->given_ms == 0 && due_goes(run, &ignored) > 0) {
            if (tick_plan(run->tick->root, entry, run->now_ms, &ignored) == -1)
                entry->next_ms = 0;
            return skip(run, err);
        }
        if (give_run(run, &why) == 0)
            return 0;
    }
    due_failed(run, why.text);
    *err = why;
    return -1;
}

/* ---- all of them */

/* Runs the entries of a session, or only one. Returns how many failed; *err is of the last one. */
static size_t run_session(const struct tick *tick, const char *id, int64_t only, struct err *err)
{
    _cleanup_every_ struct every every = EVERY_INIT;
    _cleanup_close_ int dir = workspace_open(tick->root, id);
    size_t failed = 0;

    if (dir == -1)
        return 0; /* removed meanwhile */
    if (owner_check(tick->root, dir, id, "run the entries of", err) == -1 ||
        every_read(dir, &every, err) == -1)
        return 1;
    if (only != 0 && every_find(&every, only) == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "there is no entry %" PRId64, only);
        return 1;
    }
    for (size_t i = 0; i < every.count; i++) {
        struct due run = {.tick = tick,
                          .roster = ROSTER_INIT,
                          .dir = dir,
                          .id = id,
                          .entry = &every.at[i],
                          .now_ms = time_epoch_ms()};
        if (only == 0 || run.entry->number == only)
            failed += (every_is_errand(run.entry) ? errand_tick(&run, only != 0, err)
                                                  : run_entry(&run, only != 0, err)) == -1;
        roster_free(&run.roster);
    }
    return failed;
}

int tick_run(const struct tick *tick, size_t *ret_failed, struct err *err)
{
    _cleanup_strv_ char **ids = NULL;
    _cleanup_close_ int lock = -1;

    *ret_failed = 0;
    if (file_lock(tick->root->sessions, EVERY_LOCK, LOCK_TRY, "tick", &lock, err) == -1)
        return err->code == MAS_CONFLICT ? 0 : -1;
    if (every_sessions(tick->root, &ids, err) == -1)
        return -1;
    for (char **id = ids; id != NULL && *id != NULL; id++) {
        struct err ignored = ERR_INIT; /* the entry says it */
        *ret_failed += run_session(tick, *id, 0, &ignored);
    }
    return 0;
}

int tick_run_one(const struct tick *tick, const char *id, int64_t number, struct err *err)
{
    _cleanup_close_ int lock = -1;

    if (file_lock(tick->root->sessions, EVERY_LOCK, LOCK_MS, "tick", &lock, err) == -1)
        return -1;
    return run_session(tick, id, number, err) == 0 ? 0 : -1;
}

time_t tick_last(const struct root *root)
{
    struct stat st;

    return fstatat(root->sessions, EVERY_LOCK, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mtime : 0;
}
