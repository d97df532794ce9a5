#include "cli/new_options.h"

#include "cli/consent.h"

int wall_option_read(const struct call *call, enum wall_level *ret,
                     const enum wall_level **ret_given, struct err *err)
{
    const char *word = call_opt(call, "wall");

    *ret = WALL_UNSET;
    *ret_given = NULL;
    if (word == NULL)
        return 0;
    if (word[0] == '\0')
        *ret = WALL_TRY;
    else if (strcmp(word, "default") != 0 && VALUE_PARSE(&wall_level_type, word, ret) != NULL)
        return err_set(err, MAS_USAGE,
                       "cannot use --wall=%s: it is not off, try, require or default", word);
    if (caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot use --wall: an agent may not decide this");
    *ret_given = ret;
    return 0;
}

/* Reads --setup, and finds out whether somebody can be asked. */
static int read_setup(const struct call *call, struct life_setup *ret, struct err *err)
{
    const char *word = call_opt(call, "setup");

    if (word != NULL && strcmp(word, "yes") != 0 && strcmp(word, "no") != 0)
        return err_set(err, MAS_USAGE, "cannot use --setup '%s': it is not yes or no", word);
    if (word != NULL)
        ret->wish = strcmp(word, "yes") == 0 ? LIFE_SETUP_YES : LIFE_SETUP_NO;
    if (ret->wish == LIFE_SETUP_YES && caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot use --setup=yes: an agent may not decide this");
    ret->ask = consent_possible() && !caller_is_agent() ? consent_ask : NULL;
    return 0;
}

/* Reads the options --limit. */
static int read_limits(const struct call *call, struct session_limits *ret, struct err *err)
{
    _cleanup_strv_ char **words = call_opts(call, "limit");

    for (char **word = words; word != NULL && *word != NULL; word++) {
        _cleanup_free_ char *agent = NULL;
        enum limit_kind kind = LIMIT_SESSION;
        const char *wrong = NULL;
        int64_t amount = 0;
        if (!session_limits_parse(*word, &agent, &kind, &amount, &wrong))
            return err_set(err, MAS_USAGE, "cannot use --limit '%s': expected %s", *word,
                           wrong != NULL ? wrong
                                         : "KIND=AMOUNT or AGENT.KIND=AMOUNT, where KIND is "
                                           "session, agent, memory, cpus or processes");
        session_limits_put(ret, agent, kind, amount);
    }
    if (words != NULL && caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot use --limit: an agent may not decide this");
    return 0;
}

int new_options_read(const struct call *call, struct life_options *ret, struct new_given *given,
                     struct err *err)
{
    given->prompts = call_opts(call, "prompt");
    ret->name = call_opt(call, "name");
    ret->template = call_opt(call, "template");
    ret->preset = call_opt(call, "agent");
    ret->accounts = call_opt(call, "account");
    ret->project = call_opt(call, "project");
    ret->changes = call_opt(call, "with-changes") != NULL;
    ret->config = call_opt(call, "config");
    ret->prompts = given->prompts;
    ret->private = call_opt(call, "private") != NULL;
    ret->limits = &given->limits;
    if (ret->accounts != NULL && caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot use --account: an agent may not decide this");
    return read_setup(call, &given->setup, err) == -1 ||
                   read_limits(call, &given->limits, err) == -1 ||
                   wall_option_read(call, &given->level, &given->wall, err) == -1
               ? -1
               : 0;
}

void new_options_warn(const struct new_given *given, const struct session *session)
{
    if (given->setup.fault != NULL)
        err_warn("the project's " SETUP_SCRIPT " does not run: %s", given->setup.fault);
    else if (given->setup.state == SETUP_WAITS)
        err_warn("the project's " SETUP_SCRIPT " does not run, because nobody has allowed it; "
                 "allow it with: mas set %s setup=yes",
                 session->name[0] != '\0' ? session->name : session->id);
}

void new_given_free(struct new_given *given)
{
    strv_free(given->prompts);
    session_limits_free(&given->limits);
}
