#include "host/talk.h"

#include "base/str.h"
#include "host/state.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORDS_SHOWN = 200,
    VALUE_MAX = 1024, /* bytes of an id or value that is told */
    OPTIONS_MAX = 32 * 1024, /* of all that is told; what is left out can be set all the same */
};

void talk_parse_modes(struct host *host, const char *mode, const struct acp_word *modes,
                      size_t count)
{
    struct talk *talk = host->talk;
    struct talk_event event;

    if (count > 0) {
        talk_free_words(talk->modes, talk->mode_count);
        talk->mode_count = count < TALK_WORDS_MAX ? count : TALK_WORDS_MAX;
        talk->modes = talk_copy_words(modes, talk->mode_count);
    }
    if (mode != NULL) {
        free(talk->mode);
        talk->mode = mem_dup(mode);
    }
    if (count == 0 && mode == NULL)
        return;
    talk_event(&event, "mode");
    talk_put_modes(talk, &event.out);
    talk_tell(host, &event, NULL, 0, talk_turn_prompt(talk));
}

static void put_value(struct json_out *out, const struct json *value)
{
    if (out->to->len >= OPTIONS_MAX)
        return;
    json_open(out, NULL, '{');
    json_put_fit(out, "value", json_get_text(value, "value"), VALUE_MAX);
    json_put_fit(out, "name", json_get_text(value, "name"), WORDS_SHOWN);
    json_close(out, '}');
}

/* The values of an option, those in groups too. */
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

void talk_free_options(struct talk *talk)
{
    for (size_t i = 0; i < talk->option_count; i++) {
        free(talk->option_list[i].id);
        free(talk->option_list[i].category);
        free(talk->option_list[i].value);
    }
    free(talk->option_list);
    talk->option_list = NULL;
    talk->option_count = 0;
    str_clear(&talk->options);
}

void talk_parse_options(struct host *host, const struct json *options)
{
    struct talk *talk = host->talk;
    struct json_out out = {.to = &talk->options};
    struct talk_event event;

    if (!json_is_array(options))
        return;
    talk_free_options(talk);
    json_open(&out, NULL, '[');
    for (const struct json *o = json_first(options); o != NULL; o = json_next(o)) {
        const char *id = json_get_text(o, "id");
        const char *value = json_get_text(o, "currentValue");
        const char *category = json_get_text(o, "category");
        if (id == NULL || talk->option_count == TALK_WORDS_MAX)
            continue;
        if (value == NULL && json_get(o, "currentValue") != NULL)
            value = json_bool(json_get(o, "currentValue"), false) ? "true" : "false";
        talk->option_list =
            mem_room(talk->option_list, talk->option_count, sizeof *talk->option_list);
        talk->option_list[talk->option_count++] =
            (struct talk_option){.id = mem_dup(id),
                                 .category = mem_dup(category != NULL ? category : ""),
                                 .value = mem_dup(value != NULL ? value : "")};
        if (talk->options.len >= OPTIONS_MAX)
            continue;
        json_open(&out, NULL, '{');
        json_put_fit(&out, "id", id, VALUE_MAX);
        json_put_fit(&out, "name", json_get_text(o, "name"), WORDS_SHOWN);
        json_put_fit(&out, "category", category, WORDS_SHOWN);
        json_put_fit(&out, "value", value, VALUE_MAX);
        json_open(&out, "values", '[');
        put_values(&out, json_get(o, "options"));
        json_close(&out, ']');
        json_close(&out, '}');
    }
    json_close(&out, ']');
    talk_event(&event, "options");
    str_addf(&event.head, ",\"options\":%s", talk->options.data);
    talk_tell(host, &event, NULL, 0, 0);
}

static bool has_mode(const struct acp_word *modes, size_t count, const char *mode)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(modes[i].id, mode) == 0)
            return true;
    return false;
}

static const struct talk_option *find_option(const struct talk *talk, const char *id,
                                             const char *category)
{
    for (size_t i = 0; i < talk->option_count; i++)
        if ((id != NULL && strcmp(talk->option_list[i].id, id) == 0) ||
            (category != NULL && strcmp(talk->option_list[i].category, category) == 0))
            return &talk->option_list[i];
    return NULL;
}

static int64_t ask_option(struct talk *talk, const struct talk_option *option, const char *value)
{
    if (option == NULL || value == NULL || strcmp(option->value, value) == 0)
        return 0;
    return acp_set_option(talk->acp, talk->session, option->id, value, TALK_SETTING_MS);
}

/* Asks for one of the settings; 0 where it is as it is to be, or the agent does not have it. */
static int64_t ask_mode(struct host *host)
{
    struct talk *talk = host->talk;
    const char *mode = talk->place.mode;

    if (mode == NULL || mode[0] == '\0')
        mode = host->preset->mode;
    if (mode[0] == '\0' || strcmp(mode, talk->mode) == 0)
        return 0;
    if (has_mode(talk->modes, talk->mode_count, mode))
        return acp_set_mode(talk->acp, talk->session, mode, TALK_SETTING_MS);
    const struct talk_option *option = find_option(talk, NULL, "mode");
    if (talk->mode_count > 0 || option == NULL)
        talk_say(host, true, "the agent has no mode '%s'%s%s", mode,
                 talk->mode[0] != '\0' ? ": it is in " : "", talk->mode);
    return talk->mode_count == 0 ? ask_option(talk, option, mode) : 0;
}

static int64_t ask_model(struct host *host)
{
    struct talk *talk = host->talk;
    const char *model = talk->place.model;

    if ((model == NULL || model[0] == '\0') && host->preset->model_option[0] == '\0')
        model = host->agent->model;
    if (model == NULL || model[0] == '\0')
        return 0;
    const struct talk_option *option = find_option(talk, NULL, "model");
    if (option == NULL)
        talk_say(host, true, "the agent has no option for its model: '%s' is not set", model);
    return ask_option(talk, option, model);
}

/* Of the options that were set by hand, the one of this place. *ret_more: there is one. */
static int64_t ask_kept(struct host *host, int place, bool *ret_more)
{
    struct talk *talk = host->talk;
    const char *text = talk->place.options != NULL ? talk->place.options : "{}";
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
    return ask_option(talk, find_option(talk, json_key(option), NULL), json_text(option));
}

void talk_set_up(struct host *host)
{
    enum { MODE, MODEL, OTHERS };
    struct talk *talk = host->talk;
    bool more = true;

    talk->phase = TALK_SETS;
    while (more) {
        int setting = talk->setting++;
        int64_t serial = 0;
        if (setting == MODE)
            serial = ask_mode(host);
        else if (setting == MODEL)
            serial = ask_model(host);
        else
            serial = ask_kept(host, setting - OTHERS, &more);
        if (serial == 0)
            continue;
        talk->serial = serial;
        return;
    }
    talk->phase = TALK_READY;
    talk_run(host);
}

void talk_setting_answer(struct host *host, const struct acp_answer *answer)
{
    char why[256];

    if (!answer->ok) {
        talk_say(host, true, "the agent did not take the %s: %s",
                 answer->call == ACP_CALL_SET_MODE ? "mode" : "option",
                 talk_why(answer, why, sizeof why));
    } else if (answer->call == ACP_CALL_SET_OPTION) {
        talk_parse_options(host, answer->options);
    } else {
        talk_parse_modes(host, answer->mode, NULL, 0);
    }
}

static int keep_once(struct host *host, const char *mode, const char *options, const char *words,
                     struct err *err)
{
    struct talk *talk = host->talk;
    int64_t number = 0;
    const struct store_message message = {.role = ROLE_MODE,
                                          .state = MESSAGE_DONE,
                                          .text = words,
                                          .len = strlen(words),
                                          .trigger = 0};

    if (talk_need_store(host, err) == -1)
        return -1;
    if (store_add(talk->store, talk->place.query, &message, SYNC_CHUNK, &number, err) == -1)
        return -1;
    return store_keep_settings(talk->store, talk->place.conversation, mode, NULL, options, err);
}

static int keep(struct host *host, const char *mode, const char *options, const char *words,
                struct err *err)
{
    int rc = keep_once(host, mode, options, words, err);

    return rc == -1 && talk_renew_store(host, err) ? keep_once(host, mode, options, words, err)
                                                   : rc;
}

bool talk_knows_modes(const struct talk *talk)
{
    return talk->phase == TALK_READY || talk->past_mode_count > 0;
}

int talk_check_mode(const struct host *host, const char *mode, struct err *err)
{
    const struct talk *talk = host->talk;
    bool ready = talk->phase == TALK_READY;
    const struct acp_word *modes = ready ? talk->modes : talk->past_modes;
    size_t count = ready ? talk->mode_count : talk->past_mode_count;
    _cleanup_str_ struct str list = STR_INIT;

    if (count == 0 || has_mode(modes, count, mode))
        return 0;
    for (size_t i = 0; i < count && list.len < WORDS_SHOWN; i++)
        str_addf(&list, "%s%s", i > 0 ? ", " : "", modes[i].id);
    (void)err_set(err, MAS_NOT_FOUND, "the agent has no mode '%s'", mode);
    return err_hint(err, "its modes are: %s", list.data);
}

int talk_set_mode(struct host *host, const char *mode, struct err *err)
{
    struct talk *talk = host->talk;

    if (talk_check_mode(host, mode, err) == -1)
        return -1;
    if (keep(host, mode, NULL, mode, err) == -1)
        return -1;
    free(talk->place.mode);
    talk->place.mode = mem_dup(mode);
    if (talk->phase == TALK_READY)
        (void)ask_mode(host);
    return 0;
}

int talk_set_option(struct host *host, const char *option, const char *value, struct err *err)
{
    struct talk *talk = host->talk;
    const char *text = talk->place.options != NULL ? talk->place.options : "{}";
    _cleanup_json_ struct json *old = NULL;
    _cleanup_str_ struct str options = STR_INIT;
    struct json_out out = {.to = &options};

    const struct talk_option *known = find_option(talk, option, NULL);
    if (talk->phase == TALK_READY && known == NULL)
        return err_set(err, MAS_NOT_FOUND, "the agent has no option '%s'", option);
    if (talk_need_store(host, err) == -1 ||
        json_parse(text, strlen(text), OPTIONS_MAX, &old, err) == -1)
        return -1;
    json_open(&out, NULL, '{');
    for (const struct json *o = json_first(old); o != NULL; o = json_next(o))
        if (strcmp(json_key(o), option) != 0)
            json_put(&out, json_key(o), json_text(o));
    json_put(&out, option, value);
    json_close(&out, '}');
    _cleanup_free_ char *words = mem_printf("%s = %s", option, value);
    if (options.len > OPTIONS_MAX)
        return err_set(err, MAS_FAILED, "too many options are set");
    if (keep(host, NULL, options.data, words, err) == -1)
        return -1;
    free(talk->place.options);
    talk->place.options = str_steal(&options);
    if (talk->phase == TALK_READY)
        (void)ask_option(talk, known, value);
    return 0;
}
