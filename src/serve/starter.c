#include "serve/starter.h"

#include "base/id.h"
#include "model/template_name.h"
#include "tmux/tmux.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MOST = TEMPLATE_NAME_MAX }; /* bytes, also of a preset */

/* What a verb may be told. In `options`, one that ends with "=" takes the next word as its value:
 * any, or, by what follows, an id (id), a name (word), no session of another machine (here), the
 * file of an archive (transfer), a setting (setting), or exactly this text. */
struct verb_rule {
    const char *verb;
    const char *second; /* which words may follow it; NULL: none has to */
    const char *options;
    const char *operands; /* each as the value of an option; the last word is for all that follow */
};

/* clang-format off */
static const struct verb_rule rules[] = {
    {"archive", NULL, "--json -q -s=id --live --rm --output=transfer", NULL},
    {"ask", NULL, "--aside -s=id --file=-", ""},
    {"clean", NULL, "--json --older-than= --keep= --status= --archive --dry-run", NULL},
    {"config", NULL, "--json", NULL},
    {"context", NULL, "--json -s=id --for=- --team", ""},
    {"diff", NULL, "--json -s=id --stat --base --integration", ""},
    {"doctor", NULL, "--json --fix", NULL},
    {"du", NULL, "--json -s=id", NULL},
    {"env", NULL, "--json -s=id", NULL},
    {"history", NULL, "--json -s=id --limit= --offset= --query= --since= --until= --role= --tag= --conversation=", ""},
    {"land", NULL, "-s=id --onto= --merge --squash --rebase --push --pr --message=", NULL},
    {"list", NULL, "--jobs --json --active --stopped --error", NULL},
    {"merge", NULL, "-s=id", ""},
    {"migrate", NULL, "--json -s=id --name= --dry-run", NULL},
    {"new", NULL, "-q --config=- --id=id --mode= --template=word --name= --agent=word --project= --setup=no --private", NULL},
    {"presets", NULL, "--json", NULL},
    {"restore", NULL, "-q --new-id --links --name=", "transfer"},
    {"review", NULL, "--json -s=id --comments=-", ""},
    {"rm", NULL, "-q -qf", "id"},
    {"search", NULL, "--json --session=here --agent= --role= --since= --until= --tag= --limit=", "-"},
    {"set", NULL, "-q", "id setting"},
    {"start", NULL, "-q", "id"},
    {"stop", NULL, "-q", "id"},
    {"sync", NULL, "-s=id --project", ""},
    {"template", "list show check", "--json", "word"},
    {"usage", NULL, "--json -s=id --by=", NULL},
};
/* clang-format on */

/* Returns true for KEY=VALUE. A project's script is allowed by a person at the machine only. */
static bool is_setting(const char *word)
{
    return strchr(word, '=') != NULL &&
           (!str_starts(word, "setup=") || strcmp(word, "setup=no") == 0);
}

static bool fits(const char *value, const char *kind, size_t len)
{
    static const char transfers[] = ROOT_SESSIONS "/" ROOT_TRANSFER;

    if (len == 0)
        return true;
    if (strncmp(kind, "id", len) == 0)
        return id_is_valid(value);
    if (strncmp(kind, "word", len) == 0)
        return str_is_word(value, NAME_MOST);
    if (strncmp(kind, "transfer", len) == 0)
        return str_starts(value, transfers) && id_is_valid(value + strlen(transfers));
    if (strncmp(kind, "setting", len) == 0)
        return is_setting(value);
    if (strncmp(kind, "here", len) == 0)
        return strchr(value, ':') == NULL;
    return strlen(value) == len && strncmp(value, kind, len) == 0;
}

/* Returns the place of `word` in a list of words, or NULL. It ends there with a blank, "=" or the
 * end of the list; *ret_end is that place. */
static const char *find(const char *list, const char *word, const char **ret_end)
{
    size_t len = strlen(word);

    for (const char *at = list; *at != '\0'; at += strspn(at, " ")) {
        size_t own = strcspn(at, " =");
        if (own == len && strncmp(at, word, len) == 0) {
            *ret_end = at + own;
            return at;
        }
        at += strcspn(at, " ");
    }
    return NULL;
}

bool starter_accepts_verb(char *const *words)
{
    const struct verb_rule *rule = NULL;
    const char *end;

    for (size_t i = 0; i < ARRAY_LEN(rules) && words[0] != NULL; i++)
        if (strcmp(rules[i].verb, words[0]) == 0)
            rule = &rules[i];
    if (rule == NULL)
        return false;
    words++;
    if (rule->second != NULL && (*words == NULL || find(rule->second, *words++, &end) == NULL))
        return false;
    for (; *words != NULL && **words == '-' && strcmp(*words, "--") != 0; words++) {
        if (find(rule->options, *words, &end) == NULL)
            return false;
        if (*end != '=')
            continue;
        words++;
        if (*words == NULL || !fits(*words, end + 1, strcspn(end + 1, " ")))
            return false;
    }
    bool ended = *words != NULL && strcmp(*words, "--") == 0;
    words += ended;
    for (const char *kind = rule->operands; *words != NULL; words++) {
        size_t len = kind != NULL ? strcspn(kind, " ") : 0;
        bool is_option = !ended && (*words)[0] == '-'; /* also behind an operand */
        if (kind == NULL || is_option || !fits(*words, kind, len))
            return false;
        if (kind[len] == ' ')
            kind += len + 1;
    }
    return true;
}

/* In the starter. */
static bool accepts(struct proc_spec *spec, void *arg)
{
    const struct starter *starter = arg;
    _cleanup_free_ char *tmux = NULL;
    struct err ignored = ERR_INIT;

    if (strcmp(spec->file, starter->mas) == 0) {
        static const char *const global[] = {"mas", "--root"};
        for (size_t i = 0; i < ARRAY_LEN(global); i++)
            if (spec->argv[i] == NULL || strcmp(spec->argv[i], global[i]) != 0)
                return false;
        spec->envp = starter->env;
        spec->cwd = starter->root->fd;
        return spec->argv[2] != NULL && strcmp(spec->argv[2], starter->root->path) == 0 &&
               starter_accepts_verb(spec->argv + 3);
    }
    spec->envp = starter->tmux_env;
    return tmux_program(&tmux, &ignored) == 0 && strcmp(spec->file, tmux) == 0 &&
           tmux_only_reads(spec->argv);
}

/* Returns the environment for verbs: that of this process without the variables of a team and of
 * systemd. */
static char **verb_env(void)
{
    static const char *const dropped[] = {
        "MAS_SESSION_ID=", "MAS_SESSION_DIR=", "MAS_AGENT_ID=",     "MAS_AGENT_ROLE=",
        "SESSION_NAME=",   "UNIT_DIR=",        "WORKFLOWS_DIR=",    "TMUX=",
        "TMUX_PANE=",      "LISTEN_FDS=",      "LISTEN_PID=",       "LISTEN_FDNAMES=",
        "NOTIFY_SOCKET=",  "WATCHDOG_USEC=",   "WATCHDOG_PID=",     "INVOCATION_ID=",
        "JOURNAL_STREAM=", "MAINPID=",         "SYSTEMD_EXEC_PID=",
    };
    char **env = NULL;

    for (char **at = environ; *at != NULL; at++) {
        size_t i = 0;
        while (i < ARRAY_LEN(dropped) && !str_starts(*at, dropped[i]))
            i++;
        if (i == ARRAY_LEN(dropped))
            strv_push(&env, *at);
    }
    return env;
}

int starter_begin(struct starter *starter, const char *mas, const struct root *root,
                  struct err *err)
{
    *starter = (struct starter){.mas = mas, .root = root};
    starter->env = verb_env();
    starter->tmux_env = tmux_environment();
    starter->process = (struct proc_starter){.accepts = accepts,
                                             .arg = starter,
                                             .name = "mas-serve-start",
                                             .keep = {root->fd, root->sessions},
                                             .keep_count = 2};
    if (proc_starter_fork(&starter->process, err) == -1)
        return -1;
    proc_start_by(starter->process.socket);
    return 0;
}

void starter_end(struct starter *starter)
{
    proc_starter_end(&starter->process);
    strv_free(starter->env);
    strv_free(starter->tmux_env);
}
