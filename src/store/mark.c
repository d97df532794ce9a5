#include "store/mark.h"

#include "base/id.h"
#include "os/file.h"

enum { MARK_FILE_MAX = 256 };

struct mark {
    char id[ID_TEXT];
    bool own; /* sessions/ is on another disk than the root */
};

/* Reads what the root has kept. Returns 0 if that is nothing, or of another root; -1: nobody can
 * tell now. */
static int read_root(int root, struct mark *ret)
{
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    uintmax_t inode = 0;
    char word[8] = "";
    struct stat st;
    size_t len = 0;

    if (file_read(root, MARK_ROOT, MARK_FILE_MAX, &text, &len, &why) == -1)
        return file_is_wrong(&why) ? 0 : -1;
    if (fstat(root, &st) == -1 ||
        sscanf(text, "%36s %20" SCNuMAX " %7s", ret->id, &inode, word) != 3 ||
        !id_is_valid(ret->id) || inode != (uintmax_t)st.st_ino)
        return 0;
    ret->own = strcmp(word, "own") == 0;
    return 1;
}

static bool read_sessions(int sessions, char ret[ID_TEXT])
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (file_read(sessions, MARK_SESSIONS, MARK_FILE_MAX, &text, &len, &ignored) == -1)
        return false;
    (void)snprintf(ret, ID_TEXT, "%.*s", (int)strcspn(text, "\n"), text);
    return id_is_valid(ret);
}

static bool has_own_disk(int root, int sessions)
{
    struct stat a, b;

    return fstat(root, &a) == 0 && fstat(sessions, &b) == 0 && a.st_dev != b.st_dev;
}

const char *mark_fault(int root, int sessions)
{
    struct mark mark;
    char id[ID_TEXT];
    int known = read_root(root, &mark);
    if (known != 1)
        return known == -1 ? "its mark cannot be read" : NULL;
    if (sessions == -1)
        return "it is missing";
    if (!read_sessions(sessions, id) || strcmp(id, mark.id) != 0)
        return "it has not the mark of this root";
    return mark.own && !has_own_disk(root, sessions) ? "its disk is not mounted" : NULL;
}

void mark_make(int root, int sessions)
{
    bool own = has_own_disk(root, sessions);
    struct err ignored = ERR_INIT;
    char line[MARK_FILE_MAX];
    struct mark mark;
    char id[ID_TEXT];
    struct stat st;

    int known = read_root(root, &mark);
    if (known == -1 || (known == 1 && mark.own == own) || fstat(root, &st) == -1)
        return;
    if (!read_sessions(sessions, id)) {
        if (id_make(id, &ignored) == -1)
            return;
        (void)snprintf(line, sizeof line, "%s\n", id);
        if (file_replace(sessions, MARK_SESSIONS, line, strlen(line), 0600, &ignored) == -1)
            return;
    }
    (void)snprintf(line, sizeof line, "%s %ju %s\n", id, (uintmax_t)st.st_ino,
                   own ? "own" : "same");
    (void)file_replace(root, MARK_ROOT, line, strlen(line), 0600, &ignored);
}
