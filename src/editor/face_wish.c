#include "editor/face_internal.h"

#include <stdlib.h>
#include <string.h>

const struct face_command face_commands[] = {
    {"clear", "text to go on with", "Clear the context and go on in the same session",
     ERRAND_CLEAR},
    {"mode", "mode", "Set the permission mode, or list the modes", ERRAND_MODE},
    {"set", "option value", "Set an option such as the model, or list the options", ERRAND_OPTION},
};
const size_t face_command_count = ARRAY_LEN(face_commands);

static char *first_word(const char *text, const char **ret_rest)
{
    size_t len = strcspn(text, " \t\n");

    *ret_rest = text + len + strspn(text + len, " \t\n");
    return len > 0 ? mem_dupn(text, len) : NULL;
}

/* The modes, or the options, as lines. */
static void list_choices(const struct face *face, enum errand_kind kind, struct str *to)
{
    if (kind == ERRAND_MODE)
        for (const struct json *m = json_first(face->modes); m != NULL; m = json_next(m)) {
            const char *id = json_get_text(m, "id");
            if (id != NULL)
                str_addf(to, "- `%s`%s\n", id,
                         face->mode != NULL && strcmp(id, face->mode) == 0 ? " (now)" : "");
        }
    else
        for (const struct json *o = json_first(face->options); o != NULL; o = json_next(o)) {
            const char *id = json_get_text(o, "id");
            const char *value = json_get_text(o, "value");
            str_addf(to, "- `%s` is `%s`;", id != NULL ? id : "?", value != NULL ? value : "");
            for (const struct json *v = json_first(json_get(o, "values")); v != NULL;
                 v = json_next(v))
                str_addf(to, " `%s`",
                         json_get_text(v, "value") != NULL ? json_get_text(v, "value") : "?");
            str_addc(to, '\n');
        }
    if (to->len == 0)
        str_add(to, kind == ERRAND_MODE ? "The agent has told no modes.\n"
                                        : "The agent has told no options.\n");
}

/* Makes the errand one of what was typed behind the command. false: it was answered. */
static bool take_words(struct face *face, struct errand *errand, const char *rest)
{
    _cleanup_str_ struct str list = STR_INIT;
    const char *value = "";

    errand->typed = true;
    if (errand->kind == ERRAND_CLEAR) {
        if (rest[0] != '\0')
            errand->text = mem_dup(rest);
        return true;
    }
    if (errand->kind == ERRAND_MODE) {
        errand->mode = first_word(rest, &value);
    } else {
        errand->option = first_word(rest, &value);
        errand->value = value[0] != '\0' ? mem_dup(value) : NULL;
    }
    if (errand->kind == ERRAND_MODE ? errand->mode != NULL : errand->value != NULL)
        return true;
    list_choices(face, errand->kind, &list);
    face_say(face, errand, list.data);
    face_errand_end(face, errand);
    return false;
}

/* Bytes of prompts that the host has not taken. */
static size_t waiting_text(const struct face *face)
{
    size_t bytes = 0;

    for (size_t i = 0; i < face->errand_count; i++)
        if (face->errands[i]->text != NULL)
            bytes += strlen(face->errands[i]->text);
    return bytes;
}

static void wish_prompt(struct face *face, const struct acp_wish *wish)
{
    struct err why = ERR_INIT;

    if (waiting_text(face) + wish->len > FACE_TEXT_MAX) {
        (void)err_set(&why, MAS_CONFLICT, "too much waits for the agent's host");
        face_refuse(face, wish->ticket, &why);
        return;
    }
    const char *rest = NULL;
    _cleanup_free_ char *word = wish->text[0] == '/' ? first_word(wish->text + 1, &rest) : NULL;
    struct errand *errand = face_errand_new(face, ERRAND_PROMPT, wish->session);

    errand->ticket = mem_dup(wish->ticket);
    for (size_t i = 0; word != NULL && i < face_command_count; i++) {
        if (strcmp(face_commands[i].name, word) != 0)
            continue;
        errand->kind = face_commands[i].kind;
        if (take_words(face, errand, rest))
            face_begin(face, errand);
        return;
    }
    errand->text = mem_dup(wish->text);
    face_begin(face, errand);
}

static void wish_session(struct face *face, const struct acp_wish *wish)
{
    struct err why = ERR_INIT;
    enum errand_kind kind = wish->call == ACP_CALL_NEW    ? ERRAND_NEW
                            : wish->call == ACP_CALL_LOAD ? ERRAND_LOAD
                                                          : ERRAND_RESUME;

    if (kind != ERRAND_NEW && face_find(face, wish->session, &why) == -1) {
        face_refuse(face, wish->ticket, &why);
        return;
    }
    struct errand *errand = face_errand_new(face, kind, wish->session);
    errand->ticket = mem_dup(wish->ticket);
    face_begin(face, errand);
}

static void wish_list(struct face *face, const struct acp_wish *wish)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};
    struct err why = ERR_INIT;

    if (face_list(face, wish->cwd, wish->cursor, &out, &why) == -1)
        face_refuse(face, wish->ticket, &why);
    else
        (void)acp_agent_answer(face->acp, wish->ticket, result.data);
}

static void wish_set(struct face *face, const struct acp_wish *wish)
{
    bool is_mode = wish->call == ACP_CALL_SET_MODE;
    struct errand *errand =
        face_errand_new(face, is_mode ? ERRAND_MODE : ERRAND_OPTION, wish->session);

    errand->ticket = mem_dup(wish->ticket);
    errand->mode = is_mode ? mem_dup(wish->mode) : NULL;
    errand->option = is_mode ? NULL : mem_dup(wish->option);
    errand->value = is_mode ? NULL : mem_dup(wish->value);
    face_begin(face, errand);
}

static void cancel_one(struct face *face, struct errand *errand)
{
    errand->cancelled = true;
    if (errand->step != STEP_RUNS)
        return; /* once it is taken */
    struct errand *cancel = face_errand_new(face, ERRAND_CANCEL, errand->session);
    face_replace(&cancel->prompt, errand->prompt);
    face_begin(face, cancel);
}

/* Takes back the prompts of a session, those that have not reached the host at once. */
static size_t cancel_all(struct face *face, const char *session)
{
    struct errand *errand = NULL;
    size_t count = 0;

    for (int64_t at = 0; (errand = face_errand_after(face, at)) != NULL;) {
        at = errand->number;
        if (errand->cancelled || strcmp(errand->session, session) != 0 ||
            (errand->kind != ERRAND_PROMPT && errand->kind != ERRAND_CLEAR))
            continue;
        count++;
        if (errand->step != STEP_WAITS && errand->step != STEP_FOLLOWS) {
            cancel_one(face, errand);
            continue;
        }
        face_end_turn(face, errand->ticket, "cancelled");
        face_errand_end(face, errand);
    }
    return count;
}

static void on_cancel(void *arg, const char *session)
{
    struct face *face = arg;

    if (face_session(face, session) == NULL || cancel_all(face, session) > 0 ||
        strcmp(session, face->conversation) != 0 || face->running == NULL)
        return;
    /* a turn of somebody else, which the client sees */
    face_begin(face, face_errand_new(face, ERRAND_CANCEL, session));
}

static void on_withdrawn(void *arg, const char *ticket)
{
    struct face *face = arg;

    for (size_t i = 0; i < face->errand_count; i++) {
        struct errand *errand = face->errands[i];
        if (errand->ticket != NULL && strcmp(errand->ticket, ticket) == 0 &&
            (errand->kind == ERRAND_PROMPT || errand->kind == ERRAND_CLEAR)) {
            cancel_one(face, errand);
            return;
        }
    }
}

static void on_wish(void *arg, const struct acp_wish *wish)
{
    struct face *face = arg;
    struct err why = ERR_INIT;
    bool is_open = wish->session != NULL && face_session(face, wish->session) != NULL;

    if (face->errand_count >= FACE_ERRANDS_MAX) {
        (void)err_set(&why, MAS_CONFLICT, "too many requests are open");
        face_refuse(face, wish->ticket, &why);
        return;
    }
    if (!is_open && (wish->call == ACP_CALL_PROMPT || wish->call == ACP_CALL_SET_MODE ||
                     wish->call == ACP_CALL_SET_OPTION || wish->call == ACP_CALL_CLOSE)) {
        (void)err_set(&why, MAS_NOT_FOUND, "session '%s' is not open", wish->session);
        (void)err_hint(&why, "open it with session/load");
        face_refuse(face, wish->ticket, &why);
        return;
    }
    if (wish->call == ACP_CALL_PROMPT) {
        wish_prompt(face, wish);
    } else if (wish->call == ACP_CALL_LIST) {
        wish_list(face, wish);
    } else if (wish->call == ACP_CALL_CLOSE) {
        (void)cancel_all(face, wish->session);
        face_session_remove(face, wish->session);
        (void)acp_agent_answer(face->acp, wish->ticket, NULL);
    } else if (wish->call == ACP_CALL_SET_MODE || wish->call == ACP_CALL_SET_OPTION) {
        wish_set(face, wish);
    } else {
        wish_session(face, wish);
    }
}

static void on_permitted(void *arg, int64_t serial, const char *option)
{
    struct face *face = arg;

    for (size_t i = 0; i < face->permission_count; i++) {
        struct face_permission *permission = &face->permissions[i];
        if (permission->serial != serial)
            continue;
        if (option == NULL)
            return; /* it stays open for others */
        permission->answered = true;
        struct errand *errand = face_errand_new(face, ERRAND_PERMIT, face->conversation);
        errand->prompt = mem_dup(permission->id);
        errand->value = mem_dup(option);
        face_begin(face, errand);
        return;
    }
}

const struct acp_agent_ops face_ops = {
    .wish = on_wish,
    .cancel = on_cancel,
    .withdrawn = on_withdrawn,
    .permitted = on_permitted,
    .garbage = NULL,
};
