#include "host/backend.h"
#include "host/terminal/terminal.h"

enum { SHOWN_MAX = PANE_BUFFER / 4 }; /* bytes; each may be shown as four */

/* Adds the words to the agent's history, as a note. */
static int write_note(struct store *store, struct unwritten_write *write, struct err *err)
{
    struct store_place place = {.query = 0};
    const struct store_message note = {.role = ROLE_NOTE,
                                       .state = MESSAGE_DONE,
                                       .text = write->text[0],
                                       .len = write->len,
                                       .sender = write->text[1]};

    if (store_enter(store, CHOICE_CURRENT, NULL, &place, err) == -1)
        return -1;
    int rc = store_add(store, place.query, &note, SYNC_FULL, &write->number, err);
    store_place_free(&place);
    return rc;
}

void terminal_show(struct host *host, const char *text, size_t len, const char *from)
{
    _cleanup_str_ struct str words = STR_INIT, logged = STR_INIT;

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
    const struct unwritten_write note = {.run = write_note, .text = {text, from}, .len = len};
    delivery_write(host, &note);
    host_log_message(host, from != NULL ? from : "-", len, "shown");
}
