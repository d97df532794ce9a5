#include "session/legacy.h"

#include "os/file.h"
#include "os/path.h"
#include "store/index.h"
#include "store/placement.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

int legacy_tmux_name(char **ret, struct err *err)
{
    /* inside a team the variable describes that team and is not a request */
    const char *name = getenv("MAS_SESSION_ID") == NULL ? getenv("SESSION_NAME") : NULL;

    if (name == NULL || name[0] == '\0')
        name = LEGACY_TMUX_NAME;
    if (!str_is_word(name, SESSION_NAME_MAX))
        return err_set(err, MAS_FAILED,
                       "cannot use SESSION_NAME='%s': it is not 1 to %d " STR_WORD_CHARS, name,
                       SESSION_NAME_MAX);
    *ret = mem_dup(name);
    return 0;
}

/* Returns true unless the metadata says that the session is not, or no longer, a legacy session. */
static bool is_legacy(const struct root *root, const struct row *row)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct err ignored = ERR_INIT;

    if (!placement_is_shared(row->mode) || row->missing)
        return false;
    _cleanup_close_ int dir = workspace_open(root, row->id);
    if (dir == -1)
        return errno != ENOENT;
    return session_load(root, dir, row->id, &session, &ignored) == -1 ||
           placement_is_shared(session.mode);
}

int legacy_find(const struct root *root, char ret[ID_TEXT], struct err *err)
{
    _cleanup_index_ struct index index = INDEX_INIT;

    if (index_read(root, false, &index, err) == -1)
        return -1;
    for (size_t i = 0; i < index.count; i++) {
        if (!is_legacy(root, &index.rows[i]))
            continue;
        memcpy(ret, index.rows[i].id, ID_TEXT);
        return 1;
    }
    return 0;
}

/* Sets the conflict with the root's legacy session as the error. */
static int there_is_one(const char *id, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "cannot create a legacy session: '%s' exists already", id);
    return err_hint(err,
                    "a root has at most one: start it with: mas start %s, or turn it into an "
                    "isolated session with: mas migrate",
                    id);
}

int legacy_check_free(const struct root *root, struct err *err)
{
    char id[ID_TEXT];
    int found = legacy_find(root, id, err);

    return found == 1 ? there_is_one(id, err) : found;
}

static bool is_of_root(const struct root *root, const char *id)
{
    _cleanup_close_ int dir = workspace_open(root, id);
    return dir != -1;
}

int legacy_check_tmux(const struct root *root, const struct session *session, const char *what,
                      struct err *err)
{
    char id[ID_TEXT] = "";

    if (!placement_is_shared(session->mode))
        return 0;
    int there = tmux_who_has(session->tmux_socket, session->tmux_name, id, err);
    if (there != 1 || strcmp(id, session->id) == 0)
        return there == -1 ? -1 : 0;
    if (id[0] != '\0' && is_of_root(root, id)) /* created after the index was read */
        return there_is_one(id, err);
    (void)err_set(err, MAS_CONFLICT, "cannot %s the legacy session: tmux has another session '%s'",
                  what, session->tmux_name);
    if (id[0] != '\0')
        return err_hint(err, "it is the team of session %s; set SESSION_NAME to another name", id);
    _cleanup_free_ char *socket = mem_name(session->tmux_socket);
    _cleanup_free_ char *exact = mem_printf("=%s", session->tmux_name);
    _cleanup_free_ char *name = mem_name(exact);
    return err_hint(err, "end that first: tmux -S %s kill-session -t %s", socket, name);
}
