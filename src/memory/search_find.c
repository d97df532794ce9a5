/*
 * Searches the index: which segments, kinds and messages are in the scope, then the ranking, then
 * the best ones, until enough are shown. The ranking knows numbers only, so what a row says, such
 * as its time, is compared when it is shown. A damaged index is made again and searched again,
 * unless something was shown already.
 */

#include "memory/search_internal.h"

enum { SNIPPET_BYTES = 160 /* of a message that contains none of the words */ };

/* State of one search. */
struct search_state {
    struct search *search;
    const struct search_options *options;
    struct search_options asked; /* the options, with the tag's conditions applied */
    const char *match; /* for snippets */
    struct search_scope scope;
    bool none; /* nothing can match */
    int found[1 << KIND_BITS]; /* of each kind */
};

/* ---- the scope */

static void add_condition(struct str *sql, const char *condition)
{
    str_add(sql, sql->len == 0 ? " WHERE " : " AND ");
    str_add(sql, condition);
}

/* Determines which segments to search; if none is named, all. */
static int read_segments(struct search_state *state, struct err *err)
{
    const struct search_options *options = &state->asked;
    struct search_scope *scope = &state->scope;
    struct db *db = state->search->db;
    _cleanup_str_ struct str where = STR_INIT;
    int rc;

    if (options->session != NULL)
        add_condition(&where, "session = (SELECT id FROM session WHERE uuid = ?1)");
    if (options->agent != NULL)
        add_condition(&where, "agent = ?2");
    if (options->since_ms != 0)
        add_condition(&where, "last >= ?3");
    if (options->until_ms != 0)
        add_condition(&where, "first < ?4");
    if (options->not_conversation != NULL)
        add_condition(&where, "(conversation != ?5 OR query = ?6)");
    if (options->project != NULL)
        add_condition(&where, "session IN (SELECT id FROM session WHERE project = ?7)");
    if (where.len == 0)
        return 0;
    if (db_number(db, 0, &scope->top, err, "SELECT max(id) FROM sitting", "") == -1)
        return -1;
    scope->segments = mem_alloc((size_t)scope->top / 8 + 1);
    _cleanup_free_ char *sql =
        mem_printf("SELECT id, said + tools, words FROM sitting%s", str_text(&where));
    sqlite3_stmt *stmt = db_prepare_once(db, sql, err);
    if (stmt == NULL)
        return -1;
    db_bind(stmt, "ttiitit", options->session, options->agent, options->since_ms, options->until_ms,
            options->not_conversation, options->keep_query, options->project);
    while ((rc = db_step(db, stmt, err)) == 1) {
        int64_t id = sqlite3_column_int64(stmt, 0);
        if (id < 0 || id > scope->top)
            continue;
        scope->segments[id / 8] |= (unsigned char)(1 << (id % 8));
        scope->count++;
        scope->messages += sqlite3_column_int64(stmt, 1);
        scope->words += sqlite3_column_int64(stmt, 2);
    }
    (void)sqlite3_finalize(stmt);
    state->none = state->none || scope->count == 0;
    return rc;
}

static int read_tagged(struct search_state *state, struct err *err)
{
    struct search_scope *scope = &state->scope;
    struct db *db = state->search->db;
    int rc;

    if (state->asked.tag == NULL)
        return 0;
    _cleanup_reset_ sqlite3_stmt *stmt = db_query(
        db, err, "SELECT message FROM tag WHERE tag = ?1 ORDER BY message", "t", state->asked.tag);
    scope->only = mem_alloc(sizeof *scope->only);
    while ((rc = db_step(db, stmt, err)) == 1) {
        scope->only = mem_room(scope->only, scope->only_count, sizeof *scope->only);
        scope->only[scope->only_count++] = sqlite3_column_int64(stmt, 0);
    }
    state->none = state->none || scope->only_count == 0;
    return rc;
}

/* Combines two conditions that must both hold. */
static void narrow(struct search_state *state, const char **what, const char *to)
{
    state->none = state->none || (*what != NULL && strcmp(*what, to) != 0);
    *what = to;
}

static int make_scope(struct search_state *state, struct err *err)
{
    struct search_options *options = &state->asked;

    *options = *state->options;
    /* tags that every message has implicitly */
    if (options->tag != NULL && str_starts(options->tag, "session:")) {
        narrow(state, &options->session, options->tag + strlen("session:"));
        options->tag = NULL;
    } else if (options->tag != NULL && str_starts(options->tag, "agent:")) {
        narrow(state, &options->agent, options->tag + strlen("agent:"));
        options->tag = NULL;
    }
    for (enum kind kind = KIND_USER; kind <= KIND_TOOL; kind++) {
        if (options->roles == 0 || (options->roles >> search_role(kind) & 1) != 0)
            state->scope.kinds |= 1U << kind;
    }
    state->scope.related = options->related;
    state->none = state->none || state->scope.kinds == 0;
    return read_segments(state, err) == -1 || read_tagged(state, err) == -1 ? -1 : 0;
}

/* ---- results */

/* Appends text on one line; spaces replace line breaks and other blanks. */
static void add_line(struct str *to, const char *text, size_t len)
{
    bool blank = false;

    for (size_t i = 0; i < len; i++) {
        bool is_blank = isspace((unsigned char)text[i]) || text[i] == '\0';
        if (!is_blank)
            str_addc(to, text[i]);
        else if (!blank && to->len > 0)
            str_addc(to, ' ');
        blank = is_blank;
    }
}

/* Appends the beginning of a message that contains none of the words. */
static void add_beginning(struct str *to, const char *text, size_t len)
{
    size_t shown = str_cut(text, len, SNIPPET_BYTES);

    add_line(to, text, shown);
    str_add(to, shown < len ? "..." : "");
}

static int make_snippet(struct search_state *state, int64_t id, const char *text, size_t len,
                        struct str *ret, struct err *err)
{
    static const char marks[][2] = {{SEARCH_MARK}, {SEARCH_MARK_END}};
    struct db *db = state->search->db;
    int rc = 0;

    str_clear(ret);
    if (state->match[0] != '\0') {
        sqlite3_stmt *stmt = db_prepare(db,
                                        "SELECT snippet(word, 0, ?3, ?4, '...', 24) FROM word"
                                        " WHERE word MATCH ?1 AND rowid = ?2",
                                        err);
        if (stmt == NULL)
            return -1;
        db_bind(stmt, "titt", state->match, id, marks[0], marks[1]);
        rc = db_step(db, stmt, err);
        if (rc == 1) {
            add_line(ret, db_text(stmt, 0), db_len(stmt, 0));
            db_reset(stmt);
        }
    }
    if (rc == 0)
        add_beginning(ret, text, len);
    return rc == -1 ? -1 : 0;
}

/* Returns false if the message does not match after all, or enough of its kind were found. */
static bool is_wanted(struct search_state *state, int64_t id, int64_t time)
{
    const struct search_options *options = &state->asked;
    enum kind kind = search_kind(id);
    int total = 0;

    if (time < options->since_ms || (options->until_ms != 0 && time >= options->until_ms))
        return false;
    for (enum kind k = KIND_USER; k <= KIND_TOOL; k++)
        total += options->each_role && k != kind ? 0 : state->found[k];
    return total < options->limit;
}

static bool is_over(const struct search_state *state)
{
    const struct search_options *options = &state->asked;
    int total = 0;
    bool over = true;

    for (enum kind k = KIND_USER; k <= KIND_TOOL; k++) {
        total += state->found[k];
        over = over && ((state->scope.kinds >> k & 1) == 0 || state->found[k] >= options->limit);
    }
    return options->each_role ? over : total >= options->limit;
}

/* Returns 1 if the message was shown and no more are wanted. */
static int show(struct search_state *state, const struct ranked *item, search_each *each, void *arg,
                struct err *err)
{
    struct db *db = state->search->db;
    _cleanup_str_ struct str snippet = STR_INIT;
    _cleanup_reset_ sqlite3_stmt *stmt = db_query(
        db, err,
        "SELECT s.uuid, m.number, i.conversation, i.agent, m.time, m.trigger, m.tags, m.text,"
        " i.compacted, m.id"
        " FROM message m JOIN session s ON s.id = m.session JOIN sitting i ON i.id = ?2"
        " WHERE m.id BETWEEN ?1 AND ?3",
        "iii", item->id, search_segment(item->id), search_last(item->id));
    int rc = db_step(db, stmt, err);
    if (rc != 1)
        return rc; /* there is none at that place, or it was removed meanwhile */
    int64_t id = sqlite3_column_int64(stmt, 9);
    if (!scope_has(&state->scope, id))
        return 0;
    struct search_hit hit = {
        .session = db_text(stmt, 0),
        .number = sqlite3_column_int64(stmt, 1),
        .conversation = db_text(stmt, 2),
        .agent = db_text(stmt, 3),
        .role = search_role(search_kind(id)),
        .time_ms = sqlite3_column_int64(stmt, 4),
        .trigger = sqlite3_column_int64(stmt, 5),
        .tags = db_text(stmt, 6),
        .text = db_text(stmt, 7),
        .len = db_len(stmt, 7),
        .score = item->score,
        .semantic = item->semantic,
        .compacted = sqlite3_column_int(stmt, 8) != 0,
    };
    rc = 0;
    if (is_wanted(state, id, hit.time_ms)) {
        rc = make_snippet(state, id, hit.text, hit.len, &snippet, err);
        hit.snippet = str_text(&snippet);
        hit.matched = strchr(hit.snippet, SEARCH_MARK) != NULL;
        state->found[search_kind(id)]++;
        if (rc == 0)
            rc = !each(&hit, arg) || is_over(state);
    }
    return rc;
}

/* ---- the search */

/* Ranks; if no message contains a word, ranks messages with words that begin with it. */
static int rank(struct search_state *state, const struct words *words, struct str *match,
                struct best *ret, struct err *err)
{
    _cleanup_best_ struct best near = {.most = RANK_DEPTH};

    if (search_rank_vectors(state->search, state->options->text, &state->scope, &near, err) == -1)
        return -1;
    int last = state->options->related ? 0 : 1;
    for (int open = 0; open <= last && ret->count == 0; open++) {
        str_clear(match);
        words_match(words, open == 1, match);
        if (search_rank(state->search, str_text(match), &state->scope, &near, ret, err) == -1)
            return -1;
    }
    return 0;
}

static int find(struct search_state *state, const struct words *words, search_each *each, void *arg,
                struct err *err)
{
    _cleanup_best_ struct best best = {.most = 2 * RANK_DEPTH};
    _cleanup_str_ struct str match = STR_INIT;
    int rc = 0;

    if (make_scope(state, err) == -1)
        return -1;
    if (state->none || state->options->limit <= 0)
        return 0;
    if (rank(state, words, &match, &best, err) == -1)
        return -1;
    state->match = str_text(&match);
    for (size_t i = 0; rc == 0 && i < best.count; i++)
        rc = show(state, &best.items[i], each, arg, err);
    return rc == -1 ? -1 : 0;
}

/* After damage, does not show again what was shown before. */
struct shown_once {
    search_each *each;
    void *arg;
    bool any;
};

static bool show_once(const struct search_hit *hit, void *arg)
{
    struct shown_once *once = arg;
    once->any = true;
    return once->each(hit, once->arg);
}

static int find_once(struct search *search, const struct search_options *options,
                     const struct words *words, struct shown_once *once, struct err *err)
{
    struct search_state state = {.search = search, .options = options, .match = ""};

    int rc = find(&state, words, show_once, once, err);
    scope_free(&state.scope);
    return rc;
}

int search_find(struct search *search, const struct search_options *options, search_each *each,
                void *arg, struct err *err)
{
    _cleanup_words_ struct words words = {.count = 0};
    struct shown_once once = {.each = each, .arg = arg};
    struct err why = ERR_INIT;

    words_parse(options->text, &words);
    if (options->related && words_say_nothing(&words))
        return 0;
    if (words.count == 0)
        return err_set(err, MAS_USAGE, "cannot search for '%s': it contains no word",
                       options->text);
    if (find_once(search, options, &words, &once, &why) == 0)
        return 0;
    if (why.code == MAS_DAMAGED && !once.any && search->alone[0] == '\0')
        return search_remake(search, why.text, err) == -1 ||
                       search_catch_up(search, SEARCH_WAIT_MS, err) == -1
                   ? -1
                   : find_once(search, options, &words, &once, err);
    *err = why;
    return -1;
}
