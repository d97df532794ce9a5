#include "host/talk.h"

#include "base/str.h"
#include "base/time.h"
#include "host/state.h"
#include "protocol/rpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_SHOWN = 200, METHODS_MAX = 32 * 1024 };

const char *talk_why(const struct acp_answer *answer, char *buf, size_t size)
{
    const char *words =
        answer->message != NULL && answer->message[0] != '\0' ? answer->message : "an error";

    if (answer->code == ACP_TIMED_OUT)
        (void)snprintf(buf, size, "no answer in time");
    else if (answer->code == ACP_BAD_ANSWER)
        (void)snprintf(buf, size, "%.*s", (int)str_fit(words, WORDS_SHOWN), words);
    else
        (void)snprintf(buf, size, "%.*s (%lld)", (int)str_fit(words, WORDS_SHOWN), words,
                       (long long)answer->code);
    return buf;
}

/* What cannot go on: the process ends, and the note says why. */
static void give_up(struct host *host, const char *fmt, const char *why)
{
    _cleanup_str_ struct str words = STR_INIT;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    str_addf(&words, fmt, why);
#pragma GCC diagnostic pop
    talk_add_last_words(host, &words);
    talk_trouble(host, false, words.data);
    child_end(host, child_times(host), 0, false);
}

void talk_add_login(const struct host *host, struct str *to)
{
    const struct acp_info *info = host->talk->acp != NULL ? acp_info(host->talk->acp) : NULL;
    _cleanup_json_ struct json *methods = NULL;
    struct err err = ERR_INIT;
    bool any = false;

    if (info == NULL || info->auth == NULL ||
        json_parse(info->auth, strlen(info->auth), METHODS_MAX, &methods, &err) == -1)
        methods = NULL;
    for (const struct json *m = json_first(methods); m != NULL; m = json_next(m)) {
        const char *name = json_get_text(m, "name");
        const char *description = json_get_text(m, "description");
        if (name == NULL)
            continue;
        str_addf(to, "%s%.*s", any ? ", or " : "; log in by: ", WORDS_SHOWN, name);
        if (description != NULL && description[0] != '\0')
            str_addf(to, " (%.*s)", WORDS_SHOWN, description);
        any = true;
    }
    if (host->preset->login[0] != '\0')
        str_addf(to, "%s%.*s", any ? ", or with: " : "; log in with: ", WORDS_SHOWN,
                 host->preset->login);
    else if (!any)
        str_add(to, "; log in with its own program");
    str_add(to, any ? "; then ask again" : ", then ask again");
}

void talk_leave_session(struct host *host)
{
    struct talk *talk = host->talk;

    talk_drop_permissions(host);
    if (talk->session == NULL || talk->acp == NULL)
        return;
    talk_work_leave(host, talk->session);
    talk->left++;
    if (acp_info(talk->acp)->close)
        (void)acp_session_close(talk->acp, talk->session, TALK_CLOSE_MS);
    else
        talk->unclosed++;
    free(talk->session);
    talk->session = NULL;
}

/* true if there is something that a new session has to be told. */
static bool has_history(struct host *host)
{
    struct talk *talk = host->talk;
    const struct store_budget budget = talk_budget(host);
    _cleanup_str_ struct str history = STR_INIT;
    struct err err = ERR_INIT;
    int64_t before = talk->count > 0 ? talk->queue[0].number : INT64_MAX;

    return talk->store != NULL &&
           store_injection(talk->store, talk->place.query, before, &budget, &history, &err) == 0 &&
           history.len > 0;
}

/* The first of the prompts at the end whose turns came to no end, for some agents forget them then;
 * else 0. */
static int64_t find_cut_off(struct host *host)
{
    struct talk *talk = host->talk;
    int64_t before = talk->count > 0 ? talk->queue[0].number : INT64_MAX;
    struct err err = ERR_INIT;
    int64_t number = 0;

    if (talk->store == NULL ||
        store_cut_off(talk->store, talk->place.query, before, &number, &err) == -1)
        return 0;
    return number;
}

int talk_keep_session(struct host *host, const char *note, struct err *err)
{
    struct talk *talk = host->talk;
    const struct store_agent_session session = {
        .id = talk->session,
        .home = {.directory = talk->cwd, .machine = talk->machine},
        .program = talk->program,
        .outcome = talk->outcome,
        .note = note,
    };

    return talk->store == NULL ? 0
                               : store_agent_session(talk->store, talk->place.query, &session, err);
}

static void keep_session(struct host *host)
{
    struct err err = ERR_INIT;

    if (talk_keep_session(host, host->talk->rung_notes, &err) == -1)
        talk_store_failed(host, &err);
}

/* What is to be known of how the agent came back, and not only told. */
static void keep_notes(struct host *host, const char *words)
{
    struct talk *talk = host->talk;
    const struct store_message note = {
        .role = ROLE_NOTE, .state = MESSAGE_DONE, .text = words, .len = strlen(words)};
    struct err err = ERR_INIT;
    int64_t number;

    if (talk->store != NULL &&
        store_add(talk->store, talk->place.query, &note, SYNC_CHUNK, &number, &err) == -1)
        talk_store_failed(host, &err);
}

/* A session that prompts can go to. */
static void join(struct host *host, enum store_outcome outcome)
{
    struct talk *talk = host->talk;
    struct talk_event event;
    bool is_new = outcome == OUTCOME_FRESH || outcome == OUTCOME_INJECTED;

    talk->outcome = outcome;
    talk->proved = false;
    if (talk->fell == 0) { /* else the one before stays, until this one is known to be better */
        keep_session(host);
        if (outcome == OUTCOME_INJECTED)
            talk->place.injected = false; /* until a turn has succeeded */
    }
    talk->prime = is_new || !talk->place.injected || talk->place.is_new;
    talk->remind = is_new ? 0 : find_cut_off(host);
    talk->settled = outcome != OUTCOME_LOADED;
    talk->setting = 0;
    _cleanup_free_ char *words = mem_printf("conversation %s%s%s", store_outcome_name(outcome),
                                            talk->rung_notes != NULL ? ": " : "",
                                            talk->rung_notes != NULL ? talk->rung_notes : "");
    host_log(host, words);
    if (talk->rung_notes != NULL)
        keep_notes(host, words);
    talk_event(&event, "continuity");
    json_put(&event.out, "outcome", store_outcome_name(outcome));
    json_put(&event.out, "note", talk->rung_notes);
    talk_tell(host, &event, NULL, 0, talk->count > 0 ? talk->queue[0].number : 0);
    if (outcome != OUTCOME_FRESH)
        talk_pane_print(host, "note", words, strlen(words));
    talk_set_up(host);
}

static const char *rung_name(enum talk_phase rung)
{
    return rung == TALK_RESUMES ? "resume" : "load";
}

static void add_note(struct talk *talk, const char *rung, const char *what, const char *why)
{
    char *notes = mem_printf("%s%s%s %s: %s", talk->rung_notes != NULL ? talk->rung_notes : "",
                             talk->rung_notes != NULL ? "; " : "", rung, what, why);
    free(talk->rung_notes);
    talk->rung_notes = notes;
}

/* true if the rung is one that the agent has, and nothing speaks against it. */
static bool may_try(struct talk *talk, enum talk_phase rung, bool has)
{
    if (!has || talk->session == NULL || (talk->fell & 1U << rung) != 0)
        return false;
    _cleanup_free_ char *why = store_rung_skip(talk->store, talk->program, rung_name(rung));
    if (why != NULL)
        add_note(talk, rung_name(rung), "was not tried", why);
    return why == NULL;
}

/* Tries the rungs from this one on. */
static void try_from(struct host *host, enum talk_phase rung)
{
    struct talk *talk = host->talk;
    const struct acp_info *info = acp_info(talk->acp);
    int ms = host->preset->resume_ms;

    if (talk->store == NULL) /* then there is no session to come back to either */
        rung = TALK_OPENS;
    if (rung == TALK_RESUMES && may_try(talk, TALK_RESUMES, info->resume)) {
        talk->phase = TALK_RESUMES;
        talk->serial = acp_session_resume(talk->acp, talk->session, talk->cwd, talk->tools, ms);
        return;
    }
    if (rung <= TALK_LOADS && may_try(talk, TALK_LOADS, info->load)) {
        talk->phase = TALK_LOADS;
        talk->replayed = 0;
        talk->serial = acp_session_load(talk->acp, talk->session, talk->cwd, talk->tools, ms);
        return;
    }
    if (talk->fell != 0)
        talk_leave_session(host); /* it was open */
    free(talk->session);
    talk->session = NULL;
    talk_open_session(host);
}

void talk_open_session(struct host *host)
{
    struct talk *talk = host->talk;

    talk->phase = TALK_OPENS;
    talk->serial = acp_session_new(talk->acp, talk->cwd, talk->tools, host->preset->initialize_ms);
}

void talk_resume(struct host *host)
{
    struct talk *talk = host->talk;
    const struct store_home home = {.directory = talk->cwd, .machine = talk->machine};
    struct err err = ERR_INIT;
    const char *why = NULL;
    char *id = NULL;

    free(talk->rung_notes);
    talk->rung_notes = NULL;
    talk->summed = false;
    str_free(&talk->summary);
    talk->phase_until = -1;
    if (talk->store == NULL)
        (void)talk_need_store(host, &err);
    if (talk->store != NULL &&
        store_last_session(talk->store, talk->place.query, &home, &id, &why, &err) == -1)
        talk_store_failed(host, &err);
    if (why != NULL)
        add_note(talk, "its session", "was left alone", why);
    free(talk->session);
    talk->session = id;
    talk->fell = 0;
    try_from(host, TALK_RESUMES);
}

/* What a loaded session shows again may come before the answer or after it: it is let pass. One
 * that shows nothing, where something was said, knows nothing. */
static void settle(struct host *host)
{
    struct talk *talk = host->talk;

    talk->phase = TALK_SETTLES;
    talk->quiet_since = time_monotonic_ms();
    talk->phase_until = talk->quiet_since + TALK_SETTLE_MAX_MS;
}

/* A rung has worked (why NULL) or failed, which counts. */
static void count_rung(struct host *host, enum talk_phase rung, const char *why)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;

    if (talk->store != NULL &&
        store_rung(talk->store, talk->program, rung_name(rung), why, &err) == -1)
        talk_store_failed(host, &err);
}

void talk_settled(struct host *host)
{
    static const char why[] = "the session came back empty";
    struct talk *talk = host->talk;
    bool empty = talk->replayed == 0 && has_history(host);

    talk->phase_until = -1;
    if (empty) {
        add_note(talk, "load", "failed", why);
        count_rung(host, TALK_LOADS, why);
    }
    join(host, empty ? OUTCOME_INJECTED : OUTCOME_LOADED);
}

/* That this session is not there, or that a busy machine was too slow, says nothing about the rung.
 * Agents have words of their own for the first, in errors of any kind. */
static bool counts(const struct acp_answer *answer)
{
    static const char *const gone[] = {
        "not found",  "no rollout found", "no previous session", "no conversation found",
        "no session", "no such",          "does not exist",      "unknown session"};

    if (answer->code == ACP_NO_SUCH || answer->code == ACP_TIMED_OUT)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(gone) && answer->code != RPC_NO_METHOD; i++) {
        if (answer->message != NULL && strcasestr(answer->message, gone[i]) != NULL)
            return false;
    }
    return true;
}

/* resume or load */
static void handle_resumed(struct host *host, const struct acp_answer *answer)
{
    struct talk *talk = host->talk;
    enum talk_phase rung = talk->phase;
    char buf[256];

    if (!answer->ok && answer->code == ACP_NEEDS_LOGIN) {
        talk_trouble(host, true, answer->message != NULL ? answer->message : "");
        return;
    }
    if (answer->ok) {
        talk_parse_modes(host, answer->mode, answer->modes, answer->mode_count);
        talk_parse_options(host, answer->options);
        if (rung == TALK_RESUMES)
            join(host, OUTCOME_RESUMED);
        else
            settle(host);
        return;
    }
    const char *why = talk_why(answer, buf, sizeof buf);
    add_note(talk, rung_name(rung), "failed", why);
    if (counts(answer))
        count_rung(host, rung, why);
    try_from(host, rung == TALK_RESUMES ? TALK_LOADS : TALK_OPENS);
}

/* ---- the first turn of a session that came back */

/* The rung that the present session came by and that is not proved yet; TALK_OFF: none. */
static enum talk_phase unproved_rung(const struct talk *talk)
{
    if (talk->proved || (talk->outcome != OUTCOME_RESUMED && talk->outcome != OUTCOME_LOADED))
        return TALK_OFF;
    return talk->outcome == OUTCOME_RESUMED ? TALK_RESUMES : TALK_LOADS;
}

void talk_prove(struct host *host)
{
    static const enum talk_phase rungs[] = {TALK_RESUMES, TALK_LOADS};
    struct talk *talk = host->talk;
    enum talk_phase rung = unproved_rung(talk);

    if (talk->proved)
        return;
    talk->proved = true;
    if (talk->fell != 0)
        keep_session(host);
    for (size_t i = 0; i < ARRAY_LEN(rungs); i++) {
        if ((talk->fell & 1U << rungs[i]) != 0)
            count_rung(host, rungs[i], "its session failed the first prompt");
    }
    if (rung != TALK_OFF)
        count_rung(host, rung, NULL);
    talk->fell = 0;
}

bool talk_fall(struct host *host, const char *why)
{
    struct talk *talk = host->talk;
    enum talk_phase rung = unproved_rung(talk);

    if (rung == TALK_OFF || talk->turn.heard || talk->store == NULL)
        return false;
    add_note(talk, rung_name(rung), "failed its first prompt", why);
    talk->fell |= 1U << rung;
    talk_put_back(host);
    try_from(host, rung == TALK_RESUMES ? TALK_LOADS : TALK_OPENS);
    return true;
}

void talk_resume_again(struct host *host)
{
    struct talk *talk = host->talk;

    if (talk->fell == 0)
        return;
    talk_leave_session(host);
    talk_resume(host);
}

void talk_fell_dead(struct host *host, const char *why)
{
    enum talk_phase rung = unproved_rung(host->talk);

    if (rung != TALK_OFF)
        count_rung(host, rung, why);
}

static void handle_new(struct host *host, const struct acp_answer *answer)
{
    struct talk *talk = host->talk;
    char why[256];

    if (!answer->ok && answer->code == ACP_NEEDS_LOGIN) {
        talk_trouble(host, true, answer->message != NULL ? answer->message : "");
        return;
    }
    if (!answer->ok || answer->session == NULL) {
        give_up(host, "the agent made no session: %s",
                answer->ok ? "it told no id" : talk_why(answer, why, sizeof why));
        return;
    }
    talk->session = mem_dup(answer->session);
    if (talk_sum_up(host))
        return;
    talk_parse_modes(host, answer->mode, answer->modes, answer->mode_count);
    talk_parse_options(host, answer->options);
    join(host, has_history(host) ? OUTCOME_INJECTED : OUTCOME_FRESH);
}

static void handle_initialize(struct host *host, const struct acp_answer *answer)
{
    struct talk *talk = host->talk;
    const struct acp_info *info = acp_info(talk->acp);
    char why[256];

    if (!answer->ok && answer->code == ACP_NEEDS_LOGIN) {
        talk_trouble(host, true, answer->message != NULL ? answer->message : "");
        return;
    }
    if (!answer->ok) {
        (void)talk_why(answer, why, sizeof why);
        if (answer->code != ACP_TIMED_OUT && child_retry(host, time_monotonic_ms()))
            host_log(host, why);
        else
            give_up(host, "the agent did not begin to speak the protocol: %s", why);
        return;
    }
    if (info->protocol != 1) {
        (void)snprintf(why, sizeof why, "%lld", (long long)info->protocol);
        give_up(host, "the agent speaks version %s of the protocol, mas version 1", why);
        return;
    }
    free(talk->program);
    talk->program = mem_printf("%s%s%s", info->name[0] != '\0' ? info->name : host->argv[0],
                               info->version[0] != '\0' ? " " : "", info->version);
    talk_resume(host);
}

void talk_rung_answer(struct host *host, const struct acp_answer *answer)
{
    struct talk *talk = host->talk;
    bool waited_for = answer->serial == talk->serial;

    switch (answer->call) {
    case ACP_CALL_INITIALIZE:
        if (waited_for && talk->phase == TALK_INITIALIZES)
            handle_initialize(host, answer);
        break;
    case ACP_CALL_RESUME:
    case ACP_CALL_LOAD:
        if (waited_for && (talk->phase == TALK_RESUMES || talk->phase == TALK_LOADS))
            handle_resumed(host, answer);
        break;
    case ACP_CALL_NEW:
        if (waited_for && talk->phase == TALK_OPENS)
            handle_new(host, answer);
        else if (answer->ok && answer->session != NULL && acp_info(talk->acp)->close)
            (void)acp_session_close(talk->acp, answer->session, TALK_CLOSE_MS); /* too late */
        break;
    case ACP_CALL_SET_MODE:
    case ACP_CALL_SET_OPTION:
        talk_setting_answer(host, answer);
        if (waited_for && talk->phase == TALK_SETS)
            talk_set_up(host);
        break;
    case ACP_CALL_CLOSE:
    case ACP_CALL_LIST:
    case ACP_CALL_PROMPT:
    case ACP_CALL_AUTHENTICATE:
    default:
        break;
    }
}
