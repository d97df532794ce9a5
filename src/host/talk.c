#include "host/talk.h"

#include "base/machine.h"
#include "base/str.h"
#include "base/time.h"
#include "host/state.h"
#include "protocol/rpc.h"
#include "session/env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_CHUNK = 64 * 1024,
    READ_ROUNDS = 8, /* chunks at once: others want to be heard too */
    ERROR_WORDS = 1500, /* bytes of an agent's own words in an error */
    LAST_WORDS = 1000, /* of these, what it last printed */
};

struct store_budget talk_budget(const struct host *host)
{
    return (struct store_budget){
        .messages = config_number(&host->config, SETTING_MEMORY_MESSAGES),
        .each = (size_t)config_number(&host->config, SETTING_MEMORY_EACH),
        .all = (size_t)config_number(&host->config, SETTING_MEMORY_ALL),
    };
}

struct acp_word *talk_copy_words(const struct acp_word *words, size_t count)
{
    struct acp_word *copy = count > 0 ? mem_alloc(count * sizeof *copy) : NULL;

    for (size_t i = 0; i < count; i++)
        copy[i] = (struct acp_word){.id = mem_dup(words[i].id),
                                    .name = mem_dup(words[i].name),
                                    .description = mem_dup(words[i].description),
                                    .kind = mem_dup(words[i].kind)};
    return copy;
}

void talk_free_words(struct acp_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(words[i].id);
        free(words[i].name);
        free(words[i].description);
        free(words[i].kind);
    }
    free(words);
}

/* ---- its life */

void talk_open(struct host *host)
{
    struct talk *talk = mem_alloc(sizeof *talk);
    struct err err = ERR_INIT;

    talk->in = talk->out = talk->err = -1;
    talk->phase_until = talk->turn.cancel_until = talk->chat_at = -1;
    talk->mode = mem_dup("");
    talk->program = mem_dup("");
    talk->tools = talk_tools(host);
    talk->machine = machine_identity();
    host->talk = talk;
    if (talk_need_store(host, &err) == -1)
        talk_say(host, false, "its conversation cannot be opened: %s", err.text);
}

void talk_free(struct host *host)
{
    struct talk *talk = host->talk;

    if (talk == NULL)
        return;
    talk_end_turn(host, TALK_END_STOPPED, 0, NULL);
    talk_keep_queue(host, "its host has ended");
    for (size_t i = 0; i < talk->count; i++)
        talk_prompt_free(&talk->queue[i]);
    talk_disconnect(host);
    talk_pane_close(host);
    store_place_free(&talk->place);
    store_close(talk->store);
    free(talk->cwd);
    free(talk->machine);
    free(talk->tools);
    talk_free_words(talk->past_modes, talk->past_mode_count);
    free(talk->program);
    free(talk->mode);
    free(talk->title);
    free(talk->told_note);
    free(talk->queue);
    str_free(&talk->options);
    free(talk);
    host->talk = NULL;
}

/* ---- the process */

int talk_connect(struct host *host, int ret_fds[3], struct err *err)
{
    struct talk *talk = host->talk;
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    int error[2] = {-1, -1};

    talk_disconnect(host);
    if (pipe2(in, O_CLOEXEC) == -1 || pipe2(out, O_CLOEXEC) == -1 ||
        pipe2(error, O_CLOEXEC) == -1) {
        (void)err_errno(err, "cannot make a pipe");
        for (int i = 0; i < 2; i++) {
            fd_closep(&in[i]);
            fd_closep(&out[i]);
            fd_closep(&error[i]);
        }
        return -1;
    }
    talk->in = in[1];
    talk->out = out[0];
    talk->err = error[0];
    for (size_t i = 0; i < 3; i++)
        (void)fcntl(((int[]){in[1], out[0], error[0]})[i], F_SETFL, O_NONBLOCK);
    ret_fds[0] = in[0];
    ret_fds[1] = out[1];
    ret_fds[2] = error[1];
    return 0;
}

/* What was known of the agent's side is not any more. */
static void forget(struct talk *talk)
{
    free(talk->session);
    talk->session = NULL;
    talk->phase = TALK_OFF;
    talk->phase_until = -1;
    talk->left = talk->unclosed = 0;
    talk->prime = false;
    talk->settled = talk->proved = false;
    talk->fell = 0;
    if (talk->mode_count > 0) {
        talk_free_words(talk->past_modes, talk->past_mode_count);
        talk->past_modes = talk->modes;
        talk->past_mode_count = talk->mode_count;
    }
    talk_free_words(talk->commands, talk->command_count);
    talk->modes = talk->commands = NULL;
    talk->mode_count = talk->command_count = 0;
    free(talk->mode);
    talk->mode = mem_dup("");
    talk_free_options(talk);
    free(talk->rung_notes);
    talk->rung_notes = NULL;
    str_free(&talk->summary);
}

void talk_disconnect(struct host *host)
{
    struct talk *talk = host->talk;

    talk_drop_permissions(host);
    talk_work_close(host);
    fd_closep(&talk->in);
    fd_closep(&talk->out);
    fd_closep(&talk->err);
    acp_free(talk->acp);
    talk->acp = NULL;
    forget(talk);
}

/* ---- what the wire tells */

static void on_answer(void *arg, const struct acp_answer *answer)
{
    struct host *host = arg;

    if (answer->call == ACP_CALL_PROMPT)
        talk_prompt_answer(host, answer);
    else
        talk_rung_answer(host, answer);
}

static void on_update(void *arg, const struct acp_update *update)
{
    talk_update(arg, update);
}

static void on_permission(void *arg, const struct acp_permission *permission)
{
    talk_permission(arg, permission);
}

static void on_withdrawn(void *arg, const char *ticket)
{
    talk_withdrawn(arg, ticket);
}

static void on_request(void *arg, const struct acp_request *request)
{
    talk_work_request(arg, request);
}

static void on_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    enum { SHOWN = 200 };
    struct host *host = arg;
    struct talk *talk = host->talk;
    _cleanup_str_ struct str words = STR_INIT;

    if (talk->turn.on && !talk->turn.skipped && strcmp(why, RPC_TOO_LONG) == 0) {
        talk->turn.skipped = true; /* what is missing may be a part of the answer */
        talk_say(host, true, "something that the agent said is missing: it was longer than %d MiB",
                 ACP_LINE_MAX >> 20);
    }
    if (talk->garbage++ > 0) /* its log has them all */
        return;
    str_addf(&words, "the agent printed what is no message (%s): ", why);
    str_add_visible(&words, bytes, len < SHOWN ? len : SHOWN);
    host_log(host, words.data);
}

static const struct acp_ops ops = {
    .answer = on_answer,
    .update = on_update,
    .permission = on_permission,
    .withdrawn = on_withdrawn,
    .request = on_request,
    .garbage = on_garbage,
};

void talk_begin(struct host *host)
{
    struct talk *talk = host->talk;
    const char *cwd = env_get(host->env, "PWD");

    free(talk->cwd);
    talk->cwd = mem_dup(cwd != NULL ? cwd : "/");
    talk->trouble[0] = '\0';
    talk->needs_login = false;
    talk->garbage = 0;
    talk->eof = false;
    talk->acp = acp_new(&ops, host);
    talk_work_open(host);
    talk->phase = TALK_INITIALIZES;
    talk->serial = acp_initialize(talk->acp, host->preset->initialize_ms);
}

/* Writes what the agent is to be sent, as far as it reads. */
static void write_out(struct host *host)
{
    struct talk *talk = host->talk;
    size_t len = 0;

    if (talk->acp != NULL && acp_is_stuck(talk->acp) && host->child.phase == CHILD_RUNS) {
        talk_trouble(host, false, "the agent does not read what it is sent");
        child_end(host, child_times(host), 0, false);
        return;
    }
    while (talk->acp != NULL && talk->in != -1) {
        const char *bytes = acp_out(talk->acp, &len);
        if (len == 0)
            return;
        ssize_t n = write(talk->in, bytes, len);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1 && errno != EAGAIN) /* its end is the supervisor's to tell */
            fd_closep(&talk->in);
        if (n <= 0)
            return;
        acp_sent(talk->acp, (size_t)n);
    }
}

/* Reads once. false: nothing is there now. */
static bool read_out(struct host *host)
{
    static char chunk[READ_CHUNK];
    struct talk *talk = host->talk;
    ssize_t n = talk->out != -1 ? read(talk->out, chunk, sizeof chunk) : -1;

    if (n == 0)
        fd_closep(&talk->out);
    if (n <= 0)
        return n == -1 && talk->out != -1 && errno == EINTR;
    host->output_ms = time_epoch_ms();
    if (talk->acp != NULL)
        acp_feed(talk->acp, chunk, (size_t)n);
    return true;
}

static bool read_err(struct host *host)
{
    static char chunk[READ_CHUNK];
    struct talk *talk = host->talk;
    ssize_t n = talk->err != -1 ? read(talk->err, chunk, sizeof chunk) : -1;

    if (n == 0)
        fd_closep(&talk->err);
    if (n <= 0)
        return n == -1 && talk->err != -1 && errno == EINTR;
    host_keep_log(host, chunk, (size_t)n);
    watcher_output(&host->watcher, chunk, (size_t)n, time_monotonic_ms());
    return true;
}

void talk_hang_up(struct host *host)
{
    struct talk *talk = host->talk;

    if (talk->turn.on && talk->acp != NULL && talk->session != NULL)
        acp_cancel(talk->acp, talk->session);
    talk_end_turn(host, TALK_END_STOPPED, 0,
                  host->child.again ? "the agent was restarted before its turn ended" : NULL);
    write_out(host);
    fd_closep(&talk->in);
}

void talk_add_last_words(struct host *host, struct str *to)
{
    enum { MOST = 64 }; /* chunks: it may go on printing */
    _cleanup_str_ struct str lines = STR_INIT;

    for (int i = 0; i < MOST && read_err(host); i++)
        ;
    if (geteuid() == 0 && host->preset->as_root[0] != '\0')
        str_addf(to, "; as root: %s", host->preset->as_root);
    watcher_last_lines(&host->watcher, LAST_WORDS, &lines);
    if (lines.len == 0)
        return;
    str_add(to, "; it printed: ");
    for (char *line, *rest = lines.data; (line = strsep(&rest, "\n")) != NULL;) {
        str_add_visible(to, line, strlen(line));
        str_add(to, rest != NULL ? " | " : "");
    }
}

/* For the status, and for prompts that fail by it. */
static void keep_trouble(struct talk *talk, const char *words)
{
    (void)snprintf(talk->trouble, sizeof talk->trouble, "%.*s",
                   (int)str_fit(words, sizeof talk->trouble - 1), words);
}

void talk_ended(struct host *host, const char *why)
{
    struct talk *talk = host->talk;

    talk_drain(host);
    _cleanup_str_ struct str words = STR_INIT;
    const char *when = talk->phase == TALK_INITIALIZES ? " before its first answer"
                       : talk->phase < TALK_READY      ? " before it took a prompt"
                                                       : "";
    str_addf(&words, "the agent ended%s: %s", when, why);
    if (!host->child.asked)
        talk_add_last_words(host, &words);
    if (talk->turn.on && !host->child.asked)
        talk_fell_dead(host, words.data);
    talk_end_turn(host, TALK_END_FAILED, 0, words.data);
    if (when[0] != '\0' && !host->child.asked)
        keep_trouble(talk, words.data);
    talk_disconnect(host);
}

void talk_trouble(struct host *host, bool needs_login, const char *why)
{
    struct talk *talk = host->talk;

    _cleanup_str_ struct str words = STR_INIT;
    if (needs_login)
        str_add(&words, "the agent needs a login: ");
    str_addn(&words, why, str_fit(why, ERROR_WORDS));
    if (needs_login)
        talk_add_login(host, &words);
    talk->phase = TALK_STUCK;
    talk->phase_until = -1;
    talk->needs_login = needs_login;
    keep_trouble(talk, words.data);
    host_log(host, words.data);
    if (talk->turn.on)
        talk_end_turn(host, TALK_END_FAILED, needs_login ? ACP_NEEDS_LOGIN : 0, words.data);
    else
        talk_say(host, false, "%s", words.data);
    talk_fail_queue(host, TALK_END_FAILED, words.data);
}

/* ---- the loop's calls */

void talk_want(const struct host *host, struct loop *loop)
{
    const struct talk *talk = host->talk;
    size_t len = 0;

    if (talk->acp != NULL && talk->in != -1)
        (void)acp_out(talk->acp, &len);
    if (len > 0)
        loop_want(loop, talk->in, POLLOUT);
    if (!talk_has_full_listener(host))
        loop_want(loop, talk->out, POLLIN);
    loop_want(loop, talk->err, POLLIN);
    talk_work_want(host, loop);
}

void talk_serve(struct host *host, struct loop *loop)
{
    const struct talk *talk = host->talk;

    talk_work_serve(host, loop);
    if (loop_got(loop, talk->err) != 0)
        for (int i = 0; i < READ_ROUNDS && read_err(host); i++)
            ;
    if (loop_got(loop, talk->out) != 0)
        for (int i = 0; i < READ_ROUNDS && !talk_has_full_listener(host) && read_out(host); i++)
            ;
}

void talk_drain(struct host *host)
{
    enum { MOST = 4096 }; /* chunks: what holds the pipe may go on printing */

    for (int i = 0; i < MOST && read_err(host); i++)
        ;
    for (int i = 0; i < MOST && read_out(host); i++)
        ;
}

/* An agent that goes on with what it was told to leave is ended, and comes back. */
static void end_stubborn(struct host *host)
{
    host_log(host, "it did not end its turn when told to; it is started anew");
    talk_say(host, true, "the agent did not end its turn when told to; it is started anew");
    talk_end_turn(host, "cancelled", 0, NULL);
    child_end(host, child_times(host), 0, true);
}

int64_t talk_tick(struct host *host, int64_t now)
{
    struct talk *talk = host->talk;
    struct talk_turn *turn = &talk->turn;
    int64_t next = time_sooner(talk_pane_tick(host, now), talk_tick_listeners(host, now));

    if (talk->acp == NULL)
        return next;
    next = time_sooner(next, acp_tick(talk->acp, now));
    if (talk->phase == TALK_SETTLES) {
        if (now - talk->quiet_since >= TALK_SETTLE_MS || now >= talk->phase_until)
            talk_settled(host);
        else
            next = time_sooner(next, talk->quiet_since + TALK_SETTLE_MS);
    }
    if ((turn->on && turn->cancel_until != -1 && now >= turn->cancel_until) ||
        (talk->phase == TALK_ENDS_TURN && now >= talk->phase_until)) {
        if (host->child.phase == CHILD_RUNS)
            end_stubborn(host);
    } else if (turn->on && turn->cancel_until != -1) {
        next = time_sooner(next, turn->cancel_until);
    } else if (talk->phase == TALK_ENDS_TURN) {
        next = time_sooner(next, talk->phase_until);
    }
    if (host->child.phase == CHILD_RUNS)
        talk_run(host);
    write_out(host);
    return next;
}

enum agent_state talk_state(const struct host *host)
{
    const struct talk *talk = host->talk;

    if (talk->permission_count > 0 || talk->needs_login)
        return AGENT_WAITING;
    if (talk->turn.on || talk->phase == TALK_ENDS_TURN)
        return AGENT_WORKING;
    if (talk->phase == TALK_READY)
        return talk->count > 0 ? AGENT_WORKING : AGENT_IDLE;
    return talk->phase == TALK_STUCK ? AGENT_IDLE : AGENT_STARTING;
}

const char *talk_continuity(const struct host *host)
{
    const struct talk *talk = host->talk;
    return talk->phase == TALK_SETS || talk->phase == TALK_READY ? store_outcome_name(talk->outcome)
                                                                 : "";
}

const char *talk_note(const struct host *host)
{
    const struct talk *talk = host->talk;

    if (talk->permission_count > 0)
        return talk->permissions[0].title;
    return talk->trouble;
}
