/*
 * The ranking. FTS5 reports which messages contain which words, and how often. The rest is computed
 * here from message numbers alone, which encode the segment and the place in it (see
 * search_internal.h). The score of a message is the weighted sum of:
 *
 *     window     BM25 of the messages around it, weighted by distance; also for places whose own
 *                message contains none of the words: an answer is found by its question
 *     message    BM25 of itself
 *     segment    BM25 of its segment as one text
 *
 * All three count the same words with the same rarities, so their scores can be added. Ranks
 * cannot: the first of many alike and one that stands out look the same.
 */
#include "memory/search_internal.h"

#include <math.h>

#define COLLECT "mas_collect"

enum {
    REACH = 2,
    COMMON = 10, /* a word in more than one of so many messages, ... */
    COMMON_LEAST = 20000, /* and in more than this, is left out ... */
    ENOUGH = 4, /* beside so many others */
};

static const double k1 = 0.9;
static const double b = 0.4;
/* Weight of a word that is this many messages away. */
static const double near[REACH + 1] = {1.0, 0.5, 0.25};
/* Weights of the parts of a score; that of a vector is of a perfect match, in best scores. */
static const double window_weight = 1.0;
static const double message_weight = 0.5;
static const double segment_weight = 0.3;
static const double vector_weight = 0.5;

/* A message that contains one of the words. */
struct hit {
    int64_t id;
    uint32_t terms; /* which: bits 1 << term */
    uint32_t first; /* where its counts begin, one for each term in it */
};

/* A term in a message. */
struct posting {
    int64_t id;
    uint8_t times;
};

struct postings {
    struct posting *items; /* in numerical order */
    size_t count, next;
    bool common;
};

/* The results of FTS5. */
struct caught {
    const struct search_scope *scope;
    struct postings postings[WORDS_MAX]; /* of each term */
    struct hit *hits; /* in numerical order */
    size_t count;
    uint8_t *times; /* of the hits */
    int terms;
    int64_t having[WORDS_MAX]; /* number of messages that contain the term */
    int64_t messages, words; /* totals in the index */
    int current; /* the term that FTS5 reports now */
    size_t most; /* messages after which a term is too common */
    int common; /* terms that are */
};

static void caught_free(struct caught *caught)
{
    for (int i = 0; i < WORDS_MAX; i++)
        free(caught->postings[i].items);
    free(caught->hits);
    free(caught->times);
}
#define _cleanup_caught_ __attribute__((cleanup(caught_free)))

/* ---- results of FTS5 */

/* Called for each message that contains the current term, in numerical order. */
static int collect_one(const Fts5ExtensionApi *api, Fts5Context *fts, void *arg)
{
    struct caught *caught = arg;
    struct postings *postings = &caught->postings[caught->current];
    struct posting posting = {.id = api->xRowid(fts)};
    Fts5PhraseIter at;
    int column;
    int offset;

    if (postings->count > caught->most)
        return SQLITE_DONE;
    if (posting.id < 0 ||
        (postings->count > 0 && posting.id <= postings->items[postings->count - 1].id))
        return SQLITE_CORRUPT;
    if (!scope_has_segment(caught->scope, search_segment(posting.id)))
        return SQLITE_OK;
    int rc = api->xPhraseFirst(fts, 0, &at, &column, &offset);
    for (; rc == SQLITE_OK && column >= 0 && posting.times < UINT8_MAX; posting.times++)
        api->xPhraseNext(fts, &at, &column, &offset);
    postings->items = mem_room(postings->items, postings->count, sizeof posting);
    postings->items[postings->count++] = posting;
    return rc;
}

/* Collects the messages of each term, or again of those that were too common, and counts those that
 * are. Asking for each term by itself takes a third of the time that FTS5 needs to look for all of
 * them in each message. Returns a code of SQLite. */
static int collect_terms(const Fts5ExtensionApi *api, Fts5Context *fts, struct caught *caught,
                         size_t most, bool again)
{
    caught->most = most;
    caught->common = 0;
    for (int i = 0; i < caught->terms; i++) {
        struct postings *postings = &caught->postings[i];
        if (again && !postings->common)
            continue;
        caught->current = i;
        int rc = api->xQueryPhrase(fts, i, caught, collect_one);
        if (rc != SQLITE_OK)
            return rc;
        postings->common = postings->count > most;
        caught->common += postings->common;
        if (postings->common)
            postings->count = 0;
        caught->having[i] = (int64_t)postings->count;
    }
    return SQLITE_OK;
}

/* Called once, if any message matches. Of a million messages, words in every tenth are left out if
 * enough others say what is meant, in any language. */
static void collect(const Fts5ExtensionApi *api, Fts5Context *fts, sqlite3_context *context,
                    int count, sqlite3_value **values)
{
    struct caught *caught = count == 1 ? sqlite3_value_pointer(values[0], COLLECT) : NULL;
    sqlite3_int64 messages = 0;
    sqlite3_int64 words = 0;

    if (caught == NULL) {
        sqlite3_result_error(context, "not for you", -1);
        return;
    }
    (void)api->xRowCount(fts, &messages);
    (void)api->xColumnTotalSize(fts, -1, &words);
    caught->messages = messages > 0 ? messages : 1;
    caught->words = words;
    caught->terms = api->xPhraseCount(fts) < WORDS_MAX ? api->xPhraseCount(fts) : WORDS_MAX;
    size_t most = (size_t)caught->messages / COMMON;
    int rc = collect_terms(api, fts, caught, most > COMMON_LEAST ? most : COMMON_LEAST, false);
    if (rc == SQLITE_OK && caught->common > 0 && caught->terms - caught->common < ENOUGH)
        rc = collect_terms(api, fts, caught, SIZE_MAX, true);
    if (rc != SQLITE_OK)
        sqlite3_result_error_code(context, rc);
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
    if (api == NULL || api->iVersion < 2 || search_add_tokenizer(api) != SQLITE_OK ||
        api->xCreateFunction(api, COLLECT, NULL, collect, NULL) != SQLITE_OK)
        return err_set(err, MAS_FAILED, "cannot search: this SQLite has no FTS5");
    return 0;
}

/* The next message that contains a term; INT64_MAX: none. */
static int64_t head_of(const struct postings *postings)
{
    return postings->next < postings->count ? postings->items[postings->next].id : INT64_MAX;
}

/* Merges the postings of all terms. */
static void merge(struct caught *caught)
{
    int64_t heads[WORDS_MAX];
    size_t all = 0;
    uint32_t used = 0;

    for (int i = 0; i < caught->terms; i++) {
        all += caught->postings[i].count;
        heads[i] = head_of(&caught->postings[i]);
    }
    caught->hits = mem_alloc((all + 1) * sizeof *caught->hits);
    caught->times = mem_alloc(all + 1);
    while (used < all) {
        struct hit *hit = &caught->hits[caught->count++];
        *hit = (struct hit){.id = INT64_MAX, .first = used};
        for (int i = 0; i < caught->terms; i++)
            hit->id = heads[i] < hit->id ? heads[i] : hit->id;
        for (int i = 0; i < caught->terms; i++) {
            struct postings *postings = &caught->postings[i];
            if (heads[i] != hit->id)
                continue;
            hit->terms |= 1U << i;
            caught->times[used++] = postings->items[postings->next++].times;
            heads[i] = head_of(postings);
        }
    }
}

static int ask(struct db *db, const char *match, struct caught *caught, struct err *err)
{
    sqlite3_stmt *stmt =
        db_prepare(db, "SELECT " COLLECT "(word, ?2) FROM word WHERE word MATCH ?1 LIMIT 1", err);
    int rc;

    if (stmt == NULL)
        return -1;
    db_bind(stmt, "t", match);
    (void)sqlite3_bind_pointer(stmt, 2, caught, COLLECT, NULL);
    while ((rc = db_step(db, stmt, err)) == 1)
        continue;
    if (rc == 0)
        merge(caught);
    return rc;
}

/* ---- related messages */

enum { /* A word that at most one in this many messages contains ... */
       RARE = 200, /* is significant alone */
       FEW = 10, /* is significant together with another one */
       FEW_LEAST = 4, /* that many messages always count as few */
};

/* Returns which terms occur around a place. */
static unsigned terms_near(const struct caught *caught, size_t at)
{
    int64_t segment = search_segment(caught->hits[at].id);
    int64_t place = search_place(caught->hits[at].id);
    unsigned terms = 0;
    size_t i = at;

    while (i > 0 && search_segment(caught->hits[i - 1].id) == segment &&
           search_place(caught->hits[i - 1].id) >= place - REACH)
        i--;
    for (; i < caught->count && search_segment(caught->hits[i].id) == segment &&
           search_place(caught->hits[i].id) <= place + REACH;
         i++)
        terms |= search_kind(caught->hits[i].id) != KIND_TOOL ? caught->hits[i].terms : 0;
    return terms;
}

static void keep_related(struct caught *caught)
{
    const struct search_scope *scope = caught->scope;
    int64_t messages = scope->segments == NULL ? caught->messages : scope->messages;
    _cleanup_free_ bool *keep = mem_alloc(caught->count * sizeof *keep);
    unsigned rare = 0, few = 0;
    size_t kept = 0;

    for (int k = 0; k < caught->terms; k++) {
        rare |= caught->having[k] * RARE <= messages ? 1U << k : 0;
        few |= caught->having[k] * FEW <= messages || caught->having[k] <= FEW_LEAST ? 1U << k : 0;
    }
    for (size_t i = 0; i < caught->count; i++) {
        unsigned terms = terms_near(caught, i);
        keep[i] =
            (terms & rare) != 0 || __builtin_popcount(terms & few) >= (caught->terms > 1 ? 2 : 1);
    }
    for (size_t i = 0; i < caught->count; i++)
        if (keep[i])
            caught->hits[kept++] = caught->hits[i];
    caught->count = kept;
}

/* ---- scores */

struct scale {
    double rarity[WORDS_MAX]; /* of each term */
    double all; /* sum of the rarities */
    double lengths[LENGTH_MAX + 1]; /* in words, for each encoded length */
    double len; /* average of a message */
    double segment; /* average of a segment */
    int terms;
};

/* Adds how often each term is in a hit, weighted. */
static void add_times(const struct caught *caught, const struct hit *hit, double weight,
                      double times[WORDS_MAX])
{
    const uint8_t *at = &caught->times[hit->first];

    for (uint32_t terms = hit->terms; terms != 0; terms &= terms - 1)
        times[__builtin_ctz(terms)] += weight * *at++;
}

static double dampen(double len, double average)
{
    return k1 * (1 - b + b * len / (average > 0 ? average : 1));
}

/* BM25, up to doubled by the share of the words that are there: all of them once are more than one
 * of them often. */
static double bm25(const struct scale *scale, const double *times, double len, double average)
{
    double norm = dampen(len, average);
    double score = 0;
    double found = 0;

    for (int i = 0; i < scale->terms; i++) {
        if (times[i] <= 0)
            continue;
        score += scale->rarity[i] * times[i] * (k1 + 1) / (times[i] + norm);
        found += scale->rarity[i];
    }
    return scale->all > 0 ? score * (1 + found / scale->all) : score;
}

/* BM25 of a message alone. */
static double score_hit(const struct caught *caught, const struct scale *scale,
                        const struct hit *hit)
{
    double norm = dampen(scale->lengths[search_length(hit->id)], scale->len);
    const uint8_t *at = &caught->times[hit->first];
    double score = 0;

    for (uint32_t terms = hit->terms; terms != 0; terms &= terms - 1, at++)
        score += scale->rarity[__builtin_ctz(terms)] * *at * (k1 + 1) / (*at + norm);
    return score;
}

static int make_scale(struct db *db, const struct caught *caught, struct scale *ret,
                      struct err *err)
{
    const struct search_scope *scope = caught->scope;
    double messages = (double)(scope->segments == NULL ? caught->messages : scope->messages);
    double words = (double)(scope->segments == NULL ? caught->words : scope->words);
    int64_t segments = scope->count;

    if (scope->segments == NULL &&
        db_number(db, 1, &segments, err, "SELECT max(id) FROM sitting", "") == -1)
        return -1;
    messages = messages > 0 ? messages : 1;
    ret->terms = caught->terms;
    for (int i = 0; i <= LENGTH_MAX; i++)
        ret->lengths[i] = pow(LENGTH_STEP, i) - 1;
    ret->len = words / messages;
    ret->segment = words / (double)(segments > 0 ? segments : 1);
    for (int i = 0; i < caught->terms; i++) {
        double having = (double)caught->having[i];
        if (caught->having[i] == 0)
            continue;
        ret->rarity[i] =
            log(1 + (messages > having ? messages - having + 0.5 : 0.5) / (having + 0.5));
        ret->all += ret->rarity[i];
    }
    return 0;
}

/* ---- segments */

/* The hits of one segment. */
struct hit_group {
    int64_t segment;
    size_t from, to;
};

static bool next_group(const struct caught *caught, struct hit_group *group)
{
    group->from = group->to;
    if (group->from == caught->count)
        return false;
    group->segment = search_segment(caught->hits[group->from].id);
    while (group->to < caught->count &&
           search_segment(caught->hits[group->to].id) == group->segment)
        group->to++;
    return true;
}

enum { SCAN_FROM = 2000 }; /* from this many segments on, reading all lengths is faster */

static int read_lengths(struct db *db, const struct caught *caught, size_t groups, double **ret,
                        struct err *err)
{
    int64_t top = search_segment(caught->hits[caught->count - 1].id);
    _cleanup_free_ double *lengths = mem_alloc(((size_t)top + 1) * sizeof *lengths);
    struct hit_group group = {.to = 0};
    int rc = 0;

    if (groups < SCAN_FROM) {
        while (rc == 0 && next_group(caught, &group)) {
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
    lengths = NULL;
    return 0;
}

/* Scores all segments with a hit; the caller frees the array of their scores, *ret_scores. */
static int rank_segments(struct db *db, const struct caught *caught, const struct scale *scale,
                         struct best *ret, double **ret_scores, struct err *err)
{
    struct hit_group group = {.to = 0};
    size_t groups = 0;

    while (next_group(caught, &group))
        groups++;
    if (read_lengths(db, caught, groups, ret_scores, err) == -1)
        return -1;
    group = (struct hit_group){.to = 0};
    while (next_group(caught, &group)) {
        double *score = &(*ret_scores)[group.segment];
        double times[WORDS_MAX] = {0};
        for (size_t i = group.from; i < group.to; i++)
            add_times(caught, &caught->hits[i], 1, times);
        *score = bm25(scale, times, *score, scale->segment);
        best_push(ret, group.segment, *score);
    }
    return 0;
}

/* ---- windows */

/* Scores the messages around a place, from the hits of its segment starting at `*first`, and the
 * message there. */
static double score_place(const struct caught *caught, const struct scale *scale,
                          const struct hit_group *group, size_t *first, int64_t place,
                          int64_t *ret_id)
{
    double times[WORDS_MAX] = {0};
    double own = 0;
    double len = 0;
    double missing = near[0] + 2 * near[1] + 2 * near[2];
    double average = missing * scale->len;

    *ret_id = search_at(group->segment, place);
    while (search_place(caught->hits[*first].id) < place - REACH)
        ++*first;
    for (size_t i = *first; i < group->to; i++) {
        const struct hit *hit = &caught->hits[i];
        int64_t away = search_place(hit->id) - place;
        if (away > REACH)
            break;
        if (search_kind(hit->id) == KIND_TOOL)
            continue;
        double weight = near[away < 0 ? -away : away];
        missing -= weight;
        len += weight * scale->lengths[search_length(hit->id)];
        add_times(caught, hit, weight, times);
        if (away == 0) {
            *ret_id = hit->id;
            own = score_hit(caught, scale, hit);
        }
    }
    return window_weight * bm25(scale, times, len + missing * scale->len, average) +
           message_weight * own;
}

/* A place whose message has no word may have none, or one of another kind: who reads it looks. */
static bool may_have(const struct search_scope *scope, int64_t id)
{
    return search_is_place(id) ? scope_has_place(scope, id) : scope_has(scope, id);
}

static void rank_group(const struct caught *caught, const struct scale *scale,
                       const struct hit_group *group, double segment, struct best *ret)
{
    int64_t done = -1; /* places up to this one are done */
    size_t first = group->from;

    for (size_t i = group->from; i < group->to; i++) {
        const struct hit *hit = &caught->hits[i];
        int64_t at = search_place(hit->id);
        if (search_kind(hit->id) == KIND_TOOL) {
            double own = score_hit(caught, scale, hit); /* its window is itself */
            if (scope_has(caught->scope, hit->id))
                best_push(ret, hit->id, (window_weight + message_weight) * own + segment);
            continue;
        }
        int64_t place = at - REACH > done ? at - REACH : done + 1;
        for (; place <= at + REACH; place++) {
            int64_t id;
            double score = score_place(caught, scale, group, &first, place, &id);
            if (may_have(caught->scope, id))
                best_push(ret, id, score + segment);
            done = place;
        }
    }
}

/* Only where it can matter: in the best segments and around the best messages. */
static int rank_caught(struct db *db, const struct caught *caught, struct best *ret,
                       struct err *err)
{
    _cleanup_best_ struct best messages = {.most = RANK_DEPTH};
    _cleanup_best_ struct best segments = {.most = RANK_DEPTH};
    _cleanup_free_ double *scores = NULL;
    struct hit_group group = {.to = 0};
    struct scale scale = {.terms = 0};

    if (caught->count == 0)
        return 0;
    if (make_scale(db, caught, &scale, err) == -1 ||
        rank_segments(db, caught, &scale, &segments, &scores, err) == -1)
        return -1;
    for (size_t i = 0; i < caught->count; i++) {
        if (scope_has(caught->scope, caught->hits[i].id))
            best_push(&messages, caught->hits[i].id, score_hit(caught, &scale, &caught->hits[i]));
    }
    _cleanup_best_ struct best where = {.most = messages.count + segments.count};
    for (size_t i = 0; i < messages.count; i++)
        best_push(&where, search_segment(messages.items[i].id), 0);
    for (size_t i = 0; i < segments.count; i++)
        best_push(&where, segments.items[i].id, 0);
    ranked_sort(where.items, where.count);
    while (next_group(caught, &group)) {
        if (ranked_find(where.items, where.count, group.segment) != NULL)
            rank_group(caught, &scale, &group, segment_weight * scores[group.segment], ret);
    }
    return 0;
}

/* ---- vectors */

/* What two numbers of the same message share, if one of them is that of its place. */
static int64_t place_of(int64_t id)
{
    return id >> PLACE_SHIFT << 1 | (search_kind(id) == KIND_TOOL);
}

static struct ranked from_vector(const struct ranked *vector, double unit)
{
    return (struct ranked){.id = vector->id, .score = unit * vector->score, .semantic = true};
}

/* Adds what vectors found, scaled to what words found: a perfect match is as good as the best
 * window. */
static void join(struct best *words, const struct best *more, struct best *ret)
{
    size_t count = more != NULL ? more->count : 0;
    _cleanup_free_ struct ranked *vectors = mem_alloc((count + 1) * sizeof *vectors);
    double top = 0;
    size_t k = 0;

    for (size_t i = 0; i < words->count; i++)
        top = words->items[i].score > top ? words->items[i].score : top;
    if (count > 0)
        memcpy(vectors, more->items, count * sizeof *vectors);
    double unit = vector_weight * (top > 0 ? top : 1);
    ranked_sort(vectors, count);
    ranked_sort(words->items, words->count);
    for (size_t i = 0; i < words->count; i++) {
        struct ranked item = words->items[i];
        for (; k < count && place_of(vectors[k].id) < place_of(item.id); k++)
            best_push_item(ret, from_vector(&vectors[k], unit));
        if (k < count && place_of(vectors[k].id) == place_of(item.id)) {
            struct ranked vector = from_vector(&vectors[k++], unit);
            vector.semantic = vector.score > item.score;
            vector.score += item.score;
            item = vector;
        }
        best_push_item(ret, item);
    }
    for (; k < count; k++)
        best_push_item(ret, from_vector(&vectors[k], unit));
    best_sort(ret);
}

int search_rank(struct search *search, const char *match, const struct search_scope *scope,
                const struct best *more, struct best *ret, struct err *err)
{
    _cleanup_caught_ struct caught caught = {.scope = scope};
    _cleanup_best_ struct best words = {.most = ret->most};

    if (ask(search->db, match, &caught, err) == -1)
        return -1;
    if (scope->related && caught.count > 0)
        keep_related(&caught);
    if (rank_caught(search->db, &caught, &words, err) == -1)
        return -1;
    join(&words, more, ret);
    return 0;
}
