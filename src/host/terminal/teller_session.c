/*
 * The id of the program's session is recorded in memory.db with the first prompt, because only then
 * the program keeps the session. A start continues the recorded one, if the program still has it;
 * otherwise it begins a new one, and is told what was said before, as an ACP agent is.
 */

#include "base/id.h"
#include "base/time.h"
#include "host/talk/clear.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "memory/starts.h"
#include "session/env.h"
#include "store/workspace.h"

enum {
    CHANGE_MS = 10000, /* so soon behind an Enter, a change of the session is a person's */
    FOLLOW_MS = 200, /* how often it is looked for another session */
    MAKE_TRIES = 8, /* to make an id of which no file is there */
};

struct store_home teller_home(const struct host *host)
{
    const char *directory = env_get(host->env, "PWD");

    return (struct store_home){.directory = directory != NULL ? directory : "/",
                               .machine = host->terminal->teller->machine};
}

static bool has_files(const struct host *host, const char *id)
{
    _cleanup_strv_ char **found = teller_find_files(host, host->preset->told.kept, id, 0);

    return found != NULL;
}

/* Returns true if the program has the session, or its preset does not say where it would. */
static bool is_kept(const struct host *host, const char *id)
{
    return host->preset->told.kept == NULL || has_files(host, id);
}

bool teller_can_continue(const struct host *host, struct str *why)
{
    const struct teller *teller = host->terminal->teller;
    const char *id = host->talk->session;

    if (id == NULL && teller->id[0] != '\0' && host->preset->told.kept != NULL &&
        is_kept(host, teller->id))
        str_add(why, "it is in another session, in which nothing was asked yet");
    else if (id != NULL && host->preset->told.resume[0] == '\0')
        str_add(why, "its program cannot continue a session");
    else if (id != NULL && !is_kept(host, id))
        str_add(why, "its program has not kept its session");
    else if (id != NULL && host->talk->memory.store == NULL)
        str_add(why, "its session is not recorded: " STORE_FILE " cannot be opened");
    else
        return true;
    return false;
}

/* ---- a start */

/* Finds the session that goes on. Returns false if there is none, with *ret_why, which the caller
 * frees, if there was one. */
static bool find_session(struct host *host, char **ret_why)
{
    struct teller *teller = host->terminal->teller;
    const struct conversation_memory *memory = &host->talk->memory;
    const struct store_home home = teller_home(host);
    _cleanup_free_ char *id = NULL;
    const char *why = NULL;
    struct err err = ERR_INIT;

    if (memory->store == NULL)
        (void)memory_need(host, &err);
    if (memory->store == NULL)
        *ret_why = mem_dup("its session is not known: " STORE_FILE " cannot be opened");
    if (memory->store == NULL || host->preset->told.resume[0] == '\0')
        return false;
    (void)memory_kept(
        host, store_last_session(memory->store, memory->place.query, &home, &id, &why, &err), &err);
    if (id == NULL || strlen(id) > HOOK_ID_MAX) {
        *ret_why = mem_dup(why);
        return false;
    }
    if (teller->lost)
        why = "the program could not continue it";
    else if (!is_kept(host, id))
        why = "the program has it no more";
    if (why != NULL) {
        *ret_why = mem_printf("session %s was not resumed: %s", id, why);
        return false;
    }
    (void)snprintf(teller->id, sizeof teller->id, "%s", id);
    return true;
}

/* Makes a new session, with an id if the program takes one. */
static void make_session(struct host *host, struct str *history)
{
    struct teller *teller = host->terminal->teller;
    const struct conversation_memory *memory = &host->talk->memory;
    const struct store_budget budget = memory_budget(host);
    char id[ID_TEXT];
    struct err err = ERR_INIT;

    teller->id[0] = '\0';
    if (host->preset->told.begin[0] != '\0' && id_make(id, &err) == 0) {
        /* the program may name its files by a part of the id */
        for (int tries = 1; tries < MAKE_TRIES && has_files(host, id); tries++)
            (void)id_make(id, &err);
        (void)snprintf(teller->id, sizeof teller->id, "%s", id);
    }
    if (memory->store != NULL)
        (void)memory_kept(host,
                          store_injection(memory->store, memory->place.query,
                                          queue_first_number(host->talk), &budget, history, &err),
                          &err);
}

static void say_outcome(struct host *host, const char *why)
{
    struct teller *teller = host->terminal->teller;
    _cleanup_free_ char *words =
        mem_printf("conversation %s%s%s", store_outcome_name(teller->outcome),
                   why != NULL ? ": " : "", why != NULL ? why : "");

    starts_count(&host->root, teller->outcome);
    host_log(host, words);
    if (why != NULL || host->talk->sleep.woken)
        memory_say(host, true, "%s", words);
    host->talk->sleep.woken = false;
}

void teller_choose_session(struct host *host, char ***argv, struct str *history)
{
    struct teller *teller = host->terminal->teller;
    const struct preset_told *told = &host->preset->told;
    _cleanup_free_ char *why = NULL;
    bool goes_on = find_session(host, &why);

    if (!goes_on)
        make_session(host, history);
    teller->outcome = goes_on            ? OUTCOME_RESUMED
                      : history->len > 0 ? OUTCOME_INJECTED
                                         : OUTCOME_FRESH;
    teller->lost = false;
    free(host->talk->session);
    host->talk->session = goes_on ? mem_dup(teller->id) : NULL;
    say_outcome(host, why);
    lines_begin(host, goes_on ? LINES_RESUMED : LINES_NEW);
    if (goes_on)
        rows_read(host);
    struct teller_id_values as;
    teller_id_values(host, teller->id, &as);
    if (teller_is_trusted(host))
        expand_words(as.values, ARRAY_LEN(as.values), told->trusted, argv);
    if (teller->id[0] != '\0')
        expand_words(as.values, ARRAY_LEN(as.values), goes_on ? told->resume : told->begin, argv);
}

/* ---- while it runs */

void teller_keep_session(struct host *host, const char *note)
{
    const struct teller *teller = host->terminal->teller;
    const struct store_home home = teller_home(host);
    struct err err = ERR_INIT;

    if (host->talk->session == NULL || host->talk->memory.store == NULL)
        return;
    const struct store_agent_session session = {
        .id = host->talk->session,
        .home = home,
        .program = host->preset->name,
        .outcome = teller->outcome,
        .note = note,
    };
    const struct unwritten_write write = memory_session_write(host, &session);
    (void)unwritten_write(host, host->talk->memory.store, &write, &err);
    if (err.code != MAS_OK)
        host_log(host, err.text);
}

/* It has left its session for one that has no id before its first prompt. */
static void leave_session(struct host *host)
{
    static const struct clear_options options = {.reason = "clear", .from = "-"};
    struct teller *teller = host->terminal->teller;
    struct err err = ERR_INIT;
    int64_t then = 0;

    teller->outcome = OUTCOME_FRESH;
    teller->follows = true;
    if (clear_context(host, &options, &then, &err) == -1)
        host_log(host, err.text);
    teller->follows = false;
}

void teller_change_session(struct host *host, const char *id, const char *source)
{
    struct teller *teller = host->terminal->teller;
    bool was_known = teller->id[0] != '\0';
    bool by_person = !host->talk->turn.on && teller->enter_at != 0 &&
                     time_monotonic_ms() - teller->enter_at <= CHANGE_MS;

    if (strcmp(id, teller->id) == 0)
        return;
    if (was_known && !by_person) {
        host_log(host, "what tells of another session is not believed: nobody has asked for it");
        return;
    }
    (void)snprintf(teller->id, sizeof teller->id, "%s", id);
    free(host->talk->session);
    host->talk->session = NULL; /* it is recorded with its first prompt */
    bool has_past =
        source != NULL && (strcmp(source, "resume") == 0 || strcmp(source, "fork") == 0);
    lines_begin(host, was_known && has_past ? LINES_ENTERED : LINES_NEW);
    if (!was_known)
        return;
    if (teller->clears) {
        teller->clears = teller->clear_typed = false;
        teller->outcome = OUTCOME_FRESH;
        return;
    }
    if (!has_past) {
        leave_session(host);
        return;
    }
    teller->outcome = OUTCOME_RESUMED;
    memory_say(host, true, "a person has gone to another session of the program (%s)", source);
    if (has_files(host, id)) { /* the program keeps it already */
        host->talk->session = mem_dup(id);
        teller_keep_session(host, NULL);
    }
}

void teller_enters(struct host *host, int64_t now)
{
    struct teller *teller = host->terminal->teller;

    teller->enter_at = now;
    teller->was_anew = watcher_is_anew(&host->terminal->watcher);
    strv_free(teller->held);
    teller->held = teller_held_sessions(host);
}

int64_t teller_follow(struct host *host, int64_t now)
{
    struct teller *teller = host->terminal->teller;
    const struct preset_told *told = &host->preset->told;

    if ((told->alive == NULL && told->title_new[0] == '\0') || teller->enter_at == 0 ||
        now - teller->enter_at > CHANGE_MS || host->talk->turn.on || teller->clears ||
        teller->id[0] == '\0' || host->child.phase != CHILD_RUNS)
        return -1;
    if (now < teller->follow_at)
        return teller->follow_at;
    teller->follow_at = now + FOLLOW_MS;
    if (!teller->was_anew && watcher_is_anew(&host->terminal->watcher)) {
        teller->id[0] = '\0';
        free(host->talk->session);
        host->talk->session = NULL;
        leave_session(host);
        return -1;
    }
    _cleanup_strv_ char **held = teller_held_sessions(host);
    for (char **id = held; id != NULL && *id != NULL; id++) {
        if (strv_has(teller->held, *id) || strlen(*id) > HOOK_ID_MAX)
            continue;
        strv_push(&teller->held, *id);
        teller_change_session(host, *id, has_files(host, *id) ? "resume" : "clear");
    }
    return teller->follow_at;
}
