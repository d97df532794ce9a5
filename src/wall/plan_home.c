/*
 * The part of wall/plan.h for the home that an agent shares with the programs it asks its host for:
 * the directory home/<agent>/.home of the session, which is new when the agent starts.
 *
 * What else a plan has in the home is mounted on places in that directory, and bubblewrap finds
 * them by their paths, outside of any wall. An agent that put a link in the way could have it make
 * files anywhere. So every place, and every directory on the way to it, is made before the agent
 * starts, and is a mount in the wall of each of these programs: what is one cannot be renamed or
 * removed from inside. A program that needs another place has a home of its own, in memory. So have
 * all if programs may make namespaces, in which those mounts may not be.
 */
#include "os/file.h"
#include "os/path.h"
#include "store/workspace.h"
#include "wall/plan_internal.h"

enum { MOUNTS_MAX = 100 }; /* of a plan with a shared home: each needs a descriptor */

/* Returns what is behind the directory in the path, NULL if it is not below it. */
static const char *find_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 && path[len] == '/' && path[len + 1] != '\0'
               ? path + len + 1
               : NULL;
}

/* Returns the path below the home of a mount that needs a place in it; NULL: another mount, which
 * is nearer, has the place, or it is elsewhere. */
static const char *place_of(const struct wall_plan *plan, size_t i)
{
    const char *below = find_below(plan->mounts[i].path, plan->home);

    for (size_t above = i; below != NULL && above-- > 0;)
        if (find_below(plan->mounts[i].path, plan->mounts[above].path) != NULL)
            return strcmp(plan->mounts[above].path, plan->home) == 0 ? below : NULL;
    return NULL;
}

/* A copy or a link is in the home itself, and may be replaced there. */
static bool is_content(const struct wall_mount *mount)
{
    return mount->kind == WALL_MOUNT_COPY || mount->kind == WALL_MOUNT_LINK;
}

static struct wall_mount *find_home(const struct wall_plan *plan)
{
    for (size_t i = 0; plan->home != NULL && i < plan->count; i++)
        if (strcmp(plan->mounts[i].path, plan->home) == 0)
            return plan->mounts[i].kind == WALL_MOUNT_EMPTY ? &plan->mounts[i] : NULL;
    return NULL;
}

/* Adds the places of a path: the directories above it and, unless it is content, itself. */
static void add_places(char ***places, const char *path, bool itself)
{
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        _cleanup_free_ char *above = mem_dupn(path, (size_t)(slash - path));
        if (!strv_has(*places, above))
            strv_push(places, above);
    }
    if (itself && !strv_has(*places, path))
        strv_push(places, path);
}

static char **list_places(const struct wall_plan *plan)
{
    char **places = NULL;

    for (size_t i = 0; i < plan->count; i++) {
        const char *path = place_of(plan, i);
        if (path != NULL)
            add_places(&places, path, !is_content(&plan->mounts[i]));
    }
    return places;
}

/* ---- what mas makes before the agent starts, when nobody else is in the directory */

static bool is_dir(const struct wall_mount *mount)
{
    struct stat st;

    if (mount->kind == WALL_MOUNT_EMPTY)
        return true;
    if (mount->kind == WALL_MOUNT_HIDDEN)
        return lstat(mount->path, &st) == 0 && S_ISDIR(st.st_mode);
    return (mount->from != NULL ? stat(mount->from, &st) : fstat(mount->fd, &st)) == 0 &&
           S_ISDIR(st.st_mode);
}

/* Makes what one mount needs. */
static bool make_place(int home, const struct wall_mount *mount, const char *path)
{
    const char *name;
    _cleanup_close_ int dir = path_make_above(home, path, 0755, &name);

    if (dir == -1)
        return false;
    if (mount->kind == WALL_MOUNT_COPY)
        return plan_copy_file(dir, name, mount->fd) == 0;
    if (mount->kind == WALL_MOUNT_LINK)
        return symlinkat(mount->from, dir, name) == 0;
    if (is_dir(mount))
        return mkdirat(dir, name, 0755) == 0 || errno == EEXIST;
    _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd != -1;
}

static bool make_places(const struct wall_plan *plan, int home)
{
    for (size_t i = 0; i < plan->count; i++) {
        const char *path = place_of(plan, i);
        if (path != NULL && !make_place(home, &plan->mounts[i], path))
            return false;
    }
    return true;
}

/* ---- the plan */

/* Returns true if the shared home has every place of the plan. */
static bool has_places(const struct wall_shared *shared, char *const *places)
{
    for (; places != NULL && *places != NULL; places++)
        if (!strv_has(shared->places, *places))
            return false;
    return true;
}

/* Opens each place on which the plan mounts nothing, to mount it on itself; others are -1. */
static bool open_places(const struct wall_plan *plan, const struct wall_shared *shared, int home,
                        int *fds)
{
    bool opened = true;

    for (size_t i = 0; shared->places != NULL && shared->places[i] != NULL; i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", plan->home, shared->places[i]);
        bool mounted = false;
        for (size_t j = 0; j < plan->count && !mounted; j++)
            mounted = strcmp(plan->mounts[j].path, path) == 0 && !is_content(&plan->mounts[j]);
        fds[i] = mounted ? -1 : path_open_beneath(home, shared->places[i], O_PATH);
        opened = opened && (mounted || fds[i] != -1);
    }
    for (size_t i = 0; !opened && i < strv_len(shared->places); i++)
        fd_closep(&fds[i]);
    return opened;
}

/* Drops what is in the home itself. */
static void drop_content(struct wall_plan *plan)
{
    for (size_t i = plan->count; i-- > 0;)
        if (is_content(&plan->mounts[i]) && place_of(plan, i) != NULL)
            plan_drop_mount(plan, i);
}

/* Puts the directory, open at `home`, in the place of the home that is empty. If that cannot be,
 * the plan stays as it is. */
static void put_home(struct wall_plan *plan, const struct wall_shared *shared, int home)
{
    int fds[MOUNTS_MAX] = {-1};
    size_t count = strv_len(shared->places);

    if (plan->count + count > MOUNTS_MAX || !open_places(plan, shared, home, fds)) {
        (void)close(home);
        return;
    }
    drop_content(plan);
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", plan->home, shared->places[i]);
        if (fds[i] != -1)
            wall_plan_mount(plan, WALL_MOUNT_WRITE, path, NULL, fds[i]);
    }
    struct wall_mount *mount = find_home(plan);
    mount->kind = WALL_MOUNT_WRITE;
    mount->fd = home;
}

/* Makes the directory for an agent that is about to start. */
static int make_home(const struct wall_subject *subject)
{
    _cleanup_close_ int own = plan_open_own(subject, "");

    return own != -1 ? path_make_dir(own, WORKSPACE_HOME_TOP, 0700) : -1; /* it must be a new one */
}

void plan_share_home(struct wall_plan *plan, const struct wall_subject *subject)
{
    struct wall_shared *shared = subject->shared;

    if (shared == NULL || find_home(plan) == NULL || plan->nested)
        return;
    _cleanup_strv_ char **places = list_places(plan);
    if (subject->is_first) {
        wall_shared_free(shared);
        _cleanup_close_ int made = make_home(subject);
        if (made == -1 || !make_places(plan, made) || plan->count + strv_len(places) > MOUNTS_MAX)
            return;
        shared->places = TAKE_PTR(places);
        shared->made = true;
    }
    int home = shared->made && has_places(shared, places)
                   ? plan_open_own(subject, WORKSPACE_HOME_TOP)
                   : -1;
    if (home != -1)
        put_home(plan, shared, home);
}

void wall_shared_free(struct wall_shared *shared)
{
    strv_free(shared->places);
    *shared = (struct wall_shared){.made = false};
}
