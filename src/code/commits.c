#include "code/commits.h"

enum { NAME_MIN = 4 };

void commits_free(struct commits *commits)
{
    for (size_t i = 0; i < commits->count; i++) {
        free(commits->list[i].author);
        free(commits->list[i].subject);
    }
    free(commits->list);
    *commits = (struct commits)COMMITS_INIT;
}

static char *visible(const char *text)
{
    _cleanup_str_ struct str shown = STR_INIT;

    str_add_visible(&shown, text, strlen(text));
    return mem_dup(str_text(&shown));
}

/* Reads "<commit> <time> <parents>", the author and the subject, a line each. */
static int parse(char *text, struct commits *ret, struct err *err)
{
    for (char *rest = text, *head; (head = strsep(&rest, "\n")) != NULL && head[0] != '\0';) {
        char *author = strsep(&rest, "\n");
        char *subject = strsep(&rest, "\n");
        char *end = strchr(head, ' ');
        struct commit commit = {.is_merge = false};
        if (end != NULL)
            *end++ = '\0';
        if (end == NULL || subject == NULL || !git_parse_oid(head, commit.oid))
            return err_set(err, MAS_FAILED, "git rev-list printed '%s'", head);
        commit.at = strtoll(end, &end, 10);
        commit.is_merge = end[0] == ' ' && strchr(end + 1, ' ') != NULL;
        ret->more = ret->count == COMMITS_MAX;
        if (ret->more)
            return 0;
        commit.author = visible(author);
        commit.subject = visible(subject);
        ret->list = mem_room(ret->list, ret->count, sizeof *ret->list);
        ret->list[ret->count++] = commit;
    }
    return 0;
}

int commits_read(const struct stranger *stranger, struct commits *ret, struct err *err)
{
    const struct repo *repo = stranger->repo;
    const struct git git = stranger_git(stranger, NULL);
    _cleanup_free_ char *branch = repo_branch(repo, stranger->agent);
    _cleanup_free_ char *max = mem_printf("--max-count=%d", COMMITS_MAX + 1);
    _cleanup_commits_ struct commits commits = COMMITS_INIT;
    _cleanup_free_ char *text = NULL;

    if (repo_ref(repo, repo->main, commits.main, err) == -1 ||
        stranger_ref(stranger, branch, commits.tip, err) == -1)
        return -1;
    if (commits.tip[0] == '\0')
        return err_set(err, MAS_DAMAGED,
                       "cannot read the commits of agent '%s': its branch '%s' is gone",
                       stranger->agent, branch + strlen("refs/heads/"));
    _cleanup_free_ char *without = mem_printf("^%s", commits.main);
    if (git_text(&git,
                 GIT_ARGS("rev-list", "--topo-order", "--no-commit-header", max,
                          "--format=%H %at %P%n%an%n%s", commits.tip, without),
                 &text, err) == -1 ||
        parse(text, &commits, err) == -1)
        return err_wrap(err, "cannot read the commits of agent '%s'", stranger->agent);
    *ret = commits;
    commits = (struct commits)COMMITS_INIT;
    return 0;
}

int commits_find(const struct commits *commits, char *const *names, bool *found, struct err *err)
{
    for (; *names != NULL; names++) {
        size_t matches = 0;
        for (size_t i = 0; i < commits->count && strlen(*names) >= NAME_MIN; i++)
            if (str_starts(commits->list[i].oid, *names)) {
                found[i] = true;
                matches++;
            }
        if (matches != 1)
            return err_set(err, MAS_NOT_FOUND,
                           matches == 0 ? "there is no commit '%s' to pick"
                                        : "several commits begin with '%s'",
                           *names);
    }
    return 0;
}
