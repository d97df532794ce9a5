/*
 * setup_look() asks what is cheapest first: has the setup run here, was it declined for this
 * session, what has a person said of this content. Only then does it read the script in the work
 * tree, which the agent may have changed: through no link, and only to compare its sum. The mark of
 * an agent comes after the run, so a kill in between has the setup run again.
 */

#include "code/setup.h"

#include "base/kv.h"
#include "base/sha.h"
#include "base/time.h"
#include "os/file.h"
#include "os/path.h"

#define SETUP_FILE ".script" /* no agent has such a name */

void setup_script_free(struct setup_script *script)
{
    free(script->text);
    *script = (struct setup_script){.text = NULL};
}

/* ---- the script of a commit */

/* Parses "<mode> <type> <id> <size>\t<path>". Returns the fault of such an entry; NULL: none. */
static const char *parse_entry(const char *line, char oid[GIT_OID_TEXT])
{
    static const char regular[] = "100755 blob ";
    static const char plain[] = "100644 blob ";

    if (str_starts(line, plain))
        return "it is not executable";
    if (!str_starts(line, regular))
        return "it is not a regular file";
    const char *id = line + strlen(regular);
    size_t len = strcspn(id, " ");
    _cleanup_free_ char *name = mem_dupn(id, len);
    if (!git_parse_oid(name, oid))
        return "it cannot be read";
    return strtoull(id + len, NULL, 10) > SETUP_SCRIPT_MAX ? "it is larger than 256 KiB" : NULL;
}

int setup_find(const struct repo *repo, const char *commit, struct setup_script *ret,
               struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_result_ struct proc_result entry = PROC_RESULT_INIT;
    _cleanup_result_ struct proc_result blob = PROC_RESULT_INIT;
    char oid[GIT_OID_TEXT];

    if (git_must(&git, GIT_ARGS("ls-tree", "-z", "-l", "--full-tree", commit, "--", SETUP_SCRIPT),
                 NULL, &entry, err) == -1)
        return err_wrap(err, "cannot read the project's " SETUP_SCRIPT);
    bool found = entry.out.len > 0;
    const char *fault = found ? parse_entry(str_text(&entry.out), oid) : NULL;
    ret->fault = fault;
    if (!found || fault != NULL)
        return 0;
    if (git_must(&git, GIT_ARGS("cat-file", "blob", oid), NULL, &blob, err) == -1)
        return err_wrap(err, "cannot read the project's " SETUP_SCRIPT);
    ret->len = blob.out.len;
    ret->text = str_steal(&blob.out);
    sha256_of(ret->text, ret->len, ret->hash);
    return 0;
}

/* ---- what the session has */

/* Opens code.git/setup; with `make`, makes it. Returns -1 with errno. */
static int open_dir(const struct repo *repo, bool make)
{
    _cleanup_close_ int git = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (git == -1 || (make && mkdirat(git, SETUP_DIR, 0700) == -1 && errno != EEXIST))
        return -1;
    return path_open_dir(git, SETUP_DIR);
}

int setup_save(const struct repo *repo, const struct setup *setup, struct err *err)
{
    _cleanup_close_ int dir = open_dir(repo, true);
    _cleanup_str_ struct str text = STR_INIT;

    if (dir == -1)
        return err_errno(err, "cannot make '" CODE_GIT "/" SETUP_DIR "'");
    kv_add(&text, "FROM", setup->from_project ? "project" : "setting");
    kv_add(&text, "HASH", setup->hash);
    kv_add(&text, "DECLINED", setup->declined ? "yes" : "no");
    return file_replace(dir, SETUP_FILE, text.data, text.len, 0600, err);
}

int setup_load(const struct repo *repo, struct setup *ret, struct err *err)
{
    _cleanup_close_ int dir = open_dir(repo, false);
    _cleanup_free_ char *text = NULL;
    _cleanup_kv_ struct kv kv = {.count = 0};
    size_t len = 0;

    *ret = (struct setup){.exists = false};
    if (dir == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot open '" CODE_GIT "/" SETUP_DIR "'");
    int there = file_read_if_there(dir, SETUP_FILE, KV_FILE_MAX, &text, &len, err);
    if (there != 1)
        return there;
    int rc = kv_parse(text, len, &kv, err);
    const char *from = rc == 0 ? kv_get(&kv, "FROM") : NULL;
    const char *hash = rc == 0 ? kv_get(&kv, "HASH") : NULL;
    const char *declined = rc == 0 ? kv_get(&kv, "DECLINED") : NULL;
    bool from_project = from != NULL && strcmp(from, "project") == 0;
    if (rc == 0 && (from == NULL || hash == NULL || (from_project && !sha256_is_hex(hash))))
        rc = err_set(err, MAS_DAMAGED,
                     "cannot read '" CODE_GIT "/" SETUP_DIR "/" SETUP_FILE "': it is damaged");
    if (rc == 0) {
        ret->exists = true;
        ret->from_project = from_project;
        ret->declined = declined != NULL && strcmp(declined, "yes") == 0;
        if (from_project)
            memcpy(ret->hash, hash, SHA256_TEXT);
    }
    return rc;
}

/* ---- a work tree */

const char *setup_state_name(enum setup_state state)
{
    static const char *const names[] = {
        [SETUP_NONE] = "none",   [SETUP_DONE] = "done",         [SETUP_DUE] = "due",
        [SETUP_WAITS] = "waits", [SETUP_DECLINED] = "declined", [SETUP_CHANGED] = "changed",
    };
    return names[state];
}

/* Returns true if the script in the work tree is the one with this sum. */
static bool is_same(const struct repo *repo, const char *agent, const char *hash)
{
    _cleanup_free_ char *tree = repo_tree(repo, agent);
    _cleanup_close_ int top = open(tree, PATH_PLACE | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_close_ int fd =
        top == -1 ? -1 : path_open_beneath(top, SETUP_SCRIPT, O_RDONLY | O_NONBLOCK);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    struct stat st;
    size_t len = 0;
    char now[SHA256_TEXT];

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
        file_read_stream(fd, SETUP_SCRIPT, SETUP_SCRIPT_MAX, &text, &len, &ignored) == -1)
        return false;
    sha256_of(text, len, now);
    return strcmp(now, hash) == 0;
}

int setup_look(const struct root *root, const struct repo *repo, const char *agent,
               enum setup_state *ret, struct err *err)
{
    enum setup_answer answer = SETUP_UNANSWERED;
    struct setup setup;

    if (setup_load(repo, &setup, err) == -1)
        return -1;
    *ret = SETUP_NONE;
    if (!setup.exists)
        return 0;
    _cleanup_close_ int dir = open_dir(repo, false);
    if (dir != -1 && faccessat(dir, agent, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        *ret = SETUP_DONE;
        return 0;
    }
    *ret = setup.declined ? SETUP_DECLINED : SETUP_DUE;
    if (setup.declined || !setup.from_project)
        return 0;
    if (setup_answers_find(root, setup.hash, &answer, err) == -1)
        return -1;
    if (answer != SETUP_YES)
        *ret = answer == SETUP_NO ? SETUP_DECLINED : SETUP_WAITS;
    else if (!is_same(repo, agent, setup.hash))
        *ret = SETUP_CHANGED;
    return 0;
}

int setup_mark(const struct repo *repo, const char *agent, struct err *err)
{
    _cleanup_close_ int dir = open_dir(repo, true);
    _cleanup_str_ struct str text = STR_INIT;
    struct setup setup;
    char now[TIME_TEXT];

    if (dir == -1)
        return err_errno(err, "cannot open '" CODE_GIT "/" SETUP_DIR "'");
    if (setup_load(repo, &setup, err) == -1)
        return -1;
    time_format(time(NULL), now);
    str_addf(&text, "%s %s\n", setup.from_project ? setup.hash : "setting", now);
    return file_replace(dir, agent, text.data, text.len, 0600, err);
}

/* ---- what persons have answered */

enum { FILE_MAX = 256 * 1024 }; /* bytes */

/* Reads the lines; *ret stays NULL if there are none. */
static int read_lines(const struct root *root, char ***ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (root_check_private(root, SETUP_ANSWERS_FILE, "remove it; mas asks again", err) == -1)
        return -1;
    int there = file_read_if_there(root->sessions, SETUP_ANSWERS_FILE, FILE_MAX, &text, &len, err);
    if (there != 1)
        return there;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (strlen(line) > SHA256_HEX && line[SHA256_HEX] == ' ')
            strv_push(ret, line);
    return 0;
}

int setup_answers_find(const struct root *root, const char *hash, enum setup_answer *ret,
                       struct err *err)
{
    _cleanup_strv_ char **lines = NULL;

    if (read_lines(root, &lines, err) == -1)
        return -1;
    *ret = SETUP_UNANSWERED;
    for (char **line = lines; line != NULL && *line != NULL; line++) {
        const char *answer = *line + SHA256_HEX + 1;
        if (strncmp(*line, hash, SHA256_HEX) != 0)
            continue;
        if (str_starts(answer, "yes "))
            *ret = SETUP_YES;
        else if (str_starts(answer, "no "))
            *ret = SETUP_NO;
    }
    return 0;
}

int setup_answers_keep(const struct root *root, const char *hash, enum setup_answer answer,
                       struct err *err)
{
    _cleanup_strv_ char **lines = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_close_ int lock = -1;
    char now[TIME_TEXT];

    if (root_lock(root, &lock, err) == -1 || read_lines(root, &lines, err) == -1)
        return err_wrap(err, "cannot keep the answer");
    size_t count = strv_len(lines);
    for (size_t i = count < SETUP_ANSWERS_MAX ? 0 : count - SETUP_ANSWERS_MAX + 1; i < count; i++)
        if (strncmp(lines[i], hash, SHA256_HEX) != 0)
            str_addf(&text, "%s\n", lines[i]);
    time_format(time(NULL), now);
    str_addf(&text, "%s %s %s\n", hash, answer == SETUP_YES ? "yes" : "no", now);
    return file_replace(root->sessions, SETUP_ANSWERS_FILE, text.data, text.len, 0600, err);
}
