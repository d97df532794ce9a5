/*
 * Each git but that of git_as_person() is bound to this process, and the kernel kills it when that
 * ends: one that lived on would write into what the next command believes to be its own. Its
 * environment is a new one, with the few variables of this process that make_env() names. The
 * settings in the table below come as GIT_CONFIG_KEY_n and GIT_CONFIG_VALUE_n, which win over every
 * file, those of the repository included.
 */

#include "git/git.h"

#include "git/confine.h"
#include "os/path.h"

enum {
    WORDS_MAX = 600, /* bytes of git's words in an error */
    NAMES_SHOWN = 20,
    ADD_TRIES = 3,
    VERSION_MAJOR = 2,
    VERSION_MINOR = 38, /* merge-tree --write-tree */
};

/* Settings that no repository can override. */
static const char *const safe_settings[] = {
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.sshCommand=false",
    "core.gitProxy=false",
    "core.askPass=false",
    "core.editor=false",
    "core.pager=cat",
    "core.quotePath=false",
    "core.autocrlf=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.precomposeUnicode=false",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "gpg.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "diff.ignoreSubmodules=dirty",
    "transfer.fsckObjects=true",
    "advice.detachedHead=false",
    "init.defaultBranch=main",
};

/* What git must not take from the environment or the files of this user and machine. */
static const char *const safe_env[] = {
    "LC_ALL=C.UTF-8",       "GIT_TERMINAL_PROMPT=0",
    "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
    "GIT_NO_LAZY_FETCH=1",  "GIT_PROTOCOL_FROM_USER=0",
    "GIT_ADVICE=0",         "GIT_ALLOC_LIMIT=2g",
    "GIT_PAGER=cat",        "GIT_EDITOR=false",
};

/* What git sets for the programs that it runs; with * at the end, all names that begin so. The
 * first four lines cover `git rev-parse --local-env-vars`. */
/* clang-format off */
static const char *const of_caller[] = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG*", "GIT_OBJECT_DIRECTORY", "GIT_DIR",
    "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_INTERNAL_*",
    "GIT_SHALLOW_FILE", "GIT_COMMON_DIR",
    "GIT_EXEC_PATH", "GIT_NAMESPACE", "GIT_QUARANTINE_PATH", "GIT_REFLOG_ACTION", "GIT_ATTR_SOURCE",
    "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
    "GIT_CHERRY_PICK_HELP", "GIT_PUSH_*",
};
/* These may also be a person's own: they go only if a git runs this process. */
static const char *const of_caller_at_work[] = {
    "GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
};
/* clang-format on */

static bool is_among(const char *const *names, size_t count, const char *entry)
{
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; i < count; i++) {
        size_t most = strcspn(names[i], "*");
        if (strncmp(entry, names[i], most) == 0 && (len == most || names[i][most] == '*'))
            return true;
    }
    return false;
}

void git_forget_caller(void)
{
    bool at_work = getenv("GIT_EXEC_PATH") != NULL; /* git sets it for all that it runs */
    char **to = environ;

    for (char **e = environ; *e != NULL; e++)
        if (!is_among(of_caller, ARRAY_LEN(of_caller), *e) &&
            !(at_work && is_among(of_caller_at_work, ARRAY_LEN(of_caller_at_work), *e)))
            *to++ = *e;
    *to = NULL;
}

static void add_pair(char ***env, const char *name, const char *value)
{
    _cleanup_free_ char *entry = mem_printf("%s=%s", name, value);
    strv_push(env, entry);
}

/* Adds one setting as the two variables that git reads it from. */
static void add_key(char ***env, size_t number, const char *key, const char *value)
{
    _cleanup_free_ char *first = mem_printf("GIT_CONFIG_KEY_%zu=%s", number, key);
    _cleanup_free_ char *second = mem_printf("GIT_CONFIG_VALUE_%zu=%s", number, value);

    strv_push(env, first);
    strv_push(env, second);
}

static void add_setting(char ***env, size_t number, const char *setting)
{
    const char *equals = strchr(setting, '=');
    _cleanup_free_ char *key = mem_dupn(setting, (size_t)(equals - setting));

    add_key(env, number, key, equals + 1);
}

/* Of several settings for an address, git takes that of the longest one. */
static void add_alias(char ***env, size_t *count, const struct git *git)
{
    static const char *const names[] = {"insteadOf", "pushInsteadOf"};

    for (size_t i = 0; git->reaches != NULL && i < ARRAY_LEN(names); i++) {
        _cleanup_free_ char *key = mem_printf("url.%s.%s", git->reaches, names[i]);
        add_key(env, (*count)++, key, git->alias);
    }
}

/* Appends a path to a list that colons separate, in double quotes because it may hold colons. */
static void add_quoted(struct str *to, const char *path)
{
    str_add(to, to->len > 0 ? ":\"" : "\"");
    for (; *path != '\0'; path++) {
        if (*path == '"' || *path == '\\')
            str_addc(to, '\\');
        str_addc(to, *path);
    }
    str_addc(to, '"');
}

static void add_objects(char ***env, const struct git *git)
{
    _cleanup_str_ struct str list = STR_INIT;

    if (git->write != NULL) {
        _cleanup_free_ char *own = mem_printf("%s/objects", git->dir);
        add_pair(env, "GIT_OBJECT_DIRECTORY", git->write);
        add_quoted(&list, own);
    }
    for (size_t i = 0; i < ARRAY_LEN(git->objects); i++)
        if (git->objects[i] != NULL)
            add_quoted(&list, git->objects[i]);
    for (char *const *lender = git->lenders; lender != NULL && *lender != NULL; lender++)
        add_quoted(&list, *lender);
    if (list.len > 0)
        add_pair(env, "GIT_ALTERNATE_OBJECT_DIRECTORIES", list.data);
}

/* Makes mas the filter of git-lfs, whatever the repository has configured: it reads the stores of
 * the repositories whose objects git reads. */
static void add_lfs(char ***env, size_t *count, const struct git *git)
{
    static const char required[] =
        "filter.lfs.required=true"; /* no raw file in place of a pointer */
    static const char begins[] = "filter.lfs.process=";
    static const char objects[] = "/objects";
    _cleanup_free_ char *exe = path_exe();
    _cleanup_str_ struct str setting = STR_INIT;

    str_add(&setting, begins);
    str_add_shell(&setting, exe != NULL ? exe : "false", true);
    str_add(&setting, " lfs-filter");
    if (git->dir != NULL) {
        str_addc(&setting, ' ');
        str_add_shell(&setting, git->common != NULL ? git->common : git->dir, true);
    }
    for (size_t i = 0; i < ARRAY_LEN(git->objects); i++) {
        const char *path = git->objects[i];
        if (path == NULL || !str_ends(path, objects))
            continue;
        _cleanup_free_ char *dir = mem_dupn(path, strlen(path) - strlen(objects));
        str_addc(&setting, ' ');
        str_add_shell(&setting, dir, true);
    }
    add_setting(env, (*count)++, setting.data);
    add_setting(env, (*count)++, required);
}

static void keep_env(char ***env, const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *value = getenv(*names);
        if (value != NULL)
            add_pair(env, *names, value);
    }
}

static char **make_env(const struct git *git)
{
    static const char *const kept[] = {"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "USER", NULL};
    static const char *const who[] = {"GIT_AUTHOR_NAME",
                                      "GIT_AUTHOR_EMAIL",
                                      "GIT_COMMITTER_NAME",
                                      "GIT_COMMITTER_EMAIL",
                                      "EMAIL",
                                      NULL};
    char **env = NULL;
    size_t count = 0;

    for (size_t i = 0; git->reaches != NULL && environ[i] != NULL; i++)
        if (!str_starts(environ[i], "GIT_"))
            strv_push(&env, environ[i]);
    if (git->reaches == NULL)
        keep_env(&env, kept);
    strv_push(&env, git->reaches != NULL ? "GIT_ALLOW_PROTOCOL=ext" : "GIT_ALLOW_PROTOCOL=none");
    if (git->person) {
        keep_env(&env, who);
    } else {
        strv_push(&env, "GIT_CONFIG_NOSYSTEM=1");
        strv_push(&env, "GIT_ATTR_NOSYSTEM=1");
    }
    for (size_t i = 0; i < ARRAY_LEN(safe_env); i++)
        strv_push(&env, safe_env[i]);
    strv_push(&env, git->magic ? "GIT_LITERAL_PATHSPECS=0" : "GIT_LITERAL_PATHSPECS=1");
    if (git->dir != NULL) {
        add_pair(&env, "GIT_DIR", git->dir);
        add_pair(&env, "GIT_COMMON_DIR", git->common != NULL ? git->common : git->dir);
        strv_push(&env, "GIT_CONFIG_GLOBAL=/dev/null");
    }
    if (git->tree != NULL)
        add_pair(&env, "GIT_WORK_TREE", git->tree);
    if (git->index != NULL)
        add_pair(&env, "GIT_INDEX_FILE", git->index);
    add_objects(&env, git);
    for (size_t i = 0; i < ARRAY_LEN(safe_settings); i++)
        add_setting(&env, count++, safe_settings[i]);
    add_lfs(&env, &count, git);
    for (size_t i = 0; git->settings != NULL && git->settings[i] != NULL; i++)
        add_setting(&env, count++, git->settings[i]);
    add_alias(&env, &count, git);
    _cleanup_free_ char *total = mem_printf("GIT_CONFIG_COUNT=%zu", count);
    strv_push(&env, total);
    return env;
}

static char *find_git(struct err *err)
{
    char *path = path_find_program("git", getenv("PATH"), -1);

    if (path != NULL)
        return path;
    (void)err_set(err, MAS_FAILED, "cannot run 'git': there is no such program in PATH");
    (void)err_hint(err, "install git 2.38 or newer, for example: apt-get install git");
    return NULL;
}

static bool is_below(const char *path, const char *dir)
{
    return dir != NULL && str_starts(path, dir) && path[strlen(dir)] == '/';
}

static void make_confine(const struct git *git, const char *program, struct confine *ret)
{
    confine_make(program, git->dir, git->cwd > 0 ? git->cwd : -1, ret);
    if (git->write != NULL && !is_below(git->write, git->dir))
        confine_allow(ret, ACCESS_WRITE, git->write);
    for (size_t i = 0; i < ARRAY_LEN(git->objects); i++)
        if (git->objects[i] != NULL && !is_below(git->objects[i], git->tree))
            confine_allow(ret, ACCESS_READ, git->objects[i]); /* else they are the agent's */
    for (size_t i = 0; git->lenders != NULL && git->lenders[i] != NULL; i++)
        confine_allow(ret, ACCESS_READ, git->lenders[i]);
    if (git->readable != NULL)
        confine_allow(ret, ACCESS_READ, git->readable);
}

int git_run(const struct git *git, const char *const *args, const struct git_input *input,
            struct proc_result *ret, struct err *err)
{
    _cleanup_free_ char *program = find_git(err);
    _cleanup_strv_ char **env = NULL;
    const char *argv[GIT_ARGS_MAX] = {"git"};
    size_t count = 1;

    if (program == NULL)
        return -1;
    for (; args[count - 1] != NULL && count < GIT_ARGS_MAX - 1; count++)
        argv[count] = args[count - 1];
    env = make_env(git);
    _cleanup_confine_ struct confine confine = CONFINE_INIT;
    if (git->confined)
        make_confine(git, program, &confine);
    _cleanup_close_ int top = git->cwd > 0 ? -1 : open("/", PATH_PLACE | O_CLOEXEC);
    struct proc_spec spec = {
        .file = program,
        .argv = (char *const *)(uintptr_t)argv,
        .envp = env,
        .cwd = git->cwd > 0 ? git->cwd : top,
        .input = input != NULL ? input->text : NULL,
        .input_len = input != NULL ? input->len : 0,
        .output_max = GIT_OUTPUT_MAX,
        .timeout_ms = git->reaches != NULL ? INT32_MAX : GIT_TIMEOUT_MS,
        .confine = git->confined ? &confine.rules : NULL,
        .bound = true, /* a git that outlives mas would write into what the next command removes */
    };
    if (proc_capture(&spec, ret, err) == 0)
        return 0;
    if (err->number == 0)
        err->number = EINTR;
    return -1;
}

static void put_words(const char *dir, const char *const *args, const char *argv[GIT_ARGS_MAX])
{
    const char *const first[] = {"git", "-C", dir};

    memset(argv, 0, GIT_ARGS_MAX * sizeof *argv);
    memcpy(argv, first, sizeof first);
    for (size_t i = 0; i < GIT_ARGS_MAX - 4 && args[i] != NULL; i++)
        argv[i + 3] = args[i];
}

int git_as_person(const char *dir, const char *const *args, int *ret_status, struct err *err)
{
    _cleanup_free_ char *program = find_git(err);
    const char *argv[GIT_ARGS_MAX];

    if (program == NULL)
        return -1;
    put_words(dir, args, argv);
    return proc_run(program, (char *const *)(uintptr_t)argv, ret_status, err);
}

int git_unseen(const char *dir, const char *const *args, int timeout_ms, struct err *err)
{
    _cleanup_free_ char *program = find_git(err);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    const char *argv[GIT_ARGS_MAX];

    if (program == NULL)
        return -1;
    put_words(dir, args, argv);
    const struct proc_spec spec = {.file = program,
                                   .argv = (char *const *)(uintptr_t)argv,
                                   .cwd = -1,
                                   .output_max = GIT_OUTPUT_MAX,
                                   .tail = true,
                                   .timeout_ms = timeout_ms,
                                   .bound = true,
                                   .whole = true};
    if (proc_capture(&spec, &result, err) == -1)
        return err_wrap(err, "git %s", args[0]);
    return result.status == 0 ? 0 : git_fail(&result, args[0], err);
}

/* Returns ENOSPC or EDQUOT if git says, in one of its ways, that the disk is full, else 0. */
static int find_number(const char *words)
{
    return strstr(words, strerror(EDQUOT)) != NULL ? EDQUOT
           : strstr(words, strerror(ENOSPC)) != NULL || strstr(words, "Out of diskspace") != NULL
               ? ENOSPC
               : 0;
}

int git_fail(const struct proc_result *result, const char *verb, struct err *err)
{
    static const char *const prefixes[] = {"fatal: ", "error: ", "warning: "};
    const char *words = str_text(&result->err);
    int number = find_number(words);
    size_t len = 0;

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (str_starts(words, prefixes[i]))
            words += strlen(prefixes[i]);
    len = strcspn(words, "\n");
    if (len > WORDS_MAX)
        len = str_fit(words, WORDS_MAX);
    if (len == 0)
        return err_set(err, MAS_FAILED, "git %s failed with exit code %d", verb, result->status);
    if (number == 0)
        return err_set(err, MAS_FAILED, "git %s: %.*s", verb, (int)len, words);
    errno = number;
    return err_errno(err, "git %s", verb);
}

int git_blame(struct err *err)
{
    if (err->number == 0)
        err->code = MAS_DAMAGED;
    return -1;
}

int git_must(const struct git *git, const char *const *args, const struct git_input *input,
             struct proc_result *ret, struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;
    int rc = git_run(git, args, input, &result, err);

    if (rc == 0 && result.status != 0)
        rc = git_fail(&result, args[0], err);
    if (rc == 0 && ret != NULL)
        *ret = result;
    else
        proc_result_free(&result);
    return rc;
}

int git_text(const struct git *git, const char *const *args, char **ret, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, args, NULL, &result, err) == -1)
        return -1;
    size_t len = result.out.len;
    *ret = mem_dupn(str_text(&result.out),
                    len > 0 && result.out.data[len - 1] == '\n' ? len - 1 : len);
    return 0;
}

int git_names(const struct git *git, const char *const *args, char ***ret, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, args, NULL, &result, err) == -1)
        return -1;
    const char *text = str_text(&result.out);
    for (const char *name = text; name < text + result.out.len; name += strlen(name) + 1)
        strv_push(ret, name);
    return 0;
}

void git_show_names(char *const *names, struct str *to)
{
    size_t count = 0;

    for (; names != NULL && names[count] != NULL; count++) {
        if (count >= NAMES_SHOWN)
            continue;
        str_add(to, count > 0 ? ", " : "");
        str_add_name(to, names[count]);
    }
    if (count > NAMES_SHOWN)
        str_addf(to, " and %zu more", count - NAMES_SHOWN);
}

/* Returns true for what git cannot hold: a FIFO, a socket or a device. */
static bool is_special(const struct git *git, const char *name)
{
    struct stat st;

    return fstatat(git->cwd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
           !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode);
}

/* A file that has gone since it was listed is removed from the index. */
static int update_index(const struct git *git, const char *how, const struct str *names,
                        struct err *err)
{
    return names->len == 0
               ? 0
               : git_must(git, GIT_ARGS("update-index", how, "--remove", "-z", "--stdin"),
                          &(struct git_input){names->data, names->len}, NULL, err);
}

/* Enters files into the index. One that became a FIFO, a socket or a device is gone. */
static int enter(const struct git *git, const struct str *names, struct err *err)
{
    _cleanup_str_ struct str there = STR_INIT;
    _cleanup_str_ struct str gone = STR_INIT;
    const char *end = str_text(names) + names->len;

    for (const char *name = str_text(names); name < end; name += strlen(name) + 1) {
        size_t len = strlen(name);
        struct str *to = is_special(git, name) ? &gone : &there;
        str_addn(to, name, name[len - 1] == '/' ? len - 1 : len); /* a repository */
        str_addc(to, '\0');
    }
    return update_index(git, "--add", &there, err) == -1
               ? -1
               : update_index(git, "--force-remove", &gone, err);
}

/* Sorts what `diff-files --name-status -z` prints, a letter and a name each. */
static void sort_changes(const struct str *changes, struct str *gone, struct str *there)
{
    const char *end = str_text(changes) + changes->len;

    for (const char *at = str_text(changes); at < end;) {
        const char *name = at + strlen(at) + 1;
        str_addn(*at == 'D' ? gone : there, name, strlen(name) + 1);
        at = name + strlen(name) + 1;
    }
}

static int add_all(const struct git *git, const struct str *others, struct err *err)
{
    _cleanup_result_ struct proc_result changes = PROC_RESULT_INIT;
    _cleanup_result_ struct proc_result listed = PROC_RESULT_INIT;
    _cleanup_str_ struct str gone = STR_INIT;
    _cleanup_str_ struct str there = STR_INIT;

    if (git_must(git, GIT_ARGS("diff-files", "-z", "--name-status", "--ignore-submodules=dirty"),
                 NULL, &changes, err) == -1 ||
        (others == NULL && git_list_others(git, &listed, err) == -1))
        return -1;
    if (others == NULL)
        others = &listed.out;
    sort_changes(&changes.out, &gone, &there);
    str_addn(&there, str_text(others), others->len);
    /* what is gone may be in the way of a directory */
    return update_index(git, "--force-remove", &gone, err) == -1 ? -1 : enter(git, &there, err);
}

int git_list_others(const struct git *git, struct proc_result *ret, struct err *err)
{
    return git_must(git, GIT_ARGS("ls-files", "-z", "--others", "--exclude-standard"), NULL, ret,
                    err);
}

int git_add_all(const struct git *git, const struct str *others, struct err *err)
{
    int rc = -1;

    for (int i = 0; rc == -1 && i < ADD_TRIES; i++) { /* a file may go while git reads it */
        *err = (struct err)ERR_INIT;
        rc = add_all(git, i == 0 ? others : NULL, err);
    }
    return rc;
}

bool git_version_is_old(const char *version)
{
    int major = 0;
    int minor = 0;

    return sscanf(version, "%d.%d", &major, &minor) != 2 || major < VERSION_MAJOR ||
           (major == VERSION_MAJOR && minor < VERSION_MINOR);
}

char *git_version(struct err *err)
{
    static const char before[] = "git version ";
    const struct git none = {.dir = "/"};
    _cleanup_free_ char *text = NULL;

    if (git_text(&none, GIT_ARGS("--version"), &text, err) == -1)
        return NULL;
    return mem_dup(str_starts(text, before) ? text + strlen(before) : text);
}

int git_check(struct err *err)
{
    static bool good; /* it is the same git as long as this process lives */
    _cleanup_free_ char *version = good ? NULL : git_version(err);

    good = good || (version != NULL && !git_version_is_old(version));
    if (good || version == NULL)
        return good ? 0 : -1;
    return err_set(err, MAS_FAILED, "cannot use 'git version %s': git %d.%d or newer is needed",
                   version, VERSION_MAJOR, VERSION_MINOR);
}

bool git_is_oid(const char *text)
{
    size_t len = strspn(text, "0123456789abcdef");

    return (len == 40 || len == GIT_OID_MAX) && text[len] == '\0';
}

bool git_parse_oid(const char *text, char ret[GIT_OID_TEXT])
{
    if (!git_is_oid(text))
        return false;
    memcpy(ret, text, strlen(text) + 1);
    return true;
}

bool git_is_branch(const char *text)
{
    size_t len = strlen(text);

    if (len == 0 || len > 200 || text[0] == '-' || text[0] == '/' || text[0] == '.' ||
        text[len - 1] == '/' || text[len - 1] == '.' || strstr(text, "..") != NULL ||
        strstr(text, "//") != NULL || strstr(text, "/.") != NULL || strstr(text, "@{") != NULL ||
        strstr(text, ".lock") != NULL)
        return false;
    for (const char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr("~^:?*[\\", *p) != NULL)
            return false;
    return strcmp(text, "HEAD") != 0 && strcmp(text, "@") != 0;
}

const char *git_progress(int dir)
{
    static const struct {
        const char *file, *what;
    } signs[] = {
        {"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"},
        {"MERGE_HEAD", "a merge"},    {"CHERRY_PICK_HEAD", "a cherry-pick"},
        {"REVERT_HEAD", "a revert"},  {"BISECT_LOG", "a bisect"},
    };
    struct stat st;

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (fstatat(dir, signs[i].file, &st, AT_SYMLINK_NOFOLLOW) == 0)
            return signs[i].what;
    return NULL;
}
