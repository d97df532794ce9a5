#include "session/places.h"

#include "code/repo.h"
#include "os/path.h"
#include "store/placement.h"
#include "store/snapshot.h"
#include "store/workspace.h"

/* The one that is looked at. */
struct start_places {
    const struct root *root;
    int dir;
    const struct session *session;
    const struct team *team;
};

/* Checks a directory that was opened as `fd`, which may be -1 with errno. */
static int check(const struct start_places *in, const struct agent *agent, int fd, const char *path,
                 struct err *err)
{
    if (fd != -1 && faccessat(fd, ".", X_OK, AT_EACCESS) == 0)
        return 0;
    struct err why = ERR_INIT;
    (void)err_errno(&why, "cannot enter '%s'", path);
    if (why.number == ENOENT)
        (void)err_set(&why, MAS_FAILED, "its directory '%s' is missing", path);
    else if (why.number == ENOTDIR || why.number == ELOOP)
        (void)err_set(&why, MAS_FAILED, "'%s' is no directory", path);
    const struct session_label label = session_label(in->root, in->session->id);
    return err_set(err, MAS_FAILED, "cannot start agent '%s' of session '%s': %s", agent->id,
                   label.text, why.text);
}

static int check_unit(const struct start_places *in, const struct agent *agent, struct err *err)
{
    const enum mode mode = in->session->mode;
    _cleanup_free_ char *part = mem_printf(WORKSPACE_UNIT "/%s", agent->id);
    _cleanup_free_ char *path = placement_path(in->root, in->session->id, mode, part);
    struct stat st;
    bool is_made = snapshot_is_held(in->dir); /* by its host, if it is missing */
    _cleanup_close_ int fd = placement_open(in->root, in->dir, mode, part);

    if (fd == -1 && errno == ENOENT && is_made)
        fd = placement_open(in->root, in->dir, mode, WORKSPACE_UNIT);
    if (check(in, agent, fd, path, err) == 0)
        return 0;
    bool is_other = lstat(path, &st) == 0 && !S_ISDIR(st.st_mode);
    return err_hint(err, "%s, or make it empty with: mkdir -p %s",
                    is_other ? "move that away, and put the directory back" : "put it back", path);
}

bool places_half_reset(int dir, const char *agent)
{
    _cleanup_free_ char *old = mem_printf(CODE_DIR "/" PLACES_OLD "%s", agent);

    return faccessat(dir, old, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int check_code(const struct start_places *in, const struct agent *agent, struct err *err)
{
    const char *name = repo_dir_of(in->team, agent);

    if (name == NULL)
        return 0;
    _cleanup_free_ char *part = mem_printf(CODE_DIR "/%s", name);
    _cleanup_free_ char *path = workspace_path(in->root, in->session->id, part);
    _cleanup_close_ int fd = path_open_beneath(in->dir, part, PATH_PLACE);
    if (check(in, agent, fd, path, err) == 0)
        return 0;
    if (places_half_reset(in->dir, agent->id))
        return err_hint(err, "its reset was interrupted; finish it with: mas reset %s %s",
                        session_label(in->root, in->session->id).text, agent->id);
    return err_hint(err, "put it back, or restore the session from an archive (mas restore)");
}

int places_check_agent(const struct root *root, int dir, const struct session *session,
                       const struct team *team, const struct agent *agent, struct err *err)
{
    const struct start_places in = {.root = root, .dir = dir, .session = session, .team = team};

    return check_unit(&in, agent, err) == -1 ? -1 : check_code(&in, agent, err);
}

int places_check(const struct root *root, int dir, const struct session *session,
                 const struct team *team, const bool *wanted, struct err *err)
{
    _cleanup_close_ int logs = path_open_dir(dir, WORKSPACE_LOGS);

    if (logs == -1) {
        const struct session_label label = session_label(root, session->id);
        (void)err_errno(err, "cannot start session '%s': cannot open its %s", label.text,
                        WORKSPACE_LOGS);
        err->code = MAS_FAILED;
        return err_hint(err, "make what is missing again with: mas doctor --fix");
    }
    for (size_t i = 0; i < team->agent_count; i++)
        if ((wanted == NULL || wanted[i]) &&
            places_check_agent(root, dir, session, team, &team->agents[i], err) == -1)
            return -1;
    return 0;
}
