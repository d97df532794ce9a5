/*
 * Agents get a tail when they come on the screen and lose it when they leave. Of an agent that
 * tells what it does the host is asked to listen first and the store is read then, so that nothing
 * between the two is missed. The log of another one is read when its size has changed, only its
 * end, and then its host is asked for its status, which has the title. Only a few stores and logs
 * are read in one turn of the loop.
 */

#include "top/tails.h"

#include "base/term_text.h"
#include "base/time.h"
#include "memory/store.h"
#include "os/log_read.h"
#include "os/path.h"
#include "store/workspace.h"
#include "top/tail.h"

enum {
    LOG_MS = 1000, /* between two looks at a log */
    LOG_FULL_MS = 200, /* likewise, of the chosen agent */
    LOG_BYTES = 4 * 1024, /* of a log, for its last line */
    LOG_FULL_BYTES = 64 * 1024,
    RETRY_MS = 1000,
    REST_MS = 40, /* between two turns that read the hosts */
    PAST_MESSAGES = 24,
    LOADS = 2, /* stores and logs that are read in one turn */
    TOOL_SHOWN = 8 * 1024, /* bytes of a tool's text */
};

/* ---- which agents */

static void drop(struct top_agent *agent)
{
    tail_free(agent->tail);
    agent->tail = NULL;
}

/* Gives the agent a tail; the lines of the chosen one are read anew. */
static void show(struct top_agent *agent, bool full)
{
    if (!agent->told)
        return;
    if (agent->tail != NULL && agent->tail->tells != agent->status.talks)
        drop(agent);
    if (agent->tail == NULL)
        agent->tail = tail_new(agent->status.talks);
    agent->tail->visible = true;
    if (agent->tail->full == full)
        return;
    agent->tail->full = full;
    agent->tail->loaded = false;
    agent->tail->log_size = -1;
    if (!agent->tail->tells)
        agent->tail->next_ms = 0;
    tail_clear(agent->tail);
}

/* Calls `act` for each agent that has a tail. */
static void each_tail(struct tails *tails,
                      void (*act)(struct tails *tails, struct top_agent *agent))
{
    for (size_t t = 0; t < tails->table->count; t++) {
        struct top_team *team = tails->table->teams[t];
        for (size_t i = 0; i < team->count; i++)
            if (team->agents[i].tail != NULL)
                act(tails, &team->agents[i]);
    }
}

static void hide(struct tails *tails, struct top_agent *agent)
{
    (void)tails;
    agent->tail->visible = false;
}

static void drop_hidden(struct tails *tails, struct top_agent *agent)
{
    (void)tails;
    if (!agent->tail->visible)
        drop(agent);
}

void tails_show(struct tails *tails, struct top_agent *const *agents, size_t count,
                struct top_agent *chosen)
{
    each_tail(tails, hide);
    for (size_t i = 0; i < count; i++)
        show(agents[i], agents[i] == chosen);
    if (chosen != NULL)
        show(chosen, true);
    each_tail(tails, drop_hidden);
}

/* ---- what was said before */

static enum paint paint_of(const struct store_item *item)
{
    switch (item->role) {
    case ROLE_USER:
        return PAINT_BOLD;
    case ROLE_AGENT:
        return PAINT_PLAIN;
    case ROLE_TOOL:
        return item->state == MESSAGE_FAILED ? PAINT_BAD : PAINT_WORKING;
    default:
        return PAINT_DIM;
    }
}

static bool on_item(const struct store_item *item, void *arg)
{
    struct agent_tail *tail = arg;
    const char *newline = memchr(item->text, '\n', item->len);
    size_t first = newline != NULL ? (size_t)(newline - item->text) : item->len;
    bool is_tool = item->role == ROLE_TOOL;

    bool waits = item->role == ROLE_USER && item->state == MESSAGE_OPEN;

    if (waits && tail->unbegun == 0)
        tail->unbegun = item->number;
    if (item->role == ROLE_PERMISSION || waits)
        return true;
    if (is_tool && newline != NULL && item->key != NULL)
        tail_detail(tail, item->key, newline + 1,
                    str_cut(newline + 1, item->len - first - 1, TOOL_SHOWN));
    if (item->role == ROLE_USER)
        tail_add(tail, PAINT_BOLD, "> ", 2);
    tail->open = item->role == ROLE_USER && tail->full;
    tail_piece(tail, paint_of(item), item->text, is_tool ? first : item->len);
    tail->open = item->state == MESSAGE_OPEN;
    if (item->number > tail->known) { /* an answer stands before a prompt that was given earlier */
        tail->known = item->number;
        tail->known_len = item->len;
    }
    return true;
}

/* Reads the newest messages; what cannot be read is not shown. */
static void load_past(struct tails *tails, struct top_agent *agent)
{
    _cleanup_store_ struct store *store = NULL;
    _cleanup_close_ int dir = workspace_open(tails->root, agent->team->id);
    struct err ignored = ERR_INIT;
    const struct store_filter filter = {
        .agent = agent->id,
        .conversation = agent->status.conversation,
        .newest = true,
        .by_turn = agent->tail->full, /* else the last line is that of the newest message */
        .limit = agent->tail->full ? PAST_MESSAGES : 2,
    };

    agent->tail->loaded = true;
    if (dir == -1 || agent->status.conversation[0] == '\0')
        return;
    tail_clear(agent->tail);
    if (store_open(dir, agent->team->id, NULL, false, &store, &ignored) == 0)
        (void)store_read(store, &filter, on_item, agent->tail, &ignored);
}

/* ---- hosts of agents that tell */

/* A host tells watchers of a new state, not of a new title of a program on a terminal. So it is
 * asked when the log has grown. */
static void keep_status(struct top_agent *agent, const struct json *head)
{
    struct agent_status status;
    struct err ignored = ERR_INIT;

    if (!agent->told || hosts_reply_error(head, &ignored) == -1 ||
        agent_status_parse(head, &status, &ignored) == -1)
        return;
    agent_status_free(&agent->status);
    agent->status = status;
}

static bool on_frame(const struct frame *frame, const int64_t *asked, void *arg)
{
    struct top_agent *agent = arg;
    struct host_event event;

    if (!agent->tail->tells) {
        keep_status(agent, frame->head);
        return true;
    }
    if (asked != NULL) {
        tail_greet(agent->tail, frame->head);
        agent->tail->greeted = true;
        agent->tail->loaded = false;
    }
    if (host_event_parse(frame->head, frame->body, frame->body_len, &event))
        tail_event(agent->tail, &event);
    return false;
}

static void connect_tail(struct tails *tails, struct top_agent *agent)
{
    _cleanup_close_ int dir = workspace_open(tails->root, agent->team->id);
    _cleanup_close_ int run = dir == -1 ? -1 : path_open_dir(dir, WORKSPACE_RUN);
    struct err ignored = ERR_INIT;

    const char *request = agent->tail->tells ? "{\"do\":\"listen\"}" : "{\"do\":\"status\"}";
    if (host_connection_open(&agent->tail->host, run, agent->id, &ignored) == HOST_PENDING)
        (void)host_connection_ask(&agent->tail->host, 1, request, NULL, 0);
}

/* ---- logs of the others */

struct log_lines {
    struct agent_tail *tail;
};

static void on_line(const char *line, size_t len, void *arg)
{
    struct log_lines *lines = arg;
    tail_add(lines->tail, PAINT_PLAIN, line, len);
}

static void read_log(struct agent_tail *tail, int logs, const char *name)
{
    _cleanup_log_reader_ struct log_reader reader = LOG_READER_INIT;
    struct log_lines lines = {tail};
    struct term_text term = {.columns = 0};
    struct err ignored = ERR_INIT;
    off_t most = tail->full ? LOG_FULL_BYTES : LOG_BYTES;
    char bytes[4096];
    ssize_t n;

    if (log_reader_open(&reader, logs, name, &ignored) == -1)
        return;
    off_t at = log_reader_start(&reader);
    if (log_reader_end(&reader) - at > most)
        at = log_reader_end(&reader) - most;
    tail_clear(tail);
    while ((n = log_read(&reader, &at, bytes, sizeof bytes, &ignored)) > 0)
        term_text_feed(&term, bytes, (size_t)n, on_line, &lines);
    term_text_end(&term, on_line, &lines);
    term_text_free(&term);
}

/* Reads the log if it has changed. Returns true if it was read. Most have not: so one call looks.
 */
static bool look_at_log(struct tails *tails, struct top_agent *agent, int64_t now)
{
    struct agent_tail *tail = agent->tail;
    _cleanup_free_ char *name = mem_printf(WORKSPACE_AGENT_LOG, agent->id);
    _cleanup_free_ char *path = mem_printf("%s/" WORKSPACE_LOGS "/%s", agent->team->id, name);
    struct stat st;

    tail->next_ms = now + (tail->full ? LOG_FULL_MS : LOG_MS);
    if (fstatat(tails->root->sessions, path, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
        (st.st_ino == tail->log && st.st_size == tail->log_size))
        return false;
    _cleanup_close_ int dir = workspace_open(tails->root, agent->team->id);
    _cleanup_close_ int logs = dir == -1 ? -1 : path_open_dir(dir, WORKSPACE_LOGS);
    if (logs == -1)
        return false;
    tail->log = st.st_ino;
    tail->log_size = st.st_size;
    read_log(tail, logs, name);
    tails->table->changed = true;
    return true;
}

/* ---- the loop */

static bool wants_load(const struct agent_tail *tail)
{
    return tail->tells && tail->greeted && !tail->loaded;
}

static void want(struct tails *tails, struct top_agent *agent)
{
    const struct agent_tail *tail = agent->tail;

    if (tail->host.conn.fd != -1 && tails->reads)
        conn_want(&tail->host.conn, tails->loop);
    if (wants_load(tail))
        tails->until = 0;
    else if (tail->host.conn.fd == -1 || !tail->tells)
        tails->until = time_sooner(tails->until, tail->next_ms);
}

int64_t tails_want(struct tails *tails, struct loop *loop)
{
    tails->reads = time_monotonic_ms() >= tails->rest_ms;
    tails->until = tails->reads ? -1 : tails->rest_ms;
    tails->loop = loop;
    each_tail(tails, want);
    return tails->until;
}

static void read_host(struct tails *tails, struct top_agent *agent)
{
    struct agent_tail *tail = agent->tail;
    struct err ignored = ERR_INIT;
    short events = tails->reads ? loop_got(tails->loop, tail->host.conn.fd) : 0;

    if (events == 0)
        return;
    tails->table->changed = true;
    tails->rest_ms = tails->now + REST_MS;
    if (host_connection_turn(&tail->host, events, on_frame, agent, &ignored) != HOST_PENDING)
        host_connection_close(&tail->host);
}

static void turn_teller(struct tails *tails, struct top_agent *agent)
{
    struct agent_tail *tail = agent->tail;

    if (tail->host.conn.fd == -1 && tails->now >= tail->next_ms) {
        tail->next_ms = tails->now + RETRY_MS;
        connect_tail(tails, agent);
    }
    if (wants_load(tail) && tails->loads > 0) {
        load_past(tails, agent);
        tails->table->changed = true;
        tails->loads--;
    }
}

static void turn(struct tails *tails, struct top_agent *agent)
{
    struct agent_tail *tail = agent->tail;

    read_host(tails, agent);
    if (tail->tells) {
        turn_teller(tails, agent);
    } else if (tails->loads > 0 && tails->now >= tail->next_ms &&
               look_at_log(tails, agent, tails->now)) {
        tails->loads--;
        if (tail->host.conn.fd == -1)
            connect_tail(tails, agent);
    }
}

void tails_turn(struct tails *tails, struct loop *loop)
{
    tails->now = time_monotonic_ms();
    tails->loads = LOADS;
    tails->loop = loop;
    each_tail(tails, turn);
}
