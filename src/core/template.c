#include "core/template.h"

#include "base/path.h"
#include "base/str.h"
#include "core/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **template_list(const struct root *root)
{
    _cleanup_close_ int dir = openat(root->fd, ROOT_TEMPLATES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    char **found = NULL;

    if (dir == -1 || path_list(dir, &names, &ignored) == -1)
        return NULL;
    for (char **name = names; *name != NULL; name++) {
        _cleanup_free_ char *ini = mem_printf("%s/template.ini", *name);
        if (str_is_word(*name, 32) && faccessat(dir, ini, F_OK, 0) == 0)
            strv_push(&found, *name);
    }
    if (found != NULL)
        qsort(found, strv_len(found), sizeof *found, compare_text);
    return found;
}

/* "default, pair, solo" for the error that a name is wrong. */
static void list_names(const struct root *root, struct str *to)
{
    _cleanup_strv_ char **all = template_list(root);

    for (char **name = all; name != NULL && *name != NULL && to->len < 400; name++)
        str_addf(to, "%s%s", to->len > 0 ? ", " : "", *name);
}

static int missing(const struct root *root, const char *name, struct err *err)
{
    _cleanup_str_ struct str names = STR_INIT;
    list_names(root, &names);
    (void)err_set(err, MAS_NOT_FOUND, "cannot use template '%s': there is none of that name", name);
    if (names.len > 0)
        return err_hint(err, "templates here: %s", names.data);
    return err_hint(err, "get the shipped templates with: mas init '%s'", root->path);
}

static int check_parts(const struct template *tmpl, struct err *err)
{
    for (size_t i = 0; i < tmpl->team.agent_count; i++) {
        _cleanup_free_ char *dir = mem_printf("%s/%s", WORKSPACE_UNIT, tmpl->team.agents[i].id);
        _cleanup_close_ int fd = path_open_beneath(tmpl->fd, dir, O_PATH | O_DIRECTORY);
        if (fd == -1)
            return err_errno(err, "cannot use template '%s': agent %s has no directory %s",
                             tmpl->name, tmpl->team.agents[i].id, dir);
    }
    return 0;
}

int template_open(const struct root *root, const char *name, struct template *ret, struct err *err)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;

    if (!str_is_word(name, 32))
        return err_set(err, MAS_USAGE,
                       "cannot use template '%s': a name is 1 to 32 letters, digits, _ or -", name);
    _cleanup_free_ char *rel = mem_printf("%s/%s", ROOT_TEMPLATES, name);
    _cleanup_free_ char *file = mem_printf("%s/%s/template.ini", root->path, rel);
    tmpl.name = mem_dup(name);
    tmpl.fd = openat(root->fd, rel, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tmpl.fd == -1)
        return errno == ENOENT || errno == ENOTDIR
                   ? missing(root, name, err)
                   : err_errno(err, "cannot open template '%s'", name);
    _cleanup_close_ int ini = path_open_beneath(tmpl.fd, "template.ini", O_RDONLY | O_NONBLOCK);
    if (ini == -1)
        return err_errno(err, "cannot read '%s'", file);
    if (team_read_ini(ini, file, &tmpl.team, err) == -1) {
        err->code = MAS_FAILED;
        return err_wrap(err, "cannot use template '%s'", name);
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
    fd_closep(&tmpl->fd);
    team_free(&tmpl->team);
    *tmpl = (struct template)TEMPLATE_INIT;
}
