#include "store/limits/turn_slots.h"

#include "os/file.h"
#include "os/path.h"

#include <sys/file.h>

enum { SLOT_NAME = 24 };

int turn_slots_open(int parent)
{
    if (mkdirat(parent, TURNS_DIR, 0700) == -1 && errno != EEXIST)
        return -1;
    return path_open_dir(parent, TURNS_DIR);
}

/* ---- tickets */

int turn_ticket_take(int dir, bool person, int64_t asked_ms, const char *agent, char **ret_name)
{
    _cleanup_free_ char *name = mem_printf("wait-%d-%015" PRId64 "-%ld-%s", person ? 0 : 1,
                                           asked_ms, (long)getpid(), agent);
    _cleanup_free_ char *new = mem_printf("new-%ld-%s", (long)getpid(), agent);
    _cleanup_close_ int fd =
        openat(dir, new, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    /* locked before it has its name: a ticket that is not locked is removed */
    if (fd == -1 || flock(fd, LOCK_EX | LOCK_NB) == -1 || renameat(dir, new, dir, name) == -1)
        return -1;
    *ret_name = TAKE_PTR(name);
    return TAKE_FD(fd);
}

void turn_ticket_drop(int dir, int *fd, char **name)
{
    if (*name != NULL)
        (void)unlinkat(dir, *name, 0);
    free(*name);
    *name = NULL;
    fd_closep(fd);
}

struct ticket {
    int class;
    int64_t asked_ms;
    long pid;
};

static bool read_ticket(const char *name, int64_t now_ms, struct ticket *ret)
{
    if (sscanf(name, "wait-%1d-%15" SCNd64 "-%9ld-", &ret->class, &ret->asked_ms, &ret->pid) != 3)
        return false;
    if (now_ms - ret->asked_ms > TURN_AGED_MS)
        ret->class = 0;
    return true;
}

static bool is_before(const struct ticket *a, const struct ticket *b)
{
    if (a->class != b->class)
        return a->class < b->class;
    return a->asked_ms != b->asked_ms ? a->asked_ms < b->asked_ms : a->pid < b->pid;
}

bool turn_ticket_is_first(int dir, const char *name, int64_t now_ms)
{
    _cleanup_strv_ char **names = NULL;
    struct ticket own, other;
    struct err ignored = ERR_INIT;

    if ((name != NULL && !read_ticket(name, now_ms, &own)) ||
        path_list(dir, &names, &ignored) == -1)
        return true; /* the slots are enough then */
    for (char **each = names; *each != NULL; each++) {
        if (!read_ticket(*each, now_ms, &other) || (name != NULL && !is_before(&other, &own)) ||
            (name != NULL && strcmp(*each, name) == 0))
            continue;
        if (file_is_locked(dir, *each))
            return false;
        (void)unlinkat(dir, *each, 0); /* its process was killed */
    }
    return true;
}

/* ---- slots */

static const char *slot_name(int i, char buf[SLOT_NAME])
{
    (void)snprintf(buf, SLOT_NAME, "slot-%d", i + 1);
    return buf;
}

bool turn_slot_is_free(int dir, int count)
{
    char name[SLOT_NAME];

    for (int i = 0; i < count; i++)
        if (!file_is_locked(dir, slot_name(i, name)))
            return true;
    return false;
}

int turn_slot_take(int dir, int count)
{
    struct err ignored = ERR_INIT;
    char name[SLOT_NAME];
    int fd = -1;

    for (int i = 0; i < count; i++) {
        if (file_is_locked(dir, slot_name(i, name)))
            continue;
        ignored = (struct err)ERR_INIT;
        if (file_lock(dir, name, LOCK_TRY, "turn", &fd, &ignored) == 0)
            return fd;
    }
    return -1;
}
