#include "session/unlanded.h"

#include "code/keep.h"
#include "code/merge.h"
#include "store/session.h"
#include "store/team_file.h"
#include "store/workspace.h"

int unlanded_check(const struct life *life, int dir, const char *id, struct err *err)
{
    const struct root *root = life->root;
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_strv_ char **work = NULL;
    _cleanup_str_ struct str all = STR_INIT;
    _cleanup_close_ int lock = -1;
    struct stat st;

    if (fstatat(dir, CODE_GIT, &st, AT_SYMLINK_NOFOLLOW) == -1 &&
        fstatat(dir, CODE_DIR, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return 0; /* it was made without a project */
    if (team_file_load(dir, &team, err) == -1)
        return err_wrap(err, "cannot tell whether session '%s' has work",
                        session_label(root, id).text);
    if (team.project.path == NULL)
        return 0;
    repo_of(root, id, team.project.label, &repo);
    if (merge_lock(&repo, "rm", &lock, err) == -1 ||
        keep_find(&repo, &team, life->looks, NULL, &work, err) == -1)
        return err_wrap(err, "cannot remove session '%s'", session_label(root, id).text);
    for (char **one = work; one != NULL && *one != NULL; one++) {
        str_add(&all, all.len > 0 ? "; " : "");
        str_add(&all, *one);
    }
    if (all.len == 0)
        return 0;
    const struct session_label label = session_label(root, id);
    (void)err_set(err, MAS_CONFLICT,
                  "cannot remove session '%s': it has work that is not in the project: %s",
                  label.text, str_text(&all));
    return err_hint(
        err,
        "see it with: mas diff %s; bring it home with: mas merge %s all && mas land %s; "
        "or remove it and keep its work aside with: mas rm -f %s",
        label.text, label.text, label.text, label.text);
}
