/*
 * Whoever can write the list can have programs run, so it counts only in a directory that belongs
 * to this user and that nobody else may write to; a list that cannot be trusted is an empty one,
 * and adding to it fails. An addition reads the file, leaves out what is gone and replaces it,
 * under a lock of its own. Readers take none.
 */

#include "store/known_roots.h"

#include "os/file.h"
#include "os/path.h"
#include "store/root.h"
#include "store/user_state.h"

#define KNOWN_FILE "roots"
#define KNOWN_LOCK ".roots.lock"

enum { KNOWN_LOCK_MS = 5000 };

/* Returns the path in a line "UID PATH" of this user, otherwise NULL. */
static const char *parse_line(const char *line)
{
    char *end;

    errno = 0;
    unsigned long long uid = strtoull(line, &end, 10);
    return line[0] >= '0' && line[0] <= '9' && errno == 0 && uid == geteuid() && end[0] == ' ' &&
                   end[1] == '/'
               ? end + 1
               : NULL;
}

/* Reads the roots in the file; *ret is NULL if there is none. Ignores lines that mas would not
 * write. */
static int read_known(int dir, char ***ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    char *save = NULL;

    if (file_read(dir, KNOWN_FILE, KNOWN_ROOTS_FILE_MAX, &text, &len, err) == -1)
        return err->number == ENOENT ? 0 : -1;
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        const char *path = parse_line(line);
        if (path != NULL && !str_has_control(path))
            strv_push(ret, path);
    }
    return 0;
}

static char **load(void)
{
    _cleanup_free_ char *path = NULL;
    struct err ignored = ERR_INIT; /* an unreadable or untrusted file accepts nothing */
    char **known = NULL;
    _cleanup_close_ int dir = user_state_open(false, &path, &ignored);

    if (dir != -1)
        (void)read_known(dir, &known, &ignored);
    return known;
}

static bool has(char **paths, const char *path)
{
    for (; paths != NULL && *paths != NULL; paths++)
        if (strcmp(*paths, path) == 0)
            return true;
    return false;
}

/* Returns the path without links; NULL if it does not exist. */
static char *default_root(void)
{
    _cleanup_free_ char *path = root_default_path();
    return path != NULL ? path_canonical(path) : NULL;
}

bool known_roots_has(const char *path)
{
    _cleanup_free_ char *own = default_root();

    if (own != NULL && strcmp(own, path) == 0)
        return true;
    _cleanup_strv_ char **known = load();
    return has(known, path);
}

static int write_known(int dir, char **known, const char *path, struct err *err)
{
    _cleanup_strv_ char **kept = NULL;
    _cleanup_str_ struct str text = STR_INIT;

    for (char **at = known; at != NULL && *at != NULL; at++)
        if (strcmp(*at, path) != 0 && root_exists(*at))
            strv_push(&kept, *at);
    strv_push(&kept, path);
    size_t count = strv_len(kept);
    for (char **at = kept + (count > KNOWN_ROOTS_MAX ? count - KNOWN_ROOTS_MAX : 0); *at != NULL;
         at++)
        str_addf(&text, "%ld %s\n", (long)geteuid(), *at);
    return file_replace(dir, KNOWN_FILE, text.data, text.len, 0600, err);
}

int known_roots_add(const char *path, struct err *err)
{
    _cleanup_free_ char *state = NULL;
    _cleanup_strv_ char **known = NULL;
    _cleanup_close_ int lock = -1;
    _cleanup_close_ int dir = user_state_open(true, &state, err);

    if (dir == -1 || file_lock(dir, KNOWN_LOCK, KNOWN_LOCK_MS, "init", &lock, err) == -1 ||
        read_known(dir, &known, err) == -1 || write_known(dir, known, path, err) == -1)
        return err_wrap(err, "cannot remember root '%s'", path);
    return 0;
}

char **known_roots_list(const char *except)
{
    _cleanup_strv_ char **known = load();
    _cleanup_free_ char *own = default_root();
    char **list = NULL;

    if (own != NULL && !has(known, own))
        strv_push(&known, own);
    for (char **at = known; at != NULL && *at != NULL; at++)
        if ((except == NULL || strcmp(*at, except) != 0) && root_exists(*at))
            strv_push(&list, *at);
    return list;
}
