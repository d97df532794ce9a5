/* The part of store/template.h that edits a template.ini. */
#include "store/template_internal.h"

#include "model/ini.h"
#include "os/file.h"

#include <sys/file.h>

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
