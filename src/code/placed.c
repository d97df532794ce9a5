/*
 * The person's git says which files are ignored in the project, mas's own which are in a new work
 * tree; what only the person's ignores gets a pattern in info/exclude of code.git and of the
 * agents, or it would look like work. For each agent the files are copied, then the patterns
 * written, then the record, whose hashes placed_drop() compares later. Without a record, all of
 * them count as work.
 */

#include "code/placed.h"

#include "git/checkout.h"
#include "os/file.h"
#include "os/path.h"

enum {
    LIST_MAX = 64 << 10, /* bytes of .worktreeinclude */
    NOTED_MAX = 64, /* of its lines that are tried one by one */
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
    int from; /* the work tree of the project; -1: `parcel` is used */
    const struct parcel *parcel;
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

/* Lists the files of the project's work tree that the patterns name; *theirs gets those that the
 * person's git ignores. */
static int list_named(int from, struct proc_result *named, struct str *theirs, struct err *err)
{
    _cleanup_strv_ char **settings = NULL;
    struct git there = {.cwd = from, .magic = true};

    if (checkout_settings(from, &settings, NULL, err) == -1)
        return -1;
    there.settings = (const char *const *)settings;
    return git_must(
               &there,
               GIT_ARGS("ls-files", "-z", "--others", "--ignored", "--exclude-from=" PLACED_LIST),
               NULL, named, err) == -1
               ? -1
               : add_ignored(&there, &named->out, theirs, err);
}

/* Lists the files of the project that the patterns name and that git ignores, for the person there
 * or for an agent in its work tree. All those of a parcel are. */
static int list_files(const struct repo *repo, const char *agent, struct placing *placing,
                      struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(repo, agent);
    _cleanup_close_ int to = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct git here = {
        .dir = repo->git, .tree = tree, .confined = true, .magic = true, .cwd = to};
    _cleanup_str_ struct str theirs = STR_INIT;
    _cleanup_str_ struct str ours = STR_INIT;
    _cleanup_result_ struct proc_result named = PROC_RESULT_INIT;

    if (to == -1)
        return err_errno(err, "cannot open '%s'", tree);
    if (placing->parcel != NULL) {
        parcel_names(placing->parcel, &named.out);
        parcel_names(placing->parcel, &theirs);
    } else if (list_named(placing->from, &named, &theirs, err) == -1) {
        return -1;
    }
    int rc = add_ignored(&here, &named.out, &ours, err);
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

/* Reads a file of the project's work tree; *left is what all that follow may have. The caller frees
 * *ret. */
static int read_one(const struct project *project, int from, const char *name, size_t *left,
                    struct parcel_file *ret, char **ret_bytes, struct err *err)
{
    const char *base = NULL;
    _cleanup_close_ int dir = path_open_above(from, name, &base);
    struct err why = ERR_INIT;
    struct stat st;

    if (str_ends(name, "/"))
        return refuse(project, name, "it is a repository", err);
    if (strchr(name, '\n') != NULL)
        return refuse(project, name, "its name holds a newline", err);
    if (dir == -1 || fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return refuse(project, name, strerror(errno), err);
    if (S_ISLNK(st.st_mode))
        return refuse(project, name, "it is a symbolic link", err);
    if (file_read(dir, base, PLACED_FILE_MAX, ret_bytes, &ret->len, &why) == -1)
        return refuse(project, name, why.text, err);
    if (ret->len > *left)
        return refuse(project, PLACED_LIST, "it names more than 256 MiB", err);
    *left -= ret->len;
    ret->name = name;
    ret->mode = st.st_mode & 0777;
    ret->bytes = *ret_bytes;
    return 0;
}

static int write_one(int to, const struct parcel_file *file, struct err *err)
{
    const char *base = NULL;
    _cleanup_close_ int parent = path_make_above(to, file->name, 0755, &base);

    return parent == -1 ? err_errno(err, "cannot make the directory of '%s'", file->name)
                        : file_create(parent, base, file->bytes, file->len, file->mode, err);
}

/* Calls `take` for each file of a list. */
static int each_file(const struct project *project, int from, const struct str *names,
                     int (*take)(void *arg, const struct parcel_file *file, struct err *err),
                     void *arg, struct err *err)
{
    const char *end = str_text(names) + names->len;
    size_t left = PLACED_ALL_MAX;
    size_t count = 0;

    for (const char *name = str_text(names); name < end; name += strlen(name) + 1) {
        _cleanup_free_ char *bytes = NULL;
        struct parcel_file file;
        if (++count > PLACED_FILES_MAX)
            return refuse(project, PLACED_LIST, "it names more than 10000 files", err);
        if (read_one(project, from, name, &left, &file, &bytes, err) == -1 ||
            take(arg, &file, err) == -1)
            return -1;
    }
    return 0;
}

/* ---- all of it */

static int take_file(void *arg, const struct parcel_file *file, struct err *err)
{
    const int *to = arg;

    return write_one(*to, file, err);
}

/* Copies the listed files into the work tree of an agent. */
static int copy_files(const struct repo *repo, const struct project *project, const char *agent,
                      const struct placing *placing, struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(repo, agent);
    _cleanup_close_ int to = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (to == -1)
        return err_errno(err, "cannot open '%s'", tree);
    if (placing->parcel == NULL)
        return each_file(project, placing->from, &placing->names, take_file, &to, err);
    for (size_t i = 0; i < placing->parcel->count; i++)
        if (write_one(to, &placing->parcel->files[i], err) == -1)
            return -1;
    return 0;
}

static int place(const struct repo *repo, const struct project *project, const char *agent,
                 const struct placing *placing, struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(repo, agent);
    _cleanup_free_ char *git_dir = mem_printf("%s/.git", tree);

    return copy_files(repo, project, agent, placing, err) == -1 ||
                   write_excludes(git_dir, &placing->excludes, err) == -1
               ? -1
               : placed_record(repo, agent, &placing->names, err);
}

/* Fills `placing` from where the files are. *ret tells whether there are any. */
static int open_source(const struct project *project, struct placing *placing, bool *ret,
                       struct err *err)
{
    if (placing->parcel != NULL) {
        *ret = placing->parcel->count > 0;
        return 0;
    }
    if (project->top == NULL)
        return 0;
    placing->from = open(project->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return placing->from == -1 ? err_errno(err, "cannot open '%s'", project->top)
                               : check_patterns(project, placing->from, ret, err);
}

int placed_make(const struct repo *repo, const struct project *project, const struct parcel *parcel,
                const struct team *team, char ***notes, struct err *err)
{
    struct placing placing = {.from = -1, .parcel = parcel};
    bool found = false;
    bool listed = false;
    int rc = open_source(project, &placing, &found, err);

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
    if (rc == 0 && listed && notes != NULL && placing.from != -1)
        note_idle(&placing, notes);
    placing_free(&placing);
    return rc;
}

static int pack_file(void *arg, const struct parcel_file *file, struct err *err)
{
    (void)err;
    parcel_put(arg, file);
    return 0;
}

int placed_pack(const struct project *project, struct str *ret, char ***notes, struct err *err)
{
    _cleanup_result_ struct proc_result named = PROC_RESULT_INIT;
    struct placing placing = {.from = -1};
    bool found = false;
    int rc = open_source(project, &placing, &found, err);

    if (rc == 0 && found)
        rc = list_named(placing.from, &named, &placing.names, err) == -1
                 ? err_wrap(err, "cannot read the files that " PLACED_LIST " names")
                 : each_file(project, placing.from, &placing.names, pack_file, ret, err);
    if (rc == 0 && found)
        note_idle(&placing, notes);
    placing_free(&placing);
    return rc;
}
