#include "session/unlanded.h"

#include "base/str.h"
#include "code/keep.h"
#include "code/merge.h"
#include "store/session.h"
#include "store/team_file.h"
#include "store/workspace.h"

#include <stdlib.h>

int unlanded_check(const struct root *root, int dir, const char *id, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_free_ char *path = workspace_path(root, id, NULL);
    _cleanup_strv_ char **work = NULL;
    _cleanup_str_ struct str all = STR_INIT;
    _cleanup_close_ int lock = -1;
    struct err ignored = ERR_INIT;
    const struct session_label label = session_label(root, id);

    if (team_file_load(dir, &team, &ignored) == -1 || team.project.path == NULL)
        return 0; /* the session was never made with a project, or is damaged in another way */
    repo_open(path, team.project.label, &repo);
    if (merge_lock(&repo, "rm", &lock, err) == -1 || keep_find(&repo, &team, &work, err) == -1)
        return err_wrap(err, "cannot remove session '%s'", label.text);
    for (char **one = work; one != NULL && *one != NULL; one++) {
        str_add(&all, all.len > 0 ? "; " : "");
        str_add(&all, *one);
    }
    if (all.len == 0)
        return 0;
    (void)err_set(err, MAS_CONFLICT,
                  "cannot remove session '%s': it has work that is not in the project: %s",
                  label.text, str_text(&all));
    return err_hint(err, "see it with: mas diff %s; bring it home with: mas merge, mas land",
                    label.text);
}
