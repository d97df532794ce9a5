#include "session/lost.h"

#include "base/str.h"
#include "code/keep.h"
#include "code/merge.h"
#include "session/archive.h"
#include "store/team_file.h"
#include "store/workspace.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define LOST_DIR "lost"

void lost_free(struct lost *lost)
{
    free(lost->file);
    lost->file = NULL;
}

int lost_keep(const struct life *life, int dir, const struct session *session, void *arg,
              struct err *err)
{
    struct lost *lost = arg;
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_free_ char *path = workspace_path(life->root, session->id, NULL);
    _cleanup_strv_ char **work = NULL;
    _cleanup_close_ int lock = -1;
    struct err ignored = ERR_INIT;

    if (team_file_load(dir, &team, &ignored) == -1 || team.project.path == NULL)
        return 0;
    repo_open(path, team.project.label, &repo);
    if (merge_lock(&repo, "rm", &lock, err) == -1 || keep_find(&repo, &team, &work, err) == -1)
        return -1;
    if (work == NULL)
        return 0;
    if (mkdirat(life->root->fd, LOST_DIR, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '%s'", LOST_DIR);
    _cleanup_free_ char *file = mem_printf("%s/" LOST_DIR "/%s-%lld.tar.zst", life->root->path,
                                           session->id, (long long)time(NULL));
    if (archive_write(life, dir, session, file, &lost->file, err) == -1)
        return err_wrap(err, "cannot keep the work of session '%s'",
                        session_label(life->root, session->id).text);
    (void)keep_save(&repo, &team, session->id, &lost->untold);
    return 0;
}
