/*
 * The part of code/repo_make.h for agents that join a team, or leave it.
 */
#include "code/placed.h"
#include "code/repo_make.h"
#include "code/repo_make_internal.h"
#include "code/setup.h"
#include "code/submodule/module.h"
#include "code/view.h"
#include "code/work.h"
#include "git/lfs.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

enum { CONFIG_MAX = 64 * 1024 }; /* bytes, of code.git */

/* Returns the value of a setting, which the caller frees; each is "KEY\nVALUE" and a NUL. */
static char *value_of(const struct str *settings, const char *key)
{
    const char *end = str_text(settings) + settings->len;

    for (const char *at = str_text(settings); at < end; at += strlen(at) + 1)
        if (str_starts(at, key))
            return mem_dup(at + strlen(key));
    return mem_dup("");
}

int repo_remember_project(const struct repo *repo, struct project *ret, struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_project_ struct project project = PROJECT_INIT;
    _cleanup_close_ int dir = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_result_ struct proc_result person = PROC_RESULT_INIT;
    _cleanup_free_ char *text = NULL;
    char base[GIT_OID_TEXT];
    size_t len = 0;

    if (dir == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    if (file_read(dir, "config", CONFIG_MAX, &text, &len, err) == -1 ||
        repo_ref(repo, repo->main, base, err) == -1 ||
        git_must(&git, GIT_ARGS("config", "-z", "--get-regexp", "^user[.](name|email)$"), NULL,
                 &person, err) == -1)
        return -1;
    project.user_name = value_of(&person.out, "user.name\n");
    project.user_email = value_of(&person.out, "user.email\n");
    project.dir = mem_dup(repo->git);
    project.base = mem_dup(base);
    project.format = mem_dup(strlen(base) == GIT_OID_MAX ? "sha256" : "sha1");
    project.shallow = faccessat(dir, "shallow", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    project.lfs = strstr(text, LFS_CONFIG) != NULL;
    *ret = project;
    project = (struct project)PROJECT_INIT;
    return 0;
}

int repo_add_agent(const struct repo *repo, int dir, const struct project *project,
                   const struct agent *agent, struct err *err)
{
    _cleanup_close_ int code = path_open_dir(dir, CODE_DIR);

    if (code == -1)
        return err_errno(err, "cannot open '" CODE_DIR "'");
    if (agent->code == AGENT_CODE_WORKTREE)
        return repo_make_first(repo, code, agent->id, project, NULL, err) == -1 ||
                       repo_finish_tree(repo, code, agent->id, project, err) == -1
                   ? -1
                   : 0;
    return agent->code == AGENT_CODE_NONE || faccessat(code, CODE_VIEW, F_OK, 0) == 0
               ? 0
               : view_make(repo, dir, code, project->base, err);
}

/* Gives a work tree the index of a commit. What git knows of files that are as there stays, and the
 * others it reads when it is asked for them. */
static int set_index(const struct repo *repo, int code, const char *name, const char *commit,
                     struct err *err)
{
    _cleanup_free_ char *place = repo_tree(repo, name);
    _cleanup_free_ char *git_dir = mem_printf("%s/.git", place);
    _cleanup_free_ char *objects = mem_printf("%s/objects", repo->git);
    _cleanup_close_ int cwd = path_open_dir(code, name);
    const struct git git = {.dir = git_dir, .tree = place, .objects = {objects}, .cwd = cwd};

    return git_must(&git, GIT_ARGS("read-tree", "--reset", commit), NULL, NULL, err);
}

int repo_fork_agent(const struct repo *repo, int dir, const char *parent, struct project *project,
                    const struct agent *agent, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_work_ struct snapshot_tree tree = SNAPSHOT_TREE_INIT;
    _cleanup_close_ int code = path_open_dir(dir, CODE_DIR);

    if (code == -1)
        return err_errno(err, "cannot open '" CODE_DIR "'");
    if (stranger_open(repo, parent, &stranger, err) == -1 ||
        work_snapshot(&stranger, &tree, err) == -1 || work_keep(&tree, err) == -1)
        return -1;
    const struct repo_like like = {.cwd = stranger.cwd, .index = tree.index, .tree = tree.oid};
    free(project->base);
    project->base = mem_dup(stranger.head);
    if (repo_make_first(repo, code, agent->id, project, &like, err) == -1 ||
        repo_finish_tree(repo, code, agent->id, project, err) == -1)
        return -1;
    return strcmp(tree.oid, stranger.head) == 0
               ? 0
               : set_index(repo, code, agent->id, stranger.head, err);
}

/* Returns true for a name that is the agent's: see `key` in struct stranger. */
static bool is_of(const char *name, const char *agent)
{
    size_t len = strlen(agent);

    return str_starts(name, agent) && (name[len] == '\0' || strchr(".@%", name[len]) != NULL);
}

bool repo_has_rest(const struct repo *repo)
{
    static const char *const parts[] = {PLACED_DIR, MODULES_DIR};
    bool has = false;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", repo->git, parts[i]);
        has = has || access(path, F_OK) == 0;
    }
    return has;
}

static int drop_files(int git, const char *part, const char *agent, struct err *err)
{
    _cleanup_close_ int dir = path_open_dir(git, part);
    _cleanup_strv_ char **names = NULL;

    if (dir == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot open '" CODE_GIT "/%s'", part);
    if (path_list(dir, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++)
        if (is_of(*name, agent) && tree_remove(dir, *name, err) == -1)
            return -1;
    return 0;
}

static int drop_refs(const struct repo *repo, const char *agent, struct err *err)
{
    static const char *const kinds[] = {CODE_REF_AGENTS, CODE_REF_HEADS, CODE_REF_LOOKS};
    const struct git git = repo_git(repo);
    _cleanup_free_ char *text = NULL;
    _cleanup_str_ struct str orders = STR_INIT;

    if (git_text(&git,
                 GIT_ARGS("for-each-ref", "--format=%(refname)", kinds[0], kinds[1], kinds[2]),
                 &text, err) == -1)
        return -1;
    for (char *rest = text, *name; (name = strsep(&rest, "\n")) != NULL;)
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
            if (str_starts(name, kinds[i]) && is_of(name + strlen(kinds[i]), agent))
                str_addf(&orders, "delete %s\n", name);
    const struct git_input input = {.text = str_text(&orders), .len = orders.len};
    return orders.len == 0 ? 0
                           : git_must(&git, GIT_ARGS("update-ref", "--stdin"), &input, NULL, err);
}

int repo_drop_agent(const struct repo *repo, const char *agent, struct err *err)
{
    static const char *const parts[] = {CODE_INDEXES, PLACED_DIR, SETUP_DIR, MODULES_DIR};
    _cleanup_close_ int git = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (git == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (drop_files(git, parts[i], agent, err) == -1)
            return -1;
    return drop_refs(repo, agent, err);
}
