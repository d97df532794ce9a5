/*
 * The time and the word in the page are atomic, so that nobody needs a lock for them; the time only
 * ever grows. The locks are those of open files (F_OFD_SETLK), one byte of the file for each part.
 * Who creates a clock and who removes an old one take the same byte, and look again once they have
 * it: the one whether the file is still there, the other whether it is still old.
 */

#include "store/lease_clock.h"

#include "base/id.h"
#include "base/time.h"
#include "os/file.h"
#include "os/path.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define SHARED_MEMORY "/dev/shm"

enum { RENEWER_BYTE = 0, HOST_BYTE = 1, MAKER_BYTE = 2 }; /* of the file, for its locks */

/* Leases that have been over for this long belong to sessions that nobody cares for. */
enum { LEASE_OLD_MS = 24 * 60 * 60 * 1000 };

#define PAGE_PREFIX "mas-lease-"

struct lease_page {
    _Atomic int64_t begun;
    _Atomic int word;
    uint64_t root[2]; /* device and inode of its root's sessions/ */
};

static char *name_of(const char *token)
{
    return mem_printf(SHARED_MEMORY "/" PAGE_PREFIX "%s", token);
}

/* Locks of open files: fork() does not take them away, and they can be asked for. */
static struct flock part(int byte, short type)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1, .l_pid = 0};
}

static bool take(const struct lease_clock *clock, int byte, short type)
{
    struct flock lock = part(byte, type);
    return fcntl(clock->fd, F_OFD_SETLK, &lock) == 0;
}

static bool is_taken(const struct lease_clock *clock, int byte)
{
    struct flock lock = part(byte, F_WRLCK);
    return fcntl(clock->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static int map(const char *path, struct lease_clock *clock, struct err *err)
{
    struct stat st;

    if (fstat(clock->fd, &st) == -1)
        return err_errno(err, "cannot open '%s'", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 ||
        (st.st_mode & 077) != 0)
        return err_set(err, MAS_FAILED, "cannot use '%s': it is not a file of this user alone",
                       path);
    /* memory is taken now, so that no process dies of a full /dev/shm later */
    if (st.st_size < (off_t)sizeof *clock->page &&
        posix_fallocate(clock->fd, 0, sizeof *clock->page) != 0)
        return err_set(err, MAS_FAILED, "cannot write '%s': there is no space", path);
    void *page = mmap(NULL, sizeof *clock->page, PROT_READ | PROT_WRITE, MAP_SHARED, clock->fd, 0);
    if (page == MAP_FAILED)
        return err_errno(err, "cannot map '%s'", path);
    clock->page = page;
    return 0;
}

/* Opens the file of a clock that is to be made. The lock ends with the descriptor; who removes old
 * files has it, too, so that none goes that is in use again and not yet renewed. */
static int open_made(const char *path, int flags)
{
    struct flock lock = part(MAKER_BYTE, F_WRLCK);
    struct stat st;

    for (;;) {
        int fd = open(path, flags | O_CREAT, 0600);
        if (fd == -1 || fcntl(fd, F_OFD_SETLKW, &lock) == -1 || fstat(fd, &st) == -1 ||
            st.st_nlink != 0)
            return fd;
        (void)close(fd); /* it was removed meanwhile */
    }
}

int lease_clock_open(const char *token, bool make, struct lease_clock *ret, struct err *err)
{
    _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;
    _cleanup_free_ char *path = name_of(token);
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

    clock.fd = make ? open_made(path, flags) : open(path, flags);
    if (clock.fd == -1)
        return err_errno(err, "cannot open '%s'", path);
    if (map(path, &clock, err) == -1)
        return -1;
    *ret = clock;
    clock = (struct lease_clock)LEASE_CLOCK_INIT;
    return 0;
}

void lease_clock_close(struct lease_clock *clock)
{
    if (clock->is_bound)
        (void)timer_delete(clock->timer);
    if (clock->page != NULL)
        (void)munmap(clock->page, sizeof *clock->page);
    fd_closep(&clock->fd);
    *clock = (struct lease_clock)LEASE_CLOCK_INIT;
}

void lease_clock_remove(const char *token)
{
    _cleanup_free_ char *path = name_of(token);
    (void)unlink(path);
}

void lease_clock_set(const struct lease_clock *clock, int64_t begun)
{
    int64_t was = atomic_load(&clock->page->begun);
    while (was < begun && !atomic_compare_exchange_weak(&clock->page->begun, &was, begun))
        ;
}

void lease_clock_say(const struct lease_clock *clock, enum lease_word word)
{
    atomic_store(&clock->page->word, (int)word);
}

enum lease_word lease_clock_word(const struct lease_clock *clock)
{
    return (enum lease_word)atomic_load(&clock->page->word);
}

static int64_t age_of(const struct lease_clock *clock)
{
    return time_boot_ms() - atomic_load(&clock->page->begun);
}

enum lease_age lease_clock_look(const struct lease_clock *clock, int64_t *ret_next)
{
    if (ret_next != NULL)
        *ret_next = -1;
    if (clock->page == NULL)
        return LEASE_VALID;
    int64_t age = age_of(clock);
    enum lease_age means =
        lease_clock_word(clock) == LEASE_TAKEN ? LEASE_OVER : lease_age(age > 0 ? age : 0);
    if (ret_next != NULL && means != LEASE_OVER)
        *ret_next =
            time_monotonic_ms() + (means == LEASE_VALID ? LEASE_LOST_MS : LEASE_OVER_MS) - age + 1;
    return means;
}

void lease_clock_bound(struct lease_clock *clock)
{
    enum { MS = 1000, NS = 1000000 };
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};

    if (clock->page == NULL)
        return;
    if (!clock->is_bound)
        clock->is_bound = timer_create(CLOCK_BOOTTIME, &event, &clock->timer) == 0;
    int64_t at = atomic_load(&clock->page->begun) + LEASE_OVER_MS + LEASE_HANGS_MS;
    const struct itimerspec when = {.it_value = {.tv_sec = at / MS, .tv_nsec = at % MS * NS}};
    if (clock->is_bound)
        (void)timer_settime(clock->timer, TIMER_ABSTIME, &when, NULL);
}

bool lease_clock_is_lost(const char *token)
{
    _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;
    struct err ignored = ERR_INIT;

    return token[0] != '\0' && lease_clock_open(token, false, &clock, &ignored) == 0 &&
           lease_clock_look(&clock, NULL) != LEASE_VALID;
}

bool lease_clock_be_renewer(const struct lease_clock *clock)
{
    return take(clock, RENEWER_BYTE, F_WRLCK);
}

bool lease_clock_be_host(const struct lease_clock *clock)
{
    return take(clock, HOST_BYTE, F_RDLCK);
}

bool lease_clock_has_renewer(const struct lease_clock *clock)
{
    return is_taken(clock, RENEWER_BYTE);
}

bool lease_clock_has_hosts(const struct lease_clock *clock)
{
    return is_taken(clock, HOST_BYTE);
}

void lease_clock_belongs(const struct lease_clock *clock, int sessions)
{
    struct stat st;

    if (fstat(sessions, &st) == -1)
        return;
    clock->page->root[0] = st.st_dev;
    clock->page->root[1] = st.st_ino;
}

/* Opens the page of a lease that is over and that nobody has. */
static bool open_left(const char *token, struct lease_clock *ret)
{
    _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;
    struct err ignored = ERR_INIT;

    if (lease_clock_open(token, false, &clock, &ignored) == -1 || lease_clock_has_renewer(&clock) ||
        lease_clock_has_hosts(&clock) || lease_clock_look(&clock, NULL) != LEASE_OVER)
        return false;
    *ret = clock;
    clock = (struct lease_clock)LEASE_CLOCK_INIT;
    return true;
}

/* The pages that are left of a root. */
struct left {
    struct stat sessions;
    char **tokens;
};

static void note_left(const char *token, void *arg)
{
    _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;
    struct left *left = arg;

    if (open_left(token, &clock) && clock.page->root[0] == left->sessions.st_dev &&
        clock.page->root[1] == left->sessions.st_ino)
        strv_push(&left->tokens, token);
}

/* Removes the page if it is old. */
static void drop_old(const char *token, void *arg)
{
    _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;

    (void)arg;
    if (!open_left(token, &clock) || age_of(&clock) < LEASE_OLD_MS)
        return;
    /* a start may have taken it since */
    if (take(&clock, MAKER_BYTE, F_WRLCK) && age_of(&clock) >= LEASE_OLD_MS)
        lease_clock_remove(token);
}

/* Calls `visit` with the token of each page. */
static void visit_pages(void (*visit)(const char *token, void *arg), void *arg)
{
    _cleanup_close_ int dir = path_open_dir(AT_FDCWD, SHARED_MEMORY);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (dir == -1 || path_list(dir, &names, &ignored) == -1)
        return;
    for (char **name = names; name != NULL && *name != NULL; name++) {
        const char *token = *name + strlen(PAGE_PREFIX);
        if (str_starts(*name, PAGE_PREFIX) && id_is_valid(token))
            visit(token, arg);
    }
}

char **lease_clock_left(int sessions)
{
    struct left left = {.tokens = NULL};

    if (fstat(sessions, &left.sessions) == 0)
        visit_pages(note_left, &left);
    return left.tokens;
}

void lease_clock_drop_old(void)
{
    visit_pages(drop_old, NULL);
}
