/* The part of session/life.h that talks to a session's hosts. Finds them through run/, because the
 * team may be damaged. */
#include "base/file.h"
#include "base/path.h"
#include "base/time.h"
#include "base/tree.h"
#include "client/hosts.h"
#include "session/life_internal.h"
#include "store/reserve.h"
#include "store/workspace.h"

enum {
    MARGIN_MS = 7000, /* for the last signal and the answer */
    GONE_MS = 2000, /* a host may exit this much later than its agent */
};

/* Receives how the process tree of an agent ended. */
static bool on_end(struct host_call *call, const struct frame *reply, void *arg)
{
    struct life_end *end = arg;
    const char *names = json_get_text(reply->head, "names");
    int64_t terminated = json_int(json_get(reply->head, "terminated"), 0);
    int64_t killed = json_int(json_get(reply->head, "killed"), 0);
    size_t len = strlen(end->names);

    (void)call;
    end->terminated += terminated > 0 ? (size_t)terminated : 0;
    end->killed += killed > 0 ? (size_t)killed : 0;
    if (names != NULL && names[0] != '\0')
        (void)snprintf(end->names + len, sizeof end->names - len, "%s%s", len > 0 ? " " : "",
                       names);
    return true;
}

void life_stop_hosts(const struct life *life, const char *id, struct life_end *end)
{
    _cleanup_close_ int dir = workspace_open(life->root, id);
    _cleanup_close_ int run = dir != -1 ? path_open_dir(dir, WORKSPACE_RUN) : -1;
    _cleanup_strv_ char **names = hosts_list(run, WORKSPACE_HOST_SOCKET);
    _cleanup_str_ struct str head = STR_INIT;
    int hangup = config_number(life->config, SETTING_HANGUP);
    int terminate = config_number(life->config, SETTING_TERMINATE);
    size_t count = strv_len(names);
    struct host_call *calls = mem_alloc((count + 1) * sizeof *calls);

    for (size_t i = 0; i < count; i++)
        calls[i] = (struct host_call){.run = run, .agent = names[i]};
    /* otherwise one that does not answer now would cost all of them the time */
    hosts_start(calls, count, "{\"do\":\"status\"}", NULL, 0);
    hosts_finish(calls, count, HOSTS_ANSWER_MS, NULL, NULL);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (calls[i].answer == HOST_ANSWERED)
            calls[kept++] = (struct host_call){.run = run, .agent = calls[i].agent};
    str_addf(&head, "{\"do\":\"stop\",\"hangup\":%d,\"terminate\":%d}", hangup, terminate);
    hosts_start(calls, kept, head.data, NULL, 0);
    hosts_finish(calls, kept, hangup + terminate + MARGIN_MS, on_end, end);
    free(calls);
}

void life_clean_run(int dir)
{
    static const char *const endings[] = {WORKSPACE_HOST_SOCKET, WORKSPACE_HOST_AGENT,
                                          WORKSPACE_HOST_LOCK, WORKSPACE_HOST_ROLE};
    struct err ignored = ERR_INIT;
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);

    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        _cleanup_strv_ char **names = hosts_list(run, endings[i]);
        for (char **agent = names; agent != NULL && *agent != NULL; agent++) {
            _cleanup_free_ char *name = mem_printf("%s%s", *agent, endings[i]);
            (void)tree_remove(run, name, &ignored);
        }
    }
}

int life_await_hosts(const struct life *life, int dir, const char *id, const char *what,
                     struct err *err)
{
    int64_t end = time_monotonic_ms() + GONE_MS + config_number(life->config, SETTING_HANGUP) +
                  config_number(life->config, SETTING_TERMINATE);
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    _cleanup_strv_ char **names = hosts_list(run, WORKSPACE_HOST_LOCK);

    for (char **agent = names; agent != NULL && *agent != NULL; agent++) {
        _cleanup_free_ char *name = mem_printf("%s%s", *agent, WORKSPACE_HOST_LOCK);
        struct err why = ERR_INIT;
        _cleanup_close_ int lock = -1;
        int64_t left = end - time_monotonic_ms();
        if (file_lock(run, name, left > 0 ? (int)left : LOCK_TRY, "", &lock, &why) == 0 ||
            (why.code != MAS_CONFLICT && why.code != MAS_TIMEOUT))
            continue;
        (void)err_set(err, MAS_CONFLICT,
                      "cannot %s session '%s': the host of its agent '%s' is still running", what,
                      session_label(life->root, id).text, *agent);
        return err_hint(err, "end it with: mas stop %s", session_label(life->root, id).text);
    }
    life_clean_run(dir); /* also a lock that waiting for an exiting host recreated */
    reserve_drop(dir);
    return 0;
}
