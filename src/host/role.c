/*
 * An agent's program reads AGENTS.md or CLAUDE.md, or both, in the directory where it starts. An
 * agent of a team with a project has two directories with such files: its unit, which says what its
 * role is, and its work tree. The role text has what the program does not read by itself.
 *
 * An ACP agent gets the text in its first prompt. A program on a terminal gets it by the means that
 * its preset names: an option, a variable, a file in run/<agent>.role/. Nothing is written into the
 * directories of the agent.
 */

#include "code/repo.h"
#include "host/expand.h"
#include "host/state.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"
#include "session/env.h"
#include "store/placement.h"
#include "store/workspace.h"

enum {
    ROLE_FILE_MAX = 64 * 1024, /* bytes of such a file; the rest is left out */
    ROLE_WORD_MAX = 60 * 1024, /* bytes of the text in a word; as JSON it is at most twice as long,
                             and the kernel takes 128 KiB */
};

static const char *const instructions[] = {"AGENTS.md", "CLAUDE.md"};

static bool is_read(const struct preset *preset, const char *name)
{
    for (char **read = preset->reads; read != NULL && *read != NULL; read++)
        if (strcmp(*read, name) == 0)
            return true;
    return false;
}

/* Returns true if the program finds instructions in its directory by itself. It may follow links
 * there, unlike the host. */
static bool finds_itself(const struct preset *preset, int dir)
{
    struct stat st;

    for (size_t i = 0; i < ARRAY_LEN(instructions); i++)
        if (is_read(preset, instructions[i]) && fstatat(dir, instructions[i], &st, 0) == 0 &&
            S_ISREG(st.st_mode))
            return true;
    return false;
}

/* Appends lines as they may be shown on a terminal. */
static void add_lines(struct str *to, const char *text, size_t len)
{
    const char *end = text + len;

    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const char *last = stop != NULL ? stop : end;
        size_t n = (size_t)(last - text);

        n -= n > 0 && text[n - 1] == '\r';
        str_add_line(to, text, n);
        str_addc(to, '\n');
        text = stop != NULL ? stop + 1 : end;
    }
}

/* Appends a file, or nothing if it cannot be read. Returns true if it could. */
static bool add_file(int dir, const char *name, struct str *to)
{
    _cleanup_close_ int fd = path_open_beneath(dir, name, O_RDONLY | O_NONBLOCK);
    _cleanup_free_ char *text = NULL;
    struct stat st;
    ssize_t n = 0;
    size_t len = 0;

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return false;
    text = mem_alloc(ROLE_FILE_MAX + 1);
    while (len <= ROLE_FILE_MAX && (n = read(fd, text + len, ROLE_FILE_MAX + 1 - len)) > 0)
        len += (size_t)n;
    size_t kept = str_cut(text, len, ROLE_FILE_MAX);
    if (n == -1 || !str_is_utf8(text, kept) || memchr(text, '\0', kept) != NULL)
        return false;
    add_lines(to, text, kept);
    if (kept < len)
        str_addf(to, "(the file is longer than %d KiB; the rest is left out)\n",
                 ROLE_FILE_MAX / 1024);
    return true;
}

/* Appends AGENTS.md, otherwise CLAUDE.md. Returns the name of the file; NULL: there is neither. */
static const char *add_instructions(int dir, struct str *to)
{
    for (size_t i = 0; dir != -1 && i < ARRAY_LEN(instructions); i++)
        if (add_file(dir, instructions[i], to))
            return instructions[i];
    return NULL;
}

/* Appends a line that says whose file it is, and the file. */
static void add_part(int dir, const char *path, const char *what, struct str *to)
{
    _cleanup_str_ struct str text = STR_INIT;
    const char *name = add_instructions(dir, &text);

    if (name == NULL)
        return;
    str_addf(to, "%s[%s: %s/%s]\n", to->len > 0 ? "\n" : "", what, path, name);
    str_addn(to, str_text(&text), text.len);
}

/* Appends the file of the agent's unit, unless the program reads it. */
static void add_role(const struct host *host, bool starts_there, struct str *to)
{
    _cleanup_free_ char *part = mem_printf(WORKSPACE_UNIT "/%s", host->agent->id);
    _cleanup_free_ char *path =
        placement_path(&host->root, host->session.id, host->session.mode, part);
    _cleanup_close_ int dir = placement_open(&host->root, host->dir, host->session.mode, part);

    if (!starts_there || !finds_itself(host->preset, dir))
        add_part(dir, path, "your role; paths in it begin in its directory", to);
}

/* Says what the agent does with its branch, and who does the rest. */
static void add_branch(const struct host *host, const char *branch, struct str *to)
{
    const char *id = host->agent->id;

    str_addf(to, "your branch %s]\n", branch);
    str_addf(to,
             "Commit there: only commits are merged. `mas diff %s` shows what is not merged yet, "
             "`mas merge %s` merges your branch into the team's branch mas/%s/main, `mas sync %s` "
             "brings you what is new there. A person lands the team's branch with `mas land`; "
             "never change %s yourself.\n",
             id, id, host->team.project.label, id, host->team.project.path);
}

/* Appends where the project is, and its instructions, unless the program reads them. */
static void add_project(const struct host *host, bool starts_there, struct str *to)
{
    const char *path = env_get(host->env, "MAS_CODE_DIR");
    const char *branch = env_get(host->env, "MAS_CODE_BRANCH");
    _cleanup_free_ char *part = mem_printf(CODE_DIR "/%s", repo_dir_of(&host->team, host->agent));
    _cleanup_close_ int dir = path_open_beneath(host->dir, part, PATH_PLACE);

    if (path == NULL || branch == NULL)
        return;
    str_addf(to, "%s[the project is in %s, ", to->len > 0 ? "\n" : "", path);
    if (host->agent->code == AGENT_CODE_VIEW)
        str_addf(to, "the team's branch %s; it is for reading]\n", branch);
    else
        add_branch(host, branch, to);
    if (!starts_there || !finds_itself(host->preset, dir))
        add_part(dir, path, "the project's instructions", to);
}

void role_add(const struct host *host, struct str *to)
{
    bool has_code = repo_dir_of(&host->team, host->agent) != NULL;
    bool in_code = has_code && agent_starts_in_code(host->agent);
    _cleanup_str_ struct str parts = STR_INIT;

    add_role(host, !in_code, &parts);
    if (has_code)
        add_project(host, in_code, &parts);
    str_add(to, host->agent->system);
    if (to->len > 0 && parts.len > 0 && to->data[to->len - 1] != '\n')
        str_addc(to, '\n');
    str_addn(to, str_text(&parts), parts.len);
}

/* ---- programs on a terminal */

/* What the placeholders of a preset stand for. */
struct role {
    char *dir, *file; /* paths */
    char *word; /* the text, or as much of it as a word may have */
};
enum { ROLE_VALUES = 3 };

static void list_values(const struct role *role, struct expand_value ret[ROLE_VALUES])
{
    ret[0] = (struct expand_value){"dir", role->dir};
    ret[1] = (struct expand_value){"file", role->file};
    ret[2] = (struct expand_value){"text", role->word};
}

static void role_free(struct role *role)
{
    free(role->dir);
    free(role->file);
    free(role->word);
}
#define _cleanup_role_ __attribute__((cleanup(role_free)))

void role_add_variables(const struct host *host, const struct kv *variables,
                        const struct expand_value *values, size_t count, const char *loss,
                        char ***env)
{
    for (size_t i = 0; i < variables->count; i++) {
        if (expand_variable(values, count, &variables->pairs[i], env))
            continue;
        _cleanup_free_ char *words =
            mem_printf("%s: the environment has %s", loss, variables->pairs[i].key);
        host_log(host, words);
    }
}

int role_open_dir(const struct host *host, char **ret_path, struct err *err)
{
    _cleanup_free_ char *part = mem_printf("%s" WORKSPACE_HOST_ROLE, host->agent->id);
    _cleanup_free_ char *path = mem_printf(WORKSPACE_RUN "/%s", part);
    int dir = path_make_below(host->run, part, 0700);

    if (dir == -1)
        return err_errno(err, "cannot create '%s'", path);
    *ret_path = workspace_path(&host->root, host->session.id, path);
    return dir;
}

/* Writes the text into run/<agent>.role/. */
static int write_file(const struct host *host, const struct str *text, struct role *role,
                      struct err *err)
{
    const char *name = host->preset->role_file[0] != '\0' ? host->preset->role_file : "role.md";
    _cleanup_close_ int dir = role_open_dir(host, &role->dir, err);

    if (dir == -1)
        return -1;
    role->file = mem_printf("%s/%s", role->dir, name);
    return file_create(dir, name, text->data, text->len, 0600, err);
}

static char *fit_word(const struct role *role, const struct str *text)
{
    size_t len = str_fit(str_text(text), ROLE_WORD_MAX);

    if (len == text->len)
        return mem_dup(str_text(text));
    return mem_printf("%.*s\n(the rest is left out here; all of it is in %s)\n", (int)len,
                      text->data, role->file);
}

int role_tell(const struct host *host, const char *history, char ***argv, char ***env,
              struct err *err)
{
    const struct preset *preset = host->preset;
    struct expand_value values[ROLE_VALUES];
    _cleanup_str_ struct str text = STR_INIT, lines = STR_INIT;
    _cleanup_role_ struct role role = {.dir = NULL};

    if (preset->role_option[0] == '\0' && preset->role_env.count == 0)
        return 0;
    role_add(host, &text);
    str_add(&text, history);
    add_lines(&lines, str_text(&text), text.len); /* `system` may hold anything */
    if (lines.len == 0)
        return 0;
    if (write_file(host, &lines, &role, err) == -1)
        return -1;
    role.word = fit_word(&role, &lines);
    list_values(&role, values);
    expand_words(values, ROLE_VALUES, preset->role_option, argv);
    role_add_variables(host, &preset->role_env, values, ROLE_VALUES, "is not told its role", env);
    return 0;
}

void role_drop(const struct host *host)
{
    _cleanup_free_ char *name = mem_printf("%s" WORKSPACE_HOST_ROLE, host->agent->id);
    struct err ignored = ERR_INIT;

    (void)tree_remove(host->run, name, &ignored);
}
