#include "host/talk_terminals.h"

#include "base/path.h"
#include "base/str.h"
#include "core/env.h"
#include "wire/rpc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ID_MAX = 32,
    OUTPUT_DEFAULT = 1 << 20,
    OUTPUT_MAX = 4 << 20,
    CHUNK = 64 * 1024,
    ROUNDS = 16, /* chunks at once */
    WORDS_MAX = 4096, /* arguments, variables */
};

struct terminal_child {
    char id[ID_MAX];
    char *session;
    char *create; /* ticket of terminal/create, until it is answered */
    char **waiting; /* those of terminal/wait_for_exit */
    struct keeper keeper; /* fd -1: it has gone */
    int out; /* -1: closed */
    struct str text;
    size_t limit;
    bool truncated;
    bool ended;
    int status;
    bool released; /* nobody can name it any more */
};

/* Output of one that was released. */
struct kept {
    char id[ID_MAX];
    char *text;
};

struct talk_terminals {
    const struct talk_place *place;
    char *const *env;
    struct keeper_times times;
    struct terminal_child *children[TALK_TERMINALS_MAX];
    size_t count;
    int64_t last; /* number of the newest */
    int64_t ended; /* how many have, or were released */
    struct kept kept[TALK_TERMINALS_KEPT]; /* the newest of them at kept_count - 1, round about */
    size_t kept_count;
};

static const struct keeper_times at_once = {0, 0};

struct talk_terminals *talk_terminals_new(const struct talk_place *place, char *const *env,
                                          struct keeper_times times)
{
    struct talk_terminals *terminals = mem_alloc(sizeof *terminals);

    terminals->place = place;
    terminals->env = env;
    terminals->times = times;
    return terminals;
}

static void free_child(struct terminal_child *child)
{
    if (child->keeper.fd != -1)
        (void)close(child->keeper.fd); /* which ends it */
    fd_closep(&child->out);
    free(child->session);
    free(child->create);
    strv_free(child->waiting);
    str_free(&child->text);
    free(child);
}

void talk_terminals_free(struct talk_terminals *terminals)
{
    if (terminals == NULL)
        return;
    for (size_t i = 0; i < terminals->count; i++) {
        keeper_end(&terminals->children[i]->keeper, at_once, 0);
        free_child(terminals->children[i]);
    }
    for (size_t i = 0; i < TALK_TERMINALS_KEPT; i++)
        free(terminals->kept[i].text);
    free(terminals);
}

static struct terminal_child *find(const struct talk_terminals *terminals, const char *session,
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

/* Where the newest bytes that are within the limit begin with a whole character. */
static size_t find_cut(const struct str *text, size_t limit)
{
    size_t cut = text->len > limit ? text->len - limit : 0;

    while (cut > 0 && cut < text->len && ((unsigned char)text->data[cut] & 0xC0) == 0x80)
        cut++;
    return cut;
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

/* Reads once; false: nothing is there now. */
static bool read_output(struct terminal_child *child)
{
    static char chunk[CHUNK];
    ssize_t n = child->out != -1 ? read(child->out, chunk, sizeof chunk) : -1;

    if (n == -1)
        return child->out != -1 && errno == EINTR;
    if (n == 0) {
        fd_closep(&child->out);
        child->out = -1;
        return false;
    }
    for (char *nul = chunk; (nul = memchr(nul, '\0', (size_t)(chunk + n - nul))) != NULL;)
        *nul = '?'; /* no text may hold one */
    str_addn(&child->text, chunk, (size_t)n);
    if (child->text.len > 2 * child->limit + CHUNK) /* not a move for each chunk */
        trim(child);
    return true;
}

const char *talk_terminals_output(const struct talk_terminals *terminals, const char *id)
{
    struct terminal_child *child = find(terminals, NULL, id);

    for (size_t i = 0; child == NULL && i < TALK_TERMINALS_KEPT; i++)
        if (terminals->kept[i].text != NULL && strcmp(terminals->kept[i].id, id) == 0)
            return terminals->kept[i].text;
    if (child == NULL)
        return NULL;
    trim(child);
    return str_text(&child->text);
}

int64_t talk_terminals_ended(const struct talk_terminals *terminals)
{
    return terminals->ended;
}

static void keep_output(struct talk_terminals *terminals, struct terminal_child *child)
{
    struct kept *kept = &terminals->kept[terminals->kept_count++ % TALK_TERMINALS_KEPT];
    size_t cut;

    for (int i = 0; i < ROUNDS && read_output(child); i++)
        ;
    cut = find_cut(&child->text, TALK_TERMINALS_TAIL);
    free(kept->text);
    kept->text = mem_dup(str_text(&child->text) + cut);
    memcpy(kept->id, child->id, sizeof kept->id);
}

/* ---- answers */

static void put_status(struct json_out *out, const struct terminal_child *child)
{
    const char *name = WIFSIGNALED(child->status) ? sigabbrev_np(WTERMSIG(child->status)) : NULL;
    char text[32];

    if (WIFEXITED(child->status))
        json_put_int(out, "exitCode", WEXITSTATUS(child->status));
    else
        json_put(out, "exitCode", NULL);
    (void)snprintf(text, sizeof text, "SIG%s", name != NULL ? name : "?");
    json_put(out, "signal", WIFSIGNALED(child->status) ? text : NULL);
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
    json_open(&out, NULL, '{');
    json_put(&out, "terminalId", child->id);
    json_close(&out, '}');
    if (acp != NULL && why == NULL)
        acp_answer_request(acp, child->create, result.data);
    else if (acp != NULL)
        acp_refuse(acp, child->create, RPC_INTERNAL_ERROR, why);
    free(child->create);
    child->create = NULL;
}

/* ---- terminal/create */

/* What a program is started with. */
struct program {
    char **argv, **env;
    char *path;
    int cwd; /* -1: the present directory */
};

static void program_free(struct program *program)
{
    strv_free(program->argv);
    strv_free(program->env);
    free(program->path);
    fd_closep(&program->cwd);
}
#define _cleanup_program_ __attribute__((cleanup(program_free)))

/* args; NULL, or what is wrong. */
static const char *read_words(const struct json *params, struct program *program)
{
    const struct json *args = json_get(params, "args");
    const char *command = json_get_text(params, "command");
    size_t count = 0;

    if (command == NULL || *command == '\0')
        return "command is missing";
    strv_push(&program->argv, command);
    for (const struct json *it = json_first(args); it != NULL; it = json_next(it)) {
        if (json_text(it) == NULL || count++ == WORDS_MAX)
            return "args is no list of text, or too long";
        strv_push(&program->argv, json_text(it));
    }
    return NULL;
}

/* The host's environment and what the agent adds; the variables of mas stay. */
static const char *read_env(const struct talk_terminals *terminals, const struct json *params,
                            struct program *program)
{
    size_t count = 0;

    for (size_t i = 0; terminals->env != NULL && terminals->env[i] != NULL; i++)
        strv_push(&program->env, terminals->env[i]);
    for (const struct json *it = json_first(json_get(params, "env")); it != NULL;
         it = json_next(it)) {
        const char *name = json_get_text(it, "name");
        const char *value = json_get_text(it, "value");

        if (name == NULL || value == NULL || !env_is_name(name) || count++ == WORDS_MAX)
            return "env is no list of names and values, or too long";
        if (!str_starts(name, "MAS_"))
            env_put(&program->env, name, value);
    }
    return NULL;
}

static const char *open_cwd(const struct talk_terminals *terminals, const struct json *params,
                            struct program *program)
{
    const char *path = json_get_text(params, "cwd");
    const struct talk_root *root = NULL;
    const char *rel;

    if (path == NULL)
        return NULL;
    rel = talk_place_find(terminals->place, path, &root);
    if (rel == NULL)
        return "cwd is not in the workspace";
    program->cwd = path_open_beneath(root->dir, rel, O_RDONLY | O_DIRECTORY);
    if (program->cwd == -1)
        return "cwd cannot be entered";
    env_put(&program->env, "PWD", path);
    return NULL;
}

/* The program, or the shell for what is no program but a line. */
static const char *find_program(struct program *program)
{
    const char *search = env_get(program->env, "PATH");
    int dir = program->cwd != -1 ? program->cwd : AT_FDCWD;

    program->path = path_find_program(program->argv[0], search, dir);
    if (program->path == NULL && program->argv[1] == NULL &&
        strpbrk(program->argv[0], " \t\n;&|<>()$`\"'*?") != NULL) {
        char **line = NULL;

        strv_push(&line, "sh");
        strv_push(&line, "-c");
        strv_push(&line, program->argv[0]);
        strv_free(program->argv);
        program->argv = line;
        program->path = path_find_program("sh", search, dir);
    }
    if (program->path == NULL)
        return "there is no such program";
    return NULL;
}

static size_t limit_of(const struct json *params)
{
    int64_t limit = json_int(json_get(params, "outputByteLimit"), OUTPUT_DEFAULT);

    return limit < 0 ? OUTPUT_DEFAULT : limit > OUTPUT_MAX ? OUTPUT_MAX : (size_t)limit;
}

/* Starts it; *ret_out is where its output comes from. */
static int launch(const struct talk_terminals *terminals, const struct program *program,
                  struct keeper *ret, int *ret_out, struct err *err)
{
    int out[2] = {-1, -1};
    struct keeper_spec spec = {
        .program = program->path,
        .argv = program->argv,
        .env = program->env,
        .cwd = program->cwd != -1 ? &program->cwd : NULL,
        .times = terminals->times,
        .piped = true,
    };

    spec.pipes[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (spec.pipes[0] == -1 || pipe2(out, O_CLOEXEC) == -1) {
        (void)err_errno(err, "cannot make a pipe");
        fd_closep(&spec.pipes[0]);
        return -1;
    }
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    spec.pipes[1] = out[1];
    spec.pipes[2] = fcntl(out[1], F_DUPFD_CLOEXEC, 3);
    if (keeper_start(&spec, -1, ret, err) == -1) {
        (void)close(out[0]);
        return -1;
    }
    *ret_out = out[0];
    return 0;
}

static const char *prepare(const struct talk_terminals *terminals, const struct json *params,
                           struct program *program)
{
    const char *wrong = read_words(params, program);

    if (wrong == NULL)
        wrong = read_env(terminals, params, program);
    if (wrong == NULL)
        wrong = open_cwd(terminals, params, program);
    return wrong != NULL ? wrong : find_program(program);
}

static void serve_create(struct talk_terminals *terminals, struct acp *acp,
                         const struct acp_request *request)
{
    _cleanup_program_ struct program program = {.cwd = -1};
    struct keeper keeper = {.fd = -1};
    struct terminal_child *child;
    struct err err = ERR_INIT;
    const char *wrong = prepare(terminals, request->params, &program);
    int out = -1;

    if (wrong == NULL && terminals->count == TALK_TERMINALS_MAX)
        wrong = "too many programs run; release one";
    if (wrong == NULL && launch(terminals, &program, &keeper, &out, &err) == -1)
        wrong = err.text;
    if (wrong != NULL) {
        acp_refuse(acp, request->ticket, RPC_INVALID_PARAMS, wrong);
        return;
    }
    child = mem_alloc(sizeof *child);
    child->session = mem_dup(request->session);
    child->create = mem_dup(request->ticket);
    child->keeper = keeper;
    child->out = out;
    child->limit = limit_of(request->params);
    (void)snprintf(child->id, sizeof child->id, "term-%lld", (long long)++terminals->last);
    terminals->children[terminals->count++] = child;
}

/* ---- the others */

static void serve_output(struct talk_terminals *terminals, struct terminal_child *child,
                         struct acp *acp, const char *ticket)
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

static void serve_wait(struct talk_terminals *terminals, struct terminal_child *child,
                       struct acp *acp, const char *ticket)
{
    (void)terminals;
    strv_push(&child->waiting, ticket);
    if (child->ended)
        answer_waiting(child, acp);
}

static void end_child(const struct talk_terminals *terminals, const struct terminal_child *child)
{
    struct keeper_times times = {.terminate_ms = terminals->times.terminate_ms};

    keeper_end(&child->keeper, times, 0);
}

static void serve_kill(struct talk_terminals *terminals, struct terminal_child *child,
                       struct acp *acp, const char *ticket)
{
    end_child(terminals, child);
    acp_answer_request(acp, ticket, "{}");
}

/* What is released stays until its keeper has gone. */
static void release(struct talk_terminals *terminals, struct terminal_child *child)
{
    if (child->released)
        return;
    child->released = true;
    terminals->ended++;
    keep_output(terminals, child);
    end_child(terminals, child);
}

static void serve_release(struct talk_terminals *terminals, struct terminal_child *child,
                          struct acp *acp, const char *ticket)
{
    for (size_t i = 0; i < strv_len(child->waiting); i++)
        acp_refuse(acp, child->waiting[i], RPC_INVALID_PARAMS, "the terminal was released");
    strv_free(child->waiting);
    child->waiting = NULL;
    release(terminals, child);
    acp_answer_request(acp, ticket, "{}");
}

static void drop_gone(struct talk_terminals *terminals)
{
    size_t kept = 0;

    for (size_t i = 0; i < terminals->count; i++) {
        struct terminal_child *child = terminals->children[i];

        if (child->released && child->keeper.fd == -1)
            free_child(child);
        else
            terminals->children[kept++] = child;
    }
    terminals->count = kept;
}

bool talk_terminals_serve(struct talk_terminals *terminals, struct acp *acp,
                          const struct acp_request *request)
{
    static const struct {
        const char *method;
        void (*serve)(struct talk_terminals *terminals, struct terminal_child *child,
                      struct acp *acp, const char *ticket);
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

void talk_terminals_end(struct talk_terminals *terminals, const char *session)
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

size_t talk_terminals_poll(const struct talk_terminals *terminals,
                           struct pollfd fds[TALK_TERMINALS_POLL_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < terminals->count; i++) {
        const struct terminal_child *child = terminals->children[i];

        if (child->keeper.fd != -1)
            fds[count++] = (struct pollfd){.fd = child->keeper.fd, .events = POLLIN};
        if (child->out != -1)
            fds[count++] = (struct pollfd){.fd = child->out, .events = POLLIN};
    }
    return count;
}

/* It has come to its end, or its keeper has without a word. */
static void take_end(struct terminal_child *child, struct acp *acp, int status)
{
    enum { MOST = OUTPUT_MAX / CHUNK }; /* what it left in the pipe */

    if (child->ended)
        return;
    for (int i = 0; i < MOST && read_output(child); i++)
        ;
    child->ended = true;
    child->status = status;
    answer_waiting(child, acp);
}

/* Takes one report; false when there is none. */
static bool take_report(struct talk_terminals *terminals, struct terminal_child *child,
                        struct acp *acp)
{
    struct keeper_report report;

    keeper_read(&child->keeper, &report);
    switch (report.news) {
    case KEEPER_RUNS:
        answer_create(child, acp, NULL);
        break;
    case KEEPER_FAILED:
        answer_create(child, acp, strerror(report.status));
        child->released = true;
        break;
    case KEEPER_ENDED:
        take_end(child, acp, report.status);
        terminals->ended++;
        break;
    case KEEPER_GONE:
        answer_create(child, acp, "its keeper has ended");
        take_end(child, acp, SIGKILL); /* as a status: killed */
        fd_closep(&child->out); /* nobody is left who writes */
        child->out = -1;
        return false;
    case KEEPER_NOTHING:
        return false;
    case KEEPER_CLEAR:
    default:
        break;
    }
    return true;
}

void talk_terminals_read(struct talk_terminals *terminals, struct acp *acp)
{
    for (size_t i = 0; i < terminals->count; i++) {
        struct terminal_child *child = terminals->children[i];

        for (int round = 0; round < ROUNDS && read_output(child); round++)
            ;
        while (child->keeper.fd != -1 && take_report(terminals, child, acp))
            ;
    }
    drop_gone(terminals);
}
