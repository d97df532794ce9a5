/*
 * Which sessions the caller may see is decided first; a private one is searched in an index of its
 * own. The index catches up with the sessions, for at most SEARCH_WAIT_MS, before it is searched.
 * For text all hits are kept, as one that holds none of the words is printed under its nearest
 * match.
 */

#include "memory/search.h"

#include "base/number.h"
#include "base/time.h"
#include "cli/brokered.h"
#include "cli/held_output.h"
#include "cli/history_print.h"
#include "cli/print.h"
#include "cli/roots.h"
#include "cli/words.h"
#include "cmd.h"
#include "memory/context.h"

enum { FOUND = 10 }; /* default number of messages */

/* A hit to print. A hit that contains none of the words is printed under the nearest match of its
 * conversation, if there is one. */
struct shown_hit {
    char *text; /* two lines */
    char *place; /* session id and conversation id */
    int64_t number;
    bool matched;
    size_t under; /* index of that match in `entries`; its own index if there is none */
};

struct hit_list {
    const struct call *call;
    struct str text; /* the JSON output */
    struct json_out out;
    int count;
    struct shown_hit *entries;
    size_t entry_count;
};

/* Appends a snippet; highlights the found words if colours are on. */
static void add_snippet(struct str *to, const char *text)
{
    const char *bold = colour(TINT_GOOD);
    char mark[] = {SEARCH_MARK, SEARCH_MARK_END, '\0'};

    while (*text != '\0') {
        size_t len = strcspn(text, mark);
        str_add_visible(to, text, len);
        text += len;
        if (*text != '\0' && bold != NULL)
            str_add(to, *text == SEARCH_MARK ? bold : "\033[0m");
        text += *text != '\0';
    }
    if (bold != NULL)
        str_add(to, "\033[0m");
}

static void keep_hit(struct hit_list *list, const struct search_hit *hit)
{
    _cleanup_str_ struct str text = STR_INIT;

    history_add_head(&text, hit->session, hit->number, hit->agent, hit->role, hit->time_ms);
    if (hit->compacted)
        str_add(&text, " (before a compaction)");
    str_add(&text, "\n  ");
    add_snippet(&text, hit->snippet);
    list->entries = mem_room(list->entries, list->entry_count, sizeof *list->entries);
    list->entries[list->entry_count] =
        (struct shown_hit){.text = str_steal(&text),
                           .place = mem_printf("%s %s", hit->session, hit->conversation),
                           .number = hit->number,
                           .matched = hit->matched,
                           .under = list->entry_count};
    list->entry_count++;
}

/* Sets entry->under to the nearest match of the same conversation. */
static void place_under(struct hit_list *list, struct shown_hit *entry)
{
    int64_t best = INT64_MAX;

    for (size_t i = 0; i < list->entry_count && !entry->matched; i++) {
        const struct shown_hit *other = &list->entries[i];
        int64_t far = other->number > entry->number ? other->number - entry->number
                                                    : entry->number - other->number;
        if (other->matched && far < best && strcmp(other->place, entry->place) == 0) {
            best = far;
            entry->under = i;
        }
    }
}

static void print_entries(struct hit_list *list)
{
    for (size_t i = 0; i < list->entry_count; i++)
        place_under(list, &list->entries[i]);
    for (size_t i = 0; i < list->entry_count; i++) {
        if (list->entries[i].under != i)
            continue;
        printf("%s\n", list->entries[i].text);
        for (size_t j = 0; j < list->entry_count; j++) {
            const char *text = list->entries[j].text;
            size_t head = strcspn(text, "\n");
            if (j != i && list->entries[j].under == i)
                printf("    beside it: %.*s\n    %s\n", (int)head, text, text + head + 1);
        }
    }
}

static void free_entries(struct hit_list *list)
{
    for (size_t i = 0; i < list->entry_count; i++) {
        free(list->entries[i].text);
        free(list->entries[i].place);
    }
    free(list->entries);
}

static void put_hit(struct json_out *out, const struct search_hit *hit)
{
    _cleanup_free_ char *id = mem_printf("%s:%lld", hit->session, (long long)hit->number);
    _cleanup_free_ char *trigger = mem_printf("%s:%lld", hit->session, (long long)hit->trigger);
    _cleanup_free_ char *text = mem_dupn(hit->text, hit->len);
    _cleanup_str_ struct str snippet = STR_INIT;
    char score[32];
    char when[TIME_TEXT];

    for (const char *p = hit->snippet; *p != '\0'; p++) {
        if (*p != SEARCH_MARK && *p != SEARCH_MARK_END)
            str_addc(&snippet, *p);
    }
    time_format((time_t)(hit->time_ms / 1000), when);
    (void)snprintf(score, sizeof score, "%.6f", hit->score);
    json_put_all(out, JO(NULL), JT("id", id), JT("sessionId", hit->session),
                 JT("agent", hit->agent), JT("conversation", hit->conversation),
                 JT("role", store_role_name(hit->role)), JT("time", when),
                 JT("triggerId", hit->trigger != 0 ? trigger : NULL), JR("tags", hit->tags),
                 JR("score", score), JB("compacted", hit->compacted),
                 JT("snippet", str_text(&snippet)), JT("text", text), JOE);
}

static bool show(const struct search_hit *hit, void *arg)
{
    struct hit_list *list = arg;

    list->count++;
    if (list->call->json)
        put_hit(&list->out, hit);
    else if (list->call->quiet)
        printf("%s:%lld\n", hit->session, (long long)hit->number);
    else
        keep_hit(list, hit);
    return true;
}

static int read_role(const struct call *call, unsigned *ret, struct err *err)
{
    const char *text = call_opt(call, "role");
    enum store_role role;

    if (text == NULL)
        return 0;
    if (!store_role_parse(text, &role) || (SEARCH_ROLES >> role & 1) == 0)
        return call_bad_value(call, "role", "user, agent or tool", err);
    *ret = 1U << role;
    return 0;
}

/* Reads the options except --session, which find_session() reads. */
static int read_options(const struct call *call, struct search_options *ret, struct err *err)
{
    const char *limit = call_opt(call, "limit");
    uint64_t count = FOUND;

    if (limit != NULL && (!number_parse_count(limit, SEARCH_FOUND_MAX, &count) || count == 0))
        return call_bad_value(call, "limit", "a number from 1 to 1000", err);
    ret->limit = (int)count;
    ret->agent = call_opt(call, "agent");
    ret->tag = call_opt(call, "tag");
    if (ret->agent != NULL && !str_is_word(ret->agent, 32))
        return call_bad_value(call, "agent", "an agent's id", err);
    if (ret->tag != NULL && strchr(ret->tag, ':') == NULL)
        return call_bad_value(call, "tag", "KEY:VALUE", err);
    return read_role(call, &ret->roles, err) == -1 ||
                   call_past(call, "since", &ret->since_ms, err) == -1 ||
                   call_past(call, "until", &ret->until_ms, err) == -1
               ? -1
               : 0;
}

/* Finds the only session to search; `id` is "" for all sessions. *ret_alone: that session is
 * private and has its own index. */
static int find_session(const struct call *call, char id[ID_TEXT], struct search_options *options,
                        bool *ret_alone, struct err *err)
{
    struct context_asker asker = context_asker(&call->config);
    const char *text = call_opt(call, "session");
    bool private = false;

    id[0] = '\0';
    if (text != NULL && call_select(call, text, id, err) == -1)
        return -1;
    if (asker.session != NULL &&
        id[0] == '\0') { /* an agent searches its own session, unless it may see all */
        if (!id_normalise(asker.session, id))
            return err_set(err, MAS_FAILED,
                           "cannot search: MAS_SESSION_ID of agent '%s' is not a session id",
                           getenv("MAS_AGENT_ID"));
        if (context_may_see(&call->root, &asker, id, &private, err) == -1)
            return -1;
        if (asker.share && !private)
            id[0] = '\0';
    } else if (id[0] != '\0' && context_may_see(&call->root, &asker, id, &private, err) == -1) {
        return -1;
    }
    options->session = id[0] != '\0' ? id : NULL;
    *ret_alone = private;
    return 0;
}

static int search(const struct call *call, const struct search_options *options, bool alone,
                  struct hit_list *list, struct err *err)
{
    _cleanup_held_output_ struct held_output held = HELD_OUTPUT_INIT;
    _cleanup_search_ struct search *search = NULL;
    const char *vectors = config_text(&call->config, SETTING_MEMORY_EMBED);

    roots_warn_disbelieved(call);
    if (brokered_is_agent())
        held_output_begin(&held); /* to the end of the search, which comes first */
    if (search_open(&call->root, alone ? options->session : NULL, &search, err) == -1 ||
        search_catch_up(search, SEARCH_WAIT_MS, err) == -1)
        return -1;
    search_use_vectors(search, vectors, config_text(&call->config, SETTING_MEMORY_EMBED_HOST));
    int rc = search_find(search, options, show, list, err);
    if (search_note(search) != NULL)
        err_warn("%s", search_note(search));
    return rc;
}

static int run_search(struct call *call, struct err *err)
{
    _cleanup_free_ char *words = words_join(call);
    _cleanup_free_ char *text = NULL;
    struct hit_list list = {.call = call, .text = STR_INIT};
    struct search_options options = {.text = NULL};
    char id[ID_TEXT];
    bool alone = false;

    if (words_query(words, &text, err) == -1)
        return -1;
    options.text = text;
    if (read_options(call, &options, err) == -1)
        return -1;
    if (call->has_root && find_session(call, id, &options, &alone, err) == -1)
        return -1;
    list.out.to = &list.text;
    json_open(&list.out, NULL, '{');
    json_open(&list.out, "messages", '[');
    int rc = call->has_root ? search(call, &options, alone, &list, err) : 0;
    json_close(&list.out, ']');
    json_put_int(&list.out, "total", list.count);
    json_close(&list.out, '}');
    print_entries(&list);
    free_entries(&list);
    if (rc == 0 && call->json)
        print_line(&list.text);
    else if (rc == 0 && !call->quiet && list.count == 0)
        (void)fputs("nothing found\n", stderr);
    str_free(&list.text);
    return rc;
}

static const struct opt opts[] = {
    {'n', "limit", "N", "print at most N messages (10)"},
    {'s', "session", "SESSION", "only this session"},
    {0, "agent", "AGENT", "only conversations with this agent"},
    {0, "role", "ROLE", "only prompts (user), answers (agent), or tool calls (tool)"},
    {0, "since", "AGE", "only messages not older than this: 10m, 2h, 2025-12-18T08:00:00Z"},
    {0, "until", "AGE", "only messages older than this"},
    {0, "tag", "KEY:VALUE", "only messages with this tag"},
    {.name = NULL},
};

const struct cmd cmd_search = {
    .name = "search",
    .group = GROUP_MEMORY,
    .operands = " TEXT...",
    .summary = "search the conversations of all sessions",
    .examples = "mas search checkout\n"
                "mas search '\"payment failed\"' --since 7d\n"
                "mas search 'deploy*' --agent lead --limit 3",
    .details = "Search prompts, answers and the titles of tool calls, best match first. One "
               "of the words is enough for a match; messages with more of them rank higher. "
               "'\"several words\"' match as a phrase; 'begin*' matches all words that begin "
               "so. The search also finds messages from before a clear. A relevant message "
               "said close to a match is printed under it. If TEXT is -, mas reads it from "
               "standard input. A private session is searched only if --session names it. An "
               "agent finds messages of its own session, and those of other sessions only "
               "with share = yes in [memory] of mas.ini.",
    .opts = opts,
    .operands_min = 1,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .who = WHO_AGENTS_SHARE,
    .takes = TAKES_JSON | TAKES_QUIET | TAKES_ALL_HOSTS,
    .run = run_search,
};
