/*
 * The form that a person fills in: its fields in the footer, and what is typed for them. Enter on
 * an empty line leads from field to field: the line has what the field has, and the next Enter
 * takes what it is then. The host checks the answers when the form is accepted.
 */
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
    struct json_out out = {.to = to};

    if (at != -1)
        str_add(to, chat->answers[at] + strlen(name) + 1);
    else if (json_is_string(standard))
        str_add(to, json_text(standard));
    else if (standard != NULL && !json_is_null(standard))
        json_put_node(&out, NULL, standard);
}

/* Appends the row of a field: "name = value". */
static void add_row(const struct chat *chat, const struct json *field, struct str *to)
{
    const char *name = json_key(field);
    bool typed = find_answer(chat, name, strlen(name)) != -1;
    _cleanup_str_ struct str value = STR_INIT;

    add_value(chat, field, &value);
    if (typed && is_secret(field))
        str_addf(to, "%s = (hidden)", name);
    else if (typed || value.len > 0)
        str_addf(to, "%s = %s%s", name, str_text(&value), typed ? "" : " (default)");
    else
        str_addf(to, "%s =", name);
}

static size_t count_fields(const struct chat *chat)
{
    size_t count = 0;

    for (const struct json *one = json_first(fields_of(&chat->permissions[0])); one != NULL;
         one = json_next(one))
        count++;
    return count;
}

/* ---- from field to field */

/* Returns the field that is being filled in; NULL: none. */
static const struct json *current(const struct chat *chat)
{
    const struct json *one =
        chat->permission_count > 0 ? json_first(fields_of(&chat->permissions[0])) : NULL;

    for (size_t i = 1; one != NULL && i < chat->field; i++)
        one = json_next(one);
    return chat->field > 0 ? one : NULL;
}

/* Puts what the current field has into the line. */
static void offer(struct chat *chat)
{
    const struct json *field = current(chat);
    _cleanup_str_ struct str value = STR_INIT;

    if (field == NULL)
        chat->field = 0;
    else if (!is_secret(field))
        add_value(chat, field, &value);
    line_set(chat->line, str_text(&value));
}

bool form_take(struct chat *chat, const char *text)
{
    const struct json *field = current(chat);
    _cleanup_str_ struct str had = STR_INIT;

    if (field == NULL &&
        (text[0] != '\0' || chat->permission_count == 0 || chat->permissions[0].form == NULL))
        return false;
    if (field != NULL) {
        if (!is_secret(field))
            add_value(chat, field, &had);
        _cleanup_free_ char *answer = mem_printf("%s=%s", json_key(field), text);
        if (strcmp(str_text(&had), text) != 0)
            (void)form_fill(chat, answer);
    }
    chat->field++;
    offer(chat);
    return true;
}

bool form_leave(struct chat *chat)
{
    if (chat->field == 0)
        return false;
    chat->field = 0;
    line_set(chat->line, "");
    return true;
}

bool form_hides(const struct chat *chat)
{
    const struct json *field = current(chat);

    return field != NULL && is_secret(field);
}

/* Shows what the question says of the current field. */
static void show_help(struct chat *chat)
{
    const char *body = chat->permissions[0].body;
    _cleanup_free_ char *start = mem_printf("%s (", json_key(current(chat)));

    while (body != NULL && !str_starts(body, start)) {
        body = strchr(body, '\n');
        body += body != NULL;
    }
    if (body != NULL)
        view_live(&chat->view, STYLE_ASKS, body);
}

void form_show(struct chat *chat, size_t most)
{
    const struct json *one = json_first(fields_of(&chat->permissions[0]));
    size_t count = count_fields(chat), from = 0;

    if (current(chat) != NULL && most > 0) {
        show_help(chat);
        most--;
        from = count <= most ? 0 : chat->field - 1 < count - most ? chat->field - 1 : count - most;
    }
    for (size_t i = 0; i < from + most && one != NULL; i++, one = json_next(one)) {
        _cleanup_str_ struct str row = STR_INIT;
        if (i < from)
            continue;
        if (i + 1 == from + most && i + 1 < count)
            str_addf(&row, "(%zu more fields)", count - i);
        else
            add_row(chat, one, &row);
        view_live(&chat->view, i + 1 == chat->field ? STYLE_CURRENT : STYLE_CHOICE, str_text(&row));
    }
}
