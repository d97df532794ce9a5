/*
 * How much disk space the agent and its session take, and what follows.
 *
 * A child process, `mas measure`, walks over the files of the whole session, once for all of its
 * hosts: whichever finds first that it is due takes a lock on logs/, and no other session of the
 * root is measured at the same time. The child tells each host the figures of the session and of
 * its agent. The host that has started it tells people what concerns the whole session.
 *
 * At its limit the agent's tree is stopped; it goes on when less is used, or when the limit is
 * raised. A host that nothing limits does not even look at the file system.
 */
#include "host/backend.h"
#include "host/server.h"
#include "host/state.h"

#include "base/number.h"
#include "base/time.h"
#include "os/file.h"
#include "os/path.h"
#include "store/limits/session_limits.h"
#include "store/reserve.h"
#include "store/workspace.h"

#include <sys/file.h>
#include <sys/statvfs.h>

enum {
    FIRST_MS = 500, /* after the start of the host */
    AGAIN_MS = 100, /* while another host, or another session, is being measured */
    SPREAD_MS = 10, /* between the tries of hosts that wait */
    OTHERS_MS = 5000, /* a host looks that much later than the one that measured last */
    MEASURE_MS = 10 * 60 * 1000, /* time limit */
    RESERVE_MS = 10 * 60 * 1000, /* so often the reserve is made again if it is missing */
    SAID_MS = 2000, /* between two answers to keys in the pane of a paused agent */
    LOCK_MS = 500,
    DISK_LIMIT_TEXT = 64, /* bytes of an amount */
};

static int64_t own_ms(const struct host *host)
{
    return SPREAD_MS * (int64_t)(host->pid % 50);
}

void disk_open(struct host *host)
{
    struct host_disk *disk = &host->disk;
    int64_t now = time_monotonic_ms();

    disk->session_lock = disk->root_lock = -1;
    disk->watched = resources_limit_disk(host);
    disk->due = now + FIRST_MS + own_ms(host);
    disk->reserve_due = now + RESERVE_MS;
    reserve_make(host->dir);
}

static void unlock(struct host_disk *disk)
{
    int *const locks[] = {&disk->session_lock, &disk->root_lock};

    for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
        if (*locks[i] != -1)
            (void)flock(*locks[i], LOCK_UN); /* a child that was forked meanwhile has it, too */
        fd_closep(locks[i]);
    }
}

void disk_close(struct host *host)
{
    if (host->disk.runs)
        proc_abandon(&host->disk.proc);
    host->disk.runs = false;
    unlock(&host->disk);
}

/* ---- measuring */

/* Returns how much the file system holds; where a quota holds the session's limit, how much the
 * session takes. */
static int64_t ask_used(const struct host *host)
{
    struct statvfs fs;

    if (fstatvfs(host->dir, &fs) == -1 || fs.f_frsize == 0)
        return 0;
    uint64_t used = fs.f_blocks > fs.f_bfree ? (uint64_t)(fs.f_blocks - fs.f_bfree) : 0;
    return used > (uint64_t)INT64_MAX / fs.f_frsize ? INT64_MAX : (int64_t)(used * fs.f_frsize);
}

/* Returns a locked descriptor of the directory; -1 if another process has it. */
static int try_lock(int at, const char *name)
{
    _cleanup_close_ int fd = path_open_dir(at, name);

    return fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == 0 ? TAKE_FD(fd) : -1;
}

static void begin(struct host *host, int64_t now, int64_t used)
{
    struct host_disk *disk = &host->disk;
    const char *argv[] = {"mas", "measure", host->session.id, NULL};
    struct err err = ERR_INIT;
    const struct proc_spec spec = {.envp = host->env, .timeout_ms = MEASURE_MS};

    disk->began = now;
    disk->used = used;
    disk->runs = host_start_own("mas measure", argv, &spec, &disk->proc, &err) == 0;
    if (!disk->runs) {
        unlock(disk);
        host_log(host, err.text);
    }
}

/* Notes the end of a walk, also of one that failed: the next one comes no sooner for that. */
static void end(struct host *host, const char *error)
{
    struct host_disk *disk = &host->disk;
    int64_t now = time_monotonic_ms();

    disk->runs = false;
    unlock(disk);
    disk_pace_walked(&disk->pace, now, now - disk->began, disk->used, disk->room);
    disk->due = now + DISK_LOOK_MIN_MS;
    if (error != NULL && !disk->failed)
        host_log(host, error);
    disk->failed = error != NULL;
}

static int64_t tick_measure(struct host *host, int64_t now)
{
    struct host_disk *disk = &host->disk;
    bool walk = false;

    if (disk->runs && now >= disk->proc.deadline) {
        proc_abandon(&disk->proc);
        end(host, "it takes too long to measure the session's disk space");
    }
    if (disk->runs)
        return disk->proc.deadline;
    if (!disk->watched || host->leaving)
        return -1;
    if (now < disk->due)
        return disk->due;
    int64_t used = ask_used(host);
    disk->due = disk_pace(&disk->pace, now, used, &walk);
    if (!walk && !disk->wanted)
        return disk->due;
    disk->session_lock = try_lock(host->dir, WORKSPACE_LOGS);
    if (disk->session_lock != -1)
        disk->root_lock = try_lock(host->root.sessions, ".");
    if (disk->root_lock == -1) {
        unlock(disk);
        disk->due = now + AGAIN_MS + own_ms(host);
        return disk->due;
    }
    disk->wanted = false;
    begin(host, now, used);
    return disk->runs ? disk->proc.deadline : disk->due;
}

int64_t disk_tick(struct host *host, int64_t now)
{
    if (now >= host->disk.reserve_due) {
        reserve_make(host->dir);
        host->disk.reserve_due = now + RESERVE_MS;
    }
    return time_sooner(tick_measure(host, now), host->disk.reserve_due);
}

void disk_want(const struct host *host, struct loop *loop)
{
    if (host->disk.runs)
        loop_want(loop, host->disk.proc.end_fd, POLLIN);
}

void disk_serve(struct host *host, struct loop *loop)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;

    if (!host->disk.runs || loop_got(loop, host->disk.proc.end_fd) == 0)
        return;
    bool failed = host_finish_own(&host->disk.proc, &result, &err) == -1 &&
                  err_wrap(&err, "cannot measure the disk space of the session") == -1;
    _cleanup_free_ char *why = failed ? mem_dup(err.text) : NULL;
    end(host, why);
}

/* ---- what follows */

static void notify(struct host *host, const char *words)
{
    struct notice notice;

    notice_fill(NOTICE_LIMIT, time_epoch_ms(), words, &notice);
    notify_add(host, &notice);
}

bool disk_is_paused(const struct host *host)
{
    const enum child_phase phase = host->child.phase;

    return host->disk.paused && (phase == CHILD_RUNS || phase == CHILD_SETS_UP);
}

const char *disk_holder(const struct host *host)
{
    const struct limit_held *of = host->resources.held.of;

    if (of[LIMIT_SESSION].amount <= 0 && of[LIMIT_AGENT].amount <= 0)
        return "";
    return !host->disk.held ? "watch" : of[LIMIT_AGENT].amount > 0 ? "quota and watch" : "quota";
}

const char *disk_note(const struct host *host)
{
    return host->disk.words;
}

/* Says why the agent is paused, with what to do. */
static void say_paused(struct host *host)
{
    const struct host_disk *disk = &host->disk;
    struct session_label label = session_label(&host->root, host->session.id);
    _cleanup_free_ char *words =
        mem_printf("paused: %s; it goes on when space is freed, or with: mas approve %s %s",
                   disk->words, label.text, host->agent->id);

    host->backend->note(host, words);
}

void disk_child_starts(struct host *host)
{
    if (host->disk.paused)
        say_paused(host);
}

void disk_keys(struct host *host)
{
    int64_t now = time_monotonic_ms();

    if (!disk_is_paused(host) || now < host->disk.said_at + SAID_MS)
        return;
    host->disk.said_at = now;
    host->backend->say(host, "it is paused, and reads nothing");
    say_paused(host);
}

/* Stops the agent's tree, or lets it go on. */
static void pause_tree(struct host *host, bool on)
{
    struct host_disk *disk = &host->disk;
    int64_t now = time_monotonic_ms();
    bool runs = host->child.phase == CHILD_RUNS || host->child.phase == CHILD_SETS_UP;

    disk->paused = on;
    disk->pace.paused = on;
    if (on)
        disk->paused_at = now;
    if (runs)
        supervisor_pause(&host->child.supervisor, on);
    host->backend->pause(host, on, on ? 0 : now - disk->paused_at);
    if (!on && host->setup.runs)
        host->setup.deadline += now - disk->paused_at;
}

static void tell_pause(struct host *host, bool on)
{
    _cleanup_free_ char *words = mem_printf("paused: %s", host->disk.words);

    host_log(host, on ? words : "no longer paused");
    if (!disk_is_paused(host) && on)
        return;
    if (on)
        say_paused(host);
    else if (host->child.phase != CHILD_NONE)
        host->backend->note(host, "no longer paused: there is space again");
}

/* Tells people of a level that is reached. */
static void tell_level(struct host *host, enum disk_scope scope, enum disk_level level)
{
    char words[DISK_WORDS];
    _cleanup_free_ char *paused = NULL;

    disk_describe(scope, &host->disk.use[scope], words);
    if (level == DISK_NEAR) {
        host_log(host, words);
        host->backend->note(host, words);
    }
    paused = mem_printf("%s%s", level == DISK_FULL ? "paused: " : "", words);
    notify(host, paused);
}

/* Compares the figures with the levels before. `measured`: by this host, which speaks for the
 * session. */
static void follow(struct host *host, bool measured)
{
    struct host_disk *disk = &host->disk;
    bool full = false;

    disk->words[0] = '\0';
    for (enum disk_scope i = 0; i < DISK_SCOPE_COUNT; i++) {
        enum disk_level before = disk->level[i];
        disk->level[i] = disk_level(before, &disk->use[i]);
        full = full || disk->level[i] == DISK_FULL;
        if (disk->level[i] != DISK_CALM &&
            (disk->words[0] == '\0' || disk->level[i] > disk->level[DISK_SESSION]))
            disk_describe(i, &disk->use[i], disk->words);
        if (disk->level[i] > before && (measured || i == DISK_AGENT))
            tell_level(host, i, disk->level[i]);
    }
    if (full != disk->paused) {
        pause_tree(host, full);
        tell_pause(host, full);
    }
    server_mark_dirty(host);
}

int disk_told(struct host *host, struct client *client, const struct frame *frame, struct err *err)
{
    struct host_disk *disk = &host->disk;
    const struct json *session = json_get(frame->head, "session");

    if (client->from != NULL)
        return err_set(err, MAS_FAILED, "only mas measures");
    disk->watched = true;
    if (session == NULL) { /* a limit was changed */
        disk->wanted = true;
        disk->due = 0;
        resources_limits_changed(host);
        return 0;
    }
    disk_read(session, &disk->use[DISK_SESSION]);
    disk_read(json_get(frame->head, "agent"), &disk->use[DISK_AGENT]);
    bool held = json_bool(json_get(frame->head, "held"), false);
    if (held != disk->held)
        disk->used = ask_used(host); /* the kernel shows a session with a held limit by itself */
    disk->held = held;
    disk->room = json_int(json_get(frame->head, "room"), INT64_MAX);
    if (!disk->runs) {
        int64_t now = time_monotonic_ms();
        disk_pace_walked(&disk->pace, now, 0, ask_used(host), disk->room);
        disk->due = now + OTHERS_MS + own_ms(host);
        disk->wanted = false;
    }
    follow(host, disk->runs);
    return 0;
}

/* ---- more of it */

/* Raises a limit that is reached by `more`, 0: by as much as it is. */
static int extend(struct host *host, enum disk_scope scope, int64_t more, struct str *words,
                  struct err *err)
{
    struct disk_use *use = &host->disk.use[scope];
    int64_t from = use->used > use->limit ? use->used : use->limit;
    int64_t by = more > 0 ? more : use->limit;
    int64_t limit = by > INT64_MAX - from ? INT64_MAX : from + by;
    char text[NUMBER_SIZE_TEXT];

    if (session_limits_set(&host->root, host->dir, scope == DISK_AGENT ? host->agent->id : NULL,
                           scope == DISK_AGENT ? LIMIT_AGENT : LIMIT_SESSION, limit, LOCK_MS,
                           err) == -1)
        return -1;
    use->limit = limit;
    number_format_size((uint64_t)limit, text);
    str_addf(words, "%sthe %s may use %s on disk", words->len > 0 ? ", " : "",
             scope == DISK_SESSION ? "session" : "agent", text);
    return 0;
}

static int parse_more(const char *more, int64_t *ret, struct err *err)
{
    uint64_t bytes = 0;

    *ret = 0;
    if (more == NULL)
        return 0;
    if (!number_parse_size(more, INT64_MAX, &bytes) || bytes == 0)
        return err_set(err, MAS_USAGE, "'%.*s' is no size, such as 500M", DISK_LIMIT_TEXT, more);
    *ret = (int64_t)bytes;
    return 0;
}

bool disk_is_meant(const struct host *host, const struct frame *frame)
{
    const char *option = json_get_text(frame->head, "option");

    return disk_is_paused(host) && json_get(frame->head, "permission") == NULL && option != NULL &&
           strcmp(option, "allow") == 0;
}

int disk_let_go_on(struct host *host, struct client *client, const struct frame *frame,
                   struct err *err)
{
    _cleanup_str_ struct str words = STR_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;
    int64_t more = 0;

    if (client->from != NULL)
        return err_set(err, MAS_FAILED, "only a person may let it use more than its limit");
    if (parse_more(json_get_text(frame->head, "more"), &more, err) == -1)
        return -1;
    for (enum disk_scope i = 0; i < DISK_SCOPE_COUNT; i++)
        if (host->disk.level[i] == DISK_FULL && extend(host, i, more, &words, err) == -1)
            return -1;
    host_log(host, str_text(&words));
    _cleanup_free_ char *note = mem_printf("a person lets it go on: %s", str_text(&words));
    host->backend->note(host, note);
    host->disk.wanted = true; /* the other hosts learn of it */
    host->disk.due = 0;
    follow(host, false);
    server_open_answer(host, &head, &out);
    json_put(&out, "budget", str_text(&words));
    server_close_answer(client, &head, &out);
    return 0;
}
