/*
 * A machine is asked twice at the same time: `doctor --json`, whose greeting has the versions, the
 * clock and the free space (fleet/greeting.h), and `presets --json`. facts[] makes a row of each
 * thing that is known then; a machine that was not reached has only the first row.
 */
#include "cli/remote/remote_check.h"

#include "base/number.h"
#include "base/time.h"
#include "cli/all_hosts.h"
#include "cli/brokered.h"
#include "cli/installed.h"
#include "cli/print.h"
#include "cli/table.h"
#include "fleet/reach.h"
#include "git/git.h"
#include "tmux/tmux.h"

enum {
    PRESETS_MAX = 1 << 20, /* bytes of the answer about presets */
    AGENTS_MAX = 100, /* that are shown of a machine */
    NAME_MAX_SHOWN = 64, /* bytes of a preset's name */
    TEXT_MAX = 200, /* bytes of another text */
};

/* What a machine has said. */
struct seen {
    const struct remote *remote;
    struct fleet_answer answer; /* of `doctor` */
    struct json *presets; /* NULL: unknown */
};

enum fact { FACT_NONE, FACT_OK, FACT_NOTE, FACT_WRONG };

static const char *const fact_names[] = {
    [FACT_NONE] = "", [FACT_OK] = "ok", [FACT_NOTE] = "note", [FACT_WRONG] = "wrong"};

/* ---- the facts */

static enum fact say_reached(const struct seen *seen, struct str *to)
{
    if (seen->answer.problem == NULL || (seen->answer.reached && seen->answer.json != NULL)) {
        str_add(to, seen->remote->via == REMOTE_SLURM ? "Slurm answers" : "over ssh");
        return FACT_OK;
    }
    str_add(to, seen->answer.problem);
    return FACT_WRONG;
}

static enum fact say_mas(const struct seen *seen, struct str *to)
{
    const char *version = seen->answer.greeting.version;

    if (version[0] == '\0')
        return FACT_NONE;
    str_add(to, version);
    if (strcmp(version, MAS_VERSION) == 0)
        return FACT_OK;
    str_addf(to, ", here is %s", MAS_VERSION);
    if (seen->remote->via == REMOTE_SSH)
        str_addf(to, "; install it there with: mas remote add %s %s", seen->remote->name,
                 seen->remote->place);
    return FACT_WRONG;
}

/* A program that mas needs there: its version. */
static enum fact say_program(const char *version, bool (*is_old)(const char *version),
                             const char *first, enum fact missing, struct str *to)
{
    if (version[0] == '\0')
        return FACT_NONE;
    if (strcmp(version, GREETING_NONE) == 0) {
        str_add(to, "missing");
        return missing;
    }
    str_add(to, version);
    if (!is_old(version))
        return FACT_OK;
    str_addf(to, " is too old: %s is the first that will do", first);
    return missing;
}

static enum fact say_tmux(const struct seen *seen, struct str *to)
{
    return say_program(seen->answer.greeting.tmux, tmux_version_is_old, TMUX_FIRST, FACT_WRONG, to);
}

/* Only sessions with a project need it. */
static enum fact say_git(const struct seen *seen, struct str *to)
{
    return say_program(seen->answer.greeting.git, git_version_is_old, "2.38", FACT_NOTE, to);
}

static enum fact say_walls(const struct seen *seen, struct str *to)
{
    const char *walls = seen->answer.greeting.walls;

    if (walls[0] == '\0')
        return FACT_NONE;
    str_add(to, strcmp(walls, GREETING_WALLS) == 0 ? "it can hold agents" : walls);
    return strcmp(walls, GREETING_WALLS) == 0 ? FACT_OK : FACT_NOTE;
}

static enum fact say_clock(const struct seen *seen, struct str *to)
{
    int64_t ms = seen->answer.clock_ms;

    if (seen->answer.greeting.version[0] == '\0')
        return FACT_NONE;
    str_addf(to, "%+.1f s", (double)ms / 1000);
    return llabs(ms) > ALL_HOSTS_CLOCK_MS ? FACT_WRONG : FACT_OK;
}

static enum fact say_free(int64_t free, const char *none, struct str *to)
{
    char size[NUMBER_SIZE_TEXT];

    if (free < 0) {
        str_add(to, none);
        return none[0] != '\0' ? FACT_WRONG : FACT_NONE;
    }
    number_format_size((uint64_t)free, size);
    str_addf(to, "%s free", size);
    return free < ALL_HOSTS_FULL ? FACT_WRONG : FACT_OK;
}

static enum fact say_root(const struct seen *seen, struct str *to)
{
    if (seen->answer.greeting.version[0] == '\0')
        return FACT_NONE;
    _cleanup_free_ char *none =
        mem_printf("there is none; make one: mas --host %s init", seen->remote->name);
    return say_free(seen->answer.greeting.free, none, to);
}

static enum fact say_store(const struct seen *seen, struct str *to)
{
    return seen->answer.reached ? say_free(seen->answer.greeting.store_free, "", to) : FACT_NONE;
}

/* What `doctor` there has found. */
static enum fact say_doctor(const struct seen *seen, struct str *to)
{
    const struct json *rows = all_hosts_rows("doctor", seen->answer.json);
    size_t notes = 0;
    size_t wrong = 0;

    if (rows == NULL)
        return FACT_NONE;
    for (const struct json *row = json_first(rows); row != NULL; row = json_next(row)) {
        bool is_note = strcmp(json_get_text_or(row, "state", ""), "note") == 0;
        notes += is_note;
        wrong += !is_note;
    }
    if (wrong > 0)
        str_addf(to, "%zu problem%s, see: mas --host %s doctor", wrong, wrong > 1 ? "s" : "",
                 seen->remote->name);
    else if (notes > 0)
        str_addf(to, "%zu note%s, see: mas --host %s doctor", notes, notes > 1 ? "s" : "",
                 seen->remote->name);
    else
        str_add(to, "everything is in order");
    return wrong > 0 ? FACT_WRONG : notes > 0 ? FACT_NOTE : FACT_OK;
}

static void add_text(const struct json *from, const char *member, size_t max, struct str *to)
{
    const char *text = json_get_text_or(from, member, "");

    str_addn(to, text, str_fit(text, max));
}

/* Only presets that have to be installed are programs of agents. */
static bool is_agent(const struct json *preset)
{
    return json_get_text_or(preset, "install", "")[0] != '\0' &&
           json_get_text_or(preset, "name", "")[0] != '\0';
}

/* Appends the names of the agents there that are installed, or of those that are not. */
static size_t add_agents(const struct json *presets, bool installed, struct str *to)
{
    const struct json *preset = json_first(json_get(presets, "presets"));
    size_t count = 0;

    for (; preset != NULL; preset = json_next(preset)) {
        if (!is_agent(preset) || json_bool(json_get(preset, "installed"), false) != installed)
            continue;
        if (count++ >= AGENTS_MAX)
            continue;
        str_add(to, count > 1 ? ", " : "");
        add_text(preset, "name", NAME_MAX_SHOWN, to);
    }
    if (count > AGENTS_MAX)
        str_addf(to, " and %zu more", count - AGENTS_MAX);
    return count;
}

static enum fact say_agents(const struct seen *seen, struct str *to)
{
    if (seen->presets == NULL)
        return FACT_NONE;
    if (add_agents(seen->presets, true, to) > 0)
        return FACT_OK;
    str_addf(to, "none is installed, see: mas --host %s presets", seen->remote->name);
    return FACT_NOTE;
}

static enum installed_login login_of(const struct json *preset)
{
    const struct json *in = json_get(preset, "loggedIn");

    if (json_bool(in, false))
        return LOGIN_FOUND;
    return json_bool(in, true) ? LOGIN_UNKNOWN : LOGIN_NONE; /* neither: null, or missing */
}

/* Of the agents that are installed, names those that are logged in there, then those that are not;
 * those of whom nobody can tell are not named. */
static enum fact say_logins(const struct seen *seen, struct str *to)
{
    _cleanup_str_ struct str none = STR_INIT;
    const struct json *preset = json_first(json_get(seen->presets, "presets"));
    size_t count = 0;

    for (; preset != NULL && count < AGENTS_MAX; preset = json_next(preset)) {
        enum installed_login login = login_of(preset);
        struct str *list = login == LOGIN_FOUND ? to : &none;
        if (!is_agent(preset) || !json_bool(json_get(preset, "installed"), false) ||
            login == LOGIN_UNKNOWN)
            continue;
        str_add(list, list->len > 0 ? ", " : "");
        add_text(preset, "name", NAME_MAX_SHOWN, list);
        count++;
    }
    if (none.len > 0)
        str_addf(to, "%snone found of %s", to->len > 0 ? "; " : "", none.data);
    return count == 0 ? FACT_NONE : none.len > 0 ? FACT_NOTE : FACT_OK;
}

static enum fact say_missing(const struct seen *seen, struct str *to)
{
    return seen->presets != NULL && add_agents(seen->presets, false, to) > 0 ? FACT_NOTE
                                                                             : FACT_NONE;
}

static const struct {
    const char *name;
    enum fact (*say)(const struct seen *seen, struct str *to);
} facts[] = {
    {"reached", say_reached}, {"mas", say_mas},       {"tmux", say_tmux},
    {"git", say_git},         {"walls", say_walls},   {"clock", say_clock},
    {"root", say_root},       {"store", say_store},   {"doctor", say_doctor},
    {"agents", say_agents},   {"logins", say_logins}, {"absent", say_missing},
};

/* ---- asking */

static void take_presets(const struct reach_ask *ask, struct seen *seen)
{
    const char *text = str_text(&ask->out);
    struct greeting greeting;
    struct err ignored = ERR_INIT;
    size_t begin = 0;

    if (ask->err.code != MAS_OK || !greeting_parse(text, ask->out.len, &greeting, &begin) ||
        json_parse(text + begin, ask->out.len - begin, PRESETS_MAX, &seen->presets, &ignored) == -1)
        seen->presets = NULL;
    if (!json_is_array(json_get(seen->presets, "presets"))) {
        json_free(seen->presets);
        seen->presets = NULL;
    }
}

/* Asks those that ssh reaches. */
static void ask_machines(const struct config *config, struct seen *seen, size_t count)
{
    _cleanup_strv_ char **doctor = str_split_list("doctor --json");
    _cleanup_strv_ char **presets = str_split_list("presets --json");
    struct reach_ask *asks = mem_alloc((2 * count + 1) * sizeof *asks);
    size_t asked = 0;
    int wait_ms = config_number(config, SETTING_FLEET_ANSWER);

    wait_ms = wait_ms < INT_MAX / ALL_HOSTS_DOCTOR ? wait_ms * ALL_HOSTS_DOCTOR : INT_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct reach_ask ask = {
            .command = {.remote = seen[i].remote, .words = doctor, .greet = true, .goes_on = true},
            .output_max = ALL_HOSTS_ANSWER_MAX,
            .timeout_ms = wait_ms};
        if (seen[i].remote->via != REMOTE_SSH)
            continue;
        asks[asked] = asks[asked + 1] = ask;
        asks[asked + 1].command.words = presets;
        asks[asked + 1].output_max = PRESETS_MAX;
        asked += 2;
    }
    int64_t from = time_epoch_ms();
    reach_ask_all(asks, asked);
    int64_t to = time_epoch_ms();
    asked = 0;
    for (size_t i = 0; i < count; i++) {
        if (seen[i].remote->via != REMOTE_SSH)
            continue;
        all_hosts_take("doctor", &asks[asked], from, to, &seen[i].answer);
        take_presets(&asks[asked + 1], &seen[i]);
        reach_ask_free(&asks[asked]);
        reach_ask_free(&asks[asked + 1]);
        asked += 2;
    }
    free(asks);
}

static void ask_others(const struct config *config, struct seen *seen, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct fleet_answer *answer = &seen[i].answer;
        const struct remote *remote = seen[i].remote;
        if (remote->via == REMOTE_SLURM) {
            all_hosts_take_slurm(config, remote, true, answer);
        } else if (remote->via == REMOTE_UNSET) {
            answer->problem = mem_dup(
                remote->wrong != NULL ? remote->wrong : "mas.ini does not say how to reach it");
            answer->code = MAS_UNREACHED;
        }
    }
}

/* ---- printing */

static void put_facts(const struct seen *seen, struct json_out *out)
{
    json_open(out, "facts", '[');
    for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        enum fact fact = facts[i].say(seen, &text);
        if (fact != FACT_NONE)
            json_put_all(out, JO(NULL), JT("name", facts[i].name), JT("state", fact_names[fact]),
                         JT("text", str_text(&text)), JOE);
    }
    json_close(out, ']');
}

static void put_agents(const struct json *presets, struct json_out *out)
{
    const struct json *preset = json_first(json_get(presets, "presets"));
    size_t count = 0;

    json_open(out, "agents", '[');
    for (; preset != NULL && count < AGENTS_MAX; preset = json_next(preset)) {
        if (!is_agent(preset))
            continue;
        json_open(out, NULL, '{');
        json_put_fit(out, "name", json_get_text(preset, "name"), NAME_MAX_SHOWN);
        json_put_bool(out, "installed", json_bool(json_get(preset, "installed"), false));
        json_put_fit(out, "install", json_get_text(preset, "install"), TEXT_MAX);
        json_put_fit(out, "login", json_get_text_or(preset, "login", ""), TEXT_MAX);
        if (login_of(preset) == LOGIN_UNKNOWN)
            json_put(out, "loggedIn", NULL);
        else
            json_put_bool(out, "loggedIn", login_of(preset) == LOGIN_FOUND);
        json_close(out, '}');
        count++;
    }
    json_close(out, ']');
}

static void print_json(const struct seen *seen, size_t count)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_open(&out, "hosts", '[');
    for (size_t i = 0; i < count; i++) {
        const struct fleet_answer *answer = &seen[i].answer;
        const struct greeting *greeting = &answer->greeting;
        json_put_all(&out, JO(NULL), JT("host", seen[i].remote->name),
                     JB("reached", answer->reached));
        if (greeting->version[0] != '\0')
            json_put_all(&out, JT("version", greeting->version), JT("tmux", greeting->tmux),
                         JT("git", greeting->git), JI("clockMs", answer->clock_ms),
                         JI("free", greeting->free));
        put_facts(&seen[i], &out);
        put_agents(seen[i].presets, &out);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

static void print_table(const struct seen *seen, size_t count)
{
    static const char *const heads[] = {"HOST", "WHAT", "STATE", "FOUND"};
    static const char *const spare[] = {NULL};
    struct table table = {.columns = ARRAY_LEN(heads), .spare = spare, .whole_last = true};

    table_heads(&table, heads);
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < ARRAY_LEN(facts); at++) {
            _cleanup_str_ struct str text = STR_INIT;
            enum fact fact = facts[at].say(&seen[i], &text);
            const char *tint = fact == FACT_WRONG ? colour(TINT_HELD) : NULL;
            if (fact == FACT_NONE)
                continue;
            table_add(&table, seen[i].remote->name, NULL);
            table_add(&table, facts[at].name, NULL);
            table_add(&table, fact_names[fact], tint);
            table_add(&table, str_text(&text), tint);
        }
    table_print(&table);
    table_free(&table);
}

/* ---- the verb */

/* Returns what the verb ends with for a machine. */
static int code_of(const struct seen *seen)
{
    int code = seen->answer.code;

    for (size_t i = 0; code == MAS_OK && i < ARRAY_LEN(facts); i++) {
        _cleanup_str_ struct str ignored = STR_INIT;
        if (facts[i].say(seen, &ignored) == FACT_WRONG)
            code = MAS_FAILED;
    }
    return code;
}

/* Sets the error, if a machine is not in order: that of the first one. */
static int judge(const struct seen *seen, size_t count, struct err *err)
{
    const char *first = NULL;
    size_t wrong = 0;
    int code = MAS_OK;

    for (size_t i = 0; i < count; i++) {
        int here = code_of(&seen[i]);
        wrong += here != MAS_OK;
        if (code != MAS_OK || here == MAS_OK)
            continue;
        code = here;
        first = seen[i].remote->name;
    }
    if (code == MAS_OK)
        return 0;
    (void)err_set(err, code, "cannot use host '%s' as it is%s", first,
                  wrong > 1 ? ", nor others" : "");
    return err_hint(err, "see the lines marked 'wrong', and then run: mas remote check %s", first);
}

int remote_check(const struct call *call, const char *name, struct err *err)
{
    const struct config *config = &call->config;
    const struct remote *only = NULL;
    size_t count = name != NULL ? 1 : config->remote_count;

    if (brokered_is_agent())
        return err_set(err, MAS_FAILED,
                       "cannot check hosts: only a person may, and this is an agent");
    if (name != NULL && config_need_remote(config, name, &only, err) == -1)
        return -1;
    struct seen *seen = mem_alloc((count + 1) * sizeof *seen);
    for (size_t i = 0; i < count; i++)
        seen[i] = (struct seen){.remote = only != NULL ? only : &config->remotes[i],
                                .answer = {.greeting = {.free = -1, .store_free = -1}}};
    ask_machines(config, seen, count);
    ask_others(config, seen, count);
    if (call->json)
        print_json(seen, count);
    else
        print_table(seen, count);
    int rc = judge(seen, count, err);
    for (size_t i = 0; i < count; i++) {
        fleet_answer_free(&seen[i].answer);
        json_free(seen[i].presets);
    }
    free(seen);
    return rc;
}
