/*
 * Finds, opens and checks templates, then copies and edits them. The directory is opened first, and
 * everything is read below that descriptor, of which the owner was checked, so nothing can be
 * exchanged between the check and the use. Only an edit changes a template.
 */

#include "store/template.h"

#include "model/ini.h"
#include "model/template_name.h"
#include "os/file.h"
#include "os/path.h"
#include "store/workspace.h"

#include <sys/file.h>

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **template_list(const struct root *root, bool all)
{
    _cleanup_close_ int dir = openat(root->fd, ROOT_TEMPLATES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    char **found = NULL;

    if (dir == -1 || path_list(dir, &names, &ignored) == -1)
        return NULL;
    for (char **name = names; *name != NULL; name++) {
        _cleanup_free_ char *ini = mem_printf("%s/%s", *name, TEMPLATE_INI);
        struct stat st;
        bool is_good = str_is_word(*name, TEMPLATE_NAME_MAX) && faccessat(dir, ini, F_OK, 0) == 0;
        if (is_good ||
            (all && (*name)[0] != '.' && fstatat(dir, *name, &st, 0) == 0 && S_ISDIR(st.st_mode)))
            strv_push(&found, *name);
    }
    if (found != NULL)
        qsort(found, strv_len(found), sizeof *found, compare_text);
    return found;
}

/* Lists "default, pair, solo" for the error about a wrong name. */
static void list_names(const struct root *root, struct str *to)
{
    _cleanup_strv_ char **all = template_list(root, false);

    for (char **name = all; name != NULL && *name != NULL && to->len < 400; name++)
        str_addf(to, "%s%s", to->len > 0 ? ", " : "", *name);
}

static int missing(const struct root *root, const char *name, struct err *err)
{
    _cleanup_str_ struct str names = STR_INIT;
    list_names(root, &names);
    (void)err_set(err, MAS_NOT_FOUND, "cannot use template '%s': there is no such template", name);
    if (names.len > 0)
        return err_hint(err, "the templates are: %s", names.data);
    _cleanup_free_ char *path = mem_name(root->path);
    return err_hint(err, "get the shipped templates with: mas init %s", path);
}

static int check_parts(const struct template *tmpl, struct err *err)
{
    for (size_t i = 0; i < tmpl->team.agent_count; i++) {
        _cleanup_free_ char *dir = mem_printf("%s/%s", WORKSPACE_UNIT, tmpl->team.agents[i].id);
        _cleanup_close_ int fd = path_open_beneath(tmpl->fd, dir, PATH_PLACE);
        if (fd == -1)
            return err_errno(err, "cannot use template '%s': agent %s has no directory %s",
                             tmpl->name, tmpl->team.agents[i].id, dir);
    }
    return 0;
}

int template_resolve(const struct root *root, const char *text, char **ret, struct err *err)
{
    if (strchr(text, '/') == NULL && strcmp(text, ".") != 0 && strcmp(text, "..") != 0) {
        *ret = mem_dup(text);
        return 0;
    }
    _cleanup_free_ char *path = path_canonical(text);
    if (path == NULL && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, MAS_NOT_FOUND, "cannot use template '%s': there is no such directory",
                       text);
    if (path == NULL)
        return err_errno(err, "cannot use template '%s'", text);
    if (template_check_name(path) != NULL)
        return err_set(err, MAS_USAGE,
                       "cannot use template '%s': its path is longer than %d bytes, is not UTF-8, "
                       "or contains control characters",
                       path, TEMPLATE_PATH_MAX);
    _cleanup_free_ char *own = mem_printf("%s/%s/", root->path, ROOT_TEMPLATES);
    if (str_starts(path, own) && str_is_word(path + strlen(own), TEMPLATE_NAME_MAX))
        *ret = mem_dup(path + strlen(own));
    else
        *ret = mem_dup(path);
    return 0;
}

/* Checks the owner: another user's file could name any program. */
static int check_owner(const struct template *tmpl, int fd, const char *what, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) == -1)
        return err_errno(err, "cannot use template '%s'", tmpl->name);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        (void)err_set(err, MAS_FAILED, "cannot use template '%s': %s belongs to user %ld",
                      tmpl->name, what, (long)st.st_uid);
    else if ((st.st_mode & S_IWOTH) != 0)
        (void)err_set(err, MAS_FAILED, "cannot use template '%s': everybody may write to %s",
                      tmpl->name, what);
    else
        return 0;
    if (tmpl->name[0] == '/')
        return err_hint(
            err, "it names programs to run; inspect it, then copy it with: mas template copy");
    return err_hint(err, "it names programs that mas runs, so nobody else may write to it");
}

int template_find(const struct root *root, const char *name, struct template *ret, struct err *err)
{
    bool is_path = name[0] == '/';

    if (template_check_name(name) != NULL)
        return err_set(err, MAS_USAGE, "cannot use template '%s': a name must be %s", name,
                       template_check_name(name));
    _cleanup_free_ char *rel = mem_printf("%s/%s", ROOT_TEMPLATES, name);
    int fd = openat(root->fd, is_path ? name : rel, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1 && is_path && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, MAS_NOT_FOUND, "cannot use template '%s': there is no such directory",
                       name);
    if (fd == -1 && is_path)
        return err_errno(err, "cannot use template '%s'", name);
    if (fd == -1)
        return errno == ENOENT || errno == ENOTDIR
                   ? missing(root, name, err)
                   : err_errno(err, "cannot open template '%s'", name);
    *ret =
        (struct template){.name = mem_dup(name), .path = mem_dup(is_path ? name : rel), .fd = fd};
    return 0;
}

char *template_file(const struct root *root, const struct template *tmpl, const char *part)
{
    bool is_path = tmpl->path[0] == '/';
    return mem_printf("%s%s%s/%s", is_path ? "" : root->path, is_path ? "" : "/", tmpl->path, part);
}

int template_open_ini(const struct root *root, const struct template *tmpl, struct err *err)
{
    _cleanup_free_ char *file = template_file(root, tmpl, TEMPLATE_INI);

    if (check_owner(tmpl, tmpl->fd, "it", err) == -1)
        return -1;
    _cleanup_close_ int ini = path_open_beneath(tmpl->fd, TEMPLATE_INI, O_RDONLY | O_NONBLOCK);
    if (ini == -1) {
        /* a directory that is not a template */
        (void)err_errno(err, "cannot read '%s'", file);
        if (err->number == ENOENT && strchr(tmpl->name, '/') != NULL)
            err->code = MAS_NOT_FOUND;
        return -1;
    }
    if (check_owner(tmpl, ini, TEMPLATE_INI, err) == -1)
        return -1;
    return TAKE_FD(ini);
}

int template_open(const struct root *root, const char *name, struct template *ret, struct err *err)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;

    if (template_find(root, name, &tmpl, err) == -1)
        return -1;
    _cleanup_free_ char *file = template_file(root, &tmpl, TEMPLATE_INI);
    _cleanup_close_ int ini = template_open_ini(root, &tmpl, err);
    if (ini == -1)
        return -1;
    if (team_read_ini(ini, file, &tmpl.team, err) == -1) {
        err->code = MAS_FAILED;
        (void)err_wrap(err, "cannot use template '%s'", name);
        return err_hint(err, "see all errors with: mas template check %s", name);
    }
    if (check_parts(&tmpl, err) == -1)
        return -1;
    *ret = tmpl;
    tmpl = (struct template)TEMPLATE_INIT;
    return 0;
}

void template_free(struct template *tmpl)
{
    free(tmpl->name);
    free(tmpl->path);
    free(tmpl->unit);
    fd_closep(&tmpl->fd);
    team_free(&tmpl->team);
    *tmpl = (struct template)TEMPLATE_INIT;
}

/* ---- copies */

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
    if (file_sync_all(dir) == -1)
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
        return err_set(err, MAS_USAGE,
                       "cannot copy to template '%s': a name must be 1 to 32 " STR_WORD_CHARS, to);
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

/* ---- edits */

static int make_copy(struct template_edit *edit, struct err *err)
{
    struct stat st;
    int dir = edit->tmpl.fd;

    if (file_read(dir, TEMPLATE_INI, INI_FILE_MAX, &edit->text, &edit->len, err) == -1)
        return -1;
    if (fstatat(dir, TEMPLATE_INI, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return err_errno(err, "cannot read its %s", TEMPLATE_INI);
    edit->mode = st.st_mode & 0777;
    if (file_create(dir, TEMPLATE_EDIT_FILE, edit->text, edit->len, edit->mode | S_IWUSR, err) == 0)
        return 0;
    edit->resumed = err->number == EEXIST;
    return edit->resumed ? 0 : -1;
}

int template_edit_begin(const struct root *root, const char *name, struct template_edit *ret,
                        struct err *err)
{
    struct template_edit edit = {.tmpl = TEMPLATE_INIT};
    struct err ignored = ERR_INIT;
    int rc = template_find(root, name, &edit.tmpl, err);

    if (rc == -1)
        return -1;
    if (flock(edit.tmpl.fd, LOCK_EX | LOCK_NB) == -1)
        rc = errno == EWOULDBLOCK
                 ? err_set(err, MAS_CONFLICT,
                           "cannot edit template '%s': another command is editing it", name)
                 : err_errno(err, "cannot edit template '%s'", name);
    else if (make_copy(&edit, &ignored) == -1)
        rc = err_set(err, MAS_FAILED, "cannot edit template '%s': %s", name, ignored.text);
    edit.path = template_file(root, &edit.tmpl, TEMPLATE_EDIT_FILE);
    if (rc == -1)
        template_edit_free(&edit);
    else
        *ret = edit;
    return rc;
}

int template_edit_changed(const struct template_edit *edit, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (file_read(edit->tmpl.fd, TEMPLATE_EDIT_FILE, INI_FILE_MAX, &text, &len, err) == -1)
        return -1;
    return len != edit->len || memcmp(text, edit->text, len) != 0;
}

int template_edit_finish(const struct template_edit *edit, struct err *err)
{
    _cleanup_free_ char *now = NULL;
    _cleanup_free_ char *text = NULL;
    size_t now_len = 0;
    size_t len = 0;
    int dir = edit->tmpl.fd;

    if (file_read(dir, TEMPLATE_INI, INI_FILE_MAX, &now, &now_len, err) == -1 ||
        file_read(dir, TEMPLATE_EDIT_FILE, INI_FILE_MAX, &text, &len, err) == -1)
        return -1;
    if (now_len != edit->len || memcmp(now, edit->text, now_len) != 0)
        return err_set(err, MAS_CONFLICT,
                       "cannot change template '%s': its %s has changed in the meantime",
                       edit->tmpl.name, TEMPLATE_INI);
    if (file_replace(dir, TEMPLATE_INI, text, len, edit->mode, err) == -1)
        return -1;
    template_edit_drop(edit);
    return 0;
}

void template_edit_drop(const struct template_edit *edit)
{
    (void)unlinkat(edit->tmpl.fd, TEMPLATE_EDIT_FILE, 0);
}

void template_edit_free(struct template_edit *edit)
{
    template_free(&edit->tmpl);
    free(edit->path);
    free(edit->text);
    *edit = (struct template_edit){.tmpl = TEMPLATE_INIT};
}
