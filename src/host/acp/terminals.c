/*
 * The reports of a program's supervisor answer the requests: that it runs, terminal/create; that it
 * has ended, those who wait for that. A released program is told to end, but stays in the list
 * until its supervisor has ended. Output is trimmed to its limit now and then, not with each chunk.
 */

#include "host/acp/terminals.h"

#include "base/utf8.h"
#include "host/acp/program.h"
#include "host/wall.h"
#include "protocol/rpc.h"

enum {
    ID_MAX = 32,
    OUTPUT_DEFAULT = 1 << 20,
    OUTPUT_MAX = 4 << 20,
    CHUNK = 64 * 1024,
    ROUNDS = 16, /* chunks that are read at once */
};

struct terminal_child {
    char id[ID_MAX];
    char *session;
    char *create; /* ticket of terminal/create, until it is answered */
    char **waiting; /* tickets of terminal/wait_for_exit */
    struct supervisor supervisor; /* fd -1: it has ended */
    int out; /* -1: closed */
    struct str text;
    size_t limit;
    bool truncated;
    bool ended;
    int status;
    bool released; /* no request can name it any more */
};

/* The output of a program that was released. */
struct kept {
    char id[ID_MAX];
    char *text;
};

struct terminals {
    const struct work_place *place;
    char *const *env;
    struct host *host;
    struct supervisor_times times;
    const struct proc_bounds *bounds;
    struct terminal_child *children[TERMINALS_MAX];
    size_t count;
    bool paused; /* see terminals_pause() */
    int64_t last; /* number of the newest program */
    int64_t ended; /* programs that have ended or were released */
    struct kept kept[TERMINALS_KEPT]; /* a ring; the newest is at kept_count - 1 */
    size_t kept_count;
};

static const struct supervisor_times at_once = {0, 0};

struct terminals *terminals_new(const struct work_place *place, char *const *env,
                                struct supervisor_times times, const struct proc_bounds *bounds,
                                struct host *host)
{
    struct terminals *terminals = mem_alloc(sizeof *terminals);

    terminals->place = place;
    terminals->env = env;
    terminals->host = host;
    terminals->times = times;
    terminals->bounds = bounds;
    return terminals;
}

static void free_child(struct terminal_child *child)
{
    if (child->supervisor.fd != -1)
        (void)close(child->supervisor.fd); /* the supervisor ends the program then */
    fd_closep(&child->out);
    free(child->session);
    free(child->create);
    strv_free(child->waiting);
    str_free(&child->text);
    free(child);
}

void terminals_free(struct terminals *terminals)
{
    if (terminals == NULL)
        return;
    for (size_t i = 0; i < terminals->count; i++) {
        supervisor_end(&terminals->children[i]->supervisor, at_once, 0);
        free_child(terminals->children[i]);
    }
    for (size_t i = 0; i < TERMINALS_KEPT; i++)
        free(terminals->kept[i].text);
    free(terminals);
}

void terminals_pause(struct terminals *terminals, bool on)
{
    terminals->paused = on;
    for (size_t i = 0; i < terminals->count; i++)
        supervisor_pause(&terminals->children[i]->supervisor, on);
}

static struct terminal_child *find(const struct terminals *terminals, const char *session,
                                   const char *id)
{
    for (size_t i = 0; id != NULL && i < terminals->count; i++) {
        struct terminal_child *child = terminals->children[i];

        if (!child->released && strcmp(child->id, id) == 0 &&
            (session == NULL || strcmp(child->session, session) == 0))
            return child;
    }
    return NULL;
}

/* ---- output */

/* Returns where the newest bytes within the limit begin, at a whole character. */
static size_t find_cut(const struct str *text, size_t limit)
{
    size_t cut = text->len > limit ? text->len - limit : 0;

    return cut > 0 ? utf8_next(text->data, text->len, cut - 1) : 0;
}

static void trim(struct terminal_child *child)
{
    struct str *text = &child->text;
    size_t cut = find_cut(text, child->limit);

    if (cut == 0)
        return;
    child->truncated = true;
    memmove(text->data, text->data + cut, text->len - cut + 1);
    text->len -= cut;
}

/* Reads once. Returns false if nothing is there now. */
static bool read_output(struct terminal_child *child)
{
    static char chunk[CHUNK];
    ssize_t n = child->out != -1 ? read(child->out, chunk, sizeof chunk) : -1;

    if (n == -1)
        return child->out != -1 && errno == EINTR;
    if (n == 0) {
        fd_closep(&child->out);
        return false;
    }
    for (char *nul = chunk; (nul = memchr(nul, '\0', (size_t)(chunk + n - nul))) != NULL;)
        *nul = '?'; /* JSON text has none */
    str_addn(&child->text, chunk, (size_t)n);
    if (child->text.len > 2 * child->limit + CHUNK) /* so that not each chunk moves the text */
        trim(child);
    return true;
}

size_t terminals_count(const struct terminals *terminals)
{
    return terminals != NULL ? terminals->count : 0;
}

const char *terminals_output(const struct terminals *terminals, const char *id)
{
    struct terminal_child *child = find(terminals, NULL, id);

    for (size_t i = 0; child == NULL && i < TERMINALS_KEPT; i++)
        if (terminals->kept[i].text != NULL && strcmp(terminals->kept[i].id, id) == 0)
            return terminals->kept[i].text;
    if (child == NULL)
        return NULL;
    trim(child);
    return str_text(&child->text);
}

int64_t terminals_ended(const struct terminals *terminals)
{
    return terminals->ended;
}

static void keep_output(struct terminals *terminals, struct terminal_child *child)
{
    struct kept *kept = &terminals->kept[terminals->kept_count++ % TERMINALS_KEPT];
    size_t cut;

    for (int i = 0; i < ROUNDS && read_output(child); i++)
        ;
    cut = find_cut(&child->text, TERMINALS_TAIL);
    free(kept->text);
    kept->text = mem_dup(str_text(&child->text) + cut);
    memcpy(kept->id, child->id, sizeof kept->id);
}

/* ---- answers */

static void put_status(struct json_out *out, const struct terminal_child *child)
{
    int sig = proc_end_signal(child->status);
    const char *name = sigabbrev_np(sig);
    char text[32];

    if (sig == 0)
        json_put_int(out, "exitCode", proc_exit_code(child->status));
    else
        json_put(out, "exitCode", NULL);
    (void)snprintf(text, sizeof text, "SIG%s", name != NULL ? name : "?");
    json_put(out, "signal", sig != 0 ? text : NULL);
}

static void answer_waiting(struct terminal_child *child, struct acp *acp)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    json_open(&out, NULL, '{');
    put_status(&out, child);
    json_close(&out, '}');
    for (size_t i = 0; acp != NULL && i < strv_len(child->waiting); i++)
        acp_answer_request(acp, child->waiting[i], result.data);
    strv_free(child->waiting);
    child->waiting = NULL;
}

static void answer_create(struct terminal_child *child, struct acp *acp, const char *why)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    if (child->create == NULL)
        return;
    json_put_all(&out, JO(NULL), JT("terminalId", child->id), JOE);
    if (acp != NULL && why == NULL)
        acp_answer_request(acp, child->create, result.data);
    else if (acp != NULL)
        acp_refuse(acp, child->create, RPC_INTERNAL_ERROR, why);
    free(child->create);
    child->create = NULL;
}

/* ---- terminal/create */

static size_t limit_of(const struct json *params)
{
    int64_t limit = json_int(json_get(params, "outputByteLimit"), OUTPUT_DEFAULT);

    return limit < 0 ? OUTPUT_DEFAULT : limit > OUTPUT_MAX ? OUTPUT_MAX : (size_t)limit;
}

static void serve_create(struct terminals *terminals, struct acp *acp,
                         const struct acp_request *request)
{
    _cleanup_program_ struct program program = PROGRAM_INIT;
    struct supervisor supervisor = {.fd = -1};
    struct terminal_child *child;
    struct err err = ERR_INIT;
    bool is_walled = terminals->host != NULL && host_wall_is_up(terminals->host);
    const char *wrong =
        program_read(terminals->place, terminals->env, is_walled, request->params, &program);
    int out = -1;

    if (wrong == NULL && terminals->count == TERMINALS_MAX)
        wrong = "too many programs run; release one";
    if (wrong == NULL && program_launch(terminals->host, &program, terminals->times,
                                        terminals->bounds, &supervisor, &out, &err) == -1)
        wrong = err.text;
    if (wrong != NULL) {
        acp_refuse(acp, request->ticket, RPC_INVALID_PARAMS, wrong);
        return;
    }
    child = mem_alloc(sizeof *child);
    child->session = mem_dup(request->session);
    child->create = mem_dup(request->ticket);
    child->supervisor = supervisor;
    if (terminals->paused)
        supervisor_pause(&supervisor, true);
    child->out = out;
    child->limit = limit_of(request->params);
    (void)snprintf(child->id, sizeof child->id, "term-%lld", (long long)++terminals->last);
    terminals->children[terminals->count++] = child;
}

/* ---- the others */

static void serve_output(struct terminals *terminals, struct terminal_child *child, struct acp *acp,
                         const char *ticket)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    (void)terminals;
    for (int i = 0; i < ROUNDS && read_output(child); i++)
        ;
    trim(child);
    json_open(&out, NULL, '{');
    json_put(&out, "output", str_text(&child->text));
    json_put_bool(&out, "truncated", child->truncated);
    if (child->ended) {
        json_open(&out, "exitStatus", '{');
        put_status(&out, child);
        json_close(&out, '}');
    }
    json_close(&out, '}');
    acp_answer_request(acp, ticket, result.data);
}

static void serve_wait(struct terminals *terminals, struct terminal_child *child, struct acp *acp,
                       const char *ticket)
{
    (void)terminals;
    strv_push(&child->waiting, ticket);
    if (child->ended)
        answer_waiting(child, acp);
}

static void end_child(const struct terminals *terminals, const struct terminal_child *child)
{
    struct supervisor_times times = {.terminate_ms = terminals->times.terminate_ms};

    supervisor_end(&child->supervisor, times, 0);
}

static void serve_kill(struct terminals *terminals, struct terminal_child *child, struct acp *acp,
                       const char *ticket)
{
    end_child(terminals, child);
    acp_answer_request(acp, ticket, "{}");
}

/* Ends a program, and keeps its output. drop_gone() frees it once its supervisor has ended. */
static void release(struct terminals *terminals, struct terminal_child *child)
{
    if (child->released)
        return;
    child->released = true;
    terminals->ended++;
    keep_output(terminals, child);
    end_child(terminals, child);
}

static void serve_release(struct terminals *terminals, struct terminal_child *child,
                          struct acp *acp, const char *ticket)
{
    for (size_t i = 0; i < strv_len(child->waiting); i++)
        acp_refuse(acp, child->waiting[i], RPC_INVALID_PARAMS, "the terminal was released");
    strv_free(child->waiting);
    child->waiting = NULL;
    release(terminals, child);
    acp_answer_request(acp, ticket, "{}");
}

static void drop_gone(struct terminals *terminals)
{
    size_t kept = 0;

    for (size_t i = 0; i < terminals->count; i++) {
        struct terminal_child *child = terminals->children[i];

        if (child->released && child->supervisor.fd == -1)
            free_child(child);
        else
            terminals->children[kept++] = child;
    }
    terminals->count = kept;
}

bool terminals_request(struct terminals *terminals, struct acp *acp,
                       const struct acp_request *request)
{
    static const struct {
        const char *method;
        void (*serve)(struct terminals *terminals, struct terminal_child *child, struct acp *acp,
                      const char *ticket);
    } calls[] = {
        {"terminal/output", serve_output},
        {"terminal/wait_for_exit", serve_wait},
        {"terminal/kill", serve_kill},
        {"terminal/release", serve_release},
    };
    struct terminal_child *child;

    if (strcmp(request->method, "terminal/create") == 0) {
        serve_create(terminals, acp, request);
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (strcmp(request->method, calls[i].method) != 0)
            continue;
        child = find(terminals, request->session, json_get_text(request->params, "terminalId"));
        if (child != NULL)
            calls[i].serve(terminals, child, acp, request->ticket);
        else
            acp_refuse(acp, request->ticket, ACP_NO_SUCH, "there is no such terminal");
        drop_gone(terminals);
        return true;
    }
    return false;
}

void terminals_end(struct terminals *terminals, const char *session)
{
    for (size_t i = 0; i < terminals->count; i++) {
        struct terminal_child *child = terminals->children[i];

        if (session == NULL || strcmp(child->session, session) == 0) {
            strv_free(child->waiting);
            child->waiting = NULL;
            release(terminals, child);
        }
    }
    drop_gone(terminals);
}

/* ---- the loop */

void terminals_want(const struct terminals *terminals, struct loop *loop)
{
    for (size_t i = 0; i < terminals->count; i++) {
        loop_want(loop, terminals->children[i]->supervisor.fd, POLLIN);
        loop_want(loop, terminals->children[i]->out, POLLIN);
    }
}

/* The program has ended, or its supervisor has without a report. */
static void handle_end(struct terminal_child *child, struct acp *acp, int status)
{
    enum { MOST = OUTPUT_MAX / CHUNK }; /* chunks that it left in the pipe */

    if (child->ended)
        return;
    for (int i = 0; i < MOST && read_output(child); i++)
        ;
    child->ended = true;
    child->status = status;
    answer_waiting(child, acp);
}

/* Handles one report. Returns false if there is none. */
static bool handle_report(struct terminals *terminals, struct terminal_child *child,
                          struct acp *acp)
{
    struct supervisor_report report;

    supervisor_read(&child->supervisor, &report);
    switch (report.news) {
    case SUPERVISOR_RUNS:
        answer_create(child, acp, NULL);
        break;
    case SUPERVISOR_FAILED:
        answer_create(child, acp, strerror(report.status));
        child->released = true;
        break;
    case SUPERVISOR_ENDED:
        handle_end(child, acp, report.status);
        terminals->ended++;
        break;
    case SUPERVISOR_GONE:
        answer_create(child, acp, "its supervisor has ended");
        handle_end(child, acp, SIGKILL); /* as a wait status */
        fd_closep(&child->out); /* nobody writes any more */
        return false;
    case SUPERVISOR_NOTHING:
        return false;
    case SUPERVISOR_CLEAR:
    default:
        break;
    }
    return true;
}

bool terminals_serve(struct terminals *terminals, struct loop *loop, struct acp *acp)
{
    bool any = false;

    for (size_t i = 0; i < terminals->count; i++) {
        struct terminal_child *child = terminals->children[i];
        bool reports = loop_got(loop, child->supervisor.fd) != 0;
        bool prints = loop_got(loop, child->out) != 0;

        any = any || reports || prints;
        for (int round = 0; prints && round < ROUNDS && read_output(child); round++)
            ;
        while (reports && child->supervisor.fd != -1 && handle_report(terminals, child, acp))
            ;
    }
    drop_gone(terminals);
    return any;
}
