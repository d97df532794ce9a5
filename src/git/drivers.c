#include "git/drivers.h"

static const char begins[] = "filter.";
static const char ends[] = ".process=";

int drivers_turn_off(const struct git *git, char ***ret, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_run(git,
                GIT_ARGS("config", "-z", "--name-only", "--get-regexp",
                         "^filter\\..*\\.(clean|smudge|process)$"),
                NULL, &result, err) == -1)
        return -1;
    const char *end = str_text(&result.out) + result.out.len;
    int rc = 0;
    for (const char *key = str_text(&result.out); rc == 0 && key < end; key += strlen(key) + 1) {
        const char *dot = strrchr(key, '.');
        if (!str_starts(key, begins) || dot == NULL || dot < key + strlen(begins))
            continue;
        const char *name = key + strlen(begins);
        _cleanup_free_ char *driver = mem_dupn(name, (size_t)(dot - name));
        if (strcmp(driver, "lfs") == 0)
            continue;
        if (strchr(driver, '=') != NULL)
            rc = err_set(err, MAS_FAILED, "a filter is configured whose name holds '=': '%s'",
                         driver);
        /* set, and empty: git runs neither this nor `clean` and `smudge` */
        _cleanup_free_ char *off = mem_printf("%s%s%s", begins, driver, ends);
        _cleanup_free_ char *free_of = mem_printf("%s%s.required=false", begins, driver);
        strv_push(ret, off);
        strv_push(ret, free_of);
    }
    return rc;
}

static bool is_off(char *const *settings, const char *driver)
{
    _cleanup_free_ char *off = mem_printf("%s%s%s", begins, driver, ends);

    for (; *settings != NULL; settings++)
        if (strcmp(*settings, off) == 0)
            return true;
    return false;
}

/* Reads "<path>", "filter" and "<driver>", each with a NUL behind it. */
static void find_in(const struct str *text, char *const *settings, char **ret)
{
    const char *end = str_text(text) + text->len;

    for (const char *path = str_text(text); *ret == NULL && path < end;) {
        const char *attribute = path + strlen(path) + 1;
        const char *driver = attribute < end ? attribute + strlen(attribute) + 1 : end;
        if (driver >= end)
            return;
        if (is_off(settings, driver))
            *ret = mem_dup(path);
        path = driver + strlen(driver) + 1;
    }
}

int drivers_find(const struct git *git, char *const *settings, const char *index, const char *old,
                 const char *new, char **ret, struct err *err)
{
    _cleanup_result_ struct proc_result names = PROC_RESULT_INIT;
    _cleanup_result_ struct proc_result found = PROC_RESULT_INIT;
    struct git own = *git;

    if (settings == NULL)
        return 0;
    own.index = index; /* with the .gitattributes of the new commit */
    (void)unlink(index);
    int rc = git_must(&own, GIT_ARGS("read-tree", new), NULL, NULL, err);
    if (rc == 0)
        rc = git_must(git,
                      GIT_ARGS("diff-tree", "-r", "-z", "--name-only", "--no-renames",
                               "--diff-filter=d", old, new),
                      NULL, &names, err);
    if (rc == 0 && names.out.len > 0)
        rc = git_must(&own, GIT_ARGS("check-attr", "--cached", "-z", "--stdin", "filter"),
                      &(struct git_input){names.out.data, names.out.len}, &found, err);
    if (rc == 0)
        find_in(&found.out, settings, ret);
    (void)unlink(index);
    return rc;
}
