/*
 * How much of their providers' windows is used, as programs tell it: "62 % of five hours, until
 * 14:10". For each login (store/limits/login_limit.h) a file in sessions/.limits/, a cache:
 *
 *     <login>.quota        the preset of the agent that has told last, and its account if it has
 *                          one; then a line WINDOW PERCENT RESETS TOLD for each window; replaced
 *                          as a whole
 *     <login>.quota.lock   locked while it is changed
 *
 * It is what agents say, and counts for no more: at worst, turns wait that no person has asked for.
 */
#pragma once

#include "model/account.h"
#include "model/team/team.h"
#include "store/limits/login_limit.h"

enum {
    QUOTA_NAME = 24, /* bytes of a window's name, with its NUL */
    QUOTA_WINDOWS_MAX = 8,
};

/* Times in ms since 1970. */
struct quota_window {
    char name[QUOTA_NAME]; /* "5h", "week" */
    int percent; /* used of it; 100 and more: all */
    int64_t resets_ms; /* when it begins anew; 0: not told */
    int64_t told_ms;
};

struct login_quota {
    char login[LOGIN_ID]; /* of login_quota_each() */
    char preset[TEAM_WORD_MAX + 1];
    char account[ACCOUNT_NAME_MAX + 1]; /* "": none */
    struct quota_window windows[QUOTA_WINDOWS_MAX];
    size_t count; /* 0: nothing is known */
};

/* Names a window by its length, "5h" or "week"; `name` if that is 0. */
void quota_name(int64_t minutes, const char *name, char ret[QUOTA_NAME]);
/* Returns true while what was told of a window holds: it has not begun anew since. One that does
 * not tell when it does is forgotten after 5 hours. */
bool quota_holds_now(const struct quota_window *window, int64_t now_ms);
/* Reads what is known of a login; `count` 0 if nothing, or nothing valid, is. */
struct login_quota login_quota_read(int dir, const char *login);
/* Notes a window, as an agent of a preset tells it, with an account or "". What is known already is
 * not written again for a minute. */
int login_quota_note(int dir, const char *login, const char *preset, const char *account,
                     const struct quota_window *window, struct err *err);
/* Calls `each` for all logins of a root of which something is known, in no order. */
typedef void each_quota(const struct login_quota *quota, void *arg);
int login_quota_each(const struct root *root, each_quota *each, void *arg, struct err *err);
