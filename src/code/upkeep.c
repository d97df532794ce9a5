#include "code/upkeep.h"

#include "code/stranger.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"

enum {
    PACKS_MAX = 16, /* more of them, small ones, are put together */
    SAMPLE_MAX = 1, /* loose objects whose names begin with SAMPLE: as git, mas counts no others */
    FANOUT = 256,
};
#define SAMPLE "17"

/* Counts the packs that may be put together. */
static size_t count_packs(int objects)
{
    _cleanup_close_ int dir = path_open_dir(objects, "pack");
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    size_t packs = 0;
    size_t kept = 0;

    if (dir == -1 || path_list(dir, &names, &ignored) == -1)
        return 0;
    for (char **name = names; *name != NULL; name++) {
        packs += str_ends(*name, ".pack");
        kept += str_ends(*name, ".keep");
    }
    return packs > kept ? packs - kept : 0;
}

/* Lists the loose objects of one directory; NULL: there is none. The caller frees the list. */
static char **list_loose(int objects, const char *fan)
{
    _cleanup_close_ int dir = path_open_dir(objects, fan);
    char **names = NULL;
    struct err ignored = ERR_INIT;

    return dir == -1 || path_list(dir, &names, &ignored) == -1 ? NULL : names;
}

static bool has_many_loose(int objects)
{
    _cleanup_strv_ char **names = list_loose(objects, SAMPLE);

    return names != NULL && strv_len(names) > SAMPLE_MAX;
}

static int pack(const struct repo *repo)
{
    const struct git git = repo_git(repo);
    struct err ignored = ERR_INIT;

    return git_must(&git, GIT_ARGS("repack", "-d", "-l", "-n", "-q", "--geometric=2"), NULL, NULL,
                    &ignored);
}

static void remove_loose(int objects, const char *oid)
{
    const char fan[] = {oid[0], oid[1], '\0'};
    _cleanup_close_ int dir = path_open_dir(objects, fan);

    if (dir != -1)
        (void)unlinkat(dir, oid + 2, 0);
}

/* Removes the loose objects of an agent that code.git has. */
static void thin_out(const struct repo *repo, int objects)
{
    const struct git git = repo_git(repo);
    _cleanup_str_ struct str names = STR_INIT;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;

    for (unsigned i = 0; i < FANOUT; i++) {
        char fan[3];
        (void)snprintf(fan, sizeof fan, "%02x", i);
        _cleanup_strv_ char **list = list_loose(objects, fan);
        for (char **name = list; name != NULL && *name != NULL; name++) {
            _cleanup_free_ char *oid = mem_printf("%s%s", fan, *name);
            if (git_is_oid(oid))
                str_addf(&names, "%s\n", oid);
        }
    }
    if (git_must(&git, GIT_ARGS("cat-file", "--buffer", "--batch-check=%(objectname)"),
                 &(struct git_input){str_text(&names), names.len}, &result, &ignored) == -1)
        return;
    /* of an object that is not there: its name and " missing" */
    char *rest = result.out.data;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (git_is_oid(line))
            remove_loose(objects, line);
}

/* Does it for an agent who has collected many. */
static void look_at(const struct repo *repo, const char *agent, bool *packed)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    struct err ignored = ERR_INIT;

    if (stranger_open(repo, agent, &stranger, &ignored) == -1 || !stranger_borrows(&stranger))
        return;
    _cleanup_close_ int objects = path_open_dir(stranger.fd, "objects");
    if (objects == -1 || !has_many_loose(objects) || proc_working_below(stranger.tree, "git") != 0)
        return;
    *packed = *packed || pack(repo) == 0; /* git syncs packs, and no loose objects */
    if (*packed)
        thin_out(repo, objects);
}

void upkeep(const struct repo *repo, const struct team *team)
{
    _cleanup_close_ int code = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int objects = code == -1 ? -1 : path_open_dir(code, "objects");

    if (objects == -1)
        return;
    bool packed = (count_packs(objects) > PACKS_MAX || has_many_loose(objects)) && pack(repo) == 0;
    for (size_t i = 0; i < team->agent_count; i++)
        if (team->agents[i].code == AGENT_CODE_WORKTREE)
            look_at(repo, team->agents[i].id, &packed);
}
