/*
 * What the host tells tmux of its agent, for the border of the pane and the status line of the
 * session, and what it asks tmux for attention.c, in one call. The call is a client of tmux that
 * runs while the host goes on. Newer news replace older ones that have not been told.
 *
 * The hosts of a session make at most ten calls a second together. Whoever makes one holds a lock
 * on the session's run/ for at least SPACE_MS from its beginning; the kernel releases it if the
 * host is killed.
 */
#include "host/state.h"

#include "base/time.h"
#include "os/file.h"
#include "os/path.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

#include <sys/file.h>

enum {
    /* after the start of the host: by then most agents are idle, which tmux knows already */
    FIRST_MS = 3000,
    SPACE_MS = 100, /* from one call of the session to the next */
    PAUSE_MS = 300, /* from one call of this host to the next */
    SPREAD_MS = 10, /* between the tries of hosts that wait for the same lock */
};

void display_open(struct host *host)
{
    struct host_display *display = &host->display;

    display->lock = -1;
    display->state = AGENT_IDLE; /* as tmux_build_start() has set it */
    display->first = time_monotonic_ms() + FIRST_MS;
    display->on = config_yes(&host->config, SETTING_STATUS) && host->pane_id[0] != '\0';
}

static void unlock(struct host_display *display)
{
    if (display->lock != -1)
        (void)flock(display->lock, LOCK_UN); /* a child that was forked meanwhile has it, too */
    fd_closep(&display->lock);
}

void display_close(struct host *host)
{
    if (host->display.runs)
        proc_abandon(&host->display.proc);
    host->display.runs = false;
    unlock(&host->display);
}

static bool waits(const struct host *host)
{
    return host->attention.class <= ATTENTION_FAILED;
}

/* Returns true if tmux knows another state than the present one. */
static bool is_news(const struct host *host, int64_t now)
{
    const struct host_display *display = &host->display;

    return display->on && now >= display->first &&
           (display->state != host->told.state || display->waits != waits(host));
}

/* Takes the lock. Returns false if another host has it. */
static bool try_lock(struct host *host)
{
    struct host_display *display = &host->display;

    display->lock = path_open_dir(host->dir, WORKSPACE_RUN);
    if (display->lock == -1)
        return false;
    if (flock(display->lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    fd_closep(&display->lock);
    return false;
}

static void begin(struct host *host, int64_t now)
{
    struct host_display *display = &host->display;
    struct err ignored = ERR_INIT;
    struct tmux_show show = {.state = NULL};

    if (is_news(host, now)) {
        show.state = host->attention.class == ATTENTION_FAILED
                         ? turn_outcome_name(host->attention.turn)
                         : agent_state_name(host->told.state);
        show.waits = waits(host);
        display->state = host->told.state;
        display->waits = show.waits;
    }
    display->due = now + PAUSE_MS;
    display->space = now + SPACE_MS;
    attention_asked(host);
    if (tmux_show_start(host->session.tmux_socket, host->pane_id, &show, &display->proc,
                        &ignored) == 0)
        display->runs = true;
    else
        attention_answered(host, false);
}

int64_t display_tick(struct host *host, int64_t now)
{
    struct host_display *display = &host->display;

    if (display->runs && now >= display->proc.deadline) {
        proc_abandon(&display->proc);
        display->runs = false;
        attention_answered(host, false);
    }
    if (display->runs)
        return display->proc.deadline;
    if (display->lock != -1 && now < display->space)
        return display->space;
    unlock(display);
    if (host->leaving || host->pane_id[0] == '\0' || (!is_news(host, now) && !attention_asks(host)))
        return display->on && now < display->first ? display->first : -1;
    if (now < display->due)
        return display->due;
    if (!try_lock(host)) {
        display->due = now + SPACE_MS + SPREAD_MS * (host->pid % 10);
        return display->due;
    }
    begin(host, now);
    return display->runs ? display->proc.deadline : display->space;
}

void display_want(const struct host *host, struct loop *loop)
{
    if (host->display.runs)
        loop_want(loop, host->display.proc.end_fd, POLLIN);
}

void display_serve(struct host *host, struct loop *loop)
{
    struct host_display *display = &host->display;

    if (!display->runs || loop_got(loop, display->proc.end_fd) == 0)
        return;
    display->runs = false;
    attention_answered(host, tmux_show_finish(&display->proc, host->pane_id));
}
