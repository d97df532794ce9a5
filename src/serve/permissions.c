/* GET /permissions: what all agents of the root ask, from their hosts. */
#include "client/hosts.h"
#include "client/who_waits.h"
#include "os/path.h"
#include "serve/api.h"
#include "serve/server.h"
#include "store/workspace.h"

enum { BATCH = 16 }; /* hosts that are asked at the same time */

/* One agent of the register. */
struct asker {
    const struct waiting *entry;
    struct json *said; /* NULL: nothing */
};

static bool on_reply(struct host_call *call, const struct frame *frame, void *arg)
{
    struct asker *asker = call->arg;

    (void)arg;
    if (hosts_reply_error(frame->head, &call->err) == 0)
        asker->said = json_copy(frame->head);
    return true;
}

static int open_run(const struct root *root, const char *session)
{
    _cleanup_close_ int dir = workspace_open(root, session);

    return dir != -1 ? path_open_dir(dir, WORKSPACE_RUN) : -1;
}

static void put_one(const struct waiting *entry, const struct json *permission,
                    struct json_out *out)
{
    json_open(out, NULL, '{');
    json_put(out, "sessionId", entry->session);
    json_put(out, "agent", entry->agent);
    for (const struct json *node = json_first(permission); node != NULL; node = json_next(node))
        json_put_node(out, json_key(node), node);
    json_close(out, '}');
}

static void put_silent(const struct waiting *entry, struct json_out *out)
{
    json_put_all(out, JO(NULL), JT("sessionId", entry->session), JT("agent", entry->agent), JOE);
}

/* Asks the hosts of some entries. What they ask goes to `out`, those that do not answer in time to
 * `silent`. */
static void ask_some(const struct root *root, const struct waiting *entries, size_t count,
                     struct json_out *out, struct json_out *silent)
{
    struct asker askers[BATCH];
    struct host_call calls[BATCH];
    int runs[BATCH];

    for (size_t i = 0; i < count; i++) {
        askers[i] = (struct asker){.entry = &entries[i]};
        runs[i] = open_run(root, entries[i].session);
        calls[i] = (struct host_call){.run = runs[i],
                                      .agent = entries[i].agent,
                                      .arg = &askers[i],
                                      .connection = HOST_CONNECTION_INIT};
    }
    hosts_start(calls, count, "{\"do\":\"listen\"}", NULL, 0);
    hosts_finish(calls, count, HOSTS_ANSWER_MS, on_reply, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct json *list = json_get(askers[i].said, "permissions");
        for (const struct json *one = json_first(list); one != NULL; one = json_next(one))
            put_one(&entries[i], one, out);
        if (calls[i].answer == HOST_LATE)
            put_silent(&entries[i], silent);
        json_free(askers[i].said);
        if (runs[i] != -1)
            (void)close(runs[i]);
    }
}

/* Moves those that the guest may see to the front, in their order; returns their number. */
static size_t sieve(const struct guest *guest, struct waiting_list *list)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct waiting entry = list->entries[i];
        if (!guest_sees(guest, entry.session, entry.agent))
            continue;
        list->entries[i] = list->entries[count];
        list->entries[count++] = entry;
    }
    return count;
}

static void run_all(struct job *job)
{
    struct request *request = later_request(job);
    const struct server *server = request->server;
    _cleanup_waiting_ struct waiting_list list = {.count = 0};
    _cleanup_str_ struct str late = STR_INIT;
    struct json_out silent = {.to = &late};
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};
    struct err err = ERR_INIT;

    if (who_wait(&server->root, &server->config, &list, &err) == -1) {
        answer_err(request, &err, 409);
        return;
    }
    json_open(&silent, NULL, '[');
    json_open(&out, NULL, '{');
    json_open(&out, "permissions", '[');
    size_t total = sieve(&request->guest, &list);
    for (size_t at = 0; at < total; at += BATCH) {
        size_t count = total - at < BATCH ? total - at : BATCH;
        ask_some(&server->root, list.entries + at, count, &out, &silent);
    }
    json_close(&out, ']');
    json_close(&silent, ']');
    str_addf(&body, ",\"silent\":%s", str_text(&late));
    json_close(&out, '}');
    uint64_t hash = hash_bytes(HASH_START, body.data, body.len);
    answer_json(request, 200, &body);
    answer_tag(request, hash);
}

enum handled api_all_permissions(struct request *request)
{
    return answer_later(request, run_all);
}
