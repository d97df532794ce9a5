/*
 * What the agent offers: modes, options and commands, as it has told them last. A new process
 * begins with none; only the modes of the one before stay known, for whoever asks early. How many
 * are kept, and how much of each is told, is limited, because a list has to fit the head of a
 * frame; what is not told can be set all the same.
 */

#include "host/acp/conversation.h"

#include "host/acp/agent_side.h"
#include "host/talk/event.h"

enum {
    WORDS_SHOWN = 200, /* bytes of a name in a list */
    VALUE_MAX = 1024, /* bytes of an id or value that is told */
    LIST_SHOWN = 32 * 1024, /* bytes of a list: a frame's head has a limit */
    TOLD_MAX = 32 * 1024, /* bytes of all that is told; what is left out can be set all the same */
};

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

void offered_forget(struct offered *offered)
{
    if (offered->mode_count > 0) {
        word_free(offered->past_modes, offered->past_mode_count);
        offered->past_modes = offered->modes;
        offered->past_mode_count = offered->mode_count;
    }
    word_free(offered->commands, offered->command_count);
    offered->modes = offered->commands = NULL;
    offered->mode_count = offered->command_count = 0;
    free(offered->mode);
    offered->mode = mem_dup("");
    free_options(offered);
}

void offered_free(struct offered *offered)
{
    offered_forget(offered);
    word_free(offered->past_modes, offered->past_mode_count);
    free(offered->mode);
    free(offered->title);
    str_free(&offered->options);
}

void offered_learn(struct host *host)
{
    const struct acp_info *info = acp_info(host->conversation->link.acp);

    host->conversation->offered.can = (struct abilities){.known = true,
                                                         .now = info->steer,
                                                         .aside = info->fork,
                                                         .pictures = info->image,
                                                         .kept = info->list,
                                                         .delete_kept = info->list && info->remove};
}

void offered_put_modes(const struct conversation *conversation, struct json_out *out)
{
    json_put_fit(out, "mode", conversation->offered.mode, VALUE_MAX);
    json_open(out, "modes", '[');
    for (size_t i = 0; i < conversation->offered.mode_count && out->to->len < LIST_SHOWN; i++) {
        json_open(out, NULL, '{');
        json_put_fit(out, "id", conversation->offered.modes[i].id, WORDS_SHOWN);
        json_put_fit(out, "name", conversation->offered.modes[i].name, WORDS_SHOWN);
        json_close(out, '}');
    }
    json_close(out, ']');
}

void offered_put_commands(const struct conversation *conversation, struct json_out *out)
{
    size_t from = out->to->len;

    json_open(out, "commands", '[');
    for (size_t i = 0;
         i < conversation->offered.command_count && out->to->len - from < LIST_SHOWN / 2; i++) {
        json_open(out, NULL, '{');
        json_put_fit(out, "name", conversation->offered.commands[i].name, WORDS_SHOWN);
        json_put_fit(out, "description", conversation->offered.commands[i].description,
                     WORDS_SHOWN);
        json_close(out, '}');
    }
    json_close(out, ']');
}

void offered_parse_modes(struct host *host, const char *mode, const struct word *modes,
                         size_t count)
{
    struct offered *offered = &host->conversation->offered;
    struct client_event event;

    if (count > 0) {
        word_free(offered->modes, offered->mode_count);
        offered->mode_count = count < OFFERED_MAX ? count : OFFERED_MAX;
        offered->modes = word_copy(modes, offered->mode_count);
    }
    if (mode != NULL) {
        free(offered->mode);
        offered->mode = mem_dup(mode);
    }
    if (count == 0 && mode == NULL)
        return;
    event_open(&event, "mode");
    offered_put_modes(host->conversation, &event.out);
    event_tell(host, &event, NULL, 0, turn_prompt(host->talk));
}

static void put_one_value(struct json_out *out, const char *value, const char *name)
{
    if (out->to->len >= TOLD_MAX)
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
    if (offered->options.len >= TOLD_MAX)
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

void offered_tell_options(struct host *host)
{
    const struct offered *offered = &host->conversation->offered;
    struct client_event event;

    if (offered->options.len == 0)
        return;
    event_open(&event, "options");
    str_addf(&event.head, ",\"options\":%s", offered->options.data);
    event_tell(host, &event, NULL, 0, 0);
}

void offered_parse_options(struct host *host, const struct json *options)
{
    struct offered *offered = &host->conversation->offered;
    struct json_out out = {.to = &offered->options};

    if (!json_is_array(options))
        return;
    free_options(offered);
    json_open(&out, NULL, '[');
    for (const struct json *option = json_first(options); option != NULL;
         option = json_next(option))
        parse_option(offered, option, &out);
    json_close(&out, ']');
    offered_tell_options(host);
}

bool offered_list_values(const struct offered *offered, const char *option, const char *value,
                         struct str *to)
{
    const struct config_option *known =
        offered_find(offered, option, option == NULL ? "mode" : NULL);
    _cleanup_json_ struct json *options = NULL;
    struct err ignored = ERR_INIT;
    bool found = false;

    if (option == NULL && offered->mode_count > 0)
        return offered_has_mode(offered->modes, offered->mode_count, value);
    if (known == NULL || json_parse(str_text(&offered->options), offered->options.len,
                                    offered->options.len, &options, &ignored) == -1)
        return false;
    for (const struct json *o = json_first(options); o != NULL; o = json_next(o)) {
        if (strcmp(json_get_text_or(o, "id", ""), known->id) != 0)
            continue;
        for (const struct json *v = json_first(json_get(o, "values")); v != NULL;
             v = json_next(v)) {
            const char *one = json_get_text_or(v, "value", "");
            found = found || strcmp(one, value) == 0;
            if (to->len < WORDS_SHOWN)
                str_addf(to, "%s%s", to->len > 0 ? ", " : "", one);
        }
    }
    return found;
}

bool offered_has_mode(const struct word *modes, size_t count, const char *mode)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(modes[i].id, mode) == 0)
            return true;
    return false;
}

const struct config_option *offered_find(const struct offered *offered, const char *id,
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
