#include "session/lost.h"

#include "code/keep.h"
#include "code/merge.h"
#include "session/archive.h"
#include "store/team_file.h"
#include "store/workspace.h"

void lost_free(struct lost *lost)
{
    free(lost->file);
    lost->file = NULL;
}

/* A session whose work is kept. */
struct lost_work {
    struct team team;
    struct repo repo;
    int lock;
    bool readable; /* false: there may be work, which only the archive can keep */
};

static void lost_work_free(struct lost_work *kept)
{
    fd_closep(&kept->lock);
    repo_free(&kept->repo);
    team_free(&kept->team);
}
#define _cleanup_lost_work_ __attribute__((cleanup(lost_work_free)))

/* Returns true if there is work to keep, or if that cannot be told; *untold is why. */
static bool has_work(const struct life *life, int dir, const char *id, struct lost_work *kept,
                     struct err *untold)
{
    _cleanup_strv_ char **work = NULL;

    if (team_file_load(dir, &kept->team, untold) == -1)
        return true;
    if (kept->team.project.path == NULL)
        return false;
    repo_of(life->root, id, kept->team.project.label, &kept->repo);
    if (merge_lock(&kept->repo, "rm", &kept->lock, untold) == -1 ||
        keep_find(&kept->repo, &kept->team, life->looks, NULL, &work, untold) == -1)
        return true;
    kept->readable = true;
    return work != NULL;
}

int lost_keep(const struct life *life, int dir, const struct session *session, void *arg,
              struct err *err)
{
    struct lost *lost = arg;
    _cleanup_lost_work_ struct lost_work kept = {.team = TEAM_INIT, .repo = REPO_INIT, .lock = -1};
    struct stat st;

    if ((fstatat(dir, CODE_GIT, &st, AT_SYMLINK_NOFOLLOW) == -1 &&
         fstatat(dir, CODE_DIR, &st, AT_SYMLINK_NOFOLLOW) == -1) ||
        !has_work(life, dir, session->id, &kept, &lost->untold))
        return 0;
    if (mkdirat(life->root->fd, LIFE_LOST_DIR, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '%s'", LIFE_LOST_DIR);
    _cleanup_free_ char *file = mem_printf("%s/" LIFE_LOST_DIR "/%s-%lld.tar.zst", life->root->path,
                                           session->id, (long long)time(NULL));
    if (archive_write(life, dir, session, file, &lost->file, err) == -1)
        return err_wrap(err, "cannot keep the work of session '%s'",
                        session_label(life->root, session->id).text);
    if (kept.readable)
        (void)keep_save(&kept.repo, &kept.team, NULL, session->id, &lost->untold);
    return 0;
}
