/*
 * An amount of 0 says nothing, and -1 says that there is no limit, in memory as in the file; so the
 * first place that says anything decides, see inherit(). A change reads the file and replaces it as
 * a whole under the metadata lock, over a damaged one, too. Readers take no lock.
 */

#include "store/limits/session_limits.h"

#include "base/json.h"
#include "os/file.h"
#include "store/reserve.h"
#include "store/workspace.h"

void session_limits_free(struct session_limits *limits)
{
    free(limits->each);
    *limits = (struct session_limits)SESSION_LIMITS_INIT;
}

static struct agent_limits *find(const struct session_limits *limits, const char *agent)
{
    for (size_t i = 0; i < limits->count; i++)
        if (strcmp(limits->each[i].agent, agent) == 0)
            return &limits->each[i];
    return NULL;
}

/* Returns the limits of an agent, new ones if it has none; NULL if there are too many agents. */
static struct agent_limits *take(struct session_limits *limits, const char *agent)
{
    struct agent_limits *one = find(limits, agent);

    if (one != NULL || limits->count == LIMITS_AGENTS_MAX)
        return one;
    limits->each = mem_room(limits->each, limits->count, sizeof *limits->each);
    one = &limits->each[limits->count++];
    *one = (struct agent_limits){.set = {.of = {0}}};
    (void)snprintf(one->agent, sizeof one->agent, "%s", agent);
    return one;
}

void session_limits_put(struct session_limits *limits, const char *agent, enum limit_kind kind,
                        int64_t amount)
{
    struct agent_limits *one = agent != NULL ? take(limits, agent) : NULL;

    if (one != NULL)
        one->set.of[kind] = amount;
    else if (agent == NULL)
        limits->all.of[kind] = amount;
}

/* ---- the file */

/* Reads a limit: a number, as limit_write() writes it. */
static int64_t read_amount(const struct json *node)
{
    int64_t amount = json_int(node, 0);
    return amount >= -1 ? amount : 0;
}

static void read_set(const struct json *object, struct limit_set *ret)
{
    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++)
        ret->of[i] = read_amount(json_get(object, limit_kind_name(i)));
}

static void read_agent(const struct json *node, struct session_limits *limits)
{
    struct agent_limits *one = NULL;

    if (json_key(node) != NULL && str_is_word(json_key(node), TEAM_WORD_MAX))
        one = take(limits, json_key(node));
    if (one != NULL)
        read_set(node, &one->set);
}

int session_limits_read(int dir, struct session_limits *ret, struct err *err)
{
    struct session_limits limits = SESSION_LIMITS_INIT;
    _cleanup_free_ char *text = NULL;
    _cleanup_json_ struct json *file = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    int there = file_read_if_there(dir, WORKSPACE_LIMITS, LIMITS_FILE_MAX, &text, &len, err);
    if (there == 0)
        *ret = limits;
    if (there != 1)
        return there;
    if (json_parse(text, len, LIMITS_FILE_MAX, &file, &why) == -1)
        return err_set(err, MAS_DAMAGED, "cannot read '" WORKSPACE_LIMITS "': %s", why.text);
    read_set(file, &limits.all);
    for (const struct json *it = json_first(json_get(file, "agents")); it != NULL;
         it = json_next(it))
        read_agent(it, &limits);
    *ret = limits;
    return 0;
}

int session_limits_read_sound(int dir, struct session_limits *ret, struct err *err)
{
    struct err why = ERR_INIT;

    if (session_limits_read(dir, ret, &why) == 0 || why.code == MAS_DAMAGED)
        return 0;
    *err = why;
    return -1;
}

static bool is_empty(const struct limit_set *set)
{
    bool empty = true;

    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++)
        empty = empty && set->of[i] == 0;
    return empty;
}

bool session_limits_any(const struct session_limits *limits)
{
    bool empty = is_empty(&limits->all);

    for (size_t i = 0; i < limits->count; i++)
        empty = empty && is_empty(&limits->each[i].set);
    return !empty;
}

static void put_set(const struct limit_set *set, struct json_out *out)
{
    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++)
        if (set->of[i] != 0)
            json_put_int(out, limit_kind_name(i), set->of[i]);
}

int session_limits_write(int dir, const struct session_limits *limits, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    put_set(&limits->all, &out);
    json_open(&out, "agents", '{');
    for (size_t i = 0; i < limits->count; i++) {
        if (is_empty(&limits->each[i].set))
            continue;
        json_open(&out, limits->each[i].agent, '{');
        put_set(&limits->each[i].set, &out);
        json_close(&out, '}');
    }
    json_close(&out, '}');
    json_close(&out, '}');
    str_addc(&text, '\n');
    struct err why = ERR_INIT;
    if (file_replace(dir, WORKSPACE_LIMITS, text.data, text.len, 0600, &why) == 0)
        return 0;
    if (reserve_give(dir, RESERVE_RECORD, &why))
        return file_replace(dir, WORKSPACE_LIMITS, text.data, text.len, 0600, err);
    *err = why;
    return -1;
}

int session_limits_set(const struct root *root, int dir, const char *agent, enum limit_kind kind,
                       int64_t amount, int wait_ms, struct err *err)
{
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    _cleanup_close_ int lock = -1;

    if (file_lock(root->sessions, ROOT_LOCK, wait_ms, "limits", &lock, err) == -1)
        return err_wrap(err, "cannot set a limit");
    if (session_limits_read_sound(dir, &limits, err) == -1)
        return -1;
    session_limits_put(&limits, agent, kind, amount);
    return session_limits_write(dir, &limits, err);
}

/* ---- what holds */

/* Takes a limit if no nearer place has said one. */
static void inherit(struct limit_held *held, int64_t amount, const char *from, const char *name)
{
    if (held->from[0] != '\0' || amount == 0)
        return;
    held->amount = amount > 0 ? amount : 0;
    (void)snprintf(held->from, sizeof held->from, "%s%s", from, name);
}

/* Returns what a setting says; 0: it is the default. */
static int64_t of_setting(const struct config *config, enum limit_kind kind, const char **ret_from)
{
    static const enum setting settings[LIMIT_KIND_COUNT] = {
        [LIMIT_SESSION] = SETTING_LIMIT_SESSION,     [LIMIT_AGENT] = SETTING_LIMIT_AGENT,
        [LIMIT_MEMORY] = SETTING_LIMIT_MEMORY,       [LIMIT_CPUS] = SETTING_LIMIT_CPUS,
        [LIMIT_PROCESSES] = SETTING_LIMIT_PROCESSES,
    };
    int64_t amount = config_value(config, settings[kind])->number;

    *ret_from = config->settings[settings[kind]].origin;
    return amount > 0 ? amount : -1;
}

struct limits_held session_limits_hold(const struct session_limits *limits,
                                       const struct config *config, const struct agent *agent,
                                       const struct preset *preset)
{
    const struct agent_limits *own =
        limits != NULL && agent != NULL ? find(limits, agent->id) : NULL;
    struct limits_held ret = {.of = {{.amount = 0}}};

    for (enum limit_kind i = 0; i < LIMIT_KIND_COUNT; i++) {
        struct limit_held *held = &ret.of[i];
        const char *origin = NULL;
        int64_t of_all = of_setting(config, i, &origin);
        if (own != NULL)
            inherit(held, own->set.of[i], "mas set, for agent ", agent->id);
        if (limits != NULL)
            inherit(held, limits->all.of[i], "mas set", "");
        if (agent != NULL)
            inherit(held, agent->limits.of[i], "the template, for agent ", agent->id);
        if (preset != NULL)
            inherit(held, preset->limits.of[i], "preset ", preset->name);
        inherit(held, of_all, "", origin);
    }
    return ret;
}

struct limits_held session_limits_look(int dir, const struct config *config,
                                       const struct agent *agent, const struct preset *preset)
{
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    struct err ignored = ERR_INIT;

    if (dir != -1)
        (void)session_limits_read(dir, &limits, &ignored);
    return session_limits_hold(&limits, config, agent, preset);
}

/* ---- words */

bool session_limits_parse(const char *word, char **ret_agent, enum limit_kind *ret_kind,
                          int64_t *ret_amount, const char **ret_wrong)
{
    const char *equals = strchr(word, '=');
    const char *name = equals;

    *ret_wrong = NULL;
    while (name != NULL && name > word && name[-1] != '.')
        name--;
    if (name == NULL || !limit_kind_parse(name, (size_t)(equals - name), ret_kind))
        return false;
    _cleanup_free_ char *agent = mem_dupn(word, name > word ? (size_t)(name - word) - 1 : 0);
    size_t len = strlen(agent);
    const size_t prefix = strlen("limits");
    if (strcmp(agent, "limits") == 0)
        agent[0] = '\0';
    else if (len > prefix + 1 && strcmp(agent + len - prefix - 1, ".limits") == 0)
        agent[len - prefix - 1] = '\0';
    if ((agent[0] != '\0' && !limit_is_of_agent(*ret_kind)) || (name > word && len == 0))
        return false;
    if (strcmp(equals + 1, "default") == 0)
        *ret_amount = 0;
    else if ((*ret_wrong = limit_parse(*ret_kind, equals + 1, ret_amount)) != NULL)
        return false;
    *ret_agent = agent[0] != '\0' ? TAKE_PTR(agent) : NULL;
    return true;
}
