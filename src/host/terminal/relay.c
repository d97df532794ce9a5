#include "host/terminal/terminal.h"

#include "base/time.h"

enum { BATCH = PANE_BUFFER / 2 }; /* after so many bytes at once there is likely more */

/* Reads until the buffer is full or nothing more is there: a read of a terminal returns at most
 * 4 KiB, and log and pane are written once for many reads. */
static size_t read_batch(struct host *host, const char **ret)
{
    struct tty *tty = &host->terminal->tty;
    size_t len = 0;
    size_t n;

    *ret = host->pane.out.data + host->pane.out.end;
    while (!tty->hung && (n = pane_buffer_read(&host->pane.out, tty->master, &tty->hung)) > 0)
        len += n;
    return len;
}

bool relay_drain(struct host *host)
{
    struct terminal *terminal = host->terminal;
    const char *bytes = NULL;
    size_t len = 0;

    if (terminal->tty.master == -1)
        return true;
    do {
        if (!pane_has_room(&host->pane.out, 1))
            pane_write(&host->pane);
        len = read_batch(host, &bytes);
        if (len == 0)
            break;
        host->output_ms = time_epoch_ms();
        host_keep_log(host, bytes, len);
        watcher_output(&terminal->watcher, bytes, len, time_monotonic_ms());
        pane_write(&host->pane);
    } while (len >= BATCH);
    return pane_has_room(&host->pane.out, 1);
}

void relay_want(const struct host *host, struct loop *loop, int64_t now)
{
    const struct terminal *terminal = host->terminal;
    const struct pane *pane = &host->pane;
    bool to_agent = terminal->delivery.blocked ||
                    (!delivery_holds_keys(host, now) && !pane_is_empty(&pane->keys));
    /* a pane that lags behind gets more at once rather than often */
    bool from_agent = !terminal->tty.hung && pane->out.end - pane->out.start < BATCH;

    if (from_agent || to_agent)
        loop_want(loop, terminal->tty.master,
                  (short)((from_agent ? POLLIN : 0) | (to_agent ? POLLOUT : 0)));
}

void relay_serve(struct host *host, struct loop *loop)
{
    if (loop_got(loop, host->terminal->tty.master) != 0)
        (void)relay_drain(host);
}
