/*
 * cmd_run(): the action of a verb; its options, by getopt_long(), which also moves the operands
 * behind them; whether an agent may run it. run() then takes the session from the operands and
 * sends the command to other machines before it opens a root, as it may need none here; then come
 * the root, --all-hosts, and the verb. The call belongs to cmd_run(), which frees it whatever the
 * verb returns. Who asks only about a command line (cmd_has_option() and the like) has a copy
 * parsed.
 */

#include "cmd.h"

#include "base/suggest.h"
#include "base/time.h"
#include "cli/person.h"
#include "fleet/greeting.h"
#include "model/remote.h"

#include <getopt.h>

/* clang-format off */
const struct cmd *const cmd_table[] = {
    &cmd_new,
    &cmd_list,
    &cmd_attach,
    &cmd_top,
    &cmd_send,
    &cmd_stop,
    &cmd_show,
    &cmd_start,
    &cmd_run_session,
    &cmd_rm,
    &cmd_clean,
    &cmd_archive,
    &cmd_restore,
    &cmd_move,
    &cmd_migrate,
    &cmd_du,
    &cmd_env,
    &cmd_set,
    &cmd_add,
    &cmd_fork,
    &cmd_remove,
    &cmd_every,
    &cmd_goal,
    &cmd_status,
    &cmd_ask,
    &cmd_cancel,
    &cmd_clear,
    &cmd_approve,
    &cmd_deny,
    &cmd_wait,
    &cmd_peek,
    &cmd_logs,
    &cmd_restart,
    &cmd_sleep,
    &cmd_next,
    &cmd_diff,
    &cmd_review,
    &cmd_commits,
    &cmd_compare,
    &cmd_merge,
    &cmd_pick,
    &cmd_try,
    &cmd_open,
    &cmd_reset,
    &cmd_land,
    &cmd_sync,
    &cmd_history,
    &cmd_usage,
    &cmd_search,
    &cmd_context,
    &cmd_kept,
    &cmd_adopt,
    &cmd_serve,
    &cmd_invite,
    &cmd_acp,
    &cmd_mcp,
    &cmd_init,
    &cmd_keys,
    &cmd_config,
    &cmd_presets,
    &cmd_template,
    &cmd_remote,
    &cmd_doctor,
    &cmd_completion,
    &cmd_version,
    &cmd_help,
    &cmd_host,
    &cmd_look,
    &cmd_lease,
    &cmd_measure,
    &cmd_notify,
    &cmd_setup,
    &cmd_tick,
    &cmd_errand,
    &cmd_receive,
    &cmd_leave,
    &cmd_carried,
    &cmd_complete,
    &cmd_library,
    &cmd_lfs_filter,
    NULL,
};
/* clang-format on */

const struct cmd *cmd_find(const char *name)
{
    for (size_t i = 0; cmd_table[i] != NULL; i++)
        if (strcmp(cmd_table[i]->name, name) == 0 ||
            (cmd_table[i]->alias != NULL && strcmp(cmd_table[i]->alias, name) == 0))
            return cmd_table[i];
    return NULL;
}

const struct cmd *cmd_action(const struct cmd *cmd, const char *name)
{
    size_t verb = strlen(cmd->name) + 1;
    for (size_t i = 0; cmd->actions != NULL && cmd->actions[i] != NULL; i++)
        if (strcmp(cmd->actions[i]->name + verb, name) == 0)
            return cmd->actions[i];
    return NULL;
}

const char *cmd_action_name(const struct cmd *action)
{
    const char *blank = strrchr(action->name, ' ');
    return blank != NULL ? blank + 1 : action->name;
}

/* Returns what the first `len` bytes stand for. */
static enum offer word_offer(const char *word, size_t len)
{
    static const struct {
        const char *word;
        enum offer offer;
    } words[] = {
        {"ACCOUNT", OFFER_ACCOUNT},   {"ACTION", OFFER_ACTION}, {"AGENT", OFFER_AGENT},
        {"COMMAND", OFFER_COMMAND},   {"DIR", OFFER_DIR},       {"FILE", OFFER_FILE},
        {"HOST", OFFER_HOST},         {"MODE", OFFER_MODE},     {"PATH", OFFER_FILE},
        {"PRESET", OFFER_PRESET},     {"S,..", OFFER_STATUS},   {"SESSION", OFFER_SESSION},
        {"SHELL", OFFER_SHELL},       {"STATE", OFFER_UNTIL},   {"TARGET", OFFER_TARGET},
        {"TEMPLATE", OFFER_TEMPLATE},
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strlen(words[i].word) == len && strncmp(word, words[i].word, len) == 0)
            return words[i].offer;
    return OFFER_NONE;
}

enum offer opt_offer(const struct opt *opt)
{
    return opt->arg != NULL ? word_offer(opt->arg, strcspn(opt->arg, "[")) : OFFER_NONE;
}

enum offer cmd_operand_offer(const struct cmd *cmd, size_t place)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *word = cmd->operands + strcspn(cmd->operands, capitals);

    for (const char *next; place > 0; place--, word = next) {
        next = word + strcspn(word, " ");
        next += strcspn(next, capitals);
        if (*next == '\0')
            next = strstr(word, "...") != NULL ? word : next;
    }
    size_t len = strspn(word, capitals);
    if (cmd->last != OFFER_NONE && len > 0 && strchr(word, ' ') == NULL)
        return cmd->last;
    return word_offer(word, len);
}

bool cmd_opens_root(const struct cmd *cmd)
{
    return cmd->root != ROOT_NONE && (cmd->does & OPENS_ROOT_LATER) == 0;
}

const struct opt *cmd_common_opts(const struct cmd *cmd, struct opt buf[8])
{
    size_t n = 0;
    if (cmd->on != ON_NOTHING)
        buf[n++] = (struct opt){'s', "session", "SESSION", "the session"};
    if ((cmd->takes & TAKES_JSON) != 0)
        buf[n++] = (struct opt){0, "json", NULL, "print JSON"};
    if ((cmd->takes & TAKES_QUIET) != 0)
        buf[n++] = (struct opt){'q', "quiet", NULL, "print only ids, or nothing"};
    if ((cmd->takes & TAKES_ALL_HOSTS) != 0)
        buf[n++] = (struct opt){0, "all-hosts", NULL, "here and on all hosts of mas.ini"};
    buf[n++] = (struct opt){0, "root", "DIR", "use this root"};
    buf[n++] = (struct opt){'h', "help", NULL, "show this help"};
    buf[n] = (struct opt){.name = NULL};
    return buf;
}

/* A command's options in the form that getopt_long() takes. */
struct parser {
    struct opt common[8];
    struct option longs[OPTS_MAX + 8];
    char shorts[2 * (OPTS_MAX + 8) + 2];
    size_t own; /* the first `own` of longs are the command's own */
};

enum { OPT_BASE = 256 }; /* getopt_long() returns this plus the index in longs */

static void add_opt(struct parser *parser, const struct opt *opt, size_t place)
{
    size_t n = strlen(parser->shorts);
    parser->longs[place] = (struct option){.name = opt->name,
                                           .has_arg = opt->arg == NULL     ? no_argument
                                                      : opt->arg[0] == '[' ? optional_argument
                                                                           : required_argument,
                                           .val = OPT_BASE + (int)place};
    if (opt->letter == 0)
        return;
    parser->shorts[n] = opt->letter;
    parser->shorts[n + 1] = opt->arg != NULL ? ':' : '\0';
}

static void make_parser(const struct cmd *cmd, struct parser *parser)
{
    size_t n = 0;
    *parser = (struct parser){.shorts = ":"};
    for (; cmd->opts != NULL && cmd->opts[n].name != NULL; n++)
        add_opt(parser, &cmd->opts[n], n);
    parser->own = n;
    cmd_common_opts(cmd, parser->common);
    for (size_t i = 0; parser->common[i].name != NULL; i++)
        add_opt(parser, &parser->common[i], n++);
}

static const struct opt *opt_at(const struct cmd *cmd, const struct parser *parser, size_t place)
{
    return place < parser->own ? &cmd->opts[place] : &parser->common[place - parser->own];
}

/* Converts a result of getopt_long() to an index in longs. The result is OPT_BASE plus the index,
 * or a letter. */
static size_t find_place(const struct cmd *cmd, const struct parser *parser, int c)
{
    if (c >= OPT_BASE)
        return (size_t)(c - OPT_BASE);
    size_t i = 0;
    while (opt_at(cmd, parser, i)->letter != c)
        i++;
    return i;
}

static int usage(const struct cmd *cmd, struct err *err)
{
    return err_hint(err, "usage: mas %s [OPTION...]%s  (more: mas help %s)", cmd->name,
                    cmd->operands, cmd->name);
}

/* Sets an error that says why getopt_long() rejected this word, which begins with "--". */
static void explain_option(const struct cmd *cmd, const struct parser *parser, const char *word,
                           struct err *err)
{
    _cleanup_free_ char *name = mem_dupn(word + 2, strcspn(word + 2, "="));
    const char *found[2] = {NULL, NULL};
    struct suggest suggest = SUGGEST_INIT(name);
    size_t count = 0;

    for (const struct option *option = parser->longs; option->name != NULL; option++) {
        suggest_try(&suggest, option->name);
        if (strcmp(option->name, name) == 0) {
            found[0] = option->name;
            count = 1;
            break;
        }
        if (str_starts(option->name, name) && count++ < 2)
            found[count - 1] = option->name;
    }
    if (count == 1)
        (void)err_set(err, MAS_USAGE, "cannot run '%s': option '--%s' takes no value", cmd->name,
                      found[0]);
    else if (count > 1)
        (void)err_set(err, MAS_USAGE,
                      "cannot run '%s': option '--%s' is ambiguous: it could be '--%s' or '--%s'%s",
                      cmd->name, name, found[0], found[1], count > 2 ? " or another" : "");
    else if (suggest.nearest != NULL)
        (void)err_set(err, MAS_USAGE,
                      "cannot run '%s': there is no option '--%s'; did you mean '--%s'?", cmd->name,
                      name, suggest.nearest);
    else
        (void)err_set(err, MAS_USAGE, "cannot run '%s': there is no option '--%s'", cmd->name,
                      name);
}

static int bad_option(const struct cmd *cmd, const struct parser *parser, int c, char **argv,
                      struct err *err)
{
    if (c == ':')
        (void)err_set(err, MAS_USAGE, "cannot run '%s': option '%s' needs a value", cmd->name,
                      argv[optind - 1]);
    else if (optopt != 0 && optopt < OPT_BASE)
        (void)err_set(err, MAS_USAGE, "cannot run '%s': there is no option '-%c'", cmd->name,
                      optopt);
    else
        explain_option(cmd, parser, argv[optind - 1], err);
    return usage(cmd, err);
}

/* Handles one of the shared options. */
static void parse_common(struct call *call, const struct opt *opt, bool *ret_help)
{
    if (strcmp(opt->name, "session") == 0)
        call->session = optarg;
    else if (strcmp(opt->name, "json") == 0)
        call->json = true;
    else if (strcmp(opt->name, "quiet") == 0)
        call->quiet = true;
    else if (strcmp(opt->name, "all-hosts") == 0)
        call->all_hosts = true;
    else if (strcmp(opt->name, "root") == 0)
        call->root_path = optarg;
    else
        *ret_help = true;
}

static int parse(struct call *call, int argc, char **argv, bool *ret_help, struct err *err)
{
    struct parser parser;
    int c;

    make_parser(call->cmd, &parser);
    opterr = 0;
    optind = 0; /* also if an earlier parse ended within a word */
    while ((c = getopt_long(argc, argv, parser.shorts, parser.longs, NULL)) != -1) {
        if (c == '?' || c == ':')
            return bad_option(call->cmd, &parser, c, argv, err);
        size_t place = find_place(call->cmd, &parser, c);
        if (place >= parser.own) {
            parse_common(call, opt_at(call->cmd, &parser, place), ret_help);
            continue;
        }
        call->given = mem_room(call->given, call->given_count, sizeof *call->given);
        call->given[call->given_count++] =
            (struct given){.opt = &call->cmd->opts[place], .value = optarg != NULL ? optarg : ""};
    }
    call->operands = argv + optind;
    call->operand_count = argc - optind;
    return 0;
}

/* For ON_SESSION: removes the session from the operands, unless -s named it. Without an operand,
 * uses the session of the team's pane. */
static void parse_session(struct call *call)
{
    if (call->cmd->on != ON_SESSION || call->session != NULL)
        return;
    if (call->operand_count > 0) {
        call->session = call->operands[0];
        call->operands++;
        call->operand_count--;
    } else {
        call->session = getenv("MAS_SESSION_ID");
    }
}

static int check_operands(struct call *call, struct err *err)
{
    const struct cmd *cmd = call->cmd;
    if (call->operand_count < cmd->operands_min) {
        (void)err_set(err, MAS_USAGE, "cannot run '%s': it needs %s", cmd->name,
                      cmd->operands[0] == ' ' ? cmd->operands + 1 : cmd->operands);
        return usage(cmd, err);
    }
    if (cmd->operands_max >= 0 && call->operand_count > cmd->operands_max) {
        return call_unexpected(call, call->operands[cmd->operands_max], err);
    }
    return 0;
}

static int check_person(const struct call *call, struct err *err)
{
    const struct cmd *cmd = call->cmd;

    if (cmd->who == WHO_PERSONS_ANYWHERE)
        return person_check_root(NULL, cmd->name, err);
    return cmd->who == WHO_PERSONS && call->has_root
               ? person_check_root(call->root.path, cmd->name, err)
               : 0;
}

static int run(struct call *call, int *ret_code, struct err *err)
{
    bool done = false;

    parse_session(call);
    /* with --all-hosts a session is an error, wherever it is */
    if (check_operands(call, err) == -1 ||
        (!call->all_hosts && call_go_elsewhere(call, &done, ret_code, err) == -1))
        return -1;
    if (done)
        return 0;
    int rc = cmd_opens_root(call->cmd) ? call_open_root(call, err) : 0;
    if (call->greet) {
        bool whole = rc == 0 && call->cmd == &cmd_doctor;
        greeting_print(&(struct greeting_subject){
            .root = call->root.fd,
            .whole = whole,
            .store = whole ? config_text(&call->config, SETTING_FLEET_STORE) : NULL});
    }
    if (rc == 0 && call->all_hosts)
        return call_all_hosts(call, ret_code, err);
    if (rc == -1 || check_person(call, err) == -1)
        return -1;
    return call->cmd->run(call, err);
}

static int no_action(const struct cmd *cmd, const char *typed, struct err *err)
{
    struct suggest suggest = SUGGEST_INIT(typed);

    for (size_t i = 0; cmd->actions[i] != NULL; i++)
        suggest_try(&suggest, cmd_action_name(cmd->actions[i]));
    (void)err_set(err, MAS_USAGE, "cannot run '%s': there is no action '%s'", cmd->name, typed);
    if (suggest.nearest == NULL)
        return err_hint(err, "see: mas help %s", cmd->name);
    return err_hint(err, SUGGEST_MEANT "mas %s %s  (more: mas help %s)", cmd->name, suggest.nearest,
                    cmd->name);
}

/* Removes the first word that is not an option from argv and sets *ret to the action that it names.
 * If there is no such word, *ret stays unchanged. Options of a command that runs by itself are not
 * those of its actions, and may have values: there the word stands before all options but --root.
 */
static int parse_one_action(const struct cmd **ret, int *argc, char **argv, struct err *err)
{
    const bool runs = (*ret)->run != NULL;
    int at = 1;

    while (at < *argc && argv[at][0] == '-' && (!runs || strcmp(argv[at], "--root") == 0))
        at += strcmp(argv[at], "--root") == 0 ? 2 : 1;
    if (at >= *argc || argv[at][0] == '-')
        return 0;
    const struct cmd *action = cmd_action(*ret, argv[at]);
    if (action == NULL)
        return no_action(*ret, argv[at], err);
    for (; at < *argc; at++)
        argv[at] = argv[at + 1];
    --*argc;
    *ret = action;
    return 0;
}

/* Likewise, and actions of actions. */
static int parse_action(const struct cmd **ret, int *argc, char **argv, struct err *err)
{
    const struct cmd *before = NULL;

    while ((*ret)->actions != NULL && *ret != before) {
        before = *ret;
        if (parse_one_action(ret, argc, argv, err) == -1)
            return -1;
    }
    return 0;
}

/* Replaces the value of an option with "-". */
static void put_dash(const char *value, int argc, char **argv)
{
    static char dash[] = "-";

    for (int i = 1; i < argc; i++) {
        size_t len = strlen(argv[i]);
        if (argv[i] == value)
            argv[i] = dash;
        else if (value > argv[i] && value <= argv[i] + len)
            memcpy(argv[i] + (value - argv[i]), dash, sizeof dash);
    }
}

int cmd_open_files(const struct cmd *cmd, int argc, char **argv, struct err *err)
{
    struct call call = {.cmd = cmd};
    struct err ignored = ERR_INIT;
    bool help = false;
    int rc = 0;

    if (cmd->run == NULL)
        return 0;
    if (parse(&call, argc, argv, &help, &ignored) == -1)
        call.given_count = 0;
    for (size_t i = 0; rc == 0 && i < call.given_count; i++) {
        const struct given *given = &call.given[i];
        if (opt_offer(given->opt) != OFFER_FILE || given->value[0] == '\0' ||
            strcmp(given->value, "-") == 0)
            continue;
        _cleanup_close_ int fd = open(given->value, O_RDONLY | O_CLOEXEC);
        if (fd == -1 || dup2(fd, STDIN_FILENO) == -1)
            rc = err_errno(err, "cannot read '%s'", given->value);
        else
            put_dash(given->value, argc, argv);
    }
    free(call.given);
    return rc;
}

/* Parses a command line that stays as it is. Returns -1 with *err set if it is wrong. The caller
 * frees call->given and *ret_words, of which the operands are a part. */
static int parse_copy(struct call *call, int argc, char *const *argv, char ***ret_words,
                      struct err *err)
{
    /* parsing puts the words into another order */
    char **words = mem_alloc(((size_t)argc + 1) * sizeof *words);
    bool help = false;

    memcpy(words, argv, (size_t)argc * sizeof *words);
    *ret_words = words;
    return parse_action(&call->cmd, &argc, words, err) == -1 ? -1
                                                             : parse(call, argc, words, &help, err);
}

bool cmd_has_option(const struct cmd *cmd, int argc, char *const *argv, const char *name)
{
    struct call call = {.cmd = cmd};
    struct err ignored = ERR_INIT;
    char **words = NULL;
    bool has =
        parse_copy(&call, argc, argv, &words, &ignored) == 0 && call_opt(&call, name) != NULL;

    free(call.given);
    free(words);
    return has;
}

int cmd_session_word(const struct cmd *cmd, int argc, char *const *argv, const char **ret,
                     bool *ret_only, struct err *err)
{
    struct call call = {.cmd = cmd};
    char **words = NULL;
    int rc = parse_copy(&call, argc, argv, &words, err);

    if (rc == 0) {
        const char *word = call.session;
        for (size_t i = 0; word == NULL && i < call.given_count; i++)
            if (opt_offer(call.given[i].opt) == OFFER_SESSION)
                word = call.given[i].value;
        if (word == NULL && call.operand_count > 0 &&
            (call.cmd->on == ON_SESSION || call.cmd->on == ON_SESSIONS ||
             cmd_operand_offer(call.cmd, 0) == OFFER_SESSION))
            word = call.operands[0];
        *ret = word;
        *ret_only = call.cmd->on != ON_SESSIONS || call.operand_count + (call.session != NULL) == 1;
    }
    free(call.given);
    free(words);
    return rc;
}

int cmd_run(const struct cmd *cmd, int argc, char **argv, const struct cmd_globals *globals,
            int *ret_code, struct err *err)
{
    if (parse_action(&cmd, &argc, argv, err) == -1)
        return -1;
    struct call call = {.cmd = cmd,
                        .root_path = globals->root,
                        .greet = globals->greet,
                        .root = ROOT_INIT,
                        .config = CONFIG_INIT};
    bool help = false;

    int rc = parse(&call, argc, argv, &help, err);
    if (rc == 0 && help)
        cmd_print_help(cmd);
    else if (rc == 0 && (rc = call_check_agent(&call, err)) == 0)
        rc = run(&call, ret_code, err);
    free(call.given);
    strv_free(call.jobs);
    strv_free(call.texts);
    free(call.searched);
    config_free(&call.config);
    root_close(&call.root);
    return rc;
}

int cmd_finish(int rc, int code, struct err *err)
{
    if (rc == -1) {
        code = code != MAS_OK ? code : err->code;
        (void)fflush(stdout);
        err_print(err);
    }
    /* an error such as a full disk must not look like success */
    if ((fflush(stdout) == EOF || ferror(stdout)) && code == MAS_OK) {
        (void)err_errno(err, "cannot write to standard output");
        err_print(err);
        code = MAS_FAILED;
    }
    return code;
}

const char *call_opt(const struct call *call, const char *name)
{
    for (size_t i = call->given_count; i > 0; i--)
        if (strcmp(call->given[i - 1].opt->name, name) == 0)
            return call->given[i - 1].value;
    return NULL;
}

char **call_opts(const struct call *call, const char *name)
{
    char **values = NULL;
    for (size_t i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i].opt->name, name) == 0)
            strv_push(&values, call->given[i].value);
    return values;
}

int call_usage(const struct call *call, struct err *err)
{
    return usage(call->cmd, err);
}

int call_unexpected(const struct call *call, const char *operand, struct err *err)
{
    const char *stray = call->cmd->stray;
    size_t len = strlen(operand);
    _cleanup_free_ char *host = mem_dupn(operand, len > 0 ? len - 1 : 0);

    (void)err_set(err, MAS_USAGE, "cannot run '%s': unexpected operand '%s'%s%s", call->cmd->name,
                  operand, stray != NULL ? "; " : "", stray != NULL ? stray : "");
    return len > 0 && operand[len - 1] == ':' && remote_is_name(host)
               ? call_hint_host(call, host, err)
               : usage(call->cmd, err);
}

int call_hint_host(const struct call *call, const char *host, struct err *err)
{
    return err_hint(err, "on another machine: mas --host %s %s", host, call->cmd->name);
}

int call_bad_value(const struct call *call, const char *option, const char *want, struct err *err)
{
    return err_set(err, MAS_USAGE, "cannot use --%s '%s': it is not %s", option,
                   call_opt(call, option), want);
}

int call_past(const struct call *call, const char *option, int64_t *ret, struct err *err)
{
    const char *text = call_opt(call, option);

    if (text != NULL && !time_parse_past(text, ret))
        return call_bad_value(call, option,
                              "an age such as 10m or a time such as 2025-12-18T08:00:00Z", err);
    return 0;
}
