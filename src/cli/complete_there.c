/* The candidates of completion: those of this machine, and those that the mas of another one is
 * asked for. */
#include "cli/complete_there.h"
#include "cli/brokered.h"
#include "fleet/reach.h"
#include "store/session.h"

enum { HOST_MS = 1000, HOST_ANSWER_MAX = 1 << 20 }; /* for the candidates of another machine */

void complete_offer(const struct typed *typed, const char *word, const char *about)
{
    _cleanup_str_ struct str line = STR_INIT;

    if (!str_starts(word, typed->prefix) || word[0] == '\0' || strlen(word) > TMUX_NAME_MAX ||
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
            strlen(word))
        return;
    str_addf(&line, "%s%s", typed->before, word);
    if (typed->describe && about[0] != '\0') {
        str_addc(&line, '\t');
        str_add_visible(&line, about, strlen(about));
    }
    printf("%s\n", line.data);
}

/* Returns SESSION of NAME:SESSION for this machine; other words stay as they are. */
static const char *without_host(const char *word, const char *host)
{
    size_t len = strlen(host);
    return str_starts(word, host) && word[len] == ':' ? word + len + 1 : word;
}

/* Returns the command line as it would be typed there. */
static char **words_there(const struct typed *typed, const char *host)
{
    _cleanup_strv_ char **verb = str_split_list(typed->cmd->name);
    char **words = NULL;

    strv_push(&words, "complete");
    if (typed->describe)
        strv_push(&words, "--describe");
    strv_push(&words, "--");
    for (size_t i = 0; verb[i] != NULL; i++)
        strv_push(&words, verb[i]);
    if (typed->session != NULL) {
        strv_push(&words, "--session");
        strv_push(&words, without_host(typed->session, host));
    }
    for (size_t i = 0; i < typed->operand_count; i++)
        strv_push(&words, without_host(typed->operands[i], host));
    if (typed->opt != NULL) {
        _cleanup_free_ char *option = mem_printf("--%s", typed->opt->name);
        strv_push(&words, option);
    }
    strv_push(&words, typed->prefix);
    return words;
}

/* Offers what a mas on another machine offers for the last word, if it answers in time. */
void complete_there(const struct typed *typed, const char *host)
{
    const struct remote *remote = config_remote(&typed->call->config, host);

    if (remote == NULL || remote->via != REMOTE_SSH || brokered_is_agent())
        return;
    _cleanup_strv_ char **words = words_there(typed, host);
    struct reach_ask ask = {.command = {.remote = remote, .words = words},
                            .output_max = HOST_ANSWER_MAX,
                            .timeout_ms = HOST_MS};
    char *save = NULL;
    reach_ask_all(&ask, 1);
    char *line =
        ask.err.code == MAS_OK && ask.out.len > 0 ? strtok_r(ask.out.data, "\n", &save) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        char *tab = strchr(line, '\t');
        if (tab != NULL)
            *tab = '\0';
        complete_offer(typed, line, tab != NULL ? tab + 1 : "");
    }
    reach_ask_free(&ask);
}

/* Returns the host of a word NAME:SESSION, NULL if it is none. */
const char *complete_host_of(const struct typed *typed, const char *word)
{
    size_t len = word != NULL ? strcspn(word, ":") : 0;
    _cleanup_free_ char *name = mem_dupn(word != NULL ? word : "", len);

    if (word == NULL || word[len] != ':')
        return NULL;
    const struct remote *remote = config_remote(&typed->call->config, name);
    return remote != NULL ? remote->name : NULL;
}
