/*
 * The state of an arrival is nothing of its own: it follows from MOVED_TO of .session, see
 * state_of(). The other machine may ask again for what it got no answer to: arrive_release() and
 * arrive_drop() succeed if there is nothing left to do. arrive_look() also finds out whether a
 * session could arrive at all, before the other machine stops it.
 */

#include "session/arrive.h"

#include "base/json.h"
#include "client/survey.h"
#include "os/file.h"
#include "session/archive.h"
#include "session/leave.h"
#include "session/life_internal.h"
#include "store/team_file.h"
#include "store/workspace.h"

enum { ROOM_MIN = 64 * 1024 }; /* bytes; a disk on which that finds no room is full */

static const char *const state_names[] = {"none", "arriving", "here", "gone"};

const char *arrival_name(enum arrival_state state)
{
    return state_names[state];
}

bool arrival_parse(const char *text, enum arrival_state *ret)
{
    for (unsigned i = 0; text != NULL && i < ARRAY_LEN(state_names); i++) {
        if (strcmp(text, state_names[i]) == 0) {
            *ret = (enum arrival_state)i;
            return true;
        }
    }
    return false;
}

void arrival_free(struct arrival *arrival)
{
    free(arrival->lacks);
    *arrival = (struct arrival){.lacks = NULL};
}

void arrival_format(const struct arrival *arrival, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    json_put_all(&out, JT("state", arrival_name(arrival->state)), JI("epoch", arrival->epoch),
                 JB("runs", arrival->runs));
    if (arrival->lacks != NULL)
        json_put(&out, "lacks", arrival->lacks);
    json_close(&out, '}');
}

void arrival_format_restored(const char *id, uint64_t epoch, const char *digest, struct str *to)
{
    struct json_out out = {.to = to};

    json_put_all(&out, JO(NULL), JT("sessionId", id), JI("epoch", epoch), JT("digest", digest),
                 JOE);
}

static enum arrival_state state_of(const struct session *session)
{
    return session->moved_to[0] == '\0'         ? ARRIVAL_HERE
           : session_arrives(session->moved_to) ? ARRIVAL_ARRIVING
                                                : ARRIVAL_GONE;
}

/* Returns the directory of the session's project if it is missing, else NULL. */
static char *find_lacking(int dir)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    struct err ignored = ERR_INIT;
    struct stat st;

    if (team_file_load(dir, &team, &ignored) == -1 || team.project.path == NULL ||
        (stat(team.project.path, &st) == 0 && S_ISDIR(st.st_mode)))
        return NULL;
    return mem_dup(team.project.path);
}

static bool is_missing(const struct life *life, const char *id)
{
    struct stat st;
    return fstatat(life->root->sessions, id, &st, AT_SYMLINK_NOFOLLOW) == -1 && errno == ENOENT;
}

/* Fails if no session can arrive here, so that it is not stopped where it runs. */
static int check_room(const struct root *root, struct err *err)
{
    if (root_check(root, err) == -1)
        return -1;
    if (faccessat(root->sessions, ".", W_OK | X_OK, AT_EACCESS) == -1)
        return err_errno(err, "cannot write into '%s/%s'", root->path, ROOT_SESSIONS);
    return file_disk_is_full(root->sessions, ROOM_MIN)
               ? err_set(err, MAS_FAILED, "cannot write into '%s/%s': its disk is full", root->path,
                         ROOT_SESSIONS)
               : 0;
}

int arrive_look(const struct life *life, const char *id, struct arrival *ret, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = workspace_open(life->root, id);
    struct tmux_session *live = NULL;

    *ret = (struct arrival){.state = ARRIVAL_NONE};
    if (dir == -1 && is_missing(life, id))
        return check_room(life->root, err);
    if (dir == -1)
        return err_errno(err, "cannot open session '%s'", id);
    if (life_load(life, dir, id, "look at", &session, err) == -1)
        return -1;
    ret->state = state_of(&session);
    ret->epoch = session.epoch;
    ret->lacks = find_lacking(dir);
    if (ret->state == ARRIVAL_HERE &&
        survey_find_live(life->root, session.tmux_socket, id, &live, err) == -1)
        return -1;
    ret->runs = live != NULL;
    tmux_sessions_free(live, live != NULL);
    return 0;
}

static char *arriving_from(const char *host)
{
    return mem_printf(MOVED_ARRIVING_FROM "%s)", host);
}

int arrive_check(const struct life *life, const struct arrival_pull *pull, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = workspace_open(life->root, pull->id);
    _cleanup_free_ char *own = arriving_from(pull->host);
    _cleanup_free_ char *to = NULL;
    bool given_up = false;

    if (dir == -1)
        return 0; /* whoever looks says why */
    if (life_load(life, dir, pull->id, "look at", &session, err) == -1)
        return -1;
    if (session.moved_to[0] == '\0' || strcmp(session.moved_to, own) == 0 ||
        (leave_parse(session.moved_to, &to, &given_up) && strcmp(to, pull->host) == 0))
        return 0;
    return err_set(err, MAS_CONFLICT, "another move of it has not ended: %s", session.moved_to);
}

int arrive_restore(const struct life *life, const struct arrival_pull *pull, char ret_id[ID_TEXT],
                   uint64_t *ret_epoch, char ret_digest[SHA256_TEXT], struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_free_ char *from = pull != NULL ? arriving_from(pull->host) : NULL;
    const struct archive_restore options = {.file = ARCHIVE_STANDARD,
                                            .id = pull != NULL ? pull->id : NULL,
                                            .links = pull == NULL || pull->links,
                                            .takeover = true,
                                            .moved_to = from != NULL ? from : MOVED_ARRIVING,
                                            .digest = ret_digest};

    if (archive_restore(life, &options, &session, err) == -1)
        return -1;
    memcpy(ret_id, session.id, ID_TEXT);
    *ret_epoch = session.epoch;
    return 0;
}

int arrive_set_project(const struct life *life, const char *id, const char *path, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;

    if (life_hold(life, id, LOCK_WAIT_MS, "receive", &dir, &lock, err) == -1 ||
        team_file_load(dir, &team, err) == -1)
        return -1;
    free(team.project.path);
    team.project.path = mem_dup(path);
    return team_file_change(dir, &team, err);
}

static int refuse(const struct life *life, const char *what, const struct session *session,
                  uint64_t epoch, struct err *err)
{
    return err_set(err, MAS_CONFLICT,
                   "cannot %s session '%s': it is %s here in epoch %ju, not arriving in epoch %ju",
                   what, session_label(life->root, session->id).text,
                   arrival_name(state_of(session)), (uintmax_t)session->epoch, (uintmax_t)epoch);
}

int arrive_release(const struct life *life, const char *id, uint64_t epoch, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;

    if (life_hold(life, id, LOCK_WAIT_MS, "release", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "release", &session, err) == -1)
        return -1;
    enum arrival_state state = state_of(&session);
    if (session.epoch != epoch || state == ARRIVAL_GONE)
        return refuse(life, "release", &session, epoch, err);
    if (state == ARRIVAL_HERE)
        return 0;
    session.moved_to[0] = '\0';
    if (life_record(life, dir, &session, err) == -1)
        return -1;
    workspace_log(dir, config_log_limits(life->config), "arrive epoch=%ju", (uintmax_t)epoch);
    return 0;
}

int arrive_drop(const struct life *life, const char *id, uint64_t epoch, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;

    if (is_missing(life, id))
        return 0;
    if (life_hold(life, id, LOCK_WAIT_MS, "drop", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "drop", &session, err) == -1)
        return -1;
    enum arrival_state state = state_of(&session);
    if (state != ARRIVAL_ARRIVING && (state != ARRIVAL_GONE || session.epoch >= epoch))
        return refuse(life, "drop", &session, epoch, err);
    return life_remove_held(life, id, err);
}
