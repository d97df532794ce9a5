/*
 * The way home: what the session is of, its branch, and the word that it has landed.
 */
#include "base/json.h"
#include "code/land/carried.h"
#include "code/land/land.h"
#include "code/merge.h"
#include "code/submodule/submodule.h"
#include "fleet/carry_internal.h"
#include "fleet/reach.h"
#include "git/layout.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"
#include "store/session.h"

#define SEEN "seen"

enum { PLACE_MAX = PATH_MAX };

char *carry_read_place(const struct carry *carry, const char *name)
{
    _cleanup_free_ char *state = carry_state(carry);
    _cleanup_close_ int dir = state != NULL ? open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct err ignored = ERR_INIT;
    char *text = NULL;
    size_t len = 0;

    return dir != -1 && file_read(dir, name, PLACE_MAX, &text, &len, &ignored) == 0 && len > 0
               ? text
               : NULL;
}

bool carry_took(const struct carry *carry, const struct carried_work *work)
{
    _cleanup_free_ char *path = carry_branch_path(carry, work->name, work->project.onto);

    return access(path, F_OK) == 0;
}

void carried_work_free(struct carried_work *work)
{
    free(work->path);
    free(work->name);
    free(work->project.onto);
    free(work->project.base);
    free(work->project.label);
    free(work->workspace);
    *work = (struct carried_work)CARRIED_WORK_INIT;
}

/* Takes what another machine says of a session; false if it cannot be so. */
static bool parse_work(const struct json *json, struct carried_work *work)
{
    const char *id = json_get_text(json, "sessionId");
    const char *label = json_get_text(json, "label");
    const char *onto = json_get_text(json, "onto");
    const char *base = json_get_text(json, "base");
    const char *main = json_get_text(json, "main");

    if (id == NULL || !id_is_valid(id) || label == NULL || strchr(label, '/') != NULL ||
        !git_is_branch(label) || onto == NULL || base == NULL || !git_is_oid(base) ||
        main == NULL || !git_parse_oid(main, work->main) ||
        (onto[0] != '\0' &&
         (!str_starts(onto, "refs/heads/") || !git_is_branch(onto + strlen("refs/heads/")))))
        return false;
    memcpy(work->id, id, ID_TEXT);
    work->project.label = mem_dup(label);
    work->project.onto = mem_dup(onto);
    work->project.base = mem_dup(base);
    return true;
}

int carry_look(const struct carry *carry, const char *session, struct carried_work *ret,
               struct err *err)
{
    _cleanup_carried_ struct carried_work work = CARRIED_WORK_INIT;
    _cleanup_free_ char *state = carry_state(carry);
    _cleanup_json_ struct json *json = NULL;
    char *const words[] = {(char[]){"carried"}, (char[]){"--"}, (char[]){"show"}, (char *)session,
                           NULL};

    if (state == NULL || access(state, F_OK) == -1)
        return 0; /* nothing was carried there */
    int rc = carry_ask(carry, words, &json, err);
    if (rc == REACH_REFUSED) {
        *err = (struct err)ERR_INIT;
        return 0;
    }
    if (rc == -1)
        return -1;
    const char *name = json_get_text(json, "project");
    if (name == NULL || !carried_is_name(name) ||
        (work.path = carry_read_place(carry, name)) == NULL)
        return 0;
    if (!parse_work(json, &work))
        return carry_fail_version(carry, err);
    work.name = mem_dup(name);
    work.project.path = work.path;
    work.workspace = mem_printf("%s/%s", state, work.id);
    *ret = work;
    work = (struct carried_work)CARRIED_WORK_INIT;
    return 0;
}

int carry_note_seen(const char *workspace, const char *commit, struct err *err)
{
    _cleanup_close_ int dir = carry_open_state(workspace, err);

    return dir == -1 ? -1 : file_replace(dir, SEEN, commit, strlen(commit), 0600, err);
}

/* Returns the label of a session whose work is here, as the HEAD of its repository has it; NULL: it
 * is not. The caller frees it. */
static char *read_label(int state, const char *id)
{
    static const char begin[] = "ref: refs/heads/mas/";
    static const char end[] = "/main\n";
    _cleanup_free_ char *path = mem_printf("%s/" CODE_GIT, id);
    _cleanup_close_ int dir = path_open_beneath(state, path, O_RDONLY | O_DIRECTORY);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    return dir != -1 && file_read(dir, "HEAD", PATH_MAX, &text, &len, &ignored) == 0 &&
                   str_starts(text, begin) && str_ends(text, end)
               ? mem_dupn(text + strlen(begin), len - strlen(begin) - strlen(end))
               : NULL;
}

int carry_finish(const struct carry *carry, const char *session, bool *ret, struct err *err)
{
    _cleanup_free_ char *path = carry_state(carry);
    _cleanup_close_ int state = path != NULL ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    _cleanup_strv_ char **names = NULL;
    int rc = 0;

    *ret = false;
    if (state == -1 || path_list(state, &names, err) == -1)
        return state == -1 ? 0 : -1;
    for (char **id = names; *id != NULL && rc == 0 && !*ret; id++) {
        _cleanup_free_ char *label = id_is_valid(*id) ? read_label(state, *id) : NULL;
        if (label == NULL || (strcmp(label, session) != 0 && !str_starts(*id, session)))
            continue;
        _cleanup_free_ char *workspace = mem_printf("%s/%s", path, *id);
        _cleanup_repo_ struct repo repo = REPO_INIT;
        _cleanup_close_ int lock = -1;
        repo_open(workspace, label, &repo);
        if (land_was_killed(&repo))
            rc = merge_lock(&repo, "land", &lock, err) == -1 ? -1 : land_finish(&repo, ret, err);
    }
    return rc;
}

/* Opens the project here. `mas set` of the session would name a directory there. */
static int open_project(const struct carried_work *work, struct project *ret, struct err *err)
{
    return project_reopen(work->path, ret, err) == -1
               ? err_hint(err, "put it back there, or a symbolic link to it")
               : 0;
}

/* Makes the repository that is fetched into. */
static int make_repo(const struct repo *repo, int dir, const struct project *project,
                     struct err *err)
{
    _cleanup_submodule_commits_ struct submodule_commits modules = {.dirs = NULL};
    _cleanup_free_ char *head = mem_printf("ref: %s\n", repo->main);
    _cleanup_str_ struct str lenders = STR_INIT;
    _cleanup_str_ struct str config = STR_INIT;

    if (strchr(project->dir, '\n') != NULL)
        return err_set(err, MAS_USAGE, "cannot use project '%s': its path has a newline",
                       project->path);
    if (submodule_list(project, project->base, NULL, &modules, err) == -1)
        return -1;
    str_addf(&lenders, "%s/objects\n", project->dir);
    for (char **of = modules.dirs; of != NULL && *of != NULL; of++)
        if (strchr(*of, '\n') == NULL)
            str_addf(&lenders, "%s/objects\n", *of);
    if (tree_remove(dir, CODE_GIT, err) == -1)
        return -1;
    _cleanup_close_ int to = path_make_dir(dir, CODE_GIT, 0700);
    if (to == -1)
        return err_errno(err, "cannot make '%s'", repo->git);
    layout_begin(&config, project->format, true);
    layout_set_user(&config, project->user_name, project->user_email); /* who commits what lands */
    if (layout_make(to, head, &config, err) == -1)
        return -1;
    _cleanup_close_ int info = path_open_beneath(to, "objects/info", O_RDONLY | O_DIRECTORY);
    return info == -1 ? err_errno(err, "cannot open '%s'", repo->git)
                      : file_create(info, "alternates", lenders.data, lenders.len, 0600, err);
}

static int fetch(const struct carry *carry, const struct carried_work *work,
                 const struct repo *repo, struct err *err)
{
    _cleanup_free_ char *address = carry_address(carry, "send", work->id, NULL);
    _cleanup_free_ char *main = mem_printf("+%s:%s", repo->main, repo->main);
    char alias[ID_TEXT + 1];
    const struct git git = {.dir = repo->git, .reaches = address, .alias = alias};

    return carry_alias(alias, err) == -1 ||
                   carry_talk(&git,
                              GIT_ARGS("fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
                                       "--atomic", alias, main, "+" CODE_REF_BASE ":" CODE_REF_BASE,
                                       "+" CODE_REF_SUBMODULES "*:" CODE_REF_SUBMODULES "*"),
                              err) == -1
               ? err_wrap(err, "cannot fetch session '%s:%s'", carry->remote->name,
                          work->project.label)
               : 0;
}

/* Fails if the branch is not what a person saw last; whoever never looked takes what comes. */
static int check_seen(const struct carry *carry, const struct carried_work *work, int dir,
                      const struct repo *repo, struct err *err)
{
    _cleanup_free_ char *seen = NULL;
    char now[GIT_OID_TEXT];
    size_t len = 0;

    if (repo_ref(repo, repo->main, now, err) == -1)
        return -1;
    int looked = file_read_if_there(dir, SEEN, GIT_OID_TEXT, &seen, &len, err);
    if (looked == -1)
        return err_wrap(err, "cannot tell what was shown in '%s'", work->workspace);
    if (looked == 0 || strcmp(seen, now) == 0)
        return 0;
    (void)err_set(err, MAS_CONFLICT,
                  "cannot land session '%s:%s': it has moved on since it was shown, from %.12s to "
                  "%.12s",
                  carry->remote->name, work->project.label, seen, now);
    return err_hint(err, "look again with: mas diff %s:%s main", carry->remote->name,
                    work->project.label);
}

static int fetch_into(const struct carry *carry, const struct carried_work *work, int dir,
                      struct repo *ret, int *ret_lock, struct err *err)
{
    _cleanup_project_ struct project project = PROJECT_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_close_ int lock = -1;

    if (open_project(work, &project, err) == -1 || project_find_person(&project, err) == -1)
        return -1;
    repo_open(work->workspace, work->project.label, &repo);
    if (mkdirat(dir, CODE_GIT, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '%s'", repo.git);
    if (merge_lock(&repo, "land", &lock, err) == -1)
        return -1;
    if (!file_is_named(AT_FDCWD, work->workspace, dir, NULL))
        return err_set(err, MAS_CONFLICT, "'%s' was removed", work->workspace);
    if ((!land_was_killed(&repo) && make_repo(&repo, dir, &project, err) == -1) ||
        fetch(carry, work, &repo, err) == -1 || check_seen(carry, work, dir, &repo, err) == -1)
        return -1;
    *ret = repo;
    repo = (struct repo)REPO_INIT;
    *ret_lock = TAKE_FD(lock);
    return 0;
}

int carry_fetch(const struct carry *carry, const struct carried_work *work, struct repo *ret,
                int *ret_lock, struct err *err)
{
    for (;;) {
        _cleanup_close_ int dir = carry_open_state(work->workspace, err);
        if (dir == -1 || fetch_into(carry, work, dir, ret, ret_lock, err) == 0)
            return dir == -1 ? -1 : 0;
        if (file_is_named(AT_FDCWD, work->workspace, dir, NULL))
            return -1;
        *err = (struct err)ERR_INIT; /* another landing has ended, which removed it */
    }
}

int carry_branch(const struct carry *carry, const struct carried_work *work, const char *branch,
                 struct err *err)
{
    _cleanup_project_ struct project project = PROJECT_INIT;
    _cleanup_freight_ struct carry_freight freight = {.specs = NULL};
    _cleanup_free_ char *spec = mem_printf("+%s:%s", branch, branch);
    _cleanup_close_ int lock = -1;

    strv_push(&freight.specs, spec);
    return carry_record(carry, work->name, work->path, branch, &lock, err) == -1 ||
                   open_project(work, &project, err) == -1 ||
                   carry_load_submodules(&project, branch, NULL, &freight, err) == -1
               ? -1
               : carry_push(carry, project.dir, work->name, branch, &freight, err);
}

int carry_confirm(const struct carry *carry, const struct carried_work *work,
                  const struct repo *repo, const char *branch, struct err *err)
{
    _cleanup_json_ struct json *json = NULL;
    char landed[GIT_OID_TEXT];
    char *const words[] = {(char[]){"carried"}, (char[]){"landed"}, (char *)work->id, landed, NULL};

    if (repo_ref(repo, repo->main, landed, err) == -1 ||
        carry_branch(carry, work, branch, err) == -1 || carry_ask(carry, words, &json, err) != 0)
        return -1;
    return tree_remove_path(work->workspace, err);
}
