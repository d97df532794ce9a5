#include "code/layout.h"

#include "base/file.h"
#include "base/path.h"

void layout_set(struct str *config, const char *name, const char *value)
{
    if (value == NULL) {
        str_addf(config, "[%s]\n", name);
        return;
    }
    str_addf(config, "\t%s = \"", name);
    for (; *value != '\0'; value++) {
        if (*value == '\n') {
            str_add(config, "\\n");
            continue;
        }
        if (*value == '"' || *value == '\\')
            str_addc(config, '\\');
        str_addc(config, *value);
    }
    str_add(config, "\"\n");
}

int layout_make(int dir, const char *head, const struct str *config, struct err *err)
{
    static const char *const dirs[] = {"objects", "objects/info", "objects/pack",
                                       "refs",    "refs/heads",   "refs/tags"};

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        _cleanup_close_ int made = path_make_dir(dir, dirs[i], 0755);
        if (made == -1 && errno != EEXIST)
            return err_errno(err, "cannot make '%s' of a repository", dirs[i]);
    }
    return file_create(dir, "HEAD", head, strlen(head), 0644, err) == -1
               ? -1
               : file_create(dir, "config", config->data, config->len, 0644, err);
}

int layout_ref(int dir, const char *ref, const char *oid, struct err *err)
{
    _cleanup_free_ char *rest = mem_dup(ref);
    _cleanup_free_ char *line = mem_printf("%s\n", oid);
    _cleanup_close_ int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *name = rest;

    for (char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        *slash = '\0';
        int next = path_make_dir(at, name, 0755);
        if (next == -1 && errno == EEXIST)
            next = path_open_dir(at, name);
        if (next == -1)
            return err_errno(err, "cannot make '%s'", ref);
        fd_closep(&at);
        at = next;
    }
    return file_create(at, name, line, strlen(line), 0644, err);
}
