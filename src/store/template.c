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

int template_check_units(const struct template *tmpl, struct err *err)
{
    for (size_t i = 0; tmpl->unit == NULL && i < tmpl->team.agent_count; i++) {
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

char *template_own_name(const char *path)
{
    const char *base = strrchr(path, '/');
    _cleanup_free_ char *name = mem_dup(base != NULL ? base + 1 : path);

    for (char *c = name; *c != '\0'; c++)
        *c = str_is_word((char[]){*c, '\0'}, 1) ? *c : '-';
    return name[strspn(name, "-")] == '\0' ? mem_dup("own")
                                           : mem_dupn(name, strnlen(name, TEMPLATE_NAME_MAX));
}

/* Returns a name like that, with a number if there is such a template. The caller frees it. */
static char *free_name(const struct root *root, const char *path)
{
    _cleanup_free_ char *own = template_own_name(path);
    char *name = mem_dup(own);
    _cleanup_free_ char *at = mem_printf(ROOT_TEMPLATES "/%s", name);

    for (int i = 2; i < 100 && faccessat(root->fd, at, F_OK, AT_SYMLINK_NOFOLLOW) == 0; i++) {
        free(name);
        free(at);
        name = mem_printf("%.29s-%d", own, i);
        at = mem_printf(ROOT_TEMPLATES "/%s", name);
    }
    return name;
}

static int hint_make(const struct root *root, const char *path, const char *what, struct err *err)
{
    _cleanup_free_ char *name = free_name(root, path);
    _cleanup_free_ char *word = mem_name(path);

    return err_hint(err, "%s: mas template make --name %s %s", what, name, word);
}

/* Says how a directory that has no template.ini becomes a template. */
static int hint_without_ini(const struct root *root, const struct template *tmpl, struct err *err)
{
    _cleanup_free_ char *path =
        tmpl->path[0] == '/' ? mem_dup(tmpl->path) : mem_printf("%s/%s", root->path, tmpl->path);
    _cleanup_free_ char *name = free_name(root, path);
    _cleanup_strv_ char **others = template_list(root, false);

    if (template_can_be_made(tmpl->fd))
        return hint_make(root, path, "make a template of its unit/ with", err);
    return others == NULL ? -1
                          : err_hint(err, "begin with a copy of another: mas template copy %s %s",
                                     others[0], name);
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
        return err->number == ENOENT ? hint_without_ini(root, tmpl, err) : -1;
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
    if (template_check_units(&tmpl, err) == -1)
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

/* A copy at work. */
struct copying {
    const struct template *tmpl;
    tree_tick *tick;
    void *arg;
};

static int fill(int dir, void *arg, struct err *err)
{
    const struct copying *copying = arg;
    const struct template *tmpl = copying->tmpl;
    struct stat st;

    if (fstatat(tmpl->fd, TEMPLATE_INI, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return err_errno(err, "cannot copy template '%s': cannot read its %s", tmpl->name,
                         TEMPLATE_INI);
    return tree_copy(tmpl->fd, dir, tmpl->path, copying->tick, copying->arg, err);
}

static int check_new_name(const char *name, const char *what, struct err *err)
{
    return str_is_word(name, TEMPLATE_NAME_MAX)
               ? 0
               : err_set(err, MAS_USAGE,
                         "cannot %s template '%s': a name must be 1 to 32 " STR_WORD_CHARS, what,
                         name);
}

/* Opens templates/ and takes the lock for what comes into it. Returns the descriptor. */
static int open_templates(const struct root *root, int *ret_lock, struct err *err)
{
    _cleanup_close_ int fd = openat(root->fd, ROOT_TEMPLATES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1)
        return err_errno(err, "cannot open '%s/%s'", root->path, ROOT_TEMPLATES);
    return root_lock_templates(root, ret_lock, err) == -1 ? -1 : TAKE_FD(fd);
}

int template_copy(const struct root *root, const char *from, const char *to, tree_tick *tick,
                  void *arg, struct err *err)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    struct copying copying = {&tmpl, tick, arg};
    _cleanup_close_ int lock = -1;

    if (check_new_name(to, "copy to", err) == -1 || template_find(root, from, &tmpl, err) == -1)
        return -1;
    _cleanup_close_ int templates = open_templates(root, &lock, err);
    return templates == -1 ? -1 : template_put(templates, to, "copy to", fill, &copying, err);
}

int template_make_of(const struct root *root, const char *path, const char *name, tree_tick *tick,
                     void *arg, struct err *err)
{
    _cleanup_close_ int from = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int lock = -1;

    if (check_new_name(name, "make", err) == -1)
        return -1;
    if (from == -1)
        return err_errno(err, "cannot make a template of '%s'", path);
    if (faccessat(from, TEMPLATE_INI, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        _cleanup_free_ char *word = mem_name(path);
        (void)err_set(err, MAS_CONFLICT, "cannot make a template of '%s': it is one", path);
        return err_hint(err, "copy it with: mas template copy %s %s", word, name);
    }
    _cleanup_close_ int templates = open_templates(root, &lock, err);
    if (templates == -1 || template_make(from, path, templates, name, tick, arg, err) == 0)
        return templates == -1 ? -1 : 0;
    return err->code == MAS_CONFLICT ? hint_make(root, path, "give it another name", err) : -1;
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
