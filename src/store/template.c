/*
 * Finds, opens and checks templates; the other template_*.c copy and edit them. The directory is
 * opened first, and everything is read below that descriptor, of which the owner was checked, so
 * nothing can be exchanged between the check and the use. Nothing here changes a template.
 */

#include "store/template.h"

#include "os/path.h"
#include "store/template_internal.h"
#include "store/workspace.h"

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
    fd_closep(&tmpl->fd);
    team_free(&tmpl->team);
    *tmpl = (struct template)TEMPLATE_INIT;
}
