/*
 * Pull requests, as the program of a forge tells of them: the one that [forge] command names,
 * GitLab's glab, or GitHub's gh. mas reads one form of answer, that of [forge] command, which
 * mas.ini(5) describes; what the others print is made into it (code/land/pr_of.h). All that is read
 * was written by others.
 */
#pragma once

#include "git/git.h"
#include "store/config.h"

enum pr_state { PR_OPEN, PR_CLOSED, PR_MERGED };
enum pr_check_state { PR_PENDING, PR_PASSED, PR_FAILED };

struct pr_check {
    char *id; /* for pr_log(); "" there is no log */
    char *name;
    enum pr_check_state state;
    bool part; /* of another check, and told only when it has failed */
};

/* A comment, or a review. */
struct pr_remark {
    char *id, *author;
    char *path; /* the file that it is about, and its line; "" none */
    char *text;
    bool writes; /* the author may write to the repository */
    bool unsure; /* or pr_ask_access() says */
    bool changes; /* a review that asks for changes */
};

struct pr {
    int64_t number;
    char *url;
    enum pr_state state;
    char *head; /* the commit of its branch */
    struct pr_check *checks;
    size_t check_count;
    struct pr_remark *remarks;
    size_t remark_count;
};
#define PR_INIT                                                                                    \
    {                                                                                              \
        .url = NULL                                                                                \
    }
void pr_free(struct pr *pr);
#define _cleanup_pr_ __attribute__((cleanup(pr_free)))

/* Who is asked, and where. */
struct pr_forge {
    const char *name; /* "gh", "glab", or "[forge] command" */
    char *file; /* path of the program; NULL: there is none */
    char **words; /* the first ones of its command line */
    char *dir; /* the project, in which it runs */
    const struct pr_program *as;
};
#define PR_FORGE_INIT                                                                              \
    {                                                                                              \
        .file = NULL                                                                               \
    }
/* Finds the program in PATH: [forge] command, else by the URL of the remote that is pushed to.
 * Fails if [forge] command names one that is not there. The caller releases *ret with
 * pr_forge_free(). */
int pr_find_forge(const struct config *config, const char *dir, const char *url,
                  struct pr_forge *ret, struct err *err);
void pr_forge_free(struct pr_forge *forge);
#define _cleanup_forge_ __attribute__((cleanup(pr_forge_free)))

/* Returns what the program calls a branch of the repository with this URL: gh wants the owner with
 * it where that is not the one of the repository that it asks, as with a fork; for glab it is the
 * repository and the branch, "group/r:mas/fix". The caller frees it. */
char *pr_branch_name(const struct pr_forge *forge, const char *url, const char *branch);
/* Asks for the pull request with this number, or of the branch with this name. *ret must be
 * PR_INIT; the caller releases it with pr_free(). Fails in the words of the program. */
int pr_ask(const struct pr_forge *forge, const char *which, struct pr *ret, struct err *err);
/* Returns true if it has failed because the forge wants to be asked less. */
bool pr_is_limited(const struct err *why);
/* Opens one for a branch that was pushed, by its name. *ret_url is what the program says of it, in
 * one line, which the caller frees. */
int pr_open(const struct pr_forge *forge, const char *head, const char *base, const char *message,
            char **ret_url, struct err *err);
enum { PR_LOG_MAX = 64 * 1024 };
/* Appends the end of what a check that failed has printed, of at most PR_LOG_MAX bytes, whatever
 * they are. */
int pr_log(const struct pr_forge *forge, const struct pr_check *check, struct str *to,
           struct err *err);

/* Asks whether an author may write to the repository. */
int pr_ask_access(const struct pr_forge *forge, const char *author, bool *ret, struct err *err);

/* Reads an answer in the form of [forge] command. */
int pr_read(const char *text, size_t len, struct pr *ret, struct err *err);
