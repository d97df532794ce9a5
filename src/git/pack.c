#include "git/pack.h"

#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

/* Appends "^<id>" for each ref of a repository: what it has already. */
static int add_known(const struct git *to, struct str *text, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_must(to, GIT_ARGS("for-each-ref", "--format=^%(objectname)"), NULL, &result, err) == -1)
        return -1;
    str_addn(text, str_text(&result.out), result.out.len);
    return 0;
}

/* Makes a directory for a pack that is not checked yet, on the file system of `to`. */
static char *make_dir(const struct git *to, const char *tmp, struct err *err)
{
    _cleanup_free_ char *dir = mem_printf("%s/%s-XXXXXX", to->dir, tmp);

    if (mkdtemp(dir) == NULL) {
        (void)err_errno(err, "cannot make '%s'", dir);
        return NULL;
    }
    _cleanup_free_ char *pack = mem_printf("%s/pack", dir);
    if (mkdir(pack, 0700) == -1) {
        (void)err_errno(err, "cannot make '%s'", pack);
        (void)rmdir(dir);
        return NULL;
    }
    return TAKE_PTR(dir);
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
    return file_sync_all(fd) == -1 ? err_errno(err, "cannot write '%s'", dir) : 0;
}

/* Packs into `dir` what `how` makes git read from `input`. *ret is the name of the pack; "" if
 * there is nothing to pack. */
static int pack(const struct git *from, const char *dir, const char *how, const struct str *input,
                char ret[GIT_OID_TEXT], struct err *err)
{
    _cleanup_free_ char *prefix = mem_printf("%s/pack/new", dir);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct git git = *from;

    /* git renames the pack from the directory that it writes objects to */
    git.objects[GIT_OBJECTS_MAX - 1] = from->write;
    git.write = dir;
    if (git_must(
            &git,
            GIT_ARGS("pack-objects", "--quiet", "--non-empty", "--delta-base-offset", how, prefix),
            &(struct git_input){str_text(input), input->len}, &result, err) == -1)
        return git_blame(err);
    _cleanup_free_ char *name =
        mem_dupn(str_text(&result.out), strcspn(str_text(&result.out), "\n"));
    ret[0] = '\0';
    return name[0] == '\0' || git_parse_oid(name, ret)
               ? 0
               : err_set(err, MAS_FAILED, "git pack-objects printed '%s'", name);
}

static int check(const struct git *to, const char *dir, const char *stem, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/pack/new-%s.pack", dir, stem);
    _cleanup_free_ char *index = mem_printf("%s/pack/new-%s.idx", dir, stem);
    struct git git = *to;

    git.write = dir;
    /* the index of pack-objects has the names that objects pretended to have: with it git would
     * find objects that are not there */
    if (unlink(index) == -1 && errno != ENOENT)
        return err_errno(err, "cannot remove '%s'", index);
    return git_must(&git, GIT_ARGS("index-pack", "--strict", path), NULL, NULL, err) == 0
               ? 0
               : git_blame(err);
}

static int copy(const struct git *from, const struct git *to, const char *tmp, const char *how,
                const struct str *input, struct err *err)
{
    _cleanup_free_ char *dir = make_dir(to, tmp, err);
    struct err ignored = ERR_INIT;
    char stem[GIT_OID_TEXT] = "";

    if (dir == NULL)
        return -1;
    _cleanup_free_ char *prefix = mem_printf("%s/pack/new", dir);
    int rc = pack(from, dir, how, input, stem, err);
    if (rc == 0 && stem[0] != '\0')
        rc = check(to, dir, stem, err) == -1 ? -1 : place(to, prefix, stem, err);
    (void)tree_remove_path(dir, &ignored);
    return rc;
}

int pack_copy(const struct git *from, const struct git *to, const char *tmp, const char *oids,
              struct err *err)
{
    _cleanup_str_ struct str wanted = STR_INIT;

    str_add(&wanted, oids);
    return add_known(to, &wanted, err) == -1 ? -1 : copy(from, to, tmp, "--revs", &wanted, err);
}

int pack_copy_objects(const struct git *from, const struct git *to, const char *tmp,
                      const struct str *list, struct err *err)
{
    return list->len == 0 ? 0 : copy(from, to, tmp, "--quiet", list, err);
}
