/* The part of client/roster.h that waits for starting hosts. */
#include "base/time.h"
#include "client/roster.h"
#include "client/survey.h"
#include "os/loop.h"
#include "os/watch.h"
#include "store/session.h"
#include "tmux/tmux.h"

enum { COMING_MS = 5000 }; /* time limit for a started host to listen */

bool roster_listens(const struct roster *roster, size_t i)
{
    const struct host_call *call = &roster->calls[i];
    struct host_connection connection = HOST_CONNECTION_INIT;
    struct err ignored = ERR_INIT;
    enum host_answer answer = host_connection_open(&connection, call->run, call->agent, &ignored);

    host_connection_close(&connection);
    return answer != HOST_ABSENT;
}

/* Waits until every absent host of the wanted teams (NULL: all) listens, or timeout_ms have
 * passed. */
static void await(const struct roster *roster, const bool *wanted, int timeout_ms)
{
    int64_t end = time_monotonic_ms() + timeout_ms;
    _cleanup_close_ int watch = watch_open();

    for (size_t i = 0; watch != -1 && i < roster->team_count; i++)
        (void)watch_add(watch, roster->teams[i].run, WATCH_CAME);
    for (size_t i = 0; watch != -1 && i < roster->count; i++) {
        const struct host_call *call = &roster->calls[i];
        if (call->answer != HOST_ABSENT || call->run == -1 ||
            (wanted != NULL && !wanted[roster->agents[i].team]))
            continue;
        while (!roster_listens(roster, i)) {
            int64_t left = end - time_monotonic_ms();
            if (left <= 0 || loop_wait_for(watch, POLLIN, (int)left) == 0)
                return;
            (void)watch_read(watch, NULL, NULL);
        }
    }
}

void roster_ask_coming(struct roster *roster, const char *head, int timeout_ms)
{
    bool *coming = mem_alloc((roster->team_count + 1) * sizeof *coming);
    bool any = false;
    bool absent = false;

    for (size_t i = 0; i < roster->asked; i++) {
        size_t team = roster->agents[i].team;
        if (roster->calls[i].answer != HOST_ABSENT)
            continue;
        absent = true;
        if (!coming[team])
            coming[team] = workspace_env_waits(roster->teams[team].dir);
        any = any || coming[team];
    }
    if (any)
        await(roster, coming, timeout_ms);
    if (absent) /* even without waiting: a host may have come since the request */
        roster_ask_again(roster, head, NULL, 0);
    free(coming);
}

static int is_stopped(const struct roster_team *team, const char *what, struct err *err)
{
    const struct session_label label = roster_label(team);

    (void)err_set(err, MAS_CONFLICT, "cannot %s session '%s': it is not running", what, label.text);
    return err_hint(err, "start it with: mas start %s", label.text);
}

/* Gets the panes of a running session. Fails with MAS_CONFLICT if the session does not run. */
static int find_panes(const struct root *root, const struct roster_team *team, const char *what,
                      struct tmux_pane **ret, size_t *ret_count, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_free_ struct tmux_pane *panes = NULL;
    struct tmux_session *live = NULL;

    if (session_load(root, team->dir, team->id, &session, err) == -1)
        return err_wrap(err, "cannot %s session '%s'", what, team->id);
    if (survey_find_team(root, session.tmux_socket, team->id, &live, &panes, ret_count, err) == -1)
        return -1;
    if (live == NULL)
        return is_stopped(team, what, err);
    tmux_sessions_free(live, 1);
    *ret = TAKE_PTR(panes);
    return 0;
}

static bool is_alive(const struct tmux_pane *panes, size_t count, const char *agent)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(panes[i].agent, agent) == 0)
            return !panes[i].dead;
    return false;
}

/* Returns the number of absent hosts. */
static size_t count_absent(const struct roster *roster)
{
    size_t absent = 0;
    for (size_t i = 0; i < roster->asked; i++)
        absent += roster->calls[i].answer == HOST_ABSENT;
    return absent;
}

int roster_ask_live(const struct root *root, struct roster *roster,
                    const struct roster_request *request, struct err *err)
{
    _cleanup_free_ struct tmux_pane *panes = NULL;
    size_t count = 0;

    roster_ask(roster, request->head, request->body, request->body_len);
    if (count_absent(roster) == 0)
        return 0;
    if (find_panes(root, &roster->teams[0], request->what, &panes, &count, err) == -1)
        return -1;
    for (size_t i = 0; i < roster->asked; i++) {
        struct host_call *one = &roster->calls[i];
        if (one->answer != HOST_ABSENT || is_alive(panes, count, one->agent))
            continue;
        one->answer = HOST_ENDED;
        (void)err_set(&one->err, MAS_FAILED, "its host has ended");
        (void)err_hint(&one->err, "start it again with: mas restart %s %s",
                       roster_label(&roster->teams[0]).text, one->agent);
    }
    if (count_absent(roster) == 0)
        return 0;
    await(roster, NULL, COMING_MS);
    roster_ask_again(roster, request->head, request->body, request->body_len);
    return 0;
}
