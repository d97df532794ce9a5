/*
 * What the client has seen of a session: all messages up to the number `seen`, but of those that
 * may still grow only as many bytes as it was sent. So a text that comes live, and from the store
 * once more after a gap, is sent once. `seen` stands still while old messages are read, or those in
 * between would count as known. The list of conversations is made from the store at each request.
 */

#include "editor/editor_internal.h"

#include "base/number.h"
#include "base/time.h"

enum {
    PAST_MAX = 2000, /* messages sent of a conversation, the newest */
    PAST_TEXT_MAX = 1 << 20, /* bytes of a message */
    LISTED_MAX = 1000, /* conversations */
    LIST_PAGE = 50,
    TITLE_MAX = 100, /* bytes */
    NOTE_MAX = 2048,
};

/* ---- open sessions */

void editor_replace(char **to, const char *text)
{
    char *copy = mem_dup(text);

    free(*to);
    *to = copy;
}

/* Returns the id of a message, "<session id>:<number>". The caller frees it. */
static char *editor_id(const struct editor *editor, int64_t number)
{
    return mem_printf("%s:%" PRId64, editor->spec->session, number);
}

struct editor_session *editor_session(const struct editor *editor, const char *id)
{
    for (size_t i = 0; i < editor->session_count; i++)
        if (strcmp(editor->sessions[i]->id, id) == 0)
            return editor->sessions[i];
    return NULL;
}

struct editor_session *editor_session_add(struct editor *editor, const char *id)
{
    if (editor->session_count == EDITOR_SESSIONS_MAX)
        return NULL;
    struct editor_session *session = mem_alloc(sizeof *session);
    (void)snprintf(session->id, sizeof session->id, "%s", id);
    editor->sessions =
        mem_room(editor->sessions, editor->session_count, sizeof(struct editor_session *));
    editor->sessions[editor->session_count++] = session;
    return session;
}

void editor_session_remove(struct editor *editor, const char *id)
{
    for (size_t i = 0; i < editor->session_count; i++) {
        if (strcmp(editor->sessions[i]->id, id) != 0)
            continue;
        free(editor->sessions[i]);
        editor->sessions[i] = editor->sessions[--editor->session_count];
        return;
    }
}

struct editor_session *editor_current(const struct editor *editor)
{
    return editor->conversation[0] != '\0' ? editor_session(editor, editor->conversation) : NULL;
}

/* ---- messages that the client has seen */

static struct editor_grows *find_growing(struct editor_session *session, int64_t number)
{
    for (size_t i = 0; i < session->grows_count; i++)
        if (session->grows[i].number == number)
            return &session->grows[i];
    return NULL;
}

/* Adds a new message that may grow; replaces the oldest one if the list is full. */
static struct editor_grows *add_growing(struct editor_session *session, int64_t number)
{
    struct editor_grows *grows = &session->grows[session->grows_next];

    session->grows_next = (session->grows_next + 1) % EDITOR_OPEN_MAX;
    if (session->grows_count < EDITOR_OPEN_MAX)
        session->grows_count++;
    *grows = (struct editor_grows){.number = number};
    if (number > session->newest)
        session->newest = number;
    if (!session->reads_past)
        session->seen = session->newest;
    return grows;
}

size_t editor_known(struct editor_session *session, int64_t number, size_t at, size_t len)
{
    if (number == 0)
        return 0; /* the message could not be stored */
    struct editor_grows *grows = find_growing(session, number);
    if (grows == NULL && number <= session->seen)
        return len;
    if (grows == NULL)
        grows = add_growing(session, number);
    size_t known = grows->len <= at ? 0 : grows->len - at;
    if (at + len > grows->len)
        grows->len = at + len;
    return known < len ? known : len;
}

bool editor_known_tool(struct editor_session *session, int64_t number)
{
    if (number <= session->seen)
        return true;
    (void)add_growing(session, number);
    return false;
}

bool editor_known_prompt(struct editor_session *session, int64_t number)
{
    for (size_t i = 0; i < EDITOR_OPEN_MAX; i++)
        if (number != 0 && session->prompts[i] == number)
            return true;
    session->prompts[session->prompts_next] = number;
    session->prompts_next = (session->prompts_next + 1) % EDITOR_OPEN_MAX;
    return false;
}

/* ---- tool calls and notes */

void editor_tool_id(int64_t number, char buf[EDITOR_TOOL_ID])
{
    (void)snprintf(buf, EDITOR_TOOL_ID, "tool-%" PRId64, number);
}

void editor_tool(struct editor *editor, const struct editor_session *session, int64_t number,
                 bool known, const struct json *data, const char *text, size_t len)
{
    char id[EDITOR_TOOL_ID];
    const struct acp_agent_tool tool = {
        .id = id,
        .title = json_get_text(data, "title"),
        .kind = json_get_text(data, "kind"),
        .status = json_get_text(data, "status"),
        .text = text,
        .len = len,
        .known = known,
    };

    editor_tool_id(number, id);
    acp_agent_tool(editor->acp, session->id, &tool);
}

struct editor_tool *editor_find_tool(struct editor *editor, const char *id)
{
    for (size_t i = 0; id != NULL && i < EDITOR_OPEN_MAX; i++)
        if (editor->tools[i].id != NULL && strcmp(editor->tools[i].id, id) == 0)
            return &editor->tools[i];
    return NULL;
}

struct editor_tool *editor_add_tool(struct editor *editor, const char *id, int64_t number)
{
    struct editor_tool *tool = &editor->tools[editor->tool_next];

    editor->tool_next = (editor->tool_next + 1) % EDITOR_OPEN_MAX;
    editor_replace(&tool->id, id);
    tool->number = number;
    return tool;
}

void editor_note(struct editor *editor, const struct editor_session *session, int64_t number,
                 const char *words)
{
    char id[EDITOR_TOOL_ID];
    _cleanup_free_ char *title = mem_printf("mas: %.*s", NOTE_MAX, words);
    const struct acp_agent_tool tool = {
        .id = id, .title = title, .kind = "other", .status = "completed"};

    if (number != 0)
        (void)snprintf(id, sizeof id, "note-%" PRId64, number);
    else
        (void)snprintf(id, sizeof id, "mas-%" PRId64, ++editor->notes);
    acp_agent_tool(editor->acp, session->id, &tool);
}

/* ---- messages of a session */

static int open_store(const struct editor *editor, struct store **ret, struct err *err)
{
    return store_open(editor->spec->dir, editor->spec->session, NULL, false, ret, err);
}

struct replay {
    struct editor *editor;
    struct editor_session *session;
};

static void show_text(const struct replay *replay, const struct store_item *item,
                      enum acp_update_kind kind)
{
    size_t len = item->len < PAST_TEXT_MAX ? item->len : PAST_TEXT_MAX;
    size_t known = editor_known(replay->session, item->number, 0, len);
    _cleanup_free_ char *id = editor_id(replay->editor, item->number);

    if (known < len)
        acp_agent_chunk(replay->editor->acp, replay->session->id, kind, id, item->text + known,
                        len - known);
}

static void show_data(const struct replay *replay, const struct store_item *item)
{
    _cleanup_json_ struct json *data = NULL;
    struct err ignored = ERR_INIT;
    bool grows = find_growing(replay->session, item->number) != NULL;

    if ((item->number <= replay->session->seen && !grows) || item->data == NULL ||
        json_parse(item->data, strlen(item->data), STORE_TEXT_MAX, &data, &ignored) == -1)
        return;
    bool known = editor_known_tool(replay->session, item->number);
    if (item->role == ROLE_PLAN) {
        acp_agent_plan(replay->editor->acp, replay->session->id, data);
        return;
    }
    const char *text = memchr(item->text, '\n', item->len); /* after the title */
    size_t len = text != NULL ? item->len - (size_t)(text + 1 - item->text) : 0;
    editor_tool(replay->editor, replay->session, item->number, known, data,
                text != NULL ? text + 1 : NULL, len < PAST_TEXT_MAX ? len : PAST_TEXT_MAX);
}

static bool show_item(const struct store_item *item, void *arg)
{
    const struct replay *replay = arg;
    struct editor_session *session = replay->session;
    size_t waiting = 0;

    if (session->query > 0 && item->query != session->query)
        editor_note(replay->editor, session, 0, "the context was cleared");
    session->query = item->query;
    switch (item->role) {
    case ROLE_USER:
        if (item->state != MESSAGE_OPEN && !editor_known_prompt(session, item->number)) {
            _cleanup_free_ char *id = editor_id(replay->editor, item->number);
            _cleanup_str_ struct str names = STR_INIT;
            struct pictures pictures;
            pictures_of(item->data, &pictures);
            pictures_say(&pictures, &names);
            if (names.len > 0)
                acp_agent_chunk(replay->editor->acp, session->id, ACP_USER, id, names.data,
                                names.len);
            acp_agent_chunk(replay->editor->acp, session->id, ACP_USER, id, item->text,
                            item->len < PAST_TEXT_MAX ? item->len : PAST_TEXT_MAX);
        }
        break;
    case ROLE_AGENT:
        show_text(replay, item, ACP_TEXT);
        break;
    case ROLE_THOUGHT:
        show_text(replay, item, ACP_THOUGHT);
        break;
    case ROLE_TOOL:
    case ROLE_PLAN:
        show_data(replay, item);
        break;
    case ROLE_NOTE:
        if (!editor_known_tool(session, item->number)) {
            _cleanup_free_ char *words = mem_dupn(item->text, item->len);
            editor_note(replay->editor, session, item->number, words);
        }
        break;
    case ROLE_PERMISSION:
    case ROLE_MODE:
    case ROLE_COUNT:
    default:
        break;
    }
    (void)acp_agent_out(replay->editor->acp, &waiting);
    return waiting < ACP_AGENT_OUT_MAX / 2;
}

/* Returns the number after which all messages follow that are unseen or may grow. */
static int64_t first_unseen(const struct editor_session *session)
{
    int64_t first = session->seen;

    for (size_t i = 0; i < session->grows_count; i++)
        if (session->grows[i].number <= first)
            first = session->grows[i].number - 1;
    for (size_t i = 0; session->seen != 0 && i < EDITOR_OPEN_MAX; i++)
        if (session->prompts[i] != 0 && session->prompts[i] <= first)
            first = session->prompts[i] - 1;
    return first;
}

int editor_show_past(struct editor *editor, struct editor_session *session, struct err *err)
{
    _cleanup_store_ struct store *store = NULL;
    struct replay replay = {.editor = editor, .session = session};
    const struct store_filter filter = {.agent = editor->spec->agent,
                                        .conversation = session->id,
                                        .after = first_unseen(session),
                                        .newest = true,
                                        .by_turn = true,
                                        .limit = PAST_MAX};

    if (open_store(editor, &store, err) == -1)
        return err->code == MAS_NOT_FOUND ? 0 : -1;
    session->reads_past = true;
    int rc = store_read(store, &filter, show_item, &replay, err);
    session->reads_past = false;
    session->seen = session->newest;
    if (session->query == 0)
        session->query = -1;
    return rc;
}

/* ---- the list of sessions */

struct listed {
    char id[EDITOR_ID];
    int64_t time_ms; /* of the newest message */
    int64_t messages;
    char *title;
    size_t place; /* the later conversation has the higher one */
};

struct conversation_list {
    struct listed *items;
    size_t count;
    const char *wanted; /* list only this conversation; NULL: all */
};

static bool read_query(const struct store_query *query, void *arg)
{
    struct conversation_list *all = arg;
    size_t i = 0;

    if (all->wanted != NULL && strcmp(all->wanted, query->conversation) != 0)
        return true;
    while (i < all->count && strcmp(all->items[i].id, query->conversation) != 0)
        i++;
    if (i == all->count) {
        if (all->count == LISTED_MAX) { /* drop the oldest */
            memmove(all->items, all->items + 1, --all->count * sizeof *all->items);
            i--;
        }
        all->items = mem_room(all->items, all->count, sizeof *all->items);
        all->items[all->count++] = (struct listed){.time_ms = query->started_ms};
        (void)snprintf(all->items[i].id, EDITOR_ID, "%s", query->conversation);
    }
    all->items[i].messages += query->messages;
    if (query->started_ms > all->items[i].time_ms)
        all->items[i].time_ms = query->started_ms;
    return true;
}

int editor_find(const struct editor *editor, const char *id, struct err *err)
{
    _cleanup_store_ struct store *store = NULL;
    struct conversation_list all = {.wanted = id};

    if (strlen(id) < EDITOR_ID && open_store(editor, &store, err) == 0) {
        if (store_queries(store, editor->spec->agent, read_query, &all, err) == -1)
            return -1;
    } else if (err->code != MAS_OK && err->code != MAS_NOT_FOUND) {
        return -1;
    }
    bool found = all.count > 0;
    free(all.items);
    if (found)
        return 0;
    (void)err_set(err, MAS_NOT_FOUND, "agent '%s' has no conversation '%.*s'", editor->spec->agent,
                  ACP_ID_MAX, id);
    return err_hint(err, "session/list lists the conversations that it has");
}

static bool read_title(const struct store_item *item, void *arg)
{
    struct listed *listed = arg;

    listed->title = mem_dupn(item->text, str_cut(item->text, item->len, TITLE_MAX));
    for (char *c = listed->title; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return false;
}

static bool read_time(const struct store_item *item, void *arg)
{
    ((struct listed *)arg)->time_ms = item->time_ms;
    return true;
}

static int look(struct store *store, const char *agent, struct listed *listed, struct err *err)
{
    struct store_filter filter = {
        .agent = agent, .conversation = listed->id, .newest = true, .limit = 1};

    if (store_read(store, &filter, read_time, listed, err) == -1)
        return -1;
    filter.newest = false;
    filter.roles = 1U << ROLE_USER;
    return store_read(store, &filter, read_title, listed, err);
}

/* Newest first. The order is total, so that pages neither repeat nor skip a conversation. */
static int compare_times(const void *a, const void *b)
{
    const struct listed *x = a;
    const struct listed *y = b;

    if (x->time_ms != y->time_ms)
        return x->time_ms < y->time_ms ? 1 : -1;
    return x->place < y->place ? 1 : x->place > y->place ? -1 : 0;
}

static void put_listed(const struct listed *listed, const char *cwd, struct json_out *out)
{
    char time[TIME_TEXT];

    time_format((time_t)(listed->time_ms / 1000), time);
    json_put_all(out, JO(NULL), JT("sessionId", listed->id), JT("cwd", cwd),
                 JT("title", listed->title), JT("updatedAt", time), JOE);
}

static int collect(const struct editor *editor, struct conversation_list *all, struct err *err)
{
    _cleanup_store_ struct store *store = NULL;
    size_t kept = 0;

    if (open_store(editor, &store, err) == -1)
        return err->code == MAS_NOT_FOUND ? 0 : -1;
    if (store_queries(store, editor->spec->agent, read_query, all, err) == -1)
        return -1;
    for (size_t i = 0; i < all->count; i++) { /* drop conversations without messages */
        if (all->items[i].messages == 0)
            continue;
        if (look(store, editor->spec->agent, &all->items[i], err) == -1)
            return -1;
        all->items[i].place = i;
        all->items[kept++] = all->items[i];
    }
    all->count = kept;
    if (kept > 0)
        qsort(all->items, kept, sizeof *all->items, compare_times);
    return 0;
}

int editor_list(const struct editor *editor, const char *cwd, const char *cursor,
                struct json_out *out, struct err *err)
{
    struct conversation_list all = {.count = 0};
    uint64_t from = 0;

    if (cursor != NULL && !number_parse_count(cursor, LISTED_MAX, &from))
        return err_set(err, MAS_USAGE, "there is no such cursor");
    int rc = collect(editor, &all, err);
    if (rc == 0) {
        json_open(out, NULL, '{');
        json_open(out, "sessions", '[');
        for (size_t i = from; i < all.count && i < from + LIST_PAGE; i++)
            put_listed(&all.items[i], cwd != NULL ? cwd : editor->spec->cwd, out);
        json_close(out, ']');
        if (all.count > from + LIST_PAGE) {
            char next[24];
            (void)snprintf(next, sizeof next, "%zu", (size_t)from + LIST_PAGE);
            json_put(out, "nextCursor", next);
        }
        json_close(out, '}');
    }
    for (size_t i = 0; i < all.count; i++)
        free(all.items[i].title);
    free(all.items);
    return rc;
}
