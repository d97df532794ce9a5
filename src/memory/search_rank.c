/*
 * The ranking. FTS5 reports which messages contain which words, and how often. The rest is computed
 * here from message numbers alone, which encode the segment and the place in it (see
 * search_internal.h):
 *
 *     messages   BM25 of each
 *     windows    BM25 of the messages around a place, weighted by distance; also for places whose
 *                own message contains none of the words: an answer is found by its question
 *     segments   BM25 of each as one text; all its messages have its rank
 *
 * The score of a message is the sum over these lists of 1 / (RANK_DAMP + its rank there).
 */
#include "memory/search_internal.h"

#include <math.h>

#define COLLECT "mas_collect"

enum { REACH = 2 };

static const double k1 = 1.2;
static const double b = 0.75;
/* Weight of a word that is this many messages away. */
static const double near[REACH + 1] = {1.0, 0.5, 0.25};

struct hit {
    int64_t id;
    uint8_t times[WORDS_MAX]; /* occurrences of each term in it */
};

/* The results of FTS5. */
struct catch
{
    const struct search_scope *scope;
    struct hit *hits; /* in numerical order */
    size_t count;
    int terms;
    int64_t having[WORDS_MAX]; /* number of messages that contain the term */
    int64_t messages, words; /* totals in the index */
};

/* ---- results of FTS5 */

/* Called for each matching message, in numerical order. */
static void collect(const Fts5ExtensionApi *api, Fts5Context *fts, sqlite3_context *context,
                    int count, sqlite3_value **values)
{
    struct catch *catch = count == 1 ? sqlite3_value_pointer(values[0], COLLECT) : NULL;

    if (catch == NULL) {
        sqlite3_result_error(context, "not for you", -1);
        return;
    }
    if (catch->messages == 0) {
        sqlite3_int64 messages = 0;
        sqlite3_int64 words = 0;
        (void)api->xRowCount(fts, &messages);
        (void)api->xColumnTotalSize(fts, -1, &words);
        catch->messages = messages > 0 ? messages : 1;
        catch->words = words;
        catch->terms = api->xPhraseCount(fts) < WORDS_MAX ? api->xPhraseCount(fts) : WORDS_MAX;
    }
    int64_t id = api->xRowid(fts);
    if (!scope_has_segment(catch->scope, search_segment(id)))
        return;
    catch->hits = mem_room(catch->hits, catch->count, sizeof *catch->hits);
    struct hit *hit = &catch->hits[catch->count++];
    *hit = (struct hit){.id = id};
    for (int i = 0; i < catch->terms; i++) {
        Fts5PhraseIter at;
        int column;
        int offset;
        uint8_t times = 0;
        if (api->xPhraseFirst(fts, i, &at, &column, &offset) != SQLITE_OK)
            continue;
        for (; column >= 0 && times < UINT8_MAX; times++)
            api->xPhraseNext(fts, &at, &column, &offset);
        hit->times[i] = times;
        catch->having[i] += times > 0;
    }
}

int search_add_function(struct db *db, struct err *err)
{
    fts5_api *api = NULL;
    sqlite3_stmt *stmt = db_prepare_once(db, "SELECT fts5(?1)", err);

    if (stmt == NULL)
        return -1;
    (void)sqlite3_bind_pointer(stmt, 1, &api, "fts5_api_ptr", NULL);
    (void)sqlite3_step(stmt);
    (void)sqlite3_finalize(stmt);
    if (api == NULL || api->iVersion < 2 ||
        api->xCreateFunction(api, COLLECT, NULL, collect, NULL) != SQLITE_OK)
        return err_set(err, MAS_FAILED, "cannot search: this SQLite has no FTS5");
    return 0;
}

static int ask(struct db *db, const char *match, struct catch *catch, struct err *err)
{
    sqlite3_stmt *stmt =
        db_prepare(db, "SELECT " COLLECT "(word, ?2) FROM word WHERE word MATCH ?1", err);
    int rc;

    if (stmt == NULL)
        return -1;
    db_bind(stmt, "t", match);
    (void)sqlite3_bind_pointer(stmt, 2, catch, COLLECT, NULL);
    while ((rc = db_step(db, stmt, err)) == 1)
        continue;
    return rc;
}

/* ---- related messages */

enum { /* A word that at most one in this many messages contains ... */
       RARE = 200, /* is significant alone */
       FEW = 10, /* is significant together with another one */
       FEW_LEAST = 4, /* that many messages always count as few */
};

/* Returns which terms occur around a place. */
static unsigned terms_near(const struct catch *catch, size_t at)
{
    int64_t segment = search_segment(catch->hits[at].id);
    int64_t place = search_place(catch->hits[at].id);
    unsigned terms = 0;
    size_t i = at;

    while (i > 0 && search_segment(catch->hits[i - 1].id) == segment &&
           search_place(catch->hits[i - 1].id) >= place - REACH)
        i--;
    for (; i < catch->count && search_segment(catch->hits[i].id) == segment &&
           search_place(catch->hits[i].id) <= place + REACH;
         i++)
        for (int k = 0; k < catch->terms && search_kind(catch->hits[i].id) != KIND_TOOL; k++)
            terms |= catch->hits[i].times[k] > 0 ? 1U << k : 0;
    return terms;
}

static void keep_related(struct catch *catch)
{
    const struct search_scope *scope = catch->scope;
    int64_t messages = scope->segments == NULL ? catch->messages : scope->messages;
    _cleanup_free_ bool *keep = mem_alloc(catch->count * sizeof *keep);
    unsigned rare = 0, few = 0;
    size_t kept = 0;

    for (int k = 0; k < catch->terms; k++) {
        rare |= catch->having[k] * RARE <= messages ? 1U << k : 0;
        few |= catch->having[k] * FEW <= messages || catch->having[k] <= FEW_LEAST ? 1U << k : 0;
    }
    for (size_t i = 0; i < catch->count; i++) {
        unsigned terms = terms_near(catch, i);
        keep[i] =
            (terms & rare) != 0 || __builtin_popcount(terms & few) >= (catch->terms > 1 ? 2 : 1);
    }
    for (size_t i = 0; i < catch->count; i++)
        if (keep[i])
            catch->hits[kept++] = catch->hits[i];
    catch->count = kept;
}

/* ---- scores */

struct scale {
    double rarity[WORDS_MAX]; /* of each term */
    double lengths[LENGTH_MAX + 1]; /* in words, for each encoded length */
    double len; /* average of a message */
    double segment; /* average of a segment */
    int terms;
};

static double bm25(const struct scale *scale, const double *times, double len, double average)
{
    double norm = k1 * (1 - b + b * len / (average > 0 ? average : 1));
    double score = 0;

    for (int i = 0; i < scale->terms; i++) {
        if (times[i] > 0)
            score += scale->rarity[i] * times[i] * (k1 + 1) / (times[i] + norm);
    }
    return score;
}

static double score_hit(const struct scale *scale, const struct hit *hit)
{
    double times[WORDS_MAX];

    for (int i = 0; i < scale->terms; i++)
        times[i] = hit->times[i];
    return bm25(scale, times, scale->lengths[search_length(hit->id)], scale->len);
}

static int make_scale(struct db *db, const struct catch *catch, struct scale *ret, struct err *err)
{
    const struct search_scope *scope = catch->scope;
    double messages = (double)(scope->segments == NULL ? catch->messages : scope->messages);
    double words = (double)(scope->segments == NULL ? catch->words : scope->words);
    int64_t segments = scope->count;

    if (scope->segments == NULL &&
        db_number(db, 1, &segments, err, "SELECT max(id) FROM sitting", "") == -1)
        return -1;
    messages = messages > 0 ? messages : 1;
    ret->terms = catch->terms;
    for (int i = 0; i <= LENGTH_MAX; i++)
        ret->lengths[i] = pow(LENGTH_STEP, i) - 1;
    ret->len = words / messages;
    ret->segment = words / (double)(segments > 0 ? segments : 1);
    for (int i = 0; i < catch->terms; i++) {
        double having = (double)catch->having[i];
        ret->rarity[i] =
            log(1 + (messages > having ? messages - having + 0.5 : 0.5) / (having + 0.5));
    }
    return 0;
}

/* ---- segments */

/* The hits of one segment. */
struct hit_group {
    int64_t segment;
    size_t from, to;
};

static bool next_group(const struct catch *catch, struct hit_group *group)
{
    group->from = group->to;
    if (group->from == catch->count)
        return false;
    group->segment = search_segment(catch->hits[group->from].id);
    while (group->to < catch->count && search_segment(catch->hits[group->to].id) == group->segment)
        group->to++;
    return true;
}

enum { SCAN_FROM = 2000 }; /* from this many segments on, reading all lengths is faster */

static int read_lengths(struct db *db, const struct catch *catch, size_t groups, double **ret,
                        int64_t *ret_top, struct err *err)
{
    int64_t top = search_segment(catch->hits[catch->count - 1].id);
    _cleanup_free_ double *lengths = mem_alloc(((size_t)top + 1) * sizeof *lengths);
    struct hit_group group = {.to = 0};
    int rc = 0;

    if (groups < SCAN_FROM) {
        while (rc == 0 && next_group(catch, &group)) {
            int64_t words = 0;
            rc = db_number(db, 0, &words, err, "SELECT words FROM sitting WHERE id = ?1", "i",
                           group.segment);
            lengths[group.segment] = (double)words;
        }
    } else {
        sqlite3_stmt *stmt = db_prepare(db, "SELECT id, words FROM sitting", err);
        if (stmt == NULL)
            return -1;
        while ((rc = db_step(db, stmt, err)) == 1) {
            int64_t id = sqlite3_column_int64(stmt, 0);
            if (id >= 0 && id <= top)
                lengths[id] = (double)sqlite3_column_int64(stmt, 1);
        }
    }
    if (rc != 0)
        return -1;
    *ret = lengths;
    *ret_top = top;
    lengths = NULL;
    return 0;
}

static int rank_segments(struct db *db, const struct catch *catch, const struct scale *scale,
                         struct best *ret, struct err *err)
{
    _cleanup_free_ double *lengths = NULL;
    struct hit_group group = {.to = 0};
    size_t groups = 0;
    int64_t top;

    while (next_group(catch, &group))
        groups++;
    if (read_lengths(db, catch, groups, &lengths, &top, err) == -1)
        return -1;
    group = (struct hit_group){.to = 0};
    while (next_group(catch, &group)) {
        double times[WORDS_MAX] = {0};
        for (size_t i = group.from; i < group.to; i++) {
            for (int k = 0; k < scale->terms; k++)
                times[k] += catch->hits[i].times[k];
        }
        best_push(ret, group.segment, bm25(scale, times, lengths[group.segment], scale->segment));
    }
    best_sort(ret);
    return 0;
}

/* ---- windows */

/* Scores the messages around a place, from the hits of its segment starting at `*first`. */
static double score_window(const struct catch *catch, const struct scale *scale,
                           const struct hit_group *group, size_t *first, int64_t place)
{
    double times[WORDS_MAX] = {0};
    double len = 0;
    double missing = near[0] + 2 * near[1] + 2 * near[2];
    double average = missing * scale->len;

    while (search_place(catch->hits[*first].id) < place - REACH)
        ++*first;
    for (size_t i = *first; i < group->to; i++) {
        const struct hit *hit = &catch->hits[i];
        int64_t away = search_place(hit->id) - place;
        if (away > REACH)
            break;
        if (search_kind(hit->id) == KIND_TOOL)
            continue;
        double weight = near[away < 0 ? -away : away];
        missing -= weight;
        len += weight * scale->lengths[search_length(hit->id)];
        for (int k = 0; k < scale->terms; k++)
            times[k] += weight * hit->times[k];
    }
    return bm25(scale, times, len + missing * scale->len, average);
}

static void rank_group(const struct catch *catch, const struct scale *scale,
                       const struct hit_group *group, struct best *ret)
{
    int64_t done = -1; /* places up to this one are done */
    size_t first = group->from;

    for (size_t i = group->from; i < group->to; i++) {
        int64_t at = search_place(catch->hits[i].id);
        if (search_kind(catch->hits[i].id) == KIND_TOOL)
            continue;
        int64_t place = at - REACH > done ? at - REACH : done + 1;
        for (; place <= at + REACH; place++) {
            double score = score_window(catch, scale, group, &first, place);
            best_push(ret, search_id(group->segment, place, KIND_USER, 0), score);
            done = place;
        }
    }
}

/* Converts places to messages, if there is one of a wanted kind. */
static int resolve(struct db *db, const struct search_scope *scope, struct best *windows,
                   struct err *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < windows->count; i++) {
        int64_t first = windows->items[i].id;
        int64_t last =
            search_id(search_segment(first), search_place(first), KIND_AGENT, LENGTH_MAX);
        int64_t id;
        if (db_number(db, 0, &id, err, "SELECT id FROM message WHERE id BETWEEN ?1 AND ?2", "ii",
                      first, last) == -1)
            return -1;
        if (id != 0 && scope_has(scope, id))
            windows->items[kept++] = (struct ranked){.id = id, .score = windows->items[i].score};
    }
    windows->count = kept;
    return 0;
}

/* Only where it can matter: in the best segments and around the best messages. */
static int rank_windows(struct db *db, const struct catch *catch, const struct scale *scale,
                        const struct best *messages, const struct best *segments, struct best *ret,
                        struct err *err)
{
    _cleanup_best_ struct best where = {.most = messages->count + segments->count};
    struct hit_group group = {.to = 0};

    for (size_t i = 0; i < messages->count; i++)
        best_push(&where, search_segment(messages->items[i].id), 0);
    for (size_t i = 0; i < segments->count; i++)
        best_push(&where, segments->items[i].id, 0);
    ranked_sort(where.items, where.count);
    while (next_group(catch, &group)) {
        if (ranked_find(where.items, where.count, group.segment) != NULL)
            rank_group(catch, scale, &group, ret);
    }
    best_sort(ret);
    return resolve(db, catch->scope, ret, err);
}

/* ---- fusion */

struct fusion {
    struct ranked *items; /* sorted by number after fuse_sort() */
    size_t count;
};

static void fuse(struct fusion *fusion, const struct best *list)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        fusion->items = mem_room(fusion->items, fusion->count, sizeof *fusion->items);
        fusion->items[fusion->count++] =
            (struct ranked){.id = list->items[i].id, .score = 1.0 / (RANK_DAMP + 1 + (double)i)};
    }
}

/* A message in several lists gets the sum, plus the rank of its segment. */
static void join(struct fusion *fusion, struct best *segments, struct best *ret)
{
    for (size_t i = 0; i < segments->count; i++)
        segments->items[i].score = 1.0 / (RANK_DAMP + 1 + (double)i);
    ranked_sort(segments->items, segments->count);
    ranked_sort(fusion->items, fusion->count);
    for (size_t i = 0; i < fusion->count;) {
        const struct ranked *segment =
            ranked_find(segments->items, segments->count, search_segment(fusion->items[i].id));
        double score = segment != NULL ? segment->score : 0;
        int64_t id = fusion->items[i].id;
        for (; i < fusion->count && fusion->items[i].id == id; i++)
            score += fusion->items[i].score;
        best_push(ret, id, score);
    }
    best_sort(ret);
}

static int rank_catch(struct db *db, const struct catch *catch, struct fusion *fusion,
                      struct best *segments, struct err *err)
{
    _cleanup_best_ struct best messages = {.most = RANK_DEPTH};
    _cleanup_best_ struct best windows = {.most = RANK_DEPTH};
    struct scale scale = {.terms = 0};

    if (catch->count == 0)
        return 0;
    if (make_scale(db, catch, &scale, err) == -1)
        return -1;
    for (size_t i = 0; i < catch->count; i++) {
        if (scope_has(catch->scope, catch->hits[i].id))
            best_push(&messages, catch->hits[i].id, score_hit(&scale, &catch->hits[i]));
    }
    best_sort(&messages);
    if (rank_segments(db, catch, &scale, segments, err) == -1 ||
        rank_windows(db, catch, &scale, &messages, segments, &windows, err) == -1)
        return -1;
    fuse(fusion, &messages);
    fuse(fusion, &windows);
    return 0;
}

int search_rank(struct search *search, const char *match, const struct search_scope *scope,
                const struct best *more, struct best *ret, struct err *err)
{
    struct catch catch = {.scope = scope};
    struct fusion fusion = {.count = 0};
    _cleanup_best_ struct best segments = {.most = RANK_DEPTH};

    int rc = ask(search->db, match, &catch, err);
    if (rc == 0 && scope->related && catch.count > 0)
        keep_related(&catch);
    if (rc == 0)
        rc = rank_catch(search->db, &catch, &fusion, &segments, err);
    if (rc == 0) {
        fuse(&fusion, more);
        join(&fusion, &segments, ret);
    }
    free(catch.hits);
    free(fusion.items);
    return rc;
}
