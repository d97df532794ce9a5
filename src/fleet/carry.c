/*
 * What another machine says is checked here before it becomes a path, a ref or a word: ids, labels,
 * names and branches. What it sends is checked by git.
 */

#include "fleet/carry.h"

#include "base/json.h"
#include "base/sha.h"
#include "code/carried.h"
#include "code/land.h"
#include "code/merge.h"
#include "code/placed.h"
#include "fleet/reach.h"
#include "git/checkout.h"
#include "git/layout.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/path.h"
#include "os/tree.h"
#include "store/session.h"

enum {
    ANSWER_MAX = 64 * 1024,
    ASK_MS = 60 * 1000,
    LOCK_MS = 10 * 60 * 1000, /* for a push of another process */
    HASH_CHARS = 16,
    STEM_MAX = 64, /* bytes of a project's name */
    PLACE_MAX = PATH_MAX,
};

#define SEEN "seen"

/* ---- ways to the other machine */

static int fail_version(const struct carry *carry, struct err *err)
{
    return err_set(err, MAS_DAMAGED, "host '%s' answers as no mas of this version does",
                   carry->remote->name);
}

/* Runs `mas carried ...` there; *ret is the JSON object that it prints. Returns REACH_REFUSED, with
 * *err set, if it has failed there. */
static int ask(const struct carry *carry, char *const *words, struct json **ret, struct err *err)
{
    const struct reach_ask one = {.command = {.remote = carry->remote, .words = words},
                                  .output_max = ANSWER_MAX,
                                  .timeout_ms = ASK_MS};
    int rc = reach_ask_json(&one, ret, err);

    return rc == REACH_STRANGE ? fail_version(carry, err) : rc;
}

/* Appends a word of the command that git is to run. */
static void add_word(struct str *to, const char *word)
{
    str_addc(to, ' ');
    for (; *word != '\0'; word++) {
        if (*word == ' ' || *word == '%')
            str_addc(to, '%');
        str_addc(to, *word);
    }
}

/* Returns the address by which git talks to `mas carried STEP NAME [MORE]` there. */
static char *make_address(const struct carry *carry, const char *step, const char *name,
                          const char *more)
{
    _cleanup_free_ char *mas = path_exe();
    _cleanup_str_ struct str words = STR_INIT;

    add_word(&words, mas != NULL ? mas : "mas");
    if (carry->root != NULL) {
        add_word(&words, "--root");
        add_word(&words, carry->root);
    }
    add_word(&words, "--host");
    add_word(&words, carry->remote->name);
    add_word(&words, "carried");
    add_word(&words, step);
    add_word(&words, name);
    if (more != NULL)
        add_word(&words, more);
    return mem_printf("ext::%s", words.data + 1);
}

/* Makes what git calls such an address (git/git.h). */
static int make_alias(char ret[ID_TEXT + 1], struct err *err)
{
    if (id_make(ret, err) == -1)
        return -1;
    memcpy(ret + strlen(ret), ":", 2);
    return 0;
}

/* Runs git, which talks to the other machine. */
static int talk(const struct git *git, const char *const *args, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    size_t len;

    if (git_run(git, args, NULL, &result, err) == -1)
        return -1;
    if (result.status == 0)
        return 0;
    const char *said = str_text(&result.err);
    const char *why = reach_find_error(said, &len); /* of a mas, here or there */
    if (why == said)
        return git_fail(&result, args[0], err);
    return err_set(err, str_starts(why, "cannot reach host ") ? MAS_UNREACHED : MAS_FAILED, "%.*s",
                   (int)len, why);
}

/* `branch`: the one that is among what goes, in full; NULL: none. */
static int push(const struct carry *carry, const char *dir, const char *name, const char *branch,
                char *const *specs, struct err *err)
{
    static const char *const plain[] = {"push.pushOption=", "push.followTags=false",
                                        "push.gpgSign=false", "push.recurseSubmodules=no", NULL};
    _cleanup_free_ char *address = make_address(
        carry, "receive", name, branch != NULL ? branch + strlen("refs/heads/") : CARRIED_HEAD);
    char alias[ID_TEXT + 1];
    const struct git git = {.dir = dir, .settings = plain, .reaches = address, .alias = alias};

    return make_alias(alias, err) == -1 ? -1
                                        : talk(&git,
                                               GIT_ARGS("push", "--quiet", "--atomic",
                                                        "--no-verify", alias, specs[0], specs[1]),
                                               err);
}

/* ---- what is kept here */

static char *state_path(const struct carry *carry)
{
    _cleanup_free_ char *state = path_user_dir("XDG_STATE_HOME", ".local/state");

    return state != NULL ? mem_printf("%s/mas/home/%s", state, carry->remote->name) : NULL;
}

/* Makes a directory of the state that nobody else may read, and opens it. */
static int open_private(const char *path, struct err *err)
{
    if (path == NULL)
        return err_set(err, MAS_FAILED, "cannot keep a record: HOME is not set");
    if (path_make_dirs(path, err) == -1)
        return -1;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir == -1 || fchmod(dir, 0700) == -1) {
        (void)err_errno(err, "cannot open '%s'", path);
        fd_closep(&dir);
    }
    return dir;
}

/* Returns the path that is recorded for a project; NULL: none was carried to that machine by this
 * name. The caller frees it. */
static char *read_place(const struct carry *carry, const char *name)
{
    _cleanup_free_ char *state = state_path(carry);
    _cleanup_close_ int dir = state != NULL ? open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct err ignored = ERR_INIT;
    char *text = NULL;
    size_t len = 0;

    return dir != -1 && file_read(dir, name, PLACE_MAX, &text, &len, &ignored) == 0 && len > 0
               ? text
               : NULL;
}

/* Returns the path of what says that a branch of a project went to that machine. */
static char *branch_path(const struct carry *carry, const char *name, const char *branch)
{
    _cleanup_free_ char *state = state_path(carry);
    char hash[SHA256_TEXT];

    sha256_of(branch, strlen(branch), hash);
    return mem_printf("%s/.%s-%.*s", state != NULL ? state : "", name, HASH_CHARS, hash);
}

/* Records that a branch of a project goes there; NULL: only a commit does. Until the caller closes
 * *ret_lock nobody else takes anything of this project there: of two pushes git refuses one. */
static int record(const struct carry *carry, const char *name, const char *path, const char *branch,
                  int *ret_lock, struct err *err)
{
    _cleanup_free_ char *state = state_path(carry);
    _cleanup_free_ char *lock = mem_printf(".%s.lock", name);
    _cleanup_close_ int dir = open_private(state, err);

    if (dir == -1)
        return -1;
    if (file_lock(dir, lock, LOCK_MS, "new", ret_lock, err) == -1)
        return err_wrap(err, "cannot lock '%s/%s'", state, lock);
    if (file_replace(dir, name, path, strlen(path), 0600, err) == -1)
        return -1;
    if (branch == NULL)
        return 0;
    _cleanup_free_ char *of_branch = branch_path(carry, name, branch);
    return file_replace(dir, strrchr(of_branch, '/') + 1, branch, strlen(branch), 0600, err);
}

bool carry_took(const struct carry *carry, const struct carried_work *work)
{
    _cleanup_free_ char *path = branch_path(carry, work->name, work->project.onto);

    return access(path, F_OK) == 0;
}

/* ---- there */

/* Returns NAME of a project. */
static char *make_name(const char *path, const char *machine)
{
    _cleanup_free_ char *whole = mem_printf("%s\n%s", machine, path);
    const char *base = strrchr(path, '/') + 1;
    char hash[SHA256_TEXT];
    char stem[STEM_MAX + 1] = "";
    size_t len = 0;

    for (; len < STEM_MAX && base[len] != '\0'; len++) {
        const char one[] = {base[len], '\0'};
        stem[len] = carried_is_name(one) || (len > 0 && strchr("._-", base[len])) ? base[len] : '_';
    }
    sha256_of(whole, strlen(whole), hash);
    return mem_printf("%s-%.*s", len > 0 ? stem : "_", HASH_CHARS, hash);
}

/* Tells what is changed in the work tree and stays. */
static int note_changes(const struct project *project, char ***notes, struct err *err)
{
    _cleanup_checkout_ struct checkout checkout = CHECKOUT_INIT;
    _cleanup_strv_ char **changed = NULL;
    _cleanup_str_ struct str text = STR_INIT;

    if (project->top == NULL)
        return 0;
    _cleanup_free_ char *list = mem_printf("%s/" PLACED_LIST, project->top);
    if (access(list, F_OK) == 0)
        strv_push(notes, "the files that " PLACED_LIST " names are not taken along");
    if (checkout_open(project->top, &checkout, err) == -1 ||
        git_names(&checkout.git, GIT_ARGS("diff", "--name-only", "-z", "HEAD", "--"), &changed,
                  err) == -1)
        return -1;
    if (changed == NULL)
        return 0;
    str_add(&text, "what is changed and not committed is not taken along: ");
    git_show_names(changed, &text);
    strv_push(notes, text.data);
    return 0;
}

/* Fails for a project that cannot be taken along whole. */
static int check_project(struct project *project, char ***notes, struct err *err)
{
    const struct git git = {.dir = project->dir};
    _cleanup_free_ char *modules = mem_printf("%s:.gitmodules", project->base);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (project->shallow) {
        (void)err_set(err, MAS_USAGE,
                      "cannot take project '%s' along: it is a shallow clone, which lacks history",
                      project->path);
        return err_hint(err, "get it with: git fetch --unshallow");
    }
    if (project_check_lfs(project, err) == -1)
        return -1;
    if (project->lfs)
        return err_set(err, MAS_USAGE,
                       "cannot take project '%s' along: it keeps files with git-lfs",
                       project->path);
    if (git_run(&git, GIT_ARGS("cat-file", "-e", modules), NULL, &result, err) == -1)
        return -1;
    if (result.status == 0)
        strv_push(notes, "submodules are not taken along");
    return note_changes(project, notes, err);
}

/* Has the other machine make its repository. *ret is its path there. */
static int make_there(const struct carry *carry, const struct project *project, const char *name,
                      const char *place, char **ret, struct err *err)
{
    _cleanup_json_ struct json *json = NULL;
    char *const words[] = {(char[]){"carried"}, (char[]){"--"},  (char[]){"make"},
                           (char *)name,        project->format, project->user_name,
                           project->user_email, (char *)place,   NULL};

    if (ask(carry, words, &json, err) != 0)
        return -1;
    const char *path = json_get_text(json, "path");
    if (path == NULL || path[0] != '/')
        return fail_version(carry, err);
    *ret = mem_dup(path);
    return 0;
}

static int send_project(const struct carry *carry, const struct project *project, char **ret,
                        struct err *err)
{
    const char *path = project->top != NULL ? project->top : project->path;
    _cleanup_free_ char *machine = NULL;
    const char *branch = project->onto[0] != '\0' ? project->onto : NULL;
    _cleanup_free_ char *there = NULL;
    _cleanup_close_ int lock = -1;

    if (machine_identity(&machine, err) == -1)
        return -1;
    _cleanup_free_ char *name = make_name(path, machine);
    _cleanup_free_ char *place = mem_printf("%s:%s", machine_host(machine), path);
    if (record(carry, name, path, branch, &lock, err) == -1 ||
        make_there(carry, project, name, place, &there, err) == -1)
        return -1;
    char *specs[] = {mem_printf("+%s:" CARRIED_HEAD, project->base),
                     branch != NULL ? mem_printf("+%s:%s", project->base, branch) : NULL};
    int rc = push(carry, project->dir, name, branch, specs, err);
    free(specs[0]);
    free(specs[1]);
    if (rc == 0)
        *ret = branch != NULL ? mem_printf("%s@%s", there, branch + strlen("refs/heads/"))
                              : TAKE_PTR(there);
    return rc;
}

int carry_send(const struct carry *carry, const char *spec, char **ret, char ***notes,
               struct err *err)
{
    _cleanup_project_ struct project project = PROJECT_INIT;

    if (project_open(spec, &project, err) == -1 || project_find_person(&project, err) == -1 ||
        check_project(&project, notes, err) == -1)
        return -1;
    return send_project(carry, &project, ret, err) == -1
               ? err_wrap(err, "cannot take project '%s' to host '%s'", project.path,
                          carry->remote->name)
               : 0;
}

/* ---- the way home */

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
    _cleanup_free_ char *state = state_path(carry);
    _cleanup_json_ struct json *json = NULL;
    char *const words[] = {(char[]){"carried"}, (char[]){"--"}, (char[]){"show"}, (char *)session,
                           NULL};

    if (state == NULL || access(state, F_OK) == -1)
        return 0; /* nothing was carried there */
    int rc = ask(carry, words, &json, err);
    if (rc == REACH_REFUSED) {
        *err = (struct err)ERR_INIT;
        return 0;
    }
    if (rc == -1)
        return -1;
    const char *name = json_get_text(json, "project");
    if (name == NULL || !carried_is_name(name) || (work.path = read_place(carry, name)) == NULL)
        return 0;
    if (!parse_work(json, &work))
        return fail_version(carry, err);
    work.name = mem_dup(name);
    work.project.path = work.path;
    work.workspace = mem_printf("%s/%s", state, work.id);
    *ret = work;
    work = (struct carried_work)CARRIED_WORK_INIT;
    return 0;
}

int carry_note_seen(const struct carried_work *work, struct err *err)
{
    _cleanup_close_ int dir = open_private(work->workspace, err);

    return dir == -1 ? -1 : file_replace(dir, SEEN, work->main, strlen(work->main), 0600, err);
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
    _cleanup_free_ char *head = mem_printf("ref: %s\n", repo->main);
    _cleanup_free_ char *lender = mem_printf("%s/objects\n", project->dir);
    _cleanup_str_ struct str config = STR_INIT;

    if (strchr(project->dir, '\n') != NULL)
        return err_set(err, MAS_USAGE, "cannot use project '%s': its path has a newline",
                       project->path);
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
                      : file_create(info, "alternates", lender, strlen(lender), 0600, err);
}

static int fetch(const struct carry *carry, const struct carried_work *work,
                 const struct repo *repo, struct err *err)
{
    _cleanup_free_ char *address = make_address(carry, "send", work->id, NULL);
    _cleanup_free_ char *main = mem_printf("+%s:%s", repo->main, repo->main);
    char alias[ID_TEXT + 1];
    const struct git git = {.dir = repo->git, .reaches = address, .alias = alias};

    return make_alias(alias, err) == -1 ||
                   talk(&git,
                        GIT_ARGS("fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
                                 "--atomic", alias, main, "+" CODE_REF_BASE ":" CODE_REF_BASE),
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
    struct err ignored = ERR_INIT;
    char now[GIT_OID_TEXT];
    size_t len = 0;

    if (repo_ref(repo, repo->main, now, err) == -1)
        return -1;
    if (file_read(dir, SEEN, GIT_OID_TEXT, &seen, &len, &ignored) == -1 || strcmp(seen, now) == 0)
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
        _cleanup_close_ int dir = open_private(work->workspace, err);
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
    _cleanup_free_ char *spec = mem_printf("+%s:%s", branch, branch);
    char *specs[] = {spec, NULL};
    _cleanup_close_ int lock = -1;

    return record(carry, work->name, work->path, branch, &lock, err) == -1 ||
                   open_project(work, &project, err) == -1
               ? -1
               : push(carry, project.dir, work->name, branch, specs, err);
}

int carry_confirm(const struct carry *carry, const struct carried_work *work,
                  const struct repo *repo, const char *branch, struct err *err)
{
    _cleanup_json_ struct json *json = NULL;
    char landed[GIT_OID_TEXT];
    char *const words[] = {(char[]){"carried"}, (char[]){"landed"}, (char *)work->id, landed, NULL};

    if (repo_ref(repo, repo->main, landed, err) == -1 ||
        carry_branch(carry, work, branch, err) == -1 || ask(carry, words, &json, err) != 0)
        return -1;
    return tree_remove_path(work->workspace, err);
}
