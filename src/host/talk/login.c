#include "host/talk/login.h"

#include "base/env.h"
#include "base/sha.h"
#include "base/time.h"

/* What makes two agents of one program different customers. */
static const char *const login_env[] = {"HOME",
                                        "XDG_CONFIG_HOME",
                                        "CLAUDE_CONFIG_DIR",
                                        "CODEX_HOME",
                                        "GEMINI_DIR",
                                        "COPILOT_HOME",
                                        "OPENCODE_CONFIG",
                                        "ANTHROPIC_API_KEY",
                                        "OPENAI_API_KEY",
                                        "GEMINI_API_KEY",
                                        "GOOGLE_API_KEY",
                                        "GITHUB_TOKEN",
                                        "GH_TOKEN",
                                        "CODEX_API_KEY",
                                        "ANTHROPIC_AUTH_TOKEN",
                                        "CLAUDE_CODE_OAUTH_TOKEN",
                                        "OPENAI_BASE_URL",
                                        "ANTHROPIC_BASE_URL"};

static void add_text(struct sha256 *sum, const char *text)
{
    sha256_add(sum, text, strlen(text) + 1);
}

/* Names the login of an account by its number. */
static void name_login(const struct host *host, size_t number, char ret[LOGIN_ID])
{
    const struct host_accounts *accounts = &host->accounts;
    struct sha256 sum = sha256_begin();
    char hex[SHA256_TEXT];

    add_text(&sum, host->agent->command[0] != '\0' ? host->agent->command : host->preset->command);
    for (size_t i = 0; i < ARRAY_LEN(login_env); i++) {
        const char *value = env_get(host->env, login_env[i]);
        add_text(&sum, value != NULL ? value : "");
    }
    if (accounts->count > 0) {
        const struct account *account = accounts->of[number];
        add_text(&sum, account->name);
        for (size_t i = 0; i < account->env.count; i++) {
            add_text(&sum, account->env.pairs[i].key);
            add_text(&sum, account->env.pairs[i].value);
        }
    }
    sha256_hex(&sum, hex);
    (void)snprintf(ret, LOGIN_ID, "%.*s", LOGIN_ID - 1, hex);
}

static struct login_limit look(const struct host *host, int dir, size_t number,
                               char ret_login[LOGIN_ID])
{
    name_login(host, number, ret_login);
    return login_limit_read(dir, ret_login);
}

static void take(struct host *host, size_t number)
{
    host->accounts.next = number;
    name_login(host, number, host->talk->limit.login);
}

void login_open(struct host *host, int dir)
{
    int64_t now = time_epoch_ms(), best = INT64_MAX;
    size_t first = 0;
    char login[LOGIN_ID];

    for (size_t i = 0; i < host->accounts.count; i++) {
        const struct login_limit known = look(host, dir, i, login);
        int64_t due = known.attempts == 0 || known.due_ms <= now ? 0 : known.due_ms;
        first = due < best ? i : first;
        best = due < best ? due : best;
    }
    take(host, first);
}

void login_refused(struct host *host, int dir)
{
    const struct login_limit over = {.until_ms = time_epoch_ms()};
    struct login_limit known = look(host, dir, host->accounts.next, host->talk->limit.login);
    struct err ignored = ERR_INIT; /* then each agent tries it */
    char login[LOGIN_ID];

    for (size_t i = 0; i < host->accounts.count && known.attempts == 0; i++) {
        if (i == host->accounts.next)
            continue;
        const struct login_limit other = look(host, dir, i, login);
        if (other.attempts == 0)
            (void)login_limit_note(dir, login, &over, over.until_ms, 0, &known, &ignored);
        if (other.attempts == 0 || other.due_ms <= over.until_ms)
            return;
    }
}

bool login_next(struct host *host, int dir, struct login_limit *known, int *ret_trial)
{
    int64_t now = time_epoch_ms();
    struct login_limit soonest = *known;

    *ret_trial = -1;
    for (size_t i = 0; dir != -1 && i < host->accounts.count; i++) {
        char login[LOGIN_ID];
        struct login_limit other = look(host, dir, i, login);
        if (i == host->accounts.next)
            continue;
        if (other.attempts > 0 && other.due_ms <= now) {
            *ret_trial = login_limit_try(dir, login);
            if (*ret_trial == -1) { /* another agent tries it */
                *known = other;
                return false;
            }
            other = look(host, dir, i, login); /* it may have tried meanwhile */
        }
        if (other.attempts == 0 || other.due_ms <= now) {
            take(host, i);
            return true;
        }
        fd_closep(ret_trial);
        soonest = other.due_ms < soonest.due_ms ? other : soonest;
    }
    *known = soonest;
    return false;
}

bool login_is_left(const struct host *host)
{
    return host->accounts.given != host->accounts.next;
}

bool login_changes(const struct host *host)
{
    return login_is_left(host) && host->child.phase == CHILD_RUNS;
}
