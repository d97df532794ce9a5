/*
 * What placed.h records of the files that mas put into a work tree, and what differs from that. One
 * git hashes all files of a list, without filters; links are hashed here. A file that is not in the
 * record, or has another hash, is work, and without a record all are: what an agent made is never
 * taken for mas's own.
 */

#include "base/sha.h"
#include "code/placed.h"
#include "os/file.h"
#include "os/path.h"

enum { RECORD_MAX = 64 << 20 /* bytes of a list of files */ };

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
            str_addf(&paths, "./%s\n", name); /* git unquotes what begins with a quote */
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
        str_addf(to, "%s %s\n", hash, strsep(&rest, "\n") + 2);
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
