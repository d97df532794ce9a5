/*
 * Looks at the box of a fault test, where test/fault/lib.bash has made one, and prints what is
 * there. One process sees all of it: starting dozens of small ones for each fault costs more than
 * the fault. What has to be so is said in lib.bash; here nothing is judged.
 *
 *   look WHAT...      one after the other:
 *
 *   quiet             waits until nothing works any more. If that takes longer than 15 s it says on
 *                     standard error what still works, and the exit code is 1
 *   entries           of sessions/: "entry PATH TYPE MODE SIZE TIME TARGET"; TYPE is d, f, l or -,
 *                     only a link has a TARGET; and of .session, .snapshot and the index each line:
 *                     "text PATH LINE"
 *   panes             of tmux: "pane SESSION PID DEAD NAME"
 *   processes         "process SESSION": it has some, by their environment
 *   agents            "agents SESSION COUNT": that run, as their hosts say
 *   state             all that a command could have changed, for a comparison
 *   tree NAME...      files and directories with times and contents, likewise; takes all words
 *                     that follow
 *
 * The box is what the environment says: HOME, MAS_ROOT, MAS_TMUX_SOCKET, and TMUX_TMPDIR for the
 * servers of single sessions.
 */
#include "os/path.h"
#include "os/proc.h"

#include <dirent.h>
#include <fnmatch.h>
#include <fts.h>
#include <glob.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

enum {
    QUIET_MS = 15000,
    QUIET_STEP_MS = 20,
    HOST_MS = 5000, /* that a host may take to answer */
    TMUX_MS = 20000,
    OUTPUT_MAX = 1 << 20,
    ANSWER_MAX = 65536,
};

static const char *from_env(const char *name)
{
    const char *value = getenv(name);

    if (value == NULL) {
        (void)fprintf(stderr, "look: %s is not set\n", name);
        exit(2);
    }
    return value;
}

static char *sessions_path(void)
{
    return mem_printf("%s/sessions", from_env("MAS_ROOT"));
}

/* All of a file, NUL-terminated, the caller's; empty where it cannot be read. */
static char *read_all(const char *path, size_t *ret_len)
{
    struct str text = STR_INIT;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char part[16384];
    ssize_t n;

    while (fd != -1 && (n = read(fd, part, sizeof part)) > 0)
        str_addn(&text, part, (size_t)n);
    if (fd != -1)
        (void)close(fd);
    *ret_len = text.len;
    return str_steal(&text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_sorted(char **lines)
{
    size_t count = strv_len(lines);

    if (count > 0)
        qsort(lines, count, sizeof *lines, by_text);
    for (size_t i = 0; i < count; i++)
        (void)puts(lines[i]);
}

static char **lines_of(char *text)
{
    char **lines = NULL, *rest = text, *line;

    while ((line = strsep(&rest, "\n")) != NULL)
        if (line[0] != '\0')
            strv_push(&lines, line);
    return lines;
}

/* ---- files */

enum shown {
    SHOWN_TIME = 1,
    SHOWN_CONTENT = 2,
    SHOWN_SIZE = 4,
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static char type_of(mode_t mode)
{
    return S_ISDIR(mode) ? 'd' : S_ISREG(mode) ? 'f' : S_ISLNK(mode) ? 'l' : '-';
}

static void print_entry(const char *path, const FTSENT *entry, unsigned shown)
{
    const struct stat *st = entry->fts_statp;
    char target[4096];

    printf("entry %s %c %o", path, type_of(st->st_mode), (unsigned)(st->st_mode & 07777));
    if (shown & SHOWN_SIZE)
        printf(" %lld", (long long)st->st_size);
    if (shown & SHOWN_TIME)
        printf(" %lld.%09ld", (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
    ssize_t len = S_ISLNK(st->st_mode) ? readlink(entry->fts_accpath, target, sizeof target) : -1;
    printf(len >= 0 ? " %.*s\n" : "\n", (int)len, target);
}

static void print_lines(const char *path, const char *file)
{
    size_t len;
    _cleanup_free_ char *text = read_all(file, &len);
    _cleanup_strv_ char **lines = lines_of(text);

    for (size_t i = 0; lines != NULL && lines[i] != NULL; i++)
        printf("text %s %s\n", path, lines[i]);
}

static void print_content(const char *file)
{
    size_t len;
    _cleanup_free_ char *text = read_all(file, &len);

    (void)fwrite(text, 1, len, stdout);
    (void)putchar('\n');
}

/* What a walk does at an entry; false leaves out what is below it. `path` is relative to the top,
 * and "." for that. */
typedef bool visit(const char *path, const FTSENT *entry);

static void walk(const char *top, visit *at)
{
    char *tops[] = {(char *)top, NULL};
    FTS *fts = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    size_t skip = strlen(top) + 1;
    FTSENT *entry;

    while (fts != NULL && (entry = fts_read(fts)) != NULL) {
        if (entry->fts_info == FTS_DP || entry->fts_info == FTS_NS)
            continue;
        if (!at(entry->fts_level == 0 ? "." : entry->fts_path + skip, entry))
            (void)fts_set(fts, entry, FTS_SKIP);
    }
    if (fts != NULL)
        (void)fts_close(fts);
}

/* The files of sessions/ that the promises look into */
static bool is_read(const char *name)
{
    return strcmp(name, ".session") == 0 || strcmp(name, ".snapshot") == 0 ||
           strcmp(name, ".sessions.index") == 0;
}

static bool fact_of_entry(const char *path, const FTSENT *entry)
{
    if (entry->fts_level == 0)
        return true;
    print_entry(path, entry, SHOWN_SIZE | SHOWN_TIME);
    if (entry->fts_info == FTS_F && is_read(entry->fts_name))
        print_lines(path, entry->fts_path);
    return true;
}

static bool entry_of_tree(const char *path, const FTSENT *entry)
{
    bool file = entry->fts_info == FTS_F;

    print_entry(path, entry, file ? SHOWN_SIZE | SHOWN_TIME : SHOWN_TIME);
    if (file)
        print_content(entry->fts_path);
    return true;
}

/* Lock files, whose text is only told, and what agents print, are left out. */
static bool state_of_session(const char *path, const FTSENT *entry)
{
    if (entry->fts_level == 0)
        return true;
    if (fnmatch("*.lock", entry->fts_name, 0) == 0 || fnmatch("*/logs/agent-*", path, 0) == 0 ||
        fnmatch("*/run/reserve*", path, 0) == 0)
        return true;
    print_entry(path, entry, 0);
    if (entry->fts_info == FTS_F && strcmp(entry->fts_name, ".sessions.index") != 0)
        print_content(entry->fts_path);
    return true;
}

static bool state_of_root(const char *path, const FTSENT *entry)
{
    bool apart = strcmp(path, "sessions") == 0 || strcmp(path, "templates") == 0;

    if (!apart)
        print_entry(path, entry, SHOWN_SIZE);
    return !apart;
}

static bool state_of_template(const char *path, const FTSENT *entry)
{
    print_entry(path, entry, SHOWN_SIZE);
    return true;
}

/* The rows of the index without their order, its time, and the times of the files that they were
 * made of. */
static void print_index(const char *sessions)
{
    static const char metadata[] = ",\"metadata\":\"";
    size_t len;
    _cleanup_free_ char *path = mem_printf("%s/.sessions.index", sessions);
    _cleanup_free_ char *text = read_all(path, &len);
    _cleanup_strv_ char **lines = lines_of(text);

    for (size_t i = 0; lines != NULL && lines[i] != NULL; i++) {
        char *line = lines[i], *found = strstr(line, metadata);
        if (strcmp(line, "],") == 0 || str_starts(line, "\"lastUpdated\":"))
            line[0] = '\0';
        if (found != NULL) {
            const char *end = strchr(found + sizeof metadata - 1, '"');
            if (end != NULL)
                memmove(found, end + 1, strlen(end + 1) + 1);
        }
        len = strlen(line);
        if (len > 0 && line[len - 1] == ',')
            line[len - 1] = '\0';
    }
    print_sorted(lines);
}

/* ---- tmux */

static void list_panes(const char *socket, char ***lines)
{
    static const char format[] = "pane #{@mas_id} #{pane_pid} #{pane_dead} #{session_name}";
    const char *argv[] = {"tmux", "-u", "-S", socket, "list-panes", "-a", "-F", format, NULL};
    _cleanup_free_ char *file = path_find_program("tmux", from_env("PATH"), AT_FDCWD);
    const struct proc_spec spec = {.file = file != NULL ? file : "tmux",
                                   .argv = (char *const *)argv,
                                   .cwd = -1,
                                   .output_max = OUTPUT_MAX,
                                   .timeout_ms = TMUX_MS};
    struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;
    struct proc proc;
    struct stat st;

    if (stat(socket, &st) == -1 || !S_ISSOCK(st.st_mode))
        return;
    if (proc_start(&spec, &proc, &err) == 0 && proc_finish(&proc, &result, &err) == 0 &&
        result.status == 0) {
        _cleanup_strv_ char **found = lines_of(result.out.data);
        for (size_t i = 0; found != NULL && found[i] != NULL; i++)
            strv_push(lines, found[i]);
    }
    proc_result_free(&result);
}

static void print_panes(void)
{
    _cleanup_free_ char *pattern = mem_printf("%s/tmux-*/*", from_env("TMUX_TMPDIR"));
    _cleanup_strv_ char **lines = NULL;
    glob_t found = {.gl_pathc = 0};

    list_panes(from_env("MAS_TMUX_SOCKET"), &lines);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            list_panes(found.gl_pathv[i], &lines);
    globfree(&found);
    print_sorted(lines);
}

/* ---- hosts */

/* What the host of an agent says of itself; NULL where none answers. `run` is where its socket is:
 * the whole path may be too long for one. */
static char *ask_host(const char *run, const char *agent)
{
    static const char request[] = "{\"do\":\"status\"}\n";
    const struct timeval most = {.tv_sec = HOST_MS / 1000};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_close_ int dir = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char answer[ANSWER_MAX];
    size_t len = 0;

    (void)snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s.sock", dir,
                   agent);
    if (dir == -1 || fd == -1 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == -1 ||
        connect(fd, (const struct sockaddr *)&address, sizeof address) == -1 ||
        send(fd, request, sizeof request - 1, MSG_NOSIGNAL) != (ssize_t)sizeof request - 1)
        return NULL;
    while (len < sizeof answer && memchr(answer, '\n', len) == NULL) {
        ssize_t n = recv(fd, answer + len, sizeof answer - len, 0);
        if (n <= 0)
            return NULL;
        len += (size_t)n;
    }
    return mem_dupn(answer, len);
}

static bool agent_runs(const char *run, const char *agent)
{
    _cleanup_free_ char *answer = ask_host(run, agent);
    const char *pid = answer != NULL ? strstr(answer, "\"pid\":") : NULL;

    return pid != NULL && isdigit((unsigned char)pid[6]);
}

static void print_agents(void)
{
    _cleanup_free_ char *sessions = sessions_path();
    _cleanup_free_ char *pattern = mem_printf("%s/*-*/run", sessions);
    glob_t found = {.gl_pathc = 0};

    if (glob(pattern, 0, NULL, &found) != 0)
        found.gl_pathc = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *run = found.gl_pathv[i], *id = run + strlen(sessions) + 1;
        DIR *dir = opendir(run);
        struct dirent *entry;
        int count = 0;
        while (dir != NULL && (entry = readdir(dir)) != NULL) {
            char *suffix = strrchr(entry->d_name, '.');
            if (suffix == NULL || strcmp(suffix, ".sock") != 0)
                continue;
            *suffix = '\0';
            count += agent_runs(run, entry->d_name);
        }
        if (dir != NULL)
            (void)closedir(dir);
        printf("agents %.*s %d\n", (int)strcspn(id, "/"), id, count);
    }
    globfree(&found);
}

/* ---- processes */

struct process {
    long pid, parent, terminal;
    char state;
    char name[32];
};

static bool read_process(const char *pid, struct process *ret)
{
    size_t len;
    _cleanup_free_ char *path = mem_printf("/proc/%s/stat", pid);
    _cleanup_free_ char *text = read_all(path, &len);
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    long group, session;

    if (open == NULL || close == NULL)
        return false;
    ret->pid = strtol(pid, NULL, 10);
    (void)snprintf(ret->name, sizeof ret->name, "%.*s", (int)(close - open - 1), open + 1);
    return sscanf(close + 1, " %c %ld %ld %ld %ld", &ret->state, &ret->parent, &group, &session,
                  &ret->terminal) == 5;
}

/* Those that live; the caller frees them. */
static struct process *list_processes(size_t *ret_count)
{
    struct process *list = NULL;
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    size_t count = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        list = mem_room(list, count, sizeof *list);
        if (read_process(entry->d_name, &list[count]) && strchr("ZX", list[count].state) == NULL)
            count++;
    }
    if (dir != NULL)
        (void)closedir(dir);
    *ret_count = count;
    return list;
}

/* Calls `at` for each string of a process's file of NUL-terminated ones, until it returns true. */
static bool any_string(long pid, const char *file, bool (*at)(const char *text, void *arg),
                       void *arg)
{
    size_t len;
    _cleanup_free_ char *path = mem_printf("/proc/%ld/%s", pid, file);
    _cleanup_free_ char *text = read_all(path, &len);

    for (const char *p = text; p < text + len; p += strlen(p) + 1)
        if (at(p, arg))
            return true;
    return false;
}

static bool is_text(const char *text, void *arg)
{
    return strcmp(text, arg) == 0;
}

static bool take_session(const char *text, void *arg)
{
    char ***ids = arg;
    _cleanup_free_ char *begin = mem_printf("MAS_SESSION_DIR=%s/sessions/", from_env("MAS_ROOT"));

    if (!str_starts(text, begin))
        return false;
    const char *id = strrchr(text, '/') + 1;
    for (size_t i = 0; *ids != NULL && (*ids)[i] != NULL; i++)
        if (strcmp((*ids)[i] + strlen("process "), id) == 0)
            return true;
    _cleanup_free_ char *line = mem_printf("process %s", id);
    strv_push(ids, line);
    return true;
}

/* The sessions that have processes, by what these have in their environment. */
static void print_processes(void)
{
    _cleanup_strv_ char **ids = NULL;
    size_t count;
    _cleanup_free_ struct process *list = list_processes(&count);

    for (size_t i = 0; i < count; i++)
        (void)any_string(list[i].pid, "environ", take_session, &ids);
    print_sorted(ids);
}

/* ---- quiet */

static const struct process *parent_of(const struct process *list, size_t count,
                                       const struct process *child)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == child->parent)
            return &list[i];
    return NULL;
}

/* The child whose name begins so; "": any. */
static const struct process *child_of(const struct process *list, size_t count,
                                      const struct process *parent, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].parent == parent->pid && str_starts(list[i].name, name))
            return &list[i];
    return NULL;
}

struct words {
    char *word[4];
    size_t count;
};

static bool take_word(const char *text, void *arg)
{
    struct words *words = arg;

    words->word[words->count++] = mem_dup(text);
    return words->count == 4;
}

/* A host whose agent has ended. */
static bool is_host_at_rest(const struct process *host)
{
    struct words words = {.count = 0};
    bool rests = false;

    (void)any_string(host->pid, "cmdline", take_word, &words);
    if (words.count == 4 && strcmp(words.word[1], "host") == 0) {
        _cleanup_free_ char *sessions = sessions_path();
        _cleanup_free_ char *run = mem_printf("%s/%s/run", sessions, words.word[2]);
        _cleanup_free_ char *answer = ask_host(run, words.word[3]);
        rests = answer != NULL && strstr(answer, "\"state\":\"exited\"") != NULL;
    }
    for (size_t i = 0; i < words.count; i++)
        free(words.word[i]);
    return rests;
}

/* A mas that is no host, or one without a supervisor whose agent has not ended; a supervisor
 * without an agent; any tmux but a server, and a server that has just forked. */
static bool works(const struct process *list, size_t count, const struct process *process)
{
    const char *name = process->name;

    if (strcmp(name, "tmux: server") == 0) {
        const struct process *parent = parent_of(list, count, process);
        return parent != NULL && strcmp(parent->name, name) == 0;
    }
    if (strcmp(name, "mas") == 0)
        return process->terminal == 0 ||
               (child_of(list, count, process, "mas-superv") == NULL && !is_host_at_rest(process));
    if (str_starts(name, "mas-superv"))
        return child_of(list, count, process, "") == NULL ||
               child_of(list, count, process, "mas") != NULL;
    return str_starts(name, "tmux") || strcmp(name, "mas-archive") == 0;
}

/* Who of this box still works; empty where nobody does. */
static bool who_works(char *ret, size_t room)
{
    _cleanup_free_ char *home = mem_printf("HOME=%s", from_env("HOME"));
    size_t count;
    _cleanup_free_ struct process *list = list_processes(&count);

    for (size_t i = 0; i < count; i++) {
        if (!works(list, count, &list[i]) || !any_string(list[i].pid, "environ", is_text, home))
            continue;
        const struct process *child = child_of(list, count, &list[i], "");
        (void)snprintf(ret, room, "%s, with %s below it", list[i].name,
                       child != NULL ? child->name : "nothing");
        return true;
    }
    return false;
}

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool wait_quiet(void)
{
    const struct timespec step = {.tv_nsec = QUIET_STEP_MS * 1000000L};
    int64_t end = now_ms() + QUIET_MS;
    char who[128];

    while (who_works(who, sizeof who)) {
        if (now_ms() >= end) {
            (void)fprintf(stderr, "a process is still busy 15 s later: %s\n", who);
            return false;
        }
        (void)nanosleep(&step, NULL); /* what is waited for needs the machine */
    }
    return true;
}

/* ---- what to look at */

static void print_entries(void)
{
    _cleanup_free_ char *sessions = sessions_path();

    walk(sessions, fact_of_entry);
}

static void print_state(void)
{
    _cleanup_free_ char *sessions = sessions_path();
    _cleanup_free_ char *templates = mem_printf("%s/templates", from_env("MAS_ROOT"));

    walk(sessions, state_of_session);
    print_index(sessions);
    walk(from_env("MAS_ROOT"), state_of_root);
    walk(templates, state_of_template);
    print_panes();
    print_processes();
}

static const struct {
    const char *name;
    void (*print)(void);
} looks[] = {
    {"entries", print_entries}, {"panes", print_panes}, {"processes", print_processes},
    {"agents", print_agents},   {"state", print_state},
};

/* The words of one look; returns how many of them it took, 0 where there is no such look. */
static int look(char **words, int count, bool *quiet)
{
    if (strcmp(words[0], "quiet") == 0) {
        *quiet = wait_quiet() && *quiet;
        return 1;
    }
    if (strcmp(words[0], "tree") == 0) {
        for (int i = 1; i < count; i++)
            walk(words[i], entry_of_tree);
        return count;
    }
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        if (strcmp(words[0], looks[i].name) == 0) {
            looks[i].print();
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    bool quiet = true;

    for (int i = 1, took; i < argc; i += took) {
        took = look(argv + i, argc - i, &quiet);
        if (took == 0) {
            (void)fprintf(stderr, "look: there is no '%s'\n", argv[i]);
            return 2;
        }
    }
    return quiet ? 0 : 1;
}
