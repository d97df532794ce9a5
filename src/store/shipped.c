/*
 * Entries are compared by one number, a hash of their names, types and contents: copies have times
 * of their own. The state of an entry follows from three such numbers: of what the root has, of
 * what is shipped now, and of what the record says was given last. An entry is copied under another
 * name and then renamed, and the record is written after all of them; after a kill the next `mas
 * init` goes on.
 */

#include "store/shipped.h"

#include "base/build.h"
#include "base/hash.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/tree.h"

enum {
    RECORD_MAX = 64 << 10,
    FILE_MAX = 1 << 20, /* a larger file is the user's own */
    DEPTH_MAX = 32,
    HASH_DIGITS = 16,
    OUTPUT_MAX = 16 << 20, /* bytes of output of diff */
    COMPARE_MS = 30000,
};

/* ---- the contents of an entry of templates/ as one number: FNV-1a over names, types and
 * contents */

static void add(uint64_t *hash, const char *text, size_t len)
{
    *hash = hash_bytes(*hash, text, len);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_names(char **names)
{
    qsort(names, strv_len(names), sizeof *names, compare_names);
}

static int add_entry(int dir, const char *name, const char *path, int depth, uint64_t *hash);

static int add_names(int dir, const char *path, int depth, uint64_t *hash)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (path_list(dir, &names, &ignored) == -1)
        return -1;
    sort_names(names);
    for (char **name = names; *name != NULL; name++) {
        _cleanup_free_ char *below = mem_printf("%s/%s", path, *name);
        if (add_entry(dir, *name, below, depth + 1, hash) == -1)
            return -1;
    }
    return 0;
}

static int add_entry(int dir, const char *name, const char *path, int depth, uint64_t *hash)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    char target[PATH_MAX];
    struct stat st;
    size_t len = 0;

    if (depth > DEPTH_MAX || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return -1;
    add(hash, path, strlen(path) + 1);
    if (S_ISDIR(st.st_mode)) {
        _cleanup_close_ int fd = path_open_dir(dir, name);
        add(hash, "d", 2);
        return fd == -1 ? -1 : add_names(fd, path, depth, hash);
    }
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlinkat(dir, name, target, sizeof target);
        if (n == -1)
            return -1;
        add(hash, "l", 1);
        add(hash, target, (size_t)n);
    } else {
        if (!S_ISREG(st.st_mode) || file_read(dir, name, FILE_MAX, &text, &len, &ignored) == -1)
            return -1;
        add(hash, "f", 1);
        add(hash, text, len);
    }
    add(hash, "", 1);
    return 0;
}

/* Returns -1 if the entry cannot be read completely or contains something that is never shipped. */
static int hash_of(int dir, const char *name, uint64_t *ret)
{
    *ret = UINT64_C(0xcbf29ce484222325);
    return add_entry(dir, name, name, 0, ret);
}

/* ---- the record */

/* Returns 0 if the record does not contain this name. */
static uint64_t recorded(const struct shipped *shipped, const char *name)
{
    for (const char *line = shipped->record; line != NULL && *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        size_t len = (size_t)(end - line);
        if (len == HASH_DIGITS + 1 + strlen(name) && line[HASH_DIGITS] == ' ' &&
            memcmp(line + HASH_DIGITS + 1, name, strlen(name)) == 0)
            return strtoull(line, NULL, 16);
        line = end + (*end == '\n');
    }
    return 0;
}

int shipped_write_record(const struct shipped *shipped, struct err *err)
{
    _cleanup_strv_ char **names = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    uint64_t hash = 0;

    if (shipped_names(shipped, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++)
        if (hash_of(shipped->from, *name, &hash) == 0)
            str_addf(&text, "%016" PRIx64 " %s\n", hash, *name);
    if (shipped->record != NULL && strcmp(str_text(&text), shipped->record) == 0)
        return 0;
    return file_replace(shipped->to, SHIPPED_RECORD, str_text(&text), text.len,
                        0644 & ~file_umask(), err);
}

/* ---- */

int shipped_find(struct err *err)
{
    _cleanup_free_ char *exe = path_exe_dir();
    const char *at[] = {"/../share/mas/templates", "/../templates"};

    for (size_t i = 0; exe != NULL && i < ARRAY_LEN(at); i++) {
        _cleanup_free_ char *path = mem_printf("%s%s", exe, at[i]);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd != -1)
            return fd;
    }
    _cleanup_free_ char *path = mem_printf("%s/templates", build_data);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1) {
        (void)err_errno(err, "cannot find the shipped templates in '%s'", build_data);
        return err_hint(err, "install mas with 'make install', or run it from its build tree");
    }
    return fd;
}

int shipped_open(int root, struct shipped *ret, struct err *err)
{
    struct err ignored = ERR_INIT;
    struct shipped shipped = SHIPPED_INIT;
    size_t len = 0;

    shipped.from = shipped_find(err);
    if (shipped.from == -1)
        return -1;
    shipped.to = openat(root, ROOT_TEMPLATES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (shipped.to == -1) {
        int rc = err_errno(err, "cannot open '%s'", ROOT_TEMPLATES);
        shipped_close(&shipped);
        return rc;
    }
    if (file_read(shipped.to, SHIPPED_RECORD, RECORD_MAX, &shipped.record, &len, &ignored) == -1)
        shipped.record = NULL;
    *ret = shipped;
    return 0;
}

void shipped_close(struct shipped *shipped)
{
    fd_closep(&shipped->from);
    fd_closep(&shipped->to);
    free(shipped->record);
    shipped->record = NULL;
}

/* Returns the path of a name on either side. */
static char *path_in(int dir, const char *name)
{
    _cleanup_free_ char *path = path_of(dir);

    return mem_printf("%s/%s", path != NULL ? path : "", name);
}

/* Escapes the output: the user did not necessarily write the contents of a template. */
static void add_lines(struct str *to, const struct str *from)
{
    for (const char *line = from->data; line < from->data + from->len;) {
        const char *end = strchrnul(line, '\n');
        for (const char *tab = line; line < end; line = tab) {
            tab += *tab == '\t';
            str_addn(to, line, (size_t)(tab - line));
            line = tab;
            tab += strcspn(tab, "\t\n");
            str_add_visible(to, line, (size_t)(tab - line));
        }
        str_addc(to, '\n');
        line = end + 1;
    }
}

int shipped_compare(const struct shipped *shipped, const char *name, struct str *ret,
                    struct err *err)
{
    _cleanup_free_ char *program = path_find_program("diff", getenv("PATH"), -1);
    _cleanup_free_ char *from = path_in(shipped->from, name);
    _cleanup_free_ char *to = path_in(shipped->to, name);
    const char *argv[] = {"diff", "-ruN", "--no-dereference", "--", from, to, NULL};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (program == NULL)
        return err_set(err, MAS_FAILED, "cannot compare '%s': diff is not installed", name);
    const struct proc_spec spec = {.file = program,
                                   .argv = (char *const *)(uintptr_t)argv,
                                   .cwd = -1,
                                   .output_max = OUTPUT_MAX,
                                   .timeout_ms = COMPARE_MS};
    if (proc_capture(&spec, &result, err) == -1)
        return err_wrap(err, "cannot compare '%s'", name);
    int rc = result.status <= 1
                 ? 0
                 : err_set(err, MAS_FAILED, "cannot compare '%s': diff exited with code %d", name,
                           result.status);
    if (rc == 0)
        add_lines(ret, &result.out);
    return rc;
}

bool shipped_is_root(const struct shipped *shipped)
{
    struct stat a;
    struct stat b;
    return fstat(shipped->from, &a) == 0 && fstat(shipped->to, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int shipped_names(const struct shipped *shipped, char ***ret, struct err *err)
{
    char **names = NULL;
    size_t kept = 0;

    if (path_list(shipped->from, &names, err) == -1)
        return err_wrap(err, "cannot read the shipped templates");
    sort_names(names);
    for (char **name = names; *name != NULL; name++) {
        if ((*name)[0] == '.')
            free(*name);
        else
            names[kept++] = *name;
    }
    names[kept] = NULL;
    *ret = names;
    return 0;
}

enum shipped_state shipped_look(const struct shipped *shipped, const char *name)
{
    uint64_t mine = 0;
    uint64_t now = 0;

    if (faccessat(shipped->to, name, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return SHIPPED_MISSING;
    if (hash_of(shipped->from, name, &now) == -1)
        return SHIPPED_SAME; /* there is nothing better to give */
    uint64_t then = recorded(shipped, name);
    if (hash_of(shipped->to, name, &mine) == -1)
        return then == now ? SHIPPED_CHANGED : SHIPPED_BEHIND;
    if (mine == now)
        return SHIPPED_SAME;
    if (mine == then)
        return SHIPPED_EARLIER;
    return then == now ? SHIPPED_CHANGED : SHIPPED_BEHIND;
}

/* ---- giving templates to a root */

/* Copies one shipped entry under a temporary name and renames it into place; with `instead`,
 * replaces an existing one. */
static int copy_template(int from, int to, const char *name, bool instead, struct err *err)
{
    _cleanup_free_ char *temp = mem_printf(".new-%s", name);
    _cleanup_free_ char *spare = mem_printf(".old-%s", name);
    struct stat st;

    if (tree_remove(to, temp, err) == -1 || tree_remove(to, spare, err) == -1)
        return -1;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return err_errno(err, "cannot read template '%s'", name);
    if (S_ISREG(st.st_mode)) {
        _cleanup_free_ char *text = NULL;
        size_t len = 0;
        if (file_read(from, name, 1 << 20, &text, &len, err) == -1 ||
            file_create(to, temp, text, len, 0644 & ~file_umask(), err) == -1)
            return -1;
    } else {
        _cleanup_close_ int src = path_open_dir(from, name);
        if (src == -1 || mkdirat(to, temp, 0755) == -1)
            return err_errno(err, "cannot copy template '%s'", name);
        _cleanup_close_ int dst = path_open_dir(to, temp);
        if (dst == -1)
            return err_errno(err, "cannot copy template '%s'", name);
        const struct tree_choice choice = {.without = file_umask()};
        if (tree_copy_choice(src, dst, name, &choice, NULL, NULL, err) == -1) {
            struct err ignored = ERR_INIT;
            (void)tree_remove(to, temp, &ignored);
            return -1;
        }
    }
    int rc = instead ? path_exchange(to, temp, name, spare) : path_rename_new(to, temp, to, name);
    if (rc == -1 && errno != EEXIST)
        return err_errno(err, "cannot put template '%s' in place", name);
    return instead ? tree_remove(to, temp, err) : 0;
}

int shipped_give(int root, bool *ret_made, struct err *err)
{
    _cleanup_shipped_ struct shipped shipped = SHIPPED_INIT;
    _cleanup_strv_ char **names = NULL;

    if (mkdirat(root, ROOT_TEMPLATES, 0755) == 0)
        *ret_made = true;
    else if (errno != EEXIST)
        return err_errno(err, "cannot create '%s'", ROOT_TEMPLATES);
    if (shipped_open(root, &shipped, err) == -1)
        return -1;
    if (shipped_is_root(&shipped))
        return 0;
    if (shipped_names(&shipped, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        enum shipped_state state = shipped_look(&shipped, *name);
        if (state != SHIPPED_MISSING && state != SHIPPED_EARLIER)
            continue;
        if (copy_template(shipped.from, shipped.to, *name, state == SHIPPED_EARLIER, err) == -1)
            return -1;
        *ret_made = true;
    }
    return shipped_write_record(&shipped, err);
}
