/*
 * Copies a tree. The calling thread walks the source, creates directories and links, and queues the
 * regular files. If there is enough to copy, a second thread also takes files from the queue.
 */
#include "os/tree.h"

#include "os/path.h"
#include "os/thread.h"
#include "os/tree_file.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum {
    LIST_SIZE = 32 * 1024, /* bytes of directory entries per read */
    TASKS_MAX = 4096,
    ALONE_FILES = 64, /* beyond either number, a second thread is worth starting */
    ALONE_BYTES = 4 * 1024 * 1024,
    AHEAD_MAX = 64, /* directories kept open only for their queued files */
    TICK_MS = 100,
    DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
};

/* A directory being copied. The walk, its subdirectories and its queued files refer to it. The last
 * one to release it sets the copies' modes and times, because filling a copy would change them. */
struct dir {
    struct dir *parent; /* NULL for the top directory */
    char *name;
    unsigned level;
    mode_t mode;
    struct timespec mtime;
    atomic_uint refs;
    int from;
    int to[]; /* one for each copy */
};

struct copy_task {
    struct dir *dir;
    char *name;
};

struct copy {
    const char *name;
    const struct tree_choice *choice;
    tree_tick *tick;
    void *arg;
    uint64_t ticked; /* milliseconds */
    size_t copies;
    struct stat *targets; /* the destinations, which must not be copied into themselves */
    char *list;
    unsigned seen; /* files found */
    unsigned ahead; /* directories that may stay open for the queue */
    bool helped; /* a second thread was started, or cannot be */
    bool joinable;
    pthread_t thread;

    atomic_bool stop;
    atomic_uint open_dirs;
    atomic_uint_fast64_t files;
    struct tree_ways ways;

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t more; /* signals a task, or that no more will come */
    pthread_cond_t idle; /* signals that the second thread has finished its task */
    struct copy_task tasks[TASKS_MAX]; /* a ring buffer */
    size_t first;
    size_t count;
    bool busy; /* the second thread is working on a task */
    bool closing;
    struct err err; /* the first error */
};

/* State of one thread. */
struct worker {
    struct copy *copy;
    struct tree_mover mover;
    bool calling; /* the calling thread: only it calls the tick and starts the other */
    uint64_t moved; /* bytes actually copied */
};

static void *helper_main(void *arg);

static void add_path(struct str *text, const struct dir *dir)
{
    if (dir->parent == NULL)
        return;
    add_path(text, dir->parent);
    str_addc(text, '/');
    str_add(text, dir->name);
}

/* Returns "<name of the source>/<path>", which the caller frees. */
static char *full_path(const struct copy *c, const struct dir *dir, const char *name)
{
    struct str path = STR_INIT;

    str_add(&path, c->name);
    if (dir != NULL)
        add_path(&path, dir);
    if (name != NULL)
        str_addf(&path, "/%s", name);
    return str_steal(&path);
}

/* Stops the copy with the first error. `name` is in `dir`, or NULL for the directory itself. `why`
 * is NULL for errno. Returns -1. */
static int fail(struct copy *c, const struct dir *dir, const char *name, const char *why)
{
    int number = errno;
    _cleanup_free_ char *path = full_path(c, dir, name);

    (void)pthread_mutex_lock(&c->lock);
    if (!c->stop) {
        if (why != NULL) {
            err_set(&c->err, MAS_FAILED, "cannot copy '%s': %s", path, why);
        } else {
            errno = number;
            err_errno(&c->err, "cannot copy '%s'", path);
        }
        c->stop = true;
    }
    (void)pthread_mutex_unlock(&c->lock);
    return -1;
}

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Calls the tick if it is due, and returns whether to stop. */
static bool stopped(struct worker *w)
{
    struct copy *c = w->copy;

    if (!w->calling || c->tick == NULL || c->stop)
        return c->stop;
    uint64_t now = now_ms();
    if (now - c->ticked < TICK_MS)
        return false;
    c->ticked = now;
    if (c->tick(c->files, c->ways.bytes, c->arg))
        (void)fail(c, NULL, NULL, "interrupted");
    return c->stop;
}

static struct dir *dir_new(struct copy *c, struct dir *parent, const char *name)
{
    struct dir *dir = mem_alloc(sizeof(*dir) + c->copies * sizeof(*dir->to));

    dir->parent = parent;
    dir->name = mem_dup(name);
    dir->level = parent != NULL ? parent->level + 1 : 0;
    dir->from = -1;
    for (size_t i = 0; i < c->copies; i++)
        dir->to[i] = -1;
    atomic_init(&dir->refs, 1);
    if (parent != NULL)
        parent->refs++;
    c->open_dirs++;
    return dir;
}

/* The caller sets the mode and time of the top directory. */
static int dir_finish(const struct copy *c, const struct dir *dir)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, dir->mtime};

    for (size_t i = 0; dir->parent != NULL && i < c->copies; i++)
        if (fchmod(dir->to[i], dir->mode) == -1 || futimens(dir->to[i], times) == -1)
            return -1;
    return 0;
}

static void dir_release(struct copy *c, struct dir *dir)
{
    while (dir != NULL && atomic_fetch_sub(&dir->refs, 1) == 1) {
        struct dir *parent = dir->parent;

        if (!c->stop && dir_finish(c, dir) == -1)
            (void)fail(c, dir, NULL, NULL);
        fd_closep(&dir->from);
        for (size_t i = 0; i < c->copies; i++)
            fd_closep(&dir->to[i]);
        free(dir->name);
        free(dir);
        c->open_dirs--;
        dir = parent;
    }
}

/* Starts the second thread, once. Without it the copy is only slower. */
static void start_helper(struct copy *c)
{
    if (c->helped)
        return;
    c->helped = true;
    c->joinable = thread_start(&c->thread, helper_main, c);
}

/* Called before each piece of content. Starts the second thread when the bytes justify it. */
static bool step(size_t len, void *arg)
{
    struct worker *w = arg;
    struct copy *c = w->copy;

    w->moved += len;
    if (w->calling && !c->helped && w->moved > ALONE_BYTES && c->count > 0)
        start_helper(c);
    return stopped(w);
}

/* A worker's mover points to the worker, so an initializer cannot do this. */
static void worker_init(struct worker *w, struct copy *c, bool calling)
{
    *w = (struct worker){.copy = c, .calling = calling};
    w->mover = (struct tree_mover){.ways = &c->ways, .step = step, .arg = w};
}

/* Takes a task; the lock is held. The calling thread takes the newest and the other thread the
 * oldest, so they rarely create files in the same directory. */
static bool pop_task(struct copy *c, bool newest, struct copy_task *ret_task)
{
    if (c->count == 0)
        return false;
    c->count--;
    if (newest) {
        *ret_task = c->tasks[(c->first + c->count) % TASKS_MAX];
    } else {
        *ret_task = c->tasks[c->first];
        c->first = (c->first + 1) % TASKS_MAX;
    }
    return true;
}

/* After a stop, tasks are still taken to release their references. */
static void run(struct worker *w, struct copy_task task)
{
    const char *why = NULL;

    if (!stopped(w)) {
        const struct tree_source source = {task.dir->from, task.name};
        if (tree_file_copy(&w->mover, &source, task.dir->to, w->copy->copies, &why) == -1)
            (void)fail(w->copy, task.dir, task.name, why);
        else
            w->copy->files++;
    }
    free(task.name);
    dir_release(w->copy, task.dir);
}

static void *helper_main(void *arg)
{
    struct copy *c = arg;
    struct worker w;
    struct copy_task task;

    worker_init(&w, c, false);
    (void)pthread_mutex_lock(&c->lock);
    for (;;) {
        while (c->count == 0 && !c->closing)
            (void)pthread_cond_wait(&c->more, &c->lock);
        if (!pop_task(c, false, &task))
            break;
        c->busy = true;
        (void)pthread_mutex_unlock(&c->lock);
        run(&w, task);
        (void)pthread_mutex_lock(&c->lock);
        c->busy = false;
        (void)pthread_cond_signal(&c->idle);
    }
    (void)pthread_mutex_unlock(&c->lock);
    free(w.mover.buffer);
    return NULL;
}

/* Runs the newest task in the calling thread; false if there is none. */
static bool run_newest(struct worker *w)
{
    struct copy *c = w->copy;
    struct copy_task task;

    (void)pthread_mutex_lock(&c->lock);
    bool taken = pop_task(c, true, &task);
    (void)pthread_mutex_unlock(&c->lock);
    if (taken)
        run(w, task);
    return taken;
}

/* Returns when the queue is empty and no file is being copied. */
static void drain(struct worker *w)
{
    struct copy *c = w->copy;
    bool busy = true;

    while (run_newest(w))
        continue;
    while (busy) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;

        (void)pthread_mutex_lock(&c->lock);
        if (c->busy)
            (void)pthread_cond_timedwait(&c->idle, &c->lock, &until);
        busy = c->busy;
        (void)pthread_mutex_unlock(&c->lock);
        (void)stopped(w);
    }
}

static void add_file(struct worker *w, struct dir *dir, const char *name)
{
    struct copy *c = w->copy;

    c->seen += (unsigned)c->copies;
    if (c->seen > ALONE_FILES)
        start_helper(c);
    for (;;) {
        (void)pthread_mutex_lock(&c->lock);
        bool room = c->count < TASKS_MAX;
        if (room) {
            dir->refs++;
            c->tasks[(c->first + c->count) % TASKS_MAX] = (struct copy_task){dir, mem_dup(name)};
            c->count++;
            (void)pthread_cond_signal(&c->more);
        }
        (void)pthread_mutex_unlock(&c->lock);
        if (room)
            return;
        (void)run_newest(w);
    }
}

static void leave(struct copy *c, const struct dir *dir, const char *name, mode_t mode)
{
    _cleanup_free_ char *path = full_path(c, dir, name);

    (void)pthread_mutex_lock(&c->lock);
    c->choice->leaves(path, path_type_name(mode), c->choice->arg);
    (void)pthread_mutex_unlock(&c->lock);
}

/* Copies or queues one entry. Only notes subdirectories in `subdirs`, each with a NUL. */
static int copy_entry(struct worker *w, struct dir *dir, const struct dirent64 *entry,
                      struct str *subdirs)
{
    mode_t mode = (mode_t)DTTOIF(entry->d_type);
    struct stat st;

    if (entry->d_type == DT_UNKNOWN) {
        if (fstatat(dir->from, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
            return fail(w->copy, dir, entry->d_name, NULL);
        mode = st.st_mode;
    }
    if (w->copy->choice->leaves != NULL && (S_ISFIFO(mode) || S_ISSOCK(mode))) {
        leave(w->copy, dir, entry->d_name, mode);
        return 0;
    }
    const char *why = tree_refusal(mode);
    if (why != NULL)
        return fail(w->copy, dir, entry->d_name, why);
    if (S_ISLNK(mode)) {
        for (size_t i = 0; i < w->copy->copies; i++)
            if (tree_link_copy(dir->from, dir->to[i], entry->d_name) == -1)
                return fail(w->copy, dir, entry->d_name, NULL);
        w->copy->files++;
    } else if (S_ISDIR(mode)) {
        str_addn(subdirs, entry->d_name, strlen(entry->d_name) + 1);
    } else {
        add_file(w, dir, entry->d_name);
    }
    return 0;
}

static bool is_dot(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static bool is_taken(const struct copy *c, const struct dir *dir, const char *name)
{
    return dir->parent != NULL || c->choice->takes == NULL ||
           c->choice->takes(name, c->choice->arg);
}

static int copy_entries(struct worker *w, struct dir *dir, struct str *subdirs)
{
    struct copy *c = w->copy;
    ssize_t len;

    while ((len = getdents64(dir->from, (void *)c->list, LIST_SIZE)) > 0) {
        const struct dirent64 *entry;
        for (ssize_t at = 0; at < len; at += entry->d_reclen) {
            entry = (const void *)(c->list + at);
            if (is_dot(entry->d_name) || !is_taken(c, dir, entry->d_name))
                continue;
            if (stopped(w) || copy_entry(w, dir, entry, subdirs) == -1)
                return -1;
        }
    }
    return len == 0 ? 0 : fail(c, dir, NULL, NULL);
}

/* Returns true for a directory that is copied to. */
static bool is_target(const struct copy *c, const struct stat *st)
{
    for (size_t i = 0; i < c->copies; i++)
        if (st->st_dev == c->targets[i].st_dev && st->st_ino == c->targets[i].st_ino)
            return true;
    return false;
}

/* Creates the copy of a directory, which nobody else can open until it is complete. */
static int dir_make(int parent, const char *name)
{
    if (mkdirat(parent, name, S_IRWXU) == -1)
        return -1;
    int dir = openat(parent, name, DIR_FLAGS);
    if (dir == -1 && errno == EACCES && /* the umask removed the owner's bits */
        fchmodat(parent, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0)
        dir = openat(parent, name, DIR_FLAGS);
    return dir;
}

/* Opens a directory and creates its copies. */
static int dir_open(struct copy *c, struct dir *dir)
{
    const struct dir *parent = dir->parent;
    struct stat st;

    if (dir->level > TREE_DEPTH_MAX)
        return fail(c, dir, NULL, "it is nested too deeply");
    dir->from = openat(parent->from, dir->name, DIR_FLAGS);
    if (dir->from == -1 || fstat(dir->from, &st) == -1)
        return fail(c, dir, NULL, NULL);
    if (is_target(c, &st))
        return fail(c, dir, NULL, "the copy would be inside the original");
    dir->mode = st.st_mode & TREE_MODE_BITS & ~c->ways.without;
    dir->mtime = st.st_mtim;

    for (size_t i = 0; i < c->copies; i++) {
        dir->to[i] = dir_make(parent->to[i], dir->name);
        if (dir->to[i] == -1)
            return fail(c, dir, NULL, NULL);
    }
    return 0;
}

static int copy_dir(struct worker *w, struct dir *dir)
{
    struct copy *c = w->copy;
    _cleanup_str_ struct str subdirs = STR_INIT;

    if (copy_entries(w, dir, &subdirs) == -1)
        return -1;
    for (size_t at = 0; at < subdirs.len; at += strlen(subdirs.data + at) + 1) {
        if (c->open_dirs > dir->level + c->ahead)
            drain(w);
        struct dir *sub = dir_new(c, dir, subdirs.data + at);
        int r = dir_open(c, sub) == -1 || copy_dir(w, sub) == -1 ? -1 : 0;
        dir_release(c, sub);
        if (r == -1)
            return -1;
    }
    return 0;
}

/* Returns how many directories may be open besides those on the way down; few if descriptors are
 * few. */
static unsigned ahead_max(size_t copies)
{
    unsigned each = 2 * (1 + (unsigned)copies); /* as many for the way down */
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur >= 20 + each * AHEAD_MAX)
        return AHEAD_MAX;
    return limit.rlim_cur > 20 + each ? (unsigned)(limit.rlim_cur - 20) / each : 1;
}

/* Opens both sides again: the caller owns the offset of `from`, and either descriptor may be
 * O_PATH. */
static int top_open(struct copy *c, struct dir *top, int from, const int *to)
{
    struct stat st;

    top->from = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top->from == -1 || fstat(top->from, &st) == -1)
        return fail(c, top, NULL, NULL);
    for (size_t i = 0; i < c->copies; i++) {
        top->to[i] = openat(to[i], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (top->to[i] == -1 || fstat(top->to[i], &c->targets[i]) == -1)
            return fail(c, top, NULL, NULL);
    }
    return is_target(c, &st) ? fail(c, top, NULL, "the copy would be inside the original") : 0;
}

static int copy_to(int from, const int *to, size_t copies, const char *name,
                   const struct tree_choice *choice, tree_tick *tick, void *arg, struct err *err)
{
    _cleanup_free_ struct copy *c = mem_alloc(sizeof(*c));
    _cleanup_free_ char *list = mem_grow(NULL, LIST_SIZE, 1);
    _cleanup_free_ struct stat *targets = mem_grow(NULL, copies, sizeof(*targets));
    struct worker w;

    worker_init(&w, c, true);
    c->name = name;
    c->choice = choice;
    c->ways.link_readonly = choice->link_readonly;
    c->ways.without = choice->without;
    c->tick = tick;
    c->arg = arg;
    c->list = list;
    c->copies = copies;
    c->targets = targets;
    c->ahead = ahead_max(copies);
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_cond_init(&c->more, NULL);
    (void)pthread_cond_init(&c->idle, NULL);

    struct dir *top = dir_new(c, NULL, NULL);
    if (top_open(c, top, from, to) == 0)
        (void)copy_dir(&w, top);
    dir_release(c, top);
    drain(&w);

    (void)pthread_mutex_lock(&c->lock);
    c->closing = true;
    (void)pthread_cond_signal(&c->more);
    (void)pthread_mutex_unlock(&c->lock);
    if (c->joinable)
        (void)pthread_join(c->thread, NULL);
    c->ticked = 0; /* notice an interruption since the last tick */
    (void)stopped(&w);
    (void)pthread_cond_destroy(&c->idle);
    (void)pthread_cond_destroy(&c->more);
    (void)pthread_mutex_destroy(&c->lock);
    free(w.mover.buffer);

    if (c->stop)
        *err = c->err;
    return c->stop ? -1 : 0;
}

int tree_copy(int from, int to, const char *name, tree_tick *tick, void *arg, struct err *err)
{
    return tree_copy_many(from, &to, 1, name, tick, arg, err);
}

int tree_copy_many(int from, const int *to, size_t copies, const char *name, tree_tick *tick,
                   void *arg, struct err *err)
{
    const struct tree_choice all = {.takes = NULL};
    return copy_to(from, to, copies, name, &all, tick, arg, err);
}

int tree_copy_choice(int from, int to, const char *name, const struct tree_choice *choice,
                     tree_tick *tick, void *arg, struct err *err)
{
    return copy_to(from, &to, 1, name, choice, tick, arg, err);
}
