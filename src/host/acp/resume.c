/*
 * A process initializes the protocol, and gets its session by the first method that works: resume,
 * load, new. A session that came back is trusted only once a turn in it has ended well; if its
 * first prompt fails, the prompt goes back into the queue and the next method is tried. The store
 * counts what has worked and failed, so that a method that keeps failing is skipped.
 */

#include "host/acp/conversation.h"

#include "base/time.h"
#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "host/talk/turn.h"
#include "host/talk/usage.h"
#include "host/unwritten.h"
#include "memory/starts.h"
#include "protocol/rpc.h"

enum {
    SETTLE_MS = 150, /* so much silence says that a loaded session has been replayed */
    EMPTY_MS = 5000, /* so much, that it has nothing to replay */
    ERROR_WORDS = 1500, /* bytes of an agent's own words in an error */
    SETTLE_MAX_MS = 60000, /* a replay that takes longer is over */
};

/* ---- what is known of the history */

/* Returns true if there is something that a new session has to be told. */
static bool has_history(struct host *host)
{
    const struct conversation *conversation = host->conversation;
    const struct store_budget budget = memory_budget(host);
    const struct conversation_memory *memory = &conversation->talk.memory;
    _cleanup_str_ struct str history = STR_INIT;
    struct err err = ERR_INIT;

    return memory->store != NULL &&
           store_injection(memory->store, memory->place.query, queue_first_number(host->talk),
                           &budget, &history, &err) == 0 &&
           history.len > 0;
}

/* Returns the first of the newest prompts whose turns were cut off, because some agents forget
 * those; else 0. */
static int64_t find_cut_off(struct host *host)
{
    const struct conversation *conversation = host->conversation;
    const struct conversation_memory *memory = &conversation->talk.memory;
    struct err err = ERR_INIT;
    int64_t number = 0;

    if (memory->store == NULL || store_cut_off(memory->store, memory->place.query,
                                               queue_first_number(host->talk), &number, &err) == -1)
        return 0;
    return number;
}

static struct unwritten_write session_write(const struct host *host, const char *note)
{
    const struct conversation *conversation = host->conversation;
    const struct agent_link *link = &conversation->link;
    const struct store_agent_session session = {
        .id = host->talk->session,
        .home = {.directory = link->cwd, .machine = link->machine},
        .program = link->program,
        .outcome = conversation->resume.outcome,
        .note = note,
    };

    return memory_session_write(host, &session);
}

static void keep_session(struct host *host)
{
    const struct unwritten_write write = session_write(host, host->conversation->resume.notes);

    (void)memory_write(host, &write);
}

void resume_keep_session(struct host *host, const char *note)
{
    const struct unwritten_write write = session_write(host, note);
    struct err err = ERR_INIT;

    (void)unwritten_write(host, host->talk->memory.store, &write, &err);
    if (err.code != MAS_OK) /* not memory_failed(), which has called this */
        host_log(host, err.text);
}

/* Stores how the agent came back, so that the history shows it. */
static void store_notes(struct host *host, const char *words)
{
    const struct store_message note = {
        .role = ROLE_NOTE, .state = MESSAGE_DONE, .text = words, .len = strlen(words)};

    (void)memory_add(host, &note);
}

void resume_forget(struct resume *resume)
{
    free(resume->notes);
    free(resume->lost);
    free(resume->copy);
    resume->notes = resume->lost = resume->copy = NULL;
    str_free(&resume->summary);
    resume->prime = resume->proved = false;
    resume->failed = 0;
}

/* ---- sessions */

/* Makes the settings of the present session, and then lets it take prompts. */
static void join(struct host *host, enum store_outcome outcome)
{
    struct conversation *conversation = host->conversation;
    struct resume *resume = &conversation->resume;
    struct store_place *place = &conversation->talk.memory.place;
    const char *name = store_outcome_name(outcome);
    bool has_store = conversation->talk.memory.store != NULL; /* else nothing is there to be lost */
    struct client_event event;
    bool is_new = outcome == OUTCOME_FRESH || outcome == OUTCOME_INJECTED;

    resume->outcome = outcome;
    resume->proved = false;
    if (!conversation->link.counted)
        starts_count(&host->root, outcome);
    conversation->link.counted =
        true; /* later sessions of the process are not those of its start */
    if (resume->failed == 0) { /* else the previous session stays until this one is known to work */
        keep_session(host);
        if (outcome == OUTCOME_INJECTED)
            place->injected = false; /* until a turn has ended well */
    }
    usage_joined(host, is_new);
    resume->prime = is_new || !place->injected || place->is_new;
    resume->remind = is_new ? 0 : find_cut_off(host);
    resume->ignores = outcome == OUTCOME_LOADED;
    _cleanup_free_ char *words =
        mem_printf("%s %s%s%s", has_store ? "conversation" : "not in " STORE_FILE ":", name,
                   resume->notes != NULL ? ": " : "", resume->notes != NULL ? resume->notes : "");
    host_log(host, words);
    if (resume->notes != NULL || conversation->talk.sleep.woken)
        store_notes(host, words);
    conversation->talk.sleep.woken = false;
    event_open(&event, "continuity");
    json_put(&event.out, "outcome", name);
    json_put(&event.out, "note", resume->notes);
    event_tell(host, &event, NULL, 0,
               conversation->talk.queue.count > 0 ? conversation->talk.queue.prompts[0].number : 0);
    if (outcome != OUTCOME_FRESH)
        chat_print(host, "note", words, strlen(words));
    settings_begin(host);
}

/* ---- the methods */

/* Returns the name under which the store and the notes know a method. */
static const char *method_name(enum resume_method method)
{
    return method == METHOD_RESUME ? "resume" : "load";
}

static void add_note(struct resume *resume, const char *method, const char *what, const char *why)
{
    char *notes = mem_printf("%s%s%s %s: %s", resume->notes != NULL ? resume->notes : "",
                             resume->notes != NULL ? "; " : "", method, what, why);
    free(resume->notes);
    resume->notes = notes;
}

static int write_method(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_method_tried(store, write->text[0], write->text[1], write->text[2], err);
}

/* Records that a method has worked (why NULL) or failed. */
static void count_method(struct host *host, enum resume_method method, const char *why)
{
    const char *program = host->conversation->link.program;
    const struct unwritten_write write = {
        .run = write_method,
        .text = {program, method_name(method), why},
        .len = strlen(program),
    };

    (void)memory_write(host, &write);
}

/* Returns true if there is a session to bring back, the agent has the method (`has`), and the
 * method has not failed too often. */
static bool may_try(struct conversation *conversation, enum resume_method method, bool has)
{
    if (!has || conversation->talk.session == NULL ||
        (conversation->resume.failed & 1U << method) != 0)
        return false;
    _cleanup_free_ char *why = store_method_skip(conversation->talk.memory.store,
                                                 conversation->link.program, method_name(method));
    if (why != NULL)
        add_note(&conversation->resume, method_name(method), "was not tried", why);
    return why == NULL;
}

/* Asks for a session by this method, or by the next one that may be tried. */
static void try_method(struct host *host, enum resume_method method)
{
    struct conversation *conversation = host->conversation;
    struct agent_link *link = &conversation->link;
    const struct acp_info *info = acp_info(link->acp);
    int ms = host->preset->resume_ms;

    if (conversation->talk.memory.store == NULL) /* then no session is known */
        method = METHOD_NEW;
    opening_set(host);
    if (method == METHOD_RESUME && may_try(conversation, METHOD_RESUME, info->resume)) {
        int64_t serial =
            acp_session_resume(link->acp, host->talk->session, link->cwd, link->tools, ms);
        link_enter(host, PHASE_RESUMES, serial, -1);
        return;
    }
    if (method <= METHOD_LOAD && may_try(conversation, METHOD_LOAD, info->load)) {
        int64_t serial =
            acp_session_load(link->acp, host->talk->session, link->cwd, link->tools, ms);
        conversation->resume.replayed = 0;
        link_enter(host, PHASE_LOADS, serial, -1);
        return;
    }
    if (conversation->resume.failed != 0)
        opening_leave(host); /* it came back, and is open */
    summary_forget(host);
    if (info->fork)
        conversation->resume.lost = host->talk->session;
    else
        free(host->talk->session);
    host->talk->session = NULL;
    opening_ask(host);
}

void resume_begin(struct host *host)
{
    struct conversation *conversation = host->conversation;
    struct agent_link *link = &conversation->link;
    struct resume *resume = &conversation->resume;
    const struct store_home home = {.directory = link->cwd, .machine = link->machine};
    const struct conversation_memory *memory = &conversation->talk.memory;
    struct err err = ERR_INIT;
    const char *why = NULL;
    char *id = NULL;

    free(resume->notes);
    resume->notes = NULL;
    resume->summed = false;
    str_free(&resume->summary);
    summary_forget(host);
    if (memory->store == NULL)
        (void)memory_need(host, &err);
    if (memory->store != NULL)
        (void)memory_kept(
            host, store_last_session(memory->store, memory->place.query, &home, &id, &why, &err),
            &err);
    if (why != NULL)
        add_note(resume, "its session", "was not used", why);
    free(host->talk->session);
    host->talk->session = id;
    resume->failed = 0;
    try_method(host, METHOD_RESUME);
}

/* ---- the first turn of a session that came back */

/* Returns the method by which the present session came back, as long as it is not proved;
 * METHOD_NEW: there is nothing to prove. */
static enum resume_method unproved_method(const struct resume *resume)
{
    if (resume->proved)
        return METHOD_NEW;
    return resume->outcome == OUTCOME_RESUMED  ? METHOD_RESUME
           : resume->outcome == OUTCOME_LOADED ? METHOD_LOAD
                                               : METHOD_NEW;
}

void resume_prove(struct host *host)
{
    struct resume *resume = &host->conversation->resume;
    enum resume_method method = unproved_method(resume);

    resume->prime = resume->ignores = false; /* it knows the history */
    resume->remind = 0;
    if (resume->proved)
        return;
    resume->proved = true;
    if (resume->failed != 0)
        keep_session(host);
    for (enum resume_method m = METHOD_RESUME; m < METHOD_NEW; m++)
        if ((resume->failed & 1U << m) != 0)
            count_method(host, m, "its session failed the first prompt");
    if (method != METHOD_NEW)
        count_method(host, method, NULL);
    resume->failed = 0;
}

bool resume_by_next_method(struct host *host, const char *why)
{
    struct conversation *conversation = host->conversation;
    enum resume_method method = unproved_method(&conversation->resume);

    if (method == METHOD_NEW || conversation->talk.turn.heard ||
        conversation->talk.memory.store == NULL)
        return false;
    add_note(&conversation->resume, method_name(method), "failed its first prompt", why);
    conversation->resume.failed |= 1U << method;
    turn_put_back(host);
    try_method(host, method + 1);
    return true;
}

void resume_again(struct host *host)
{
    if (host->conversation->resume.failed == 0)
        return;
    opening_leave(host);
    resume_begin(host);
}

void resume_died(struct host *host, const char *why)
{
    enum resume_method method = unproved_method(&host->conversation->resume);

    if (method != METHOD_NEW)
        count_method(host, method, why);
}

/* ---- answers */

void resume_trouble(struct host *host, bool needs_login, const char *why)
{
    struct conversation *conversation = host->conversation;
    _cleanup_str_ struct str words = STR_INIT;

    if (needs_login)
        str_add(&words, "the agent needs a login: ");
    str_addn(&words, why, str_fit(why, ERROR_WORDS));
    if (needs_login)
        link_add_login(host, &words);
    link_enter(host, PHASE_STUCK, 0, -1);
    conversation->link.needs_login = needs_login;
    link_keep_trouble(&conversation->link, str_text(&words));
    host_log(host, str_text(&words));
    aside_fail_all(host, str_text(&words));
    kept_fail(host, str_text(&words));
    if (conversation->talk.turn.on)
        turn_end(host, HOST_END_FAILED, needs_login ? ACP_NEEDS_LOGIN : 0, str_text(&words));
    else
        memory_say(host, false, "%s", str_text(&words));
    queue_fail(host, HOST_END_FAILED, str_text(&words));
}

/* Ends an agent that cannot be used. `fmt` has one %s, for why. */
static void give_up(struct host *host, const char *fmt, const char *why)
{
    _cleanup_str_ struct str words = STR_INIT;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    str_addf(&words, fmt, why);
#pragma GCC diagnostic pop
    link_add_last_words(host, &words);
    resume_trouble(host, false, words.data);
    child_end(host, child_times(host), 0, false);
}

/* Handles the answer of an agent that needs a login. Returns false if it needs none. */
static bool needs_login(struct host *host, const struct acp_answer *answer)
{
    if (answer->ok || answer->code != ACP_NEEDS_LOGIN)
        return false;
    resume_trouble(host, true, answer->message != NULL ? answer->message : "");
    return true;
}

static void handle_initialize(struct host *host, const struct acp_answer *answer)
{
    struct agent_link *link = &host->conversation->link;
    const struct acp_info *info = acp_info(link->acp);
    char why[256];

    if (needs_login(host, answer))
        return;
    if (!answer->ok) {
        (void)acp_why(answer, why, sizeof why);
        if (answer->code != ACP_TIMED_OUT && child_retry(host, time_monotonic_ms()))
            host_log(host, why);
        else
            give_up(host, "the agent did not initialize the protocol: %s", why);
        return;
    }
    if (info->protocol != 1) {
        (void)snprintf(why, sizeof why, "%lld", (long long)info->protocol);
        give_up(host, "the agent speaks protocol version %s, but mas speaks version 1", why);
        return;
    }
    free(link->program);
    link->program = mem_printf("%s%s%s", info->name[0] != '\0' ? info->name : host->argv[0],
                               info->version[0] != '\0' ? " " : "", info->version);
    link->counted = false;
    offered_learn(host);
    resume_begin(host);
}

/* Returns true if an error says something about the method. It does not if the session does not
 * exist, which agents say in their own words in errors of any kind, or if a busy machine was too
 * slow. */
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

/* Handles the answer to session/resume or session/load. */
static void handle_resumed(struct host *host, const struct acp_answer *answer)
{
    struct conversation *conversation = host->conversation;
    enum resume_method method =
        conversation->link.phase.now == PHASE_RESUMES ? METHOD_RESUME : METHOD_LOAD;
    int64_t now = time_monotonic_ms();
    char buf[256];

    if (needs_login(host, answer))
        return;
    if (answer->ok) {
        offered_parse_modes(host, answer->mode, answer->modes, answer->mode_count);
        offered_parse_options(host, answer->options);
        if (method == METHOD_RESUME) {
            join(host, OUTCOME_RESUMED);
            return;
        }
        /* the replay may come before the answer or after it */
        conversation->resume.quiet_since = now;
        link_enter(host, PHASE_SETTLES, 0, now + SETTLE_MAX_MS);
        return;
    }
    const char *why = acp_why(answer, buf, sizeof buf);
    add_note(&conversation->resume, method_name(method), "failed", why);
    if (counts(answer))
        count_method(host, method, why);
    try_method(host, method + 1);
}

/* Takes a session that shows nothing again, though something was said, for one that knows nothing.
 */
int64_t resume_tick(struct host *host, int64_t now)
{
    static const char why[] = "the session came back empty";
    struct conversation *conversation = host->conversation;
    int64_t limit = conversation->link.phase.until;
    int64_t quiet = conversation->resume.quiet_since + SETTLE_MS;

    if (conversation->link.phase.now != PHASE_SETTLES)
        return -1;
    if (now < quiet && now < limit)
        return quiet;
    bool empty = conversation->resume.replayed == 0 && has_history(host);
    quiet += EMPTY_MS - SETTLE_MS;
    if (empty && now < quiet && now < limit)
        return quiet;
    if (empty) {
        add_note(&conversation->resume, "load", "failed", why);
        count_method(host, METHOD_LOAD, why);
    }
    join(host, empty ? OUTCOME_INJECTED : OUTCOME_LOADED);
    conversation->resume.ignores = true; /* what it shows now was said before */
    return -1;
}

static void handle_new(struct host *host, const struct acp_answer *answer)
{
    char why[256];

    if (needs_login(host, answer))
        return;
    if (!answer->ok && opening_without_role(host)) {
        opening_ask(host);
        return;
    }
    if (!answer->ok || answer->session == NULL) {
        give_up(host, "the agent created no session: %s",
                answer->ok ? "it returned no id" : acp_why(answer, why, sizeof why));
        return;
    }
    host->talk->session = mem_dup(answer->session);
    if (summary_begin(host))
        return;
    offered_parse_modes(host, answer->mode, answer->modes, answer->mode_count);
    offered_parse_options(host, answer->options);
    join(host, has_history(host) ? OUTCOME_INJECTED : OUTCOME_FRESH);
}

void resume_answer(struct host *host, const struct acp_answer *answer)
{
    const struct agent_link *link = &host->conversation->link;
    enum phase phase = link->phase.now;
    bool waited_for = phase_waits_for(&link->phase, phase, answer->serial);

    switch (answer->call) {
    case ACP_CALL_INITIALIZE:
        if (waited_for && phase == PHASE_INITIALIZES)
            handle_initialize(host, answer);
        break;
    case ACP_CALL_RESUME:
    case ACP_CALL_LOAD:
        if (waited_for && (phase == PHASE_RESUMES || phase == PHASE_LOADS))
            handle_resumed(host, answer);
        break;
    case ACP_CALL_NEW:
        if (waited_for && phase == PHASE_OPENS)
            handle_new(host, answer);
        else if (answer->ok && answer->session != NULL && acp_info(link->acp)->close)
            (void)acp_session_close(link->acp, answer->session, SESSION_CLOSE_MS); /* too late */
        break;
    case ACP_CALL_SET_MODE:
    case ACP_CALL_SET_OPTION:
        settings_answer(host, answer);
        break;
    case ACP_CALL_CLOSE:
    case ACP_CALL_LIST:
    case ACP_CALL_PROMPT:
    case ACP_CALL_STEER:
    case ACP_CALL_FORK:
    case ACP_CALL_DELETE:
    default:
        break;
    }
}
