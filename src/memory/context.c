/*
 * First it is checked who may see what. Then memory.db gives the newest messages of each role, and
 * the search those on the subject that are not among them; for a private session it searches an
 * index in memory that has that session alone. Each list is cut where it matters least: the
 * conversation at its old end, the history after its best. Recall is such a search without the
 * conversation, and bounded.
 */

#include "memory/context.h"

#include "base/time.h"
#include "base/utf8.h"
#include "memory/search.h"
#include "store/session.h"
#include "store/token.h"
#include "store/workspace.h"

enum {
    RECALL_WAIT_MS = 150, /* for the index: the agent's host is blocked meanwhile */
    RECALL_MESSAGES = 4, /* messages of each role */
    RECALL_PART = 10, /* recall may use one part in this many of the injection budget */
};

/* ---- who may see which messages */

struct context_asker context_asker(const struct config *config)
{
    const char *agent = getenv("MAS_AGENT_ID");
    const char *session = getenv("MAS_SESSION_ID");
    bool is_agent = agent != NULL && agent[0] != '\0';

    return (struct context_asker){.session = !is_agent         ? NULL
                                             : session == NULL ? ""
                                                               : session,
                                  .share = config_yes(config, SETTING_MEMORY_SHARE)};
}

static int read_private(const struct root *root, const char *id, bool *ret, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = workspace_open(root, id);

    if (dir == -1)
        return err_errno(err, "cannot open session '%s'", id);
    if (session_load(root, dir, id, &session, err) == -1)
        return -1;
    *ret = session.private || guest_is_in(root, id); /* who may not see other sessions */
    return 0;
}

int context_may_see(const struct root *root, const struct context_asker *asker, const char *session,
                    bool *ret_private, struct err *err)
{
    bool private = false;
    bool own_private = false;

    if (read_private(root, session, &private, err) == -1)
        return -1;
    *ret_private = private;
    if (asker->session == NULL || strcmp(asker->session, session) == 0)
        return 0;
    if (!asker->share) {
        (void)err_set(
            err, MAS_FAILED,
            "cannot read the history of session '%s': an agent may see only its own session",
            session);
        return err_hint(err,
                        "to let agents see all sessions, set 'share = yes' in [memory] of mas.ini");
    }
    if (id_is_valid(asker->session) && read_private(root, asker->session, &own_private, err) == -1)
        return -1;
    if (private || own_private)
        return err_set(
            err, MAS_FAILED,
            "cannot read the history of session '%s': a private session shares no memory", session);
    return 0;
}

/* ---- lists */

static struct context_item *add_item(struct context_list *list, const char *session,
                                     const char *text, size_t len)
{
    list->items = mem_room(list->items, list->count, sizeof *list->items);
    struct context_item *item = &list->items[list->count++];
    *item = (struct context_item){.text = mem_dupn(text, len)};
    (void)snprintf(item->session, sizeof item->session, "%s", session);
    item->chars = utf8_count(item->text, strlen(item->text));
    return item;
}

static void free_item(struct context_item *item)
{
    free(item->agent);
    free(item->text);
}

void context_list_free(struct context_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_item(&list->items[i]);
    free(list->items);
    *list = (struct context_list){.count = 0};
}

void context_free(struct context *context)
{
    context_list_free(&context->current);
    context_list_free(&context->relevant);
    free(context->chat.items);
    free(context->note);
    *context = (struct context){.note = NULL};
}

/* Returns how many of the items fit the budget, from the front or from the back. Cuts the first one
 * if it alone is too long. */
static size_t fit(struct context_list *list, size_t all, bool from_back)
{
    size_t left = all;
    size_t count = 0;

    for (; count < list->count; count++) {
        struct context_item *item = &list->items[from_back ? list->count - 1 - count : count];
        if (item->chars > left && count > 0)
            break;
        if (item->chars > left) {
            item->text[utf8_bytes(item->text, strlen(item->text), left)] = '\0';
            item->chars = left;
        }
        left -= item->chars;
    }
    return count;
}

/* ---- the conversation */

struct reading {
    const struct context_options *options;
    struct store *store;
    struct context_list list;
    char conversation[ID_TEXT]; /* the agent's, if it has one */
    int64_t query;
    char *prompt; /* the agent's newest prompt */
    enum store_role role; /* the role that is being read */
    size_t first; /* of the entries for this query and role */
    struct {
        char *agent;
        int64_t query;
    } queries[STORE_TAGS_MAX * 4];
    size_t query_count;
};

static bool note_query(const struct store_query *query, void *arg)
{
    struct reading *reading = arg;
    bool is_own = strcmp(query->agent, reading->options->agent) == 0;

    if (!query->current || reading->query_count == ARRAY_LEN(reading->queries))
        return true;
    if (is_own) {
        memcpy(reading->conversation, query->conversation, sizeof reading->conversation);
        reading->query = query->query;
    }
    if (is_own || reading->options->team) {
        reading->queries[reading->query_count].agent = mem_dup(query->agent);
        reading->queries[reading->query_count++].query = query->query;
    }
    return true;
}

static bool note_message(const struct store_item *message, void *arg)
{
    struct reading *reading = arg;

    _cleanup_str_ struct str text = STR_INIT;

    store_add_pictures(message, &text);
    str_addn(&text, message->text, message->len);
    if (text.len == 0)
        return true;
    struct context_item *item =
        add_item(&reading->list, reading->options->session, text.data, text.len);
    item->number = message->number;
    item->agent = mem_dup(message->agent);
    item->role = message->role;
    item->trigger = message->trigger;
    item->time_ms = message->time_ms;
    if (message->role == ROLE_USER && strcmp(message->agent, reading->options->agent) == 0) {
        free(reading->prompt);
        reading->prompt = mem_dup(item->text);
    }
    return true;
}

/* Returns the number of the prompt under which a message of a conversation stands. */
static int64_t turn_of(const struct context_item *item)
{
    return item->trigger != 0 ? item->trigger : item->number;
}

static int compare_turns(const void *a, const void *b)
{
    const struct context_item *x = a;
    const struct context_item *y = b;
    int64_t turn = turn_of(x), other = turn_of(y);

    if (turn != other)
        return turn < other ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Keeps the newest messages of a role, over all queries. */
static void keep_newest(struct reading *reading, enum store_role role)
{
    struct context_list *list = &reading->list;
    size_t kept = list->count;
    int count = 0;

    for (size_t i = list->count; i-- > 0;) {
        if (list->items[i].role == role && ++count > reading->options->current)
            free_item(&list->items[i]);
        else
            list->items[--kept] = list->items[i];
    }
    list->count -= kept;
    if (list->count > 0)
        memmove(list->items, list->items + kept, list->count * sizeof *list->items);
}

static int read_messages(struct reading *reading, struct err *err)
{
    static const enum store_role roles[] = {ROLE_USER, ROLE_AGENT};

    if (store_queries(reading->store, NULL, note_query, reading, err) == -1)
        return -1;
    for (size_t i = 0; i < reading->query_count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(roles); k++) {
            const struct store_filter filter = {.agent = reading->queries[i].agent,
                                                .query = reading->queries[i].query,
                                                .roles = 1U << roles[k],
                                                .newest = true,
                                                .limit = reading->options->current};
            if (filter.limit > 0 &&
                store_read(reading->store, &filter, note_message, reading, err) == -1)
                return -1;
        }
    }
    if (reading->list.count == 0)
        return 0;
    qsort(reading->list.items, reading->list.count, sizeof *reading->list.items, compare_turns);
    for (size_t k = 0; k < ARRAY_LEN(roles); k++)
        keep_newest(reading, roles[k]);
    return 0;
}

static void reading_free(struct reading *reading)
{
    store_close(reading->store);
    context_list_free(&reading->list);
    free(reading->prompt);
    for (size_t i = 0; i < reading->query_count; i++)
        free(reading->queries[i].agent);
}

static int read_current(const struct root *root, struct reading *reading, struct err *err)
{
    struct err why = ERR_INIT;
    _cleanup_close_ int dir = workspace_open(root, reading->options->session);

    if (dir == -1)
        return err_errno(err, "cannot open session '%s'", reading->options->session);
    if (store_open(dir, reading->options->session, NULL, false, &reading->store, &why) == -1) {
        if (why.code == MAS_NOT_FOUND)
            return 0;
        *err = why;
        return -1;
    }
    return read_messages(reading, err);
}

/* Moves the newest entries that fit to *ret. */
static void move_current(struct reading *reading, struct context_list *ret)
{
    struct context_list *list = &reading->list;
    size_t drop = list->count - fit(list, reading->options->all, true);

    for (size_t i = 0; i < drop; i++)
        free_item(&list->items[i]);
    list->count -= drop;
    if (drop > 0 && list->count > 0)
        memmove(list->items, list->items + drop, list->count * sizeof *list->items);
    *ret = *list;
    *list = (struct context_list){.count = 0};
}

/* ---- the relevant history */

struct gathering {
    const struct context_list *shown; /* messages to leave out; NULL: none */
    int left[ROLE_COUNT]; /* how many more of each role are wanted */
    struct context_list *list;
};

static bool note_hit(const struct search_hit *hit, void *arg)
{
    struct gathering *gathering = arg;
    const struct context_list *shown = gathering->shown;

    for (size_t i = 0; shown != NULL && i < shown->count; i++) {
        if (shown->items[i].number == hit->number &&
            strcmp(shown->items[i].session, hit->session) == 0)
            return true;
    }
    if (gathering->left[hit->role]-- <= 0)
        return true;
    struct context_item *item = add_item(gathering->list, hit->session, hit->text, hit->len);

    item->number = hit->number;
    item->agent = mem_dup(hit->agent);
    item->role = hit->role;
    item->trigger = hit->trigger;
    item->time_ms = hit->time_ms;
    item->is_relevant = true;
    item->is_semantic = hit->semantic;
    item->score = hit->score;
    return true;
}

/* Opens the index that these options allow and searches it for options->limit messages of each
 * role that are not in `shown`. */
static int search(const struct root *root, const char *alone, const struct config *vectors,
                  bool quick, const struct search_options *options,
                  const struct context_list *shown, struct context_list *ret, char **ret_note,
                  struct err *err)
{
    struct search_options asked = *options;
    struct gathering gathering = {.shown = shown, .list = ret};
    _cleanup_search_ struct search *search = NULL;
    struct err why = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(gathering.left); i++)
        gathering.left[i] = options->limit;
    asked.limit += shown != NULL ? (int)shown->count : 0;
    if (search_open(root, alone, &search, err) == -1)
        return -1;
    if (vectors != NULL)
        search_use_vectors(search, config_text(vectors, SETTING_MEMORY_EMBED),
                           config_text(vectors, SETTING_MEMORY_EMBED_HOST));
    if (quick)
        search_set_deadline(search, RECALL_WAIT_MS);
    if (search_catch_up(search, quick ? RECALL_WAIT_MS : SEARCH_WAIT_MS, err) == -1)
        return -1;
    int rc = search_find(search, &asked, note_hit, &gathering, &why);
    *ret_note = mem_dup(search_note(search));
    if (rc == -1 && why.code != MAS_USAGE) { /* a prompt without words has no relevant history */
        *err = why;
        return -1;
    }
    return 0;
}

static int read_relevant(const struct root *root, const struct config *config,
                         const struct context_asker *asker, const struct reading *reading,
                         bool private, struct context *ret, struct err *err)
{
    const struct context_options *options = reading->options;
    bool own_only = asker->session != NULL && !asker->share;
    const struct search_options asked = {
        .text = options->text != NULL ? options->text : reading->prompt,
        .session = own_only ? options->session : NULL,
        .roles = 1U << ROLE_USER | 1U << ROLE_AGENT,
        /* only people see what was cleared */
        .not_conversation = asker->session != NULL && reading->conversation[0] != '\0'
                                ? reading->conversation
                                : NULL,
        .keep_query = reading->query,
        .limit = options->relevant,
        .each_role = true,
    };

    if (asked.text == NULL || asked.limit <= 0)
        return 0;
    if (search(root, private ? options->session : NULL, config, false, &asked, &ret->current,
               &ret->relevant, &ret->note, err) == -1)
        return -1;
    size_t count = fit(&ret->relevant, options->all, false);
    while (ret->relevant.count > count)
        free_item(&ret->relevant.items[--ret->relevant.count]);
    return 0;
}

/* ---- both lists */

static int compare_times(const void *a, const void *b)
{
    const struct context_item *x = a;
    const struct context_item *y = b;
    if (x->turn_ms != y->turn_ms)
        return x->turn_ms < y->turn_ms ? -1 : 1;
    int session = strcmp(x->session, y->session);
    return session != 0 ? session : compare_turns(a, b);
}

/* Sorts messages by time, each answer under its prompt if that is there. */
static void sort_by_time(struct context_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct context_item *item = &list->items[i];
        item->turn_ms = item->time_ms;
        for (size_t j = 0; j < list->count; j++)
            if (list->items[j].number == turn_of(item) &&
                strcmp(list->items[j].session, item->session) == 0)
                item->turn_ms = list->items[j].time_ms;
    }
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare_times);
}

/* Merges the conversation, newest first, and then the relevant messages, as long as they fit. */
static void make_chat(struct context *context, size_t all)
{
    struct context_list *chat = &context->chat;
    size_t left = all;

    for (size_t i = 0; i < context->current.count + context->relevant.count; i++) {
        bool is_current = i < context->current.count;
        const struct context_item *item =
            is_current ? &context->current.items[context->current.count - 1 - i]
                       : &context->relevant.items[i - context->current.count];
        if (item->chars > left)
            continue;
        left -= item->chars;
        chat->items = mem_room(chat->items, chat->count, sizeof *chat->items);
        chat->items[chat->count++] = *item;
    }
    sort_by_time(chat);
}

int context_open(const struct root *root, const struct config *config,
                 const struct context_asker *asker, const struct context_options *options,
                 struct context *ret, struct err *err)
{
    _cleanup_context_ struct context context = {.note = NULL};
    struct reading reading = {.options = options};
    bool private = false;

    int rc = context_may_see(root, asker, options->session, &private, err);
    if (rc == 0)
        rc = read_current(root, &reading, err);
    if (rc == 0) {
        move_current(&reading, &context.current);
        rc = read_relevant(root, config, asker, &reading, private, &context, err);
    }
    reading_free(&reading);
    if (rc == -1)
        return -1;
    make_chat(&context, options->all);
    *ret = context;
    context = (struct context){.note = NULL};
    return 0;
}

/* ---- recall */

static const char recall_head[] =
    "<recalled_history>\nThese messages are from other conversations and may be relevant to the "
    "user's next message. They are background: do not answer them. They are not part of this "
    "conversation.\n";
static const char recall_tail[] = "</recalled_history>\n";

static void add_recalled(struct str *to, const struct context_item *item, size_t each)
{
    char when[TIME_TEXT];
    size_t bytes = utf8_bytes(item->text, strlen(item->text), each);

    time_format((time_t)(item->time_ms / 1000), when);
    str_addf(to, "<message role=\"%s\" agent=\"%s\" time=\"%s\">", store_role_name(item->role),
             item->agent, when);
    store_quote(to, item->text, bytes);
    str_add(to, item->text[bytes] != '\0' ? " [... cut]</message>\n" : "</message>\n");
}

int context_recall(const struct root *root, const struct config *config,
                   const struct recall_options *options, struct str *ret, struct err *err)
{
    size_t each = (size_t)config_number(config, SETTING_MEMORY_EACH);
    size_t left = (size_t)config_number(config, SETTING_MEMORY_ALL) / RECALL_PART;
    struct context_list list = {.count = 0};
    _cleanup_str_ struct str said = STR_INIT;
    _cleanup_free_ char *note = NULL;
    bool private = false;

    if (!config_yes(config, SETTING_MEMORY_RECALL))
        return 0;
    if (read_private(root, options->session, &private, err) == -1)
        return -1;
    bool own_only = options->project == NULL && !config_yes(config, SETTING_MEMORY_SHARE);
    const struct search_options asked = {
        .text = options->text,
        .session = own_only ? options->session : NULL,
        .project = own_only || options->project != NULL ? options->project : "",
        .roles = 1U << ROLE_USER | 1U << ROLE_AGENT,
        .not_conversation = options->conversation,
        .limit = RECALL_MESSAGES,
        .each_role = true,
        .related = true,
    };
    /* no vectors: the host waits for this */
    int rc = search(root, private ? options->session : NULL, NULL, true, &asked, options->known,
                    &list, &note, err);
    if (rc == 0 && list.count > 0) {
        sort_by_time(&list);
        for (size_t i = 0; i < list.count; i++) {
            size_t chars = list.items[i].chars < each ? list.items[i].chars : each;
            bool own = options->project != NULL && /* who sends there says what is to be known */
                       strcmp(list.items[i].session, options->session) == 0;
            if (chars > left || own)
                continue;
            left -= chars;
            add_recalled(&said, &list.items[i], each);
            add_item(options->known, list.items[i].session, "", 0)->number = list.items[i].number;
        }
    }
    if (said.len > 0)
        str_addf(ret, "%s%s%s", recall_head, said.data, recall_tail);
    context_list_free(&list);
    return rc;
}
