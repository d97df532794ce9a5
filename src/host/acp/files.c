/*
 * A request is refused in the protocol's own words: each check sets a struct refusal, and
 * files_serve() sends it. Which files belong to mas or to others is judged by the path, before
 * anything is opened. A write that is killed has changed no file: it leaves at most new directories
 * and a temporary file, which a later write replaces.
 */

#include "host/acp/files.h"

#include "code/repo.h"
#include "os/file.h"
#include "os/path.h"
#include "protocol/rpc.h"
#include "store/every.h"
#include "store/snapshot.h"
#include "store/workspace.h"

enum { WRITE_NAME_MAX = 64 };

const char *work_place_find(const struct work_place *place, const char *path,
                            const struct work_root **ret_root)
{
    for (size_t i = 0; i < place->count; i++) {
        const struct work_root *root = &place->roots[i];
        size_t len = strlen(root->path);

        if (strncmp(path, root->path, len) != 0 || (path[len] != '/' && path[len] != '\0'))
            continue;
        path += len;
        path += strspn(path, "/");
        *ret_root = root;
        return *path != '\0' ? path : ".";
    }
    return NULL;
}

/* A failure in the protocol's words. */
struct refusal {
    int code;
    const char *why;
};

static struct refusal refusal_of(int error)
{
    if (error == ENOENT || error == ENOTDIR)
        return (struct refusal){ACP_NO_SUCH, "there is no such file"};
    if (error == ELOOP)
        return (struct refusal){RPC_INVALID_PARAMS, "symbolic links are not followed"};
    if (error == EXDEV)
        return (struct refusal){RPC_INVALID_PARAMS, "the path leads out of the workspace"};
    return (struct refusal){RPC_INTERNAL_ERROR, strerror(error)};
}

static const struct refusal outside = {RPC_INVALID_PARAMS, "the path is not in the workspace"};
static const struct refusal not_text = {RPC_INTERNAL_ERROR, "it is not a text file (UTF-8)"};
static const struct refusal too_large = {RPC_INTERNAL_ERROR, "it is too large (16 MiB at most)"};
static const struct refusal not_regular = {RPC_INTERNAL_ERROR, "it is not a regular file"};
static const struct refusal of_mas = {RPC_INVALID_PARAMS, "this file belongs to mas"};
static const struct refusal of_others = {RPC_INVALID_PARAMS,
                                         "this repository is not the agent's own"};
static const struct refusal only_read = {RPC_INVALID_PARAMS, "this place is only for reading"};
static const struct refusal no_path = {RPC_INVALID_PARAMS, "path is missing"};
static const struct refusal no_content = {RPC_INVALID_PARAMS, "content is missing"};

/* ---- reading */

static int read_whole(const struct work_root *root, const char *rel, char **ret, size_t *ret_len,
                      struct refusal *refusal)
{
    _cleanup_close_ int fd = path_open_beneath(root->dir, rel, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct err err = ERR_INIT;
    struct stat st;

    if (fd == -1 || fstat(fd, &st) == -1) {
        *refusal = refusal_of(errno);
        return -1;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > AGENT_FILE_MAX) {
        *refusal = S_ISREG(st.st_mode) ? too_large : not_regular;
        return -1;
    }
    if (file_read_stream(fd, rel, AGENT_FILE_MAX, ret, ret_len, &err) == -1) {
        *refusal = err.number == EFBIG ? too_large : refusal_of(err.number);
        return -1;
    }
    return 0;
}

/* Returns where line `line` (from 1) begins; the end of the text if it has fewer lines. */
static char *find_line(char *text, int64_t line)
{
    for (; line > 1 && *text != '\0'; line--) {
        char *newline = strchr(text, '\n');

        text = newline != NULL ? newline + 1 : text + strlen(text);
    }
    return text;
}

static void serve_read(const struct work_root *root, const char *rel, struct acp *acp,
                       const struct acp_request *request, struct refusal *refusal)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};
    int64_t line = json_int(json_get(request->params, "line"), 1);
    int64_t limit = json_int(json_get(request->params, "limit"), -1);
    size_t len = 0;

    if (read_whole(root, rel, &text, &len, refusal) == -1)
        return;
    if (memchr(text, '\0', len) != NULL || !str_is_utf8(text, len)) {
        *refusal = not_text;
        return;
    }
    char *from = find_line(text, line);
    if (limit >= 0)
        *find_line(from, limit + 1) = '\0';
    json_put_all(&out, JO(NULL), JT("content", from), JOE);
    acp_answer_request(acp, request->ticket, result.data);
}

/* ---- writing */

/* Returns the first part of a path that is not "."; *ret_len is its length. */
static const char *first_part(const char *rel, size_t *ret_len)
{
    rel += strspn(rel, "/");
    while (rel[0] == '.' && (rel[1] == '/' || rel[1] == '\0'))
        rel += 1 + strspn(rel + 1, "/");
    *ret_len = strcspn(rel, "/");
    return rel;
}

/* Returns true for a path in code.git, in the view or in the repository of another agent. */
static bool is_of_others(const struct work_place *place, const char *rel)
{
    static const char dir[] = CODE_DIR;
    static const char git[] = CODE_GIT;
    size_t len;

    rel = first_part(rel, &len);
    if (!place->project || len == 0)
        return false;
    if (len == strlen(git) && strncmp(rel, git, len) == 0)
        return true;
    if (len != strlen(dir) || strncmp(rel, dir, len) != 0)
        return false;
    rel = first_part(rel + len, &len);
    return !place->writer || len != strlen(place->agent) || strncmp(rel, place->agent, len) != 0;
}

/* Returns true for a file that mas keeps in a workspace. */
static bool is_of_mas(const char *rel)
{
    static const char *const names[] = {
        WORKSPACE_CONFIG "*", WORKSPACE_LIMITS "*",   WORKSPACE_RUN,         WORKSPACE_LOGS,
        WORKSPACE_CODE_LOCKS, WORKSPACE_SNAPSHOT "*", WORKSPACE_SESSION "*", WORKSPACE_MEMORY "*",
        STAGING_PREFIX "*",   TRASH_PREFIX "*",       ".migrate*",           WORKSPACE_PICTURES,
        EVERY_FILE "*",       EVERY_ENV "*"};
    size_t len;

    rel = first_part(rel, &len);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t known = strlen(names[i]);

        if (names[i][known - 1] == '*' ? strncmp(rel, names[i], known - 1) == 0
                                       : len == known && strncmp(rel, names[i], len) == 0)
            return true;
    }
    return false;
}

/* Finds the mode that the file gets. Returns -1, and sets *refusal, if it cannot be written. */
static int find_mode(int dir, const char *name, mode_t *ret, struct refusal *refusal)
{
    struct stat st;

    if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        *refusal = not_regular;
        return -1;
    }
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1 && errno == ENOENT) {
        *ret = 0666 & ~file_umask();
        return 0;
    }
    if (!S_ISREG(st.st_mode)) {
        *refusal = S_ISLNK(st.st_mode) ? refusal_of(ELOOP) : not_regular;
        return -1;
    }
    if (faccessat(dir, name, W_OK, AT_EACCESS) == -1) {
        *refusal = refusal_of(errno);
        return -1;
    }
    *ret = st.st_mode & 07777;
    return 0;
}

/* Writes the text to `temp` in `at` and renames it to `name` in `dir`. */
static int put_whole(int at, const char *temp, int dir, const char *name, const char *text,
                     mode_t mode)
{
    struct err err = ERR_INIT;

    (void)unlinkat(at, temp, 0); /* left by a host that was killed while it wrote */
    bool made = file_create(at, temp, text, strlen(text), mode, &err) == 0;
    if (made && renameat(at, temp, dir, name) == 0)
        return 0;
    int number = made ? errno : err.number;
    (void)unlinkat(at, temp, 0);
    errno = number;
    return -1;
}

static void serve_write(const struct work_place *place, const struct work_root *root,
                        const char *rel, struct acp *acp, const struct acp_request *request,
                        struct refusal *refusal)
{
    const char *text = json_get_text(request->params, "content");
    const char *name = NULL;
    char temp[WRITE_NAME_MAX];
    mode_t mode = 0;

    if (text == NULL || strlen(text) > AGENT_FILE_MAX) {
        *refusal = text == NULL ? no_content : too_large;
        return;
    }
    if (root->read_only) {
        *refusal = only_read;
        return;
    }
    if (root->workspace && is_of_mas(rel)) {
        *refusal = of_mas;
        return;
    }
    if (root->workspace && is_of_others(place, rel)) {
        *refusal = of_others;
        return;
    }
    _cleanup_close_ int dir = path_make_above(root->dir, rel, PATH_BY_UMASK, &name);
    if (dir == -1) {
        *refusal = refusal_of(errno);
        return;
    }
    if (find_mode(dir, name, &mode, refusal) == -1)
        return;
    (void)snprintf(temp, sizeof temp, ".write-%s", place->agent);
    int rc = put_whole(place->run, temp, dir, name, text, mode);
    if (rc == -1 && errno == EXDEV) /* run/ is on another file system */
        rc = put_whole(dir, temp, dir, name, text, mode);
    if (rc == -1)
        *refusal = refusal_of(errno);
    else
        acp_answer_request(acp, request->ticket, "{}");
}

bool files_serve(const struct work_place *place, struct acp *acp, const struct acp_request *request)
{
    bool reads = strcmp(request->method, "fs/read_text_file") == 0;
    const char *path = json_get_text(request->params, "path");
    const struct work_root *root = NULL;
    struct refusal refusal = {0, NULL};
    const char *rel;

    if (!reads && strcmp(request->method, "fs/write_text_file") != 0)
        return false;
    rel = path != NULL ? work_place_find(place, path, &root) : NULL;
    if (rel == NULL)
        refusal = path != NULL ? outside : no_path;
    else if (reads)
        serve_read(root, rel, acp, request, &refusal);
    else
        serve_write(place, root, rel, acp, request, &refusal);
    if (refusal.why != NULL) {
        _cleanup_free_ char *words = mem_printf("cannot %s '%s': %s", reads ? "read" : "write",
                                                path != NULL ? path : "", refusal.why);

        acp_refuse(acp, request->ticket, refusal.code, words);
    }
    return true;
}
