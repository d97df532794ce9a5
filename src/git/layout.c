#include "git/layout.h"

#include "os/file.h"
#include "os/path.h"

enum { PACKED_MAX = 64 << 20 }; /* bytes of packed-refs */

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

void layout_begin(struct str *config, const char *format, bool bare)
{
    bool sha256 = strcmp(format, "sha256") == 0;

    if (sha256) {
        layout_set(config, "extensions", NULL);
        layout_set(config, "objectformat", format);
    }
    layout_set(config, "core", NULL);
    layout_set(config, "repositoryformatversion", sha256 ? "1" : "0");
    layout_set(config, "filemode", "true");
    layout_set(config, "bare", bare ? "true" : "false");
}

void layout_set_user(struct str *config, const char *name, const char *email)
{
    layout_set(config, "user", NULL);
    layout_set(config, "name", name);
    layout_set(config, "email", email);
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
    const char *name;
    _cleanup_free_ char *line = mem_printf("%s\n", oid);
    _cleanup_close_ int at = path_make_above(dir, ref, 0755, &name);

    if (at == -1)
        return err_errno(err, "cannot make '%s'", ref);
    return file_create(at, name, line, strlen(line), 0644, err);
}

/* Lines of an id, a blank and a name. */
const char *layout_packed_ref(int dir, const char *ref, char ret[GIT_OID_TEXT])
{
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    ret[0] = '\0';
    if (file_read(dir, "packed-refs", PACKED_MAX, &text, &len, &why) == -1)
        return why.number == ENOENT ? NULL : "packed-refs cannot be read";
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *blank = strchr(line, ' ');
        if (blank == NULL || strcmp(blank + 1, ref) != 0)
            continue;
        *blank = '\0';
        return git_parse_oid(line, ret) ? NULL : "packed-refs is damaged";
    }
    return NULL;
}
