/* The form that a person fills in: its fields in the footer, and what is typed for them. */
#include "chat/chat.h"

static const struct json *fields_of(const struct host_permission *permission)
{
    return json_get(permission->form, "properties");
}

static bool is_secret(const struct json *field)
{
    return strcmp(json_get_text_or(field, "format", ""), "password") == 0;
}

/* Returns the index in chat->answers of the answer to a field; -1: there is none. */
static long find_answer(const struct chat *chat, const char *name, size_t len)
{
    for (long i = 0; chat->answers != NULL && chat->answers[i] != NULL; i++)
        if (strncmp(chat->answers[i], name, len) == 0 && chat->answers[i][len] == '=')
            return i;
    return -1;
}

const char *form_fill(struct chat *chat, const char *answer)
{
    size_t len = strcspn(answer, "=");
    _cleanup_free_ char *name = mem_dupn(answer, len);

    if (len == 0 || answer[len] == '\0')
        return "/answer FIELD=VALUE fills in a field of the form";
    if (json_get(fields_of(&chat->permissions[0]), name) == NULL)
        return "the form has no such field";
    long at = find_answer(chat, name, len);
    if (at == -1) {
        strv_push(&chat->answers, answer);
    } else {
        free(chat->answers[at]);
        chat->answers[at] = mem_dup(answer);
    }
    return NULL;
}

/* Appends what a field has: what was typed, else its default. */
static void add_value(const struct chat *chat, const struct json *field, struct str *to)
{
    const struct json *standard = json_get(field, "default");
    const char *name = json_key(field);
    long at = find_answer(chat, name, strlen(name));

    if (at != -1 && is_secret(field)) {
        str_add(to, " = (hidden)");
    } else if (at != -1) {
        str_addf(to, " = %s", chat->answers[at] + strlen(name) + 1);
    } else if (json_is_string(standard)) {
        str_addf(to, " = %s (default)", json_text(standard));
    } else if (standard != NULL && !json_is_null(standard)) {
        _cleanup_str_ struct str text = STR_INIT;
        struct json_out out = {.to = &text};
        json_put_node(&out, NULL, standard);
        str_addf(to, " = %s (default)", str_text(&text));
    } else {
        str_add(to, " =");
    }
}

static size_t count_fields(const struct chat *chat)
{
    size_t count = 0;

    for (const struct json *one = json_first(fields_of(&chat->permissions[0])); one != NULL;
         one = json_next(one))
        count++;
    return count;
}

void form_show(struct chat *chat, size_t most)
{
    const struct json *one = json_first(fields_of(&chat->permissions[0]));
    size_t count = count_fields(chat);

    for (size_t i = 0; i < most && one != NULL; i++, one = json_next(one)) {
        _cleanup_str_ struct str row = STR_INIT;
        if (i + 1 == most && i + 1 < count) {
            str_addf(&row, "(%zu more fields)", count - i);
        } else {
            str_add(&row, json_key(one));
            add_value(chat, one, &row);
        }
        view_live(&chat->view, STYLE_CHOICE, str_text(&row));
    }
}
