/*
 * A word means an agent before a unit, and a unit before `managers`, `workers` and `all`: the first
 * way that finds anybody counts. Of a group, whom the sender may not write to is left out, and a
 * word that is left with nobody is an error; an agent that is named by its id stays, and its host
 * refuses the message.
 */

#include "model/target.h"

#include "base/suggest.h"

/* How a word of a TARGET can refer to an agent. */
enum way { BY_ID, BY_UNIT, BY_WORD, WAY_COUNT };

static bool means(const struct agent *agent, const char *word, enum way way)
{
    switch (way) {
    case BY_ID:
        return strcmp(agent->id, word) == 0;
    case BY_UNIT:
        return strcmp(agent->group, word) == 0;
    case BY_WORD:
        return strcmp(word, "all") == 0 ||
               (strcmp(word, "managers") == 0 && agent->rank == RANK_MANAGER) ||
               (strcmp(word, "workers") == 0 && agent->rank == RANK_WORKER);
    case WAY_COUNT:
    default:
        return false;
    }
}

static bool may_write(const struct team *team, const struct agent *from, const struct agent *to)
{
    return from == NULL || (team->rules[from->rank] & team_reach(from, to)) != 0;
}

enum meaning { MEANS_NOTHING, MEANS_NOBODY, MEANS_SOME };

/* Agents as indexes into the team's, each once. */
struct meant {
    size_t *items; /* with room for all */
    size_t count;
};

static void choose(struct meant *choice, size_t agent)
{
    for (size_t i = 0; i < choice->count; i++)
        if (choice->items[i] == agent)
            return;
    choice->items[choice->count++] = agent;
}

/* Adds the agents that a word refers to, in the first way that finds any. */
static enum meaning add(const struct team *team, const struct agent *from, const char *word,
                        struct meant *choice)
{
    enum meaning found = MEANS_NOTHING;

    for (enum way way = BY_ID; way < WAY_COUNT && found == MEANS_NOTHING; way++)
        for (size_t i = 0; i < team->agent_count; i++) {
            const struct agent *agent = &team->agents[i];
            if (!means(agent, word, way))
                continue;
            /* an agent named by its id: its host reports why it may not be written to */
            bool reached = way == BY_ID || (agent != from && may_write(team, from, agent));
            if (reached)
                choose(choice, i);
            found = reached || found == MEANS_SOME ? MEANS_SOME : MEANS_NOBODY;
        }
    return found;
}

static int reaches_nobody(const struct team *team, const struct agent *from, const char *word,
                          struct err *err)
{
    _cleanup_str_ struct str words = STR_INIT;

    team_add_reach(&words, team->rules[from->rank]);
    (void)err_set(err, MAS_FAILED,
                  "cannot reach '%s': the rule for a %s, '%s', does not let agent '%s' write to "
                  "any of these agents",
                  word, rank_name(from->rank), words.len > 0 ? words.data : "nobody", from->id);
    return err_hint(err, "the template's [rules] say who may write to whom");
}

/* Adds the name of a unit once, unless an agent has it too. */
static void add_unit(const struct team *team, size_t at, struct suggest *suggest, struct str *to)
{
    const char *unit = team->agents[at].group;
    size_t first = 0;

    while (strcmp(team->agents[first].group, unit) != 0)
        first++;
    if (first != at || team_agent(team, unit) != NULL)
        return;
    suggest_try(suggest, unit);
    str_addf(to, ", %s", unit);
}

int target_hint(const struct team *team, const char *word, bool many, struct err *err)
{
    static const char *const words[] = {"managers", "workers", "all"};
    _cleanup_str_ struct str has = STR_INIT;
    struct suggest suggest = SUGGEST_INIT(word);

    for (size_t i = 0; i < team->agent_count; i++) {
        suggest_try(&suggest, team->agents[i].id);
        str_addf(&has, "%s%s", i > 0 ? ", " : "", team->agents[i].id);
    }
    for (size_t i = 0; many && i < team->agent_count; i++)
        add_unit(team, i, &suggest, &has);
    for (size_t i = 0; many && i < ARRAY_LEN(words); i++) {
        suggest_try(&suggest, words[i]);
        str_addf(&has, ", %s", words[i]);
    }
    return suggest.nearest != NULL ? err_hint(err, SUGGEST_MEANT "%s  (the team has: %s)",
                                              suggest.nearest, str_text(&has))
                                   : err_hint(err, "the team has: %s", str_text(&has));
}

static int no_target(const struct team *team, const char *word, struct err *err)
{
    (void)err_set(err, MAS_NOT_FOUND, "cannot find agent '%s': the team has no such agent", word);
    return target_hint(team, word, true, err);
}

int target_resolve(const struct team *team, const struct agent *from, const char *text,
                   size_t **ret, size_t *ret_count, struct err *err)
{
    _cleanup_free_ size_t *items = mem_alloc(team->agent_count * sizeof *items);
    struct meant choice = {.items = items};

    for (const char *at = text;; at++) {
        size_t len = strcspn(at, ",");
        _cleanup_free_ char *word = mem_dupn(at, len);
        enum meaning found = add(team, from, word, &choice);
        if (found == MEANS_NOTHING)
            return no_target(team, word, err);
        if (found == MEANS_NOBODY)
            return reaches_nobody(team, from, word, err);
        at += len;
        if (*at == '\0')
            break;
    }
    *ret = TAKE_PTR(items);
    *ret_count = choice.count;
    return 0;
}

int target_check_rule(const struct team *team, const struct agent *from, const struct agent *to,
                      struct err *err)
{
    _cleanup_str_ struct str words = STR_INIT;

    if (may_write(team, from, to))
        return 0;
    team_add_reach(&words, team->rules[from->rank]);
    (void)err_set(err, MAS_FAILED, "the rule for a %s, '%s', does not let agent '%s' write to it",
                  rank_name(from->rank), words.len > 0 ? words.data : "nobody", from->id);
    return err_hint(err, "the template's [rules] say who may write to whom");
}
