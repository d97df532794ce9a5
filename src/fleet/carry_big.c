/*
 * What is big goes as one pack that is made here first, in the state: as git push, but what has
 * come there stays there when the connection is lost, and the next run goes on behind it. The pack
 * here is named after what it was made of, and is made anew if that has changed:
 *
 *     .NAME.pack/revs             the commit, and those that the other machine had
 *     .NAME.pack/pack-HASH.pack   what the one has that the others lack
 *
 * A kill leaves these, which the next run uses or replaces.
 */
#include "base/number.h"
#include "base/sha.h"
#include "code/land/carried.h"
#include "fleet/carry_internal.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

enum {
    BIG = 8 << 20, /* bytes: less is sent again sooner than it is made a pack of */
    SUM_BYTES = 20, /* at the end of a pack: enough of it */
    NUMBER_TEXT = 24,
};

/* Appends the commit, and "^COMMIT" for each that both machines have. */
static int add_revs(const struct git *git, const char *commit, const char *refs, struct str *to,
                    struct err *err)
{
    _cleanup_str_ struct str asked = STR_INIT;
    _cleanup_result_ struct proc_result known = PROC_RESULT_INIT;

    for (const char *at = refs; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        _cleanup_free_ char *oid = mem_dupn(at, strcspn(at, " \n"));
        if (git_is_oid(oid))
            str_addf(&asked, "%s\n", oid);
    }
    str_addf(to, "%s\n", commit);
    if (asked.len == 0)
        return 0;
    if (git_must(git, GIT_ARGS("cat-file", "--batch-check=%(objectname) %(objecttype)"),
                 &(struct git_input){asked.data, asked.len}, &known, err) == -1)
        return -1;
    char *rest = known.out.data;
    for (char *line; rest != NULL && (line = strsep(&rest, "\n")) != NULL;)
        if (str_ends(line, " commit"))
            str_addf(to, "^%.*s\n", (int)strcspn(line, " "), line);
    return 0;
}

static int is_big(const struct git *git, const struct str *revs, bool *ret, struct err *err)
{
    _cleanup_result_ struct proc_result usage = PROC_RESULT_INIT;
    uint64_t bytes = 0;

    if (git_must(git, GIT_ARGS("rev-list", "--objects", "--disk-usage", "--stdin"),
                 &(struct git_input){revs->data, revs->len}, &usage, err) == -1)
        return -1;
    _cleanup_free_ char *text = mem_dupn(str_text(&usage.out), strcspn(str_text(&usage.out), "\n"));
    *ret = number_parse_count(text, UINT64_MAX, &bytes) && bytes > BIG;
    return 0;
}

/* Opens the pack in a directory. Returns -1 if there is none. */
static int open_pack(int dir)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (path_list(dir, &names, &ignored) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++)
        if (str_ends(*name, ".pack"))
            return openat(dir, *name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return -1;
}

/* Opens the pack of these commits, which is made unless it is there. */
static int make_pack(const struct git *git, int state, const char *name, const struct str *revs,
                     struct err *err)
{
    if (mkdirat(state, name, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '%s'", name);
    _cleanup_close_ int old = path_open_dir(state, name);
    if (old != -1 && file_is(old, "revs", revs->data, revs->len)) {
        int fd = open_pack(old);
        if (fd != -1)
            return fd;
    }
    if (tree_remove(state, name, err) == -1)
        return -1;
    _cleanup_close_ int dir = path_make_dir(state, name, 0700);
    _cleanup_free_ char *path = dir != -1 ? path_of(dir) : NULL;
    if (path == NULL)
        return err_errno(err, "cannot make '%s'", name);
    _cleanup_free_ char *base = mem_printf("%s/pack", path);
    if (git_must(git, GIT_ARGS("pack-objects", "-q", "--revs", "--delta-base-offset", base),
                 &(struct git_input){revs->data, revs->len}, NULL, err) == -1 ||
        file_create(dir, "revs", revs->data, revs->len, 0600, err) == -1)
        return -1;
    int fd = open_pack(dir);
    return fd == -1 ? err_errno(err, "cannot open the pack in '%s'", path) : fd;
}

/* Sends what the other machine lacks of a pack. */
static int send_pack(const struct carry *carry, const char *name, const char *commit, int fd,
                     struct err *err)
{
    _cleanup_json_ struct json *json = NULL;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    unsigned char end[SUM_BYTES];
    char sum[SHA256_TEXT];
    char from[NUMBER_TEXT];
    char len[NUMBER_TEXT];
    struct stat st;

    if (fstat(fd, &st) == -1 || pread(fd, end, sizeof end, st.st_size - SUM_BYTES) != SUM_BYTES)
        return err_errno(err, "cannot read the pack");
    sha256_of(end, sizeof end, sum);
    char *const ask[] = {
        (char[]){"carried"}, (char[]){"--"}, (char[]){"begun"}, (char *)name, sum, NULL};
    if (carry_ask(carry, ask, &json, err) != 0)
        return -1;
    int64_t there = json_int(json_get(json, "bytes"), -1);
    if (there < 0 || there > st.st_size || lseek(fd, there, SEEK_SET) == -1)
        return carry_fail_version(carry, err);
    (void)snprintf(from, sizeof from, "%" PRId64, there);
    (void)snprintf(len, sizeof len, "%jd", (intmax_t)st.st_size);
    char *const words[] = {(char[]){"carried"},
                           (char[]){"append"},
                           (char *)name,
                           sum,
                           from,
                           len,
                           (char *)commit,
                           NULL};
    struct carry_stream stream = {
        .command = {.remote = carry->remote, .words = words}, .in = fd, .out = -1, .other = -1};
    const struct proc_spec spec = carry_stream_spec(&stream);
    if (proc_capture(&spec, &result, err) == -1)
        return -1;
    return result.status == 0 ? 0 : carry_fail_stream(&result, err);
}

int carry_big(const struct carry *carry, const struct project *project, const char *name,
              const char *refs, struct err *err)
{
    const struct git git = {.dir = project->dir};
    _cleanup_free_ char *path = carry_state(carry);
    _cleanup_free_ char *pack = mem_printf(".%s.pack", name);
    _cleanup_str_ struct str revs = STR_INIT;
    bool big = false;

    if (add_revs(&git, project->base, refs, &revs, err) == -1 ||
        is_big(&git, &revs, &big, err) == -1)
        return -1;
    if (!big)
        return 0;
    _cleanup_close_ int state = carry_open_state(path, err);
    _cleanup_close_ int fd = state == -1 ? -1 : make_pack(&git, state, pack, &revs, err);
    if (fd == -1)
        return -1;
    if (send_pack(carry, name, project->base, fd, err) == -1)
        return err_hint(err, "what has come there stays; run it again to go on");
    return tree_remove(state, pack, err);
}
