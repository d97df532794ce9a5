#include "code/pack.h"

#include "base/path.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Appends "^<id>" for each ref of a repository: what it has already. */
static int add_known(const struct git *to, struct str *text, struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;

    if (git_must(to, GIT_ARGS("for-each-ref", "--format=^%(objectname)"), NULL, &result, err) == -1)
        return -1;
    str_addn(text, str_text(&result.out), result.out.len);
    proc_result_free(&result);
    return 0;
}

/* Moves a checked pack to the others: the index last, which makes git see it. */
static int place(const struct git *to, const char *prefix, const char *stem, struct err *err)
{
    static const char *const endings[] = {"pack", "idx"};
    _cleanup_free_ char *dir = mem_printf("%s/objects/pack", to->dir);
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1)
        return err_errno(err, "cannot open '%s'", dir);
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        _cleanup_free_ char *old = mem_printf("%s-%s.%s", prefix, stem, endings[i]);
        _cleanup_free_ char *name = mem_printf("pack-%s.%s", stem, endings[i]);
        if (renameat(AT_FDCWD, old, fd, name) == -1)
            return err_errno(err, "cannot place a pack in '%s'", dir);
    }
    return syncfs(fd) == -1 ? err_errno(err, "cannot write '%s'", dir) : 0;
}

static void discard(const char *prefix, const char *stem)
{
    static const char *const endings[] = {"idx", "pack", "rev"};

    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        _cleanup_free_ char *path = mem_printf("%s-%s.%s", prefix, stem, endings[i]);
        (void)unlink(path);
    }
}

int pack_copy(const struct git *from, const struct git *to, const char *tmp, const char *oids,
              struct err *err)
{
    _cleanup_str_ struct str wanted = STR_INIT;
    _cleanup_free_ char *prefix = mem_printf("%s/%s", to->dir, tmp);
    struct proc_result result = PROC_RESULT_INIT;
    char stem[GIT_OID_TEXT];

    str_add(&wanted, oids);
    if (add_known(to, &wanted, err) == -1)
        return -1;
    if (git_must(from,
                 GIT_ARGS("pack-objects", "--revs", "--quiet", "--non-empty", "--delta-base-offset",
                          prefix),
                 &(struct git_input){wanted.data, wanted.len}, &result, err) == -1) {
        err->code = MAS_DAMAGED;
        return -1;
    }
    _cleanup_free_ char *name =
        mem_dupn(str_text(&result.out), strcspn(str_text(&result.out), "\n"));
    proc_result_free(&result);
    if (name[0] == '\0')
        return 0; /* all of it was there */
    if (!git_parse_oid(name, stem))
        return err_set(err, MAS_FAILED, "git pack-objects printed '%s'", name);
    _cleanup_free_ char *pack = mem_printf("%s-%s.pack", prefix, stem);
    if (git_must(to, GIT_ARGS("index-pack", "--strict", pack), NULL, NULL, err) == -1) {
        discard(prefix, stem);
        err->code = MAS_DAMAGED;
        return -1;
    }
    return place(to, prefix, stem, err);
}
