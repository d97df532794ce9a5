/*
 * The person's git says which files are ignored in the project, mas's own which are in a new work
 * tree; what only the person's ignores gets a pattern in info/exclude of code.git and of the
 * agents, or it would look like work. For each agent the files are copied, then the patterns
 * written, then the record, whose hashes placed_drop() compares later. Without a record, all of
 * them count as work.
 */

#include "code/placed.h"

#include "base/sha.h"
#include "git/checkout.h"
#include "os/file.h"
#include "os/path.h"

enum {
    LIST_MAX = 64 << 10, /* bytes of .worktreeinclude */
    NOTED_MAX = 64, /* of its lines that are tried one by one */
    RECORD_MAX = 64 << 20, /* bytes of a list of files */
};

/* ---- .worktreeinclude */

static int refuse(const struct project *project, const char *name, const char *why, struct err *err)
{
    _cleanup_str_ struct str shown = STR_INIT;

    str_add_visible(&shown, name, strlen(name));
    return err_set(err, MAS_USAGE, "cannot copy '%s' of project '%s': %s", str_text(&shown),
                   project->path, why);
}

/* Checks the patterns. *ret tells whether there are any. */
static int check_patterns(const struct project *project, int top, bool *ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    if (file_read(top, PLACED_LIST, LIST_MAX, &text, &len, &why) == -1)
        return why.number == ENOENT ? 0 : refuse(project, PLACED_LIST, why.text, err);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
        for (char *at = line, *part; line[0] != '#' && (part = strsep(&at, "/")) != NULL;)
            if (strcmp(part, "..") == 0)
                return refuse(project, PLACED_LIST, "a pattern in it holds '..'", err);
    *ret = true;
    return 0;
}

/* Appends the names of a list for which a git, in a work tree, answers that it ignores them. They
 * keep their order. */
static int add_ignored(const struct git *git, const struct str *names, struct str *ret,
                       struct err *err)
{
    _cleanup_str_ struct str paths = STR_INIT;
    _cleanup_result_ struct proc_result ignored = PROC_RESULT_INIT;
    const char *end = str_text(names) + names->len;

    /* no magic begins with a dot */
    for (const char *name = str_text(names); name < end; name += strlen(name) + 1) {
        str_add(&paths, "./");
        str_addn(&paths, name, strlen(name) + 1);
    }
    /* exit code 1: none is ignored */
    int rc = git_run(git, GIT_ARGS("check-ignore", "-z", "--stdin", "--no-index"),
                     &(struct git_input){str_text(&paths), paths.len}, &ignored, err);
    if (rc == 0 && ignored.status > 1)
        rc = git_fail(&ignored, "check-ignore", err);
    end = str_text(&ignored.out) + ignored.out.len;
    for (const char *name = str_text(&ignored.out); rc == 0 && name < end; name += strlen(name) + 1)
        str_addn(ret, name + 2, strlen(name + 2) + 1);
    return rc;
}

/* What is copied. */
struct placing {
    int from; /* the work tree of the project */
    struct str names;
    struct str excludes; /* patterns for those that only the person ignores */
};

static void placing_free(struct placing *placing)
{
    fd_closep(&placing->from);
    str_free(&placing->names);
    str_free(&placing->excludes);
}

/* Appends a pattern that means one file. */
static void add_exclude(const char *name, struct str *to)
{
    str_addc(to, '/');
    for (; *name != '\0'; name++) {
        if (strchr("\\*?[ ", *name) != NULL)
            str_addc(to, '\\');
        str_addc(to, *name);
    }
    str_addc(to, '\n');
}

/* Lists the files of the project that the patterns name and that git ignores, for the person there
 * or for an agent in its work tree. */
static int list_files(const struct repo *repo, const char *agent, struct placing *placing,
                      struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(repo, agent);
    _cleanup_close_ int to = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_strv_ char **settings = NULL;
    struct git there = {.cwd = placing->from, .magic = true};
    const struct git here = {
        .dir = repo->git, .tree = tree, .confined = true, .magic = true, .cwd = to};
    _cleanup_str_ struct str theirs = STR_INIT;
    _cleanup_str_ struct str ours = STR_INIT;
    _cleanup_result_ struct proc_result named = PROC_RESULT_INIT;

    if (to == -1)
        return err_errno(err, "cannot open '%s'", tree);
    if (checkout_settings(placing->from, &settings, NULL, err) == -1)
        return -1;
    there.settings = (const char *const *)settings;
    if (git_must(&there,
                 GIT_ARGS("ls-files", "-z", "--others", "--ignored", "--exclude-from=" PLACED_LIST),
                 NULL, &named, err) == -1)
        return -1;
    int rc = add_ignored(&there, &named.out, &theirs, err) == -1
                 ? -1
                 : add_ignored(&here, &named.out, &ours, err);
    const char *end = str_text(&named.out) + named.out.len;
    const char *their = str_text(&theirs);
    const char *our = str_text(&ours);
    for (const char *name = str_text(&named.out); rc == 0 && name < end; name += strlen(name) + 1) {
        bool is_theirs = their < str_text(&theirs) + theirs.len && strcmp(their, name) == 0;
        bool is_ours = our < str_text(&ours) + ours.len && strcmp(our, name) == 0;
        their += is_theirs ? strlen(name) + 1 : 0;
        our += is_ours ? strlen(name) + 1 : 0;
        if (is_theirs || is_ours)
            str_addn(&placing->names, name, strlen(name) + 1);
        if (is_theirs && !is_ours && strchr(name, '\n') == NULL)
            add_exclude(name, &placing->excludes);
    }
    return rc;
}

/* Returns true if a pattern alone names one of the files that are copied. */
static bool matches(const struct placing *placing, const char *pattern)
{
    const struct git git = {.cwd = placing->from};
    _cleanup_free_ char *exclude = mem_printf("--exclude=%s", pattern);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    const char *end = str_text(&placing->names) + placing->names.len;
    const char *at = str_text(&placing->names);

    if (git_must(&git, GIT_ARGS("ls-files", "-z", "--others", "--ignored", exclude), NULL, &result,
                 &ignored) == -1)
        return true;
    /* both are in the order of git */
    const char *named = str_text(&result.out);
    const char *stop = named + result.out.len;
    while (named < stop && at < end) {
        int order = strcmp(named, at);
        if (order == 0)
            break;
        if (order < 0)
            named += strlen(named) + 1;
        else
            at += strlen(at) + 1;
    }
    bool found = named < stop && at < end;
    return found;
}

/* Notes each pattern that names no file that is copied. */
static void note_idle(const struct placing *placing, char ***notes)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;
    size_t count = 0;

    if (file_read(placing->from, PLACED_LIST, LIST_MAX, &text, &len, &ignored) == -1)
        return;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        size_t end = strlen(line);
        while (end > 0 && strchr(" \t\r", line[end - 1]) != NULL)
            line[--end] = '\0';
        if (end == 0 || line[0] == '#' || line[0] == '!' || ++count > NOTED_MAX ||
            matches(placing, line))
            continue;
        _cleanup_free_ char *note =
            mem_printf(PLACED_LIST " names nothing that git ignores with: %s", line);
        strv_push(notes, note);
    }
}

/* Has git ignore what only the person's git ignores, for mas and for the agent. */
static int write_excludes(const char *git_dir, const struct str *excludes, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/info", git_dir);

    if (excludes->len == 0)
        return 0;
    if (path_make_dirs(path, err) == -1)
        return -1;
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir == -1 ? err_errno(err, "cannot open '%s'", path)
                     : file_replace(dir, "exclude", excludes->data, excludes->len, 0644, err);
}

static int copy_one(const struct project *project, int from, int to, const char *name, size_t *left,
                    struct err *err)
{
    const char *base = NULL;
    _cleanup_close_ int dir = path_open_above(from, name, &base);
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    struct stat st;
    size_t len = 0;

    if (strchr(name, '\n') != NULL)
        return refuse(project, name, "its name holds a newline", err);
    if (dir == -1 || fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return refuse(project, name, strerror(errno), err);
    if (S_ISLNK(st.st_mode))
        return refuse(project, name, "it is a symbolic link", err);
    if (file_read(dir, base, PLACED_FILE_MAX, &text, &len, &why) == -1)
        return refuse(project, name, why.text, err);
    if (len > *left)
        return refuse(project, PLACED_LIST, "it names more than 256 MiB", err);
    *left -= len;
    _cleanup_close_ int parent = path_make_above(to, name, 0755, &base);
    if (parent == -1)
        return err_errno(err, "cannot make the directory of '%s'", name);
    return file_create(parent, base, text, len, st.st_mode & 0777, err);
}

/* ---- the record */

/* Appends "<hash> <path>\n" for a symbolic link. */
static void hash_link(int dir, const char *name, struct str *to)
{
    char target[PATH_MAX];
    char hash[SHA256_TEXT];
    ssize_t len = readlinkat(dir, "", target, sizeof target);

    if (len == -1)
        return;
    sha256_of(target, (size_t)len, hash);
    str_addf(to, "link:%s %s\n", hash, name);
}

/* Appends "<hash> <path>\n" for each regular file and symbolic link; others get no line. */
static int hash_files(const struct repo *repo, const char *agent, const struct str *names,
                      struct str *to, struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(repo, agent);
    _cleanup_close_ int cwd = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct git git = {.dir = repo->git, .confined = true, .cwd = cwd};
    _cleanup_str_ struct str paths = STR_INIT;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    const char *end = str_text(names) + names->len;

    if (cwd == -1)
        return err_errno(err, "cannot open '%s'", tree);
    for (const char *name = str_text(names); name < end; name += strlen(name) + 1) {
        _cleanup_close_ int fd = path_open_beneath(cwd, name, PATH_ENTRY | O_NOFOLLOW);
        struct stat st;
        if (fd == -1 || fstat(fd, &st) == -1 || strchr(name, '\n') != NULL)
            continue;
        if (S_ISREG(st.st_mode))
            str_addf(&paths, "%s\n", name);
        else if (S_ISLNK(st.st_mode))
            hash_link(fd, name, to);
    }
    if (paths.len == 0)
        return 0;
    if (git_must(&git, GIT_ARGS("hash-object", "--no-filters", "--stdin-paths"),
                 &(struct git_input){paths.data, paths.len}, &result, err) == -1)
        return -1;
    char *hashes = result.out.data;
    char *rest = paths.data;
    for (char *hash; (hash = strsep(&hashes, "\n")) != NULL && hash[0] != '\0';)
        str_addf(to, "%s %s\n", hash, strsep(&rest, "\n"));
    return 0;
}

int placed_record(const struct repo *repo, const char *agent, const struct str *names,
                  struct err *err)
{
    _cleanup_str_ struct str lines = STR_INIT;
    _cleanup_close_ int git = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (names->len == 0)
        return 0;
    if (git == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    if (hash_files(repo, agent, names, &lines, err) == -1)
        return err_wrap(err, "cannot record the files of agent '%s'", agent);
    if (mkdirat(git, PLACED_DIR, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '" CODE_GIT "/" PLACED_DIR "'");
    _cleanup_close_ int dir = path_open_dir(git, PLACED_DIR);
    return dir == -1 ? err_errno(err, "cannot open '" CODE_GIT "/" PLACED_DIR "'")
                     : file_replace(dir, agent, lines.data, lines.len, 0600, err);
}

/* Compares lines "<hash> <path>" by their paths. */
static int compare_paths(const void *a, const void *b)
{
    const char *const *one = a;
    const char *const *two = b;

    return strcmp(strchr(*one, ' ') + 1, strchr(*two, ' ') + 1);
}

/* The lines of a record, by their paths. */
struct lines {
    const char **items; /* point into the text */
    size_t count;
};

/* Splits a text, which must stay as it is from then on. */
static struct lines split(char *text)
{
    struct lines lines = {.items = NULL};

    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (strchr(line, ' ') != NULL) {
            lines.items = mem_room(lines.items, lines.count, sizeof *lines.items);
            lines.items[lines.count++] = line;
        }
    if (lines.count > 0)
        qsort(lines.items, lines.count, sizeof *lines.items, compare_paths);
    return lines;
}

/* Returns the line of a path, or NULL. */
static const char *find_line(const struct lines *lines, const char *path)
{
    _cleanup_free_ char *key = mem_printf(" %s", path);
    const char *const wanted = key;
    const char *const *found = lines->count == 0 ? NULL
                                                 : bsearch(&wanted, lines->items, lines->count,
                                                           sizeof *lines->items, compare_paths);
    return found != NULL ? *found : NULL;
}

int placed_drop(const struct repo *repo, const char *agent, struct str *names, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/" PLACED_DIR, repo->git);
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *recorded = NULL;
    _cleanup_str_ struct str now = STR_INIT;
    _cleanup_str_ struct str kept = STR_INIT;
    struct err why = ERR_INIT;
    size_t len = 0;

    if (names->len == 0 || dir == -1)
        return 0;
    if (file_read(dir, agent, RECORD_MAX, &recorded, &len, &why) == -1)
        return 0; /* then all of them count as work */
    if (hash_files(repo, agent, names, &now, err) == -1)
        return -1;
    struct lines was = split(recorded);
    struct lines is = now.len > 0 ? split(now.data) : (struct lines){.items = NULL};
    const char *end = str_text(names) + names->len;
    for (const char *name = str_text(names); name < end; name += strlen(name) + 1) {
        const char *old = find_line(&was, name);
        const char *new = find_line(&is, name);
        if (old == NULL || new == NULL || strcmp(old, new) != 0)
            str_addn(&kept, name, strlen(name) + 1);
    }
    free(was.items);
    free(is.items);
    str_free(names);
    *names = kept;
    kept = (struct str)STR_INIT;
    return 0;
}

int placed_list(const struct repo *repo, const char *agent, struct str *ret, struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(repo, agent);
    _cleanup_close_ int cwd = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct git git = {.dir = repo->git, .tree = tree, .confined = true, .cwd = cwd};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (cwd == -1)
        return err_errno(err, "cannot open '%s'", tree);
    if (git_must(&git, GIT_ARGS("ls-files", "-z", "--others", "--ignored", "--exclude-standard"),
                 NULL, &result, err) == -1)
        return err_wrap(err, "cannot list the files that git ignores in '%s'", tree);
    str_addn(ret, str_text(&result.out), result.out.len);
    return 0;
}

/* ---- all of it */

/* Copies the listed files into the work tree of an agent. */
static int copy_files(const struct repo *repo, const struct project *project, const char *agent,
                      int from, const struct str *names, struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(repo, agent);
    _cleanup_close_ int to = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const char *end = str_text(names) + names->len;
    size_t left = PLACED_ALL_MAX;
    size_t count = 0;

    if (to == -1)
        return err_errno(err, "cannot open '%s'", tree);
    for (const char *name = str_text(names); name < end; name += strlen(name) + 1) {
        if (str_ends(name, "/"))
            return refuse(project, name, "it is a repository", err);
        if (++count > PLACED_FILES_MAX)
            return refuse(project, PLACED_LIST, "it names more than 10000 files", err);
        if (copy_one(project, from, to, name, &left, err) == -1)
            return -1;
    }
    return 0;
}

static int place(const struct repo *repo, const struct project *project, const char *agent,
                 const struct placing *placing, struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(repo, agent);
    _cleanup_free_ char *git_dir = mem_printf("%s/.git", tree);

    return copy_files(repo, project, agent, placing->from, &placing->names, err) == -1 ||
                   write_excludes(git_dir, &placing->excludes, err) == -1
               ? -1
               : placed_record(repo, agent, &placing->names, err);
}

int placed_make(const struct repo *repo, const struct project *project, const struct team *team,
                char ***notes, struct err *err)
{
    struct placing placing = {.from = -1};
    bool found = false;
    bool listed = false;
    int rc = 0;

    if (project->top == NULL)
        return 0;
    placing.from = open(project->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (placing.from == -1)
        return err_errno(err, "cannot open '%s'", project->top);
    rc = check_patterns(project, placing.from, &found, err);
    for (size_t i = 0; rc == 0 && found && i < team->agent_count; i++) {
        const char *agent = team->agents[i].id;
        if (team->agents[i].code != AGENT_CODE_WORKTREE)
            continue;
        if (!listed && (list_files(repo, agent, &placing, err) == -1 ||
                        write_excludes(repo->git, &placing.excludes, err) == -1))
            rc = err_wrap(err, "cannot copy the files that " PLACED_LIST " names");
        listed = true;
        if (rc == 0)
            rc = place(repo, project, agent, &placing, err);
    }
    if (rc == 0 && listed && notes != NULL)
        note_idle(&placing, notes);
    placing_free(&placing);
    return rc;
}
