/*
 * Accounts: logins that agents are given in order, the next one while the provider limits the one
 * before. Each is a section [account NAME] of a person's mas.ini.
 *
 *     struct account    the name, and the variables of the login: NAME=value, "" takes one away
 *     struct accounts   all of the configuration; of two files, a later one replaces an account
 *
 * A preset or an agent names some of them, and mas.ini alone has the values, which only the agent's
 * own program gets. Nothing prints or keeps them, not even an error: what goes out is the name.
 */
#pragma once

#include "base/kv.h"
#include "model/ini.h"

#define ACCOUNT_SECTION "account " /* its beginning */

enum {
    ACCOUNT_NAME_MAX = 32,
    ACCOUNT_ENV_MAX = 16, /* variables */
    ACCOUNTS_MAX = 64,
    ACCOUNTS_EACH_MAX = 8, /* of an agent */
};

struct account {
    char *name;
    char *file; /* whose section it is */
    struct kv env;
};

struct accounts {
    struct account *list;
    size_t count;
};

/* "work home": names of accounts, which there need not be; "" none. */
extern const struct value_type accounts_type;

/* Reads a section or a key of it. Fails as ini_fail() does. */
int accounts_read(struct accounts *accounts, const struct ini_line *line, struct err *err);
void accounts_free(struct accounts *accounts);
/* Finds those of a list that accounts_type allows, in its order. Fails with MAS_NOT_FOUND and a
 * hint. */
int accounts_find(const struct accounts *accounts, const char *names,
                  const struct account *ret[ACCOUNTS_EACH_MAX], size_t *ret_count, struct err *err);
