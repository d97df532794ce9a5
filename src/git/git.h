/*
 * Runs git. Only git.c knows its arguments to find a repository and the settings that make it safe.
 *
 *     const struct git git = {.dir = code_git, .tree = "/path/of/a/work/tree"};
 *     if (git_run(&git, GIT_ARGS("merge-tree", "--write-tree", ours, theirs), NULL, &result,
 *                 err) == -1)
 *
 * A repository, its work tree and its attributes may be hostile. mas names the repository, the work
 * tree and the index, and never lets git search for them, except in the project that a person
 * named. It reads no configuration but that of the repository `dir`. Hooks, fsmonitor, filters,
 * external diff programs, textconv, credential helpers, pagers, editors, signatures and every
 * transport are off. The filter `lfs` is mas itself (git/lfs_filter.h).
 *
 * To call it, take one of the makers of struct git: repo_git() for code.git, stranger_git() for
 * code.git with an agent's objects and work tree, {.dir = project->dir} for the project,
 * checkout_open() for its work tree. Never set `dir` to an agent's repository once it has been
 * handed over; only make_first() and finish_tree() in code/repo.c do so before. Call git_must() if
 * a failure is an error, git_text() for one value, git_run() to look at the exit code. Use plumbing
 * with fixed output (-z, --porcelain, rev-parse), put --end-of-options or a full ref name in front
 * of names from outside, and parse object names with git_parse_oid().
 *
 * A command that could read attributes, hooks or settings in a way that safe_settings in git.c does
 * not turn off needs a row there and a hostile test. git dies with mas, so check what a kill
 * leaves. Who opens what an agent can write otherwise than by stranger_open() asks odd_check()
 * first, and who moves a work tree in_way_check(). What a git that runs mas has set in the
 * environment, git_forget_caller() removes when mas begins.
 */
#pragma once

#include "os/proc.h"

enum {
    GIT_OID_MAX = 64, /* hex digits: SHA-256 */
    GIT_OID_TEXT = GIT_OID_MAX + 1,
    GIT_OBJECTS_MAX = 3, /* the last is for pack_copy() */
    GIT_OUTPUT_MAX = 64 << 20, /* bytes */
    GIT_TIMEOUT_MS = 600000,
    GIT_ARGS_MAX = 1024, /* words of a command; more are not passed on */
};

struct git {
    const char *dir; /* GIT_DIR; NULL: git searches it from `cwd` upwards (the project alone) */
    const char *common; /* GIT_COMMON_DIR, for a linked work tree; NULL: `dir` */
    const char *tree; /* work tree; NULL: none */
    const char *index; /* index file; NULL: that of the repository */
    const char
        *write; /* directory for new objects; NULL: that of the repository, which is else read */
    const char *objects[GIT_OBJECTS_MAX]; /* directories with more objects to read; NULL: none */
    char *const *lenders; /* and more of them, NULL-terminated; NULL: none */
    const char *readable; /* what may be read besides if it is confined; NULL: nothing */
    bool confined; /* it works on what an agent owns: see git/confine.h */
    bool person; /* it reads what the machine and the person have configured, who commits, too */
    bool magic; /* paths may hold magic: some commands refuse to take them as they are */
    const char
        *reaches; /* the address (ext::) of another repository to which it talks by a command,
                     which has the environment of this process, and takes its time */
    const char *alias; /* what the caller's words call that address: random, so that what the
                          repository configures for some addresses (insteadOf) is not for this */
    int cwd; /* open directory; 0 or -1: "/" */
    const char *const *settings; /* more settings "KEY=VALUE", NULL-terminated; NULL: none */
};

/* A NULL-terminated list of arguments. */
#define GIT_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Standard input of git. */
struct git_input {
    const char *text;
    size_t len;
};

/* Removes from this process's environment what a git that runs it has set for its own work, as for
 * a hook, an alias or `rebase --exec`: which repository, index and configuration it uses. What this
 * process starts is at work elsewhere. */
void git_forget_caller(void);

/* Fails if git is missing or older than 2.38. */
int git_check(struct err *err);
/* Returns the version of git, such as "2.39.2"; NULL with *err set if there is none. The caller
 * frees it. */
char *git_version(struct err *err);
/* Returns true if mas cannot work with this version. */
bool git_version_is_old(const char *version);

/* Runs git and waits. *ret, initially PROC_RESULT_INIT, gets output and exit code; the caller
 * releases it with proc_result_free(). Fails only if git cannot be run, is killed, or takes longer
 * than GIT_TIMEOUT_MS; err->number is not 0. `input` may be NULL. */
int git_run(const struct git *git, const char *const *args, const struct git_input *input,
            struct proc_result *ret, struct err *err);
/* Like git_run(), and fails with git's own words if its exit code is not 0. ret may be NULL. */
int git_must(const struct git *git, const char *const *args, const struct git_input *input,
             struct proc_result *ret, struct err *err);
/* Like git_must(), for a command that prints one value: *ret is its output without the newline at
 * the end. The caller frees it. */
int git_text(const struct git *git, const char *const *args, char **ret, struct err *err);
/* Runs git in a directory as the person would: with the person's environment, configuration and
 * terminal, and the hooks of the project. *ret_status is its exit code. */
int git_as_person(const char *dir, const char *const *args, int *ret_status, struct err *err);
/* Likewise, but without a terminal, and with what it has started only so long. Fails in git's words
 * if its exit code is not 0. */
int git_unseen(const char *dir, const char *const *args, int timeout_ms, struct err *err);
/* Like git_must(), for a command that prints names with a NUL behind each (-z). Appends them to a
 * list that the caller releases with strv_free(). */
int git_names(const struct git *git, const char *const *args, char ***ret, struct err *err);
/* Appends names of files to a text, each as str_add_name() shows it: "a, b and 3 more". */
void git_show_names(char *const *names, struct str *to);
/* Turns the result of a failed command into an error, in git's words; err->number is ENOSPC or
 * EDQUOT if it says that the disk is full. Returns -1. */
int git_fail(const struct proc_result *result, const char *verb, struct err *err);
/* Called after a git that has failed although only damaged objects could make it: sets MAS_DAMAGED,
 * unless the disk is full, or git was ended. Returns -1. */
int git_blame(struct err *err);

/* Enters the work tree into the index as `git add --all` does. That command, however, runs git in
 * each repository below the work tree, with the filters that its configuration names. `others`:
 * what git_list_others() has listed just now, or NULL. */
int git_add_all(const struct git *git, const struct str *others, struct err *err);
/* Lists what git neither tracks nor ignores, with a NUL behind each. The caller releases *ret. */
int git_list_others(const struct git *git, struct proc_result *ret, struct err *err);

/* Returns true for the full name of an object: 40 or 64 lower-case hex digits. */
bool git_is_oid(const char *text);
/* Copies such a name; returns false, and leaves *ret alone, if the text is none. */
bool git_parse_oid(const char *text, char ret[GIT_OID_TEXT]);
/* Returns true for a name that is safe as a branch below refs/heads/. Stricter than git. */
bool git_is_branch(const char *text);

/* Returns what is in progress in the open inside of a work tree's repository: "a rebase", "a
 * merge", "a cherry-pick", "a revert", "a bisect"; NULL: nothing. */
const char *git_progress(int dir);
