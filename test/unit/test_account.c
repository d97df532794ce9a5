#include "model/account.h"
#include "unit.h"

/* Reads one line of a file's section; returns what is wrong with it, "" if nothing is. */
static const char *reads(struct accounts *to, const char *file, const char *section,
                         const char *key, const char *value)
{
    static struct err err;
    const struct ini_line line = {file, 1, section, key, value};

    err = (struct err)ERR_INIT;
    return accounts_read(to, &line, &err) == 0 ? "" : err.text;
}

static const char *value_of(const struct accounts *accounts, const char *names, const char *key)
{
    const struct account *found[ACCOUNTS_EACH_MAX];
    struct err err = ERR_INIT;
    size_t count = 0;

    return accounts_find(accounts, names, found, &count, &err) == 0 && count == 1
               ? kv_get(&found[0]->env, key)
               : NULL;
}

TEST(reads_the_variables_of_accounts)
{
    struct accounts accounts = {.list = NULL};

    CHECK_STR(reads(&accounts, "a", "account work", NULL, ""), "");
    CHECK_STR(reads(&accounts, "a", "account work", "env.KEY", "one"), "");
    CHECK_STR(reads(&accounts, "a", "account work", "env.URL", "two"), "");
    CHECK_STR(reads(&accounts, "a", "account home", NULL, ""), "");
    CHECK_STR(reads(&accounts, "a", "account home", "env.KEY", ""), "");
    CHECK_STR(value_of(&accounts, "work", "KEY"), "one");
    CHECK_STR(value_of(&accounts, "work", "URL"), "two");
    CHECK_STR(value_of(&accounts, "home", "KEY"), "");
    /* a later file replaces the whole account: variables of two logins do not mix */
    CHECK_STR(reads(&accounts, "b", "account work", NULL, ""), "");
    CHECK_STR(reads(&accounts, "b", "account work", "env.KEY", "three"), "");
    CHECK_STR(value_of(&accounts, "work", "KEY"), "three");
    CHECK(value_of(&accounts, "work", "URL") == NULL);
    CHECK_INT(accounts.count, 2);
    accounts_free(&accounts);
}

TEST(says_what_is_wrong_and_never_the_value)
{
    static const struct {
        const char *key, *what;
    } rows[] = {
        {"env.MAS_ROOT", "[account work] env.MAS_ROOT: it is set by mas itself"},
        {"env.TERM", "[account work] env.TERM: it describes the agent's own terminal"},
        {"env.A-B", "[account work] env.A-B: it is not a name of an environment variable"},
        {"env.", "[account work] env.: it is not a name of an environment variable"},
        {"env.KEY sk-secret",
         "[account work] env.KEY: it is not a name of an environment variable"},
        {"evn.KEY", "[account work]: unknown key of an account; did you mean 'env.NAME'?"},
        /* the rest of a token that an editor has wrapped */
        {"sk-secret", "[account work]: unknown key of an account; did you mean 'env.NAME'?"},
    };
    struct accounts accounts = {.list = NULL};

    CHECK_STR(reads(&accounts, "a", "account work", NULL, ""), "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_STR(reads(&accounts, "a", "account work", rows[i].key, "sk-value"), rows[i].what);
    const char *files = reads(&accounts, "a", "account work", "home..claude/login", "~/.claude");
    CHECK(strstr(files, "mas does not switch the files of a login") != NULL);
    CHECK_STR(reads(&accounts, "a", "account work", NULL, ""), "[account work]: duplicate account");
    CHECK(strstr(reads(&accounts, "a", "account a b", NULL, ""), "must be 1 to 32") != NULL);
    CHECK(strstr(reads(&accounts, "a", "account ", NULL, ""), "must be 1 to 32") != NULL);
    CHECK_INT(accounts.count, 1);
    accounts_free(&accounts);
}

TEST(has_no_more_than_its_limits)
{
    struct accounts accounts = {.list = NULL};
    char text[64];

    for (int i = 0; i <= ACCOUNTS_MAX; i++) {
        (void)snprintf(text, sizeof text, "account a%d", i);
        CHECK((reads(&accounts, "a", text, NULL, "")[0] == '\0') == (i < ACCOUNTS_MAX));
    }
    CHECK_STR(reads(&accounts, "b", "account a0", NULL, ""), ""); /* not one more */
    for (int i = 0; i <= ACCOUNT_ENV_MAX; i++) {
        (void)snprintf(text, sizeof text, "env.V%d", i);
        CHECK((reads(&accounts, "b", "account a0", text, "")[0] == '\0') == (i < ACCOUNT_ENV_MAX));
    }
    accounts_free(&accounts);
}

TEST(takes_lists_of_accounts)
{
    char *names = NULL;
    const struct account *found[ACCOUNTS_EACH_MAX];
    struct accounts accounts = {.list = NULL};
    struct err err = ERR_INIT;
    size_t count = 9;

    CHECK(VALUE_PARSE(&accounts_type, "a b,c d e f g h", &names) == NULL);
    CHECK(VALUE_PARSE(&accounts_type, "a b c d e f g h i", &names) != NULL);
    CHECK(VALUE_PARSE(&accounts_type, "a b a", &names) != NULL);
    CHECK(VALUE_PARSE(&accounts_type, "", &names) == NULL);
    CHECK(VALUE_PARSE(&accounts_type, " a , b ", &names) == NULL);
    static const char *const gaps[] = {",", ",,", "a,", ",a", "a,,b", "a, ,b", "a b ,"};
    for (size_t i = 0; i < ARRAY_LEN(gaps); i++)
        CHECK(VALUE_PARSE(&accounts_type, gaps[i], &names) != NULL);
    CHECK(VALUE_PARSE(&accounts_type, "a b/c", &names) != NULL);
    free(names);
    CHECK_INT(accounts_find(&accounts, "", found, &count, &err), 0);
    CHECK_INT(count, 0);
    CHECK_INT(accounts_find(&accounts, "work", found, &count, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    CHECK_STR(err.text, "there is no account 'work'");
    CHECK_STR(err.hint, "an account is a section [account NAME] of mas.ini");
    CHECK_STR(reads(&accounts, "a", "account home", NULL, ""), "");
    err = (struct err)ERR_INIT;
    CHECK_INT(accounts_find(&accounts, "home work", found, &count, &err), -1);
    CHECK_STR(err.hint, "the accounts are: home");
    accounts_free(&accounts);
}
