/*
 * GET /sessions and /sessions/{id}. The list is put together from the JSON of each session, which
 * is made once for all requests (list.h), and its tag from their hashes. A single session is looked
 * at anew by a worker. A guest gets only the sessions and agents that it may see, without members
 * that could name others.
 */

#include "client/session_detail.h"
#include "serve/api.h"
#include "serve/server.h"
#include "store/placement.h"

/* The queries of GET /sessions. */
struct sessions_query {
    unsigned statuses, modes; /* bit sets */
    size_t limit, offset;
};

/* Parses a comma-separated list of words into a bit set of their positions. */
static bool parse_set(struct request *request, const char *key, const char *(*name)(size_t),
                      unsigned *ret)
{
    const char *text = json_get_text(request->json, key);
    unsigned set = 0;

    if (text == NULL)
        return true;
    _cleanup_strv_ char **words = str_split_list(text);
    for (char **word = words; word != NULL && *word != NULL; word++) {
        size_t i = 0;
        while (name(i) != NULL && strcmp(name(i), *word) != 0)
            i++;
        if (name(i) == NULL) {
            _cleanup_str_ struct str hint = STR_INIT;
            for (i = 0; name(i) != NULL; i++)
                str_addf(&hint, "%s%s", i > 0 ? ", " : "its words are: ", name(i));
            answer_refusal(request, 400, NULL, str_text(&hint),
                           "cannot use the query %s: it has no word '%s'", key, *word);
            return false;
        }
        set |= 1U << i;
    }
    if (set == 0) {
        answer_error(request, 400, "cannot use the query %s: it is empty", key);
        return false;
    }
    *ret = set;
    return true;
}

static const char *name_of_status(size_t i)
{
    return i < STATUS_COUNT ? status_name((enum status)i) : NULL;
}

static const char *name_of_mode(size_t i)
{
    return i < MODE_COUNT ? mode_name((enum mode)i) : NULL;
}

static bool parse_query(struct request *request, struct sessions_query *ret)
{
    *ret = (struct sessions_query){.statuses = ~0U, .modes = ~0U};
    ret->limit = (size_t)json_int(json_get(request->json, "limit"), INT64_MAX);
    ret->offset = (size_t)json_int(json_get(request->json, "offset"), 0);
    return parse_set(request, "status", name_of_status, &ret->statuses) &&
           parse_set(request, "mode", name_of_mode, &ret->modes);
}

void api_sessions_answer(struct request *request, struct listing *listing)
{
    const struct list *list = &request->server->list;
    const struct survey *survey = &listing->survey;
    struct str body = STR_INIT;
    uint64_t hash = HASH_START;
    bool wanted[STATUS_COUNT * MODE_COUNT];
    struct sessions_query query;
    size_t total = 0;
    size_t given = 0;

    if (!parse_query(request, &query))
        return;
    for (unsigned i = 0; i < STATUS_COUNT; i++)
        for (unsigned j = 0; j < MODE_COUNT; j++)
            wanted[list_kind((enum status)i, (enum mode)j)] =
                (query.statuses >> i & 1U) != 0 && (query.modes >> j & 1U) != 0;
    str_add(&body, "{\"sessions\":[");
    for (size_t i = 0; i < survey->count; i++) {
        if (!wanted[listing->kinds[i]] ||
            !guest_sees(&request->guest, survey->views[i].row.id, NULL))
            continue;
        if (total++ < query.offset || given == query.limit)
            continue;
        const struct card *card = list_card(list, listing, i);
        if (given++ > 0)
            str_addc(&body, ',');
        else
            str_reserve(&body, 65536);
        str_addn(&body, card->json, card->len);
        hash = hash_bytes(hash, (const char *)&card->hash, sizeof card->hash);
    }
    str_addf(&body, "],\"total\":%zu}", total);
    hash = hash_bytes(hash, (const char *)&total, sizeof total);
    answer_json(request, 200, &body);
    answer_tag(request, hash);
}

enum handled api_sessions(struct request *request)
{
    struct sessions_query query;

    if (!parse_query(request, &query))
        return HANDLED_NOW;
    /* a client that asks for broken sessions wants a new search */
    bool fresh = query.statuses != ~0U && (query.statuses >> STATUS_ERROR & 1U) != 0;
    struct listing *listing = list_get(&request->server->list, request, fresh);
    if (listing == NULL)
        return HANDLED_LATER;
    api_sessions_answer(request, listing);
    return HANDLED_NOW;
}

int api_session_put(const struct server *server, const char *id, struct str *to, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    _cleanup_session_detail_ struct session_detail detail = SESSION_DETAIL_INIT;
    struct json_out out = {.to = to};

    if (survey_take(&server->root, &server->config, SURVEY_LIVE, &survey, err) == -1)
        return -1;
    const struct view *view = survey_look(&server->root, &survey, id);
    if (view == NULL)
        return err_set(err, MAS_NOT_FOUND, "there is no session '%s'", id);
    session_detail_look(&server->root, view, false, &detail); /* the starter starts no git */
    session_detail_put_json(&server->root, &detail, &out);
    return 0;
}

/* Leaves of the agents only those that the guest may see. */
static int sieve_agents(const struct guest *guest, struct str *body, struct err *err)
{
    _cleanup_json_ struct json *whole = NULL;
    struct str sieved = STR_INIT;
    struct json_out out = {.to = &sieved};

    if (guest->agents[0] == '\0')
        return 0;
    if (json_parse(str_text(body), body->len, body->len, &whole, err) == -1)
        return -1;
    json_open(&out, NULL, '{');
    for (const struct json *node = json_first(whole); node != NULL; node = json_next(node)) {
        if (strcmp(json_key(node), "project") == 0 || strcmp(json_key(node), "boundsProblem") == 0)
            continue; /* they may name others */
        if (strcmp(json_key(node), "agents") != 0) {
            json_put_node(&out, json_key(node), node);
            continue;
        }
        json_open(&out, "agents", '[');
        for (const struct json *one = json_first(node); one != NULL; one = json_next(one))
            if (guest_sees(guest, guest->session, json_get_text_or(one, "id", "")))
                json_put_node(&out, NULL, one);
        json_close(&out, ']');
    }
    json_close(&out, '}');
    str_free(body);
    *body = sieved;
    return 0;
}

static void run_session(struct job *job)
{
    struct request *request = later_request(job);
    struct str body = STR_INIT;
    struct err err = ERR_INIT;

    if (api_session_put(request->server, request->id, &body, &err) == -1 ||
        sieve_agents(&request->guest, &body, &err) == -1) {
        str_free(&body);
        answer_err(request, &err, 409);
        return;
    }
    uint64_t hash = hash_bytes(HASH_START, body.data, body.len);
    answer_json(request, 200, &body);
    answer_tag(request, hash);
}

enum handled api_session(struct request *request)
{
    return answer_later(request, run_session);
}
