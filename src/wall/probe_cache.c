#include "wall/probe_internal.h"

#include "base/file.h"

#define FRESH WALL_PROBE_FILE ".new"

enum { FILE_MAX = 16 << 10, FACT_MAX = 8 << 10 };

/* Appends the text of a file of /proc; nothing if it is missing. */
static bool add_fact(struct str *to, const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    str_addc(to, ' ');
    if (fd == -1)
        return false;
    if (file_read_stream(fd, path, FACT_MAX, &text, &len, &ignored) == -1)
        return false;
    str_addn(to, text, strcspn(text, "\n"));
    return true;
}

static bool add_program(struct str *to, const char *path)
{
    struct stat st;

    if (stat(path, &st) == -1)
        return false;
    str_addf(to, " %s %ju:%ju:%jd:%o:%u:%jd.%09ld:%jd.%09ld", path, (uintmax_t)st.st_dev,
             (uintmax_t)st.st_ino, (intmax_t)st.st_size, (unsigned)st.st_mode, (unsigned)st.st_uid,
             (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec,
             st.st_ctim.tv_nsec);
    return true;
}

static void add_namespace(struct str *to, const char *name)
{
    char target[64];
    ssize_t len = readlink(name, target, sizeof target);

    str_addc(to, ' ');
    str_addn(to, target, len > 0 ? (size_t)len : 0);
}

/* What a process may do: its capabilities, no_new_privs and filters of system calls. */
static bool add_rights(struct str *to)
{
    static const char *const keys[] = {"Uid:", "Cap", "NoNewPrivs:", "Seccomp"};
    static const char path[] = "/proc/thread-self/status";
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;
    char *save = NULL;

    if (fd == -1 || file_read_stream(fd, path, FACT_MAX, &text, &len, &ignored) == -1)
        return false;
    for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
            if (str_starts(line, keys[i]))
                str_addf(to, " %s", line);
    return true;
}

/* Appends what decides whether bubblewrap works here, as a line. Returns false if that is not all
 * known: then nothing is cached. */
static bool add_key(struct str *to, const char *bwrap, const char *enter)
{
    static const char *const facts[] = {
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "/proc/sys/kernel/unprivileged_userns_clone",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sys/user/max_pid_namespaces",
        "/proc/sys/user/max_mnt_namespaces",
        "/proc/self/attr/current",
    };
    static const char *const namespaces[] = {"/proc/self/ns/user", "/proc/self/ns/pid",
                                             "/proc/self/ns/mnt"};

    str_add(to, "1");
    if (!add_fact(to, "/proc/sys/kernel/random/boot_id") || !add_rights(to) ||
        !add_program(to, bwrap) || !add_program(to, enter))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(facts); i++)
        (void)add_fact(to, facts[i]);
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++)
        add_namespace(to, namespaces[i]);
    bool one_line = memchr(to->data, '\n', to->len) == NULL;
    str_addc(to, '\n');
    return one_line;
}

bool probe_recall(struct wall_probe *probe, const char *enter)
{
    struct wall_probe told = WALL_PROBE_INIT;
    _cleanup_str_ struct str key = STR_INIT;
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (probe->cache == -1 ||
        file_read(probe->cache, WALL_PROBE_FILE, FILE_MAX, &text, &len, &ignored) == -1 ||
        !add_key(&key, probe->tried, enter) || !str_starts(text, str_text(&key)))
        return false;
    char *end = text + key.len + strcspn(text + key.len, "\n");
    if (strcmp(end, "\n") != 0)
        return false;
    *end = '\0';
    if (!wall_probe_parse(text + key.len, &told))
        return false;
    bool same = strcmp(told.bwrap, probe->tried) == 0;
    if (same) {
        probe->bwrap = TAKE_PTR(told.bwrap);
        probe->landlock = told.landlock;
        probe->seccomp = told.seccomp;
        probe->looked = true;
    }
    wall_probe_free(&told);
    return same;
}

void probe_keep(const struct wall_probe *probe, const char *enter)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (probe->cache == -1 || probe->bwrap == NULL || !add_key(&text, probe->bwrap, enter))
        return;
    size_t before = text.len;
    wall_probe_format(probe, &text);
    if (text.len == before)
        return;
    str_addc(&text, '\n');
    (void)unlinkat(probe->cache, FRESH, 0);
    _cleanup_close_ int fd =
        openat(probe->cache, FRESH, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd == -1 || file_write_all(fd, text.data, text.len) == -1 ||
        renameat(probe->cache, FRESH, probe->cache, WALL_PROBE_FILE) == -1)
        (void)unlinkat(probe->cache, FRESH, 0);
}
