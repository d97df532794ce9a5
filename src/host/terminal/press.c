#include "host/terminal/terminal.h"

#include "model/key_names.h"

enum { BETWEEN_MS = 100 }; /* a key close behind Esc is another key for a program */

void press_keys(struct host *host, const char *names)
{
    struct key_presses *press = &host->terminal->press;

    str_addf(&press->names, "%s%s", press->names.len > 0 ? " " : "", names);
}

bool press_is_over(const struct host *host)
{
    return host->terminal->press.names.len == 0;
}

void press_drop(struct host *host)
{
    str_free(&host->terminal->press.names);
}

int64_t press_tick(struct host *host, int64_t now)
{
    struct key_presses *press = &host->terminal->press;
    const char *left = str_text(&press->names);
    char bytes[KEY_BYTES];

    if (press->names.len == 0)
        return -1;
    if (now < press->due)
        return press->due;
    if (!key_next(&left, bytes)) {
        press_drop(host);
        return -1;
    }
    if (tty_type(&host->terminal->tty, bytes, strlen(bytes)) == 0) {
        press->due = now + BETWEEN_MS; /* the program reads nothing now */
        return press->due;
    }
    press->at = now;
    int pause = key_pause(&left);
    press->due = now + (pause > BETWEEN_MS ? pause : BETWEEN_MS);
    watcher_keys(&host->terminal->watcher, bytes, strlen(bytes), now);
    size_t gone = (size_t)(left - press->names.data);
    press->names.len -= gone;
    memmove(press->names.data, left, press->names.len + 1);
    return press->names.len > 0 ? press->due : -1;
}
