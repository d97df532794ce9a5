/*
 * find_fault() and text_fault() check a value by its kind, and put_kind() tells programs the same
 * as a JSON schema; who adds a kind looks at both. The words of a PARAM_WORD stay one text of the
 * row; they are cut up wherever they are needed.
 */

#include "model/param.h"

#include "base/id.h"
#include "model/message.h"
#include "model/team/team.h"
#include "model/template_name.h"

const struct param *param_find(const struct param *params, const char *name)
{
    for (; params != NULL && params->name != NULL; params++)
        if (strcmp(params->name, name) == 0)
            return params;
    return NULL;
}

bool param_is_input(const struct param *param)
{
    return param->option != NULL && str_ends(param->option, "-");
}

/* Returns the next of the words at *at, and moves on; NULL at the end. */
static const char *next_word(const char **at, size_t *ret_len)
{
    const char *word = *at + strspn(*at, ", ");

    *ret_len = strcspn(word, ":,");
    *at = word + strcspn(word, ",");
    return *word != '\0' ? word : NULL;
}

static const char *find_word(const struct param *param, const char *text)
{
    const char *at = param->words;
    const char *word;
    size_t len;

    while ((word = next_word(&at, &len)) != NULL)
        if (strlen(text) == len && memcmp(word, text, len) == 0)
            return word;
    return NULL;
}

const char *param_word_option(const struct param *param, const char *word, size_t *ret_len)
{
    const char *found = param->kind == PARAM_WORD ? find_word(param, word) : NULL;
    size_t len = strlen(word);

    if (found == NULL || found[len] != ':')
        return NULL;
    *ret_len = strcspn(found + len + 1, ",");
    return found + len + 1;
}

void param_put_words(const struct param *param, struct str *to)
{
    const char *at = param->words;
    const char *word;
    size_t len;

    for (const char *comma = ""; (word = next_word(&at, &len)) != NULL; comma = ", ")
        str_addf(to, "%s%.*s", comma, (int)len, word);
}

/* ---- checks. These return what is wrong with a value, or NULL. */

static const char *list_fault(const struct param *param, const struct json *list)
{
    size_t count = 0;

    if (!json_is_array(list))
        return "is not a list";
    if (param->kind == PARAM_LIST)
        return NULL;
    for (const struct json *n = json_first(list); n != NULL; n = json_next(n))
        if (!json_is_string(n) || !str_is_word(json_text(n), TEAM_WORD_MAX) ||
            ++count > PARAM_AGENTS_MAX)
            return "is not a list of agents";
    return NULL;
}

/* What limits the bytes of a text, 0: nothing here. */
static size_t most_bytes(const struct param *param)
{
    switch (param->kind) {
    case PARAM_TEXT:
    case PARAM_CONVERSATION:
    case PARAM_MODE:
        return PARAM_TEXT_MAX;
    case PARAM_LONG:
        return param->max > 0 ? (size_t)param->max : PARAM_LONG_MAX;
    default:
        return 0;
    }
}

static const char *text_fault(const struct param *param, const char *text, struct str *made)
{
    bool may_be_empty = param->kind == PARAM_TYPED || (!param->needed && param->kind != PARAM_LONG);
    char id[ID_TEXT];
    size_t most = most_bytes(param);

    if (text[0] == '\0' && !may_be_empty)
        return "is empty";
    if (most > 0 && strlen(text) > most) {
        str_addf(made, "is longer than %zu bytes", most);
        return str_text(made);
    }
    switch (param->kind) {
    case PARAM_WORD:
        return find_word(param, text) != NULL ? NULL : "is none of its words";
    case PARAM_MESSAGE:
    case PARAM_TYPED:
        return message_check(text, strlen(text));
    case PARAM_LONG:
    case PARAM_ANY:
        return NULL;
    case PARAM_HERE:
        return strchr(text, ':') == NULL ? NULL : "is not a session of this root";
    case PARAM_ID:
        return id_normalise(text, id) ? NULL : "is not a version 4 UUID";
    case PARAM_PATH:
        return text[0] == '/' ? NULL : "is not an absolute path";
    case PARAM_NAME:
        if (str_is_word(text, TEMPLATE_NAME_MAX))
            return NULL;
        str_addf(made, "is not the name of a %s", param->words);
        return str_text(made);
    default:
        return str_has_control(text) ? "has a control character" : NULL;
    }
}

static const char *find_fault(const struct param *param, const struct json *node, struct str *made)
{
    int64_t number = json_int(node, INT64_MIN);

    if (node == NULL)
        return param->needed ? "is missing" : NULL;
    switch (param->kind) {
    case PARAM_LIST:
    case PARAM_AGENTS:
        return list_fault(param, node);
    case PARAM_NUMBER:
        if (number >= param->min && number <= param->max)
            return NULL;
        str_addf(made, "is not a number from %" PRId64 " to %" PRId64, param->min, param->max);
        return str_text(made);
    case PARAM_FORM:
        return json_is_object(node) ? NULL : "is not an object";
    case PARAM_FLAG:
        return json_bool(node, true) == json_bool(node, false) ? NULL : "is neither true nor false";
    case PARAM_ANY:
        return NULL;
    default:
        return json_is_string(node) ? text_fault(param, json_text(node), made) : "is not a string";
    }
}

bool param_check(const struct param *param, const struct json *node, struct str *ret_why)
{
    _cleanup_str_ struct str made = STR_INIT;
    const char *fault = find_fault(param, node, &made);

    if (fault != NULL)
        str_add(ret_why, fault);
    return fault == NULL;
}

bool param_fits(const struct param *param, const char *word)
{
    _cleanup_str_ struct str made = STR_INIT;

    if (param->kind == PARAM_NUMBER)
        return word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
    return text_fault(param, word, &made) == NULL;
}

/* ---- schemas */

static void put_texts(const struct param *param, struct json_out *out)
{
    size_t most = most_bytes(param);

    json_put(out, "type", "string");
    if (param->kind != PARAM_TYPED && (param->needed || param->kind == PARAM_LONG))
        json_put_int(out, "minLength", 1);
    if (most > 0)
        json_put_int(out, "maxLength", (int64_t)most);
}

static void put_words(const struct param *param, struct json_out *out)
{
    const char *at = param->words;
    const char *word;
    size_t len;

    json_put(out, "type", "string");
    json_open(out, "enum", '[');
    while ((word = next_word(&at, &len)) != NULL) {
        _cleanup_free_ char *one = mem_dupn(word, len);
        json_put(out, NULL, one);
    }
    json_close(out, ']');
}

static void put_list(const struct param *param, struct json_out *out)
{
    json_put(out, "type", "array");
    json_open(out, "items", '{');
    json_put(out, "type", "string");
    if (param->kind == PARAM_AGENTS)
        json_put(out, "pattern", "^[A-Za-z0-9_-]{1,32}$");
    json_close(out, '}');
    if (param->kind == PARAM_AGENTS)
        json_put_int(out, "maxItems", PARAM_AGENTS_MAX);
}

static void put_kind(const struct param *param, struct json_out *out)
{
    switch (param->kind) {
    case PARAM_FLAG:
        json_put(out, "type", "boolean");
        return;
    case PARAM_WORD:
        put_words(param, out);
        return;
    case PARAM_LIST:
    case PARAM_AGENTS:
        put_list(param, out);
        return;
    case PARAM_FORM:
        json_put(out, "type", "object");
        json_put_bool(out, "additionalProperties", true);
        return;
    case PARAM_ID:
        json_put(out, "type", "string");
        json_put(out, "pattern",
                 "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$");
        return;
    case PARAM_PATH:
        json_put(out, "type", "string");
        json_put(out, "pattern", "^/");
        return;
    default:
        break;
    }
    if (param->max == 0 || param->kind == PARAM_LONG) {
        put_texts(param, out);
        return;
    }
    json_put_all(out, JT("type", "integer"), JI("minimum", param->min), JI("maximum", param->max));
}

void param_put_schema(const struct param *param, struct json_out *out)
{
    if (param->schema != NULL) {
        if (out->comma)
            str_addc(out->to, ',');
        str_add(out->to, param->schema);
        out->comma = true;
    } else {
        put_kind(param, out);
    }
    if (param->help != NULL)
        json_put(out, "description", param->help);
}

void params_put_schema(const struct param *params, struct json_out *out)
{
    json_put(out, "type", "object");
    json_open(out, "properties", '{');
    for (const struct param *p = params; p != NULL && p->name != NULL; p++) {
        json_open(out, p->name, '{');
        param_put_schema(p, out);
        json_close(out, '}');
    }
    json_close(out, '}');
    json_open(out, "required", '[');
    for (const struct param *p = params; p != NULL && p->name != NULL; p++)
        if (p->needed)
            json_put(out, NULL, p->name);
    json_close(out, ']');
    json_put_bool(out, "additionalProperties", false);
}
