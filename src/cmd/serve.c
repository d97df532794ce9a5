/*
 * `mas serve` and its actions. Those of `mas serve token` are a few lines around store/token.h. The
 * token in the token file is listed with the others, but is not kept with them: it goes with its
 * file, and `remove` says so.
 *
 * The code of `mas serve pair` is only of use to a server that runs, so that is looked for first,
 * then (without --url) the address of it that others can most likely reach. The code stands in the
 * fragment of the URL, which browsers do not send, and goes to qrencode on standard input, where no
 * list of processes shows it. Without --name, names are tried until one is free: the offer itself
 * is the test.
 */

#include "base/address.h"
#include "base/json.h"
#include "base/time.h"
#include "cli/print.h"
#include "cli/table.h"
#include "cmd.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "session/helper.h"
#include "store/pairing.h"
#include "store/token.h"

#include <ifaddrs.h>
#include <netdb.h>

/* ---- token add */

static const struct opt add_opts[] = {
    {0, "read-only", NULL, "it may only read"},
    {0, "answer", NULL, "it may also answer what agents ask, and mark them as seen"},
    {0, "full", NULL, "it may do everything"},
    {0, "expires", "AGE", "it ends after this time: 12h, 30d, 4w"},
    {.name = NULL},
};

static int parse_right(const struct call *call, const char *what, bool needed, enum right *ret,
                       struct err *err)
{
    static const struct {
        const char *option;
        enum right right;
    } rights[] = {{"read-only", RIGHT_READ}, {"answer", RIGHT_ANSWER}, {"full", RIGHT_FULL}};
    size_t given = 0;

    for (size_t i = 0; i < ARRAY_LEN(rights); i++)
        if (call_opt(call, rights[i].option) != NULL) {
            *ret = rights[i].right;
            given++;
        }
    if (given == 1 || (given == 0 && !needed))
        return 0;
    return err_set(err, MAS_USAGE, "cannot %s: expected one of --read-only, --answer and --full",
                   what);
}

static int parse_expires(const struct call *call, time_t *ret, struct err *err)
{
    const char *text = call_opt(call, "expires");
    time_t age = 0;

    if (text == NULL)
        return 0;
    if (!time_parse_age(text, &age) || age == 0)
        return call_bad_value(call, "expires", "a time such as 12h, 30d or 4w", err);
    *ret = time(NULL) + age;
    return 0;
}

static void put_time(struct json_out *out, const char *key, time_t t)
{
    char text[TIME_TEXT];

    if (t != 0)
        time_format(t, text);
    json_put(out, key, t != 0 ? text : NULL);
}

static int run_add(struct call *call, struct err *err)
{
    const char *name = call->operands[0];
    enum right right = RIGHT_NONE;
    time_t expires = 0;
    char token[TOKEN_TEXT];
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    _cleanup_free_ char *what = mem_printf("add the token '%s'", name);

    if (parse_right(call, what, true, &right, err) == -1 ||
        parse_expires(call, &expires, err) == -1 ||
        token_add(&call->root, name, right, expires, token, err) == -1)
        return -1;
    if (!call->json) {
        printf("%s\n", token);
        return 0;
    }
    json_open(&out, NULL, '{');
    json_put(&out, "name", name);
    json_put(&out, "right", right_name(right));
    put_time(&out, "expires", expires);
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
    put_time(out, "made", token->made);
    put_time(out, "expires", token->expires);
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

enum {
    ADDRESSES_MAX = 4096, /* bytes of the file */
    URL_MAX = 200,
    QR_MAX = 64 * 1024, /* bytes of a QR code on a terminal */
    QR_MS = 5000,
    EXPIRES_S = 90 * 24 * 3600,
    NAMES = 100 /* that are tried if none is given */
};

static const struct opt pair_opts[] = {
    {0, "read-only", NULL, "the browser may only read"},
    {0, "answer", NULL, "it may also answer what agents ask"},
    {0, "full", NULL, "it may do everything (default)"},
    {0, "name", "NAME", "the name of its token (default: page, page-2, ...)"},
    {0, "expires", "AGE", "its token ends after this time (default: 90d)"},
    {0, "url", "URL", "the server's address for the browser, as behind a proxy"},
    {.name = NULL},
};

/* Returns the number of this machine that others can most likely reach, or NULL. */
static char *own_number(void)
{
    struct ifaddrs *all = NULL;
    char *found = NULL;
    char host[NI_MAXHOST];

    if (getifaddrs(&all) == -1)
        return NULL;
    for (const struct ifaddrs *at = all; at != NULL && found == NULL; at = at->ifa_next)
        if (at->ifa_addr != NULL && at->ifa_addr->sa_family == AF_INET &&
            getnameinfo(at->ifa_addr, sizeof(struct sockaddr_in), host, sizeof host, NULL, 0,
                        NI_NUMERICHOST) == 0 &&
            !str_starts(host, "127."))
            found = mem_dup(host);
    freeifaddrs(all);
    return found;
}

/* Returns the address with a host that a browser can use instead of one that stands for all. */
static char *reachable(const struct call *call, const char *address)
{
    static const char *const all[] = {"://0.0.0.0:", "://[::]:"};
    _cleanup_strv_ char **hosts = str_split_list(config_text(&call->config, SETTING_SERVE_HOSTS));
    _cleanup_free_ char *number = own_number();
    const char *host = hosts != NULL && hosts[0] != NULL ? hosts[0] : number;

    for (size_t i = 0; host != NULL && i < ARRAY_LEN(all); i++) {
        const char *at = strstr(address, all[i]);
        if (at != NULL)
            return mem_printf("%.*s://%s:%s", (int)(at - address), address, host,
                              at + strlen(all[i]));
    }
    return mem_dup(address);
}

static bool is_local(const char *address)
{
    return strstr(address, "://127.") != NULL || strstr(address, "://[::1]") != NULL ||
           strstr(address, "://localhost") != NULL;
}

static int check_url(struct call *call, const char *url, struct err *err)
{
    bool good = (str_starts(url, "http://") || str_starts(url, "https://")) &&
                strlen(url) <= URL_MAX && strpbrk(url, " #?\"'<>\\") == NULL &&
                !str_has_control(url);

    return good ? 0 : call_bad_value(call, "url", "an address such as https://team.example", err);
}

/* Finds where a browser reaches the server, without a slash at the end. */
static int find_address(struct call *call, char **ret, struct err *err)
{
    const char *url = call_opt(call, "url");
    struct err ignored = ERR_INIT;
    _cleanup_free_ char *text = NULL;
    const char *found = NULL;
    size_t len = 0;

    if (url != NULL && check_url(call, url, err) == -1)
        return -1;
    if (!file_is_locked(call->root.sessions, SERVE_LOCK_FILE)) {
        (void)err_set(err, MAS_CONFLICT, "cannot pair a browser: no server of this root runs");
        return err_hint(err, "start one with: mas serve");
    }
    if (url != NULL) {
        *ret = mem_dupn(url, strlen(url) - (url[strlen(url) - 1] == '/'));
        return 0;
    }
    if (file_read(call->root.sessions, ADDRESSES_FILE, ADDRESSES_MAX, &text, &len, &ignored) == -1)
        text = mem_dup("");
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (str_starts(line, "http") && (found == NULL || is_local(found)))
            found = line;
    if (found == NULL) {
        (void)err_set(err, MAS_CONFLICT, "cannot pair a browser: the server listens at no address");
        return err_hint(err, "start it with --listen, or say where a browser reaches it: --url");
    }
    *ret = reachable(call, found);
    return 0;
}

/* ---- the code */

/* Prints a QR code with Debian's qrencode, if that is installed. */
static void print_qr(const char *url)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_free_ char *file = path_find_program("qrencode", getenv("PATH"), -1);
    _cleanup_strv_ char **argv = NULL;
    struct err ignored = ERR_INIT;

    strv_push(&argv, "qrencode");
    strv_push(&argv, "--type=UTF8");
    strv_push(&argv, "--margin=2");
    const struct proc_spec spec = {.file = file,
                                   .argv = argv,
                                   .cwd = -1,
                                   .input = url,
                                   .input_len = strlen(url),
                                   .output_max = QR_MAX,
                                   .timeout_ms = QR_MS};

    if (file != NULL && proc_capture(&spec, &result, &ignored) == 0 && result.status == 0)
        printf("%s", str_text(&result.out));
}

static void print_offer(struct call *call, const char *address, const char *code,
                        const struct pairing *pairing)
{
    _cleanup_free_ char *url = mem_printf("%s/#pair=%s", address, code);

    print_qr(url);
    printf("address: %s/\ncode: %s\n", address, code);
    if (call->quiet)
        return;
    printf("valid for %d minutes, once; the browser gets the token '%s' with the right '%s'\n",
           PAIRING_S / 60, pairing->name, right_name(pairing->right));
    if (is_local(address))
        printf("only this machine reaches this address; see THE PAGE in mas-serve(8)\n");
}

static void print_json(const char *address, const char *code, const struct pairing *pairing)
{
    _cleanup_free_ char *url = mem_printf("%s/#pair=%s", address, code);
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_put_all(&out, JO(NULL), JT("address", address), JT("code", code), JT("url", url),
                 JI("seconds", PAIRING_S), JT("name", pairing->name),
                 JT("right", right_name(pairing->right)), JOE);
    print_line(&text);
}

/* Offers under the name that was given, or under the first of page, page-2, ... that is free. */
static int offer(struct call *call, struct pairing *pairing, char ret[PAIRING_TEXT],
                 struct err *err)
{
    const char *name = call_opt(call, "name");
    int rc = -1;

    for (int i = 1; rc == -1 && i <= (name != NULL ? 1 : NAMES); i++) {
        if (name != NULL && strlen(name) > TOKEN_NAME_MAX)
            return call_bad_value(call, "name", "1 to 32 " STR_WORD_CHARS, err);
        (void)snprintf(pairing->name, sizeof pairing->name, i == 1 ? "%s" : "%s-%d",
                       name != NULL ? name : "page", i);
        *err = (struct err)ERR_INIT;
        rc = pairing_offer(&call->root, pairing, ret, err);
        if (rc == -1 && err->code != MAS_CONFLICT)
            return -1;
    }
    return rc;
}

static int run_pair(struct call *call, struct err *err)
{
    struct pairing pairing = {.right = RIGHT_FULL, .expires = time(NULL) + EXPIRES_S};
    _cleanup_free_ char *address = NULL;
    char code[PAIRING_TEXT];

    if (parse_right(call, "pair a browser", false, &pairing.right, err) == -1 ||
        parse_expires(call, &pairing.expires, err) == -1 ||
        find_address(call, &address, err) == -1 || offer(call, &pairing, code, err) == -1)
        return -1;
    if (call->json)
        print_json(address, code, &pairing);
    else
        print_offer(call, address, code, &pairing);
    return 0;
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
