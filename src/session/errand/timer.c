/*
 * What should be there is made as text and compared with what is there, so that nothing is written
 * twice. systemd comes first, the crontab only if that does not serve the user. Units and lines are
 * found by a sum of the root's path; the paths themselves are quoted for systemd, for a shell and
 * for cron, to which a % is a line break, and one that cannot be quoted is refused.
 */

#include "session/errand/timer.h"

#include "base/env.h"
#include "base/sha.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "store/every.h"
#include "store/user_state.h"
#include "store/workspace.h"
#include "wall/scope.h"

enum {
    RUN_MS = 20000,
    OUTPUT_MAX = 1 << 20, /* bytes of a crontab */
    LOCK_MS = 60000,
    SUM = 12, /* digits of the sum of a path */
};

const char *timer_name(enum timer timer)
{
    static const char *const names[] = {"none", "systemd", "crontab"};
    return names[timer];
}

bool timer_lingers(void)
{
    return scope_user_lingers();
}

/* ---- names */

/* Returns the name of the timer, which the caller frees. */
static char *name_of(const struct root *root)
{
    char sum[SHA256_TEXT];

    sha256_of(root->path, strlen(root->path), sum);
    return mem_printf("mas-tick-%.*s", SUM, sum);
}

static int check_path(const char *path, const char *what, struct err *err)
{
    size_t len = strlen(path);

    if (strpbrk(path, "'\"\\\n") == NULL && path[len - 1] != ' ')
        return 0;
    (void)err_set(err, MAS_FAILED, "cannot make a timer: the path of %s has a quote or a backslash",
                  what);
    return err_hint(err, "move it to another place");
}

int timer_check(const struct root *root, const char *exe, struct err *err)
{
    return check_path(root->path, "the root", err) == -1 ? -1 : check_path(exe, "mas", err);
}

/* Appends a path with each of `special` doubled, or behind a backslash. */
static void add_path(struct str *to, const char *path, const char *special, bool doubled)
{
    for (; *path != '\0'; path++) {
        if (strchr(special, *path) != NULL)
            str_addc(to, doubled ? *path : '\\');
        str_addc(to, *path);
    }
}

/* ---- programs */

/* Runs a program that PATH has; `input` NULL: none. Returns false if it is missing or fails. */
static bool run(const char *const *words, const char *input, struct proc_result *result)
{
    _cleanup_free_ char *file = path_find_program(words[0], getenv("PATH"), AT_FDCWD);
    _cleanup_strv_ char **argv = NULL;
    _cleanup_strv_ char **env = NULL;
    struct err ignored = ERR_INIT;

    if (file == NULL)
        return false;
    for (const char *const *word = words; *word != NULL; word++)
        strv_push(&argv, *word);
    for (char **e = environ; *e != NULL; e++)
        strv_push(&env, *e);
    env_put(&env, "LC_ALL", "C");
    const struct proc_spec spec = {.file = file,
                                   .argv = argv,
                                   .envp = env,
                                   .cwd = -1,
                                   .input = input,
                                   .input_len = input != NULL ? strlen(input) : 0,
                                   .output_max = OUTPUT_MAX,
                                   .timeout_ms = RUN_MS};
    return proc_capture(&spec, result, &ignored) == 0 && result->status == 0;
}

static bool systemctl(const char *verb, const char *option, const char *unit)
{
    const char *const words[] = {"systemctl",
                                 "--user",
                                 "--quiet",
                                 verb,
                                 option != NULL ? option : unit,
                                 option != NULL ? unit : NULL,
                                 NULL};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    return run(words, NULL, &result);
}

/* ---- systemd */

static void put_units(const struct root *root, const char *exe, struct str *service,
                      struct str *timer)
{
    str_add(service, "[Unit]\nDescription=mas: prompts at set times\nConditionPathExists=");
    add_path(service, root->path, "%", true);
    str_add(service, "/" ROOT_SETTINGS "\n\n[Service]\nType=oneshot\n"
                     "# a team that is started goes on\nKillMode=process\nExecStart=\"");
    add_path(service, exe, "%", true); /* in a program's path a $ is itself */
    str_add(service, "\" --root \"");
    add_path(service, root->path, "%$", true);
    str_add(service, "\" tick\n");
    str_add(timer, "[Unit]\nDescription=mas: prompts at set times\n\n[Timer]\n"
                   "OnCalendar=minutely\nAccuracySec=10s\n\n[Install]\n"
                   "WantedBy=timers.target\n");
}

/* Opens the directory of the user's units; with `make`, creates it. Returns -1 if it is missing. */
static int open_units(bool make, struct err *err)
{
    _cleanup_free_ char *config = path_user_dir("XDG_CONFIG_HOME", ".config");
    if (config == NULL)
        return err_set(err, MAS_FAILED, "HOME is not set");
    _cleanup_free_ char *path = mem_printf("%s/systemd/user", config);
    if (make && path_make_dirs(path, err) == -1)
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd != -1 ? fd : err_errno(err, "cannot open '%s'", path);
}

/* Looks for the timer in systemd, and with `make` makes it; else `err` may be NULL. */
static bool has_units(const struct root *root, const char *exe, bool make, struct err *err)
{
    _cleanup_free_ char *name = name_of(root);
    _cleanup_free_ char *service = mem_printf("%s.service", name);
    _cleanup_free_ char *timer = mem_printf("%s.timer", name);
    _cleanup_str_ struct str service_text = STR_INIT;
    _cleanup_str_ struct str timer_text = STR_INIT;
    struct err ignored = ERR_INIT;

    _cleanup_close_ int dir = open_units(make, make ? err : &ignored);
    if (dir == -1)
        return false;
    put_units(root, exe, &service_text, &timer_text);
    bool has = file_is(dir, service, service_text.data, service_text.len) &&
               file_is(dir, timer, timer_text.data, timer_text.len) &&
               systemctl("is-active", NULL, timer);
    if (!has && make)
        has = file_replace(dir, service, service_text.data, service_text.len, 0644, err) == 0 &&
              file_replace(dir, timer, timer_text.data, timer_text.len, 0644, err) == 0 &&
              systemctl("daemon-reload", NULL, NULL) && systemctl("enable", "--now", timer);
    return has;
}

static void drop_units(const struct root *root)
{
    _cleanup_free_ char *name = name_of(root);
    _cleanup_free_ char *service = mem_printf("%s.service", name);
    _cleanup_free_ char *timer = mem_printf("%s.timer", name);
    struct err ignored = ERR_INIT;
    _cleanup_close_ int dir = open_units(false, &ignored);

    if (dir == -1 ||
        (faccessat(dir, timer, F_OK, 0) == -1 && faccessat(dir, service, F_OK, 0) == -1))
        return;
    (void)systemctl("disable", "--now", timer);
    (void)unlinkat(dir, timer, 0);
    (void)unlinkat(dir, service, 0);
    (void)systemctl("daemon-reload", NULL, NULL);
}

/* ---- the crontab */

static char *line_of(const struct root *root, const char *exe)
{
    _cleanup_str_ struct str line = STR_INIT;
    _cleanup_free_ char *name = name_of(root);

    str_add(&line, "* * * * * test -f '");
    add_path(&line, root->path, "%", false);
    str_add(&line, "/" ROOT_SETTINGS "' && exec '");
    add_path(&line, exe, "%", false);
    str_add(&line, "' --root '");
    add_path(&line, root->path, "%", false);
    str_addf(&line, "' tick # %s", name);
    return mem_dup(str_text(&line));
}

/* Reads the crontab. Returns false if that is not known; a user may have none. */
static bool read_crontab(struct str *to)
{
    static const char *const words[] = {"crontab", "-l", NULL};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (run(words, NULL, &result))
        str_addn(to, str_text(&result.out), result.out.len);
    else if (result.status != 1 || strstr(str_text(&result.err), "no crontab for ") == NULL)
        return false;
    return strlen(str_text(to)) == to->len;
}

/* Copies a crontab without the line of this root, whoever wrote it; *ret_has: it has `line`. */
static void copy_without(const char *text, const char *name, const char *line, struct str *to,
                         bool *ret_has, bool *ret_any)
{
    *ret_has = *ret_any = false;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        _cleanup_free_ char *one = mem_dupn(text, len);
        bool ours = str_ends(one, name);
        *ret_any = *ret_any || ours;
        *ret_has = *ret_has || strcmp(one, line) == 0;
        if (!ours)
            str_addf(to, "%s\n", one);
        text += len + (text[len] == '\n');
    }
}

/* Looks for the line. `want` 1: makes it; -1: removes it. Returns whether it is there. */
static bool has_line(const struct root *root, const char *exe, int want)
{
    static const char *const words[] = {"crontab", "-", NULL};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str rest = STR_INIT;
    _cleanup_free_ char *line = line_of(root, exe);
    _cleanup_free_ char *name = name_of(root);
    _cleanup_free_ char *mark = mem_printf(" # %s", name);
    bool has = false, any = false;

    if (!read_crontab(&text))
        return false;
    copy_without(str_text(&text), mark, line, &rest, &has, &any);
    if (want == 0 || (want > 0 && has) || (want < 0 && !any))
        return has;
    if (want > 0)
        str_addf(&rest, "%s\n", line);
    return run(words, str_text(&rest), &result) && want > 0;
}

/* ---- either */

enum timer timer_look(const struct root *root, const char *exe)
{
    return has_units(root, exe, false, NULL) ? TIMER_SYSTEMD
           : has_line(root, exe, 0)          ? TIMER_CRONTAB
                                             : TIMER_NONE;
}

static int make(const struct root *root, const char *exe, enum timer *ret, struct err *err)
{
    struct err why = ERR_INIT;

    if (timer_check(root, exe, err) == -1)
        return -1;
    if (systemctl("show-environment", NULL, NULL) && has_units(root, exe, true, &why)) {
        (void)has_line(root, exe, -1); /* of a time when there was no systemd */
        *ret = TIMER_SYSTEMD;
        return 0;
    }
    drop_units(root);
    if (has_line(root, exe, 1)) {
        *ret = TIMER_CRONTAB;
        return 0;
    }
    (void)err_set(err, MAS_FAILED,
                  "cannot make a timer: the user has no systemd%s%s, and crontab "
                  "does not work",
                  why.code != MAS_OK ? ": " : "", why.text);
    return err_hint(err, "install cron, or enable the user's systemd");
}

int timer_is_needed(const struct root *root, bool *ret, struct err *err)
{
    _cleanup_strv_ char **ids = NULL;

    if (every_sessions(root, &ids, err) == -1)
        return -1;
    *ret = false;
    for (char **id = ids; id != NULL && *id != NULL && !*ret; id++) {
        _cleanup_close_ int dir = workspace_open(root, *id);
        _cleanup_every_ struct every every = EVERY_INIT;
        struct err why = ERR_INIT;
        *ret = dir != -1 && every_read(dir, &every, &why) == -1;
        for (size_t i = 0; i < every.count; i++)
            *ret = *ret || every_needs_tick(&every.at[i]);
    }
    return 0;
}

int timer_settle(const struct root *root, const char *exe, enum timer *ret, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_close_ int state = -1;
    _cleanup_close_ int lock = -1;
    bool needed = false;

    if (root_check(root, err) == -1 || (state = user_state_open(true, &path, err)) == -1)
        return -1;
    if (file_lock(state, "timers.lock", LOCK_MS, "timer", &lock, err) == -1)
        return err_wrap(err, "cannot make a timer");
    if (timer_is_needed(root, &needed, err) == -1)
        return -1;
    *ret = TIMER_NONE;
    if (!needed) {
        drop_units(root);
        (void)has_line(root, exe, -1);
        return 0;
    }
    *ret = timer_look(root, exe);
    return *ret != TIMER_NONE ? 0 : make(root, exe, ret, err);
}
