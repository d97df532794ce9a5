/*
 * mas-chat SESSION_DIR AGENT: the pane of an ACP agent. The agent's host starts it on the pane's
 * terminal. It is a client of that host like any other and stores nothing.
 */
#include "chat/chat.h"

#include "base/id.h"
#include "base/time.h"
#include "filter/filter.h"
#include "os/landlock.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/signals.h"

#include <libgen.h>
#include <locale.h>

enum {
    RETRY_MIN_MS = 20,
    RETRY_MAX_MS = 1000,
    TICK_MS = 1000,
    CHUNK = 16 * 1024,
};

/* The state of this program. */
struct chat_program {
    struct chat chat;
    struct loop loop;
    pid_t parent; /* the host; if it changes, the host has ended */
    int signals;
    int64_t retry_at; /* when to connect again; monotonic ms */
    int retry_ms;
    bool ends;
};

static void lose(struct chat_program *pane)
{
    struct chat *chat = &pane->chat;

    if (chat->greeted) {
        view_end(&chat->view);
        view_addf(&chat->view, STYLE_NOTE, "---- connection lost ----");
    }
    chat_forget(chat);
    host_connection_close(&chat->host);
    pane->retry_at = time_monotonic_ms() + pane->retry_ms;
    pane->retry_ms = pane->retry_ms * 2 < RETRY_MAX_MS ? pane->retry_ms * 2 : RETRY_MAX_MS;
}

static void connect_again(struct chat_program *pane)
{
    struct chat *chat = &pane->chat;
    struct err ignored = ERR_INIT;

    if (getppid() != pane->parent)
        pane->ends = true;
    else if (host_connection_open(&chat->host, chat->run, chat->agent, &ignored) != HOST_PENDING)
        lose(pane);
    else
        (void)chat_ask(chat, ASKED_LISTEN, "{\"do\":\"listen\"}", NULL);
}

static bool on_frame(const struct frame *frame, const int64_t *asked, void *arg)
{
    struct chat_program *pane = arg;
    struct chat *chat = &pane->chat;

    if (asked != NULL)
        chat_answer(chat, (enum asked)asked[0], frame->head);
    else if (chat->greeted)
        chat_event(chat, frame);
    if (chat->greeted)
        pane->retry_ms = RETRY_MIN_MS;
    return false;
}

static void handle_keys(struct chat_program *pane)
{
    struct chat *chat = &pane->chat;
    enum line_event event;
    char *text = NULL;

    while ((event = line_next(chat->line, &text)) != LINE_NOTHING) {
        chat_key(chat, event, text);
        free(text);
        text = NULL;
    }
}

static void read_keys(struct chat_program *pane)
{
    char chunk[CHUNK];
    ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);

    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
        pane->ends = true; /* the pane is gone */
        return;
    }
    if (n > 0)
        line_feed(pane->chat.line, chunk, (size_t)n);
    handle_keys(pane);
    chat_typing(&pane->chat);
}

static void handle_signal(struct chat_program *pane)
{
    int sig = signals_next(pane->signals);

    if (sig == SIGWINCH)
        view_repaint(&pane->chat.view);
    else if (sig != 0)
        pane->ends = true;
}

/* Returns until when to wait for events; monotonic ms; -1: without limit. */
static int64_t wait_until(const struct chat_program *pane)
{
    const struct chat *chat = &pane->chat;

    if (line_is_half(chat->line))
        return time_monotonic_ms() + LINE_PAUSE_MS;
    if (chat->host.conn.fd == -1)
        return pane->retry_at;
    return footer_ticks(chat) ? time_monotonic_ms() + TICK_MS : -1;
}

static void run(struct chat_program *pane)
{
    struct chat *chat = &pane->chat;
    struct loop *loop = &pane->loop;
    struct err ignored = ERR_INIT;

    while (!pane->ends) {
        if (chat->host.conn.fd == -1 && time_monotonic_ms() >= pane->retry_at)
            connect_again(pane);
        footer_update(chat);
        view_draw(&chat->view);
        loop_begin(loop);
        loop_want(loop, STDIN_FILENO, POLLIN);
        loop_want(loop, pane->signals, POLLIN);
        conn_want(&chat->host.conn, loop);
        int ready = loop_wait(loop, wait_until(pane));
        if (ready == 0 && line_is_half(chat->line)) {
            line_settle(chat->line);
            handle_keys(pane);
        }
        if (ready <= 0)
            continue;
        short events = loop_got(loop, chat->host.conn.fd);
        if (loop_got(loop, pane->signals) != 0)
            handle_signal(pane);
        if (loop_got(loop, STDIN_FILENO) != 0)
            read_keys(pane);
        if (chat->host.conn.fd != -1 &&
            host_connection_turn(&chat->host, events, on_frame, pane, &ignored) != HOST_PENDING)
            lose(pane);
    }
}

static int prepare(struct chat_program *pane, char *dir, const char *agent, struct err *err)
{
    struct chat *chat = &pane->chat;

    pane->parent = getppid();
    proc_end_with_parent(SIGTERM);
    proc_gain_nothing();
    chat->agent = agent;
    chat->dir = open(dir, PATH_PLACE | O_NOFOLLOW | O_CLOEXEC);
    if (chat->dir == -1)
        return err_errno(err, "cannot open '%s'", dir);
    chat->run = openat(chat->dir, "run", PATH_PLACE | O_NOFOLLOW | O_CLOEXEC);
    if (chat->run == -1)
        return err_errno(err, "cannot open '%s/run'", dir);
    chat->session = mem_dup(basename(dir));
    pane->signals = signals_open((const int[]){SIGWINCH, SIGTERM, SIGHUP, SIGINT, 0});
    chat->line = line_new(err);
    return pane->signals == -1 || chat->line == NULL ? -1 : 0;
}

/* Gives up what this program does not need: what it shows comes from an agent. It may read, but
 * write in its session only, connect to hosts, and start nothing. */
static int restrict_self(const struct chat *chat, struct err *err)
{
    struct landlock_path paths[] = {{.access = ACCESS_READ, .path = "/"},
                                    {.access = ACCESS_DEVICE, .path = "/dev"},
                                    {.access = ACCESS_WRITE, .fd = chat->dir}};
    const struct landlock landlock = {.paths = paths, .path_count = ARRAY_LEN(paths), .tcp = true};

    return landlock_enter(&landlock, err) == -1 ? -1 : filter_program_load(FILTER_CHAT, err);
}

int main(int argc, char **argv)
{
    struct chat_program pane = {
        .chat = {.host = HOST_CONNECTION_INIT, .dir = -1, .run = -1, .used = -1},
        .loop = LOOP_INIT,
        .signals = -1,
        .retry_ms = RETRY_MIN_MS};
    struct chat *chat = &pane.chat;
    struct err err = ERR_INIT;

    (void)signal(SIGXFSZ, SIG_IGN); /* as in mas */
    if (argc != 3) {
        (void)fputs("usage: mas-chat SESSION_DIR AGENT (mas host starts it)\n", stderr);
        return MAS_USAGE;
    }
    if (setlocale(LC_CTYPE, "") == NULL || MB_CUR_MAX == 1)
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    if (prepare(&pane, argv[1], argv[2], &err) == -1 || restrict_self(chat, &err) == -1) {
        err_print(&err);
        chat_free(chat);
        line_free(chat->line);
        return err.code;
    }
    view_open(&chat->view, STDOUT_FILENO);
    /* have the terminal mark pastes */
    (void)write(STDOUT_FILENO, "\033[?2004h", strlen("\033[?2004h"));
    view_repaint(&chat->view); /* another program may have left output there */
    run(&pane);
    chat_forget(chat);
    view_close(&chat->view);
    (void)write(STDOUT_FILENO, "\033[?2004l", strlen("\033[?2004l"));
    host_connection_close(&chat->host);
    loop_free(&pane.loop);
    chat_free(chat);
    line_free(chat->line);
    return MAS_OK;
}
