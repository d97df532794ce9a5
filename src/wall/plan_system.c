/* The part of wall/plan.h for what every program may read of the system. */
#include "os/path.h"
#include "wall/plan_internal.h"
#include "wall/secrets.h"

/* Appends a link as it is, a directory to read. */
static void add_top(struct wall_plan *plan, const char *path)
{
    struct stat st;
    char target[PATH_MAX];

    if (lstat(path, &st) == -1)
        return;
    if (S_ISLNK(st.st_mode)) {
        ssize_t len = readlink(path, target, sizeof target - 1);
        if (len <= 0)
            return;
        target[len] = '\0';
        wall_plan_mount(plan, WALL_MOUNT_LINK, path, target, -1);
    } else if (S_ISDIR(st.st_mode)) {
        wall_plan_mount(plan, WALL_MOUNT_READ, path, path, -1);
    }
}

/* As root: hides what others cannot read. It may be some time since these were found. */
static void hide_secrets(struct wall_plan *plan, char *const *known)
{
    _cleanup_strv_ char **found = NULL;
    struct stat st;

    if (known == NULL) {
        wall_secrets_find(&found);
        known = found;
    }
    for (; known != NULL && *known != NULL; known++)
        if (lstat(*known, &st) == 0)
            wall_plan_mount(plan, WALL_MOUNT_HIDDEN, *known, NULL, -1);
}

/* The names of hosts may come from a file outside of /etc. */
static void add_resolver(struct wall_plan *plan)
{
    _cleanup_free_ char *file = path_canonical("/etc/resolv.conf");

    if (file != NULL && !wall_plan_has(plan, file))
        wall_plan_mount(plan, WALL_MOUNT_READ, file, file, -1);
}

void plan_add_system(struct wall_plan *plan, char *const *secrets)
{
    static const char *const tops[] = {"/usr",    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
                                       "/libx32", "/etc", "/opt",  "/nix", "/gnu"};

    for (size_t i = 0; i < ARRAY_LEN(tops); i++)
        add_top(plan, tops[i]);
    if (geteuid() == 0)
        hide_secrets(plan, secrets);
    add_resolver(plan);
    add_top(plan, "/sys/devices/system/cpu"); /* how many there are */
    wall_plan_mount(plan, WALL_MOUNT_EMPTY, "/tmp", NULL, -1);
    wall_plan_mount(plan, WALL_MOUNT_LINK, "/var/tmp", "../tmp", -1);
    wall_plan_mount(plan, WALL_MOUNT_EMPTY, "/run", NULL, -1);
    wall_plan_mount(plan, WALL_MOUNT_LINK, "/var/run", "../run", -1);
}
