#include "cmd/serve.h"
#include "base/address.h"
#include "os/path.h"
#include "os/proc.h"
#include "session/helper.h"

static const struct opt opts[] = {
    {0, "listen", "ADDRESS:PORT", "listen at this address; port 0 selects a free port", OFFER_NONE},
    {0, "unix", "PATH", "listen at a Unix socket, which needs no token", OFFER_FILE},
    {0, "token-file", "FILE", "the file with the token for clients; created if missing",
     OFFER_FILE},
    {0, "tls-cert", "FILE", "use TLS with this certificate", OFFER_FILE},
    {0, "tls-key", "FILE", "the key of the certificate", OFFER_FILE},
    {0, "allow-remote", NULL, "listen without TLS at an address that others can reach", OFFER_NONE},
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

static const struct cmd *const actions[] = {&cmd_serve_pair, &cmd_serve_token, NULL};

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
    .flags = CMD_ROOT | CMD_RUNS | CMD_MAKES_ROOT | CMD_WAITS,
    .run = run_serve,
};
