#include "model/account.h"

#include "model/env_name.h"

#define ENV "env."

/* Returns true if a comma has no name before or behind it, such as that of a variable which a
 * script believes to be set: another account would pay. */
static bool lacks_name(const char *text)
{
    bool named = false;
    const char *comma = strchr(text, ',');

    for (; *text != '\0'; text++) {
        if (*text == ',' && !named)
            return true;
        named = *text != ',' && (named || strchr(" \t", *text) == NULL);
    }
    return comma != NULL && !named;
}

static bool is_list(const char *text)
{
    _cleanup_strv_ char **names = str_split_list(text);
    size_t count = strv_len(names);
    bool good = count <= ACCOUNTS_EACH_MAX && !lacks_name(text);

    for (size_t i = 0; i < count; i++) {
        good = good && str_is_word(names[i], ACCOUNT_NAME_MAX);
        for (size_t j = 0; j < i; j++)
            good = good && strcmp(names[i], names[j]) != 0;
    }
    return good;
}

const struct value_type accounts_type = {
    VALUE_TEXT, "a list of at most 8 accounts, such as work home, each of them once",
    .fits = is_list};

static struct account *find(const struct accounts *accounts, const char *name)
{
    for (size_t i = 0; i < accounts->count; i++)
        if (strcmp(accounts->list[i].name, name) == 0)
            return &accounts->list[i];
    return NULL;
}

static int begin(struct accounts *accounts, const char *name, const struct ini_line *line,
                 struct err *err)
{
    struct account *account = find(accounts, name);

    if (!str_is_word(name, ACCOUNT_NAME_MAX))
        return ini_fail(line, err, "an account's name must be 1 to %d " STR_WORD_CHARS,
                        ACCOUNT_NAME_MAX);
    if (account != NULL && strcmp(account->file, line->file) == 0)
        return ini_fail(line, err, "duplicate account");
    if (account == NULL && accounts->count == ACCOUNTS_MAX)
        return ini_fail(line, err, "there are more than %d accounts", ACCOUNTS_MAX);
    if (account == NULL) {
        accounts->list = mem_room(accounts->list, accounts->count, sizeof *accounts->list);
        account = &accounts->list[accounts->count++];
        *account = (struct account){.name = mem_dup(name)};
    }
    free(account->file);
    account->file = mem_dup(line->file);
    kv_free(&account->env);
    return 0;
}

static int read_key(struct account *account, const struct ini_line *line, struct err *err)
{
    /* of a line that lacks its "=" the key may be a value, too */
    _cleanup_free_ char *word = mem_dupn(line->key, strcspn(line->key, " \t"));
    const struct ini_line shown = {line->file, line->line, line->section, word, ""};

    if (str_starts(word, "home."))
        return ini_fail(&shown, err,
                        "mas does not switch the files of a login: a program renews what is in "
                        "them, and would do so in two places; give a variable, " ENV "NAME");
    if (!str_starts(word, ENV)) { /* it may be the rest of a value that was wrapped */
        const struct ini_line hidden = {line->file, line->line, line->section, NULL, ""};
        return ini_fail_unknown(&hidden, "unknown key of an account", ENV "NAME", err);
    }
    const char *wrong = env_check_set(line->key + strlen(ENV));
    if (wrong != NULL)
        return ini_fail(&shown, err, "it %s", wrong);
    if (account->env.count == ACCOUNT_ENV_MAX)
        return ini_fail(&shown, err, "the account has more than %d variables", ACCOUNT_ENV_MAX);
    kv_put(&account->env, line->key + strlen(ENV), line->value);
    return 0;
}

int accounts_read(struct accounts *accounts, const struct ini_line *line, struct err *err)
{
    const char *name = line->section + strlen(ACCOUNT_SECTION);

    return line->key == NULL ? begin(accounts, name, line, err)
                             : read_key(find(accounts, name), line, err);
}

void accounts_free(struct accounts *accounts)
{
    for (size_t i = 0; i < accounts->count; i++) {
        free(accounts->list[i].name);
        free(accounts->list[i].file);
        kv_free(&accounts->list[i].env);
    }
    free(accounts->list);
    *accounts = (struct accounts){.list = NULL};
}

int accounts_find(const struct accounts *accounts, const char *names,
                  const struct account *ret[ACCOUNTS_EACH_MAX], size_t *ret_count, struct err *err)
{
    _cleanup_strv_ char **list = str_split_list(names);
    _cleanup_str_ struct str known = STR_INIT;
    size_t count = 0;

    for (; count < strv_len(list); count++) {
        ret[count] = find(accounts, list[count]);
        if (ret[count] != NULL)
            continue;
        (void)err_set(err, MAS_NOT_FOUND, "there is no account '%s'", list[count]);
        for (size_t i = 0; i < accounts->count && known.len < 400; i++)
            str_addf(&known, "%s%s", i > 0 ? ", " : "", accounts->list[i].name);
        return known.len > 0 ? err_hint(err, "the accounts are: %s", known.data)
                             : err_hint(err, "an account is a section [account NAME] of mas.ini");
    }
    *ret_count = count;
    return 0;
}
