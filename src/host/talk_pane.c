#include "host/talk.h"

#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"
#include "host/state.h"
#include "session/helper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHAT_AGAIN_MS = 1000,
    CHAT_STEADY_MS = 10000, /* a run so long forgives the ends before it */
    CHAT_FAILURES_MAX = 5, /* in a row; then plain lines do */
    CHAT_END_MS = 1000,
};

static void start_chat(struct host *host, int64_t now)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;
    _cleanup_free_ char *file = helper_find(HELPER_CHAT, &err);
    _cleanup_free_ char *dir = mem_printf("%s/sessions/%s", host->root.path, host->session.id);

    talk->chat_at = -1;
    talk->chat_started = now;
    if (file == NULL) {
        talk->plain = true;
        return;
    }
    char *argv[] = {(char[]){HELPER_CHAT}, dir, host->agent->id, NULL};
    pid_t pid = proc_start_here(file, argv, host->env);
    if (pid == -1)
        talk->plain = true;
    else
        talk->chat = pid;
}

/* Plain lines need the terminal as a host of a terminal program has it. */
static void be_plain(struct host *host)
{
    struct err err = ERR_INIT;

    host->talk->plain = true;
    if (!host->terminal.raw && terminal_open(&host->terminal, &err) == -1)
        host_log(host, err.text);
}

void talk_pane_open(struct host *host)
{
    start_chat(host, time_monotonic_ms());
    if (host->talk->plain)
        be_plain(host);
}

void talk_pane_close(struct host *host)
{
    struct talk *talk = host->talk;
    struct proc_id id;

    if (talk->chat == 0)
        return;
    if (proc_identify(talk->chat, &id)) {
        proc_signal(&id, SIGTERM);
        if (proc_wait_gone(&id, 1, CHAT_END_MS) > 0)
            proc_signal(&id, SIGKILL);
    }
    (void)waitpid(talk->chat, NULL, 0);
    talk->chat = 0;
}

void talk_pane_reap(struct host *host, pid_t pid)
{
    struct talk *talk = host->talk;
    int64_t now = time_monotonic_ms();

    if (talk->chat == 0 || pid != talk->chat)
        return;
    talk->chat = 0;
    if (now - talk->chat_started >= CHAT_STEADY_MS)
        talk->chat_failures = 0;
    if (++talk->chat_failures > CHAT_FAILURES_MAX) {
        host_log(host, "mas-chat ends again and again; the pane shows plain lines");
        be_plain(host);
        return;
    }
    talk->chat_at = now + CHAT_AGAIN_MS;
}

int64_t talk_pane_tick(struct host *host, int64_t now)
{
    struct talk *talk = host->talk;

    if (talk->chat_at == -1 || host->leaving)
        return -1;
    if (now < talk->chat_at)
        return talk->chat_at;
    start_chat(host, now);
    if (talk->plain)
        be_plain(host);
    return talk->chat_at;
}

void talk_pane_print(struct host *host, const char *event, const char *text, size_t len)
{
    struct talk *talk = host->talk;
    _cleanup_str_ struct str line = STR_INIT;
    bool grows = strcmp(event, "text") == 0;

    if (!talk->plain || !host->terminal.raw || strcmp(event, "thought") == 0)
        return;
    if (talk->term_text_open && !grows)
        str_add(&line, "\r\n");
    if (strcmp(event, "prompt") == 0)
        str_add(&line, "> ");
    else if (!grows)
        str_addf(&line, "[%s] ", event);
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end != NULL ? (size_t)(end - text) - at : len - at;
        str_add_visible(&line, text + at, n);
        at += n;
        if (end != NULL) {
            str_add(&line, "\r\n");
            at++;
        }
    }
    talk->term_text_open = grows;
    if (!grows)
        str_add(&line, "\r\n");
    terminal_add(&host->terminal, str_text(&line), line.len);
}
