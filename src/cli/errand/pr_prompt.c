/*
 * First who gets the prompt of a round, by the files that it names; then what it says: texts of
 * strangers, as data.
 */
#include "cli/errand/pr_prompt.h"

#include "base/hash.h"
#include "base/quoted.h"
#include "cli/errand/entries.h"
#include "code/merge.h"

enum {
    GIVEN_MAX = 100, /* what was given before that may be given again */
    KNOWN_MAX = 20, /* authors */
    ITEM_LEN = 17, /* of a list of them: a hash, and a character */
    ROOM = 4000, /* what is longer gets nothing more */
    LOG_SHOWN = 2500, /* of a log the end, of a remark the beginning */
    REMARK_SHOWN = 1500,
    NOT_YET = '-', /* behind the hash of something in the list of what was given */
    NO_LOG = '?',
    GIVEN = ' ',
};

/* Returns 1 for one that tells when its turns end, and can be merged. An agent that would execute
 * what it gets is none. */
static bool can_have(const struct config *config, const struct team *team,
                     const struct agent *agent)
{
    struct err ignored = ERR_INIT;

    return agent != NULL && agent->code == AGENT_CODE_WORKTREE &&
           entries_tells(config, team, agent->id, &ignored) == 0;
}

const struct agent *pr_prompt_agent(const struct config *config, const struct team *team)
{
    const struct agent *found = NULL;

    for (size_t i = 0; i < team->agent_count; i++) {
        const struct agent *agent = &team->agents[i];
        if ((found == NULL || (agent->rank == RANK_MANAGER && found->rank != RANK_MANAGER)) &&
            can_have(config, team, agent))
            found = agent;
    }
    return found;
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Returns true if a text names a file. */
static bool names_file(const char *text, const char *name)
{
    for (const char *p = text; (p = strstr(p, name)) != NULL; p++)
        if ((p == text || (!is_of_name(p[-1]) && p[-1] != '.')) && !is_of_name(p[strlen(name)]))
            return true;
    return false;
}

const struct agent *pr_prompt_find_agent(const struct config *config, const struct team *team,
                                         const struct repo *repo, const char *head,
                                         const char *text)
{
    const struct git git = repo_git(repo);
    _cleanup_strv_ char **names = NULL;
    _cleanup_strv_ char **meant = NULL;
    struct err ignored = ERR_INIT;
    char base[GIT_OID_TEXT];

    if (repo_ref(repo, CODE_REF_BASE, base, &ignored) == 0 &&
        git_names(&git, GIT_ARGS("diff", "--name-only", "--no-renames", "-z", base, head), &names,
                  &ignored) == 0)
        for (char **name = names; name != NULL && *name != NULL; name++)
            if (names_file(text, *name))
                strv_push(&meant, *name);
    if (meant != NULL) {
        _cleanup_free_ char *id = merge_author(repo, base, head, meant);
        const struct agent *agent = id != NULL ? team_agent(team, id) : NULL;
        if (can_have(config, team, agent))
            return agent;
    }
    return pr_prompt_agent(config, team);
}

/* Returns the character behind a hash in a list, or NULL, also where a damaged list ends. */
static char *find_item(char *list, uint64_t hash)
{
    _cleanup_free_ char *key = mem_printf("%016" PRIx64, hash);
    char *at = strstr(list, key);

    return at != NULL && at[ITEM_LEN - 1] != '\0' ? at + ITEM_LEN - 1 : NULL;
}

/* Appends to a list, from which the oldest item goes. */
static void add_item(char **list, size_t max, uint64_t hash, char c)
{
    size_t count = strlen(*list) / ITEM_LEN;
    char *all = mem_printf("%s%016" PRIx64 "%c", *list + (count < max ? 0 : ITEM_LEN), hash, c);

    free(*list);
    *list = all;
}

/* Returns how something stands in the list of what was given, to which it is added. */
static char *find_given(char **given, const char *what, const char *more)
{
    uint64_t hash = hash_bytes(hash_bytes(HASH_START, what, strlen(what) + 1), more, strlen(more));
    char *is = find_item(*given, hash);

    if (is != NULL)
        return is;
    add_item(given, GIVEN_MAX, hash, NOT_YET);
    return *given + strlen(*given) - 1;
}

/* Returns true for one who may write to the repository. A forge is asked once of each. */
static bool may_write(const struct pr_forge *forge, const struct pr_remark *remark, char **known)
{
    uint64_t hash = hash_bytes(HASH_START, remark->author, strlen(remark->author));
    const char *is = find_item(*known, hash);
    struct err ignored = ERR_INIT; /* then nobody knows: it counts if an answer comes */
    bool may = false;

    if (remark->writes || !remark->unsure)
        return remark->writes;
    if (is != NULL || pr_ask_access(forge, remark->author, &may, &ignored) == -1)
        return is != NULL && *is == '+';
    add_item(known, KNOWN_MAX, hash, may ? '+' : '-');
    return may;
}

/* A forge may have the log only seconds after the result, and before it none, or an empty one: it
 * is asked once more. */
static void add_check(const struct pr_forge *forge, const struct pr_check *check, char *is,
                      struct str *to)
{
    _cleanup_str_ struct str log = STR_INIT;
    struct err why = ERR_INIT;
    bool has = check->id[0] != '\0' && pr_log(forge, check, &log, &why) == 0 && log.len > 0;

    *is = has || check->id[0] == '\0' || *is == NO_LOG ? GIVEN : NO_LOG;
    if (*is == NO_LOG)
        return;
    str_add(to, "\nThe check ");
    str_add_name(to, check->name);
    str_add(to, has ? " failed. Its log ends:\n" : " failed. Its log is not to be had.\n");
    if (has)
        str_add_quoted(to, str_text(&log), log.len, LOG_SHOWN, true);
    else
        str_add_quoted(to, why.text, strlen(why.text), LOG_SHOWN, true);
}

static void add_remark(const struct pr_remark *remark, struct str *to)
{
    str_addc(to, '\n');
    str_add_name(to, remark->author);
    str_add(to, remark->changes ? " asks for changes" : " says");
    if (remark->path[0] != '\0') {
        str_add(to, " at ");
        str_add_name(to, remark->path);
    }
    str_add(to, ":\n");
    str_add_quoted(to, remark->text, strlen(remark->text), REMARK_SHOWN, false);
}

bool pr_prompt_collect(const struct pr_forge *forge, const struct pr *pr, char **given,
                       char **known, struct str *to)
{
    bool waits = false;

    for (size_t i = 0; i < pr->check_count && to->len < ROOM; i++) {
        if (pr->checks[i].state != PR_FAILED)
            continue;
        char *is = find_given(given, pr->checks[i].name, pr->head);
        if (*is != GIVEN)
            add_check(forge, &pr->checks[i], is, to);
        waits = waits || *is == NO_LOG;
    }
    for (size_t i = 0; i < pr->remark_count && to->len < ROOM; i++) {
        if (!may_write(forge, &pr->remarks[i], known))
            continue;
        char *is = find_given(given, pr->remarks[i].id, "");
        if (*is != GIVEN)
            add_remark(&pr->remarks[i], to);
        *is = GIVEN;
    }
    return waits;
}
