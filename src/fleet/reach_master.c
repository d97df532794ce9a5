/*
 * The connections that commands to one machine share; see reach.h. A command takes a slot, and if
 * no master listens the lock of the machine. With that it looks again, fails as the process that
 * had the lock before has failed (HASH.failed), or logs in. A login that is to go on without its
 * command is made by a child, which has the lock until it is done.
 */

#include "base/sha.h"
#include "base/time.h"
#include "fleet/reach.h"
#include "fleet/reach_internal.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/sock.h"

enum {
    HASH_CHARS = 16, /* of the destination, in the names of files */
    DIR_MAX = 60, /* bytes: a socket's path has 107, and ssh adds 17 while it makes one */
    WHY_MAX = 400, /* bytes of what ssh said */
    FAILED_MS = 10 * 60 * 1000, /* a login that failed longer ago is not told */
    WAIT_MS = REACH_LOGIN_MS + 10000, /* for other processes that connect to the same machine */
};

#define KEY_UNKNOWN ENOKEY /* err->number, of a key that a person may accept */
#define KEY_FAILED "Host key verification failed" /* as ssh says it */

/* Characters that ssh takes as they are in ControlPath. */
static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=@,";

struct masters {
    const struct remote *remote;
    int dir;
    char *path; /* of the directory */
    char hash[HASH_CHARS + 1];
};

int reach_fail(const struct remote *remote, const char *why, struct err *err)
{
    (void)err_set(err, MAS_UNREACHED, "cannot reach host '%s': %s", remote->name, why);
    if (remote->via == REMOTE_SSH)
        return err_hint(err, "try: ssh -o BatchMode=yes %s true", remote->place);
    return err_hint(err, "see whether Slurm answers: mas doctor --all-hosts");
}

void reach_ssh_options(char ***argv, const char *control, const char *path)
{
    static const char *const fixed[] = {
        "BatchMode=yes",
        "LogLevel=ERROR",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        "ForwardAgent=no",
        "ForwardX11=no",
        "Tunnel=no",
        "PermitLocalCommand=no",
        "RemoteCommand=none",
        "EscapeChar=none",
    };
    const struct {
        const char *name;
        char *value;
    } own[] = {
        {"ControlMaster", mem_dup(control != NULL ? control : "no")},
        {"ControlPath", mem_dup(control != NULL ? path : "none")},
        {"ControlPersist", mem_printf("%d", REACH_PERSIST_S)},
        {"ClearAllForwardings", mem_dup(control != NULL ? "yes" : "no")},
    };

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        strv_push(argv, "-o");
        strv_push(argv, fixed[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        _cleanup_free_ char *word = mem_printf("%s=%s", own[i].name, own[i].value);
        strv_push(argv, "-o");
        strv_push(argv, word);
        free(own[i].value);
    }
}

/* Opens a directory that only this user may enter; makes it if it is missing. */
static int open_dir(const char *path, struct err *err)
{
    struct stat st;

    if (mkdir(path, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot create '%s'", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd == -1 || fstat(fd, &st) == -1) {
        (void)err_errno(err, "cannot open '%s'", path);
    } else if (st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
        (void)err_set(err, MAS_FAILED, "cannot use '%s': others may enter it, or it is theirs",
                      path);
        (void)err_hint(err, "connections of ssh lie there; remove it, or set XDG_RUNTIME_DIR");
    } else {
        return fd;
    }
    fd_closep(&fd);
    return -1;
}

static int open_masters(const struct remote *remote, struct masters *ret, struct err *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char digest[SHA256_TEXT];

    if (runtime != NULL && runtime[0] == '/' && strlen(runtime) + strlen("/mas") <= DIR_MAX &&
        strspn(runtime, plain) == strlen(runtime))
        ret->path = mem_printf("%s/mas", runtime);
    else
        ret->path = mem_printf("/tmp/mas-%ld", (long)geteuid());
    ret->remote = remote;
    ret->dir = open_dir(ret->path, err);
    if (ret->dir == -1) {
        free(ret->path);
        return -1;
    }
    sha256_of(remote->place, strlen(remote->place), digest);
    memcpy(ret->hash, digest, HASH_CHARS);
    ret->hash[HASH_CHARS] = '\0';
    return 0;
}

static void close_masters(struct masters *masters)
{
    fd_closep(&masters->dir);
    free(masters->path);
}

/* Takes the first free slot. Sets *ret_master to its master. */
static int take_slot(const struct masters *masters, int *ret_master, int *ret_slot, struct err *err)
{
    for (int i = 0; i < REACH_MASTERS * REACH_SLOTS; i++) {
        char name[HASH_CHARS + 32];
        struct err why = ERR_INIT;
        (void)snprintf(name, sizeof name, "%s.%d.%d", masters->hash, i / REACH_SLOTS,
                       i % REACH_SLOTS);
        if (file_lock(masters->dir, name, LOCK_TRY, "", ret_slot, &why) == 0) {
            *ret_master = i / REACH_SLOTS;
            return 0;
        }
        if (why.code != MAS_CONFLICT) {
            *err = why;
            return err_wrap(err, "cannot reach host '%s'", masters->remote->name);
        }
    }
    char why[64];
    (void)snprintf(why, sizeof why, "%d commands run there already", REACH_MASTERS * REACH_SLOTS);
    return reach_fail(masters->remote, why, err);
}

/* Returns true if a master listens. A process of another user does not count. */
static bool listens(const struct masters *masters, const char *name)
{
    _cleanup_close_ int fd = sock_connect(masters->dir, name);
    return fd != -1 || errno == EAGAIN;
}

char *reach_last_words(const char *text, size_t len)
{
    while (len > 0 && strchr("\r\n .", text[len - 1]) != NULL)
        len--;
    size_t begin = len;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    len -= begin;
    if (len > strlen("ssh: ") && str_starts(text + begin, "ssh: ")) {
        begin += strlen("ssh: ");
        len -= strlen("ssh: ");
    }
    return len > 0 ? mem_dupn(text + begin, str_cut(text + begin, len, WHY_MAX)) : NULL;
}

/* What ssh says of a host key that it does not take, and what a person can do. With none of the
 * first words it is a key that it does not know. */
static int fail_key(const struct remote *remote, const char *said, struct err *err)
{
    const char *remedy = strstr(said, "ssh-keygen -f ");
    const char *place = remote->place;

    if (strstr(said, "REVOKED HOST KEY") != NULL || strstr(said, "marked as revoked") != NULL ||
        strstr(said, " revoked by file ") != NULL) {
        (void)reach_fail(remote, KEY_FAILED ": it was revoked", err);
        return err_hint(err, "ask who runs that machine for its new key");
    }
    if (strstr(said, "IDENTIFICATION HAS CHANGED") == NULL) {
        (void)reach_fail(remote, KEY_FAILED ": it is not known here", err);
        err->number = KEY_UNKNOWN;
        return err_hint(err, "compare it with that of the machine, and accept it once: ssh %s true",
                        place);
    }
    (void)reach_fail(remote, KEY_FAILED ": it has changed", err);
    if (remedy == NULL)
        return err_hint(err, "if that is right, forget the old key: ssh-keygen -R %s", place);
    return err_hint(err, "if that is right, forget the old key: %.*s", (int)strcspn(remedy, "\r\n"),
                    remedy);
}

/* Runs ssh until it has logged in, and says why it could not. */
static int log_in(const struct remote *remote, const char *ssh, char *const *argv, char *const *env,
                  struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct proc proc;
    struct err why = ERR_INIT;
    const struct proc_spec spec = {.file = ssh,
                                   .argv = argv,
                                   .envp = env,
                                   .cwd = -1,
                                   .output_max = 65536,
                                   .timeout_ms = REACH_LOGIN_MS,
                                   .bound = true};

    if (proc_start(&spec, &proc, err) == -1)
        return -1;
    int rc = proc_finish(&proc, &result, &why);
    if (rc == -1)
        rc = reach_fail(remote, why.code == MAS_TIMEOUT ? "no answer" : why.text, err);
    else if (result.status != 0) {
        _cleanup_free_ char *words = reach_last_words(str_text(&result.err), result.err.len);
        rc = words == NULL ? reach_fail(remote, "ssh failed and said nothing", err)
             : str_starts(words, KEY_FAILED) ? fail_key(remote, str_text(&result.err), err)
                                             : reach_fail(remote, words, err);
    }
    return rc;
}

/* Starts a master and waits until it has logged in. */
static int start_master(const struct masters *masters, const char *ssh, char *const *env,
                        const char *path, struct err *err)
{
    _cleanup_strv_ char **argv = NULL;

    strv_push(&argv, "ssh");
    reach_ssh_options(&argv, "yes", path);
    strv_push(&argv, "-N");
    strv_push(&argv, "-f");
    strv_push(&argv, "--");
    strv_push(&argv, masters->remote->place);
    return log_in(masters->remote, ssh, argv, env, err);
}

/* Returns a command line of ssh that logs in by itself, runs nothing, and treats host keys so. */
static char **login_words(const struct remote *remote, const char *const *options)
{
    char **argv = NULL;

    strv_push(&argv, "ssh");
    for (; *options != NULL; options++) { /* of several, ssh takes the first */
        strv_push(&argv, "-o");
        strv_push(&argv, *options);
    }
    reach_ssh_options(&argv, "no", "none");
    strv_push(&argv, "-T");
    strv_push(&argv, "--");
    strv_push(&argv, remote->place);
    strv_push(&argv, "exit 0");
    return argv;
}

int reach_meet(const struct remote *remote, bool ask, struct err *err)
{
    static const char *const known[] = {"StrictHostKeyChecking=yes", NULL};
    static const char *const asks[] = {"StrictHostKeyChecking=ask", "BatchMode=no",
                                       "PasswordAuthentication=no",
                                       "KbdInteractiveAuthentication=no", NULL};
    _cleanup_strv_ char **strict = login_words(remote, known);
    _cleanup_strv_ char **asking = login_words(remote, asks);
    _cleanup_free_ char *ssh = path_find_program("ssh", getenv("PATH"), -1);
    int ignored = 0;

    if (ssh == NULL)
        return err_set(err, MAS_UNREACHED, "cannot reach host '%s': there is no program 'ssh'",
                       remote->name);
    int rc = log_in(remote, ssh, strict, NULL, err);
    if (rc == 0 || err->number != KEY_UNKNOWN || !ask)
        return rc;
    /* whether the login itself works is seen after that */
    if (proc_run(ssh, asking, &ignored, err) == -1)
        return -1;
    *err = (struct err)ERR_INIT;
    return log_in(remote, ssh, strict, NULL, err);
}

/* What the last attempt that failed has left: when it ended, and why. */
static void record_failure(const struct masters *masters, const char *why)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct err ignored = ERR_INIT;
    char name[HASH_CHARS + 16];

    str_addf(&text, "%lld %.*s", (long long)time_monotonic_ms(), (int)str_fit(why, WHY_MAX), why);
    (void)snprintf(name, sizeof name, "%s.failed", masters->hash);
    (void)file_replace(masters->dir, name, text.data, text.len, 0600, &ignored);
}

/* Returns why an attempt has failed since then; NULL: none has. The caller frees it. */
static char *failure_since(const struct masters *masters, int64_t since)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    char name[HASH_CHARS + 16];
    char *why = NULL;
    size_t len = 0;

    (void)snprintf(name, sizeof name, "%s.failed", masters->hash);
    if (file_read(masters->dir, name, 4096, &text, &len, &ignored) == -1)
        return NULL;
    int64_t when = strtoll(text, &why, 10);
    return when < since || when > time_monotonic_ms() || *why != ' ' ? NULL : mem_dup(why + 1);
}

/* Fails like an attempt that another process has made since `since`. */
static int check_failure(const struct masters *masters, int64_t since, struct err *err)
{
    _cleanup_free_ char *why = failure_since(masters, since);

    return why != NULL ? reach_fail(masters->remote, why, err) : 0;
}

static int try_master(const struct masters *masters, const char *ssh, char *const *env,
                      const char *path, struct err *err)
{
    if (start_master(masters, ssh, env, path, err) == 0) {
        char name[HASH_CHARS + 16];
        (void)snprintf(name, sizeof name, "%s.failed", masters->hash);
        (void)unlinkat(masters->dir, name, 0);
        return 0;
    }
    const char *why = strstr(err->text, "': ");
    record_failure(masters, why != NULL ? why + 3 : err->text);
    return -1;
}

static int lock_masters(const struct masters *masters, int *ret, struct err *err)
{
    char name[HASH_CHARS + 16];

    (void)snprintf(name, sizeof name, "%s.lock", masters->hash);
    return file_lock(masters->dir, name, WAIT_MS, "connect", ret, err) == -1
               ? err_wrap(err, "cannot reach host '%s'", masters->remote->name)
               : 0;
}

/* Gives up what belongs to the command: its terminal, what reads its output, its slot. */
static void keep_only(int a, int b)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    unsigned low = (unsigned)(a < b ? a : b);
    unsigned high = (unsigned)(a < b ? b : a);

    (void)setsid();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)dup2(null, fd);
    if (low > STDERR_FILENO + 1)
        proc_close_range(STDERR_FILENO + 1U, low - 1);
    if (high > low + 1)
        proc_close_range(low + 1, high - 1);
    proc_close_from(high + 1);
}

/* Like try_master(), in a process that goes on if this one ends. It has the lock until then. */
static int try_master_apart(const struct masters *masters, const char *ssh, char *const *env,
                            const char *name, const char *path, int *lock, struct err *err)
{
    int64_t since = time_monotonic_ms();
    pid_t pid = proc_fork();

    if (pid == -1)
        return err_errno(err, "cannot start a process");
    if (pid == 0) {
        keep_only(masters->dir, *lock);
        _exit(try_master(masters, ssh, env, path, err) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    fd_closep(lock);
    if (lock_masters(masters, lock, err) == -1)
        return -1;
    if (listens(masters, name))
        return 0;
    return check_failure(masters, since, err) == -1
               ? -1
               : reach_fail(masters->remote, "what was to connect has ended", err);
}

/* Makes sure that a master listens at `name`. */
static int need_master(const struct masters *masters, const char *ssh, char *const *env,
                       bool goes_on, const char *name, const char *path, struct err *err)
{
    int64_t since = time_monotonic_ms();
    _cleanup_close_ int lock = -1;

    if (listens(masters, name))
        return 0;
    if (lock_masters(masters, &lock, err) == -1)
        return -1;
    if (listens(masters, name))
        return 0;
    if (check_failure(masters, since, err) == -1)
        return -1;
    (void)unlinkat(masters->dir, name, 0); /* of a master that was killed */
    return goes_on ? try_master_apart(masters, ssh, env, name, path, &lock, err)
                   : try_master(masters, ssh, env, path, err);
}

char *reach_connecting(const struct remote *remote)
{
    static const char text[] = "still connecting, ask again";
    struct masters masters;
    struct err ignored = ERR_INIT;
    char name[HASH_CHARS + 16];

    if (remote->via != REMOTE_SSH || open_masters(remote, &masters, &ignored) == -1)
        return NULL;
    (void)snprintf(name, sizeof name, "%s.lock", masters.hash);
    bool connecting = file_is_locked(masters.dir, name);
    _cleanup_free_ char *why = failure_since(&masters, time_monotonic_ms() - FAILED_MS);
    close_masters(&masters);
    if (!connecting)
        return NULL;
    return why != NULL ? mem_printf("%s; the last login failed: %s", text, why) : mem_dup(text);
}

int reach_take_slot(const char *ssh, char *const *env, const struct remote *remote, bool goes_on,
                    char **ret_path, int *ret_slot, struct err *err)
{
    struct masters masters;
    _cleanup_close_ int slot = -1;
    char name[HASH_CHARS + 16];
    int master = 0;

    if (open_masters(remote, &masters, err) == -1)
        return -1;
    int rc = take_slot(&masters, &master, &slot, err);
    (void)snprintf(name, sizeof name, "%s.%d", masters.hash, master);
    _cleanup_free_ char *path = mem_printf("%s/%s", masters.path, name);
    if (rc == 0)
        rc = need_master(&masters, ssh, env, goes_on, name, path, err);
    close_masters(&masters);
    if (rc == -1)
        return -1;
    *ret_path = TAKE_PTR(path);
    *ret_slot = TAKE_FD(slot);
    return 0;
}
