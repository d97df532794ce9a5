/*
 * What `mas new --project` and `mas land` of another machine do here, over ssh: see fleet/carry.h.
 * Each step checks its words before they become a path or a ref. Two of them let git talk on the
 * standard files, the others print a line of JSON; `put` then waits for the end of its input, by
 * which it sees that the other machine has gone.
 */

#include "code/land/carried.h"
#include "base/number.h"
#include "base/sha.h"
#include "cli/code.h"
#include "cli/print.h"
#include "cmd.h"
#include "code/land/parcel.h"
#include "os/loop.h"

enum { HOLD_MS = 60 * 60 * 1000 }; /* `mas new` may ask a person first */

static int fail_name(const char *name, struct err *err)
{
    return err_set(err, MAS_USAGE, "cannot take project '%s': invalid name", name);
}

static int make(struct call *call, struct err *err)
{
    char **words = call->operands + 1;
    const struct carried carried = {.name = words[0],
                                    .format = words[1],
                                    .user_name = words[2],
                                    .user_email = words[3],
                                    .place = words[4]};
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *refs = NULL;
    _cleanup_str_ struct str line = STR_INIT;
    struct json_out out = {.to = &line};

    if (!carried_is_name(carried.name))
        return fail_name(carried.name, err);
    if (carried_make(&call->root, &carried, &path, err) == -1 ||
        carried_refs(path, &refs, err) == -1)
        return -1;
    json_put_all(&out, JO(NULL), JT("path", path), JT("refs", refs), JOE);
    print_line(&line);
    return 0;
}

/* Becomes git, which talks to the one at the other end. */
static int serve(const char *dir, const char *service, struct err *err)
{
    int status = 0;

    if (git_as_person(dir, GIT_ARGS(service, "."), &status, err) == -1)
        return -1;
    return status == 0
               ? 0
               : err_set(err, MAS_FAILED, "git %s ended with exit code %d", service, status);
}

/* The last word is the branch that comes, or CARRIED_HEAD alone. */
static int receive(struct call *call, struct err *err)
{
    const char *name = call->operands[1];
    const char *branch = call->operands[2];
    bool is_branch = strcmp(branch, CARRIED_HEAD) != 0;
    _cleanup_free_ char *path = carried_path(&call->root, name);

    if (!carried_is_name(name))
        return fail_name(name, err);
    if (is_branch && !git_is_branch(branch))
        return err_set(err, MAS_USAGE, "'%s' is no branch", branch);
    return is_branch && carried_make_room(path, branch, err) == -1
               ? -1
               : serve(path, "receive-pack", err);
}

static int load(struct call *call, char ret_id[ID_TEXT], struct team *team, struct repo *repo,
                struct err *err)
{
    return call_select(call, call->operands[1], ret_id, err) == -1 ||
                   repo_load(&call->root, ret_id, team, repo, err) == -1
               ? -1
               : 0;
}

static int show(struct call *call, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_str_ struct str line = STR_INIT;
    struct json_out out = {.to = &line};
    char main[GIT_OID_TEXT];
    char id[ID_TEXT];

    if (load(call, id, &team, &repo, err) == -1 || repo_ref(&repo, repo.main, main, err) == -1)
        return -1;
    _cleanup_free_ char *name = carried_name(&call->root, team.project.path);
    json_put_all(&out, JO(NULL), JT("sessionId", id), JT("project", name),
                 JT("label", team.project.label), JT("onto", team.project.onto),
                 JT("base", team.project.base), JT("main", main), JOE);
    print_line(&line);
    return 0;
}

static int send(struct call *call, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    char id[ID_TEXT];

    return load(call, id, &team, &repo, err) == -1 ? -1 : serve(repo.git, "upload-pack", err);
}

static int landed(struct call *call, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_close_ int lock = -1;
    const char *oid = call->operands[2];
    char id[ID_TEXT];

    if (!git_is_oid(oid))
        return err_set(err, MAS_USAGE, "'%s' is no commit", oid);
    if (load(call, id, &team, &repo, err) == -1 || merge_lock(&repo, "land", &lock, err) == -1)
        return -1;
    const struct git git = repo_git(&repo);
    if (git_must(&git, GIT_ARGS("update-ref", CODE_REF_LANDED, oid), NULL, NULL, err) == -1)
        return -1;
    fd_closep(&lock);
    code_record_end(call, &repo);
    printf("{}\n");
    return 0;
}

/* Takes the files that git ignores, and stays until they are not needed any more. */
static int put(struct call *call, struct err *err)
{
    const char *id = call->operands[1];
    const char *sum = call->operands[3];
    _cleanup_close_ int lock = -1;
    uint64_t len = 0;

    if (!id_is_valid(id) || !number_parse_count(call->operands[2], PARCEL_MAX, &len) ||
        !sha256_is_hex(sum))
        return err_set(err, MAS_USAGE, "cannot take files: expected ID, SIZE and SHA-256");
    if (carried_hold(&call->root, id, len, sum, STDIN_FILENO, &lock, err) == -1)
        return -1;
    printf("{}\n");
    (void)fflush(stdout);
    (void)loop_wait_for(STDIN_FILENO, POLLIN, HOLD_MS);
    carried_drop(&call->root, id);
    return 0;
}

/* Checks the words of a pack's steps: NAME SUM [FROM LEN COMMIT]. */
static int read_pack(struct call *call, char **ret_path, off_t *from, off_t *len, struct err *err)
{
    char **words = call->operands + 1;
    uint64_t numbers[2] = {0, 0};

    if (!carried_is_name(words[0]))
        return fail_name(words[0], err);
    if (!sha256_is_hex(words[1]) ||
        (words[2] != NULL && (!number_parse_count(words[2], INT64_MAX, &numbers[0]) ||
                              !number_parse_count(words[3], INT64_MAX, &numbers[1]) ||
                              numbers[0] > numbers[1] || !git_is_oid(words[4]))))
        return err_set(err, MAS_USAGE, "cannot take a pack: expected SUM, FROM, SIZE and COMMIT");
    *from = (off_t)numbers[0];
    *len = (off_t)numbers[1];
    *ret_path = carried_path(&call->root, words[0]);
    return 0;
}

static int begun(struct call *call, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    off_t bytes = 0;
    off_t len = 0;

    if (read_pack(call, &path, &bytes, &len, err) == -1 ||
        carried_pack_begun(path, call->operands[2], &bytes, err) == -1)
        return -1;
    printf("{\"bytes\":%jd}\n", (intmax_t)bytes);
    return 0;
}

/* Once it is whole, git reads it. */
static int append(struct call *call, struct err *err)
{
    const char *sum = call->operands[2];
    _cleanup_free_ char *path = NULL;
    off_t from = 0;
    off_t len = 0;
    bool whole = false;

    if (read_pack(call, &path, &from, &len, err) == -1 ||
        carried_pack_take(path, sum, from, len, &whole, err) == -1)
        return -1;
    if (!whole)
        return err_set(err, MAS_FAILED, "the pack has not come whole");
    int status = 0;
    if (git_as_person(path, GIT_ARGS("index-pack", "--stdin", "--strict"), &status, err) == -1)
        return -1;
    if (status == 0)
        return carried_pack_end(path, sum, call->operands[5], err);
    off_t ignored = 0;
    struct err why = ERR_INIT;
    (void)carried_pack_begun(path, "", &ignored, &why); /* the next one begins again */
    return err_set(err, MAS_DAMAGED, "git index-pack ended with exit code %d", status);
}

static const struct {
    const char *name;
    int words; /* after it */
    int (*run)(struct call *call, struct err *err);
} steps[] = {
    {"make", 5, make},     {"receive", 2, receive}, {"show", 1, show},   {"send", 1, send},
    {"landed", 2, landed}, {"put", 3, put},         {"begun", 2, begun}, {"append", 5, append},
};

static int run_carried(struct call *call, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (strcmp(steps[i].name, call->operands[0]) == 0 &&
            call->operand_count == steps[i].words + 1)
            return steps[i].run(call, err);
    return err_set(err, MAS_USAGE, "'carried' is for 'mas new' and 'mas land' on another machine");
}

const struct cmd cmd_carried = {
    .name = "carried",
    .group = GROUP_HIDDEN,
    .operands = " STEP WORD...",
    .summary = "have a project of another machine, and let its work go home",
    .operands_min = 2,
    .operands_max = 6,
    .root = ROOT_MADE,
    .who = WHO_PERSONS,
    .does = WAITS_LONG,
    .run = run_carried,
};
