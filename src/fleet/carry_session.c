/* A session that comes home, with which its project may be on the way: see fleet/carry.h. */
#include "code/land/carried.h"
#include "code/land/land.h"
#include "fleet/carry_internal.h"
#include "os/path.h"
#include "os/tree.h"
#include "session/arrive.h"
#include "store/team_file.h"
#include "store/workspace.h"

#include <dirent.h>

int carry_check_landing(const struct carry *carry, const char *id, struct err *err)
{
    _cleanup_free_ char *state = carry_state(carry);
    _cleanup_free_ char *git = mem_printf("%s/%s/" CODE_GIT, state != NULL ? state : "", id);
    const struct repo repo = {.git = git};

    if (!land_was_killed(&repo))
        return 0;
    (void)err_set(err, MAS_CONFLICT, "a landing of it was killed");
    return err_hint(err, "finish it first: mas land %s:%.8s", carry->remote->name, id);
}

void carry_forget(const struct carry *carry, const char *id)
{
    _cleanup_free_ char *state = carry_state(carry);
    _cleanup_free_ char *path = mem_printf("%s/%s", state != NULL ? state : "", id);
    struct err ignored = ERR_INIT; /* nothing of it is used any more */

    if (state != NULL)
        (void)tree_remove_path(path, &ignored);
}

/* Returns NAME of what may be a carried project's path on another machine; NULL: it is none. */
static char *name_of(const char *path)
{
    static const char dir[] = "/" CARRIED_DIR "/";
    const char *base = strrchr(path, '/');
    const char *suffix = base != NULL ? strrchr(base, '.') : NULL;

    if (suffix == NULL || strcmp(suffix, CARRIED_SUFFIX) != 0 ||
        (size_t)(base - path) + 1 < strlen(dir) ||
        strncmp(base + 1 - strlen(dir), dir, strlen(dir)) != 0)
        return NULL;
    _cleanup_free_ char *name = mem_dupn(base + 1, (size_t)(suffix - base - 1));
    return carried_is_name(name) ? TAKE_PTR(name) : NULL;
}

/* Returns the path here of a project that went to any machine: the session may have moved on from
 * there. */
static char *find_place(const char *name)
{
    const struct remote none = {.name = (char[]){""}};
    _cleanup_free_ char *all = carry_state(&(struct carry){.remote = &none});
    DIR *dir = all != NULL ? opendir(all) : NULL;
    const struct dirent *entry;
    char *place = NULL;

    while (dir != NULL && place == NULL && (entry = readdir(dir)) != NULL) {
        const struct remote remote = {.name = (char *)(uintptr_t)entry->d_name};
        if (entry->d_name[0] != '.')
            place = carry_read_place(&(struct carry){.remote = &remote}, name);
    }
    if (dir != NULL)
        (void)closedir(dir);
    return place;
}

int carry_come_home(const struct life *life, const char *id, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_close_ int dir = workspace_open(life->root, id);

    if (dir == -1 || team_file_load(dir, &team, err) == -1)
        return dir == -1 ? err_errno(err, "cannot open session '%s'", id) : -1;
    _cleanup_free_ char *name = team.project.path != NULL ? name_of(team.project.path) : NULL;
    _cleanup_free_ char *place = name != NULL ? find_place(name) : NULL;
    return place != NULL ? arrive_set_project(life, id, place, err) : 0;
}
