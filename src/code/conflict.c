#include "code/conflict.h"

enum {
    OTHERS_MAX = 5,
    FILES_MAX = 100, /* arguments of git */
    NAME_LEN = 12, /* of a commit, as it is shown */
    SUBJECT_MAX = 100, /* bytes */
};

/* Returns the first commit after `commit`, along the first parents of `other`, if it is a merge
 * that brought that commit, and its subject: "<commit> <subject>". NULL: there is none. */
static char *find_merge(const struct git *git, const char *commit, const char *other)
{
    _cleanup_free_ char *range = mem_printf("%s..%s", commit, other);
    _cleanup_free_ char *text = NULL;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;

    if (git_text(git,
                 GIT_ARGS("rev-list", "--first-parent", "--ancestry-path", "--reverse",
                          "--no-commit-header", "--format=%H %s", range),
                 &text, &ignored) == -1 ||
        strchr(text, ' ') == NULL)
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    _cleanup_free_ char *before = mem_printf("%.*s^1", (int)strcspn(text, " "), text);
    bool had = git_run(git, GIT_ARGS("merge-base", "--is-ancestor", commit, before), NULL, &result,
                       &ignored) == -1 ||
               result.status != 1;
    return had ? NULL : TAKE_PTR(text);
}

/* Returns the agent whose branch brought a commit; "" if that cannot be told. The caller frees it.
 */
static char *find_agent(const struct repo *repo, const struct git *git, const char *commit,
                        const char *other)
{
    _cleanup_free_ char *merge = find_merge(git, commit, other);
    _cleanup_free_ char *begins = mem_printf(" Merge mas/%s/", repo->label);
    _cleanup_free_ char *refs = NULL;
    struct err ignored = ERR_INIT;

    if (merge != NULL) {
        const char *subject = strchr(merge, ' ');
        return mem_dup(str_starts(subject, begins) ? subject + strlen(begins) : "");
    }
    if (git_text(
            git,
            GIT_ARGS("for-each-ref", "--contains", commit, "--format=%(refname)", CODE_REF_AGENTS),
            &refs, &ignored) == -1 ||
        !str_starts(refs, CODE_REF_AGENTS) || strchr(refs, '\n') != NULL)
        return mem_dup("");
    return mem_dup(refs + strlen(CODE_REF_AGENTS));
}

char **conflict_others(const struct repo *repo, const struct git *git, const char *mine,
                       const char *other, char *const *files)
{
    _cleanup_free_ char *without = mem_printf("^%s", mine);
    _cleanup_free_ char *max = mem_printf("--max-count=%d", OTHERS_MAX);
    const char *args[FILES_MAX + 16] = {"rev-list",       "--no-merges", "--no-commit-header",
                                        "--format=%H %s", max,           other,
                                        without,          "--"};
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    char **others = NULL;
    size_t count = 8;

    for (size_t i = 0; i < FILES_MAX && files != NULL && files[i] != NULL; i++)
        args[count++] = files[i];
    if (git_text(git, args, &text, &ignored) == -1)
        return NULL;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *subject = strchr(line, ' ');
        if (subject == NULL)
            continue;
        *subject++ = '\0';
        subject[str_fit(subject, SUBJECT_MAX)] = '\0';
        _cleanup_free_ char *agent = find_agent(repo, git, line, other);
        _cleanup_str_ struct str shown = STR_INIT;
        str_addf(&shown, "%.*s ", NAME_LEN, line);
        if (agent[0] != '\0') {
            str_add(&shown, "(agent ");
            str_add_name(&shown, agent);
            str_add(&shown, ") ");
        }
        str_add_name(&shown, subject);
        strv_push(&others, str_text(&shown));
    }
    return others;
}

void conflict_show_others(char *const *others, struct str *to)
{
    for (size_t i = 0; others != NULL && others[i] != NULL; i++) {
        str_add(to, i == 0 ? "; there it was changed by: " : "; ");
        str_add(to, others[i]);
    }
}
