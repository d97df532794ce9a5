/*
 * Paths and the names of branches are put together here alone. Lists read many refs, so a ref comes
 * from its file or from packed-refs; only what is not plain there costs a process of git. A note is
 * renamed into place but not synced: it is a cache, and whoever reads an empty one does without.
 */

#include "code/repo.h"

#include "git/layout.h"
#include "os/file.h"
#include "os/path.h"
#include "store/session.h"
#include "store/team_file.h"
#include "store/workspace.h"

enum { REF_MAX = 1024 }; /* bytes of a file that holds a ref */

void repo_open(const char *workspace, const char *label, struct repo *ret)
{
    ret->workspace = mem_dup(workspace);
    ret->git = mem_printf("%s/" CODE_GIT, workspace);
    ret->label = mem_dup(label);
    ret->main = mem_printf("refs/heads/mas/%s/main", label);
}

void repo_of(const struct root *root, const char *id, const char *label, struct repo *ret)
{
    _cleanup_free_ char *path = workspace_path(root, id, NULL);

    repo_open(path, label, ret);
}

int repo_load(const struct root *root, const char *id, struct team *ret_team, struct repo *ret,
              struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_close_ int dir = workspace_open(root, id);

    if (dir == -1)
        return err_errno(err, "cannot open session '%s'", session_label(root, id).text);
    if (team_file_load(dir, &team, err) == -1)
        return err_wrap(err, "cannot read session '%s'", session_label(root, id).text);
    if (team.project.path == NULL) {
        (void)err_set(err, MAS_CONFLICT, "session '%s' has no project",
                      session_label(root, id).text);
        return err_hint(err, "give a new session one with: mas new --project DIR");
    }
    repo_of(root, id, team.project.label, ret);
    *ret_team = team;
    team = (struct team)TEAM_INIT;
    return 0;
}

void repo_free(struct repo *repo)
{
    free(repo->workspace);
    free(repo->git);
    free(repo->label);
    free(repo->main);
    *repo = (struct repo)REPO_INIT;
}

char *repo_branch(const struct repo *repo, const char *agent)
{
    return mem_printf("refs/heads/mas/%s/%s", repo->label, agent);
}

char *repo_tree(const struct repo *repo, const char *agent)
{
    return mem_printf("%s/" CODE_DIR "/%s", repo->workspace, agent);
}

const char *repo_dir_of(const struct team *team, const struct agent *agent)
{
    if (team->project.path == NULL || agent->code == AGENT_CODE_NONE)
        return NULL;
    return agent->code == AGENT_CODE_VIEW ? CODE_VIEW : agent->id;
}

void repo_env(const struct repo *repo, const struct team *team, const struct agent *agent,
              struct kv *to)
{
    const char *name = repo_dir_of(team, agent);

    if (team->project.path == NULL)
        return;
    kv_put(to, "MAS_PROJECT", team->project.path);
    if (name == NULL)
        return;
    _cleanup_free_ char *tree = repo_tree(repo, name);
    _cleanup_free_ char *branch =
        strcmp(name, CODE_VIEW) == 0 ? mem_dup(repo->main) : repo_branch(repo, agent->id);
    kv_put(to, "MAS_CODE_DIR", tree);
    kv_put(to, "MAS_CODE_BRANCH", branch + strlen("refs/heads/"));
}

struct git repo_git(const struct repo *repo)
{
    return (struct git){.dir = repo->git};
}

int repo_lock(const struct repo *repo, const char *name, int wait_ms, const char *who, int *ret_fd,
              struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/" CODE_LOCKS, repo->workspace);

    if (mkdir(path, 0700) == -1 && errno != EEXIST) /* as in a session from an archive */
        return err_errno(err, "cannot make '%s'", path);
    _cleanup_close_ int dir = path_open_dir(AT_FDCWD, path);
    return dir == -1 ? err_errno(err, "cannot open '%s'", path)
                     : file_lock(dir, name, wait_ms, who, ret_fd, err);
}

int repo_ref(const struct repo *repo, const char *name, char ret[GIT_OID_TEXT], struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_close_ int dir = open(repo->git, PATH_PLACE | O_CLOEXEC);
    _cleanup_close_ int fd = path_open_beneath(dir, name, O_RDONLY | O_NONBLOCK);
    bool missing = fd == -1 && errno == ENOENT;
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (fd != -1 && file_read_stream(fd, name, REF_MAX, &text, &len, &ignored) == 0) {
        text[strcspn(text, "\n")] = '\0';
        if (git_parse_oid(text, ret))
            return 0;
    }
    if (missing && layout_packed_ref(dir, name, ret) == NULL && ret[0] != '\0')
        return 0;
    free(text);
    text = NULL;
    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", "--quiet", name), &text, err) == -1)
        return -1;
    return git_parse_oid(text, ret)
               ? 0
               : err_set(err, MAS_DAMAGED, "cannot read '%s' of '%s'", name, repo->git);
}

void repo_keep_note(int dir, const char *name, const char *text, size_t len)
{
    _cleanup_free_ char *new = mem_printf("%s.lock", name);
    struct err ignored = ERR_INIT;

    if (file_create(dir, new, text, len, 0600, &ignored) == 0 &&
        renameat(dir, new, dir, name) == -1)
        (void)unlinkat(dir, new, 0);
}

int repo_count_unlanded(const struct repo *repo, size_t *ret, struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_free_ char *text = NULL;

    if (git_text(&git,
                 GIT_ARGS("rev-list", "--count", "--ignore-missing", repo->main, "^" CODE_REF_BASE,
                          "^" CODE_REF_LANDED, "--"),
                 &text, err) == -1)
        return err_wrap(err, "cannot count the commits of '%s'", repo->git);
    *ret = strtoul(text, NULL, 10);
    return 0;
}

int repo_check_team(const struct team *team, struct err *err)
{
    for (size_t i = 0; i < team->agent_count; i++) {
        const struct agent *agent = &team->agents[i];
        if (strcmp(agent->id, "main") == 0 || strcmp(agent->id, CODE_VIEW) == 0)
            return err_set(err, MAS_USAGE,
                           "cannot use a project with agent '%s': branches and directories of mas "
                           "have that name",
                           agent->id);
    }
    return 0;
}
