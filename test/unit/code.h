/*
 * What tests of repositories share: the workspace of a session, with a code.git and the repository
 * of the agent x, whose files are written by hand.
 */
#pragma once

#include "place.h"

#include "code/repo.h"
#include "code/stranger.h"
#include "git/layout.h"

/* Names of objects; the last digit differs. */
#define OID(digit) "123456789012345678901234567890123456789" #digit
#define BRANCH "refs/heads/mas/s/x"

struct code {
    struct place place;
    struct repo repo;
    int tree; /* code/x */
    int git; /* its .git */
};

UNIT_MAYBE static void code_free(struct code *code)
{
    fd_closep(&code->git);
    fd_closep(&code->tree);
    repo_free(&code->repo);
    place_free(&code->place);
}
#define _cleanup_code_ __attribute__((cleanup(code_free)))

/* Writes a file below a directory, with the directories above it. */
UNIT_MAYBE static bool code_put(int dir, const char *path, const char *text)
{
    const char *name = NULL;
    _cleanup_close_ int above = path_make_above(dir, path, 0755, &name);

    return CHECK(above != -1) && place_put(above, name, text);
}

/* Makes a repository in an open directory. */
UNIT_MAYBE static bool code_make_git(int at, const char *name, const char *borrows)
{
    _cleanup_str_ struct str config = STR_INIT;
    _cleanup_close_ int dir = path_make_dir(at, name, 0755);
    struct err err = ERR_INIT;

    layout_set(&config, "core", NULL);
    layout_set(&config, "bare", borrows == NULL ? "true" : "false");
    return CHECK(dir != -1) && WELL(layout_make(dir, "ref: " BRANCH "\n", &config, &err)) &&
           WELL(layout_ref(dir, BRANCH, OID(1), &err)) &&
           (borrows == NULL || code_put(dir, "objects/info/alternates", borrows));
}

UNIT_MAYBE static struct code code_make(void)
{
    struct code code = {.place = place_make(), .tree = -1, .git = -1};

    repo_open(code.place.path, "s", &code.repo);
    CHECK(code_make_git(code.place.dir, CODE_GIT, NULL));
    CHECK(mkdirat(code.place.dir, CODE_DIR, 0755) == 0);
    code.tree = path_make_dir(code.place.dir, CODE_DIR "/x", 0755);
    CHECK(code_make_git(code.tree, ".git", "../../../../" CODE_GIT "/objects\n"));
    code.git = path_open_dir(code.tree, ".git");
    CHECK(code.git != -1);
    return code;
}
