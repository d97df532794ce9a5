/*
 * Settings: those that are made in each session of the agent, one request after the other, and
 * those that a client makes. These are stored once the agent has made them, or at once if it cannot
 * be asked now: the next session then makes them. An answer that comes when another session is open
 * stores nothing.
 */

#include "host/acp/conversation.h"

#include "host/acp/agent_side.h"
#include "host/server.h"
#include "host/talk/memory.h"
#include "host/talk/turn.h"

enum {
    WORDS_SHOWN = 200, /* bytes of the names in a hint */
    OPTIONS_MAX = 32 * 1024, /* bytes of all options that are kept */
    SETTING_MS = 10000, /* for the answer to a mode or an option */
};

/* ---- what the agent is asked for: each function returns the serial of the request, or 0 if there
 * is nothing to change or the agent does not have it */

/* Returns the value as the option has it, or NULL if it has no such value. Agents call a boolean
 * option on and off for clients that take none, as mas was: so may it have been set. */
static const char *value_of(const struct config_option *option, const char *value)
{
    static const char *const words[][2] = {
        {"true", "true"}, {"on", "true"}, {"false", "false"}, {"off", "false"}};

    if (!option->boolean)
        return value;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i][0], value) == 0)
            return words[i][1];
    return NULL;
}

/* Returns true if the agent has the value, and is not being asked for another one. */
static bool has_value(const struct host *host, const char *value, const char *wanted)
{
    return host->conversation->settings.asked_count == 0 && strcmp(value, wanted) == 0;
}

static int64_t ask_option(struct host *host, const struct config_option *option, const char *value)
{
    const struct agent_link *link = &host->conversation->link;

    if (option == NULL || value == NULL)
        return 0;
    const char *known = value_of(option, value);
    if (known == NULL) /* it was set before the agent had told that it is boolean */
        memory_say(host, true, "the option '%s' is on or off: '%s' is not set", option->id, value);
    if (known == NULL || has_value(host, option->value, known))
        return 0;
    return acp_set_option(link->acp, host->talk->session, option->id, known, option->boolean,
                          SETTING_MS);
}

static int64_t ask_mode(struct host *host, const char *mode)
{
    const struct agent_link *link = &host->conversation->link;
    const struct offered *offered = &host->conversation->offered;

    if (mode[0] == '\0' || has_value(host, offered->mode, mode))
        return 0;
    if (offered_has_mode(offered->modes, offered->mode_count, mode))
        return acp_set_mode(link->acp, host->talk->session, mode, SETTING_MS);
    const struct config_option *option = offered_find(offered, NULL, "mode");
    if (offered->mode_count > 0 || option == NULL)
        memory_say(host, true, "the agent has no mode '%s'%s%s", mode,
                   offered->mode[0] != '\0' ? ": its mode is " : "", offered->mode);
    return offered->mode_count == 0 ? ask_option(host, option, mode) : 0;
}

/* Asks for the mode that was set, or the preset's. */
static int64_t ask_kept_mode(struct host *host)
{
    const char *mode = host->talk->memory.place.mode;

    return ask_mode(host, mode != NULL && mode[0] != '\0' ? mode : host->preset->mode);
}

static int64_t ask_model(struct host *host)
{
    const struct conversation *conversation = host->conversation;
    const char *model = conversation->talk.memory.place.model;

    if ((model == NULL || model[0] == '\0') && host->preset->model_option[0] == '\0')
        model = host->agent->model;
    if (model == NULL || model[0] == '\0')
        return 0;
    const struct config_option *option = offered_find(&conversation->offered, NULL, "model");
    if (option == NULL)
        memory_say(host, true, "the agent has no option for its model: '%s' is not set", model);
    return ask_option(host, option, model);
}

/* Asks for one of the options that were set by hand: the one at this place in the list. *ret_more:
 * the list has one there. */
static int64_t ask_kept(struct host *host, int place, bool *ret_more)
{
    const struct conversation *conversation = host->conversation;
    const char *kept = conversation->talk.memory.place.options;
    const char *text = kept != NULL ? kept : "{}";
    _cleanup_json_ struct json *options = NULL;
    struct err err = ERR_INIT;

    *ret_more = false;
    if (json_parse(text, strlen(text), OPTIONS_MAX, &options, &err) == -1)
        return 0;
    const struct json *option = json_first(options);
    for (int i = 0; i < place && option != NULL; i++)
        option = json_next(option);
    if (option == NULL)
        return 0;
    *ret_more = true;
    return ask_option(host, offered_find(&conversation->offered, json_key(option), NULL),
                      json_text(option));
}

/* Makes the next setting, or enters READY after the last one. */
static void make_next(struct host *host)
{
    enum { MODE, MODEL, OTHERS };
    struct settings *settings = &host->conversation->settings;
    bool more = true;

    while (more) {
        int setting = settings->next++;
        int64_t serial = 0;
        if (setting == MODE)
            serial = ask_kept_mode(host);
        else if (setting == MODEL)
            serial = ask_model(host);
        else
            serial = ask_kept(host, setting - OTHERS, &more);
        if (serial == 0)
            continue;
        link_enter(host, PHASE_SETS, serial, -1);
        return;
    }
    link_enter(host, PHASE_READY, 0, -1);
    turn_run(host);
}

void settings_begin(struct host *host)
{
    host->conversation->settings.next = 0;
    link_enter(host, PHASE_SETS, 0, -1);
    make_next(host);
}

/* ---- what a client sets */

static int keep_once(struct host *host, const char *mode, const char *options, const char *words,
                     struct err *err)
{
    const struct conversation_memory *memory = &host->talk->memory;
    int64_t number = 0;
    const struct store_message message = {.role = ROLE_MODE,
                                          .state = MESSAGE_DONE,
                                          .text = words,
                                          .len = strlen(words),
                                          .trigger = 0};

    if (memory_need(host, err) == -1 ||
        store_add(memory->store, memory->place.query, &message, SYNC_CHUNK, &number, err) == -1)
        return -1;
    return store_keep_settings(memory->store, memory->place.conversation, mode, NULL, options, err);
}

/* Stores a mode or all options (the other one is NULL), and a message about it. */
static int keep(struct host *host, const char *mode, const char *options, const char *words,
                struct err *err)
{
    int rc = keep_once(host, mode, options, words, err);

    return rc == -1 && memory_renew(host, err) ? keep_once(host, mode, options, words, err) : rc;
}

static int keep_mode(struct host *host, const char *mode, struct err *err)
{
    struct store_place *place = &host->talk->memory.place;

    if (keep(host, mode, NULL, mode, err) == -1)
        return -1;
    free(place->mode);
    place->mode = mem_dup(mode);
    return 0;
}

static int keep_option(struct host *host, const char *option, const char *value, struct err *err)
{
    struct store_place *place = &host->talk->memory.place;
    _cleanup_free_ char *words = mem_printf("%s = %s", option, value);
    _cleanup_json_ struct json *old = NULL;
    _cleanup_str_ struct str options = STR_INIT;
    struct json_out out = {.to = &options};

    if (memory_need(host, err) == -1)
        return -1;
    const char *text = place->options != NULL ? place->options : "{}";
    if (json_parse(text, strlen(text), OPTIONS_MAX, &old, err) == -1)
        return -1;
    json_open(&out, NULL, '{');
    for (const struct json *o = json_first(old); o != NULL; o = json_next(o))
        if (strcmp(json_key(o), option) != 0)
            json_put(&out, json_key(o), json_text(o));
    json_put(&out, option, value);
    json_close(&out, '}');
    if (options.len > OPTIONS_MAX)
        return err_set(err, MAS_FAILED, "too many options are set");
    if (keep(host, NULL, options.data, words, err) == -1)
        return -1;
    free(place->options);
    place->options = str_steal(&options);
    return 0;
}

static void answer_client(struct host *host, struct client *client)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;

    server_open_answer(host, &head, &out);
    json_put(&out, "conversation", host->talk->memory.place.conversation);
    server_close_answer(client, &head, &out);
}

/* Keeps a setting for which the agent need not be asked now (serial 0), or waits for its answer. A
 * client that goes on asking is answered at once: its answers come in order. */
static int keep_or_wait(struct host *host, struct client *client, int64_t serial,
                        const char *option, const char *value, struct err *err)
{
    struct settings *settings = &host->conversation->settings;

    if (serial != 0) {
        settings->asked = mem_room(settings->asked, settings->asked_count, sizeof *settings->asked);
        settings->asked[settings->asked_count++] = (struct asked_setting){
            .serial = serial, .option = mem_dup(option), .value = mem_dup(value)};
    } else if ((option == NULL ? keep_mode(host, value, err)
                               : keep_option(host, option, value, err)) == -1) {
        return -1;
    }
    if (serial != 0 && client->kind == CLIENT_NEW) {
        client->kind = CLIENT_SETS;
        client->prompt = serial;
    } else {
        answer_client(host, client);
    }
    return 0;
}

static struct client *find_client(struct host *host, int64_t serial)
{
    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        if (client->kind == CLIENT_SETS && client->prompt == serial)
            return client;
    }
    return NULL;
}

/* Says why the agent has not made a setting, and which values it offers. */
static int refuse_value(const struct offered *offered, const struct asked_setting *setting,
                        const char *why, struct err *err)
{
    _cleanup_str_ struct str list = STR_INIT;
    bool listed = offered_list_values(offered, setting->option, setting->value, &list);

    (void)err_set(err, listed || list.len == 0 ? MAS_FAILED : MAS_USAGE,
                  "it has not set '%s=%s': %s", setting->option != NULL ? setting->option : "mode",
                  setting->value, why);
    return listed || list.len == 0 ? -1 : err_hint(err, "its values are: %s", list.data);
}

/* Keeps a setting that the agent has made, or says why it has not, to the client or in a note if no
 * client waits. why: NULL if it has. */
static void conclude(struct host *host, size_t index, const char *why)
{
    struct settings *settings = &host->conversation->settings;
    struct asked_setting setting = settings->asked[index];
    struct client *client = find_client(host, setting.serial);
    struct err err = ERR_INIT;
    int rc;

    settings->asked[index] = settings->asked[--settings->asked_count];
    if (why != NULL)
        rc = refuse_value(&host->conversation->offered, &setting, why, &err);
    else if (setting.option == NULL)
        rc = keep_mode(host, setting.value, &err);
    else
        rc = keep_option(host, setting.option, setting.value, &err);
    if (rc == -1)
        (void)err_wrap(&err, "cannot set %s agent '%s'",
                       setting.option == NULL ? "the mode of" : "an option of", host->agent->id);
    if (client == NULL) {
        if (rc == -1)
            memory_say(host, true, "%s", err.text);
        offered_tell_options(host); /* a client may show what it wanted to set */
    } else if (rc == -1) {
        server_refuse(client, &err);
    } else {
        answer_client(host, client);
    }
    free(setting.option);
    free(setting.value);
}

void settings_process_ended(struct host *host)
{
    while (host->conversation->settings.asked_count > 0)
        conclude(host, host->conversation->settings.asked_count - 1, "its process ended");
}

void settings_free(struct settings *settings)
{
    for (size_t i = 0; i < settings->asked_count; i++) {
        free(settings->asked[i].option);
        free(settings->asked[i].value);
    }
    free(settings->asked);
}

void settings_answer(struct host *host, const struct acp_answer *answer)
{
    const struct agent_link *link = &host->conversation->link;
    const struct settings *settings = &host->conversation->settings;
    bool waited_for = phase_waits_for(&link->phase, PHASE_SETS, answer->serial);
    bool present = host->talk->session != NULL && answer->session != NULL &&
                   strcmp(answer->session, host->talk->session) == 0;
    size_t i = 0;
    char why[ERR_TEXT_MAX];

    while (i < settings->asked_count && settings->asked[i].serial != answer->serial)
        i++;
    if (answer->ok && present && answer->call == ACP_CALL_SET_OPTION)
        offered_parse_options(host, answer->options);
    else if (answer->ok && present)
        offered_parse_modes(host, answer->mode, NULL, 0);
    if (i < settings->asked_count)
        conclude(host, i,
                 !answer->ok ? acp_why(answer, why, sizeof why)
                 : !present  ? "another conversation is open now"
                             : NULL);
    else if (!answer->ok)
        memory_say(host, true, "the agent rejected the %s: %s",
                   answer->call == ACP_CALL_SET_MODE ? "mode" : "option",
                   acp_why(answer, why, sizeof why));
    if (waited_for)
        make_next(host);
}

static bool is_ready(const struct conversation *conversation)
{
    return conversation->link.phase.now == PHASE_READY;
}

bool settings_knows_modes(const struct conversation *conversation)
{
    return is_ready(conversation) || conversation->offered.past_mode_count > 0;
}

int settings_check_mode(const struct host *host, const char *mode, struct err *err)
{
    const struct offered *offered = &host->conversation->offered;
    bool ready = is_ready(host->conversation);
    const struct word *modes = ready ? offered->modes : offered->past_modes;
    size_t count = ready ? offered->mode_count : offered->past_mode_count;
    _cleanup_str_ struct str list = STR_INIT;

    if (count == 0 || offered_has_mode(modes, count, mode))
        return 0;
    for (size_t i = 0; i < count && list.len < WORDS_SHOWN; i++)
        str_addf(&list, "%s%s", i > 0 ? ", " : "", modes[i].id);
    (void)err_set(err, MAS_NOT_FOUND, "the agent has no mode '%s'", mode);
    return err_hint(err, "its modes are: %s", list.data);
}

int settings_set_mode(struct host *host, struct client *client, const char *mode, struct err *err)
{
    const struct offered *offered = &host->conversation->offered;
    bool ready = is_ready(host->conversation);

    if (settings_check_mode(host, mode, err) == -1)
        return -1;
    if (ready && offered->mode_count == 0 && offered_find(offered, NULL, "mode") == NULL)
        return err_set(err, MAS_NOT_FOUND, "the agent has no modes");
    return keep_or_wait(host, client, ready ? ask_mode(host, mode) : 0, NULL, mode, err);
}

static int refuse_option(const struct offered *offered, const char *option, struct err *err)
{
    _cleanup_str_ struct str list = STR_INIT;

    for (size_t i = 0; i < offered->option_count && list.len < WORDS_SHOWN; i++)
        str_addf(&list, "%s%s", i > 0 ? ", " : "", offered->option_list[i].id);
    (void)err_set(err, MAS_NOT_FOUND, "the agent has no option '%s'", option);
    return list.len > 0 ? err_hint(err, "its options are: %s", list.data) : -1;
}

int settings_set_option(struct host *host, struct client *client, const char *option,
                        const char *value, struct err *err)
{
    const struct conversation *conversation = host->conversation;
    const struct config_option *known = offered_find(&conversation->offered, option, NULL);
    const char *said = known != NULL ? value_of(known, value) : value;
    bool ready = is_ready(conversation);

    if (ready && known == NULL)
        return refuse_option(&conversation->offered, option, err);
    if (said == NULL) {
        (void)err_set(err, MAS_USAGE, "'%s' is no value of the option '%s'", value, option);
        return err_hint(err, "its values are: true, false");
    }
    return keep_or_wait(host, client, ready ? ask_option(host, known, said) : 0, option, said, err);
}
