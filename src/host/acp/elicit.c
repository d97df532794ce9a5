/*
 * Forms that the agent asks a person to fill in, and addresses that it asks a person to open
 * (elicitation/create). Either becomes a permission with two options, which is stored, told and
 * answered like any other. What is filled in is checked against the form; if it is wrong the form
 * stays open. mas shows an address and its host, and opens none.
 */

#include "host/acp/conversation.h"

#include "host/acp/turn_side.h"
#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/talk/permission.h"
#include "protocol/rpc.h"

#include <math.h>

enum {
    FORM_MAX = 16 * 1024, /* bytes of a form */
    FORM_FIELDS_MAX = 64,
    ANSWER_MAX = 16 * 1024, /* bytes of a text in an answer */
    URL_MAX = 4096,
    ELICITATION_ID_MAX = 256,
    WORDS_SHOWN = 400, /* bytes of what a form says of a field */
};

/* ---- the form */

static const char *type_of(const struct json *field)
{
    return json_get_text_or(field, "type", "string");
}

/* Returns the list of the values that a field may have; NULL: it may have any. */
static const struct json *choices_of(const struct json *field)
{
    static const char *const keys[] = {"enum", "oneOf", "anyOf"};
    const struct json *items = json_get(field, "items");

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct json *list = json_get(items != NULL ? items : field, keys[i]);
        if (json_is_array(list))
            return list;
    }
    return NULL;
}

static const char *choice_value(const struct json *choice)
{
    return json_is_string(choice) ? json_text(choice) : json_get_text(choice, "const");
}

static bool is_choice(const struct json *choices, const char *value)
{
    for (const struct json *one = json_first(choices); one != NULL; one = json_next(one)) {
        const char *known = choice_value(one);
        if (known != NULL && strcmp(known, value) == 0)
            return true;
    }
    return choices == NULL;
}

static bool is_required(const struct json *form, const char *name)
{
    for (const struct json *one = json_first(json_get(form, "required")); one != NULL;
         one = json_next(one))
        if (json_is_string(one) && strcmp(json_text(one), name) == 0)
            return true;
    return false;
}

static void add_default(const struct json *field, struct str *to)
{
    const struct json *standard = json_get(field, "default");
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    if (standard == NULL || json_is_null(standard))
        return;
    if (json_is_string(standard))
        str_add(&text, json_text(standard));
    else
        json_put_node(&out, NULL, standard);
    str_addf(to, ", default %.*s", (int)str_fit(str_text(&text), WORDS_SHOWN), str_text(&text));
}

static void describe_field(const struct json *form, const struct json *field, struct str *to)
{
    const char *name = json_key(field);
    const char *title = json_get_text_or(field, "title", "");
    const char *description = json_get_text_or(field, "description", "");
    const struct json *choices = choices_of(field);
    bool first = true;

    str_addf(to, "%.*s (", (int)str_fit(name, WORDS_SHOWN), name);
    for (const struct json *one = json_first(choices); one != NULL; one = json_next(one)) {
        const char *value = choice_value(one);
        if (value != NULL)
            str_addf(to, "%s%.*s", first ? "" : "|", (int)str_fit(value, WORDS_SHOWN), value);
        first = false;
    }
    if (choices == NULL)
        str_add(to, type_of(field));
    str_add(to, is_required(form, name) ? ", required" : "");
    add_default(field, to);
    str_addc(to, ')');
    if (title[0] != '\0')
        str_addf(to, " %.*s", (int)str_fit(title, WORDS_SHOWN), title);
    if (description[0] != '\0')
        str_addf(to, "%s %.*s", title[0] != '\0' ? ":" : "", (int)str_fit(description, WORDS_SHOWN),
                 description);
    str_addc(to, '\n');
}

/* Returns why a form cannot be shown; NULL: it can. Appends it as text and as JSON. */
static const char *read_form(const struct json *form, struct str *text, struct str *json)
{
    const struct json *fields = json_get(form, "properties");
    struct json_out out = {.to = json};
    size_t count = 0;

    if (!json_is_object(form) || !json_is_object(fields))
        return "a form needs a requestedSchema with properties";
    json_put_node(&out, NULL, form);
    if (json->len > FORM_MAX)
        return "the form is longer than 16 KiB";
    for (const struct json *field = json_first(fields); field != NULL; field = json_next(field)) {
        if (!json_is_object(field) || json_key(field)[0] == '\0')
            return "a field of the form is no object";
        if (++count > FORM_FIELDS_MAX)
            return "the form has more than 64 fields";
        describe_field(form, field, text);
    }
    return NULL;
}

/* ---- asking */

void elicit_refuse(struct host *host, const char *ticket, const char *action)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    json_put_all(&out, JO(NULL), JT("action", action), JOE);
    acp_answer_request(host->conversation->link.acp, ticket, str_text(&result));
}

static bool is_expected(const struct host *host, const char *session)
{
    const struct conversation *conversation = host->conversation;
    const char *own = conversation->talk.session;
    bool ours = conversation->talk.turn.on && own != NULL && strcmp(own, session) == 0;

    return (ours || tasks_subagent(host, session) != NULL) && !conversation->talk.turn.cancelled &&
           conversation->talk.permissions.count < PERMISSIONS_MAX;
}

/* Returns the host of an address, which the caller frees; NULL: mas shows no such address. What
 * stands before an @ is no host, and what is no ASCII may look like another one. */
static char *host_of(const char *url)
{
    const char *at = str_starts(url, "https://")  ? url + 8
                     : str_starts(url, "http://") ? url + 7
                                                  : NULL;

    for (const char *c = url; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~' || *c == '\\')
            return NULL;
    if (at == NULL)
        return NULL;
    size_t len = strcspn(at, "/?#");
    for (size_t i = len; i-- > 0;)
        if (at[i] == '@') {
            at += i + 1;
            len -= i + 1;
            break;
        }
    return len > 0 ? mem_dupn(at, len) : NULL;
}

/* Reads an address that a person is to open in a browser. Returns why it cannot be shown. */
static const char *read_address(const struct json *params, struct asked_permission *ret,
                                struct str *text)
{
    const char *url = json_get_text(params, "url");
    const char *id = json_get_text(params, "elicitationId");

    if (id == NULL || id[0] == '\0' || strlen(id) > ELICITATION_ID_MAX || str_has_control(id))
        return "it has no valid elicitationId";
    ret->url_host = url != NULL && strlen(url) <= URL_MAX ? host_of(url) : NULL;
    if (ret->url_host == NULL)
        return "it has no valid http or https url";
    ret->url = mem_dup(url);
    ret->elicitation = mem_dup(id);
    str_addf(text, "open %s\n(at %s)\n", url, ret->url_host);
    return NULL;
}

/* Reads what is asked for. Returns why it cannot be asked; NULL: it can. */
static const char *read_request(const struct json *params, struct asked_permission *ret,
                                struct str *text)
{
    const char *mode = json_get_text_or(params, "mode", "form");
    _cleanup_str_ struct str form = STR_INIT;
    const char *why = strcmp(mode, "form") == 0
                          ? read_form(json_get(params, "requestedSchema"), text, &form)
                      : strcmp(mode, "url") == 0 ? read_address(params, ret, text)
                                                 : "unknown mode";

    ret->form = why == NULL && form.len > 0 ? str_steal(&form) : NULL;
    return why;
}

static struct word *make_options(void)
{
    struct word *options = mem_alloc(2 * sizeof *options);

    options[0] = (struct word){.id = mem_dup("accept"),
                               .name = mem_dup("Accept"),
                               .description = mem_dup(""),
                               .kind = mem_dup("allow_once")};
    options[1] = (struct word){.id = mem_dup("decline"),
                               .name = mem_dup("Decline"),
                               .description = mem_dup(""),
                               .kind = mem_dup("reject_once")};
    return options;
}

void elicit_ask(struct host *host, const struct acp_request *request)
{
    const char *message = json_get_text(request->params, "message");
    const char *tool = json_get_text(request->params, "toolCallId");
    _cleanup_str_ struct str text = STR_INIT;
    struct asked_permission asked = {.elicits = true};

    const struct agent_task *subagent = tasks_subagent(host, request->session);

    if (!is_expected(host, request->session)) {
        elicit_refuse(host, request->ticket, "cancel");
        return;
    }
    const char *why =
        message == NULL ? "the message is missing" : read_request(request->params, &asked, &text);
    if (why != NULL) {
        acp_refuse(host->conversation->link.acp, request->ticket, RPC_INVALID_PARAMS, why);
        free(asked.url_host);
        return;
    }
    asked.ticket = mem_dup(request->ticket);
    _cleanup_free_ char *title = tasks_title(host, request->session, message);
    asked.title = mem_dupn(title, str_fit(title, FORM_MAX));
    asked.subagent = subagent != NULL ? mem_dup(subagent->id) : NULL;
    asked.kind = mem_dup("other");
    asked.details = mem_dup(str_text(&text));
    asked.tool_id = mem_dup(tool != NULL ? tool : "");
    asked.options = make_options();
    asked.count = 2;
    host->talk->turn.heard = true;
    permission_tell(host, &host->talk->permissions.open[permission_add(host, &asked)]);
}

/* ---- addresses that a person opens */

static void keep_visited(struct visited *visited, const char *id)
{
    char **place = &visited->id[visited->next];

    visited->next = (visited->next + 1) % VISITED_MAX;
    free(*place);
    *place = mem_dup(id);
}

void elicit_complete(struct host *host, const char *id)
{
    struct permissions *permissions = &host->talk->permissions;
    struct client_event event;
    bool known = false;

    for (size_t i = 0; i < VISITED_MAX; i++) {
        char **visited = &host->conversation->visited.id[i];
        if (*visited == NULL || strcmp(*visited, id) != 0)
            continue;
        known = true;
        free(*visited);
        *visited = NULL;
    }
    for (size_t i = 0; i < permissions->count && !known; i++) {
        const struct asked_permission *asked = &permissions->open[i];
        if (asked->elicitation == NULL || strcmp(asked->elicitation, id) != 0)
            continue;
        known = true; /* it was opened without mas, and nobody has to answer any more */
        elicit_refuse(host, asked->ticket, "cancel");
        permission_close(host, i, NULL, "cancelled");
    }
    if (!known)
        return;
    event_open(&event, "elicited");
    json_put(&event.out, "elicitation", id);
    event_tell(host, &event, NULL, 0, turn_next_prompt(host->talk));
    memory_say(host, false, "the agent says: what was to be done in the browser is done");
}

void elicit_forget(struct visited *visited)
{
    for (size_t i = 0; i < VISITED_MAX; i++) {
        free(visited->id[i]);
        visited->id[i] = NULL;
    }
}

/* ---- answers */

/* Reads a number, which a command line gives as text. */
static bool read_number(const struct json *node, double *ret)
{
    const char *text = json_text(node);
    char *end = NULL;

    if (json_is_number(node)) {
        *ret = json_number(node, 0);
        return true;
    }
    if (text == NULL || text[0] == '\0' || isspace((unsigned char)text[0]))
        return false;
    errno = 0;
    *ret = strtod(text, &end);
    return *end == '\0' && errno == 0 && isfinite(*ret);
}

static const char *put_number(const struct json *field, const struct json *node,
                              struct json_out *out)
{
    bool integer = strcmp(type_of(field), "integer") == 0;
    char buf[64];
    double n;

    if (!read_number(node, &n))
        return "is not a number";
    if (n < json_number(json_get(field, "minimum"), n))
        return "is too small";
    if (n > json_number(json_get(field, "maximum"), n))
        return "is too large";
    if (integer && (n != trunc(n) || fabs(n) > (double)(1LL << 53)))
        return "is not a whole number";
    (void)snprintf(buf, sizeof buf, integer ? "%.0f" : "%.17g", n);
    json_put_raw(out, json_key(field), buf);
    return NULL;
}

static const char *put_flag(const struct json *field, const struct json *node, struct json_out *out)
{
    static const char *const words[] = {"false", "no", "true", "yes"};
    const char *text = json_text(node);

    for (size_t i = 0; i < ARRAY_LEN(words) && text != NULL; i++) {
        if (strcmp(text, words[i]) != 0)
            continue;
        json_put_bool(out, json_key(field), i >= 2);
        return NULL;
    }
    if (text != NULL || json_bool(node, true) != json_bool(node, false))
        return "is neither true nor false";
    json_put_bool(out, json_key(field), json_bool(node, false));
    return NULL;
}

static const char *put_text(const struct json *field, const struct json *node, struct json_out *out)
{
    const char *text = json_text(node);
    int64_t least = json_int(json_get(field, "minLength"), 0);
    int64_t most = json_int(json_get(field, "maxLength"), ANSWER_MAX);
    int64_t len = 0;

    if (!json_is_string(node))
        return "is not a text";
    for (const char *at = text; *at != '\0'; at++)
        len += ((unsigned char)*at & 0xc0) != 0x80;
    if (len < least)
        return "is too short";
    if (len > most || strlen(text) > ANSWER_MAX)
        return "is too long";
    if (!is_choice(choices_of(field), text))
        return "is none of its values";
    json_put(out, json_key(field), text);
    return NULL;
}

/* Several of the values: a list, or a text with commas. */
static const char *put_several(const struct json *field, const struct json *node,
                               struct json_out *out)
{
    const struct json *choices = choices_of(field);
    _cleanup_free_ char *text = mem_dup(json_text(node));
    _cleanup_strv_ char **values = NULL;

    for (char *one, *rest = text; rest != NULL && (one = strsep(&rest, ",")) != NULL;)
        if (*one != '\0')
            strv_push(&values, one);
    for (const struct json *one = json_first(node); one != NULL && text == NULL;
         one = json_next(one))
        strv_push(&values, json_is_string(one) ? json_text(one) : "");
    if (text == NULL && !json_is_array(node))
        return "is not a list";
    int64_t count = (int64_t)strv_len(values);
    if (count < json_int(json_get(field, "minItems"), 0))
        return "has too few values";
    if (count > json_int(json_get(field, "maxItems"), count))
        return "has too many values";
    for (char **one = values; one != NULL && *one != NULL; one++)
        if (!is_choice(choices, *one))
            return "has a value that is none of its values";
    json_open(out, json_key(field), '[');
    for (char **one = values; one != NULL && *one != NULL; one++)
        json_put(out, NULL, *one);
    json_close(out, ']');
    return NULL;
}

/* Writes one field of the answer. Returns what is wrong with it; NULL: nothing. */
static const char *put_field(const struct json *field, const struct json *node,
                             struct json_out *out)
{
    static const struct {
        const char *type;
        const char *(*put)(const struct json *field, const struct json *node, struct json_out *out);
    } types[] = {{"string", put_text},
                 {"number", put_number},
                 {"integer", put_number},
                 {"boolean", put_flag},
                 {"array", put_several}};

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(types[i].type, type_of(field)) == 0)
            return types[i].put(field, node, out);
    return "has a type that mas does not know";
}

static int fail_unknown(const struct json *fields, const char *name, struct err *err)
{
    _cleanup_str_ struct str list = STR_INIT;

    for (const struct json *field = json_first(fields); field != NULL; field = json_next(field))
        str_addf(&list, "%s%s", list.len > 0 ? ", " : "", json_key(field));
    (void)err_set(err, MAS_USAGE, "the form has no field '%s'", name);
    return err_hint(err, "its fields are: %s", str_text(&list));
}

/* Says how a field is filled in: with which values, if it has some. */
static int hint_field(const struct json *field, struct err *err)
{
    const char *name = json_key(field);
    _cleanup_str_ struct str list = STR_INIT;

    for (const struct json *one = json_first(choices_of(field)); one != NULL;
         one = json_next(one)) {
        const char *value = choice_value(one);
        if (value != NULL && list.len < WORDS_SHOWN)
            str_addf(&list, "%s%s", list.len > 0 ? ", " : "", value);
    }
    if (list.len > 0)
        return err_hint(err, "its values are: %s", list.data);
    return err_hint(err, "fill in the field with --answer %s=VALUE; in the pane: /answer %s=VALUE",
                    name, name);
}

/* Checks the answers against the form, and writes them. */
static int put_content(const struct json *form, const struct json *answers, struct json_out *out,
                       struct err *err)
{
    const struct json *fields = json_get(form, "properties");

    for (const struct json *one = json_first(answers); one != NULL; one = json_next(one))
        if (json_get(fields, json_key(one)) == NULL)
            return fail_unknown(fields, json_key(one), err);
    json_open(out, "content", '{');
    for (const struct json *field = json_first(fields); field != NULL; field = json_next(field)) {
        const char *name = json_key(field);
        const struct json *answer = json_get(answers, name);
        const struct json *node = answer != NULL ? answer : json_get(field, "default");
        if ((node == NULL || json_is_null(node)) && !is_required(form, name))
            continue;
        const char *wrong = node == NULL ? "is missing" : put_field(field, node, out);
        if (wrong == NULL)
            continue;
        (void)err_set(err, MAS_USAGE, "the field '%s' of the form %s", name, wrong);
        return hint_field(field, err);
    }
    json_close(out, '}');
    return 0;
}

int elicit_accept(struct host *host, const struct asked_permission *asked,
                  const struct json *answers, struct err *err)
{
    _cleanup_json_ struct json *form = NULL;
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    if (answers != NULL && !json_is_object(answers))
        return err_set(err, MAS_USAGE, "the answers are no object");
    json_open(&out, NULL, '{');
    json_put(&out, "action", "accept");
    if (asked->form != NULL &&
        (json_parse(asked->form, strlen(asked->form), FORM_MAX, &form, err) == -1 ||
         put_content(form, answers, &out, err) == -1))
        return -1;
    json_close(&out, '}');
    acp_answer_request(host->conversation->link.acp, asked->ticket, str_text(&result));
    if (asked->elicitation != NULL)
        keep_visited(&host->conversation->visited, asked->elicitation);
    return 0;
}
