/* The backend of agents that speak ACP; all but the table is in talk*.c. */
#include "host/backend.h"

#include "base/str.h"
#include "host/state.h"
#include "host/talk.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ASKED_LIMIT = 2 }; /* restarts in a row for a prompt, whose sender waits */

/* The first message is a prompt, and the pane belongs to mas-chat. */
static int open_talk(struct host *host, struct err *err)
{
    static const int keys[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};

    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
        return err_set(err, MAS_USAGE, "cannot start an agent: 'mas host' needs a terminal");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) /* those of the pane are for mas-chat */
        (void)signal(keys[i], SIG_IGN);
    host_set_title(host);
    talk_open(host);
    talk_pane_open(host);
    if (!host->prompts)
        return 0;
    struct err failed = ERR_INIT;
    int64_t number = 0;
    const struct talk_new_prompt prompt = {
        .text = host->agent->prompt, .len = strlen(host->agent->prompt), .from = "-"};
    if (talk_add_prompt(host, &prompt, &number, &failed) == -1)
        host_log(host, failed.text);
    return 0;
}

static int connect_agent(struct host *host, struct supervisor_spec *spec, int *ret_slave,
                         struct err *err)
{
    (void)ret_slave;
    return talk_connect(host, spec->pipes, err);
}

static bool ended(struct host *host, const char *how)
{
    bool early = host->talk->phase == TALK_INITIALIZES;

    talk_ended(host, how);
    return early;
}

static const char *trouble(const struct host *host)
{
    return host->talk->trouble[0] != '\0' ? host->talk->trouble : NULL;
}

static bool is_pane(const struct host *host, pid_t pid)
{
    return host->talk->chat != 0 && host->talk->chat == pid;
}

static size_t queued(const struct host *host)
{
    return host->talk->count;
}

static void fail_queue(struct host *host, const char *why)
{
    talk_fail_queue(host, TALK_END_FAILED, why);
}

static enum agent_state state(const struct host *host)
{
    if (host->child.phase == CHILD_RUNS)
        return talk_state(host);
    return host->talk->needs_login ? AGENT_WAITING : host->child.rest;
}

static void fill_status(const struct host *host, struct agent_status *ret)
{
    const struct talk *talk = host->talk;

    ret->acp = true;
    (void)snprintf(ret->conversation, sizeof ret->conversation, "%s", talk->place.conversation);
    ret->continuity = (char *)(uintptr_t)talk_continuity(host);
    ret->title = (char *)(uintptr_t)(talk->title != NULL ? talk->title : "");
    const char *note = talk_note(host);
    if (note[0] != '\0')
        ret->note = (char *)(uintptr_t)note;
    if (talk->permission_count == 0)
        return;
    ret->permission = (char *)(uintptr_t)talk->permissions[0].id;
    ret->asks = talk->permissions[0].title;
}

static void say(struct host *host, const char *words)
{
    if (host->talk->plain)
        terminal_print(&host->terminal, words);
    else
        talk_say(host, false, "%s", words);
}

static bool reads_keys(const struct host *host)
{
    return host->talk->plain;
}

static void handle_keys(struct host *host, const char *keys, size_t len, int64_t now)
{
    (void)keys; /* a pane without mas-chat takes no prompts */
    (void)len;
    (void)now;
    terminal_drop_keys(&host->terminal);
}

const struct backend backend_acp = {
    .piped = true,
    .asked_limit = ASKED_LIMIT,
    .next_start = "the next prompt starts it again",
    .open = open_talk,
    .close = talk_free,
    .connect = connect_agent,
    .begin = talk_begin,
    .hang_up = talk_hang_up,
    .ended = ended,
    .disconnect = talk_disconnect,
    .trouble = trouble,
    .is_pane = is_pane,
    .reap = talk_pane_reap,
    .queued = queued,
    .fail_queue = fail_queue,
    .keep_queue = talk_keep_queue,
    .state = state,
    .fill_status = fill_status,
    .tell_status = talk_tell_state,
    .say = say,
    .reads_keys = reads_keys,
    .handle_keys = handle_keys,
    .want = talk_want,
    .serve = talk_serve,
    .tick = talk_tick,
    .request = talk_request,
};
