#include "host/acp/conversation.h"

#include "base/str.h"
#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORDS_SHOWN = 200, /* bytes of a name in a list */
    VALUE_MAX = 1024, /* bytes of an id or value that is told */
    OPTIONS_MAX =
        32 * 1024, /* bytes of all that is told; what is left out can be set all the same */
    SETTING_MS = 10000, /* for the answer to a mode or an option */
};

/* ---- what the agent offers */

struct acp_word *settings_copy_words(const struct acp_word *words, size_t count)
{
    struct acp_word *copy = count > 0 ? mem_alloc(count * sizeof *copy) : NULL;

    for (size_t i = 0; i < count; i++)
        copy[i] = (struct acp_word){.id = mem_dup(words[i].id),
                                    .name = mem_dup(words[i].name),
                                    .description = mem_dup(words[i].description),
                                    .kind = mem_dup(words[i].kind)};
    return copy;
}

void settings_free_words(struct acp_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(words[i].id);
        free(words[i].name);
        free(words[i].description);
        free(words[i].kind);
    }
    free(words);
}

static void free_options(struct offered *offered)
{
    for (size_t i = 0; i < offered->option_count; i++) {
        free(offered->option_list[i].id);
        free(offered->option_list[i].category);
        free(offered->option_list[i].value);
    }
    free(offered->option_list);
    offered->option_list = NULL;
    offered->option_count = 0;
    str_clear(&offered->options);
}

void settings_forget(struct offered *offered)
{
    if (offered->mode_count > 0) {
        settings_free_words(offered->past_modes, offered->past_mode_count);
        offered->past_modes = offered->modes;
        offered->past_mode_count = offered->mode_count;
    }
    settings_free_words(offered->commands, offered->command_count);
    offered->modes = offered->commands = NULL;
    offered->mode_count = offered->command_count = 0;
    free(offered->mode);
    offered->mode = mem_dup("");
    free_options(offered);
}

void settings_free(struct offered *offered)
{
    settings_forget(offered);
    settings_free_words(offered->past_modes, offered->past_mode_count);
    free(offered->mode);
    free(offered->title);
    str_free(&offered->options);
}

void settings_learn(struct host *host)
{
    const struct acp_info *info = acp_info(host->conversation->link.acp);

    host->conversation->offered.can = (struct abilities){.known = true,
                                                         .now = info->steer,
                                                         .aside = info->fork,
                                                         .kept = info->list,
                                                         .delete_kept = info->list && info->remove};
}

void settings_parse_modes(struct host *host, const char *mode, const struct acp_word *modes,
                          size_t count)
{
    struct offered *offered = &host->conversation->offered;
    struct client_event event;

    if (count > 0) {
        settings_free_words(offered->modes, offered->mode_count);
        offered->mode_count = count < OFFERED_MAX ? count : OFFERED_MAX;
        offered->modes = settings_copy_words(modes, offered->mode_count);
    }
    if (mode != NULL) {
        free(offered->mode);
        offered->mode = mem_dup(mode);
    }
    if (count == 0 && mode == NULL)
        return;
    event_open(&event, "mode");
    event_put_modes(host->conversation, &event.out);
    event_tell(host, &event, NULL, 0, turn_prompt(host->conversation));
}

static void put_one_value(struct json_out *out, const char *value, const char *name)
{
    if (out->to->len >= OPTIONS_MAX)
        return;
    json_open(out, NULL, '{');
    json_put_fit(out, "value", value, VALUE_MAX);
    json_put_fit(out, "name", name, WORDS_SHOWN);
    json_close(out, '}');
}

static void put_value(struct json_out *out, const struct json *value)
{
    put_one_value(out, json_get_text(value, "value"), json_get_text(value, "name"));
}

/* Writes the values of an option, those in groups too. */
static void put_values(struct json_out *out, const struct json *values)
{
    for (const struct json *v = json_first(values); v != NULL; v = json_next(v)) {
        const struct json *group = json_get(v, "options");
        if (group == NULL)
            put_value(out, v);
        for (const struct json *w = json_first(group); w != NULL; w = json_next(w))
            put_value(out, w);
    }
}

/* Keeps an option, and writes it for the clients if there is room. One that is on or off is a
 * choice between two values for them. */
static void parse_option(struct offered *offered, const struct json *option, struct json_out *out)
{
    const struct json *current = json_get(option, "currentValue");
    const char *id = json_get_text(option, "id");
    const char *value = json_text(current);
    const char *category = json_get_text(option, "category");
    bool boolean = strcmp(json_get_text_or(option, "type", ""), "boolean") == 0;

    if (id == NULL || offered->option_count == OFFERED_MAX)
        return;
    if (boolean)
        value = json_bool(current, false) ? "true" : "false";
    offered->option_list =
        mem_room(offered->option_list, offered->option_count, sizeof *offered->option_list);
    offered->option_list[offered->option_count++] =
        (struct config_option){.id = mem_dup(id),
                               .category = mem_dup(category != NULL ? category : ""),
                               .value = mem_dup(value != NULL ? value : ""),
                               .boolean = boolean};
    if (offered->options.len >= OPTIONS_MAX)
        return;
    json_open(out, NULL, '{');
    json_put_fit(out, "id", id, VALUE_MAX);
    json_put_fit(out, "name", json_get_text(option, "name"), WORDS_SHOWN);
    json_put_fit(out, "category", category, WORDS_SHOWN);
    json_put(out, "type", boolean ? "boolean" : "select");
    json_put_fit(out, "value", value, VALUE_MAX);
    json_open(out, "values", '[');
    if (boolean) {
        put_one_value(out, "true", "On");
        put_one_value(out, "false", "Off");
    } else {
        put_values(out, json_get(option, "options"));
    }
    json_close(out, ']');
    json_close(out, '}');
}

void settings_parse_options(struct host *host, const struct json *options)
{
    struct offered *offered = &host->conversation->offered;
    struct json_out out = {.to = &offered->options};
    struct client_event event;

    if (!json_is_array(options))
        return;
    free_options(offered);
    json_open(&out, NULL, '[');
    for (const struct json *option = json_first(options); option != NULL;
         option = json_next(option))
        parse_option(offered, option, &out);
    json_close(&out, ']');
    event_open(&event, "options");
    str_addf(&event.head, ",\"options\":%s", offered->options.data);
    event_tell(host, &event, NULL, 0, 0);
}

static bool has_mode(const struct acp_word *modes, size_t count, const char *mode)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(modes[i].id, mode) == 0)
            return true;
    return false;
}

/* Returns the option with this id, or of this category; NULL: none. */
static const struct config_option *find_option(const struct offered *offered, const char *id,
                                               const char *category)
{
    for (size_t i = 0; i < offered->option_count; i++) {
        const struct config_option *option = &offered->option_list[i];
        if ((id != NULL && strcmp(option->id, id) == 0) ||
            (category != NULL && strcmp(option->category, category) == 0))
            return option;
    }
    return NULL;
}

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

static int64_t ask_option(struct host *host, const struct config_option *option, const char *value)
{
    const struct agent_link *link = &host->conversation->link;

    if (option == NULL || value == NULL)
        return 0;
    const char *known = value_of(option, value);
    if (known == NULL) /* it was set before the agent had told that it is boolean */
        event_say(host, true, "the option '%s' is on or off: '%s' is not set", option->id, value);
    if (known == NULL || strcmp(option->value, known) == 0)
        return 0;
    return acp_set_option(link->acp, link->session, option->id, known, option->boolean, SETTING_MS);
}

static int64_t ask_mode(struct host *host)
{
    const struct agent_link *link = &host->conversation->link;
    const struct offered *offered = &host->conversation->offered;
    const char *mode = host->conversation->memory.place.mode;

    if (mode == NULL || mode[0] == '\0')
        mode = host->preset->mode;
    if (mode[0] == '\0' || strcmp(mode, offered->mode) == 0)
        return 0;
    if (has_mode(offered->modes, offered->mode_count, mode))
        return acp_set_mode(link->acp, link->session, mode, SETTING_MS);
    const struct config_option *option = find_option(offered, NULL, "mode");
    if (offered->mode_count > 0 || option == NULL)
        event_say(host, true, "the agent has no mode '%s'%s%s", mode,
                  offered->mode[0] != '\0' ? ": its mode is " : "", offered->mode);
    return offered->mode_count == 0 ? ask_option(host, option, mode) : 0;
}

static int64_t ask_model(struct host *host)
{
    const struct conversation *conversation = host->conversation;
    const char *model = conversation->memory.place.model;

    if ((model == NULL || model[0] == '\0') && host->preset->model_option[0] == '\0')
        model = host->agent->model;
    if (model == NULL || model[0] == '\0')
        return 0;
    const struct config_option *option = find_option(&conversation->offered, NULL, "model");
    if (option == NULL)
        event_say(host, true, "the agent has no option for its model: '%s' is not set", model);
    return ask_option(host, option, model);
}

/* Asks for one of the options that were set by hand: the one at this place in the list. *ret_more:
 * the list has one there. */
static int64_t ask_kept(struct host *host, int place, bool *ret_more)
{
    const struct conversation *conversation = host->conversation;
    const char *kept = conversation->memory.place.options;
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
    return ask_option(host, find_option(&conversation->offered, json_key(option), NULL),
                      json_text(option));
}

/* Makes the next setting, or enters READY after the last one. */
static void make_next(struct host *host)
{
    enum { MODE, MODEL, OTHERS };
    struct offered *offered = &host->conversation->offered;
    bool more = true;

    while (more) {
        int setting = offered->next_setting++;
        int64_t serial = 0;
        if (setting == MODE)
            serial = ask_mode(host);
        else if (setting == MODEL)
            serial = ask_model(host);
        else
            serial = ask_kept(host, setting - OTHERS, &more);
        if (serial == 0)
            continue;
        conversation_enter(host, PHASE_SETS, serial, -1);
        return;
    }
    conversation_enter(host, PHASE_READY, 0, -1);
    turn_run(host);
}

void settings_begin(struct host *host)
{
    host->conversation->offered.next_setting = 0;
    conversation_enter(host, PHASE_SETS, 0, -1);
    make_next(host);
}

void settings_answer(struct host *host, const struct acp_answer *answer)
{
    bool waited_for = phase_waits_for(&host->conversation->link.phase, PHASE_SETS, answer->serial);
    char why[256];

    if (!answer->ok) {
        event_say(host, true, "the agent rejected the %s: %s",
                  answer->call == ACP_CALL_SET_MODE ? "mode" : "option",
                  link_why(answer, why, sizeof why));
    } else if (answer->call == ACP_CALL_SET_OPTION) {
        settings_parse_options(host, answer->options);
    } else {
        settings_parse_modes(host, answer->mode, NULL, 0);
    }
    if (waited_for)
        make_next(host);
}

/* ---- what a client sets */

static int keep_once(struct host *host, const char *mode, const char *options, const char *words,
                     struct err *err)
{
    const struct conversation_memory *memory = &host->conversation->memory;
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
    const struct acp_word *modes = ready ? offered->modes : offered->past_modes;
    size_t count = ready ? offered->mode_count : offered->past_mode_count;
    _cleanup_str_ struct str list = STR_INIT;

    if (count == 0 || has_mode(modes, count, mode))
        return 0;
    for (size_t i = 0; i < count && list.len < WORDS_SHOWN; i++)
        str_addf(&list, "%s%s", i > 0 ? ", " : "", modes[i].id);
    (void)err_set(err, MAS_NOT_FOUND, "the agent has no mode '%s'", mode);
    return err_hint(err, "its modes are: %s", list.data);
}

int settings_set_mode(struct host *host, const char *mode, struct err *err)
{
    struct store_place *place = &host->conversation->memory.place;

    if (settings_check_mode(host, mode, err) == -1)
        return -1;
    if (keep(host, mode, NULL, mode, err) == -1)
        return -1;
    free(place->mode);
    place->mode = mem_dup(mode);
    if (is_ready(host->conversation))
        (void)ask_mode(host);
    return 0;
}

static int refuse_option(const struct offered *offered, const char *option, struct err *err)
{
    _cleanup_str_ struct str list = STR_INIT;

    for (size_t i = 0; i < offered->option_count && list.len < WORDS_SHOWN; i++)
        str_addf(&list, "%s%s", i > 0 ? ", " : "", offered->option_list[i].id);
    (void)err_set(err, MAS_NOT_FOUND, "the agent has no option '%s'", option);
    return list.len > 0 ? err_hint(err, "its options are: %s", list.data) : -1;
}

int settings_set_option(struct host *host, const char *option, const char *value, struct err *err)
{
    struct conversation *conversation = host->conversation;
    struct store_place *place = &conversation->memory.place;
    const char *text = place->options != NULL ? place->options : "{}";
    _cleanup_json_ struct json *old = NULL;
    _cleanup_str_ struct str options = STR_INIT;
    struct json_out out = {.to = &options};

    const struct config_option *known = find_option(&conversation->offered, option, NULL);
    if (is_ready(conversation) && known == NULL)
        return refuse_option(&conversation->offered, option, err);
    const char *kept = known != NULL ? value_of(known, value) : value;
    if (kept == NULL) {
        (void)err_set(err, MAS_USAGE, "'%s' is no value of the option '%s'", value, option);
        return err_hint(err, "its values are: true, false");
    }
    if (memory_need(host, err) == -1 ||
        json_parse(text, strlen(text), OPTIONS_MAX, &old, err) == -1)
        return -1;
    json_open(&out, NULL, '{');
    for (const struct json *o = json_first(old); o != NULL; o = json_next(o))
        if (strcmp(json_key(o), option) != 0)
            json_put(&out, json_key(o), json_text(o));
    json_put(&out, option, kept);
    json_close(&out, '}');
    _cleanup_free_ char *words = mem_printf("%s = %s", option, kept);
    if (options.len > OPTIONS_MAX)
        return err_set(err, MAS_FAILED, "too many options are set");
    if (keep(host, NULL, options.data, words, err) == -1)
        return -1;
    free(place->options);
    place->options = str_steal(&options);
    if (is_ready(conversation))
        (void)ask_option(host, known, kept);
    return 0;
}
