/* The part of store/template.h that copies templates. */
#include "model/template_name.h"
#include "os/file.h"
#include "os/path.h"
#include "store/template.h"
#include "store/workspace.h"

static int refuse_taken(const char *name, struct err *err)
{
    return err_set(err, MAS_CONFLICT, "cannot copy to template '%s': it exists", name);
}

/* Fills the staging directory and renames it. */
static int fill(const struct template *tmpl, int templates, const char *stage, const char *name,
                tree_tick *tick, void *arg, struct err *err)
{
    struct stat st;
    _cleanup_close_ int dir = path_open_dir(templates, stage);

    if (dir == -1 || fchmod(dir, 0755 & ~file_umask()) == -1)
        return err_errno(err, "cannot create template '%s'", name);
    if (fstatat(tmpl->fd, TEMPLATE_INI, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return err_errno(err, "cannot copy template '%s': cannot read its %s", tmpl->name,
                         TEMPLATE_INI);
    if (tree_copy(tmpl->fd, dir, tmpl->path, tick, arg, err) == -1)
        return -1;
    if (syncfs(dir) == -1)
        return err_errno(err, "cannot sync template '%s'", name);
    if (path_rename_new(templates, stage, templates, name) == -1)
        return errno == EEXIST ? refuse_taken(name, err)
                               : err_errno(err, "cannot put template '%s' in place", name);
    return 0;
}

/* Removes what killed copies left. The caller's lock ensures that there is no other copy. */
static int sweep(int templates, struct err *err)
{
    _cleanup_strv_ char **names = NULL;

    if (path_list(templates, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++)
        if (str_starts(*name, STAGING_PREFIX) && tree_remove(templates, *name, err) == -1)
            return -1;
    return 0;
}

int template_copy(const struct root *root, const char *from, const char *to, tree_tick *tick,
                  void *arg, struct err *err)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    _cleanup_close_ int lock = -1;
    struct err ignored = ERR_INIT;

    if (!str_is_word(to, TEMPLATE_NAME_MAX))
        return err_set(
            err, MAS_USAGE,
            "cannot copy to template '%s': a name must be 1 to 32 letters, digits, _ or -", to);
    if (template_find(root, from, &tmpl, err) == -1)
        return -1;
    _cleanup_close_ int templates =
        openat(root->fd, ROOT_TEMPLATES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (templates == -1)
        return err_errno(err, "cannot open '%s/%s'", root->path, ROOT_TEMPLATES);
    if (faccessat(templates, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return refuse_taken(to, err);
    _cleanup_free_ char *stage = mem_printf(STAGING_PREFIX "%s", to);
    if (root_lock_templates(root, &lock, err) == -1 || sweep(templates, err) == -1)
        return -1;
    if (mkdirat(templates, stage, 0700) == -1)
        return err_errno(err, "cannot create template '%s'", to);
    if (fill(&tmpl, templates, stage, to, tick, arg, err) == -1) {
        (void)tree_remove(templates, stage, &ignored);
        return -1;
    }
    return file_sync_dir(templates, err);
}
