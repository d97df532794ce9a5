/*
 * The part of session/doctor/doctor.h that checks the repositories of a session with a project. It
 * looks at what is cheap: it reads no object, which `git fsck` does. It keeps off while a command
 * has the lock of code.git, and takes that itself with --fix. Leftovers come first, then code.git
 * itself, and only if that can be read what was interrupted: a landing, a try, a reset, a sync.
 */

#include "code/land/land.h"
#include "code/merge.h"
#include "code/stranger.h"
#include "code/sync.h"
#include "code/tried.h"
#include "code/view.h"
#include "git/locks.h"
#include "os/file.h"
#include "os/path.h"
#include "session/doctor/doctor_internal.h"
#include "session/places.h"
#include "store/team_file.h"
#include "store/workspace.h"

/* The repositories of one session. */
struct code {
    struct doctor *doctor;
    const char *id;
    const struct team *team;
    struct repo repo;
    int git; /* code.git */
};

/* Reports locks of git that killed processes left in a repository. */
static void check_locks(struct code *code, int dir, const char *path, const char *shown,
                        const char *tree)
{
    _cleanup_strv_ char **locks = NULL;
    struct err why = ERR_INIT;

    if (lock_find_left(dir, path, tree, &locks, &why) == -1) {
        doctor_add(code->doctor, FINDING_HAND, code->id, "%s: %s", shown, why.text);
        return;
    }
    for (char **lock = locks; lock != NULL && *lock != NULL; lock++) {
        _cleanup_free_ char *what = mem_printf("a killed git left %s/%s", shown, *lock);
        int rc = 0;
        if (code->doctor->fix) {
            char *slash = strrchr(*lock, '/');
            _cleanup_free_ char *parent =
                slash != NULL ? mem_dupn(*lock, (size_t)(slash - *lock)) : NULL;
            _cleanup_close_ int at =
                parent != NULL ? path_open_beneath(dir, parent, O_RDONLY | O_DIRECTORY) : -1;
            rc = unlinkat(parent != NULL ? at : dir, slash != NULL ? slash + 1 : *lock, 0);
            if (rc == -1)
                (void)err_errno(&why, "unlink");
        }
        doctor_mend(code->doctor, code->id, what, rc, &why);
    }
}

/* Reports what killed commands left in code.git. Its lock is held, or nobody has it. */
static void check_left(struct code *code)
{
    static const char *const names[] = {"incoming", "scratch", "landing.new"};
    _cleanup_close_ int objects = path_open_dir(code->git, "objects");
    _cleanup_strv_ char **tmp = NULL;
    struct err why = ERR_INIT;
    struct stat st;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (fstatat(code->git, names[i], &st, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        _cleanup_free_ char *what = mem_printf("a killed command left " CODE_GIT "/%s", names[i]);
        int rc = code->doctor->fix ? tree_remove(code->git, names[i], &why) : 0;
        doctor_mend(code->doctor, code->id, what, rc, &why);
    }
    if (objects == -1 || path_list(objects, &tmp, &why) == -1)
        return;
    for (char **name = tmp; *name != NULL; name++) {
        if (!str_starts(*name, "tmp_objdir-mas"))
            continue;
        _cleanup_free_ char *what =
            mem_printf("a killed command left " CODE_GIT "/objects/%s", *name);
        int rc = code->doctor->fix ? tree_remove(objects, *name, &why) : 0;
        doctor_mend(code->doctor, code->id, what, rc, &why);
    }
}

static void check_landing(struct code *code)
{
    struct err why = ERR_INIT;
    struct stat st;
    bool finished = false;

    if (fstatat(code->git, "landing", &st, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    int rc = code->doctor->fix ? land_finish(&code->repo, &finished, &why) : 0;
    doctor_mend(code->doctor, code->id, "a landing was interrupted", rc, &why);
}

/* Reports a try that was killed while it moved files. */
static void check_tried(struct code *code, int workspace)
{
    struct tried_place place;
    struct tried_notes notes = TRIED_NOTES_INIT;
    _cleanup_tried_ struct tried tried = TRIED_INIT;
    struct err why = ERR_INIT;

    if (!tried_look(workspace, &place))
        return;
    if (place.half) {
        _cleanup_free_ char *what =
            mem_printf("files of agent '%s' are half tried in '%s'", place.agent, place.top);
        int rc = code->doctor->fix ? tried_open(place.top, &tried, &why) : 0;
        if (rc == 0 && tried.half) /* nobody has mended it meanwhile */
            rc = tried_off(&tried, &notes, &why);
        doctor_mend(code->doctor, code->id, what, rc, &why);
        for (char **path = notes.kept; path != NULL && *path != NULL; path++)
            doctor_add(code->doctor, FINDING_NOTE, code->id,
                       "a file was changed while it was tried, and is kept: %s", *path);
    }
    tried_notes_free(&notes);
    tried_place_free(&place);
}

/* Checks code.git itself. Returns false if no more can be told. */
static bool check_own(struct code *code, char ret_main[GIT_OID_TEXT])
{
    static const char *const parts[] = {"objects", "objects/pack", "refs"};
    const struct git git = repo_git(&code->repo);
    _cleanup_free_ char *text = NULL;
    _cleanup_free_ char *tree = mem_printf("%s^{tree}", code->repo.main);
    struct err why = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_close_ int fd = path_open_beneath(code->git, parts[i], PATH_PLACE);
        if (fd != -1)
            continue;
        doctor_add(code->doctor, FINDING_HAND, code->id, CODE_GIT "/%s is missing", parts[i]);
        return false;
    }
    if (faccessat(code->git, "objects/info/alternates", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        doctor_add(code->doctor, FINDING_HAND, code->id,
                   CODE_GIT " borrows objects from elsewhere, and may lose them");
    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", code->repo.main), &text, &why) == -1 ||
        !git_parse_oid(text, ret_main) ||
        git_must(&git, GIT_ARGS("cat-file", "-e", tree), NULL, NULL, &why) == -1) {
        doctor_add(code->doctor, FINDING_HAND, code->id, CODE_GIT " is damaged: %s",
                   why.code != MAS_OK ? why.text : text);
        return false;
    }
    return true;
}

/* Reports a sync that was killed. Returns true if its locks stay: they tell what it was about to do
 * with files that it may have moved already, and must not go before it is finished. */
static bool check_sync(struct code *code, const struct stranger *stranger)
{
    struct err why = ERR_INIT;

    if (!sync_is_left(stranger))
        return false;
    _cleanup_free_ char *what = mem_printf("a sync of agent '%s' was interrupted", stranger->agent);
    int rc = code->doctor->fix ? sync_finish(&code->repo, stranger->agent, &why) : 0;
    doctor_mend(code->doctor, code->id, what, rc, &why);
    return !code->doctor->fix || rc == -1;
}

static void check_agent(struct code *code, const char *agent)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_free_ char *shown = mem_printf(CODE_DIR "/%s/.git", agent);
    struct err why = ERR_INIT;

    if (stranger_open(&code->repo, agent, &stranger, &why) == -1) {
        doctor_add(code->doctor, FINDING_HAND, code->id, "%s", why.text);
        return;
    }
    _cleanup_free_ char *path = mem_printf("%s/.git", stranger.tree);
    _cleanup_free_ char *tree = mem_printf("%s^{tree}", stranger.head);
    const struct git git = stranger_git(&stranger, NULL);
    if (!check_sync(code, &stranger))
        check_locks(code, stranger.fd, path, shown, stranger.tree);
    if (git_must(&git, GIT_ARGS("cat-file", "-e", tree), NULL, NULL, &why) == -1)
        doctor_add(code->doctor, FINDING_HAND, code->id, "%s lacks the commit %.12s of its HEAD",
                   shown, stranger.head);
}

/* Reports resets that were killed. */
static void check_resets(struct code *code, int workspace)
{
    _cleanup_close_ int dir = path_open_dir(workspace, CODE_DIR);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (dir == -1 || path_list(dir, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++) {
        const char *agent = *name + strlen(PLACES_OLD);
        if (!str_starts(*name, PLACES_OLD) || !str_is_word(agent, TEAM_WORD_MAX))
            continue;
        if (team_agent(code->team, agent) != NULL)
            doctor_add(code->doctor, FINDING_HAND, code->id,
                       "a reset of agent '%s' was interrupted; finish it with: mas reset %s %s",
                       agent, code->id, agent);
        else
            doctor_add(code->doctor, FINDING_HAND, code->id,
                       CODE_DIR "/%s is of no agent; remove it if nobody needs it", *name);
    }
}

static void check_view(struct code *code, const char *main)
{
    struct err why = ERR_INIT;
    char head[GIT_OID_TEXT];

    if (faccessat(code->git, CODE_VIEW_GIT, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    if (view_head(&code->repo, head, &why) == -1) {
        doctor_add(code->doctor, FINDING_HAND, code->id, "%s", why.text);
        return;
    }
    if (strcmp(head, main) == 0)
        return;
    int rc = code->doctor->fix ? view_move(&code->repo, main, &why) : 0;
    doctor_mend(code->doctor, code->id, "its view does not show the integration branch", rc, &why);
}

static void check_all(struct code *code, int workspace)
{
    char main[GIT_OID_TEXT];
    const struct git own = repo_git(&code->repo);
    enum project_kind kind = project_look(&own, code->team->project.path, code->team->project.base);

    if (kind != PROJECT_SAME)
        doctor_add(code->doctor, FINDING_NOTE, code->id,
                   "its project '%s' is %s; only mas land and mas sync --project need it; say "
                   "where it is now with: mas set %s project=DIR",
                   code->team->project.path,
                   kind == PROJECT_GONE ? "gone" : "another repository now, or none", code->id);
    check_left(code);
    check_locks(code, code->git, code->repo.git, CODE_GIT, NULL);
    if (!check_own(code, main))
        return;
    check_landing(code);
    check_tried(code, workspace);
    check_resets(code, workspace);
    for (size_t i = 0; i < code->team->agent_count; i++)
        if (code->team->agents[i].code == AGENT_CODE_WORKTREE &&
            !places_half_reset(workspace, code->team->agents[i].id))
            check_agent(code, code->team->agents[i].id);
    check_view(code, main);
}

void doctor_check_code(struct doctor *doctor, int dir, const char *id)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    struct code code = {.doctor = doctor, .id = id, .team = &team, .repo = REPO_INIT, .git = -1};
    _cleanup_close_ int lock = -1;
    struct err why = ERR_INIT;

    if (team_file_load(dir, &team, &why) == -1 || team.project.path == NULL)
        return;
    code.git = path_open_dir(dir, CODE_GIT);
    if (code.git == -1) {
        doctor_add(doctor, FINDING_HAND, id, "its " CODE_GIT " is missing or no directory");
        return;
    }
    repo_of(doctor->root, id, team.project.label, &code.repo);
    _cleanup_close_ int locks = path_open_dir(dir, CODE_LOCKS);
    if (locks != -1 && file_is_locked(locks, CODE_LOCK))
        doctor_add(doctor, FINDING_NOTE, id, "busy, its repositories were not looked at");
    else if (doctor->fix && merge_hold(&code.repo, "doctor", &lock, &why) == -1)
        doctor_add(doctor, FINDING_HAND, id, "%s", why.text);
    else if (git_check(&why) == -1)
        doctor_add(doctor, FINDING_HAND, id, "its repositories were not looked at: %s", why.text);
    else
        check_all(&code, dir);
    repo_free(&code.repo);
    fd_closep(&code.git);
}
