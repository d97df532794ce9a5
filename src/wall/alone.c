#include "wall/alone.h"

#include "os/path.h"
#include "os/proc.h"

enum { DEPTH_MAX = 8 };

static void add(struct wall_command *command, const char *option, const char *path)
{
    strv_push(&command->argv, option);
    strv_push(&command->argv, path);
}

/* Returns true if something at the path, or below it, is hidden. */
static bool hides(const struct wall_plan *plan, const char *path, bool *ret_itself)
{
    size_t len = strlen(path);
    bool below = false;

    for (size_t i = 0; i < plan->count; i++) {
        const struct wall_mount *mount = &plan->mounts[i];
        if (mount->kind != WALL_MOUNT_HIDDEN || strncmp(mount->path, path, len) != 0)
            continue;
        *ret_itself |= mount->path[len] == '\0';
        below |= mount->path[len] == '/';
    }
    return below;
}

/* Adds a path to read. A rule cannot take away what another one gives, so that a directory in which
 * something is hidden is added by its entries. */
static void add_read(struct wall_command *command, const struct wall_plan *plan, const char *path,
                     int depth)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    bool itself = false;

    if (!hides(plan, path, &itself)) {
        if (!itself)
            add(command, "--read", path);
        return;
    }
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (itself || depth == 0 || dir == -1 || path_list(dir, &names, &ignored) == -1)
        return;
    for (char **name = names; name != NULL && *name != NULL; name++) {
        _cleanup_free_ char *entry = mem_printf("%s/%s", path, *name);
        add_read(command, plan, entry, depth - 1);
    }
}

static void add_mount(struct wall_command *command, const struct wall_plan *plan,
                      const struct wall_mount *mount)
{
    if (mount->kind != WALL_MOUNT_READ && mount->kind != WALL_MOUNT_WRITE)
        return;
    if (mount->fd == -1) {
        if (mount->kind == WALL_MOUNT_READ)
            add_read(command, plan, mount->from, DEPTH_MAX);
        else
            add(command, "--write", mount->from);
        return;
    }
    /* what an agent can replace was opened without following links */
    _cleanup_free_ char *path =
        mem_printf("/proc/self/fd/%zu", wall_command_add_fd(command, mount->fd));
    add(command, mount->kind == WALL_MOUNT_READ ? "--read" : "--write", path);
}

int wall_alone(const struct wall_plan *plan, const char *program, char *const *argv, bool tty,
               struct wall_command *ret, struct err *err)
{
    /* Not /dev/pts, where the terminals of others are. */
    static const char *const devices[] = {"/dev/full", "/dev/null",    "/dev/random",
                                          "/dev/tty",  "/dev/urandom", "/dev/zero"};
    _cleanup_wall_command_ struct wall_command command = WALL_COMMAND_INIT;

    strv_push(&command.argv, "mas-wall");
    if (wall_command_add_environment(&command, plan, err) == -1)
        return -1;
    if (tty)
        strv_push(&command.argv, "--tty");
    if (plan->cut)
        add(&command, "--network", "none");
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        add(&command, "--device", devices[i]);
    add(&command, "--read", "/proc");
    for (size_t i = 0; i < plan->count; i++)
        add_mount(&command, plan, &plan->mounts[i]);
    if (command.fd_count > PROC_FDS_MAX)
        return err_set(err, MAS_FAILED, "the wall has more than %d places", PROC_FDS_MAX);
    strv_push(&command.argv, "--");
    strv_push(&command.argv, program);
    for (size_t i = 1; argv[0] != NULL && argv[i] != NULL; i++)
        strv_push(&command.argv, argv[i]);
    command.program = plan->enter;
    *ret = command;
    command = (struct wall_command)WALL_COMMAND_INIT;
    return 0;
}
