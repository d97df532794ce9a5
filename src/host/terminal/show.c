#include "host/backend.h"
#include "host/terminal/terminal.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = PANE_BUFFER / 4 }; /* bytes; each may be shown as four */

/* Adds the words to the agent's history, as a note. */
static int remember(const struct host *host, const char *text, size_t len, const char *from,
                    struct err *err)
{
    _cleanup_store_ struct store *store = NULL;
    struct store_place place = {.query = 0};
    const struct store_message note = {
        .role = ROLE_NOTE, .state = MESSAGE_DONE, .text = text, .len = len, .sender = from};
    int64_t number = 0;

    if (store_open(host->dir, host->session.id, host->agent->id, true, &store, err) == -1 ||
        store_enter(store, CHOICE_CURRENT, NULL, &place, err) == -1)
        return -1;
    int rc = store_add(store, place.query, &note, SYNC_FULL, &number, err);
    store_place_free(&place);
    return rc;
}

void terminal_show(struct host *host, const char *text, size_t len, const char *from)
{
    _cleanup_str_ struct str words = STR_INIT, logged = STR_INIT;
    struct err err = ERR_INIT;

    while (len > 0 && text[len - 1] == '\n')
        len--;
    size_t shown = str_cut(text, len, SHOWN_MAX);
    str_addn(&words, text, shown);
    if (shown < len)
        str_addf(&words, "\n... and %zu more bytes, see: mas history %s %s", len - shown,
                 session_label(&host->root, host->session.id).text, host->agent->id);
    pane_add_words(&logged, str_text(&words));
    host->backend->say(host, str_text(&words));
    host_keep_log(host, logged.data, logged.len);
    if (remember(host, text, len, from, &err) == -1)
        host_log(host, err.text);
    host_log_message(host, from != NULL ? from : "-", len, "shown");
}
