/*
 * A request is a connection of its own to the host, which is kept until the answer comes or its
 * time is over. One verb at a time runs beside the screen, and its first line is the message. A
 * command that is looked at stops the screen until it has ended; what it prints to be read is
 * caught first and then shown in a pager, which is made to wait for a key.
 */

#include "top/act.h"

#include "base/json.h"
#include "base/time.h"
#include "os/pager.h"
#include "os/path.h"
#include "store/workspace.h"
#include "top/screen.h"

#include <termios.h>

enum {
    VERB_MS = 120000,
    OUTPUT_MAX = 64 * 1024,
    PAGE_MAX = 16 << 20,
    SHOWN_MS = 500, /* a pager that ends earlier has not waited for a person */
};

static void say(struct acts *acts, bool is_error, const char *text)
{
    acts->say(acts->arg, is_error, text);
}

/* ---- requests to hosts */

static void drop(struct acts *acts, size_t i)
{
    host_connection_close(&acts->requests[i].host);
    free(acts->requests[i].done);
    acts->count--;
    memmove(&acts->requests[i], &acts->requests[i + 1],
            (acts->count - i) * sizeof acts->requests[0]);
}

static void ask(struct acts *acts, const struct top_agent *agent, const struct str *head,
                const char *body, char *done)
{
    _cleanup_close_ int dir = workspace_open(acts->root, agent->team->id);
    _cleanup_close_ int run = dir == -1 ? -1 : path_open_dir(dir, WORKSPACE_RUN);
    struct act_request request = {
        .host = HOST_CONNECTION_INIT, .done = done, .until_ms = time_monotonic_ms() + ACT_MS};
    struct err err = ERR_INIT;

    if (acts->count == ACTS_MAX)
        (void)err_set(&err, MAS_CONFLICT, "too many requests wait for an answer");
    else if (host_connection_open(&request.host, run, agent->id, &err) != HOST_PENDING &&
             err.code == MAS_OK)
        (void)err_set(&err, MAS_FAILED, "agent '%s' has no host", agent->id);
    if (err.code != MAS_OK) {
        say(acts, true, err.text);
        free(done);
        return;
    }
    (void)host_connection_ask(&request.host, 1, head->data, body, body != NULL ? strlen(body) : 0);
    acts->requests[acts->count++] = request;
}

void act_permit(struct acts *acts, const struct top_agent *agent, const char *permission,
                const char *option, const char *name)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put(&out, "do", "permit");
    if (permission != NULL && permission[0] != '\0')
        json_put(&out, "permission", permission);
    json_put(&out, "option", option);
    json_close(&out, '}');
    ask(acts, agent, &head, NULL,
        mem_printf("answered %s/%s: %s", agent->team->name, agent->id, name));
}

void act_send(struct acts *acts, const struct top_agent *agent, const char *text)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_put_all(&out, JO(NULL), JT("do", "send"), JB("enter", true), JOE);
    ask(acts, agent, &head, text, mem_printf("sent to %s/%s", agent->team->name, agent->id));
}

void act_see(struct acts *acts, const struct top_agent *agent)
{
    _cleanup_str_ struct str head = STR_INIT;

    if (!agent->told || (attention_of(&agent->status) != ATTENTION_DONE &&
                         attention_of(&agent->status) != ATTENTION_FAILED))
        return;
    str_add(&head, "{\"do\":\"seen\"}");
    ask(acts, agent, &head, NULL, mem_dup(""));
}

struct answering {
    struct acts *acts;
    struct act_request *request;
};

static bool on_answer(const struct frame *frame, const int64_t *asked, void *arg)
{
    const struct answering *to = arg;
    struct err err = ERR_INIT;

    if (asked == NULL)
        return false;
    if (hosts_reply_error(frame->head, &err) == -1)
        say(to->acts, true, err.text);
    else if (to->request->done[0] != '\0')
        say(to->acts, false, to->request->done);
    return true;
}

static void turn_request(struct acts *acts, size_t i, short events, int64_t now)
{
    struct answering to = {acts, &acts->requests[i]};
    struct err err = ERR_INIT;
    enum host_answer answer =
        host_connection_turn(&acts->requests[i].host, events, on_answer, &to, &err);

    if (answer == HOST_PENDING && now < acts->requests[i].until_ms)
        return;
    if (answer == HOST_PENDING)
        say(acts, true, "the host does not answer");
    else if (answer != HOST_ANSWERED)
        say(acts, true, err.text);
    drop(acts, i);
}

/* ---- verbs that run beside the screen */

/* Returns the words that run mas here. */
static char **argv_begin(const struct acts *acts)
{
    char **argv = NULL;

    strv_push(&argv, "mas");
    strv_push(&argv, "--root");
    strv_push(&argv, acts->root->path);
    return argv;
}

void act_verb(struct acts *acts, char *const *words, char *done)
{
    _cleanup_free_ char *unused = done;
    _cleanup_strv_ char **argv = argv_begin(acts);
    struct err err = ERR_INIT;

    strv_push_all(&argv, words);
    const struct proc_spec spec = {.file = acts->mas,
                                   .argv = argv,
                                   .cwd = -1,
                                   .output_max = OUTPUT_MAX,
                                   .timeout_ms = VERB_MS};
    if (acts->runs) {
        say(acts, true, "wait for the command before this one");
        return;
    }
    if (proc_start(&spec, &acts->proc, &err) == -1) {
        say(acts, true, err.text);
        return;
    }
    acts->runs = true;
    acts->done = done;
    unused = NULL;
    _cleanup_free_ char *doing = mem_printf("mas %s ...", words[0]);
    say(acts, false, doing);
}

static void finish_verb(struct acts *acts)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_free_ char *done = acts->done;
    struct err err = ERR_INIT;

    acts->runs = false;
    acts->done = NULL;
    if (proc_finish(&acts->proc, &result, &err) == -1) {
        say(acts, true, err.text);
        return;
    }
    const char *words = result.status != 0 ? str_text(&result.err)
                        : done != NULL     ? done
                                           : str_text(&result.out);
    _cleanup_free_ char *line = mem_dupn(words, strcspn(words, "\n"));
    say(acts, result.status != 0, line);
}

/* ---- other commands */

/* Waits for the key that ends a pager, so that a person can read what a command has printed. */
static void wait_for_key(void)
{
    struct termios was, keys;
    char c = 0;

    (void)fputs("\n(press q to go back to mas top) ", stdout);
    (void)fflush(stdout);
    if (tcgetattr(STDIN_FILENO, &was) == -1)
        return;
    keys = was;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
    while (read(STDIN_FILENO, &c, 1) == 1 && c != 'q' && c != '\n')
        ;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
}

/* Sets a variable of the environment, or none for NULL. */
static void set_variable(const char *name, const char *value)
{
    if (value != NULL)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

/* Shows a text, from its end or its beginning, until a person has read it. */
static void show(const struct str *text, bool at_end)
{
    const char *options = getenv("LESS");
    _cleanup_free_ char *was = options != NULL ? mem_dup(options) : NULL;
    /* it waits for a key also at the end of a short text, whatever the person's options are */
    _cleanup_free_ char *kept =
        mem_printf("%s -R -+F -+e -+E%s", was != NULL ? was : "X", at_end ? " +G" : "");
    int64_t began = time_monotonic_ms();

    set_variable("LESS", kept);
    bool read = pager_show(text);
    set_variable("LESS", was);
    if (!read && time_monotonic_ms() - began < SHOWN_MS)
        wait_for_key();
}

/* Returns the output of a command, or its error. */
static void capture(const struct acts *acts, char *const *argv, struct str *to)
{
    const struct proc_spec spec = {
        .file = acts->mas, .argv = argv, .cwd = -1, .output_max = PAGE_MAX, .timeout_ms = ACT_MS};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;

    set_variable(PAGER_IN_USE, "1");
    if (proc_capture(&spec, &result, &err) == -1)
        str_add_visible(to, err.text, strlen(err.text));
    set_variable(PAGER_IN_USE, NULL);
    str_addn(to, str_text(&result.out), result.out.len);
    str_addn(to, str_text(&result.err), result.err.len);
    if (to->len == 0)
        str_add(to, "(nothing)\n");
}

void act_run(struct acts *acts, const struct act_command *command, const char *session,
             const char *agent)
{
    _cleanup_strv_ char **argv = argv_begin(acts);
    struct err err = ERR_INIT;
    int status = 0;

    strv_push(&argv, command->verb);
    if (command->lines != NULL) {
        strv_push(&argv, "-n");
        strv_push(&argv, command->lines);
    }
    strv_push(&argv, session);
    if (agent != NULL)
        strv_push(&argv, agent);
    screen_suspend();
    if (command->shows) {
        _cleanup_str_ struct str text = STR_INIT;
        capture(acts, argv, &text);
        show(&text, command->lines != NULL);
    } else if (proc_run(acts->mas, argv, &status, &err) == 0 && status != 0) {
        wait_for_key();
    }
    screen_resume();
    if (err.code != MAS_OK)
        say(acts, true, err.text);
}

/* ---- the loop */

int64_t acts_want(struct acts *acts, struct loop *loop)
{
    int64_t until = -1;

    for (size_t i = 0; i < acts->count; i++) {
        conn_want(&acts->requests[i].host.conn, loop);
        until = time_sooner(until, acts->requests[i].until_ms);
    }
    if (acts->runs) {
        loop_want(loop, acts->proc.end_fd, POLLIN);
        until = time_sooner(until, acts->proc.deadline);
    }
    return until;
}

void acts_turn(struct acts *acts, struct loop *loop)
{
    int64_t now = time_monotonic_ms();

    for (size_t i = acts->count; i-- > 0;)
        turn_request(acts, i, loop_got(loop, acts->requests[i].host.conn.fd), now);
    if (acts->runs && (loop_got(loop, acts->proc.end_fd) != 0 || now >= acts->proc.deadline))
        finish_verb(acts);
}

void acts_free(struct acts *acts)
{
    while (acts->count > 0)
        drop(acts, acts->count - 1);
    if (acts->runs)
        proc_abandon(&acts->proc);
    free(acts->done);
}
