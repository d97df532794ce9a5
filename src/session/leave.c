#include "session/leave.h"

#include "code/merge.h"
#include "code/repo.h"
#include "os/file.h"
#include "session/life_internal.h"
#include "store/team_file.h"
#include "store/workspace.h"

/* Keeps merges away from the repositories of a session with a project. */
static int lock_code(const struct life *life, struct leaving *leaving, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;

    if (team_file_load(leaving->dir, &team, err) == -1)
        return -1;
    if (team.project.path == NULL)
        return 0;
    repo_of(life->root, leaving->session.id, team.project.label, &repo);
    leaving->project = mem_dup(team.project.path);
    return merge_lock(&repo, "move", &leaving->code_lock, err);
}

int leave_open(const struct life *life, const char *id, struct leaving *ret, struct err *err)
{
    if (life_hold(life, id, LOCK_TRY, "move", &ret->dir, &ret->lock, err) == -1 ||
        life_load(life, ret->dir, id, "move", &ret->session, err) == -1)
        return -1;
    if (placement_is_shared(ret->session.mode)) {
        (void)err_set(err, MAS_CONFLICT,
                      "cannot move session '%s': its files are in the root, in legacy mode",
                      session_label(life->root, id).text);
        return err_hint(err, "turn it into an isolated session first: mas migrate");
    }
    if (life_is_half_moved(life, ret->dir, &ret->session))
        return life_migrate_first(life, "move", id, err);
    return lock_code(life, ret, err) == -1
               ? err_wrap(err, "cannot move session '%s'", session_label(life->root, id).text)
               : 0;
}

void leave_close(struct leaving *leaving)
{
    fd_closep(&leaving->code_lock);
    fd_closep(&leaving->lock);
    fd_closep(&leaving->dir);
    session_free(&leaving->session);
    free(leaving->project);
    *leaving = (struct leaving)LEAVING_INIT;
}

int leave_stop(const struct life *life, struct leaving *leaving, struct err *err)
{
    struct life_end end = {.keeps_status = true};

    if (life_stop_held(life, leaving->dir, &leaving->session, &end, err) == -1)
        return -1;
    if (end.untold.code == MAS_OK)
        return 0;
    *err = end.untold; /* it may run on */
    return err_wrap(err, "cannot move session '%s'",
                    session_label(life->root, leaving->session.id).text);
}

int leave_pack(const struct life *life, struct leaving *leaving, int fd, struct archive_report *ret,
               struct err *err)
{
    return archive_to(life, leaving->dir, &leaving->session, fd, ret, err);
}

int leave_mark(const struct life *life, struct leaving *leaving, const char *name, bool given_up,
               struct err *err)
{
    struct session *session = &leaving->session;

    free(session->moved_to);
    session->moved_to = name == NULL ? mem_dup("")
                        : given_up   ? mem_printf("%s%c", name, MOVED_GIVEN_UP)
                                     : mem_dup(name);
    if (life_record(life, leaving->dir, session, err) == -1)
        return -1;
    workspace_log(leaving->dir, config_log_limits(life->config), "move to=%s",
                  name == NULL ? "nowhere" : session->moved_to);
    return 0;
}

int leave_remove(const struct life *life, struct leaving *leaving, struct err *err)
{
    fd_closep(&leaving->code_lock);
    return life_remove_held(life, leaving->session.id, err);
}

bool leave_parse(const char *moved_to, char **ret_name, bool *ret_given_up)
{
    size_t len = strlen(moved_to);

    if (len == 0 || session_arrives(moved_to))
        return false;
    *ret_given_up = moved_to[len - 1] == MOVED_GIVEN_UP;
    *ret_name = mem_dupn(moved_to, len - *ret_given_up);
    return true;
}
