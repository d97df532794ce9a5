#include "host/acp/conversation.h"

#include "base/time.h"
#include "host/acp/turn_side.h"
#include "os/proc.h"
#include "session/helper.h"

enum {
    AGAIN_MS = 1000, /* between the end of mas-chat and its next start */
    STEADY_MS = 10000, /* a run this long forgives the ends before it */
    FAILURES_MAX = 5, /* ends in a row; after more the pane shows plain lines */
    END_MS = 1000, /* for mas-chat to end after SIGTERM */
};

/* Starts mas-chat in the pane. Returns false if that is not possible. */
static bool start_chat(struct host *host, int64_t now)
{
    struct chat_pane *chat = &host->conversation->chat;
    struct err err = ERR_INIT;
    _cleanup_free_ char *file = helper_find(HELPER_CHAT, &err);
    _cleanup_free_ char *dir = mem_printf("%s/sessions/%s", host->root.path, host->session.id);

    chat->start_at = -1;
    chat->started = now;
    if (file == NULL)
        return false;
    char *argv[] = {(char[]){HELPER_CHAT}, dir, host->agent->id, NULL};
    pid_t pid = proc_start_here(file, argv, host->env, NULL);
    if (pid == -1)
        return false;
    host->pane_program = pid;
    return true;
}

/* Shows plain lines from now on, on a pane that is set up as for a terminal program. */
static void be_plain(struct host *host)
{
    struct err err = ERR_INIT;

    host->conversation->chat.plain = true;
    if (!host->pane.raw && pane_open(&host->pane, &err) == -1)
        host_log(host, err.text);
}

void chat_open(struct host *host)
{
    if (!start_chat(host, time_monotonic_ms()))
        be_plain(host);
}

/* Ends the program that has the pane. */
static void end_program(pid_t *pid)
{
    struct proc_id id;

    if (*pid == 0)
        return;
    if (proc_identify(*pid, &id)) {
        proc_signal(&id, SIGTERM);
        if (proc_wait_gone(&id, 1, END_MS) > 0)
            proc_signal(&id, SIGKILL);
    }
    (void)proc_await(*pid, NULL);
    *pid = 0;
}

void chat_close(struct host *host)
{
    end_program(&host->pane_program);
    end_program(&host->pane_login);
    host->conversation->chat.start_at = -1;
}

void chat_reap(struct host *host)
{
    struct chat_pane *chat = &host->conversation->chat;
    int64_t now = time_monotonic_ms();

    if (now - chat->started >= STEADY_MS)
        chat->failures = 0;
    if (++chat->failures > FAILURES_MAX) {
        host_log(host, "mas-chat keeps ending; the pane shows plain lines");
        be_plain(host);
        return;
    }
    chat->start_at = now + AGAIN_MS;
}

int64_t chat_tick(struct host *host, int64_t now)
{
    const struct chat_pane *chat = &host->conversation->chat;

    if (chat->start_at == -1 || host->leaving)
        return -1;
    if (now < chat->start_at)
        return chat->start_at;
    if (!start_chat(host, now))
        be_plain(host);
    return -1;
}

void chat_print(struct host *host, const char *event, const char *text, size_t len)
{
    struct chat_pane *chat = &host->conversation->chat;
    _cleanup_str_ struct str line = STR_INIT;
    bool grows = strcmp(event, "text") == 0;

    if (strcmp(event, "thought") == 0)
        return;
    if (chat->text_open && !grows)
        str_add(&line, "\r\n");
    if (strcmp(event, "prompt") == 0)
        str_add(&line, "> ");
    else if (!grows)
        str_addf(&line, "[%s] ", event);
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end != NULL ? (size_t)(end - text) - at : len - at;
        str_add_line(&line, text + at, n);
        at += n;
        if (end != NULL) {
            str_add(&line, "\r\n");
            at++;
        }
    }
    chat->text_open = grows;
    if (!grows)
        str_add(&line, "\r\n");
    host_keep_log(host, str_text(&line), line.len);
    if (chat->plain && host->pane.raw)
        pane_add(&host->pane, str_text(&line), line.len);
}

void chat_keep_error(struct host *host, const char *bytes, size_t len)
{
    struct chat_pane *chat = &host->conversation->chat;

    if (chat->text_open && !chat->plain) {
        host_keep_log(host, "\r\n", 2);
        chat->text_open = false;
    }
    host_keep_log(host, bytes, len);
}
