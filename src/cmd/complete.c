/*
 * `mas complete`, which the completion scripts run: prints the candidates for the last word, one
 * per line. It prints only words of letters, digits, "_" and "-", so that a shell finds nothing to
 * run in them. If there are no candidates, the scripts complete file names. The words are read as
 * the parser would read them, from the left: root, host, verb, action, options; what is wrong among
 * them offers nothing and is no error.
 */

#include "base/json.h"
#include "cli/complete_there.h"
#include "client/roster.h"
#include "client/survey.h"
#include "cmd.h"
#include "model/target.h"
#include "session/outside/outside.h"
#include "store/template.h"

static void offer(const struct typed *typed, const char *word)
{
    complete_offer(typed, word, "");
}

static void offer_verbs(const struct typed *typed)
{
    for (size_t i = 0; cmd_table[i] != NULL; i++)
        if (cmd_table[i]->group != GROUP_HIDDEN)
            complete_offer(typed, cmd_table[i]->name, cmd_table[i]->summary);
}

static void offer_actions(const struct typed *typed, const struct cmd *cmd)
{
    for (size_t i = 0; cmd != NULL && cmd->actions != NULL && cmd->actions[i] != NULL; i++)
        complete_offer(typed, cmd_action_name(cmd->actions[i]), cmd->actions[i]->summary);
}

/* Returns the command that the operands of `mas help` name. */
static const struct cmd *find_named(const struct typed *typed)
{
    const struct cmd *cmd = cmd_find(typed->operands[0]);

    for (size_t i = 1; cmd != NULL && i < typed->operand_count; i++)
        cmd = cmd_action(cmd, typed->operands[i]);
    return cmd;
}

static void offer_options(const struct typed *typed)
{
    struct opt common[8];
    const struct opt *lists[] = {typed->cmd->opts, cmd_common_opts(typed->cmd, common)};

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (const struct opt *opt = lists[i]; opt != NULL && opt->name != NULL; opt++) {
            _cleanup_free_ char *word = mem_printf("--%s", opt->name);
            complete_offer(typed, word, opt->help);
        }
}

/* Offers the names of hosts, each with this behind it. */
static void offer_hosts(const struct typed *typed, const char *behind)
{
    const struct config *config = &typed->call->config;

    for (size_t i = 0; i < config->remote_count; i++)
        if (str_starts(config->remotes[i].name, typed->prefix))
            printf("%s%s%s\n", typed->before, config->remotes[i].name, behind);
}

/* The last word is NAME:..., for a host of that name: only the rest is to be completed. Where the
 * shell gave it in parts, join_words() has found that. */
static void begin_host(struct typed *typed)
{
    const char *host = typed->host == NULL ? complete_host_of(typed, typed->prefix) : NULL;

    if (host == NULL)
        return;
    char *before = mem_printf("%s%s:", typed->before, host);
    free(typed->before);
    typed->before = before;
    typed->prefix += strlen(host) + 1;
    typed->host = host;
}

static void offer_sessions(const struct typed *typed)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    struct err ignored = ERR_INIT;

    if (survey_take(&typed->call->root, &typed->call->config, SURVEY_LIVE, &survey, &ignored) == -1)
        return;
    for (size_t i = 0; i < survey.count; i++) {
        const struct view *view = &survey.views[i];
        offer(typed, view->live != NULL ? view->live->name : view->row.tmux_name);
        offer(typed, view_name(view));
        if (strlen(typed->prefix) >= 4)
            offer(typed, view->row.id);
    }
}

static void offer_templates(const struct typed *typed)
{
    _cleanup_strv_ char **names = template_list(&typed->call->root, false);

    for (char **name = names; name != NULL && *name != NULL; name++)
        offer(typed, *name);
}

static void offer_presets(const struct typed *typed)
{
    const struct config *config = &typed->call->config;
    for (size_t i = 0; i < config->preset_count; i++)
        complete_offer(typed, config->presets[i].name, config->presets[i].description);
}

static void offer_accounts(const struct typed *typed)
{
    const struct accounts *accounts = &typed->call->config.accounts;
    for (size_t i = 0; i < accounts->count; i++)
        offer(typed, accounts->list[i].name);
}

static void offer_kept(const struct typed *typed)
{
    _cleanup_outside_ struct outside_list list = OUTSIDE_LIST_INIT;
    _cleanup_strv_ char **known = outside_known(&typed->call->root);

    outside_find(&typed->call->config, NULL, &list);
    outside_leave_out(&list, known);
    outside_read(&list);
    for (size_t i = 0; i < list.count; i++)
        complete_offer(typed, list.sessions[i].id, list.sessions[i].words);
}

/* Opens the team that `word` names or, if it is NULL, the team of this pane. */
static bool open_team(const struct typed *typed, const char *word, struct roster_team *ret)
{
    struct err ignored = ERR_INIT;
    const char *text = word != NULL ? word : getenv("MAS_SESSION_ID");
    char id[ID_TEXT];

    return typed->call->has_root && text != NULL &&
           survey_select(&typed->call->root, &typed->call->config, text, id, &ignored) == 0 &&
           roster_open(&typed->call->root, id, ret, &ignored) == 0;
}

static void offer_team(const struct typed *typed, const struct team *team, bool targets)
{
    static const char *const words[] = {"managers", "workers", "all"};

    for (size_t i = 0; i < team->agent_count; i++)
        complete_offer(typed, team->agents[i].id, team->agents[i].role);
    for (size_t i = 0; targets && i < team->agent_count; i++) {
        size_t first = 0;
        while (strcmp(team->agents[first].group, team->agents[i].group) != 0)
            first++;
        if (first == i && team_agent(team, team->agents[i].group) == NULL)
            offer(typed, team->agents[i].group);
    }
    for (size_t i = 0; targets && i < ARRAY_LEN(words); i++)
        offer(typed, words[i]);
}

static void offer_agents(const struct typed *typed, bool targets)
{
    const char *session = typed->session;
    struct roster_team team;

    if (typed->cmd == &cmd_every && typed->operand_count > 1)
        session = typed->operands[1]; /* behind WHEN */
    /* inside a team's pane, the first operand may be a TARGET */
    if (session == NULL && typed->operand_count > 0 &&
        (getenv("MAS_SESSION_ID") == NULL || complete_host_of(typed, typed->operands[0]) != NULL))
        session = typed->operands[0];
    const char *host = complete_host_of(typed, session);
    if (host != NULL)
        complete_there(typed, host);
    if (host != NULL || !typed->call->has_root || !open_team(typed, session, &team))
        return;
    offer_team(typed, &team.team, targets);
    roster_close(&team);
}

/* In a list, completes the part after the last comma. */
static void begin_list(struct typed *typed)
{
    const char *comma = strrchr(typed->prefix, ',');
    if (comma == NULL)
        return;
    char *before =
        mem_printf("%s%.*s", typed->before, (int)(comma + 1 - typed->prefix), typed->prefix);
    free(typed->before);
    typed->before = before;
    typed->prefix = comma + 1;
}

static void offer_kind(struct typed *typed, enum offer kind)
{
    static const struct {
        enum offer kind;
        const char *words[4];
    } fixed[] = {
        {OFFER_SHELL, {"bash", "zsh", "fish"}},     {OFFER_STATUS, {"stopped", "error", "crashed"}},
        {OFFER_MODE, {"isolated", "legacy"}},       {OFFER_UNTIL, {"idle", "exit", "waiting"}},
        {OFFER_ALLOW, {"once", "always", "clear"}}, {OFFER_REJECT, {"once", "always"}},
    };

    if (kind == OFFER_TARGET || kind == OFFER_STATUS || kind == OFFER_ACCOUNT)
        begin_list(typed);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        for (size_t j = 0; fixed[i].kind == kind && fixed[i].words[j] != NULL; j++)
            offer(typed, fixed[i].words[j]);
    if (kind == OFFER_COMMAND)
        offer_verbs(typed);
    else if (kind == OFFER_HOST)
        offer_hosts(typed, "");
    else if (kind == OFFER_ACTION && typed->operand_count > 0)
        offer_actions(typed, find_named(typed));
    if (kind == OFFER_SESSION)
        begin_host(typed);
    if (typed->host != NULL) {
        if (kind == OFFER_SESSION || kind == OFFER_TARGET || kind == OFFER_AGENT ||
            kind == OFFER_TEMPLATE || kind == OFFER_PRESET)
            complete_there(typed, typed->host);
        return;
    }
    if (kind == OFFER_SESSION && typed->prefix[0] != '\0')
        offer_hosts(typed, ":");
    if (kind == OFFER_TARGET || kind == OFFER_AGENT)
        offer_agents(typed, kind == OFFER_TARGET);
    if (!typed->call->has_root)
        return;
    if (kind == OFFER_SESSION)
        offer_sessions(typed);
    else if (kind == OFFER_TEMPLATE)
        offer_templates(typed);
    else if (kind == OFFER_PRESET)
        offer_presets(typed);
    else if (kind == OFFER_ACCOUNT)
        offer_accounts(typed);
    else if (kind == OFFER_KEPT)
        offer_kept(typed);
}

/* Returns true if the operands contain no SESSION: -s names it, or the first operand is a TARGET of
 * the pane's team. */
static bool has_no_session(const struct typed *typed)
{
    struct err ignored = ERR_INIT;
    _cleanup_free_ size_t *agents = NULL;
    size_t count = 0;
    struct roster_team team;

    if (typed->session != NULL)
        return true;
    if (typed->operand_count == 0 || getenv("MAS_SESSION_ID") == NULL ||
        complete_host_of(typed, typed->operands[0]) != NULL || !open_team(typed, NULL, &team))
        return false;
    bool found =
        target_resolve(&team.team, NULL, typed->operands[0], &agents, &count, &ignored) == 0;
    roster_close(&team);
    return found;
}

static void offer_operand(struct typed *typed)
{
    const struct cmd *cmd = typed->cmd;
    enum offer second = cmd_operand_offer(cmd, 1);
    size_t place = typed->operand_count;

    if (second == OFFER_TARGET || second == OFFER_AGENT) {
        place += has_no_session(typed);
        if (place == 0 && getenv("MAS_SESSION_ID") != NULL)
            offer_kind(typed, second);
    }
    offer_kind(typed, cmd_operand_offer(cmd, place));
}

/* Returns the option that `word` is, or NULL. *ret_value is the text after its "=", or NULL. */
static const struct opt *find_opt(const struct cmd *cmd, const char *word, const char **ret_value)
{
    static struct opt common[8];
    const struct opt *lists[] = {cmd->opts, cmd_common_opts(cmd, common)};
    size_t len = strcspn(word, "=");

    *ret_value = word[len] == '=' ? word + len + 1 : NULL;
    for (size_t i = 0; word[0] == '-' && i < ARRAY_LEN(lists); i++)
        for (const struct opt *opt = lists[i]; opt != NULL && opt->name != NULL; opt++)
            if ((word[1] == '-' && strlen(opt->name) + 2 == len &&
                 memcmp(word + 2, opt->name, len - 2) == 0) ||
                (opt->letter != 0 && word[1] == opt->letter && word[2] == '\0'))
                return opt;
    return NULL;
}

/* Sorts the words after the verb into options and operands. bash passes the "=" of an option as a
 * separate word. */
static void read_words(struct typed *typed, char **words, size_t last)
{
    bool ended = false; /* "--" has ended the options */

    for (size_t i = 0; i < last; i++) {
        const char *value;
        const struct opt *opt = ended ? NULL : find_opt(typed->cmd, words[i], &value);
        if (ended || words[i][0] != '-' || words[i][1] == '\0') {
            typed->operands[typed->operand_count++] = words[i];
        } else if (strcmp(words[i], "--") == 0) {
            ended = true;
        } else if (opt != NULL && opt->arg != NULL && opt->arg[0] != '[') {
            if (value == NULL)
                i += i + 1 < last && strcmp(words[i + 1], "=") == 0 ? 2 : 1;
            if (value == NULL && i >= last)
                typed->opt = opt;
            else if (strcmp(opt->name, "session") == 0)
                typed->session = value != NULL ? value : words[i];
            else if (typed->cmd == &cmd_every && *opt->name == 'a') /* --at and --after say WHEN */
                typed->operands[typed->operand_count++] = words[i];
        }
    }
    if (typed->opt != NULL && strcmp(typed->prefix, "=") == 0)
        typed->prefix = "";
    if (typed->opt != NULL || ended || typed->prefix[0] != '-')
        return;
    const char *value;
    const struct opt *opt = find_opt(typed->cmd, typed->prefix, &value);
    if (opt == NULL || value == NULL)
        return;
    typed->opt = opt;
    free(typed->before);
    typed->before = mem_dupn(typed->prefix, (size_t)(value - typed->prefix));
    typed->prefix = value;
}

/* Returns how many words to skip: one, or this option with its value. Sets *ret to that value; it
 * stays unchanged if the word is another one or the value is not typed yet. */
static size_t parse_value(char **words, size_t last, size_t at, const char *name, const char **ret)
{
    size_t len = strlen(name);

    if (str_starts(words[at], name) && words[at][len] == '=')
        *ret = words[at] + len + 1;
    if (strcmp(words[at], name) != 0)
        return 1;
    size_t value = at + 1 < last && strcmp(words[at + 1], "=") == 0 ? at + 2 : at + 1;
    if (value < last)
        *ret = words[value];
    return value + 1 - at;
}

static size_t parse_root(char **words, size_t last, size_t at, const char **ret)
{
    return parse_value(words, last, at, "--root", ret);
}

/* Skips the options before the verb. *ret_host is the value of --host; "" if it is the last word.
 */
static size_t skip_globals(struct typed *typed, char **words, size_t last)
{
    const char *root;
    size_t at = 0;

    while (at < last && words[at][0] == '-') {
        const char *host = "";
        size_t skip = parse_value(words, last, at, "--host", &host);
        if (str_starts(words[at], "--host"))
            typed->host = host;
        at += skip > 1 ? skip : parse_root(words, last, at, &root);
    }
    return at;
}

/* bash passes NAME:SESSION in three words: makes one of each three, but leaves the last word alone,
 * whose beginning becomes typed->host. Returns the place of the last word. */
static size_t join_words(struct typed *typed, char **words, size_t last)
{
    size_t to = 0;

    for (size_t i = 0; i <= last; i++) {
        bool joins = to > 0 && strcmp(words[i], ":") == 0 &&
                     config_remote(&typed->call->config, words[to - 1]) != NULL;
        if (joins && i + 1 >= last) {
            typed->host = words[--to];
            typed->prefix = i == last ? "" : words[last];
            words[to] = words[last];
            return to;
        }
        if (joins) {
            words[to - 1] = mem_printf("%s:%s", words[to - 1], words[i + 1]);
            strv_push(&typed->joined, words[to - 1]);
            free(words[to - 1]);
            words[to - 1] = typed->joined[strv_len(typed->joined) - 1];
            i++;
            continue;
        }
        words[to++] = words[i];
    }
    return to - 1;
}

/* Expands quotes and "~/" in a directory name as the shell would. */
static char *read_dir(const char *word)
{
    _cleanup_strv_ char **words = NULL;
    struct err ignored = ERR_INIT;
    const char *home = str_starts(word, "~/") ? getenv("HOME") : NULL;

    if (root_exists(word) ||
        str_split_words(home != NULL ? word + 1 : word, &words, &ignored) == -1 ||
        strv_len(words) != 1)
        return mem_dup(word);
    return mem_printf("%s%s", home != NULL ? home : "", words[0]);
}

/* Opens the root that the command line names, else the root of this shell. Without a root, mas
 * still completes the fixed words. */
static void open_root(struct call *call, char **words, size_t last)
{
    struct err ignored = ERR_INIT;
    const char *typed = NULL;
    _cleanup_free_ char *path = NULL;

    for (size_t i = 0; i < last && strcmp(words[i], "--") != 0;)
        i += parse_root(words, last, i, &typed);
    if (typed != NULL)
        call->root_path = path = read_dir(typed);
    if (call_open_root(call, &ignored) == -1)
        call->has_root = false;
    call->root_path = NULL;
}

/* Replaces a command by its action that the words name, and returns how many words that took.
 * Offers its actions if the last word may be one. */
static size_t read_action(struct typed *typed, char **words, size_t last)
{
    const struct cmd *cmd = typed->cmd;
    size_t at = 0;
    const char *root;

    while (at < last && words[at][0] == '-' &&
           (cmd->run == NULL || strcmp(words[at], "--root") == 0))
        at += parse_root(words, last, at, &root);
    if (at < last && (cmd->run == NULL || words[at][0] != '-')) {
        typed->cmd = cmd_action(cmd, words[at]);
        return at + 1;
    }
    if (at == last && typed->prefix[0] != '-')
        offer_actions(typed, cmd);
    return 0;
}

static void complete(struct typed *typed, char **words, size_t last)
{
    for (const struct cmd *before = NULL; typed->cmd != before && typed->cmd->actions != NULL;) {
        before = typed->cmd;
        size_t taken = read_action(typed, words, last);
        if (typed->cmd == NULL)
            return;
        words += taken;
        last -= taken;
    }
    read_words(typed, words, last);
    if (typed->opt != NULL)
        offer_kind(typed, opt_offer(typed->opt));
    else if (typed->prefix[0] == '-')
        offer_options(typed);
    else
        offer_operand(typed);
}

static int run_complete(struct call *call, struct err *err)
{
    char **words = call->operands;
    size_t last = (size_t)call->operand_count - 1;
    struct typed typed = {.call = call,
                          .before = mem_dup(""),
                          .prefix = words[last],
                          .describe = call_opt(call, "describe") != NULL};

    (void)err;
    open_root(call, words, last);
    last = join_words(&typed, words, last);
    size_t verb = skip_globals(&typed, words, last);
    if (strcmp(typed.prefix, "=") == 0 && verb > last)
        typed.prefix = "";
    if (verb > last && typed.host != NULL && typed.host[0] == '\0')
        offer_hosts(&typed, "");
    else if (verb == last)
        offer_verbs(&typed);
    if (verb < last)
        typed.cmd = cmd_find(words[verb]);
    if (typed.cmd != NULL) {
        typed.operands = mem_alloc((size_t)call->operand_count * sizeof *typed.operands);
        complete(&typed, words + verb + 1, last - verb - 1);
        free(typed.operands);
    }
    free(typed.before);
    strv_free(typed.joined);
    return 0;
}

static const struct opt opts[] = {
    {0, "describe", NULL, "add a tab and a description to each"},
    {.name = NULL},
};

const struct cmd cmd_complete = {
    .name = "complete",
    .group = GROUP_HIDDEN,
    .operands = " WORD...",
    .summary = "print the completions of the last word",
    .opts = opts,
    .operands_min = 1,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .does = OPENS_ROOT_LATER | READS_PRESETS,
    .run = run_complete,
};
