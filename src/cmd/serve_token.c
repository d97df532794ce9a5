/*
 * `mas serve token`: each action is a few lines around store/token.h. The token in the token file
 * is listed with the others, but is not kept with them: it goes with its file, and `remove` says
 * so. serve_parse_right() and serve_parse_expires() are also for `mas serve pair`.
 */

#include "base/json.h"
#include "base/time.h"
#include "cmd/print.h"
#include "cmd/serve.h"
#include "cmd/table.h"
#include "store/token.h"

/* ---- add */

static const struct opt add_opts[] = {
    {0, "read-only", NULL, "it may only read", OFFER_NONE},
    {0, "answer", NULL, "it may also answer what agents ask, and mark them as seen", OFFER_NONE},
    {0, "full", NULL, "it may do everything", OFFER_NONE},
    {0, "expires", "AGE", "it ends after this time: 12h, 30d, 4w", OFFER_NONE},
    {.name = NULL},
};

int serve_parse_right(const struct call *call, const char *what, bool needed, enum right *ret,
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

int serve_parse_expires(const struct call *call, time_t *ret, struct err *err)
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

    if (serve_parse_right(call, what, true, &right, err) == -1 ||
        serve_parse_expires(call, &expires, err) == -1 ||
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

static const struct cmd cmd_add = {
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
    .flags = CMD_ROOT | CMD_MAKES_ROOT | CMD_PERSON | CMD_JSON,
    .run = run_add,
};

/* ---- list */

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
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        table_add(&table, heads[i], colour_dim());
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
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_JSON | CMD_QUIET,
    .run = run_list,
};

/* ---- remove */

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

static const struct cmd cmd_remove = {
    .name = "serve token remove",
    .operands = " NAME",
    .summary = "make a token invalid",
    .examples = "mas serve token remove phone",
    .details = "A server that runs refuses it at once, and hangs up on those that listen with it.",
    .operands_min = 1,
    .operands_max = 1,
    .flags = CMD_ROOT | CMD_PERSON,
    .run = run_remove,
};

static const struct cmd *const actions[] = {&cmd_add, &cmd_list_tokens, &cmd_remove, NULL};

const struct cmd cmd_serve_token = {
    .name = "serve token",
    .operands = " ACTION [OPERAND...]",
    .summary = "add, list and remove the tokens of clients",
    .examples = "mas serve token add phone --answer\n"
                "mas serve token list",
    .operands_min = 1,
    .operands_max = -1,
    .actions = actions,
};
