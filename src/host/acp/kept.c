/*
 * The sessions that the agent itself keeps: a person lists them, and has some of them deleted. Only
 * those are known that were opened in the directory of this agent, so that nobody's others are
 * touched.
 */
#include "host/acp/conversation.h"

#include "host/acp/agent_side.h"
#include "host/acp/request.h"
#include "host/server.h"

enum {
    ANSWER_MS = 30000, /* for each request */
    KEPT_MAX = 1000,
    PAGES_MAX = 100,
    TITLE_SHOWN = 200, /* bytes */
    TIME_SHOWN = 40,
    WHY_SHOWN = 200,
    MARGIN = 4096, /* bytes of an answer that are left for its end */
};

static void free_session(struct kept_session *session)
{
    free(session->id);
    free(session->title);
    free(session->updated);
    free(session->error);
}

static void forget(struct kept_sessions *kept)
{
    for (size_t i = 0; i < kept->count; i++)
        free_session(&kept->sessions[i]);
    free(kept->sessions);
    free(kept->wanted);
    *kept = (struct kept_sessions){.state = KEPT_NONE};
}

void kept_free(struct kept_sessions *kept)
{
    forget(kept);
}

static struct client *find_client(struct host *host)
{
    for (size_t i = 0; i < host->server.count; i++)
        if (host->server.clients[i].kind == CLIENT_LISTS)
            return &host->server.clients[i];
    return NULL;
}

static void refuse(struct host *host, const struct err *err)
{
    struct client *client = find_client(host);

    if (client != NULL)
        server_refuse(client, err);
    forget(&host->conversation->kept);
}

void kept_fail(struct host *host, const char *why)
{
    struct err err = ERR_INIT;

    if (host->conversation->kept.state == KEPT_NONE)
        return;
    (void)err_set(&err, MAS_FAILED, "cannot ask agent '%s' for its sessions: %s", host->agent->id,
                  why);
    refuse(host, &err);
}

int kept_add(struct host *host, struct client *client, const char *id, bool all, struct err *err)
{
    struct kept_sessions *kept = &host->conversation->kept;

    if (client->kind != CLIENT_NEW || kept->state != KEPT_NONE)
        return err_set(err, MAS_CONFLICT, "another command asks it for its sessions");
    kept->state = KEPT_WAITS;
    kept->wanted = mem_dup(id);
    kept->all = all;
    client->kind = CLIENT_LISTS;
    return 0;
}

/* ---- the answer */

static bool is_present(const struct host *host, const struct kept_session *session)
{
    const char *present = host->talk->session;

    return present != NULL && strcmp(session->id, present) == 0;
}

static void put_session(const struct host *host, const struct kept_session *session,
                        struct json_out *out)
{
    json_put_all(out, JO(NULL), JT("id", session->id), JT("title", session->title),
                 JT("updatedAt", session->updated), JB("inUse", is_present(host, session)),
                 JB("deleted", session->deletes && session->error == NULL),
                 JT("error", session->error), JOE);
}

/* Writes those that were not deleted, or the others, as far as there is room. Returns how many. */
static size_t put_sessions(const struct host *host, bool failed, struct json_out *out)
{
    const struct kept_sessions *kept = &host->conversation->kept;
    size_t shown = 0;

    for (size_t i = 0; i < kept->count && out->to->len < FRAME_HEAD_MAX - MARGIN; i++) {
        if ((kept->sessions[i].error != NULL) != failed)
            continue;
        put_session(host, &kept->sessions[i], out);
        shown++;
    }
    return shown;
}

static void answer(struct host *host)
{
    struct kept_sessions *kept = &host->conversation->kept;
    struct client *client = find_client(host);
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;
    size_t shown = 0;
    size_t failed = 0;

    if (client != NULL) {
        server_open_answer(host, &head, &out);
        json_open(&out, "sessions", '[');
        for (size_t i = 0; i < kept->count; i++)
            failed += kept->sessions[i].error != NULL;
        shown += put_sessions(host, true, &out);
        shown += put_sessions(host, false, &out);
        json_close(&out, ']');
        json_put_int(&out, "more", (int64_t)(kept->count - shown));
        json_put_int(&out, "failed", (int64_t)failed);
        server_close_answer(client, &head, &out);
    }
    forget(kept);
}

/* ---- deleting */

static void delete_one(struct host *host, struct kept_session *session)
{
    session->deletes = true;
    session->serial = acp_session_delete(host->conversation->link.acp, session->id, ANSWER_MS);
    host->conversation->kept.open++;
}

/* Deletes what is wanted, or answers. */
static void go_on(struct host *host)
{
    struct kept_sessions *kept = &host->conversation->kept;
    struct err err = ERR_INIT;
    size_t i = 0;

    kept->state = KEPT_DELETES;
    for (size_t k = 0; kept->all && k < kept->count; k++)
        if (!is_present(host, &kept->sessions[k]))
            delete_one(host, &kept->sessions[k]);
    while (kept->wanted != NULL && i < kept->count &&
           strcmp(kept->sessions[i].id, kept->wanted) != 0)
        i++;
    if (kept->wanted != NULL && i == kept->count) {
        (void)err_set(&err, MAS_NOT_FOUND, "agent '%s' keeps no session '%s'", host->agent->id,
                      kept->wanted);
        (void)err_hint(&err, "list them with: mas kept %s %s",
                       session_label(&host->root, host->session.id).text, host->agent->id);
        refuse(host, &err);
        return;
    }
    if (kept->wanted != NULL && is_present(host, &kept->sessions[i])) {
        (void)err_set(&err, MAS_CONFLICT, "cannot delete session '%s' of agent '%s': it is in use",
                      kept->wanted, host->agent->id);
        (void)err_hint(&err, "leave it with: mas clear %s %s",
                       session_label(&host->root, host->session.id).text, host->agent->id);
        refuse(host, &err);
        return;
    }
    if (kept->wanted != NULL)
        delete_one(host, &kept->sessions[i]);
    if (kept->open == 0)
        answer(host);
}

static bool handle_deleted(struct host *host, const struct acp_answer *from)
{
    struct kept_sessions *kept = &host->conversation->kept;
    char why[ERR_TEXT_MAX];

    for (size_t i = 0; i < kept->count; i++) {
        struct kept_session *session = &kept->sessions[i];
        if (!session->deletes || session->serial != from->serial)
            continue;
        if (!from->ok) {
            const char *words = acp_why(from, why, sizeof why);
            session->error = mem_dupn(words, str_fit(words, WHY_SHOWN));
        }
        if (--kept->open == 0)
            answer(host);
        return true;
    }
    return false;
}

/* ---- listing */

static void ask_page(struct host *host, const char *cursor)
{
    const struct agent_link *link = &host->conversation->link;
    struct kept_sessions *kept = &host->conversation->kept;

    kept->state = KEPT_LISTS;
    kept->serial = acp_session_list(link->acp, link->cwd, cursor, ANSWER_MS);
}

static char *fit(const struct json *object, const char *key, size_t max)
{
    const char *text = json_get_text(object, key);

    return text != NULL ? mem_dupn(text, str_fit(text, max)) : NULL;
}

static void keep_page(struct host *host, const struct json *list)
{
    const char *cwd = host->conversation->link.cwd;
    struct kept_sessions *kept = &host->conversation->kept;

    for (const struct json *one = json_first(list); one != NULL; one = json_next(one)) {
        const char *id = json_get_text(one, "sessionId");
        const char *place = json_get_text(one, "cwd");
        if (id == NULL || id[0] == '\0' || strlen(id) > ACP_ID_MAX || str_has_control(id) ||
            place == NULL || strcmp(place, cwd) != 0 || kept->count >= KEPT_MAX)
            continue;
        kept->sessions = mem_room(kept->sessions, kept->count, sizeof *kept->sessions);
        kept->sessions[kept->count++] = (struct kept_session){
            .id = mem_dup(id),
            .title = fit(one, "title", TITLE_SHOWN),
            .updated = fit(one, "updatedAt", TIME_SHOWN),
        };
    }
}

static void handle_page(struct host *host, const struct acp_answer *from)
{
    struct kept_sessions *kept = &host->conversation->kept;
    const struct json *list = json_get(from->result, "sessions");
    const char *cursor = json_get_text(from->result, "nextCursor");
    char why[ERR_TEXT_MAX];

    if (!from->ok || !json_is_array(list)) {
        kept_fail(host, from->ok ? "its answer has no sessions" : acp_why(from, why, sizeof why));
        return;
    }
    keep_page(host, list);
    if (cursor != NULL && ++kept->pages < PAGES_MAX && kept->count < KEPT_MAX)
        ask_page(host, cursor);
    else
        go_on(host);
}

bool kept_answer(struct host *host, const struct acp_answer *from)
{
    const struct kept_sessions *kept = &host->conversation->kept;

    if (from->call == ACP_CALL_DELETE)
        return kept->state == KEPT_DELETES && handle_deleted(host, from);
    if (from->call != ACP_CALL_LIST || kept->state != KEPT_LISTS || from->serial != kept->serial)
        return false;
    handle_page(host, from);
    return true;
}

bool kept_waits(const struct conversation *conversation)
{
    return conversation->kept.state == KEPT_WAITS;
}

void kept_run(struct host *host)
{
    const struct agent_link *link = &host->conversation->link;
    const struct kept_sessions *kept = &host->conversation->kept;

    if (kept->state == KEPT_WAITS && find_client(host) == NULL)
        forget(&host->conversation->kept);
    if (kept->state != KEPT_WAITS || link->phase.now != PHASE_READY ||
        host->child.phase != CHILD_RUNS)
        return;
    if (!acp_info(link->acp)->list)
        kept_fail(host, "it does not tell them");
    else if ((kept->all || kept->wanted != NULL) && !acp_info(link->acp)->remove)
        kept_fail(host, "it does not delete sessions");
    else
        ask_page(host, NULL);
}

void kept_process_ended(struct host *host)
{
    if (host->conversation->kept.state > KEPT_WAITS)
        kept_fail(host, "the agent ended");
}
