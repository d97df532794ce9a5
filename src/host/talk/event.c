/*
 * An event goes to all who listen, and to the client that waits for the prompt that it belongs to.
 * The host never waits for them: while one has left too much unread, the agent is not read, and one
 * that does not read on is dropped after a while. Long texts are told in pieces, and names and
 * lists are cut, so that an event fits a frame.
 */

#include "host/talk/event.h"

#include "base/number.h"
#include "base/time.h"
#include "host/server.h"
#include "model/picture.h"
#include "protocol/host.h"

enum {
    /* who has left HOST_BACKLOG unread for so long, and read less than that of it, is dropped */
    FULL_MS = 1000, /* a listener */
    FULL_ASKER_MS = 60000, /* a client that waits for its own prompt, which may be in a pipe */
    FULL_READ = 256 * 1024, /* bytes */
    NOTE_SHOWN = 2048, /* bytes */
    BODY_MAX = FRAME_BODY_MAX,
};

const char *event_id(const struct host *host, int64_t number, char *buf)
{
    (void)snprintf(buf, EVENT_ID_MAX, "%s:%" PRId64, host->session.id, number);
    return buf;
}

int64_t event_number(const struct host *host, const char *id)
{
    size_t len = strlen(host->session.id);
    uint64_t number = 0;

    if (strncmp(id, host->session.id, len) == 0 && id[len] == ':')
        id += len + 1;
    bool late = id[0] == '-'; /* the store has not taken it yet */
    if (!number_parse_count(id + late, INT64_MAX, &number))
        return 0;
    return late ? -(int64_t)number : (int64_t)number;
}

void event_open(struct client_event *event, const char *name)
{
    *event = (struct client_event){.head = STR_INIT};
    event->out.to = &event->head;
    json_open(&event->out, NULL, '{');
    json_put(&event->out, "event", name);
}

/* Returns true if an event of prompt `number` is for this client. */
static bool wants(const struct client *client, int64_t number)
{
    return client->kind == CLIENT_LISTENS ||
           (client->kind == CLIENT_ASKS && number != 0 && client->prompt == number);
}

/* Returns true if a client has left too much unread. */
static bool is_full(const struct client *client)
{
    return conn_unsent(&client->conn) > HOST_BACKLOG;
}

/* Sends a frame, and keeps it for listeners that come later. */
static void give(struct host *host, const struct str *head, const char *body, size_t len,
                 int64_t number)
{
    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        if (!wants(client, number))
            continue;
        conn_add(&client->conn, head, body, len);
        if (client->full_since == 0 && is_full(client)) {
            client->full_since = time_monotonic_ms();
            client->full_unread = conn_unsent(&client->conn);
        }
    }
    server_keep_early(host, SERVER_LISTENERS, head, body, len);
}

int64_t event_tick_listeners(struct host *host, int64_t now)
{
    int64_t next = -1;

    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        if (client->full_since == 0)
            continue;
        size_t unread = conn_unsent(&client->conn);
        if (unread + FULL_READ <= client->full_unread) { /* it reads on */
            client->full_since = now;
            client->full_unread = unread;
        }
        int64_t until =
            client->full_since + (client->kind == CLIENT_ASKS ? FULL_ASKER_MS : FULL_MS);
        if (!is_full(client))
            client->full_since = 0;
        else if (now >= until)
            server_hang_up(client); /* server_serve() drops it then */
        else
            next = time_sooner(next, until);
    }
    return next;
}

bool event_has_full_listener(const struct host *host)
{
    for (size_t i = 0; i < host->server.count; i++)
        if (host->server.clients[i].full_since != 0 && is_full(&host->server.clients[i]))
            return true;
    return false;
}

/* Ends the object, and replaces an event that no frame can hold. */
static void close_event(struct client_event *event, const char **body, size_t *len)
{
    json_close(&event->out, '}');
    if (event->head.len >= FRAME_HEAD_MAX) { /* its parts have limits, so this is a safety net */
        str_free(&event->head);
        event_open(event, "note");
        json_put(&event->out, "message", NULL);
        json_close(&event->out, '}');
        *body = "a message is too long to show; see it with: mas history";
        *len = strlen(*body);
    }
    if (*len > BODY_MAX)
        *len = BODY_MAX;
}

void event_tell(struct host *host, struct client_event *event, const char *body, size_t len,
                int64_t number)
{
    close_event(event, &body, &len);
    give(host, &event->head, body, len, number);
    str_free(&event->head);
}

void event_tell_one(struct client *client, struct client_event *event, const char *body, size_t len)
{
    close_event(event, &body, &len);
    conn_add(&client->conn, &event->head, body, len);
    str_free(&event->head);
}

void event_tell_text(struct host *host, const char *name, int64_t message, size_t at,
                     const char *text, size_t len)
{
    char id[EVENT_ID_MAX];
    const struct talk *talk = host->talk;
    /* notes also go to those who wait for a turn to begin */
    int64_t prompt = strcmp(name, "note") == 0 ? turn_next_prompt(talk) : turn_prompt(talk);

    while (len > 0) {
        size_t piece = len <= BODY_MAX ? len : str_fit(text, BODY_MAX);
        struct client_event event;
        event_open(&event, name);
        json_put(&event.out, "message", message > 0 ? event_id(host, message, id) : NULL);
        json_put_int(&event.out, "at", (int64_t)at);
        event_tell(host, &event, text, piece, prompt);
        host->talk->ops->show(host, name, text, piece);
        text += piece;
        at += piece;
        len -= piece;
    }
}

/* Begins an event with the members of a prompt. */
static void open_prompt(const struct host *host, const char *name, const struct prompt *prompt,
                        struct client_event *event, struct pictures *ret_pictures)
{
    char id[EVENT_ID_MAX];

    event_open(event, name);
    json_put(&event->out, "prompt", event_id(host, prompt->number, id));
    json_put(&event->out, "from", strcmp(prompt->from, "-") != 0 ? prompt->from : NULL);
    pictures_of(prompt->data, ret_pictures);
    pictures_put(ret_pictures, &event->out);
}

void event_tell_queued(struct host *host, const struct prompt *prompt)
{
    struct pictures pictures;
    struct client_event event;

    open_prompt(host, "queued", prompt, &event, &pictures);
    event_tell(host, &event, prompt->text, prompt->len, prompt->number);
}

void event_tell_prompt(struct host *host, const struct prompt *prompt, bool steered)
{
    _cleanup_str_ struct str shown = STR_INIT;
    struct pictures pictures;
    struct client_event event;

    open_prompt(host, "prompt", prompt, &event, &pictures);
    json_open(&event.out, "tags", '[');
    for (char **tag = prompt->tags; tag != NULL && *tag != NULL; tag++)
        json_put(&event.out, NULL, *tag);
    json_close(&event.out, ']');
    if (steered)
        json_put_bool(&event.out, "steered", true);
    event_tell(host, &event, prompt->text, prompt->len, prompt->number);
    pictures_say(&pictures, &shown);
    str_addn(&shown, prompt->text, prompt->len);
    host->talk->ops->show(host, "prompt", str_text(&shown), shown.len);
}

void event_tell_end(struct host *host, int64_t prompt, const char *stop_reason, int64_t code,
                    const char *error)
{
    struct client_event event;
    char id[EVENT_ID_MAX];

    event_open(&event, "end");
    json_put(&event.out, "prompt", event_id(host, prompt, id));
    json_put(&event.out, "stopReason", stop_reason);
    if (error != NULL) {
        json_put_int(&event.out, "code", code);
        json_put(&event.out, "error", error);
    }
    event_tell(host, &event, NULL, 0, prompt);
    _cleanup_free_ char *line =
        mem_printf("%s%s%s", stop_reason, error != NULL ? ": " : "", error != NULL ? error : "");
    host->talk->ops->show(host, "end", line, strlen(line));
    server_release_asker(host, prompt);
}

void abilities_put(const struct abilities *can, struct json_out *out)
{
    if (!can->known) {
        json_put(out, "can", NULL);
        return;
    }
    json_put_all(out, JO("can"), JB("now", can->now), JB("aside", can->aside),
                 JB("pictures", can->pictures), JB("kept", can->kept),
                 JB("deleteKept", can->delete_kept), JOE);
}

void event_tell_state(struct host *host, const struct agent_status *status)
{
    struct talk *talk = host->talk;
    enum agent_state state = status->state;
    const char *note = status->note != NULL ? status->note : "";

    if (talk->told_note != NULL && state == talk->told_state && strcmp(note, talk->told_note) == 0)
        return;
    talk->told_state = state;
    free(talk->told_note);
    talk->told_note = mem_dup(note);
    struct client_event event;
    event_open(&event, "state");
    json_put(&event.out, "state", agent_state_name(state));
    json_put_fit(&event.out, "note", note, NOTE_SHOWN);
    if (status->until_ms != 0)
        json_put_int(&event.out, "untilMs", status->until_ms);
    if (status->retry_ms != 0)
        json_put_int(&event.out, "retryAtMs", status->retry_ms);
    event_tell(host, &event, NULL, 0, turn_prompt(talk));
}
