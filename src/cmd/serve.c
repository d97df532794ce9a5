/*
 * `mas serve` and its actions. Those of `mas serve token` are a few lines around store/token.h. The
 * token in the token file is listed with the others, but is not kept with them: it goes with its
 * file, and `remove` says so.
 */

#include "base/json.h"
#include "base/time.h"
#include "cli/offer.h"
#include "cli/print.h"
#include "cli/table.h"
#include "os/path.h"
#include "os/proc.h"
#include "session/helper.h"

/* ---- token add */

static const struct opt add_opts[] = {
    {0, "read-only", NULL, "it may only read"},
    {0, "answer", NULL, "it may also answer what agents ask, and mark them as seen"},
    {0, "full", NULL, "it may do everything"},
    {0, "expires", "AGE", "it ends after this time: 12h, 30d, 4w"},
    {.name = NULL},
};

static int run_add(struct call *call, struct err *err)
{
    const char *name = call->operands[0];
    enum right right = RIGHT_NONE;
    time_t expires = 0;
    char token[TOKEN_TEXT];
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    _cleanup_free_ char *what = mem_printf("add the token '%s'", name);

    if (offer_parse_right(call, what, true, &right, err) == -1 ||
        offer_parse_expires(call, &expires, err) == -1 ||
        token_add(&call->root, name, right, expires, token, err) == -1)
        return -1;
    if (!call->json) {
        printf("%s\n", token);
        return 0;
    }
    json_open(&out, NULL, '{');
    json_put(&out, "name", name);
    json_put(&out, "right", right_name(right));
    json_put_time(&out, "expires", (int64_t)expires * 1000);
    json_put(&out, "token", token);
    json_close(&out, '}');
    print_line(&text);
    return 0;
}

static const struct cmd cmd_token_add = {
    .name = "serve token add",
    .operands = " NAME",
    .summary = "make a token and print it",
    .examples = "mas serve token add phone --answer\n"
                "mas serve token add board --read-only --expires 30d",
    .details = "This is the only time that the token is shown: mas keeps a sum of it, from which "
               "nobody can make the token. A server that runs takes it at once. Requests are in "
               "the logs by the name of their token.",
    .opts = add_opts,
    .operands_min = 1,
    .operands_max = 1,
    .root = ROOT_MADE,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON,
    .run = run_add,
};

/* ---- token list */

/* Appends the token in the token file, if there is that file. */
static void add_own(const struct call *call, struct tokens *tokens)
{
    const char *path = config_text(&call->config, SETTING_SERVE_TOKEN);
    struct token token = {.name = TOKEN_OF_FILE, .right = RIGHT_FULL};
    struct stat st;

    if (path[0] == '\0' || fstatat(call->root.fd, path, &st, 0) == -1)
        return;
    token.made = st.st_mtim.tv_sec;
    tokens->at = mem_room(tokens->at, tokens->count, sizeof *tokens->at);
    tokens->at[tokens->count++] = token;
}

static void put_token(const struct token *token, time_t now, struct json_out *out)
{
    json_open(out, NULL, '{');
    json_put(out, "name", token->name);
    json_put(out, "right", right_name(token->right));
    json_put_time(out, "made", (int64_t)token->made * 1000);
    json_put_time(out, "expires", (int64_t)token->expires * 1000);
    json_put_bool(out, "expired", !token_is_valid(token, now));
    json_close(out, '}');
}

static void add_row(const struct token *token, time_t now, struct table *table)
{
    char made[24];
    char left[24] = "never";

    time_age(token->made, now, made);
    if (!token_is_valid(token, now))
        (void)snprintf(left, sizeof left, "expired");
    else if (token->expires != 0)
        time_age(now, token->expires, left);
    table_add(table, token->name, NULL);
    table_add(table, right_name(token->right), NULL);
    table_add(table, made, NULL);
    table_add(table, left, token_is_valid(token, now) ? NULL : colour(TINT_HELD));
}

static int run_list(struct call *call, struct err *err)
{
    static const char *const heads[] = {"TOKEN", "RIGHT", "AGE", "EXPIRES IN"};
    struct table table = {.columns = ARRAY_LEN(heads)};
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    time_t now = time(NULL);

    if (tokens_read(&call->root, &tokens, err) == -1)
        return -1;
    add_own(call, &tokens);
    table_heads(&table, heads);
    json_open(&out, NULL, '{');
    json_open(&out, "tokens", '[');
    for (size_t i = 0; i < tokens.count; i++) {
        put_token(&tokens.at[i], now, &out);
        add_row(&tokens.at[i], now, &table);
        if (call->quiet)
            printf("%s\n", tokens.at[i].name);
    }
    json_close(&out, ']');
    json_close(&out, '}');
    if (call->json)
        print_line(&text);
    else if (!call->quiet)
        table_print(&table);
    table_free(&table);
    return 0;
}

static const struct cmd cmd_list_tokens = {
    .name = "serve token list",
    .operands = "",
    .summary = "list the tokens, but not what they are",
    .examples = "mas serve token list",
    .details = "The token in the token file, which may do everything, is called " TOKEN_OF_FILE ".",
    .operands_max = 0,
    .root = ROOT_IF_THERE,
    .takes = TAKES_JSON | TAKES_QUIET,
    .run = run_list,
};

/* ---- token remove */

static int run_remove(struct call *call, struct err *err)
{
    const char *name = call->operands[0];

    if (strcmp(name, TOKEN_OF_FILE) != 0)
        return token_remove(&call->root, name, err);
    (void)err_set(err, MAS_USAGE, "cannot remove the token '%s': it is in the token file '%s'",
                  name, config_text(&call->config, SETTING_SERVE_TOKEN));
    return err_hint(err, "remove that file: a server that runs refuses its token at once, the next "
                         "one makes another");
}

static const struct cmd cmd_token_remove = {
    .name = "serve token remove",
    .operands = " NAME",
    .summary = "make a token invalid",
    .examples = "mas serve token remove phone",
    .details = "A server that runs refuses it at once, and hangs up on those that listen with it.",
    .operands_min = 1,
    .operands_max = 1,
    .root = ROOT_NEEDED,
    .who = WHO_PERSONS,
    .run = run_remove,
};

static const struct cmd *const token_actions[] = {&cmd_token_add, &cmd_list_tokens,
                                                  &cmd_token_remove, NULL};

static const struct cmd cmd_token = {
    .name = "serve token",
    .operands = " ACTION [OPERAND...]",
    .summary = "add, list and remove the tokens of clients",
    .examples = "mas serve token add phone --answer\n"
                "mas serve token list",
    .operands_min = 1,
    .operands_max = -1,
    .actions = token_actions,
};

/* ---- pair */

enum { EXPIRES_S = 90 * 24 * 3600 };

static const struct opt pair_opts[] = {
    {0, "read-only", NULL, "the browser may only read"},
    {0, "answer", NULL, "it may also answer what agents ask"},
    {0, "full", NULL, "it may do everything (default)"},
    {0, "name", "NAME", "the name of its token (default: page, page-2, ...)"},
    {0, "expires", "AGE", "its token ends after this time (default: 90d)"},
    {0, "url", "URL", "the server's address for the browser, as behind a proxy"},
    {.name = NULL},
};

static int run_pair(struct call *call, struct err *err)
{
    struct pairing pairing = {.right = RIGHT_FULL, .expires = time(NULL) + EXPIRES_S};

    return offer_parse_right(call, "pair a browser", false, &pairing.right, err) == -1 ||
                   offer_parse_expires(call, &pairing.expires, err) == -1
               ? -1
               : offer_make(call, "page", &pairing, err);
}

static const struct cmd cmd_pair = {
    .name = "serve pair",
    .operands = "",
    .summary = "let a browser use the page of the server",
    .examples = "mas serve pair\n"
                "mas serve pair --name phone --answer",
    .details = "The command shows an address and a code, also as a QR code if the program qrencode "
               "is installed. The first browser that gives the code to the server within two "
               "minutes gets a token, as from 'mas serve token add', in a cookie. 'mas serve token "
               "remove' ends it.",
    .opts = pair_opts,
    .operands_max = 0,
    .root = ROOT_NEEDED,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .run = run_pair,
};

/* ---- serve */

static const struct opt opts[] = {
    {0, "listen", "ADDRESS:PORT", "listen at this address; port 0 selects a free port"},
    {0, "unix", "PATH", "listen at a Unix socket, which needs no token"},
    {0, "token-file", "FILE", "the file with the token for clients; created if missing"},
    {0, "tls-cert", "FILE", "use TLS with this certificate"},
    {0, "tls-key", "FILE", "the key of the certificate"},
    {0, "allow-remote", NULL, "listen without TLS at an address that others can reach"},
    {.name = NULL},
};

/* Options that override settings. Paths are made absolute, because settings are relative to the
 * root. */
static const struct given_setting {
    const char *option;
    enum setting setting;
    bool is_path;
} given[] = {
    {"listen", SETTING_SERVE_LISTEN, false},   {"unix", SETTING_SERVE_UNIX, true},
    {"token-file", SETTING_SERVE_TOKEN, true}, {"tls-cert", SETTING_SERVE_CERT, true},
    {"tls-key", SETTING_SERVE_KEY, true},
};

static char *absolute(const char *path)
{
    char *here = path[0] == '/' || path[0] == '\0' ? NULL : path_canonical(".");
    char *whole = here == NULL ? mem_dup(path) : mem_printf("%s/%s", here, path);
    free(here);
    return whole;
}

static int parse_options(struct call *call, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(given); i++) {
        const char *value = call_opt(call, given[i].option);
        _cleanup_free_ char *origin = mem_printf("--%s", given[i].option);
        _cleanup_free_ char *text =
            value != NULL && given[i].is_path ? absolute(value) : mem_dup(value);
        if (text != NULL &&
            config_override(&call->config, given[i].setting, text, origin, err) == -1)
            return -1;
    }
    if (call_opt(call, "unix") != NULL && call_opt(call, "listen") == NULL &&
        config_override(&call->config, SETTING_SERVE_LISTEN, "", "--unix", err) == -1)
        return -1;
    return call_opt(call, "allow-remote") == NULL
               ? 0
               : config_override(&call->config, SETTING_SERVE_REMOTE, "yes", "--allow-remote", err);
}

static int run_serve(struct call *call, struct err *err)
{
    _cleanup_strv_ char **argv = NULL;
    char name[64];

    if (parse_options(call, err) == -1)
        return -1;
    _cleanup_free_ char *file = helper_find(HELPER_SERVE, err);
    _cleanup_free_ char *mas = path_exe();
    if (file == NULL)
        return -1;
    if (mas == NULL)
        return err_errno(err, "cannot find the mas program");
    strv_push(&argv, HELPER_SERVE);
    strv_push(&argv, mas);
    strv_push(&argv, call->root.path);
    for (enum setting i = SETTING_SERVE_LISTEN; i <= SETTING_SERVE_REMOTE; i++) {
        _cleanup_free_ char *word =
            mem_printf("%s=%s", setting_name(i, name), config_text(&call->config, i));
        strv_push(&argv, word);
    }
    return proc_exec(file, argv, NULL, err);
}

static const struct cmd *const actions[] = {&cmd_pair, &cmd_token, NULL};

const struct cmd cmd_serve = {
    .name = "serve",
    .group = GROUP_PROGRAMS,
    .operands = "",
    .summary = "answer HTTP requests about the sessions of the root",
    .examples = "mas serve\n"
                "mas serve --listen 127.0.0.1:8080\n"
                "mas serve --unix ~/mas.sock",
    .details = "By default only this machine can connect. The command prints the address at "
               "which it listens. Options override [serve] in mas.ini; see mas-serve(8).",
    .opts = opts,
    .actions = actions,
    .root = ROOT_MADE,
    .does = RUNS_PROGRAMS | WAITS_LONG,
    .run = run_serve,
};
