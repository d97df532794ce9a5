/*
 * The whole command is: mas-network (if there is a way out) outside, bubblewrap, mas-wall,
 * mas-network inside, the program. bubblewrap reads its own arguments from a file in memory,
 * descriptor 3; further descriptors get their numbers as they are added. Mounts are in the order of
 * the plan, what is above first, and after all of them the top becomes read-only.
 */

#include "wall/bwrap.h"

#include "base/env.h"
#include "os/file.h"
#include "os/proc.h"

#include <sys/mman.h>

#define WAY_FD "250" /* NETWORK_FD of network/network.h, through which mas-network works */

enum { FIRST_FD = 3 }; /* the number of the first descriptor that bubblewrap gets */

/* Appends words, each with its NUL, as --args reads them. */
static void add(struct str *to, const char *word)
{
    str_addn(to, word, strlen(word) + 1);
}

static void add_all(struct str *to, const char *const *words)
{
    for (; *words != NULL; words++)
        add(to, *words);
}

size_t wall_command_add_fd(struct wall_command *command, int fd)
{
    command->fds = mem_grow(command->fds, command->fd_count + 1, sizeof *command->fds);
    command->fds[command->fd_count] = fd;
    return FIRST_FD + command->fd_count++;
}

/* Appends the number that a descriptor has in bubblewrap. */
static void add_fd(struct wall_command *command, int fd, struct str *to)
{
    _cleanup_free_ char *number = mem_printf("%zu", wall_command_add_fd(command, fd));

    add(to, number);
}

/* Hides a file by an empty one that nobody can read, a directory by an empty one. */
static void add_hidden(const struct wall_mount *mount, struct str *to)
{
    struct stat st;

    if (lstat(mount->path, &st) == 0 && S_ISDIR(st.st_mode))
        add_all(to, (const char *[]){"--perms", "0000", "--tmpfs", mount->path, NULL});
    else
        add_all(to, (const char *[]){"--ro-bind", "/dev/null", mount->path, NULL});
}

static void add_mount(const struct wall_mount *mount, struct wall_command *command, struct str *to)
{
    bool writes = mount->kind == WALL_MOUNT_WRITE;

    switch (mount->kind) {
    case WALL_MOUNT_EMPTY:
        add(to, "--perms");
        add(to, strcmp(mount->path, "/tmp") == 0 ? "1777" : "0700");
        add_all(to, (const char *[]){"--tmpfs", mount->path, NULL});
        return;
    case WALL_MOUNT_HIDDEN:
        add_hidden(mount, to);
        return;
    case WALL_MOUNT_LINK:
        add_all(to, (const char *[]){"--symlink", mount->from, mount->path, NULL});
        return;
    case WALL_MOUNT_COPY:
        add_all(to, (const char *[]){"--perms", "0600", "--file", NULL});
        add_fd(command, mount->fd, to);
        add(to, mount->path);
        return;
    case WALL_MOUNT_READ:
    case WALL_MOUNT_WRITE:
    default:
        break;
    }
    if (mount->from != NULL) {
        add(to, writes ? "--bind" : "--ro-bind");
        add(to, mount->from);
    } else {
        add(to, writes ? "--bind-fd" : "--ro-bind-fd");
        add_fd(command, mount->fd, to);
    }
    add(to, mount->path);
}

/* Namespaces and privileges. As root there is no user namespace: the capabilities go instead. */
static void add_isolation(const struct wall_plan *plan, struct str *to)
{
    static const char *const always[] = {"--unshare-pid",
                                         "--unshare-ipc",
                                         "--unshare-uts",
                                         "--unshare-cgroup-try",
                                         "--die-with-parent",
                                         "--as-pid-1",
                                         "--cap-drop",
                                         "ALL",
                                         NULL};

    add_all(to, always);
    if (plan->cut)
        add(to, "--unshare-net");
    if (geteuid() == 0) {
        if (plan->nested) /* without it root may not map itself into a user namespace */
            add_all(to, (const char *[]){"--cap-add", "CAP_SETFCAP", NULL});
        return;
    }
    add(to, "--unshare-user");
    if (!plan->nested)
        add(to, "--disable-userns");
}

/* Appends words to a command; none if the first is NULL. */
static void add_words(char ***argv, const char *const *words)
{
    for (; *words != NULL; words++)
        strv_push(argv, *words);
}

/* Appends the options of mas-wall. Landlock holds the files, too, unless programs may mount.
 * bubblewrap's descriptors come first, then the socket of --init. */
static void add_enter(const struct wall_plan *plan, bool tty, size_t fd_count, char ***argv)
{
    static const char *const always[] = {"--read", "/",       "--write", "/proc", "--device",
                                         "/dev",   "--write", "/tmp",    NULL};

    _cleanup_free_ char *init = mem_printf("%zu", FIRST_FD + fd_count);

    strv_push(argv, "--init");
    strv_push(argv, init);
    if (tty)
        strv_push(argv, "--tty");
    if (plan->way.program != NULL) {
        strv_push(argv, "--keep");
        strv_push(argv, WAY_FD);
    }
    if (plan->report.level == WALL_REQUIRE) {
        strv_push(argv, "--require");
        strv_push(argv, "calls");
    }
    if (plan->nested)
        strv_push(argv, "--nested");
    for (size_t i = 0; !plan->nested && plan->landlock && always[i] != NULL; i++)
        strv_push(argv, always[i]);
    for (size_t i = 0; !plan->nested && plan->landlock && i < plan->count; i++) {
        const struct wall_mount *mount = &plan->mounts[i];
        if (mount->kind != WALL_MOUNT_WRITE && mount->kind != WALL_MOUNT_EMPTY &&
            mount->kind != WALL_MOUNT_COPY)
            continue;
        strv_push(argv, "--write");
        strv_push(argv, mount->path);
    }
}

/* Opens a file in memory with this text. */
static int open_text(const struct str *text, int *ret, struct err *err)
{
    _cleanup_close_ int fd = memfd_create("wall", MFD_CLOEXEC);

    if (fd == -1 || file_write_all(fd, text->data, text->len) == -1 || lseek(fd, 0, SEEK_SET) == -1)
        return err_errno(err, "cannot write what the programs of a wall read");
    *ret = TAKE_FD(fd);
    return 0;
}

int wall_command_add_environment(struct wall_command *command, const struct wall_plan *plan,
                                 struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (char *const *e = plan->env; e != NULL && *e != NULL; e++)
        add(&text, *e);
    if (open_text(&text, &command->environment, err) == -1)
        return -1;
    _cleanup_free_ char *number =
        mem_printf("%zu", wall_command_add_fd(command, command->environment));
    strv_push(&command->argv, "--environment");
    strv_push(&command->argv, number);
    return 0;
}

char *const *wall_command_own_env(struct wall_command *command, char *const *env)
{
    strv_free(command->own);
    command->own = env_load_nothing_here(env);
    return command->own;
}

int wall_bwrap(const struct wall_plan *plan, char *const *argv, const char *cwd, bool tty,
               struct wall_command *ret, struct err *err)
{
    _cleanup_wall_command_ struct wall_command command = WALL_COMMAND_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str ignored = STR_INIT;
    const struct wall_way *way = &plan->way;

    add_fd(&command, -1, &ignored); /* the arguments themselves are descriptor 3 */
    add_isolation(plan, &text);
    add_all(&text, (const char *[]){"--dev", "/dev", "--proc", "/proc", NULL});
    /* The settings of the kernel belong to root, with or without capabilities. */
    if (geteuid() == 0)
        add_all(&text, (const char *[]){"--ro-bind", "/proc/sys", "/proc/sys", NULL});
    for (size_t i = 0; i < plan->count; i++)
        add_mount(&plan->mounts[i], &command, &text);
    add_all(&text, (const char *[]){"--remount-ro", "/", NULL});
    if (cwd[0] != '\0')
        add_all(&text, (const char *[]){"--chdir", cwd, NULL});
    if (command.fd_count + 1 >= PROC_FDS_MAX)
        return err_set(err, MAS_FAILED, "the wall has more than %d places", PROC_FDS_MAX - 2);
    if (open_text(&text, &command.args, err) == -1)
        return -1;
    command.fds[0] = command.args;
    add_words(&command.argv,
              (const char *[]){way->program, "outside", way->log, way->hosts, "--", NULL});
    strv_push(&command.argv, way->program != NULL ? plan->bwrap : "bwrap");
    strv_push(&command.argv, "--args");
    strv_push(&command.argv, "3");
    strv_push(&command.argv, "--");
    strv_push(&command.argv, plan->enter);
    if (wall_command_add_environment(&command, plan, err) == -1)
        return -1;
    add_enter(plan, tty, command.fd_count, &command.argv);
    strv_push(&command.argv, "--");
    add_words(&command.argv,
              (const char *[]){way->program, "inside", way->hosts, way->tinyproxy, "--", NULL});
    for (size_t i = 0; argv[i] != NULL; i++) /* mas-wall or mas-network finds the program in PATH */
        strv_push(&command.argv, argv[i]);
    command.program = way->program != NULL ? way->program : plan->bwrap;
    command.tells = true;
    *ret = command;
    command = (struct wall_command)WALL_COMMAND_INIT;
    return 0;
}

void wall_command_free(struct wall_command *command)
{
    strv_free(command->argv);
    strv_free(command->own);
    free(command->fds);
    fd_closep(&command->args);
    fd_closep(&command->environment);
    *command = (struct wall_command)WALL_COMMAND_INIT;
}
