/*
 * Dialogs come on the screen in the order in which they are asked. A decision is kept and told when
 * it is made; its key is pressed when the dialog is there, which may be a moment later, and never
 * without it: the same key would be text on the program's line.
 */

#include "base/time.h"
#include "host/talk/memory.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "model/key_names.h"
#include "os/file.h"
#include "protocol/tool_words.h"
#include "session/env.h"
#include "store/workspace.h"

enum {
    ANSWER_MS = 10000, /* so long mas waits for the dialog on the screen */
    FRESH_MS = 1000, /* a dialog that has just come takes no key: it may be meant for the line */
};

#define ALLOW "allow"

/* ---- what is asked */

char *teller_describe(const struct host *host, const struct hook_told *told)
{
    struct tool_words is = {.subject = NULL};
    const char *cwd = env_get(host->env, "PWD");

    tool_words_read_input(&is, told->input, NULL);
    char *line =
        tool_words_line(&is, told->tool != NULL ? told->tool : "a tool", cwd != NULL ? cwd : "/");
    tool_words_free(&is);
    return line;
}

/* Returns why clients cannot answer, which the caller frees; NULL: they can. */
static char *why_alone(const struct host *host, const char *kind, const char *tool)
{
    const struct preset *preset = host->preset;

    if (strcmp(kind, TOLD_QUESTION) == 0)
        return mem_printf("%s asks more than yes or no, and the program takes the answer only on "
                          "its own screen",
                          tool != NULL ? tool : "it");
    if (preset->told.allow[0] == '\0' || preset->told.deny[0] == '\0')
        return mem_printf("preset '%s' does not say which keys answer (told.key.allow and "
                          "told.key.deny)",
                          preset->name);
    if (preset->waiting[0] == '\0' && preset->title_waiting[0] == '\0')
        return mem_printf("preset '%s' does not say by what its dialog is known on the screen "
                          "(waiting)",
                          preset->name);
    return NULL;
}

static int64_t serial_of(const struct asked_permission *permission)
{
    return strtoll(permission->ticket, NULL, 10);
}

static char *trust_name(const struct host *host)
{
    return mem_printf("%s" WORKSPACE_HOST_TRUSTED, host->agent->id);
}

bool teller_is_trusted(const struct host *host)
{
    _cleanup_free_ char *name = trust_name(host);
    const char *cwd = env_get(host->env, "PWD");

    return cwd != NULL && file_is(host->run, name, cwd, strlen(cwd));
}

/* A person has said that the directory is to be trusted. It holds for later starts, too: what the
 * program writes of it behind a wall, in its copy of a file, is gone by then. */
static void trust(struct host *host)
{
    _cleanup_free_ char *name = trust_name(host);
    const char *cwd = env_get(host->env, "PWD");
    struct err err = ERR_INIT;

    if (cwd != NULL && file_replace(host->run, name, cwd, strlen(cwd), 0600, &err) == -1)
        host_log(host, err.text);
    host->terminal->teller->trusted_at = time_monotonic_ms();
}

/* Keeps what was decided, until the dialog is there. */
static void decide(struct host *host, size_t index, const struct word *option, const char *by)
{
    struct teller *teller = host->terminal->teller;
    const struct asked_permission *permission = &host->talk->permissions.open[index];

    const struct preset_told *keys = &host->preset->told;
    bool trusts = strcmp(permission->kind, PERMISSION_TRUST) == 0;

    if (trusts && permission_allows(option))
        trust(host);
    if (teller->answer_count < PERMISSIONS_MAX)
        teller->answers[teller->answer_count++] =
            (struct told_answer){.serial = serial_of(permission),
                                 .keys = !permission_allows(option) ? keys->deny
                                         : trusts                   ? keys->trust_keys
                                                                    : keys->allow,
                                 .title = mem_dup(permission->title),
                                 .until = time_monotonic_ms() + ANSWER_MS};
    permission_close(host, index, option, by);
}

/* What can be answered. */
static char allow[] = ALLOW, reject[] = "reject", yes[] = "Yes", no[] = "No", none[] = "",
            once[] = "allow_once", never[] = "reject_once";
static const struct word options[] = {{allow, yes, none, once}, {reject, no, none, never}};

/* The program asks whether its directory is to be trusted. No hook has run before, and no rule
 * answers it. */
static void ask_trust(struct host *host)
{
    struct teller *teller = host->terminal->teller;
    const char *cwd = env_get(host->env, "PWD");
    bool alone = host->preset->told.trust_keys[0] == '\0' || host->preset->told.deny[0] == '\0';
    struct asked_permission asked = {
        .ticket = mem_printf("%" PRId64, ++teller->asked),
        .title = mem_printf(TRUST_ASKED "%s", cwd != NULL ? cwd : "/"),
        .kind = mem_dup(PERMISSION_TRUST),
        .details = mem_dup(""),
        .tool_id = mem_dup(""),
        .alone = alone
                     ? mem_printf("preset '%s' does not say which keys answer (told.key.trust and "
                                  "told.key.deny)",
                                  host->preset->name)
                     : NULL,
    };

    if (!alone) {
        asked.options = word_copy(options, ARRAY_LEN(options));
        asked.count = ARRAY_LEN(options);
    }
    teller->asked_trust = true;
    teller->keyed = false;
    teller->yes = host->preset->told.trust_keys;
    size_t index = permission_add(host, &asked);
    permission_tell(host, &host->talk->permissions.open[index]);
}

void teller_ask(struct host *host, const struct hook_told *told)
{
    struct teller *teller = host->terminal->teller;
    struct permissions *permissions = &host->talk->permissions;
    const char *kind = preset_told_kind(host->preset, told->tool);
    struct tool_words is = {.subject = NULL};

    if (permissions->count == PERMISSIONS_MAX)
        return;
    if (permissions->count == 0)
        teller->keyed = false;
    tool_words_read_input(&is, told->input, NULL);
    struct asked_permission asked = {
        .ticket = mem_printf("%" PRId64, ++teller->asked),
        .title = teller_describe(host, told),
        .kind = mem_dup(strcmp(kind, TOLD_QUESTION) == 0 ? "other" : kind),
        .details = tool_words_details(&is, NULL),
        .tool_id = mem_dup(told->tool_id != NULL ? told->tool_id : ""),
        .alone = why_alone(host, kind, told->tool),
    };
    tool_words_free(&is);
    if (asked.alone == NULL) {
        asked.options = word_copy(options, ARRAY_LEN(options));
        asked.count = ARRAY_LEN(options);
    }
    host->talk->turn.heard = host->talk->turn.on;
    size_t index = permission_add(host, &asked);
    enum policy policy = asked.alone == NULL ? preset_policy(host->preset, asked.kind) : POLICY_ASK;
    if (policy == POLICY_ALLOW || policy == POLICY_DENY)
        decide(host, index, &permissions->open[index].options[policy == POLICY_ALLOW ? 0 : 1],
               "policy");
    else
        permission_tell(host, &permissions->open[index]);
}

bool teller_asks(const struct host *host)
{
    return host->terminal->teller != NULL && host->talk->permissions.count > 0;
}

/* ---- a client answers */

int teller_permit(struct host *host, size_t index, const struct word *option,
                  const struct verdict *verdict, struct answered_permission *ret, struct err *err)
{
    const struct permissions *permissions = &host->talk->permissions;

    (void)ret;
    if (verdict->answers != NULL)
        return err_set(err, MAS_USAGE, "it asks for no answers");
    if (verdict->mode != NULL)
        return err_set(err, MAS_USAGE, "a mode is only for a plan of an ACP agent");
    if (index > 0)
        return err_set(err, MAS_CONFLICT, "it shows another dialog first: %s",
                       permissions->open[0].title);
    decide(host, index, option, verdict->by);
    return 0;
}

static void drop_answer(struct teller *teller, size_t i)
{
    free(teller->answers[i].title);
    teller->answer_count--;
    memmove(&teller->answers[i], &teller->answers[i + 1],
            (teller->answer_count - i) * sizeof teller->answers[0]);
}

void teller_ask_forget(struct teller *teller)
{
    while (teller->answer_count > 0)
        drop_answer(teller, 0);
}

/* Returns true if the dialog of this answer is the one on the screen. */
static bool is_shown(const struct host *host, const struct told_answer *answer)
{
    const struct terminal *terminal = host->terminal;
    const struct permissions *permissions = &host->talk->permissions;

    for (size_t i = 0; i < permissions->count; i++)
        if (serial_of(&permissions->open[i]) < answer->serial)
            return false;
    /* what was there when the last key was pressed was for that key */
    return watcher_asks(&terminal->watcher) && terminal->watcher.last_output > terminal->press.at &&
           terminal->delivery.phase == DELIVERY_NONE && press_is_over(host);
}

bool teller_answers(const struct host *host)
{
    return host->terminal->teller != NULL && host->terminal->teller->answer_count > 0;
}

int64_t teller_ask_tick(struct host *host, int64_t now)
{
    struct teller *teller = host->terminal->teller;

    if (!teller->heard && !teller->asked_trust && host->talk->permissions.count == 0 &&
        watcher_asks_trust(&host->terminal->watcher))
        ask_trust(host);
    bool asks = watcher_asks(&host->terminal->watcher);
    if (!asks && teller->shown != 0)
        teller->gone = now;
    teller->shown = !asks ? 0 : teller->shown != 0 ? teller->shown : now;
    while (teller->answer_count > 0) {
        const struct told_answer *answer = &teller->answers[0];
        bool shown = is_shown(host, answer);
        if (shown && now < teller->shown + FRESH_MS)
            return teller->shown + FRESH_MS;
        if (!shown && now < answer->until)
            return answer->until;
        if (shown)
            press_keys(host, answer->keys);
        else
            memory_say(host, true, "the answer to '%s' was not typed: its dialog did not come",
                       answer->title);
        drop_answer(teller, 0);
    }
    return -1;
}

/* ---- it is answered on the screen */

static void close_first(struct host *host, bool allows)
{
    const struct asked_permission *permission = &host->talk->permissions.open[0];

    permission_close(host, 0,
                     permission_option(permission, allows ? "allow_once" : "reject_once", ""), "-");
}

/* Returns true if a text is the one key that these names say. */
static bool is_key(const char *names, const char *keys, size_t len)
{
    char bytes[KEY_BYTES];

    return key_next(&names, bytes) && names[0] == '\0' && strlen(bytes) == len &&
           memcmp(bytes, keys, len) == 0;
}

/* Takes what a person types while it asks whether its directory is to be trusted: the keys of the
 * preset, of which several may come at once, or Enter where yes is chosen already. */
static void take_trust_keys(struct host *host, const char *keys, size_t len, bool report)
{
    struct teller *teller = host->terminal->teller;
    const char *all = host->preset->told.trust_keys, *left = teller->yes;
    char bytes[KEY_BYTES];
    size_t n = 0;

    if (left == NULL)
        return;
    bool chosen = left == all && strchr(all, ' ') == NULL && keys[0] == '\r';
    bool fits = !chosen;
    for (size_t at = 0; fits && at < len && left[0] != '\0'; at += n) {
        n = key_next(&left, bytes) ? strlen(bytes) : 0;
        fits = n > 0 && n <= len - at && bytes[0] == keys[at] &&
               (n == 1 || memcmp(bytes + 2, keys + at + 2, n - 2) == 0); /* ESC [ or ESC O */
    }
    bool over = chosen || (fits && left[0] == '\0');
    if (over)
        trust(host);
    if (fits || over || !report)
        teller->yes = fits && !over ? left : NULL;
}

void teller_ask_keys(struct host *host, const char *keys, size_t len)
{
    static const char moves[] = "ABCDZ"; /* arrows, and Tab with Shift */
    struct teller *teller = host->terminal->teller;
    const struct preset_told *told = &host->preset->told;
    bool report = len > 1 && keys[0] == '\033' && (len != 3 || strchr(moves, keys[2]) == NULL);

    if (!teller_asks(host))
        return;
    if (strcmp(host->talk->permissions.open[0].kind, PERMISSION_TRUST) == 0)
        take_trust_keys(host, keys, len, report);
    if (report || !watcher_asks(&host->terminal->watcher))
        return;
    bool first = !teller->keyed;
    /* a dialog that has just come may not take it: what the program does next tells */
    bool fresh = teller->shown == 0 || time_monotonic_ms() < teller->shown + FRESH_MS;
    teller->keyed = true;
    if (!first || fresh || host->talk->permissions.open[0].alone != NULL ||
        strcmp(host->talk->permissions.open[0].kind, PERMISSION_TRUST) == 0)
        return; /* it may be the end of a longer answer: what the program does next tells */
    if (is_key(told->allow, keys, len))
        close_first(host, true);
    else if (is_key(told->deny, keys, len))
        close_first(host, false);
}

/* The program goes on behind a question, and does not say which: the oldest that is open, unless an
 * answer was pressed. */
static void goes_on(struct host *host)
{
    struct teller *teller = host->terminal->teller;
    const struct permissions *permissions = &host->talk->permissions;

    if (teller->answer_count > 0)
        drop_answer(teller, 0);
    else if (permissions->count > 0)
        permission_close(host, 0, permission_option(&permissions->open[0], "allow_once", ""),
                         teller->keyed ? "-" : "program");
}

void teller_asked(struct host *host, enum told_fact fact, const struct hook_told *told)
{
    struct teller *teller = host->terminal->teller;
    const struct permissions *permissions = &host->talk->permissions;

    if (fact == TOLD_ASKS || (fact == TOLD_STARTS && host->talk->turn.on))
        return;
    if (fact != TOLD_TOOL) {
        teller_ask_forget(teller);
        while (permissions->count > 0 && fact == TOLD_STOPPED && teller->keyed)
            close_first(host, false);
        permission_drop_all(host);
        return;
    }
    if (told->tool == NULL) {
        goes_on(host);
        return;
    }
    _cleanup_free_ char *title = teller_describe(host, told);
    for (size_t i = teller->answer_count; i-- > 0;)
        if (strcmp(teller->answers[i].title, title) == 0)
            drop_answer(teller, i);
    for (size_t i = permissions->count; i-- > 0;)
        if (strcmp(permissions->open[i].title, title) == 0)
            permission_close(host, i, permission_option(&permissions->open[i], "allow_once", ""),
                             teller->keyed ? "-" : "program");
}
